//! What takes the noise out of frames, on the CPU or on a device.

use super::denoiser::Denoiser;
use super::map::NoiseMap;
use super::reference::{LumaSlot, Reference};
use super::rules::{NoiseLevel, Strength};
use crate::compensation::{CompensationError, PlaneMut};
use motion_base::{BlockHandle, EstimateError, Frame, FrameView, Launching, MotionVector, NATIVE};

/// Why the noise is not taken out of a frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DenoisingError {
    /// A plane or a field is not one of the stream.
    #[error(transparent)]
    Planes(#[from] CompensationError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] EstimateError),
}

/// A frame that was loaded.
#[derive(Clone, Copy)]
pub struct LoadedFrame<'a> {
    /// Where it was loaded to.
    pub slot: LumaSlot,
    /// Its planes, luma first.
    pub planes: &'a [Frame],
}

/// A frame that another one is averaged with.
#[derive(Clone, Copy)]
pub struct ReferenceFrame<'a> {
    /// The frame.
    pub frame: LoadedFrame<'a>,
    /// As in [`Reference`].
    pub vectors: &'a [MotionVector],
    /// As in [`Reference`].
    pub offset: isize,
}

/// Takes the noise out of frames.
///
/// [`Self::load`] each frame of a stream; when those are loaded that it is averaged with, [`Self::measure`] it, and write it:
/// by [`Self::copy_to_blocks`] if its planes are in memory of the device, else by [`Self::write_plane`].
pub trait FrameDenoiser: Send {
    /// The name of what takes the noise out.
    fn device(&self) -> &str;

    /// What launches its kernels; `None` for the CPU without OpenCL.
    fn launching(&self) -> Option<&Launching> {
        None
    }

    /// Does all that is done with frames once, before the first one is loaded: some drivers compile kernels at their first launch.
    ///
    /// # Errors
    /// [`DenoisingError::Device`] if the device fails.
    fn rehearse(&mut self) -> Result<(), DenoisingError> {
        Ok(())
    }

    /// Whether `planes`, of a frame in memory of the device, have the samples of the frame that was loaded last. If they do not, that
    /// frame must be loaded next. `None` if the host is to tell.
    ///
    /// # Errors
    /// As [`Self::load`].
    fn is_repeat(&mut self, _planes: &[Frame]) -> Result<Option<bool>, DenoisingError> {
        Ok(None)
    }

    /// Loads the frame with these `planes`, which may be in memory of the device ([`Frame::block`]). Returns the frame that is
    /// searched in its place, with [`search_parameters`](super::search_parameters), and where it is until as many others are
    /// loaded as may be. A device may go on to copy the planes after that; it keeps them meanwhile.
    ///
    /// # Errors
    /// [`DenoisingError`] if a plane is missing or has another size or depth, or the device fails.
    fn load(&mut self, planes: &[Frame]) -> Result<(Frame, LumaSlot), DenoisingError>;

    /// Forgets the noise of the frames up to now: the next one is of another stream.
    fn restart(&mut self);

    /// Sets whether the noise of the frames that are measured from now on is estimated, or known.
    fn set_noise_level(&mut self, level: NoiseLevel);

    /// Sets whether from the frame on that is measured next noise is also taken out inside frames, where time leaves it. It is, unless
    /// this has been called.
    fn set_spatial(&mut self, is_spatial: bool);

    /// Whether [`Self::look_ahead`] is of use.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Tells which frame is measured next: with these `references`, among them those that are beside it, and perhaps others after them. A
    /// device goes on with it while the host does something else.
    fn look_ahead(&mut self, _frame: LoadedFrame<'_>, _references: &[ReferenceFrame<'_>]) {}

    /// Estimates the noise of `frame`, which comes after the one that was measured last, and decides by how much it is averaged
    /// with `references`. Returns the noise. Nothing changes if there is none.
    ///
    /// # Errors
    /// [`DenoisingError`] if a plane or a field is not one of the stream, or the device fails.
    ///
    /// # Panics
    /// If there are more references than it was made for, or a slot is not one of its own.
    fn measure(
        &mut self,
        frame: LoadedFrame<'_>,
        references: &[ReferenceFrame<'_>],
        strength: Strength,
    ) -> Result<&NoiseMap, DenoisingError>;

    /// Writes plane `index` of the frame that was measured last to `out`. `frame` and `references` are those of
    /// [`Self::measure`].
    ///
    /// # Errors
    /// [`DenoisingError`] if a plane is not one of the stream, or the device fails.
    ///
    /// # Panics
    /// If there is no such plane, or no frame has been measured.
    fn write_plane(
        &mut self,
        index: usize,
        frame: LoadedFrame<'_>,
        references: &[ReferenceFrame<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), DenoisingError>;

    /// Copies the frame that was measured last, if it is in memory of the device, to other such memory: for each plane its block
    /// and the bytes from one row to the next. Returns whether it is; else [`Self::write_plane`] has it.
    ///
    /// # Errors
    /// [`DenoisingError::Device`] if the blocks are not in memory of the device, or it fails.
    fn copy_to_blocks(&mut self, _planes: &[(BlockHandle, usize)]) -> Result<bool, DenoisingError> {
        Ok(false)
    }

    /// The noise with which a [`Denoiser`] goes on ([`Denoiser::set_noise`]) if the device fails. `is_measured_again`: the frame
    /// of the last call of [`Self::measure`] is the next one that it measures. `None` for the CPU, which does not fail.
    fn noise_to_go_on(&mut self, _is_measured_again: bool) -> Option<NoiseMap> {
        None
    }
}

fn views(planes: &[Frame]) -> Vec<FrameView<'_>> {
    planes.iter().map(Frame::view).collect()
}

/// Calls `work` with what the CPU reads of these frames.
fn with_views<T>(references: &[ReferenceFrame<'_>], work: impl FnOnce(&[Reference<'_>]) -> T) -> T {
    let planes: Vec<_> = references.iter().map(|reference| views(reference.frame.planes)).collect();
    let mut views = Vec::with_capacity(planes.len());
    for (planes, &ReferenceFrame { frame, vectors, offset }) in planes.iter().zip(references) {
        views.push(Reference { slot: frame.slot, planes, vectors, offset });
    }
    work(&views)
}

impl FrameDenoiser for Denoiser {
    fn device(&self) -> &str {
        NATIVE
    }

    fn load(&mut self, planes: &[Frame]) -> Result<(Frame, LumaSlot), DenoisingError> {
        self.format().check_frames(planes)?;
        Ok(Denoiser::load(self, &planes[0].view())?)
    }

    fn restart(&mut self) {
        Denoiser::restart(self);
    }

    fn set_noise_level(&mut self, level: NoiseLevel) {
        Denoiser::set_noise_level(self, level);
    }

    fn set_spatial(&mut self, is_spatial: bool) {
        Denoiser::set_spatial(self, is_spatial);
    }

    fn measure(
        &mut self,
        frame: LoadedFrame<'_>,
        references: &[ReferenceFrame<'_>],
        strength: Strength,
    ) -> Result<&NoiseMap, DenoisingError> {
        let planes = views(frame.planes);
        Ok(with_views(references, |references| Denoiser::measure(self, &planes, references, strength))?)
    }

    fn write_plane(
        &mut self,
        index: usize,
        frame: LoadedFrame<'_>,
        references: &[ReferenceFrame<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), DenoisingError> {
        let plane = frame.planes[index].view();
        Ok(with_views(references, |references| Denoiser::write_plane(self, index, &plane, references, out))?)
    }
}

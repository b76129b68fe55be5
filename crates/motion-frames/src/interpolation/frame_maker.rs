//! What makes frames, on the CPU or on a device.

use super::{Patch, Phase};
use crate::compensation::{CompensationError, PlaneMut};
use motion_base::{BlockHandle, EstimateError, Frame, FrameView, Launching, MotionVector};

/// How much is done for the frames that are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameQuality {
    /// A sample is the mean of what the vectors of the four nearest blocks predict, weighted by their distance.
    Fast,
    /// A sample is the mean of what all vectors around its block predict, weighted by their distance and by how well the two
    /// frames match along them.
    #[default]
    Balanced,
    /// The same with what the pairs of frames before and after show: their motion, and what only one of both frames shows. Where
    /// one of these pairs is missing, as [`Self::Balanced`].
    High,
}

/// The two frames between which frames are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadedPair {
    /// Those that were loaded last.
    #[default]
    Newest,
    /// The two before the newest frame. They have neighbours if the newest frame and the one before these two show the same
    /// scene, in the same intervals, and the motion is known of the pairs before and after. Only in [`FrameQuality::High`].
    BeforeNewest {
        /// Whether these neighbours count.
        has_neighbours: bool,
    },
}

/// Why a frame is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterpolationError {
    /// A plane or a field is not one of the stream.
    #[error(transparent)]
    Planes(#[from] CompensationError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] EstimateError),
    /// Frames that were loaded before others are not kept.
    #[error("frames between earlier frames are made in high quality only")]
    Pair,
}

/// Makes frames between two that were loaded.
///
/// For each frame of a stream: [`Self::load_frame`]; search the motion between the frames that
/// [`SearchInput`](super::SearchInput) makes of luma; [`Self::set_motion`] with the field; in [`FrameQuality::High`]
/// [`Self::select`] the pair; then, for each time between the two frames, [`Self::start_frame`], [`Self::finish_frame`] and
/// [`Self::write_plane`].
pub trait FrameMaker: Send {
    /// The name of what makes the frames.
    fn device(&self) -> &str;

    /// What launches its kernels; `None` for the CPU without OpenCL.
    fn launching(&self) -> Option<&Launching> {
        None
    }

    /// The most frames that may have begun and are not finished.
    fn depth(&self) -> usize;

    /// Makes the frame with these planes the newest one, and [selects](Self::select) the newest pair. A device may go on to copy
    /// it after that.
    ///
    /// # Errors
    /// [`InterpolationError`] if a plane is missing or has another size or depth, or the device fails.
    fn load_frame(&mut self, planes: &[FrameView<'_>]) -> Result<(), InterpolationError>;

    /// As [`Self::load_frame`], of planes that may be in memory of the device ([`Frame::block`]): a frame between two such ones
    /// stays there too, until [`Self::copy_to_blocks`]. The planes are kept until the motion is set.
    ///
    /// # Errors
    /// As [`Self::load_frame`].
    fn load_planes(&mut self, planes: &[Frame]) -> Result<(), InterpolationError> {
        let planes: Vec<_> = planes.iter().map(Frame::view).collect();
        self.load_frame(&planes)
    }

    /// The frame that is searched in place of the one with this luma plane, which [`SearchInput`](super::SearchInput) would
    /// make, if that is in memory of the device.
    ///
    /// # Errors
    /// [`InterpolationError`] if the plane has another size or depth, or the device fails.
    fn search_frame(&mut self, _luma: &Frame) -> Result<Option<Frame>, InterpolationError> {
        Ok(None)
    }

    /// Takes the field of the newest pair: that of its previous frame in its next one.
    ///
    /// # Errors
    /// [`InterpolationError`] if it is not one of searched frames, or the device fails.
    fn set_motion(&mut self, field: &[MotionVector]) -> Result<(), InterpolationError>;

    /// Takes the patches that are drawn over the frames between the two that were loaded last, as
    /// [`SearchInput::correct`](super::SearchInput::correct) finds them. Until then there are none.
    ///
    /// # Errors
    /// [`InterpolationError::Device`] if the device fails.
    fn set_patches(&mut self, patches: &[Patch]) -> Result<(), InterpolationError>;

    /// Chooses the pair between which frames are made until the next frame is loaded, of those that were loaded since the maker was
    /// opened. Nothing may have begun.
    ///
    /// # Errors
    /// [`InterpolationError::Pair`] if this maker does not keep that pair.
    fn select(&mut self, pair: LoadedPair) -> Result<(), InterpolationError> {
        if pair == LoadedPair::Newest { Ok(()) } else { Err(InterpolationError::Pair) }
    }

    /// Begins the frame at `phase`. Nothing is loaded and no motion set before it is finished.
    ///
    /// # Errors
    /// [`InterpolationError::Device`] if the device fails, or [`Self::depth`] frames have begun and are not finished.
    fn start_frame(&mut self, phase: Phase) -> Result<(), InterpolationError>;

    /// Waits for the frame that was begun first, until [`Self::write_plane`] can write it.
    ///
    /// # Errors
    /// [`InterpolationError::Device`] if nothing has begun, or the device fails.
    fn finish_frame(&mut self) -> Result<(), InterpolationError>;

    /// Writes plane `index` of the frame that was finished last; no other one may have begun since. `sources` are these
    /// planes of the previous and of the next frame of the pair.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane has another size or depth.
    ///
    /// # Panics
    /// If there is no such plane.
    fn write_plane(
        &self,
        index: usize,
        sources: [&FrameView<'_>; 2],
        plane: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError>;

    /// Copies the frame that was finished last, if it is in memory of the device, to other such memory: for each plane its
    /// block and the bytes from one row to the next. Returns whether it is; else [`Self::write_plane`] has it.
    ///
    /// # Errors
    /// [`InterpolationError::Device`] if the blocks are not in memory of the device, or it fails.
    fn copy_to_blocks(&self, _planes: &[(BlockHandle, usize)]) -> Result<bool, InterpolationError> {
        Ok(false)
    }

    /// Gives up the frames that have begun.
    fn cancel(&mut self);
}

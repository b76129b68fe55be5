//! What frames of several planes are.

use super::{CompensationError, Sampling, check_plane, check_size};
use crate::{Frame, FrameView, Parameters, SampleFormat, SetupError};

/// What the frames are that are loaded and made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameFormat {
    /// Luma samples a row, and rows.
    pub size: (usize, usize),
    /// How each plane is sampled: luma, chroma in up to two planes, and others. Of these, planes that are sampled as luma is, such
    /// as alpha and colours, are predicted as luma is; all others as chroma is.
    pub samplings: Vec<Sampling>,
    /// How samples lie in memory.
    pub samples: SampleFormat,
}

impl FrameFormat {
    /// The number of samples a row and of rows of a plane.
    ///
    /// # Panics
    /// If there is no such plane.
    pub fn plane_size(&self, plane: usize) -> (usize, usize) {
        self.samplings[plane].plane_size(self.size.0, self.size.1)
    }

    /// Checks that there are such frames.
    ///
    /// # Errors
    /// [`SetupError::FrameSize`]; [`SetupError::DeviceUnsupported`] if there is no plane.
    pub fn validate(&self, device: &str) -> Result<(), SetupError> {
        Parameters::check_frame_size(self.size)?;
        if self.samplings.is_empty() {
            let reason = "frames need a plane of luma".into();
            return Err(SetupError::DeviceUnsupported { wanted: device.into(), reason });
        }
        Ok(())
    }

    /// Checks that there are such frames, and that `device` can predict the planes of chroma between their samples.
    ///
    /// # Errors
    /// As [`Self::validate`], and [`SetupError::DeviceUnsupported`] if interleaved chroma is not halved on both axes.
    pub fn check_chroma(&self, device: &str) -> Result<(), SetupError> {
        self.validate(device)?;
        if self.samplings.iter().any(|plane| plane.interleaved && !(plane.halved_x && plane.halved_y)) {
            return Err(SetupError::DeviceUnsupported {
                wanted: device.into(),
                reason: "interleaved chroma must be halved on both axes".into(),
            });
        }
        Ok(())
    }

    /// Checks that `planes` may be those of such a frame.
    ///
    /// # Errors
    /// [`CompensationError::Planes`], and as [`Self::check`].
    pub fn check_all(&self, planes: &[FrameView<'_>]) -> Result<(), CompensationError> {
        self.check_count(planes.len())?;
        planes.iter().enumerate().try_for_each(|(index, plane)| self.check(index, plane))
    }

    /// As [`Self::check_all`], without a look at the samples.
    ///
    /// # Errors
    /// As [`Self::check_all`].
    pub fn check_frames(&self, planes: &[Frame]) -> Result<(), CompensationError> {
        self.check_count(planes.len())?;
        planes.iter().enumerate().try_for_each(|(index, plane)| self.check_frame(index, plane))
    }

    fn check_count(&self, planes: usize) -> Result<(), CompensationError> {
        let wanted = self.samplings.len();
        if planes == wanted { Ok(()) } else { Err(CompensationError::Planes(wanted, planes)) }
    }

    /// As [`Self::check`], without a look at the samples.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_frame(&self, index: usize, plane: &Frame) -> Result<(), CompensationError> {
        let depths = [plane.format().depth(), self.samples.depth()];
        check_size(plane.size(), self.plane_size(index), depths)
    }

    /// Checks that `plane` may be plane `index` of such a frame.
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`], [`CompensationError::BitDepth`].
    pub fn check(&self, index: usize, plane: &FrameView<'_>) -> Result<(), CompensationError> {
        check_plane(plane, self.plane_size(index), self.samples.depth())
    }
}

//! Planes that are written.

use super::{CompensationError, check_sizes};
use crate::{FrameError, FrameView, SampleFormat};

/// A writable plane: `height` rows of `width` samples, `stride` bytes apart.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    samples: &'a mut [u8],
    width: usize,
    height: usize,
    stride: usize,
    format: SampleFormat,
}

impl<'a> PlaneMut<'a> {
    /// The plane of eight-bit samples in `samples`. The last row need not be padded to `stride` bytes.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn new(
        samples: &'a mut [u8],
        width: usize,
        height: usize,
        stride: usize,
    ) -> Result<Self, FrameError> {
        Self::with_format(samples, (width, height), stride, SampleFormat::EIGHT_BITS)
    }

    /// The plane of samples in `format` in the bytes `samples`.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn with_format(
        samples: &'a mut [u8],
        (width, height): (usize, usize),
        stride: usize,
        format: SampleFormat,
    ) -> Result<Self, FrameError> {
        let end = FrameView::with_format(samples, (width, height), stride, format)?.as_bytes().len();
        Ok(Self { samples: &mut samples[..end], width, height, stride, format })
    }

    /// A read-only view of the plane.
    #[inline]
    pub fn view(&self) -> FrameView<'_> {
        FrameView::with_format(self.samples, (self.width, self.height), self.stride, self.format)
            .expect("checked in `with_format`")
    }

    /// Copies the samples of a plane of the same size and format.
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] if its size differs, [`CompensationError::BitDepth`] if its depth does.
    pub fn copy_from(&mut self, plane: &FrameView<'_>) -> Result<(), CompensationError> {
        check_sizes(&self.view(), plane)?;
        plane.copy_to_rows(self.samples, self.stride);
        Ok(())
    }

    /// Bytes from one row to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes from the first sample to the last, including the padding between rows.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.samples
    }
}

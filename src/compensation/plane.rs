use super::CompensationError;
use super::measure::check_sizes;
use crate::estimator::{FrameError, FrameView};

/// A writable plane: `height` rows of `width` bytes, `stride` bytes apart.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    samples: &'a mut [u8],
    width: usize,
    height: usize,
    stride: usize,
}

impl<'a> PlaneMut<'a> {
    /// The plane in `samples`. The last row need not be padded to `stride` bytes.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn new(
        samples: &'a mut [u8],
        width: usize,
        height: usize,
        stride: usize,
    ) -> Result<Self, FrameError> {
        let end = FrameView::new(samples, width, height, stride)?.as_bytes().len();
        Ok(Self { samples: &mut samples[..end], width, height, stride })
    }

    /// A read-only view of the plane.
    pub fn view(&self) -> FrameView<'_> {
        FrameView::new(self.samples, self.width, self.height, self.stride).expect("checked in `new`")
    }

    /// Copies the samples of a plane of the same size.
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] if its size differs.
    pub fn copy_from(&mut self, plane: &FrameView<'_>) -> Result<(), CompensationError> {
        check_sizes(&self.view(), plane)?;
        for (y, row) in self.samples.chunks_mut(self.stride).enumerate() {
            row[..self.width].copy_from_slice(plane.row(y));
        }
        Ok(())
    }

    /// Bytes from one row to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes from the first sample to the last, including the padding between rows.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.samples
    }
}

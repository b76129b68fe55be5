//! A motion field as compensation sees it: which vector a sample of which plane takes.

use std::ops::Range;

use super::CompensationError;
use crate::estimator::{FrameView, MotionVector, Parameters};

/// How the samples of a plane lie over those of luma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// There is one column for two of luma.
    pub halved_x: bool,
    /// There is one row for two of luma.
    pub halved_y: bool,
    /// Two components take turns, as the chroma of NV12 and NV21 does: they move together.
    pub interleaved: bool,
}

impl Sampling {
    /// Luma, and everything else at full size.
    pub const LUMA: Self = Self { halved_x: false, halved_y: false, interleaved: false };

    /// Bytes that move together: one a component.
    pub fn pixel(&self) -> usize {
        1 + usize::from(self.interleaved)
    }

    /// Bytes a row and rows of the plane that goes with `width × height` samples of luma.
    pub fn plane_size(&self, width: usize, height: usize) -> (usize, usize) {
        (first_sample(width, self.halved_x) * self.pixel(), first_sample(height, self.halved_y))
    }

    /// `vector` in eighths of the plane's samples.
    #[inline]
    pub(super) fn eighths(&self, vector: MotionVector) -> (isize, isize) {
        let eighths = |quarters: i16, halved: bool| isize::from(quarters) << usize::from(!halved);
        (eighths(vector.x, self.halved_x), eighths(vector.y, self.halved_y))
    }
}

/// The first sample of a plane's axis whose luma sample is not before `luma`.
#[inline]
fn first_sample(luma: usize, halved: bool) -> usize {
    luma.div_ceil(1 << usize::from(halved))
}

/// One vector a block over a frame of known size.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    vectors: &'a [MotionVector],
    width: usize,
    height: usize,
    block_width: usize,
    block_height: usize,
    columns: usize,
}

impl<'a> Field<'a> {
    /// The field of a frame of `width × height` luma samples in blocks of
    /// `block_width × block_height`: any number of samples, the last column and row of blocks may
    /// be partial. `vectors` go row by row.
    ///
    /// # Errors
    /// [`CompensationError::Blocks`] where frame or blocks are empty,
    /// [`CompensationError::FieldSize`] where there is not one vector a block.
    pub fn new(
        (width, height): (usize, usize),
        (block_width, block_height): (usize, usize),
        vectors: &'a [MotionVector],
    ) -> Result<Self, CompensationError> {
        if [width, height, block_width, block_height].contains(&0) {
            return Err(CompensationError::Blocks(width, height, block_width, block_height));
        }
        let columns = width.div_ceil(block_width);
        let needed = columns.saturating_mul(height.div_ceil(block_height));
        if vectors.len() != needed {
            return Err(CompensationError::FieldSize { needed, present: vectors.len() });
        }
        // A block that is larger than the frame is as good as one of its size, and sums of such
        // sizes do not overflow.
        let (block_width, block_height) = (block_width.min(width), block_height.min(height));
        Ok(Self { vectors, width, height, block_width, block_height, columns })
    }

    /// The field that a search with `parameters` found.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(parameters: &Parameters, vectors: &'a [MotionVector]) -> Result<Self, CompensationError> {
        let &Parameters { width, height, block_size, .. } = parameters;
        Self::new((width, height), (block_size, block_size), vectors)
    }

    /// Checks that `plane` is one of the field's frame.
    pub(super) fn check(&self, sampling: Sampling, plane: &FrameView<'_>) -> Result<(), CompensationError> {
        let (width, height) = sampling.plane_size(self.width, self.height);
        if (plane.width(), plane.height()) == (width, height) {
            Ok(())
        } else {
            Err(CompensationError::PlaneSize(width, height, plane.width(), plane.height()))
        }
    }

    /// The vector of the block that holds the sample at `(x, y)` of a plane.
    pub(super) fn vector_at(&self, sampling: Sampling, x: usize, y: usize) -> MotionVector {
        let column = (x << usize::from(sampling.halved_x)) / self.block_width;
        let row = (y << usize::from(sampling.halved_y)) / self.block_height;
        self.vectors[row * self.columns + column]
    }

    /// The row of blocks that row `y` of a plane is in: the plane's row after its last, and its
    /// vectors.
    pub(super) fn row_of_blocks(&self, sampling: Sampling, y: usize) -> (usize, &'a [MotionVector]) {
        let row = (y << usize::from(sampling.halved_y)) / self.block_height;
        let end = first_sample((row + 1) * self.block_height, sampling.halved_y);
        (end, &self.vectors[row * self.columns..][..self.columns])
    }

    /// The samples of a plane's row that are in the blocks `columns`; there may be none.
    pub(super) fn samples(&self, sampling: Sampling, columns: Range<usize>) -> Range<usize> {
        let first =
            |column: usize| first_sample((column * self.block_width).min(self.width), sampling.halved_x);
        first(columns.start)..first(columns.end)
    }
}

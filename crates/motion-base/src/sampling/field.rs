//! The motion field of a frame: it gives the vector of each sample of each plane.

use std::ops::Range;

use super::CompensationError;
use crate::{FrameView, MotionVector, Parameters, UNITS_PER_SAMPLE};

/// The sampling of a plane relative to luma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// The plane has half as many columns as luma.
    pub halved_x: bool,
    /// The plane has half as many rows as luma.
    pub halved_y: bool,
    /// The plane holds two interleaved components, as the chroma of NV12 and NV21.
    pub interleaved: bool,
}

impl Sampling {
    /// Luma, and chroma without subsampling.
    pub const LUMA: Self = Self { halved_x: false, halved_y: false, interleaved: false };

    /// Whether the plane has all of luma's columns and rows.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.halved_x && !self.halved_y
    }

    /// Samples per pixel: one per component.
    #[inline]
    pub fn pixel(&self) -> usize {
        1 + usize::from(self.interleaved)
    }

    /// Samples per row and number of rows of the plane of a frame with `width × height` luma samples.
    pub fn plane_size(&self, width: usize, height: usize) -> (usize, usize) {
        (first_sample(width, self.halved_x) * self.pixel(), first_sample(height, self.halved_y))
    }
}

/// The first sample along an axis of the plane whose luma sample is at or after `luma`.
#[inline]
fn first_sample(luma: usize, halved: bool) -> usize {
    luma.div_ceil(1 << usize::from(halved))
}

/// A motion field together with the sizes of its frame and blocks.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    vectors: &'a [MotionVector],
    width: usize,
    height: usize,
    block_width: usize,
    block_height: usize,
    columns: usize,
    /// Units of the vectors per luma sample.
    scale: i32,
}

/// The parts of rows of a plane that have one vector.
///
/// A plain iterator: closures, and what is made of iterators, would not be compiled for the instruction set of their caller.
pub(super) struct Runs<'a> {
    field: &'a Field<'a>,
    sampling: Sampling,
    /// The rows of the current row of blocks, and the end of all.
    rows: Range<usize>,
    end: usize,
    /// The vectors of this row of blocks, and the first one that is left.
    vectors: &'a [MotionVector],
    column: usize,
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline(always)]
    fn next(&mut self) -> Option<Run> {
        let Self { field, sampling, .. } = *self;
        if self.column == self.vectors.len() {
            let first = self.rows.end;
            if first >= self.end {
                return None;
            }
            let (end, vectors) = field.row_of_blocks(sampling, first);
            (self.rows, self.vectors, self.column) = (first..end.min(self.end), vectors, 0);
        }
        let first = self.column;
        let vector = self.vectors[first];
        self.column += 1;
        while self.vectors.get(self.column).is_some_and(|next| (next.x, next.y) == (vector.x, vector.y)) {
            self.column += 1;
        }
        let columns = field.samples(sampling, first..self.column);
        Some(Run { rows: self.rows.clone(), columns, vector: field.eighths(sampling, vector) })
    }
}

/// A part of a plane that has one vector.
pub(super) struct Run {
    pub rows: Range<usize>,
    /// Its pixels in each row.
    pub columns: Range<usize>,
    /// The vector in eighths, as [`Field::eighths`].
    pub vector: (isize, isize),
}

impl<'a> Field<'a> {
    /// The field of a frame of `width × height` luma samples in blocks of
    /// `block_width × block_height` samples. The last column and row of blocks may be partial.
    /// `vectors` holds one vector per block, row-major, in quarter samples unless [`Self::with_scale`] says otherwise.
    ///
    /// # Errors
    /// [`CompensationError::Blocks`] if frame or blocks are empty,
    /// [`CompensationError::FieldSize`] if the number of vectors is not the number of blocks.
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
        // A block larger than the frame equals one of the frame's size, which cannot overflow sums. Encoders' layouts
        // need to know the size of those up to 64.
        let (block_width, block_height) = (block_width.min(width.max(64)), block_height.min(height.max(64)));
        let scale = UNITS_PER_SAMPLE;
        Ok(Self { vectors, width, height, block_width, block_height, columns, scale })
    }

    /// The same field with vectors in units of one `scale`-th luma sample; 0 counts as 1.
    #[must_use]
    pub fn with_scale(self, scale: u32) -> Self {
        Self { scale: scale.clamp(1, i32::MAX as u32 / 4) as i32, ..self }
    }

    /// The field that a search with `parameters` found.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(parameters: &Parameters, vectors: &'a [MotionVector]) -> Result<Self, CompensationError> {
        let &Parameters { width, height, block_size, .. } = parameters;
        let field = Self::new((width, height), (block_size, block_size), vectors)?;
        Ok(field.with_scale(parameters.algorithm.scale() as u32))
    }

    /// Luma samples per row and rows of the frame.
    pub fn frame_size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Luma samples per row and rows of a block.
    pub fn block_size(&self) -> (usize, usize) {
        (self.block_width, self.block_height)
    }

    /// The vector of a block; of the nearest one where there is no such column or row.
    pub fn block(&self, column: usize, row: usize) -> MotionVector {
        let (column, rows) = (column.min(self.columns - 1), self.vectors.len() / self.columns);
        self.vectors[row.min(rows - 1) * self.columns + column]
    }

    /// `units` of the vectors in `parts` of a luma sample, halves rounded away from zero.
    #[inline]
    pub fn rounded(&self, units: i16, parts: i64) -> i32 {
        let scale = i64::from(self.scale);
        // The usual case, without a division for each vector.
        if parts == scale {
            return units.into();
        }
        let doubled = 2 * parts * i64::from(units).abs() + scale;
        (doubled / (2 * scale) * i64::from(units.signum())) as i32
    }

    /// `vector` in eighths of the samples of a plane: an even number where the plane has all of luma's columns or rows,
    /// as the vector is rounded to quarter luma samples, halves away from zero.
    #[inline]
    pub fn eighths(&self, sampling: Sampling, vector: MotionVector) -> (isize, isize) {
        let eighths = |units: i16, halved: bool| (self.rounded(units, 4) as isize) << usize::from(!halved);
        (eighths(vector.x, sampling.halved_x), eighths(vector.y, sampling.halved_y))
    }

    /// Checks that `plane` has the size of such a plane of the field's frame.
    pub fn check(&self, sampling: Sampling, plane: &FrameView<'_>) -> Result<(), CompensationError> {
        let (width, height) = sampling.plane_size(self.width, self.height);
        if (plane.width(), plane.height()) == (width, height) {
            Ok(())
        } else {
            Err(CompensationError::PlaneSize(width, height, plane.width(), plane.height()))
        }
    }

    /// What the vector of the block that holds the luma sample at `(x, y)` leads to from there, in quarter samples.
    pub fn position_in_quarters(&self, x: usize, y: usize) -> (i32, i32) {
        let vector = self.quarters(self.vector_at(Sampling::LUMA, x, y));
        (4 * x as i32 + vector.0, 4 * y as i32 + vector.1)
    }

    /// `vector` in quarter luma samples.
    pub fn quarters(&self, vector: MotionVector) -> (i32, i32) {
        let (x, y) = self.eighths(Sampling::LUMA, vector);
        ((x / 2) as i32, (y / 2) as i32)
    }

    /// The vector of the block that holds the sample at `(x, y)` of a plane.
    pub fn vector_at(&self, sampling: Sampling, x: usize, y: usize) -> MotionVector {
        let column = (x << usize::from(sampling.halved_x)) / self.block_width;
        let row = (y << usize::from(sampling.halved_y)) / self.block_height;
        self.vectors[row * self.columns + column]
    }

    /// The parts of `rows` of a plane that have one vector, as neighbouring blocks with the same vector have.
    #[inline(always)]
    pub(super) fn runs(&self, sampling: Sampling, rows: Range<usize>) -> Runs<'_> {
        Runs { field: self, sampling, rows: rows.start..rows.start, end: rows.end, vectors: &[], column: 0 }
    }

    /// The row of blocks that holds row `y` of a plane: the first row of the plane after it, and its
    /// vectors.
    fn row_of_blocks(&self, sampling: Sampling, y: usize) -> (usize, &'a [MotionVector]) {
        let row = (y << usize::from(sampling.halved_y)) / self.block_height;
        let end = first_sample((row + 1) * self.block_height, sampling.halved_y);
        (end, &self.vectors[row * self.columns..][..self.columns])
    }

    /// The samples of a plane's row that lie in the blocks `columns`; the range may be empty.
    fn samples(&self, sampling: Sampling, columns: Range<usize>) -> Range<usize> {
        let first =
            |column: usize| first_sample((column * self.block_width).min(self.width), sampling.halved_x);
        first(columns.start)..first(columns.end)
    }
}

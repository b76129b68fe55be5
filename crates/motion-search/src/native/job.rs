//! What is searched.

use crate::estimator::{MotionVector, Parameters, Sample, Window};
use crate::native::candidates::Candidates;
use crate::native::plane::{Plane, PlaneLayout};
use motion_base::simd::Instructions;
use motion_base::threads::each_band;

/// A search of one frame in another.
#[derive(Clone, Copy)]
pub struct SearchJob<'a> {
    /// The instruction set to use.
    pub instructions: Instructions,
    /// What to search for.
    pub parameters: &'a Parameters,
    /// The current frame.
    pub current: &'a Plane,
    /// The reference frame.
    pub reference: &'a Plane,
}

/// One block of the current frame.
#[derive(Clone, Copy)]
pub struct JobBlock<'a> {
    /// The search that it is of.
    pub job: &'a SearchJob<'a>,
    /// Its column in the grid.
    pub column: usize,
    /// Its row in the grid.
    pub row: usize,
}

impl<'a> JobBlock<'a> {
    /// Samples an axis.
    #[inline(always)]
    pub fn side(self) -> usize {
        self.job.parameters.block_size
    }

    /// The layout of both frames.
    #[inline(always)]
    pub fn layout(self) -> &'a PlaneLayout {
        self.job.current.layout()
    }

    /// Its first sample in the frame: column and row.
    #[inline(always)]
    pub fn origin(self) -> (i32, i32) {
        ((self.column * self.side()) as i32, (self.row * self.side()) as i32)
    }

    /// Its first sample in a padded frame: column and row.
    #[inline(always)]
    pub fn position(self) -> (usize, usize) {
        let (x, y) = self.origin();
        self.layout().position(x, y)
    }

    /// The candidates that can win.
    #[inline(always)]
    pub fn window(self) -> Window {
        self.job.parameters.winning_window(self.column, self.row)
    }

    /// The index in a padded frame of the sample at `(x, y)` of the candidate displaced by `(dx, dy)`.
    #[inline(always)]
    pub fn offset(self, (x, y): (usize, usize), (dx, dy): (i32, i32)) -> usize {
        let origin = self.origin();
        self.layout().offset(origin.0 + x as i32 + dx, origin.1 + y as i32 + dy)
    }

    /// The samples of the current frame from the block's first on.
    #[inline(always)]
    pub fn samples<S: Sample>(self) -> &'a [S] {
        &self.job.current.samples::<S>()[self.offset((0, 0), (0, 0))..]
    }

    /// The block and those to its right, and all their candidates.
    #[inline(always)]
    pub fn candidates<S: Sample>(self) -> Candidates<'a, S> {
        Candidates::new(self.samples(), self.job.reference.samples(), self.layout().pitch, self.side())
    }
}

/// Searches the blocks in row `row` of the grid and writes their vectors.
pub type RowSearch = fn(&SearchJob<'_>, row: usize, &mut [MotionVector]);

impl SearchJob<'_> {
    /// Shares the rows of blocks from `first` on, as many as `vectors` are of, among the threads.
    pub fn search_rows(&self, search_row: RowSearch, first: usize, vectors: &mut [MotionVector]) {
        let columns = self.parameters.grid().columns;
        each_band(vectors, columns, &|row, vectors| search_row(self, first + row, vectors));
    }
}

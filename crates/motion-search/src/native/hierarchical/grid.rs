//! The cells of a level: where their values lie in memory, and how rows of them are shared by threads.

use rayon::prelude::*;

use crate::estimator::SetupError;
use motion_base::hierarchy::CELL;
use motion_base::memory::values;

/// Cells of a row that are computed together.
pub const LANES: usize = 32;

/// The same value of each cell of a chunk.
pub type LaneWords = [i32; LANES];

/// Rows of cells above and below the grid, which repeat its edges. Candidates come from up to two cells away.
pub const MARGIN: usize = 2;

/// Cells before the first column, a multiple of what any register holds; as many lie after the last chunk.
const BEFORE: usize = 16;

/// With fewer cells, starting a task costs more than it saves.
const CELLS_A_TASK: usize = 1024;

/// The layout of one value a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellGrid {
    /// Cells across.
    pub columns: usize,
    /// Cells down.
    pub rows: usize,
    /// Values from one row to the next.
    pub pitch: usize,
}

impl CellGrid {
    /// The cells of a frame of this size.
    pub fn new(width: usize, height: usize) -> Self {
        Self::of_side(CELL, width, height)
    }

    /// The cells of this `side` in a frame of this size.
    pub fn of_side(side: usize, width: usize, height: usize) -> Self {
        let (columns, rows) = (width.div_ceil(side), height.div_ceil(side));
        Self { columns, rows, pitch: columns.next_multiple_of(LANES) + 2 * BEFORE }
    }

    /// Values in all, with margins.
    pub fn length(&self) -> usize {
        (self.rows + 2 * MARGIN) * self.pitch
    }

    /// Cells in all.
    pub fn cells(&self) -> usize {
        self.columns * self.rows
    }

    /// The index of the value of a cell.
    #[inline(always)]
    pub fn at(&self, column: usize, row: usize) -> usize {
        (row + MARGIN) * self.pitch + BEFORE + column
    }

    /// The index of the value of a cell as far away as `(x, y)`, at most two cells on an axis.
    #[inline(always)]
    pub fn beside(&self, at: usize, (x, y): (i32, i32)) -> usize {
        at.wrapping_add_signed(y as isize * self.pitch as isize + x as isize)
    }

    /// The first columns of the chunks of a row, with the number of their cells.
    #[inline(always)]
    pub fn chunks(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.columns).step_by(LANES).map(move |first| (first, LANES.min(self.columns - first)))
    }

    /// Memory for one value a cell.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn values<T: Copy + Default>(&self) -> Result<Vec<T>, SetupError> {
        values("the cells of a frame", self.length())
    }

    /// The rows of `values`, without the margins above and below, in bands that a task computes each: the number of the first
    /// row, and the values.
    pub fn bands<T: Send>(self, values: &mut [T]) -> impl IndexedParallelIterator<Item = (usize, &mut [T])> {
        let rows = (CELLS_A_TASK / self.columns).max(1);
        let inside = &mut values[MARGIN * self.pitch..][..self.rows * self.pitch];
        let bands = inside.par_chunks_mut(rows * self.pitch).enumerate();
        bands.map(move |(band, values)| (band * rows, values))
    }

    /// The index of a column in a row.
    #[inline(always)]
    pub fn column(column: usize) -> usize {
        BEFORE + column
    }

    /// Repeats the edges of `values` in the margins.
    pub fn repeat_edges<T: Copy>(&self, values: &mut [T]) {
        (0..self.rows).for_each(|row| self.repeat_row(values, self.at(0, row), row));
    }

    /// Repeats the edges of `row`, whose first value has the index `first`, in the margins.
    #[inline(always)]
    pub fn repeat_row<T: Copy>(&self, values: &mut [T], first: usize, row: usize) {
        let last = first + self.columns - 1;
        let ends = [values[first], values[last]];
        values[first - MARGIN..first].fill(ends[0]);
        values[last + 1..=last + MARGIN].fill(ends[1]);
        let source = first - MARGIN..last + MARGIN + 1;
        for distance in 1..=MARGIN {
            if row == 0 {
                values.copy_within(source.clone(), source.start - distance * self.pitch);
            }
            if row + 1 == self.rows {
                values.copy_within(source.clone(), source.start + distance * self.pitch);
            }
        }
    }
}

//! The differences of brightness of the finest level's cells, from the vectors of the level above it.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::start::parent;
use crate::native::hierarchical::state::{CellVectors, LevelField};
use motion_base::memory::{chunk, chunk_mut};
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Marks a place outside the grid.
const NONE: i8 = i8::MAX;

/// Cells of 3 × 3.
const AROUND: usize = 9;

/// More than any absolute offset.
const OFFSETS: u16 = 64;

/// The offsets of a level's cells: as measured, and the medians of them.
pub struct BrightnessOffsets {
    measured: Vec<i8>,
    medians: Vec<i8>,
}

impl BrightnessOffsets {
    /// Memory for those of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let mut measured = grid.values()?;
        measured.fill(NONE);
        Ok(Self { measured, medians: grid.values()? })
    }

    /// Computes them from the vectors of `coarse` by its `matcher`, and hands each to the children of its cell
    /// among the cells `to`.
    pub fn hand_down(
        &mut self,
        instructions: Instructions,
        matcher: &CellMatcher<'_>,
        coarse: &LevelField,
        (to, offsets): (&CellGrid, &mut [i8]),
    ) {
        let grid = coarse.rules.grid;
        grid.bands(&mut self.measured).for_each(|(first, offsets)| {
            let vectors = coarse.vectors();
            instructions.run(MeasuredOffsets { grid: &grid, matcher, vectors, first, offsets });
        });
        let measured = &self.measured[..];
        grid.bands(&mut self.medians).for_each(|(first, medians)| {
            instructions.run(OffsetMedians { grid: &grid, measured, first, medians });
        });
        for row in 0..to.rows {
            let from = &self.medians[grid.at(0, parent(row, grid.rows))..][..grid.columns];
            let offsets = &mut offsets[to.at(0, row)..][..to.columns];
            for (column, offset) in offsets.iter_mut().enumerate() {
                *offset = from[parent(column, grid.columns)];
            }
        }
    }
}

/// The offsets of some rows of cells at their vectors.
struct MeasuredOffsets<'a> {
    grid: &'a CellGrid,
    matcher: &'a CellMatcher<'a>,
    vectors: &'a CellVectors,
    /// The first row.
    first: usize,
    offsets: &'a mut [i8],
}

impl<E: InstructionSet> Work<E> for MeasuredOffsets<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        let mut cells = ChunkCells::default();
        for (row, offsets) in self.offsets.chunks_exact_mut(self.grid.pitch).enumerate() {
            for (column, count) in self.grid.chunks() {
                let cell = (column, self.first + row);
                let at = self.grid.at(cell.0, cell.1);
                self.matcher.collect(engine, &mut cells, cell, at, count);
                for lane in 0..count {
                    let offset = self.matcher.offset(engine, &cells, lane, self.vectors.get(at + lane));
                    offsets[CellGrid::column(column + lane)] = offset as i8;
                }
            }
        }
    }
}

/// The medians of the offsets of 3 × 3 cells, for some rows of cells.
struct OffsetMedians<'a> {
    grid: &'a CellGrid,
    measured: &'a [i8],
    /// The first row.
    first: usize,
    medians: &'a mut [i8],
}

impl<E: InstructionSet> Work<E> for OffsetMedians<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        for (row, medians) in self.medians.chunks_exact_mut(self.grid.pitch).enumerate() {
            for (column, _) in self.grid.chunks() {
                let at = self.grid.at(column, self.first + row);
                let mut around = [chunk::<i8, LANES>(self.measured, at); AROUND];
                for (k, offsets) in around.iter_mut().enumerate() {
                    let (x, y) = (k as i32 % 3 - 1, k as i32 / 3 - 1);
                    *offsets = chunk(self.measured, self.grid.beside(at, (x, y)));
                }
                *chunk_mut(medians, CellGrid::column(column)) = median(around);
            }
        }
    }
}

/// In each lane the offset with the least sum of distances to the others; of equal sums that with the least
/// absolute value, and then the first.
#[inline(always)]
fn median(around: [&[i8; LANES]; AROUND]) -> [i8; LANES] {
    // How much an offset counts: 0 if there is none.
    let (mut offsets, mut counts) = ([[0_i16; LANES]; AROUND], [[0_u16; LANES]; AROUND]);
    for k in 0..AROUND {
        for i in 0..LANES {
            offsets[k][i] = around[k][i].into();
            counts[k][i] = u16::from(around[k][i] != NONE);
        }
    }
    let (mut best, mut median) = ([u16::MAX; LANES], [0_i16; LANES]);
    for a in 0..AROUND {
        let mut sums = [0_u16; LANES];
        for b in 0..AROUND {
            for i in 0..LANES {
                sums[i] += offsets[a][i].abs_diff(offsets[b][i]) * counts[b][i];
            }
        }
        for i in 0..LANES {
            // It overflows only where there is no offset, which does not count.
            let order = sums[i].wrapping_mul(OFFSETS).wrapping_add(offsets[a][i].unsigned_abs());
            let is_better = (order < best[i]) & (counts[a][i] != 0);
            best[i] = if is_better { order } else { best[i] };
            median[i] = if is_better { offsets[a][i] } else { median[i] };
        }
    }
    median.map(|offset| offset as i8)
}

//! What of a cell depends on its frame alone: sum, mean, smoothness and the weights of its neighbours.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::estimator::pyramid::{CELL, NEIGHBOURS};
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::memory::{LINE, chunk};
use crate::native::hierarchical::planes::{LevelLayout, LevelPlanes};
use crate::native::level::{InstructionSet, Instructions, Work};

/// The weight of the smoothness term on level 0, and the most on coarser levels.
const SMOOTHNESS: u32 = 5;

/// The weight of two cells with equal means.
pub const LARGEST_WEIGHT: u8 = 16;

/// The least weight of two neighbours.
const LEAST_WEIGHT: u8 = 2;

/// The neighbours whose weights are kept: the other four are those of the cells on the other side.
const KEPT: [(i32, i32); 4] = [(1, 0), (-1, 1), (0, 1), (1, 1)];

/// Samples of a row of cells that are summed at once.
const SPAN: usize = LINE;

/// Cells in a span.
const CELLS: usize = SPAN / CELL;

/// The facts of every cell of a frame.
pub struct CellFacts {
    /// The sum of the samples.
    pub sums: Vec<u16>,
    /// The weight of the smoothness term in a cost.
    pub smoothness: Vec<u8>,
    /// The rounded mean of the samples.
    means: Vec<u8>,
    /// The weights of the neighbours of [`KEPT`], 0 outside the grid.
    weights: [Vec<u8>; 4],
}

impl CellFacts {
    /// Memory for the facts of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let bytes = || grid.values::<u8>();
        let weights = [bytes()?, bytes()?, bytes()?, bytes()?];
        Ok(Self { sums: grid.values()?, smoothness: bytes()?, means: bytes()?, weights })
    }

    /// The weights of neighbour `k` of [`NEIGHBOURS`], and the index in them for the cell at `at`.
    #[inline(always)]
    fn weights_of(&self, grid: &CellGrid, at: usize, k: usize) -> (&[u8], usize) {
        let (x, y) = NEIGHBOURS[k];
        let kept = |of: (i32, i32)| KEPT.iter().position(|kept| *kept == of);
        match (kept((x, y)), kept((-x, -y))) {
            (Some(index), _) => (&self.weights[index], at),
            (None, index) => (&self.weights[index.unwrap_or(0)], grid.beside(at, (x, y))),
        }
    }

    /// The weight of neighbour `k` of the cell at `at`; 0 if there is none.
    #[inline(always)]
    pub fn weight(&self, grid: &CellGrid, at: usize, k: usize) -> u8 {
        let (weights, at) = self.weights_of(grid, at, k);
        weights[at]
    }

    /// The weights of neighbour `k` of the cells from `at` on.
    #[inline(always)]
    pub fn weights(&self, grid: &CellGrid, at: usize, k: usize) -> &[u8; LANES] {
        let (weights, at) = self.weights_of(grid, at, k);
        chunk(weights, at)
    }

    /// Computes the facts of a level's `frame`. `is_finest` decides what the smoothness depends on.
    pub fn fill(
        &mut self,
        instructions: Instructions,
        frame: &LevelPlanes,
        grid: &CellGrid,
        is_finest: bool,
    ) {
        let length = grid.pitch * grid.rows_a_task();
        let sums = grid.inside(&mut self.sums).par_chunks_mut(length);
        let means = grid.inside(&mut self.means).par_chunks_mut(length);
        let smoothness = grid.inside(&mut self.smoothness).par_chunks_mut(length);
        let bands = (sums, means, smoothness).into_par_iter().enumerate();
        bands.for_each(|(band, (sums, means, smoothness))| {
            let first = band * grid.rows_a_task();
            instructions.run(CellSums { frame, grid, is_finest, first, sums, means, smoothness });
        });
        let means = &self.means[..];
        let [a, b, c, d] = self.weights.each_mut().map(|weights| grid.inside(weights).par_chunks_mut(length));
        (a, b, c, d).into_par_iter().enumerate().for_each(|(band, (a, b, c, d))| {
            let first = band * grid.rows_a_task();
            instructions.run(CellWeights { grid, means, first, weights: [a, b, c, d] });
        });
    }
}

/// The sums of some rows of cells, and what follows from them.
struct CellSums<'a> {
    frame: &'a LevelPlanes,
    grid: &'a CellGrid,
    is_finest: bool,
    /// The first row.
    first: usize,
    sums: &'a mut [u16],
    means: &'a mut [u8],
    smoothness: &'a mut [u8],
}

impl Work for CellSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let pitch = self.grid.pitch;
        for row in 0..self.sums.len() / pitch {
            for column in (0..self.grid.columns).step_by(CELLS) {
                let rows = span(&self.frame.layout, self.frame.samples(), column, self.first + row);
                let sums = sums_of_cells(rows.map(|row| row.map(u16::from)));
                let means = sums.map(|sum| ((sum + 32) >> 6) as u8);
                let smoothness = match self.is_finest {
                    true => [SMOOTHNESS as u8; CELLS],
                    false => activity(&rows, means).map(smoothness_of),
                };
                let at = row * pitch + CellGrid::column(column);
                self.sums[at..][..CELLS].copy_from_slice(&sums);
                self.means[at..][..CELLS].copy_from_slice(&means);
                self.smoothness[at..][..CELLS].copy_from_slice(&smoothness);
            }
        }
    }
}

/// The samples of the cells from `column` on.
#[inline(always)]
fn span<'a>(layout: &LevelLayout, samples: &'a [u8], column: usize, row: usize) -> [&'a [u8; SPAN]; CELL] {
    let first = layout.row(0) + row * CELL * layout.pitch + column * CELL;
    std::array::from_fn(|y| chunk(samples, first + y * layout.pitch))
}

/// The sum of each cell.
#[inline(always)]
fn sums_of_cells(rows: [[u16; SPAN]; CELL]) -> [u16; CELLS] {
    let mut down = [0; SPAN];
    for row in rows {
        for x in 0..SPAN {
            down[x] += row[x];
        }
    }
    std::array::from_fn(|cell| down[cell * CELL..][..CELL].iter().sum())
}

/// The sum of the absolute differences of each cell's samples from its mean.
#[inline(always)]
fn activity(rows: &[&[u8; SPAN]; CELL], means: [u8; CELLS]) -> [u16; CELLS] {
    let means: [u8; SPAN] = std::array::from_fn(|x| means[x / CELL]);
    sums_of_cells(rows.map(|row| std::array::from_fn(|x| u16::from(row[x].abs_diff(means[x])))))
}

/// Cells with few details follow their neighbours less: coarse levels see too little of them to be sure.
#[inline(always)]
fn smoothness_of(activity: u16) -> u8 {
    ((SMOOTHNESS * u32::from(activity >> 4).clamp(8, 16)) >> 4) as u8
}

/// The weights of some rows of cells.
struct CellWeights<'a> {
    grid: &'a CellGrid,
    means: &'a [u8],
    /// The first row.
    first: usize,
    /// As in [`CellFacts`].
    weights: [&'a mut [u8]; 4],
}

impl Work for CellWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { grid, means, first, weights } = self;
        for (weights, (x, y)) in weights.into_iter().zip(KEPT) {
            for (row, weights) in weights.chunks_exact_mut(grid.pitch).enumerate() {
                if first + row + y as usize >= grid.rows {
                    continue;
                }
                // The columns that have this neighbour.
                let columns = (-x).max(0) as usize..grid.columns - x.max(0) as usize;
                let at = grid.at(columns.start, first + row);
                let own = &means[at..][..columns.len()];
                let other = &means[grid.beside(at, (x, y))..][..columns.len()];
                let weights = &mut weights[CellGrid::column(columns.start)..][..columns.len()];
                for (weight, (own, other)) in weights.iter_mut().zip(own.iter().zip(other)) {
                    *weight = weight_of(*own, *other);
                }
            }
        }
    }
}

/// The weight of two cells with these means.
#[inline(always)]
fn weight_of(own: u8, other: u8) -> u8 {
    LARGEST_WEIGHT.saturating_sub(own.abs_diff(other) >> 1).max(LEAST_WEIGHT)
}

//! How much the neighbours of a cell count: more if their means are alike.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::native::hierarchical::grid::{CellGrid, LANES};
use motion_base::hierarchy::NEIGHBOURS;
use motion_base::memory::chunk;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// The weight of two cells with equal means.
pub const LARGEST_WEIGHT: u8 = 16;

/// The least weight of two neighbours.
const LEAST_WEIGHT: u8 = 2;

/// The neighbours whose weights are kept: the other four are those of the cells on the other side.
const KEPT: [(i32, i32); 4] = [(1, 0), (-1, 1), (0, 1), (1, 1)];

/// The weights of the neighbours of every cell.
pub struct NeighbourWeights {
    /// Those of [`KEPT`], 0 outside the grid.
    kept: [Vec<u8>; 4],
}

impl NeighbourWeights {
    /// Memory for the weights of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        Ok(Self { kept: [grid.values()?, grid.values()?, grid.values()?, grid.values()?] })
    }

    /// The weights of neighbour `k` of [`NEIGHBOURS`], and the index in them for the cell at `at`.
    #[inline(always)]
    fn of_neighbour(&self, grid: &CellGrid, at: usize, k: usize) -> (&[u8], usize) {
        let (x, y) = NEIGHBOURS[k];
        let kept = |of: (i32, i32)| KEPT.iter().position(|kept| *kept == of);
        match (kept((x, y)), kept((-x, -y))) {
            (Some(index), _) => (&self.kept[index], at),
            (None, index) => (&self.kept[index.unwrap_or(0)], grid.beside(at, (x, y))),
        }
    }

    /// The weight of neighbour `k` of the cell at `at`; 0 if there is none.
    #[inline(always)]
    pub fn one(&self, grid: &CellGrid, at: usize, k: usize) -> u8 {
        let (weights, at) = self.of_neighbour(grid, at, k);
        weights[at]
    }

    /// The weights of neighbour `k` of the cells from `at` on.
    #[inline(always)]
    pub fn chunk(&self, grid: &CellGrid, at: usize, k: usize) -> &[u8; LANES] {
        let (weights, at) = self.of_neighbour(grid, at, k);
        chunk(weights, at)
    }

    /// Computes them from the means of the cells.
    pub fn fill(&mut self, instructions: Instructions, grid: &CellGrid, means: &[u8]) {
        let [a, b, c, d] = self.kept.each_mut().map(|weights| grid.bands(weights));
        (a, b, c, d).into_par_iter().for_each(|((first, a), (_, b), (_, c), (_, d))| {
            instructions.run(CellWeights { grid, means, first, weights: [a, b, c, d] });
        });
    }
}

/// The weights of some rows of cells.
struct CellWeights<'a> {
    grid: &'a CellGrid,
    means: &'a [u8],
    /// The first row.
    first: usize,
    /// As in [`NeighbourWeights`].
    weights: [&'a mut [u8]; 4],
}

impl<E: InstructionSet> Work<E> for CellWeights<'_> {
    #[inline(always)]
    fn run(self, _: E) {
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
pub fn weight_of(own: u8, other: u8) -> u8 {
    LARGEST_WEIGHT.saturating_sub(own.abs_diff(other) >> 1).max(LEAST_WEIGHT)
}

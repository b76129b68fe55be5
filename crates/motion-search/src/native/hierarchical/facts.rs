//! What of a cell depends on its frame alone: sum, mean, smoothness and the weights of its neighbours.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::weights::NeighbourWeights;
use motion_base::hierarchy::CELL;
use motion_base::memory::{LINE, chunk};
use motion_base::pyramid::planes::{LevelFrame, LevelLayout};
use motion_base::simd::{InstructionSet, Instructions, Work};

/// The weight of the smoothness term on level 0, and the most on coarser levels.
const SMOOTHNESS: u32 = 5;

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
    pub means: Vec<u8>,
    /// How much its neighbours count.
    pub weights: NeighbourWeights,
}

impl CellFacts {
    /// Memory for the facts of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let weights = NeighbourWeights::new(grid)?;
        Ok(Self { sums: grid.values()?, smoothness: grid.values()?, means: grid.values()?, weights })
    }

    /// Computes the facts of a level's `frame`. `is_finest` decides what the smoothness depends on.
    pub fn fill(&mut self, instructions: Instructions, frame: &LevelFrame, grid: &CellGrid, is_finest: bool) {
        let (sums, means) = (grid.bands(&mut self.sums), grid.bands(&mut self.means));
        let bands = (sums, means, grid.bands(&mut self.smoothness)).into_par_iter();
        bands.for_each(|((first, sums), (_, means), (_, smoothness))| {
            instructions.run(CellSums { frame, grid, is_finest, first, sums, means, smoothness });
        });
        self.weights.fill(instructions, grid, &self.means);
    }
}

/// The sums of some rows of cells, and what follows from them.
struct CellSums<'a> {
    frame: &'a LevelFrame,
    grid: &'a CellGrid,
    is_finest: bool,
    /// The first row.
    first: usize,
    sums: &'a mut [u16],
    means: &'a mut [u8],
    smoothness: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for CellSums<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let pitch = self.grid.pitch;
        for row in 0..self.sums.len() / pitch {
            for column in (0..self.grid.columns).step_by(CELLS) {
                let rows = span(&self.frame.layout, self.frame.samples(), column, self.first + row);
                let sums = sums_of_cells(rows, &[0; SPAN]);
                let (mut means, mut smoothness) = ([0; CELLS], [SMOOTHNESS as u8; CELLS]);
                for cell in 0..CELLS {
                    means[cell] = ((sums[cell] + 32) >> 6) as u8;
                }
                if !self.is_finest {
                    let mut spread = [0; SPAN];
                    for x in 0..SPAN {
                        spread[x] = means[x / CELL];
                    }
                    let activity = sums_of_cells(rows, &spread);
                    for cell in 0..CELLS {
                        smoothness[cell] = smoothness_of(activity[cell]);
                    }
                }
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
    let mut rows = [chunk(samples, first); CELL];
    for (y, row) in rows.iter_mut().enumerate() {
        *row = chunk(samples, first + y * layout.pitch);
    }
    rows
}

/// The sum of the absolute differences of each cell's samples from `means`.
#[inline(always)]
fn sums_of_cells(rows: [&[u8; SPAN]; CELL], means: &[u8; SPAN]) -> [u16; CELLS] {
    let mut down = [0; SPAN];
    for row in rows {
        for x in 0..SPAN {
            down[x] += u16::from(row[x].abs_diff(means[x]));
        }
    }
    let mut sums = [0; CELLS];
    for (sum, cell) in sums.iter_mut().zip(down.chunks_exact(CELL)) {
        *sum = cell.iter().sum();
    }
    sums
}

/// Cells with few details follow their neighbours less: coarse levels see too little of them to be sure.
#[inline(always)]
fn smoothness_of(activity: u16) -> u8 {
    ((SMOOTHNESS * u32::from(activity >> 4).clamp(8, 16)) >> 4) as u8
}

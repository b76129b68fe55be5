//! The vectors of small cells, quarters of cells, each from those of the nearest cells.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::field::divided;
use crate::native::hierarchical::grid::{CellGrid, LANES, LaneWords};
use crate::native::hierarchical::matching::CellMatcher;
use crate::native::hierarchical::parabola::divide;
use crate::native::hierarchical::refine::{FineField, RoundBand, pulls};
use crate::native::hierarchical::start::parent;
use crate::native::hierarchical::weights::{NeighbourWeights, weight_of};
use motion_base::hierarchy::CELL;
use motion_base::memory::chunk;
use motion_base::pyramid::planes::LevelFrame;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Samples on a side of a small cell.
pub const SMALL_CELL: usize = CELL / 2;

/// The weight of a cost against the distance to the vectors of the nearest cells.
const COST_WEIGHT: i32 = 512;

/// The weights of the nearest cells by their distance: those of bilinear interpolation.
const NEARNESS: [i32; 4] = [9, 3, 3, 1];

/// The weight of a small cell's own vector against those of its neighbours.
const OWN_WEIGHT: i32 = 16;

/// 64ths of a sample in a quarter sample.
const QUARTER: i32 = 16;

/// What of small cells depends on their frame alone.
pub struct SmallCellFacts {
    /// The rounded mean of the samples.
    means: Vec<u8>,
    weights: NeighbourWeights,
}

impl SmallCellFacts {
    /// Memory for the facts of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        Ok(Self { means: grid.values()?, weights: NeighbourWeights::new(grid)? })
    }

    /// Computes the facts of the finest level's `frame`.
    pub fn fill(&mut self, instructions: Instructions, frame: &LevelFrame, grid: &CellGrid) {
        grid.bands(&mut self.means).for_each(|(first, means)| {
            instructions.run(SmallMeans { frame, grid, first, means });
        });
        self.weights.fill(instructions, grid, &self.means);
    }
}

/// The means of some rows of small cells.
struct SmallMeans<'a> {
    frame: &'a LevelFrame,
    grid: &'a CellGrid,
    /// The first row.
    first: usize,
    means: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for SmallMeans<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let (layout, samples) = (&self.frame.layout, self.frame.samples());
        for (row, means) in self.means.chunks_exact_mut(self.grid.pitch).enumerate() {
            let top = layout.row(0) + (self.first + row) * SMALL_CELL * layout.pitch;
            let means = &mut means[CellGrid::column(0)..][..self.grid.columns];
            for (column, mean) in means.iter_mut().enumerate() {
                let mut sum = 0_u16;
                for y in 0..SMALL_CELL {
                    let row: &[u8; SMALL_CELL] = chunk(samples, top + y * layout.pitch + column * SMALL_CELL);
                    sum += row.iter().map(|sample| u16::from(*sample)).sum::<u16>();
                }
                *mean = ((sum + 8) >> 4) as u8;
            }
        }
    }
}

/// The search of the vectors of small cells.
pub struct SmallCells<'a> {
    /// The cells.
    pub grid: &'a CellGrid,
    /// What they are.
    pub facts: &'a CellFacts,
    /// Their vectors in 64ths.
    pub vectors: [&'a [i32]; 2],
    /// The comparison with the reference frame.
    pub matcher: CellMatcher<'a>,
    /// The small cells.
    pub small_grid: &'a CellGrid,
    /// What they are.
    pub small_facts: &'a SmallCellFacts,
}

impl SmallCells<'_> {
    /// Writes the vectors of the small cells.
    pub fn run(&self, instructions: Instructions, field: &mut FineField) {
        let (grid, weights) = (self.small_grid, &self.small_facts.weights);
        field.round(grid, weights, |band| instructions.run(BestOfNearest { search: self, band }));
        field.round(grid, weights, |band| instructions.run(Drawn(band)));
        field.median(instructions, grid, weights);
    }

    /// Of the vectors of the four nearest cells, the one that agrees best with the samples and with these vectors.
    #[inline(always)]
    fn best_of_nearest<E: InstructionSet>(&self, engine: E, (column, row): (usize, usize)) -> [i32; 2] {
        let nearest = nearest_cells(self.grid, (column, row));
        let mean = self.small_facts.means[self.small_grid.at(column, row)];
        let cell = self.grid.at(parent(column, self.grid.columns), parent(row, self.grid.rows));
        let (mut vectors, mut weights) = ([[0; 2]; 4], [0; 4]);
        for k in 0..4 {
            vectors[k] = self.vectors.map(|components| components[nearest[k]]);
            weights[k] = NEARNESS[k] * i32::from(weight_of(mean, self.facts.means[nearest[k]]));
        }
        let mut best = (i32::MAX, vectors[0]);
        for k in 0..4 {
            // The same vector costs the same.
            if vectors[..k].contains(&vectors[k]) {
                continue;
            }
            let mut energy = 0;
            for other in 0..4 {
                let [x, y] = [0, 1].map(|axis: usize| (vectors[k][axis] - vectors[other][axis]).abs());
                energy += weights[other] * (x + y);
            }
            if energy >= best.0 {
                continue;
            }
            let quarters = vectors[k].map(|component| divided(component, QUARTER));
            let origin = ((column * SMALL_CELL) as i32, (row * SMALL_CELL) as i32);
            let cost = self.matcher.cost_of_small_cell(engine, origin, cell, (quarters[0], quarters[1]));
            energy += COST_WEIGHT * cost as i32;
            if energy < best.0 {
                best = (energy, vectors[k]);
            }
        }
        best.1
    }
}

/// The indices of the cell that holds a small cell, and of the three others nearest to it: across, down, and both.
#[inline(always)]
fn nearest_cells(grid: &CellGrid, (column, row): (usize, usize)) -> [usize; 4] {
    let across = [parent(column, grid.columns), beside(column, grid.columns)];
    let down = [parent(row, grid.rows), beside(row, grid.rows)];
    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(x, y): (usize, usize)| grid.at(across[x], down[y]))
}

/// The column or row next to a small cell's parent, on its own side, in a grid with `count` of them.
#[inline(always)]
fn beside(small: usize, count: usize) -> usize {
    match small % 2 {
        1 => (parent(small, count) + 1).min(count - 1),
        _ => parent(small, count).saturating_sub(1),
    }
}

/// The first vectors of some rows of small cells.
struct BestOfNearest<'a> {
    search: &'a SmallCells<'a>,
    band: RoundBand<'a>,
}

impl<E: InstructionSet> Work<E> for BestOfNearest<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { search, band: RoundBand { grid, first, to: [x, y], .. } } = self;
        for row in 0..x.len() / grid.pitch {
            for column in 0..grid.columns {
                let to = row * grid.pitch + CellGrid::column(column);
                [x[to], y[to]] = search.best_of_nearest(engine, (column, first + row));
            }
        }
    }
}

/// The vectors of small cells, drawn towards their neighbours.
struct Drawn<'a>(RoundBand<'a>);

impl<E: InstructionSet> Work<E> for Drawn<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        self.0.write(|band, at| {
            let pulls = pulls(band, at);
            let mut drawn = [[0; LANES]; 2];
            for (axis, drawn) in drawn.iter_mut().enumerate() {
                let own: &LaneWords = chunk(band.vectors[axis], at);
                for i in 0..LANES {
                    drawn[i] = own[i] + divide(pulls.sums[axis][i], OWN_WEIGHT + pulls.weights[i]);
                }
            }
            drawn
        });
    }
}

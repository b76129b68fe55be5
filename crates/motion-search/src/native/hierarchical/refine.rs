//! From quarter samples to 64ths: smoothing, and the median of neighbours.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::native::hierarchical::grid::{CellGrid, LANES, LaneWords};
use crate::native::hierarchical::parabola::divide;
use crate::native::hierarchical::state::LevelParabolas;
use crate::native::hierarchical::weights::{LARGEST_WEIGHT, NeighbourWeights};
use motion_base::hierarchy::NEIGHBOURS;
use motion_base::memory::{chunk, chunk_mut};
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Iterations of smoothing.
const ROUNDS: usize = 4;

/// Neighbours from this distance on, in 64ths, do not count.
const FAR: i32 = 128;

/// The weight of a cell's own cost in smoothing, and that of its neighbours.
const OWN_WEIGHT: i32 = 4;
const NEIGHBOURS_WEIGHT: i32 = 5;

/// Vectors in 64ths of a sample: up to 18 bits on an axis.
pub struct FineField {
    /// The vectors.
    pub vectors: [Vec<i32>; 2],
    /// The vectors of the next round.
    next: [Vec<i32>; 2],
}

impl FineField {
    /// Memory for the vectors of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let pair = || Ok::<_, SetupError>([grid.values()?, grid.values()?]);
        Ok(Self { vectors: pair()?, next: pair()? })
    }

    /// The vectors: across and down.
    pub fn components(&self) -> [&[i32]; 2] {
        self.vectors.each_ref().map(|components| &components[..])
    }

    /// Computes the vectors from the parabolas of the finest level.
    pub fn refine(
        &mut self,
        instructions: Instructions,
        grid: &CellGrid,
        weights: &NeighbourWeights,
        parabolas: &LevelParabolas,
    ) {
        for (vectors, lowest) in self.vectors.iter_mut().zip(&parabolas.lowest) {
            vectors.copy_from_slice(lowest);
        }
        for _ in 0..ROUNDS {
            self.round(grid, weights, |band| instructions.run(Smoothing { band, parabolas }));
        }
        self.median(instructions, grid, weights);
    }

    /// Replaces each vector by the weighted median of the vectors around it.
    pub fn median(&mut self, instructions: Instructions, grid: &CellGrid, weights: &NeighbourWeights) {
        self.round(grid, weights, |band| instructions.run(Median(band)));
    }

    /// Replaces the vectors by what `compute` writes for each band of rows.
    pub fn round(
        &mut self,
        grid: &CellGrid,
        weights: &NeighbourWeights,
        compute: impl Fn(RoundBand<'_>) + Sync,
    ) {
        let vectors = self.vectors.each_ref().map(|values| &values[..]);
        let [x, y] = self.next.each_mut().map(|values| grid.bands(values));
        (x, y).into_par_iter().for_each(|((first, x), (_, y))| {
            compute(RoundBand { grid, weights, vectors, first, to: [x, y] });
        });
        std::mem::swap(&mut self.vectors, &mut self.next);
    }
}

/// Some rows of cells in a round.
pub struct RoundBand<'a> {
    /// All cells.
    pub grid: &'a CellGrid,
    /// How much their neighbours count.
    pub weights: &'a NeighbourWeights,
    /// Their vectors.
    pub vectors: [&'a [i32]; 2],
    /// The first row.
    pub first: usize,
    /// Where the new vectors of the rows go.
    pub to: [&'a mut [i32]; 2],
}

impl RoundBand<'_> {
    /// Writes what `compute` returns for each chunk of cells, given the index of the first.
    #[inline(always)]
    pub fn write(mut self, compute: impl Fn(&Self, usize) -> [LaneWords; 2]) {
        let grid = self.grid;
        for row in 0..self.to[0].len() / grid.pitch {
            for (column, _) in grid.chunks() {
                let computed = compute(&self, grid.at(column, self.first + row));
                for (to, computed) in self.to.iter_mut().zip(computed) {
                    *chunk_mut(to, row * grid.pitch + CellGrid::column(column)) = computed;
                }
            }
        }
    }
}

/// A round of smoothing.
struct Smoothing<'a> {
    band: RoundBand<'a>,
    parabolas: &'a LevelParabolas,
}

impl<E: InstructionSet> Work<E> for Smoothing<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { band, parabolas } = self;
        band.write(|band, at| {
            let pulls = pulls(band, at);
            let mut smooth = [[0; LANES]; 2];
            for (axis, smooth) in smooth.iter_mut().enumerate() {
                let own: &LaneWords = chunk(band.vectors[axis], at);
                let measured: &LaneWords = chunk(&parabolas.lowest[axis], at);
                let steepness: &LaneWords = chunk(&parabolas.steepness[axis], at);
                for i in 0..LANES {
                    let own_weight = OWN_WEIGHT * steepness[i];
                    let weight = own_weight + NEIGHBOURS_WEIGHT * pulls.weights[i];
                    let pull = own_weight * (measured[i] - own[i]) + NEIGHBOURS_WEIGHT * pulls.sums[axis][i];
                    // Without weight there is no pull either.
                    smooth[i] = own[i] + divide(pull, weight.max(1));
                }
            }
            smooth
        });
    }
}

/// What the neighbours of each cell of a chunk do to its vector.
pub struct Pulls {
    /// Their weights.
    pub weights: LaneWords,
    /// The weighted sums of their distances, across and down.
    pub sums: [LaneWords; 2],
}

/// What the neighbours of the cells from `at` on do.
#[inline(always)]
pub fn pulls(&RoundBand { grid, weights, vectors, .. }: &RoundBand<'_>, at: usize) -> Pulls {
    let mut pulls = Pulls { weights: [0; LANES], sums: [[0; LANES]; 2] };
    let own: [&LaneWords; 2] = vectors.map(|values| chunk(values, at));
    for (k, beside) in NEIGHBOURS.into_iter().enumerate() {
        let other: [&LaneWords; 2] = vectors.map(|values| chunk(values, grid.beside(at, beside)));
        let of_cells = weights.chunk(grid, at, k);
        for i in 0..LANES {
            let (x, y) = (other[0][i] - own[0][i], other[1][i] - own[1][i]);
            let nearness = (FAR - x.abs() - y.abs()).max(0);
            let weight = (i32::from(of_cells[i]) * nearness) >> 7;
            pulls.weights[i] += weight;
            pulls.sums[0][i] += weight * x;
            pulls.sums[1][i] += weight * y;
        }
    }
    pulls
}

/// The weighted vector medians of 3 × 3 cells.
struct Median<'a>(RoundBand<'a>);

impl<E: InstructionSet> Work<E> for Median<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        self.0.write(medians);
    }
}

/// The cells of 3 × 3, row by row: neighbours by their number, and the cell itself.
const AROUND: [Option<usize>; 9] =
    [Some(4), Some(0), Some(5), Some(2), None, Some(3), Some(6), Some(1), Some(7)];

/// In each lane the vector with the least weighted sum of distances to the others; of equal ones the own, and
/// then the first.
#[inline(always)]
fn medians(&RoundBand { grid, weights, vectors, .. }: &RoundBand<'_>, at: usize) -> [LaneWords; 2] {
    let around = AROUND.map(|k| {
        let at = k.map_or(at, |k| grid.beside(at, NEIGHBOURS[k]));
        vectors.map(|values| chunk::<i32, LANES>(values, at))
    });
    let own = [LARGEST_WEIGHT; LANES];
    let mut of_cells = [&own; 9];
    for (of_cell, k) in of_cells.iter_mut().zip(AROUND) {
        *of_cell = k.map_or(&own, |k| weights.chunk(grid, at, k));
    }
    let mut sums = [[0; LANES]; 9];
    for a in 0..9 {
        for b in 0..a {
            for i in 0..LANES {
                let distance =
                    (around[a][0][i] - around[b][0][i]).abs() + (around[a][1][i] - around[b][1][i]).abs();
                sums[a][i] += i32::from(of_cells[b][i]) * distance;
                sums[b][i] += i32::from(of_cells[a][i]) * distance;
            }
        }
    }
    let (mut best, mut medians) = ([i32::MAX; LANES], [[0; LANES]; 2]);
    for a in 0..9 {
        for i in 0..LANES {
            let is_better = sums[a][i] < best[i] || (AROUND[a].is_none() && sums[a][i] == best[i]);
            // Without weight there is no cell.
            if is_better && of_cells[a][i] > 0 {
                best[i] = sums[a][i];
                medians[0][i] = around[a][0][i];
                medians[1][i] = around[a][1][i];
            }
        }
    }
    medians
}

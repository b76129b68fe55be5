//! From quarter samples to 64ths: the parabola through the costs beside a vector, and smoothing.

use rayon::prelude::*;

use crate::estimator::SetupError;
use crate::estimator::pyramid::NEIGHBOURS;
use crate::native::hierarchical::facts::{CellFacts, LARGEST_WEIGHT};
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::memory::{chunk, chunk_mut};
use crate::native::hierarchical::state::LevelField;
use crate::native::level::{InstructionSet, Instructions, Work};

/// 64ths of a quarter sample.
const FINE: i32 = 16;

/// The distance, in quarter samples, of the costs through which the parabola goes.
const ARM: i32 = 2;

/// Iterations of smoothing.
const ROUNDS: usize = 4;

/// Neighbours from this distance on, in 64ths, do not count.
const FAR: i32 = 128;

/// The weight of a cell's own cost in smoothing, and that of its neighbours.
const OWN_WEIGHT: i32 = 4;
const NEIGHBOURS_WEIGHT: i32 = 5;

/// The same value of each cell of a chunk.
type Lanes = [i32; LANES];

/// The vectors of the finest level in 64ths of a sample: up to 17 bits on an axis.
pub struct FineField {
    /// The vectors.
    pub vectors: [Vec<i32>; 2],
    /// The vectors of the next round.
    next: [Vec<i32>; 2],
    /// The lowest points of the parabolas.
    measured: [Vec<i32>; 2],
    /// How steep they are.
    steepness: [Vec<i32>; 2],
}

impl FineField {
    /// Memory for the vectors of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let pair = || Ok::<_, SetupError>([grid.values()?, grid.values()?]);
        Ok(Self { vectors: pair()?, next: pair()?, measured: pair()?, steepness: pair()? })
    }

    /// Computes the vectors from those of the finest level.
    pub fn refine(
        &mut self,
        instructions: Instructions,
        matcher: &CellMatcher<'_>,
        facts: &CellFacts,
        field: &LevelField,
    ) {
        let grid = field.rules.grid;
        self.measure(instructions, matcher, field);
        for _ in 0..ROUNDS {
            self.round(instructions, &grid, |first, band, this| {
                instructions.run(Smoothing { grid: &grid, facts, field: this, first, to: band });
            });
        }
        self.round(instructions, &grid, |first, band, this| {
            instructions.run(Median { grid: &grid, facts, vectors: this.vectors, first, to: band });
        });
    }

    /// Fits the parabolas, where smoothing starts.
    fn measure(&mut self, instructions: Instructions, matcher: &CellMatcher<'_>, field: &LevelField) {
        let grid = field.rules.grid;
        let length = grid.pitch * grid.rows_a_task();
        let [x, y] = self.measured.each_mut().map(|values| grid.inside(values).par_chunks_mut(length));
        let [kx, ky] = self.steepness.each_mut().map(|values| grid.inside(values).par_chunks_mut(length));
        (x, y, kx, ky).into_par_iter().enumerate().for_each(|(band, (x, y, kx, ky))| {
            let first = band * grid.rows_a_task();
            instructions.run(Parabolas { matcher, field, first, lowest: [x, y], steepness: [kx, ky] });
        });
        for (vectors, measured) in self.vectors.iter_mut().zip(&self.measured) {
            vectors.copy_from_slice(measured);
        }
    }

    /// Replaces the vectors by what `compute` writes for each band of rows.
    fn round(
        &mut self,
        _: Instructions,
        grid: &CellGrid,
        compute: impl Fn(usize, [&mut [i32]; 2], FineView<'_>) + Sync,
    ) {
        let length = grid.pitch * grid.rows_a_task();
        let Self { vectors, next, measured, steepness } = self;
        let view = FineView {
            vectors: vectors.each_ref().map(|values| &values[..]),
            measured: measured.each_ref().map(|values| &values[..]),
            steepness: steepness.each_ref().map(|values| &values[..]),
        };
        let [x, y] = next.each_mut().map(|values| grid.inside(values).par_chunks_mut(length));
        (x, y).into_par_iter().enumerate().for_each(|(band, (x, y))| {
            compute(band * grid.rows_a_task(), [x, y], view);
        });
        std::mem::swap(vectors, next);
    }
}

/// What a round reads.
#[derive(Clone, Copy)]
struct FineView<'a> {
    vectors: [&'a [i32]; 2],
    measured: [&'a [i32]; 2],
    steepness: [&'a [i32]; 2],
}

/// The parabolas of some rows of cells.
struct Parabolas<'a> {
    matcher: &'a CellMatcher<'a>,
    field: &'a LevelField,
    /// The first row.
    first: usize,
    lowest: [&'a mut [i32]; 2],
    steepness: [&'a mut [i32]; 2],
}

impl Work for Parabolas<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, engine: E) {
        let Self { matcher, field, first, lowest, steepness } = self;
        let grid = field.rules.grid;
        let mut cells = ChunkCells::default();
        for row in 0..lowest[0].len() / grid.pitch {
            for (column, count) in grid.chunks() {
                let at = grid.at(column, first + row);
                matcher.prefetch(engine, (column + LANES, first + row), field.vectors.get(at + LANES / 2));
                matcher.collect::<E>(&mut cells, (column, first + row), at, count);
                let (mut before, mut after) = ([[0; LANES]; 2], [[0; LANES]; 2]);
                for lane in 0..count {
                    let (x, y) = field.vectors.get(at + lane);
                    let cost = |x, y| matcher.cost::<E>(&cells, lane, (x, y)) as i32;
                    (before[0][lane], after[0][lane]) = (cost(x - ARM, y), cost(x + ARM, y));
                    (before[1][lane], after[1][lane]) = (cost(x, y - ARM), cost(x, y + ARM));
                }
                let costs = chunk(&field.costs, at);
                let vectors = [&field.vectors.x, &field.vectors.y];
                for axis in 0..2 {
                    let to = row * grid.pitch + CellGrid::column(column);
                    let (shift, steep) = parabola(&before[axis], costs, &after[axis]);
                    let vectors: &[i16; LANES] = chunk(vectors[axis], at);
                    let lowest = chunk_mut::<i32, LANES>(lowest[axis], to);
                    for i in 0..LANES {
                        lowest[i] = FINE * i32::from(vectors[i]) + shift[i];
                    }
                    *chunk_mut(steepness[axis], to) = steep;
                }
            }
        }
    }
}

/// In each lane the lowest point of a parabola in 64ths, at most a quarter sample away, and how steep it is.
#[inline(always)]
fn parabola(before: &Lanes, costs: &[u16; LANES], after: &Lanes) -> (Lanes, Lanes) {
    let (mut lowest, mut steepness) = ([0; LANES], [0; LANES]);
    for i in 0..LANES {
        steepness[i] = (before[i] + after[i] - 2 * i32::from(costs[i])).max(0);
        let shift = divide((before[i] - after[i]) * FINE, steepness[i].max(1)).clamp(-FINE, FINE);
        lowest[i] = if steepness[i] > 0 { shift } else { 0 };
    }
    (lowest, steepness)
}

/// `a / b`, rounded towards zero. In 64-bit floating point this is exact: a quotient that is not a whole number is at least
/// 1 / b from one, which is more than the rounding of a quotient of 32-bit numbers.
#[inline(always)]
fn divide(a: i32, b: i32) -> i32 {
    (f64::from(a) / f64::from(b)) as i32
}

/// A round of smoothing of some rows of cells.
struct Smoothing<'a> {
    grid: &'a CellGrid,
    facts: &'a CellFacts,
    field: FineView<'a>,
    /// The first row.
    first: usize,
    to: [&'a mut [i32]; 2],
}

impl Work for Smoothing<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { grid, facts, field, first, to } = self;
        for row in 0..to[0].len() / grid.pitch {
            for (column, _) in grid.chunks() {
                let at = grid.at(column, first + row);
                let pulls = pulls(grid, facts, field.vectors, at);
                for axis in 0..2 {
                    let own: &Lanes = chunk(field.vectors[axis], at);
                    let measured: &Lanes = chunk(field.measured[axis], at);
                    let steepness: &Lanes = chunk(field.steepness[axis], at);
                    let to = chunk_mut::<i32, LANES>(to[axis], row * grid.pitch + CellGrid::column(column));
                    for i in 0..LANES {
                        let own_weight = OWN_WEIGHT * steepness[i];
                        let weight = own_weight + NEIGHBOURS_WEIGHT * pulls.weights[i];
                        let pull =
                            own_weight * (measured[i] - own[i]) + NEIGHBOURS_WEIGHT * pulls.sums[axis][i];
                        // Without weight there is no pull either.
                        to[i] = own[i] + divide(pull, weight.max(1));
                    }
                }
            }
        }
    }
}

/// What the neighbours of each cell of a chunk do to its vector.
struct Pulls {
    /// Their weights.
    weights: Lanes,
    /// The weighted sums of their distances, across and down.
    sums: [Lanes; 2],
}

#[inline(always)]
fn pulls(grid: &CellGrid, facts: &CellFacts, vectors: [&[i32]; 2], at: usize) -> Pulls {
    let mut pulls = Pulls { weights: [0; LANES], sums: [[0; LANES]; 2] };
    let own: [&Lanes; 2] = vectors.map(|values| chunk(values, at));
    for (k, beside) in NEIGHBOURS.into_iter().enumerate() {
        let other: [&Lanes; 2] = vectors.map(|values| chunk(values, grid.beside(at, beside)));
        let weights = facts.weights(grid, at, k);
        for i in 0..LANES {
            let (x, y) = (other[0][i] - own[0][i], other[1][i] - own[1][i]);
            let nearness = (FAR - x.abs() - y.abs()).max(0);
            let weight = (i32::from(weights[i]) * nearness) >> 7;
            pulls.weights[i] += weight;
            pulls.sums[0][i] += weight * x;
            pulls.sums[1][i] += weight * y;
        }
    }
    pulls
}

/// The weighted vector medians of 3 × 3 cells, for some rows of cells.
struct Median<'a> {
    grid: &'a CellGrid,
    facts: &'a CellFacts,
    vectors: [&'a [i32]; 2],
    /// The first row.
    first: usize,
    to: [&'a mut [i32]; 2],
}

impl Work for Median<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { grid, facts, vectors, first, to } = self;
        for row in 0..to[0].len() / grid.pitch {
            for (column, _) in grid.chunks() {
                let medians = medians(grid, facts, vectors, grid.at(column, first + row));
                for axis in 0..2 {
                    *chunk_mut(to[axis], row * grid.pitch + CellGrid::column(column)) = medians[axis];
                }
            }
        }
    }
}

/// The cells of 3 × 3, row by row: neighbours by their number, and the cell itself.
const AROUND: [Option<usize>; 9] =
    [Some(4), Some(0), Some(5), Some(2), None, Some(3), Some(6), Some(1), Some(7)];

/// In each lane the vector with the least weighted sum of distances to the others; of equal ones the own, and then the first.
#[inline(always)]
fn medians(grid: &CellGrid, facts: &CellFacts, vectors: [&[i32]; 2], at: usize) -> [Lanes; 2] {
    let around = AROUND.map(|k| {
        let at = k.map_or(at, |k| grid.beside(at, NEIGHBOURS[k]));
        vectors.map(|values| chunk::<i32, LANES>(values, at))
    });
    let own = [LARGEST_WEIGHT; LANES];
    let weights = AROUND.map(|k| k.map_or(&own, |k| facts.weights(grid, at, k)));
    let mut sums = [[0; LANES]; 9];
    for a in 0..9 {
        for b in 0..a {
            for i in 0..LANES {
                let distance =
                    (around[a][0][i] - around[b][0][i]).abs() + (around[a][1][i] - around[b][1][i]).abs();
                sums[a][i] += i32::from(weights[b][i]) * distance;
                sums[b][i] += i32::from(weights[a][i]) * distance;
            }
        }
    }
    let (mut best, mut medians) = ([i32::MAX; LANES], [[0; LANES]; 2]);
    for a in 0..9 {
        for i in 0..LANES {
            let is_better = sums[a][i] < best[i] || (AROUND[a].is_none() && sums[a][i] == best[i]);
            // Without weight there is no cell.
            if is_better && weights[a][i] > 0 {
                best[i] = sums[a][i];
                medians[0][i] = around[a][0][i];
                medians[1][i] = around[a][1][i];
            }
        }
    }
    medians
}

//! Where the vectors of a level start: an exhaustive search on the coarsest one, the vectors of the coarser level on the
//! others.

use rayon::prelude::*;

use crate::native::hierarchical::candidates::{COST_WEIGHT, LaneCandidates, Rank};
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::state::{CellVectors, LevelField, LevelRules};
use crate::native::level::{InstructionSet, Instructions, Work};

/// Samples to each side that the exhaustive search reaches.
const RANGE: i32 = 3;

/// Quarter samples of a sample.
const SAMPLE: i32 = 4;

/// The weight of a vector's length in the exhaustive search.
const LENGTH_WEIGHT: u32 = 2;

/// The vectors of the coarser level.
#[derive(Clone, Copy)]
pub struct Coarser<'a> {
    /// Its cells.
    pub grid: &'a CellGrid,
    /// Its vectors.
    pub vectors: &'a CellVectors,
}

/// Writes the first vectors of `field`, and what they cost.
pub fn start(
    instructions: Instructions,
    matcher: &CellMatcher<'_>,
    coarser: Option<Coarser<'_>>,
    field: &mut LevelField,
) {
    let LevelField { rules, vectors, parents, costs, .. } = field;
    let (grid, rules) = (rules.grid, &*rules);
    let length = grid.pitch * grid.rows_a_task();
    let vectors_x = grid.inside(&mut vectors.x).par_chunks_mut(length);
    let vectors_y = grid.inside(&mut vectors.y).par_chunks_mut(length);
    let parents_x = grid.inside(&mut parents.x).par_chunks_mut(length);
    let parents_y = grid.inside(&mut parents.y).par_chunks_mut(length);
    let costs = grid.inside(costs).par_chunks_mut(length);
    let bands = (vectors_x, vectors_y, parents_x, parents_y, costs).into_par_iter().enumerate();
    bands.for_each(|(band, (vectors_x, vectors_y, parents_x, parents_y, costs))| {
        let (vectors, parents) = ([vectors_x, vectors_y], [parents_x, parents_y]);
        let first = band * grid.rows_a_task();
        instructions.run(FirstVectors { matcher, rules, coarser, first, vectors, parents, costs });
    });
    field.vectors.repeat_edges(&grid);
    field.moved.fill(1);
}

/// The first vectors of some rows of cells.
struct FirstVectors<'a> {
    matcher: &'a CellMatcher<'a>,
    rules: &'a LevelRules,
    coarser: Option<Coarser<'a>>,
    /// The first row.
    first: usize,
    vectors: [&'a mut [i16]; 2],
    parents: [&'a mut [i16]; 2],
    costs: &'a mut [u16],
}

impl Work for FirstVectors<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(mut self, engine: E) {
        let Self { matcher, rules, coarser, first, .. } = self;
        let grid = rules.grid;
        let (mut candidates, mut cells) = (LaneCandidates::default(), ChunkCells::default());
        for row in 0..self.costs.len() / grid.pitch {
            for (column, count) in grid.chunks() {
                let cell = (column, first + row);
                let to = row * grid.pitch + CellGrid::column(column);
                matcher.collect::<E>(&mut cells, cell, grid.at(cell.0, cell.1), count);
                let Some(coarser) = coarser else {
                    for lane in 0..count {
                        let (vector, cost) =
                            best_of_window::<E>(matcher, rules, (&cells, lane), (column + lane, cell.1));
                        (self.vectors[0][to + lane], self.vectors[1][to + lane]) = vector;
                        self.costs[to + lane] = cost as u16;
                    }
                    continue;
                };
                let middle =
                    coarser.vectors.get(coarser.parent((column + LANES / 2).min(grid.columns - 1), cell.1));
                matcher.prefetch(engine, (column + LANES, cell.1), (2 * middle.0, 2 * middle.1));
                coarser.collect(&mut candidates, cell, count);
                for (parents, components) in self.parents.iter_mut().zip([&candidates.x, &candidates.y]) {
                    parents[to..][..count].copy_from_slice(&components[0][..count]);
                }
                candidates.clamp(rules, cell, 0..PARENTS);
                for number in 0..PARENTS {
                    candidates.open(engine, number, None, u32::MAX >> (LANES - count), &[i16::MAX; LANES]);
                }
                let mut ranks = [Rank::WORST; LANES];
                candidates.compare(engine, matcher, &cells, &mut ranks);
                for lane in 0..count {
                    let number = ranks[lane].number();
                    self.vectors[0][to + lane] = candidates.x[number][lane];
                    self.vectors[1][to + lane] = candidates.y[number][lane];
                    self.costs[to + lane] = ranks[lane].cost(0);
                }
            }
        }
    }
}

/// The best vector of the window for a cell, with its cost.
#[inline(always)]
fn best_of_window<E: InstructionSet>(
    matcher: &CellMatcher<'_>,
    rules: &LevelRules,
    (cells, lane): (&ChunkCells, usize),
    cell: (usize, usize),
) -> ((i16, i16), u32) {
    let mut best = (u32::MAX, (0, 0), 0);
    for y in -RANGE..=RANGE {
        for x in -RANGE..=RANGE {
            let vector = rules.clamped(cell, (SAMPLE * x, SAMPLE * y));
            let cost = matcher.cost::<E>(cells, lane, vector);
            let length = vector.0.unsigned_abs() + vector.1.unsigned_abs();
            let energy = COST_WEIGHT * cost + LENGTH_WEIGHT * length;
            if energy < best.0 {
                best = (energy, (vector.0 as i16, vector.1 as i16), cost);
            }
        }
    }
    (best.1, best.2)
}

/// The candidates from the coarser level.
const PARENTS: usize = 4;

impl Coarser<'_> {
    /// The index of the parent of a cell.
    #[inline(always)]
    fn parent(&self, column: usize, row: usize) -> usize {
        self.grid.at(parent(column, self.grid.columns), parent(row, self.grid.rows))
    }

    /// Collects twice the vectors of the parent of each cell, and of the three coarser cells that are nearest to it besides:
    /// across, down, and both.
    #[inline(always)]
    fn collect(&self, candidates: &mut LaneCandidates, (column, row): (usize, usize), count: usize) {
        // The margins repeat the edges.
        let beside = |cell: usize| if cell % 2 == 1 { 1 } else { -1 };
        let down = beside(row);
        for lane in 0..count {
            let across = beside(column + lane);
            let at = self.parent(column + lane, row);
            for (number, step) in [(0, 0), (across, 0), (0, down), (across, down)].into_iter().enumerate() {
                let at = self.grid.beside(at, step);
                candidates.x[number][lane] = 2 * self.vectors.x[at];
                candidates.y[number][lane] = 2 * self.vectors.y[at];
            }
        }
    }
}

/// The column or row of a cell's parent, in a grid with `count` of them.
#[inline(always)]
pub fn parent(cell: usize, count: usize) -> usize {
    (cell / 2).min(count - 1)
}

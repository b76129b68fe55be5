//! Where the vectors of a level start: an exhaustive search on the coarsest one, the vectors of the coarser level
//! on the others.

use crate::native::hierarchical::candidates::{COST_WEIGHT, LaneCandidates, MOST, Rank, STARTS, UNKNOWN};
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::level_search::{Coarser, LevelSearch};
use crate::native::hierarchical::matching::ChunkCells;
use crate::native::hierarchical::rows::FieldRows;
use motion_base::hierarchy::COARSEST_RANGE;
use motion_base::memory::{chunk, chunk_mut};
use motion_base::simd::InstructionSet;

/// Quarter samples of a sample.
const SAMPLE: i32 = 4;

/// The weight of a vector's length in the exhaustive search.
const LENGTH_WEIGHT: u32 = 2;

/// Writes the first vectors of a row, and what they cost.
#[inline(always)]
pub fn start_row<E: InstructionSet>(
    engine: E,
    search: &LevelSearch<'_>,
    candidates: &mut LaneCandidates,
    rows: &mut FieldRows<'_>,
    row: usize,
) {
    let (rules, matcher, grid) = (search.rules, &search.matcher, search.rules.grid);
    let chunks = rows.chunks(&grid, row);
    for (index, (column, count)) in grid.chunks().enumerate() {
        let (cell, to) = ((column, row), rows.at(&grid, column, row));
        chunk_mut::<u8, LANES>(rows.moved[0], to).fill(1);
        let cells = &mut rows.cells[chunks.start + index];
        let starts = &mut rows.starts[chunks.start + index];
        matcher.collect(engine, cells, cell, grid.at(column, row), count);
        let [x, y] = &mut rows.vectors[0];
        let Some(coarser) = search.coarser else {
            starts.costs = [[UNKNOWN; LANES]; STARTS];
            for lane in 0..count {
                let (vector, cost) = best_of_window(engine, search, (cells, lane), (column + lane, row));
                (x[to + lane], y[to + lane]) = vector;
                rows.costs[to + lane] = cost as u16;
            }
            continue;
        };
        coarser.collect(candidates, cell, count);
        candidates.clamp(rules, cell, 0..STARTS);
        candidates.open = [0; MOST];
        let mut costs = [[UNKNOWN; LANES]; MOST];
        for number in 0..STARTS {
            candidates.smoothness[number] = [0; LANES];
            let tried = (None, u32::MAX >> (LANES - count));
            candidates.open(engine, number, tried, &[i16::MAX; LANES], &costs);
        }
        let mut ranks = [Rank::WORST; LANES];
        candidates.compute_costs::<E, true>(engine, matcher, cells, &mut costs);
        candidates.compare(0..STARTS, &costs, &mut ranks);
        let LaneCandidates { x: across, y: down, .. } = &*candidates;
        (starts.x, starts.y, starts.costs) = (*chunk(across, 0), *chunk(down, 0), *chunk(&costs, 0));
        for lane in 0..count {
            let number = ranks[lane].number();
            x[to + lane] = candidates.x[number][lane];
            y[to + lane] = candidates.y[number][lane];
            rows.costs[to + lane] = ranks[lane].cost(0);
        }
    }
}

/// The best vector of the window for a cell, with its cost.
#[inline(always)]
fn best_of_window<E: InstructionSet>(
    engine: E,
    search: &LevelSearch<'_>,
    (cells, lane): (&ChunkCells, usize),
    cell: (usize, usize),
) -> ((i16, i16), u32) {
    let LevelSearch { rules, matcher, .. } = search;
    let mut best = (u32::MAX, (0, 0), 0);
    for y in -COARSEST_RANGE..=COARSEST_RANGE {
        for x in -COARSEST_RANGE..=COARSEST_RANGE {
            let vector = rules.clamped(cell, (SAMPLE * x, SAMPLE * y));
            let cost = matcher.cost::<E, true>(engine, cells, lane, vector);
            let length = vector.0.unsigned_abs() + vector.1.unsigned_abs();
            let energy = COST_WEIGHT * cost + LENGTH_WEIGHT * length;
            if energy < best.0 {
                best = (energy, (vector.0 as i16, vector.1 as i16), cost);
            }
        }
    }
    (best.1, best.2)
}

impl Coarser<'_> {
    /// The index of the parent of a cell.
    #[inline(always)]
    fn parent(&self, column: usize, row: usize) -> usize {
        self.grid.at(parent(column, self.grid.columns), parent(row, self.grid.rows))
    }

    /// Collects twice the vectors of the parent of each cell, and of the three coarser cells that are nearest to
    /// it besides: across, down, and both.
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

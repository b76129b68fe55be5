//! An iteration: each cell chooses anew among its vector, those of cells around it, and vectors close to its own.

use crate::native::hierarchical::candidates::{LaneCandidates, MOST, Rank};
use crate::native::hierarchical::choice::{self, OWN, RowIteration};
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::level_search::LevelSearch;
use crate::native::hierarchical::rows::{After, FieldRows};
use motion_base::memory::{chunk, chunk_mut};
use motion_base::simd::InstructionSet;

/// The iterations that try vectors half a sample away; later ones try a quarter.
const COARSE_STEPS: usize = 2;

/// Runs iteration `number`, counted from 1, on `row`.
#[inline(always)]
pub fn iterate_row<E: InstructionSet>(
    engine: E,
    search: &LevelSearch<'_>,
    candidates: &mut LaneCandidates,
    rows: &mut FieldRows<'_>,
    (number, row): (usize, usize),
) {
    let (rules, matcher, grid) = (search.rules, &search.matcher, search.rules.grid);
    let (before, mut after) = rows.iteration(&grid, number, row);
    let iteration = RowIteration {
        rules,
        facts: search.facts,
        before,
        step: if number <= COARSE_STEPS { 2 } else { 1 },
        is_new_step: number == COARSE_STEPS + 1,
        is_first: number == 1,
    };
    for (index, (column, count)) in grid.chunks().enumerate() {
        let at = grid.at(column, row);
        let to = at - before.start;
        for (next, vectors) in after.vectors.iter_mut().zip(before.vectors) {
            *chunk_mut(next, to) = *chunk::<i16, LANES>(vectors, to);
        }
        chunk_mut::<u8, LANES>(after.moved, to).fill(0);
        let known = &mut after.known[index];
        let costs = (chunk(after.costs, to), &mut *known);
        let collected = choice::collect(engine, candidates, &iteration, (column, row, count), costs);
        let Some((mut ranks, first)) = collected else { continue };
        candidates.compute_costs::<E, false>(engine, matcher, &before.cells[index], known);
        candidates.compare(first..MOST, known, &mut ranks);
        write(&mut after, candidates, &ranks, (to, count));
    }
}

/// Writes the best candidates of `count` cells, whose values begin at `to`.
#[inline(always)]
fn write(
    after: &mut After<'_>,
    candidates: &LaneCandidates,
    ranks: &[Rank; LANES],
    (to, count): (usize, usize),
) {
    let [x, y] = &mut after.vectors;
    let (x, y) = (chunk_mut::<i16, LANES>(x, to), chunk_mut::<i16, LANES>(y, to));
    let (costs, moved) = (chunk_mut::<u16, LANES>(after.costs, to), chunk_mut::<u8, LANES>(after.moved, to));
    for lane in 0..count.min(LANES) {
        let number = ranks[lane].number();
        x[lane] = candidates.x[number][lane];
        y[lane] = candidates.y[number][lane];
        costs[lane] = ranks[lane].cost(candidates.smoothness[number][lane]);
        moved[lane] = u8::from(number != OWN);
    }
}

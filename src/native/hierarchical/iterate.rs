//! An iteration: each cell chooses anew among its vector, those of cells around it, and vectors close to its own.

use crate::native::hierarchical::candidates::{LaneCandidates, Rank};
use crate::native::hierarchical::choice::{self, OWN, RowIteration};
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::level_search::{ChunkRoom, LevelSearch};
use crate::native::hierarchical::memory::{chunk, chunk_mut};
use crate::native::hierarchical::rows::{After, FieldRows};
use crate::native::level::InstructionSet;

/// The iterations that try vectors half a sample away; later ones try a quarter.
const COARSE_STEPS: usize = 2;

/// Runs iteration `number`, counted from 1, on `row`.
#[inline(always)]
pub fn iterate_row<E: InstructionSet>(
    engine: E,
    search: &LevelSearch<'_>,
    ChunkRoom { candidates, cells }: &mut ChunkRoom,
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
        let ranks = choice::collect(engine, candidates, &iteration, (column, row, count), costs);
        let Some(mut ranks) = ranks else { continue };
        matcher.collect::<E>(cells, (column, row), at, count);
        candidates.compare::<E, false>(engine, matcher, cells, (known, &mut ranks));
        write(&mut after, candidates, &ranks[..count], to);
    }
}

/// Writes the best candidates of cells.
#[inline(always)]
fn write(after: &mut After<'_>, candidates: &LaneCandidates, ranks: &[Rank], to: usize) {
    for (lane, rank) in ranks.iter().enumerate() {
        let (number, to) = (rank.number(), to + lane);
        after.vectors[0][to] = candidates.x[number][lane];
        after.vectors[1][to] = candidates.y[number][lane];
        after.costs[to] = rank.cost(candidates.smoothness[number][lane]);
        after.moved[to] = u8::from(number != OWN);
    }
}

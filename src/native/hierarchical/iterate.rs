//! An iteration: each cell chooses anew among its vector, those of cells around it, and vectors close to its own.

use rayon::prelude::*;

use crate::native::hierarchical::candidates::{LaneCandidates, Rank};
use crate::native::hierarchical::choice::{self, OWN};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::memory::{chunk, chunk_mut};
use crate::native::hierarchical::state::{CellVectors, LevelField, LevelRules};
use crate::native::level::{InstructionSet, Instructions, Work};

/// The iterations that try vectors half a sample away; later ones try a quarter.
const COARSE_STEPS: usize = 2;

/// What all cells of an iteration share.
pub struct Iteration<'a> {
    /// The level.
    pub rules: &'a LevelRules,
    /// What each cell is.
    pub facts: &'a CellFacts,
    /// The vectors before it.
    pub vectors: &'a CellVectors,
    /// Twice the vector of each cell's parent.
    pub parents: &'a CellVectors,
    /// 1 where the iteration before has changed the vector.
    pub moved: &'a [u8],
    /// The distance of the vectors that are tried around the own one.
    pub step: i16,
    /// Whether the iteration before has tried others.
    pub is_new_step: bool,
}

/// Runs all iterations of the level.
pub fn iterate(
    instructions: Instructions,
    matcher: &CellMatcher<'_>,
    facts: &CellFacts,
    field: &mut LevelField,
) {
    for index in 0..field.rules.iterations {
        let LevelField { rules, vectors, next, moved, next_moved, costs, parents, .. } = field;
        let grid = rules.grid;
        let iteration = Iteration {
            rules,
            facts,
            vectors,
            parents,
            moved,
            step: if index < COARSE_STEPS { 2 } else { 1 },
            is_new_step: index == COARSE_STEPS,
        };
        let length = grid.pitch * grid.rows_a_task();
        let next_x = grid.inside(&mut next.x).par_chunks_mut(length);
        let next_y = grid.inside(&mut next.y).par_chunks_mut(length);
        let next_moved = grid.inside(next_moved).par_chunks_mut(length);
        let costs = grid.inside(costs).par_chunks_mut(length);
        let bands = (next_x, next_y, next_moved, costs).into_par_iter().enumerate();
        bands.for_each(|(band, (next_x, next_y, moved, costs))| {
            let (first, next) = (band * grid.rows_a_task(), [next_x, next_y]);
            instructions.run(IterationBand { iteration: &iteration, matcher, first, next, moved, costs });
        });
        std::mem::swap(&mut field.vectors, &mut field.next);
        std::mem::swap(&mut field.moved, &mut field.next_moved);
        field.vectors.repeat_edges(&grid);
        grid.repeat_edges(&mut field.moved);
    }
}

/// An iteration of some rows of cells.
struct IterationBand<'a> {
    iteration: &'a Iteration<'a>,
    matcher: &'a CellMatcher<'a>,
    /// The first row.
    first: usize,
    next: [&'a mut [i16]; 2],
    moved: &'a mut [u8],
    costs: &'a mut [u16],
}

impl Work for IterationBand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(mut self, engine: E) {
        let Self { iteration, matcher, first, .. } = self;
        let grid = iteration.rules.grid;
        let (mut candidates, mut cells) = (LaneCandidates::default(), ChunkCells::default());
        for row in 0..self.costs.len() / grid.pitch {
            for (column, count) in grid.chunks() {
                let cell = (column, first + row);
                let at = grid.at(cell.0, cell.1);
                matcher.prefetch(engine, (column + LANES, cell.1), iteration.vectors.get(at + LANES / 2));
                let to = row * grid.pitch + CellGrid::column(column);
                *chunk_mut(self.next[0], to) = *chunk::<i16, LANES>(&iteration.vectors.x, at);
                *chunk_mut(self.next[1], to) = *chunk::<i16, LANES>(&iteration.vectors.y, at);
                chunk_mut::<u8, LANES>(self.moved, to).fill(0);
                let costs: &[u16; LANES] = chunk(self.costs, to);
                let place = (cell.0, cell.1, count);
                if !choice::collect(engine, &mut candidates, iteration, place, costs) {
                    continue;
                }
                let mut ranks = [Rank::WORST; LANES];
                for lane in 0..LANES {
                    ranks[lane] = Rank::new(OWN, costs[lane].into(), candidates.smoothness[OWN][lane]);
                }
                matcher.collect::<E>(&mut cells, cell, at, count);
                candidates.compare(engine, matcher, &cells, &mut ranks);
                self.write(&candidates, &ranks[..count], to);
            }
        }
    }
}

impl IterationBand<'_> {
    /// Writes the best candidates of cells.
    #[inline(always)]
    fn write(&mut self, candidates: &LaneCandidates, ranks: &[Rank], to: usize) {
        for (lane, rank) in ranks.iter().enumerate() {
            let (number, to) = (rank.number(), to + lane);
            self.next[0][to] = candidates.x[number][lane];
            self.next[1][to] = candidates.y[number][lane];
            self.costs[to] = rank.cost(candidates.smoothness[number][lane]);
            self.moved[to] = u8::from(number != OWN);
        }
    }
}

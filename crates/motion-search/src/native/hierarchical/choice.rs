//! The candidates of an iteration: vectors of other cells, and vectors close to the own one.

use crate::native::hierarchical::candidates::{
    COST_WEIGHT, ChunkStarts, LaneCandidates, LaneCosts, LaneShorts, MOST, Rank, UNKNOWN,
};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::rows::Before;
use crate::native::hierarchical::rules::LevelRules;
use motion_base::hierarchy::NEIGHBOURS;
use motion_base::memory::chunk;
use motion_base::simd::InstructionSet;

/// The numbers of the candidates: the own vector, cells two away, neighbours, parent, mean of the neighbours,
/// steps.
pub const OWN: usize = 0;
const JUMPS: usize = 1;
const ADJACENT: usize = 9;
const PARENT: usize = 13;
const MEAN: usize = 14;
const STEPS: usize = 15;
const _: () = assert!(STEPS + SIDES == MOST);

/// The neighbours that are candidates, and the directions of steps: the first four.
const SIDES: usize = 4;

/// What the cells of a row share in an iteration.
pub struct RowIteration<'a> {
    /// The level.
    pub rules: &'a LevelRules,
    /// What each cell is.
    pub facts: &'a CellFacts,
    /// The field before it.
    pub before: Before<'a>,
    /// The distance of the vectors that are tried around the own one.
    pub step: i16,
    /// Whether the iteration before has tried others.
    pub is_new_step: bool,
    /// Whether nothing is known from an iteration before.
    pub is_first: bool,
}

/// Collects the candidates of `count` cells from `column` on, whose vectors have these costs, and what is known
/// of their own. Returns the ranks of their vectors and the number of the first other candidate, or `None` if no
/// other may win.
#[inline(always)]
pub fn collect<E: InstructionSet>(
    engine: E,
    candidates: &mut LaneCandidates,
    iteration: &RowIteration<'_>,
    (column, row, count): (usize, usize, usize),
    (own_costs, costs): (&[u16; LANES], &mut LaneCosts),
) -> Option<([Rank; LANES], usize)> {
    let grid = iteration.rules.grid;
    // The index of the first cell in the whole field, and in the rows of the task.
    let (whole, at) = (grid.at(column, row), grid.at(column, row) - iteration.before.start);
    let cells = u32::MAX >> (LANES - count);
    // What has lost against the same vectors around it loses again.
    let changed = cells & !engine.at_most(&changed(iteration, &grid, at), 0);
    let stepped = if iteration.is_new_step { cells } else { changed };
    if stepped == 0 {
        return None;
    }
    let first = match (changed, iteration.rules.jumps) {
        (0, _) => STEPS,
        (_, true) => JUMPS,
        (_, false) => ADJACENT,
    };
    let starts = &iteration.before.starts[column / LANES];
    collect_vectors(candidates, iteration, starts, (at, first));
    forget_costs(costs, iteration, at, first);
    candidates.clamp(iteration.rules, (column, row), first..MOST);
    candidates.recall(first..STEPS, starts, costs);
    let around = Surroundings::new(iteration, &grid, at, whole);
    candidates.smoothness[OWN] = around.smoothness(&candidates.x[OWN], &candidates.y[OWN]);
    let (mut limits, mut ranks) = ([0; LANES], [Rank::WORST; LANES]);
    for i in 0..LANES {
        ranks[i] = Rank::new(OWN, own_costs[i].into(), candidates.smoothness[OWN][i]);
        let energy = COST_WEIGHT * u32::from(own_costs[i]) + candidates.smoothness[OWN][i] as u32;
        limits[i] = energy.min(i16::MAX as u32) as i16;
    }
    (candidates.possible, candidates.open) = ([0; MOST], [0; MOST]);
    for number in first..MOST {
        candidates.smoothness[number] = around.smoothness(&candidates.x[number], &candidates.y[number]);
        let tried = if number >= STEPS { stepped } else { changed };
        candidates.open(engine, number, (Some(OWN), tried), &limits, costs);
    }
    Some((ranks, first))
}

/// Forgets the costs of candidates from `first` on that are not the same vectors as in the iteration before.
#[inline(always)]
fn forget_costs(costs: &mut LaneCosts, iteration: &RowIteration<'_>, at: usize, first: usize) {
    if iteration.is_first {
        *costs = [[UNKNOWN; LANES]; MOST];
        return;
    }
    let grid = iteration.rules.grid;
    let moved = |(x, y): (i32, i32), distance: i32| -> &[u8; LANES] {
        chunk(iteration.before.moved, grid.beside(at, (distance * x, distance * y)))
    };
    let mut forget = |number: usize, moved: &[u8; LANES]| {
        for i in 0..LANES {
            costs[number][i] |= u16::from(moved[i]).wrapping_neg();
        }
    };
    if first == JUMPS {
        for (k, neighbour) in NEIGHBOURS.into_iter().enumerate() {
            forget(JUMPS + k, moved(neighbour, 2));
        }
    }
    if first <= ADJACENT {
        for (k, side) in NEIGHBOURS.into_iter().enumerate().take(SIDES) {
            forget(ADJACENT + k, moved(side, 1));
            forget(MEAN, moved(side, 1));
        }
    }
    let own = if iteration.is_new_step { &[1; LANES] } else { moved((0, 0), 0) };
    for k in 0..SIDES {
        forget(STEPS + k, own);
    }
}

/// Collects the own vectors and the candidates from `first` on.
#[inline(always)]
fn collect_vectors(
    candidates: &mut LaneCandidates,
    iteration: &RowIteration<'_>,
    starts: &ChunkStarts,
    (at, first): (usize, usize),
) {
    let grid = iteration.rules.grid;
    let own = Vectors::of(iteration, at);
    let beside = |(x, y): (i32, i32), distance: i32| {
        Vectors::of(iteration, grid.beside(at, (distance * x, distance * y)))
    };
    let mut put = |number: usize, vectors: Vectors<'_>| {
        (candidates.x[number], candidates.y[number]) = (*vectors.x, *vectors.y);
    };
    put(OWN, own);
    if first == JUMPS {
        for (k, neighbour) in NEIGHBOURS.into_iter().enumerate() {
            put(JUMPS + k, beside(neighbour, 2));
        }
    }
    if first <= ADJACENT {
        let mut sides = [own; SIDES];
        for k in 0..SIDES {
            sides[k] = beside(NEIGHBOURS[k], 1);
            put(ADJACENT + k, sides[k]);
        }
        // On the coarsest level the own vector stands for the one that is missing, and so changes nothing.
        let parent = Vectors { x: &starts.x[0], y: &starts.y[0] };
        put(PARENT, if iteration.rules.is_coarsest { own } else { parent });
        put(MEAN, Vectors { x: &mean(sides.map(|side| side.x)), y: &mean(sides.map(|side| side.y)) });
    }
    for (k, (x, y)) in NEIGHBOURS.into_iter().enumerate().take(SIDES) {
        for i in 0..LANES {
            candidates.x[STEPS + k][i] = own.x[i].wrapping_add(x as i16 * iteration.step);
            candidates.y[STEPS + k][i] = own.y[i].wrapping_add(y as i16 * iteration.step);
        }
    }
}

/// The vectors of the cells of a chunk.
#[derive(Clone, Copy)]
struct Vectors<'a> {
    x: &'a LaneShorts,
    y: &'a LaneShorts,
}

impl<'a> Vectors<'a> {
    /// Those from `at` on.
    #[inline(always)]
    fn of(iteration: &RowIteration<'a>, at: usize) -> Self {
        let [x, y] = iteration.before.vectors;
        Self { x: chunk(x, at), y: chunk(y, at) }
    }
}

/// The rounded means of a component of four vectors.
#[inline(always)]
fn mean([a, b, c, d]: [&LaneShorts; SIDES]) -> LaneShorts {
    let mut mean = [0; LANES];
    for i in 0..LANES {
        mean[i] = a[i].wrapping_add(b[i]).wrapping_add(c[i]).wrapping_add(d[i]).wrapping_add(2) >> 2;
    }
    mean
}

/// Not zero for each cell of a chunk where a vector that its costs depend on has changed.
#[inline(always)]
fn changed(iteration: &RowIteration<'_>, grid: &CellGrid, at: usize) -> [u16; LANES] {
    let mut changed = *chunk::<u8, LANES>(iteration.before.moved, at);
    let distances = if iteration.rules.jumps { 2 } else { 1 };
    for (x, y) in NEIGHBOURS {
        for distance in 1..=distances {
            let moved =
                chunk::<u8, LANES>(iteration.before.moved, grid.beside(at, (distance * x, distance * y)));
            for i in 0..LANES {
                changed[i] |= moved[i];
            }
        }
    }
    let mut wide = [0; LANES];
    for i in 0..LANES {
        wide[i] = changed[i].into();
    }
    wide
}

/// The vectors around each cell of a chunk, and how much they count.
struct Surroundings<'a> {
    neighbours: [Vectors<'a>; 8],
    weights: [LaneShorts; 8],
    smoothness: LaneShorts,
    most_distance: i16,
}

impl<'a> Surroundings<'a> {
    #[inline(always)]
    fn new(iteration: &RowIteration<'a>, grid: &CellGrid, at: usize, whole: usize) -> Self {
        let facts: &CellFacts = iteration.facts;
        let mut neighbours = [Vectors::of(iteration, at); 8];
        let mut weights = [[0; LANES]; 8];
        for k in 0..8 {
            neighbours[k] = Vectors::of(iteration, grid.beside(at, NEIGHBOURS[k]));
            weights[k] = widened(facts.weights.chunk(grid, whole, k));
        }
        let smoothness = widened(chunk(&facts.smoothness, whole));
        Self { neighbours, weights, smoothness, most_distance: iteration.rules.most_distance }
    }

    /// The weighted smoothness of a vector of each cell: at most 5 · 8 · 16 · 48.
    #[inline(always)]
    fn smoothness(&self, x: &LaneShorts, y: &LaneShorts) -> LaneShorts {
        let mut smoothness = [0; LANES];
        for i in 0..LANES {
            let mut sum = 0_i16;
            for k in 0..8 {
                let across = x[i].wrapping_sub(self.neighbours[k].x[i]).wrapping_abs();
                let down = y[i].wrapping_sub(self.neighbours[k].y[i]).wrapping_abs();
                let distance = across.wrapping_add(down).min(self.most_distance);
                sum = sum.wrapping_add(self.weights[k][i].wrapping_mul(distance));
            }
            smoothness[i] = sum.wrapping_mul(self.smoothness[i]);
        }
        smoothness
    }
}

#[inline(always)]
fn widened(bytes: &[u8; LANES]) -> LaneShorts {
    let mut wide = [0; LANES];
    for i in 0..LANES {
        wide[i] = bytes[i].into();
    }
    wide
}

//! The candidates of an iteration: vectors of other cells, and vectors close to the own one.

use crate::estimator::pyramid::NEIGHBOURS;
use crate::native::hierarchical::candidates::{COST_WEIGHT, LaneCandidates, Lanes, MOST};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::grid::{CellGrid, LANES};
use crate::native::hierarchical::iterate::Iteration;
use crate::native::hierarchical::memory::chunk;
use crate::native::level::InstructionSet;

/// The numbers of the candidates: the own vector, cells two away, neighbours, parent, mean of the neighbours, steps.
pub const OWN: usize = 0;
const JUMPS: usize = 1;
const ADJACENT: usize = 9;
const PARENT: usize = 13;
const MEAN: usize = 14;
const STEPS: usize = 15;
const _: () = assert!(STEPS + SIDES == MOST);

/// The neighbours that are candidates, and the directions of steps: the first four.
const SIDES: usize = 4;

/// Collects the candidates of `count` cells from `column` on, whose vectors have these costs. Returns whether any may win.
#[inline(always)]
pub fn collect<E: InstructionSet>(
    engine: E,
    candidates: &mut LaneCandidates,
    iteration: &Iteration<'_>,
    (column, row, count): (usize, usize, usize),
    costs: &[u16; LANES],
) -> bool {
    let grid = iteration.rules.grid;
    let at = grid.at(column, row);
    let cells = u32::MAX >> (LANES - count);
    // What has lost against the same vectors around it loses again.
    let changed = cells & !engine.at_most(&changed(iteration, &grid, at), 0);
    let stepped = if iteration.is_new_step { cells } else { changed };
    if stepped == 0 {
        return false;
    }
    let first = match (changed, iteration.rules.jumps) {
        (0, _) => STEPS,
        (_, true) => JUMPS,
        (_, false) => ADJACENT,
    };
    collect_vectors(candidates, iteration, at, first);
    candidates.clamp(iteration.rules, (column, row), first..MOST);
    let around = Surroundings::new(iteration, &grid, at);
    candidates.smoothness[OWN] = around.smoothness(&candidates.x[OWN], &candidates.y[OWN]);
    let mut limits = [0; LANES];
    for i in 0..LANES {
        let energy = COST_WEIGHT * u32::from(costs[i]) + candidates.smoothness[OWN][i] as u32;
        limits[i] = energy.min(i16::MAX as u32) as i16;
    }
    candidates.open = [0; MOST];
    for number in first..MOST {
        candidates.smoothness[number] = around.smoothness(&candidates.x[number], &candidates.y[number]);
        let tried = if number >= STEPS { stepped } else { changed };
        candidates.open(engine, number, Some(OWN), tried, &limits);
    }
    true
}

/// Collects the own vectors and the candidates from `first` on.
#[inline(always)]
fn collect_vectors(candidates: &mut LaneCandidates, iteration: &Iteration<'_>, at: usize, first: usize) {
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
        let parents = if iteration.rules.is_coarsest { iteration.vectors } else { iteration.parents };
        put(PARENT, Vectors { x: chunk(&parents.x, at), y: chunk(&parents.y, at) });
        put(MEAN, Vectors { x: &mean(sides.map(|side| side.x)), y: &mean(sides.map(|side| side.y)) });
    }
    for k in 0..SIDES {
        let (x, y) = NEIGHBOURS[k];
        for i in 0..LANES {
            candidates.x[STEPS + k][i] = own.x[i].wrapping_add(x as i16 * iteration.step);
            candidates.y[STEPS + k][i] = own.y[i].wrapping_add(y as i16 * iteration.step);
        }
    }
}

/// The vectors of the cells of a chunk.
#[derive(Clone, Copy)]
struct Vectors<'a> {
    x: &'a Lanes,
    y: &'a Lanes,
}

impl<'a> Vectors<'a> {
    /// Those from `at` on.
    #[inline(always)]
    fn of(iteration: &Iteration<'a>, at: usize) -> Self {
        let vectors = iteration.vectors;
        Self { x: chunk(&vectors.x, at), y: chunk(&vectors.y, at) }
    }
}

/// The rounded means of a component of four vectors.
#[inline(always)]
fn mean([a, b, c, d]: [&Lanes; SIDES]) -> Lanes {
    let mut mean = [0; LANES];
    for i in 0..LANES {
        mean[i] = a[i].wrapping_add(b[i]).wrapping_add(c[i]).wrapping_add(d[i]).wrapping_add(2) >> 2;
    }
    mean
}

/// Not zero for each cell of a chunk where a vector that its costs depend on has changed.
#[inline(always)]
fn changed(iteration: &Iteration<'_>, grid: &CellGrid, at: usize) -> [u16; LANES] {
    let mut changed = *chunk::<u8, LANES>(iteration.moved, at);
    let distances = if iteration.rules.jumps { 2 } else { 1 };
    for (x, y) in NEIGHBOURS {
        for distance in 1..=distances {
            let moved = chunk::<u8, LANES>(iteration.moved, grid.beside(at, (distance * x, distance * y)));
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
    weights: [Lanes; 8],
    smoothness: Lanes,
    most_distance: i16,
}

impl<'a> Surroundings<'a> {
    #[inline(always)]
    fn new(iteration: &Iteration<'a>, grid: &CellGrid, at: usize) -> Self {
        let facts: &CellFacts = iteration.facts;
        let mut neighbours = [Vectors::of(iteration, at); 8];
        let mut weights = [[0; LANES]; 8];
        for k in 0..8 {
            neighbours[k] = Vectors::of(iteration, grid.beside(at, NEIGHBOURS[k]));
            weights[k] = widened(facts.weights(grid, at, k));
        }
        let smoothness = widened(chunk(&facts.smoothness, at));
        Self { neighbours, weights, smoothness, most_distance: iteration.rules.most_distance }
    }

    /// The weighted smoothness of a vector of each cell: at most 5 · 8 · 16 · 48.
    #[inline(always)]
    fn smoothness(&self, x: &Lanes, y: &Lanes) -> Lanes {
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
fn widened(bytes: &[u8; LANES]) -> Lanes {
    let mut wide = [0; LANES];
    for i in 0..LANES {
        wide[i] = bytes[i].into();
    }
    wide
}

//! The vectors of one level in quarter samples (passes 5 to 7).

use super::cells::{CellIndex, CellVector, Cells};
use super::level::SearchLevel;
use motion_base::hierarchy::{COARSEST_RANGE, NEIGHBOURS, Preset};

/// The vectors of the cells of `level`. `coarser` are those of the next coarser level, if there is one.
pub(super) fn search(
    level: &SearchLevel,
    preset: &Preset,
    coarser: Option<&Cells<CellVector>>,
) -> Cells<CellVector> {
    let mut vectors = level.map(|at| match coarser {
        None => best_of_all(level, at),
        Some(coarser) => best_of_parents(level, at, coarser),
    });
    for iteration in 0..preset.iterations[usize::from(!level.is_finest)] {
        let iteration = Iteration {
            level,
            previous: &vectors,
            coarser,
            jumps: !level.is_finest || preset.jumps_on_finest,
            step: if iteration < 2 { 2 } else { 1 },
        };
        vectors = level.map(|at| iteration.best(at));
    }
    vectors
}

/// Pass 5: the best whole displacement near zero.
fn best_of_all(level: &SearchLevel, at: CellIndex) -> CellVector {
    let range = -COARSEST_RANGE..=COARSEST_RANGE;
    let candidates = range.clone().flat_map(|y| range.clone().map(move |x| CellVector::new(4 * x, 4 * y)));
    let limited = candidates.map(|candidate| level.limited(at, candidate));
    let cost = |vector: &CellVector| 64 * level.cost(at, *vector) + 2 * vector.length();
    limited.min_by_key(cost).unwrap_or_default()
}

/// Pass 6: the best of the vectors of the four nearest parents.
fn best_of_parents(level: &SearchLevel, at: CellIndex, coarser: &Cells<CellVector>) -> CellVector {
    let candidates = coarser.parents(at).map(|parent| level.limited(at, coarser[parent].times(2)));
    candidates.into_iter().min_by_key(|&vector| level.cost(at, vector)).unwrap_or_default()
}

/// Pass 7: one iteration, which reads only the vectors of the previous one.
struct Iteration<'a> {
    level: &'a SearchLevel,
    previous: &'a Cells<CellVector>,
    coarser: Option<&'a Cells<CellVector>>,
    /// Whether the vectors of cells two away are candidates.
    jumps: bool,
    /// Quarter samples from the previous vector to the candidates around it.
    step: i32,
}

impl Iteration<'_> {
    /// The candidate of the least energy; of equal ones the first.
    fn best(&self, at: CellIndex) -> CellVector {
        let neighbours = NEIGHBOURS.map(|offset| self.vector_at(at, offset, 1));
        let energy = |&vector: &CellVector| {
            64 * self.level.cost(at, vector) + self.level.smoothness_cost(at, vector, &neighbours)
        };
        self.candidates(at, &neighbours).into_iter().min_by_key(energy).unwrap_or_default()
    }

    /// The candidates of a cell in their order, each once: a candidate that comes again cannot be better.
    fn candidates(&self, at: CellIndex, neighbours: &[CellVector; 8]) -> Vec<CellVector> {
        let own = self.previous[at];
        let beside = &neighbours[..4];
        let far = NEIGHBOURS.iter().filter(|_| self.jumps).map(|&offset| self.vector_at(at, offset, 2));
        let parent = self.coarser.map(|coarser| coarser[coarser.parent(at)].times(2));
        let sum = beside.iter().fold(CellVector::new(2, 2), |sum, &vector| sum + vector);
        let mean = CellVector::new(sum.x >> 2, sum.y >> 2);
        let steps = NEIGHBOURS[..4].iter().map(|&(dx, dy)| own + CellVector::new(dx, dy).times(self.step));

        let mut candidates = vec![own];
        for candidate in far.chain(beside.iter().copied()).chain(parent).chain([mean]).chain(steps) {
            let candidate = self.level.limited(at, candidate);
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        candidates
    }

    /// The previous vector of the cell at `distance` times `offset` from the cell `at`, or of the nearest to it.
    fn vector_at(&self, at: CellIndex, offset: (i32, i32), distance: i32) -> CellVector {
        self.previous.nearest((at.0 + distance * offset.0, at.1 + distance * offset.1))
    }
}

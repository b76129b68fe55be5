//! From quarter samples to 1/64 sample (passes 9 and 10).

use super::cells::{CellIndex, CellVector, Cells};
use super::level::{self, SearchLevel};
use motion_base::hierarchy::NEIGHBOURS;

/// Units of refined vectors in a quarter sample.
const UNITS: i32 = 16;

/// How often vectors are drawn to their neighbours.
const ITERATIONS: usize = 4;

/// Vectors further apart than this many units do not draw each other.
const FARTHEST: i32 = 128;

/// The vectors of level 0 in 1/64 sample, from those in quarter samples.
pub(super) fn refined(level: &SearchLevel, vectors: &Cells<CellVector>) -> Cells<CellVector> {
    let found = vectors.map(|at| Parabolas::new(level, at, vectors[at]));
    let mut refined = found.map(|at| found[at].vector);
    for _ in 0..ITERATIONS {
        refined = refined.map(|at| found[at].drawn(level, at, &refined));
    }
    refined
}

/// Parabolas through the costs of a cell at a vector and half a sample to each side.
#[derive(Clone, Copy)]
struct Parabolas {
    /// The vector at the minimum on both axes.
    vector: CellVector,
    /// The curvature on both axes: how sure the minimum is.
    curvature: CellVector,
}

impl Parabolas {
    /// Pass 9.
    fn new(level: &SearchLevel, at: CellIndex, vector: CellVector) -> Self {
        let centre = level.cost(at, vector);
        let axis = |step: CellVector| {
            let (before, after) = (level.cost(at, vector + step.times(-1)), level.cost(at, vector + step));
            let curvature = (before + after - 2 * centre).max(0);
            // An exact match needs no correction: what does not change does not move.
            let is_between = centre > 0 && curvature > 0;
            let shift = if is_between { (before - after) * UNITS / curvature } else { 0 };
            (shift.clamp(-UNITS, UNITS), curvature)
        };
        let ((x, curvature_x), (y, curvature_y)) = (axis(CellVector::new(2, 0)), axis(CellVector::new(0, 2)));
        Self {
            vector: vector.times(UNITS) + CellVector::new(x, y),
            curvature: CellVector::new(curvature_x, curvature_y),
        }
    }

    /// Pass 10: the vector between the minimum and the neighbours' vectors.
    fn drawn(&self, level: &SearchLevel, at: CellIndex, vectors: &Cells<CellVector>) -> CellVector {
        let own = vectors[at];
        let (weights, sum) = pull(&level.means, at, vectors);
        let axis = |curvature: i32, to_minimum: i32, to_neighbours: i32| {
            let all = 4 * curvature + 5 * weights;
            if all > 0 { (4 * curvature * to_minimum + 5 * to_neighbours) / all } else { 0 }
        };
        let to_minimum = self.vector + own.times(-1);
        own + CellVector::new(
            axis(self.curvature.x, to_minimum.x, sum.x),
            axis(self.curvature.y, to_minimum.y, sum.y),
        )
    }
}

/// How the neighbours of a cell draw its vector: the sum of their weights, and of their weighted differences to it.
pub(super) fn pull(means: &Cells<i32>, at: CellIndex, vectors: &Cells<CellVector>) -> (i32, CellVector) {
    let (mut weights, mut sum) = (0, CellVector::default());
    for (weight, (dx, dy)) in level::weights(means, at).zip(NEIGHBOURS) {
        let difference = vectors.nearest((at.0 + dx, at.1 + dy)) + vectors[at].times(-1);
        let weight = (weight * (FARTHEST - difference.length()).max(0)) >> 7;
        weights += weight;
        sum = sum + difference.times(weight);
    }
    (weights, sum)
}

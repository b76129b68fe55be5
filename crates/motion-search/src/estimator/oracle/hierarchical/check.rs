//! What follows from the vectors of a level, and of both directions (passes 8, 11 and 12).

use super::cells::{CellIndex, CellVector, Cells};
use super::level::{SearchLevel, likeness};
use motion_base::hierarchy::CELL;

/// How often cells take vectors of their neighbours after the check.
const REFILLS: usize = 8;

/// In which units vectors are, and how far the motion there and back may miss.
pub(super) struct Check {
    pub(super) units_per_sample: i32,
    pub(super) tolerance: i32,
}

impl Check {
    /// On coarse levels: quarter samples.
    pub(super) const COARSE: Self = Self { units_per_sample: 4, tolerance: 8 };

    /// At the end: 1/64 sample.
    pub(super) const FINEST: Self = Self { units_per_sample: 64, tolerance: 96 };

    /// The vectors, those that `backward` contradicts replaced by vectors of neighbours.
    pub(super) fn refilled(
        &self,
        means: &Cells<i32>,
        vectors: &Cells<CellVector>,
        backward: &Cells<CellVector>,
    ) -> Cells<CellVector> {
        // A vector that is not good is `None`.
        let mut good = vectors.map(|at| Some(vectors[at]).filter(|&v| self.is_good(at, v, backward)));
        for _ in 0..REFILLS {
            good = good.map(|at| {
                let neighbours: Vec<_> =
                    good.around(at).filter_map(|other| Some((other, good[other]?))).collect();
                good[at].or_else(|| median(means, at, &neighbours).filter(|_| neighbours.len() >= 2))
            });
        }
        vectors.map(|at| good[at].unwrap_or(vectors[at]))
    }

    /// Whether the backward vector, where `vector` leads to, leads back to near the cell.
    fn is_good(&self, (x, y): CellIndex, vector: CellVector, backward: &Cells<CellVector>) -> bool {
        let side = CELL as i32 * self.units_per_sample;
        let cell = |index: i32, vector: i32| (side * index + side / 2 + vector).div_euclid(side);
        backward
            .get((cell(x, vector.x), cell(y, vector.y)))
            .is_some_and(|back| (vector + back).length() < self.tolerance + (vector.length() >> 5))
    }
}

/// Pass 11: the weighted median of each cell and its neighbours.
pub(super) fn medians(means: &Cells<i32>, vectors: &Cells<CellVector>) -> Cells<CellVector> {
    vectors.map(|at| {
        let members: Vec<_> = vectors.around(at).map(|other| (other, vectors[other])).collect();
        median(means, at, &members).unwrap_or_default()
    })
}

/// The weighted vector median of `members` for the cell `own`: the vector with the least weighted sum of distances to
/// all. Of equal sums the cell's own vector, then the first.
fn median(means: &Cells<i32>, own: CellIndex, members: &[(CellIndex, CellVector)]) -> Option<CellVector> {
    let weight = |at: CellIndex| likeness(means[at], means[own]);
    let sum = |vector: CellVector| -> i32 {
        members.iter().map(|&(at, other)| weight(at) * vector.distance(other)).sum()
    };
    members.iter().min_by_key(|&&(at, vector)| (sum(vector), at != own)).map(|&(_, vector)| vector)
}

/// The difference in brightness of each cell at its final vector, as the median of its surroundings.
pub(super) fn offsets(level: &SearchLevel, vectors: &Cells<CellVector>) -> Cells<i32> {
    let own = vectors.map(|at| level.offset(at, vectors[at]));
    own.map(|at| {
        let members: Vec<i32> = own.around(at).map(|other| own[other]).collect();
        let sum = |offset: i32| members.iter().map(|other| (offset - other).abs()).sum::<i32>();
        members.iter().copied().min_by_key(|&offset| (sum(offset), offset.abs())).unwrap_or_default()
    })
}

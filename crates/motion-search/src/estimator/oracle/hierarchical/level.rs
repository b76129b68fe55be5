//! One level of the search in one direction: its cells and what a vector costs there (pass 4).

use super::cells::{CellIndex, CellVector, Cells};
use crate::estimator::Frame;
use crate::estimator::oracle::interpolation::Interpolated;
use motion_base::hierarchy::{CELL, MOST_DISTANCES, NEIGHBOURS, Preset};

const SIDE: i32 = CELL as i32;

/// Samples on a side of a small cell, a quarter of a cell.
const SMALL_SIDE: i32 = SIDE / 2;

/// The largest difference in brightness that is compensated.
const LARGEST_OFFSET: i32 = 48;

/// What one unit of a difference in brightness adds to a cost.
const OFFSET_PENALTY: i32 = 8;

/// How many samples outside the level's frame the centre of a candidate may be.
const REACH_OUTSIDE: i32 = 8;

/// A level of the search: the cells of one frame, and the other frame, in which they are searched.
pub(super) struct SearchLevel {
    /// Whether it is level 0.
    pub(super) is_finest: bool,
    width: i32,
    height: i32,
    reference: Interpolated,
    /// The 8 x 8 samples of each cell.
    samples: Cells<[i32; 64]>,
    sums: Cells<i32>,
    pub(super) means: Cells<i32>,
    /// What one unit of distance to a neighbour's vector costs.
    smoothness: Cells<i32>,
    /// The most that one sample adds to a cost.
    cut: i32,
    /// The differences in brightness that the next coarser level has found. `None`: each candidate has its own.
    offsets: Option<Cells<i32>>,
}

impl SearchLevel {
    /// Level `index` of the search of `frame` in `reference`, with the `offsets` of the next coarser level.
    pub(super) fn new(
        index: usize,
        frame: &Frame,
        reference: &Frame,
        preset: &Preset,
        offsets: Option<Cells<i32>>,
    ) -> Self {
        let is_finest = index == 0;
        let samples = cells_of(frame);
        let sums = samples.map(|at| samples[at].iter().sum::<i32>());
        let means = sums.map(|at| (sums[at] + 32) >> 6);
        let smoothness = means.map(|at| {
            let detail: i32 = samples[at].iter().map(|sample| (sample - means[at]).abs()).sum();
            if is_finest { 5 } else { (5 * (detail >> 4).clamp(8, 16)) >> 4 }
        });
        let frame = frame.view();
        Self {
            is_finest,
            width: frame.width() as i32,
            height: frame.height() as i32,
            reference: Interpolated::new(&reference.view()),
            samples,
            sums,
            means,
            smoothness,
            cut: i32::from(preset.cuts[usize::from(!is_finest)]),
            offsets,
        }
    }

    /// A value for each cell.
    pub(super) fn map<T: Copy>(&self, value: impl FnMut(CellIndex) -> T) -> Cells<T> {
        self.means.map(value)
    }

    /// The vector of the cell, limited so that the centre of the candidate is at most 8 samples outside the frame.
    pub(super) fn limited(&self, (x, y): CellIndex, vector: CellVector) -> CellVector {
        let limit = |vector: i32, cell: i32, side: i32| {
            let centre = SIDE * cell + SIDE / 2;
            vector.clamp(4 * (-REACH_OUTSIDE - centre), 4 * (side + REACH_OUTSIDE - centre))
        };
        CellVector::new(limit(vector.x, x, self.width), limit(vector.y, y, self.height))
    }

    /// The data cost of a vector in quarter samples: what the cell and the candidate differ by.
    pub(super) fn cost(&self, at: CellIndex, vector: CellVector) -> i32 {
        let candidate = self.candidate(at, vector);
        let (offset, penalty) = match &self.offsets {
            Some(offsets) => (offsets[offsets.parent(at)], 0),
            None => {
                let offset = self.offset_to(at, &candidate);
                (offset, OFFSET_PENALTY * offset.abs())
            }
        };
        self.sad(self.samples[at].into_iter().zip(candidate), offset) + penalty
    }

    /// The data cost of a vector in quarter samples for a small cell.
    pub(super) fn cost_of_small_cell(&self, (x, y): CellIndex, vector: CellVector) -> i32 {
        let offset = self.offsets.as_ref().map_or(0, |offsets| offsets[offsets.parent((x >> 1, y >> 1))]);
        let candidate = |dx, dy| {
            let (x, y) = (SMALL_SIDE * x + dx, SMALL_SIDE * y + dy);
            self.reference.sample(4 * x + vector.x, 4 * y + vector.y)
        };
        let pairs = self.samples_of_small_cell((x, y)).map(|(dx, dy, sample)| (sample, candidate(dx, dy)));
        self.sad(pairs, offset)
    }

    /// The mean of a small cell.
    pub(super) fn mean_of_small_cell(&self, at: CellIndex) -> i32 {
        (self.samples_of_small_cell(at).map(|(_, _, sample)| sample).sum::<i32>() + 8) >> 4
    }

    /// The samples of a small cell, each with its column and row in it.
    fn samples_of_small_cell(&self, (x, y): CellIndex) -> impl Iterator<Item = (i32, i32, i32)> {
        let samples = &self.samples[(x >> 1, y >> 1)];
        let (left, top) = (SMALL_SIDE * (x & 1), SMALL_SIDE * (y & 1));
        let positions = (0..SMALL_SIDE).flat_map(|dy| (0..SMALL_SIDE).map(move |dx| (dx, dy)));
        positions.map(move |(dx, dy)| (dx, dy, samples[(left + dx + SIDE * (top + dy)) as usize]))
    }

    /// The sum of differences of pairs of samples, the first of them made `offset` darker.
    fn sad(&self, pairs: impl Iterator<Item = (i32, i32)>, offset: i32) -> i32 {
        pairs.map(|(sample, other)| ((sample - offset).clamp(0, 255) - other).abs().min(self.cut)).sum()
    }

    /// How much brighter the cell is than the candidate.
    pub(super) fn offset(&self, at: CellIndex, vector: CellVector) -> i32 {
        self.offset_to(at, &self.candidate(at, vector))
    }

    fn offset_to(&self, at: CellIndex, candidate: &[i32; 64]) -> i32 {
        let difference = self.sums[at] - candidate.iter().sum::<i32>();
        ((difference + 32) >> 6).clamp(-LARGEST_OFFSET, LARGEST_OFFSET)
    }

    /// The samples of the reference frame at a vector from the cell.
    fn candidate(&self, (x, y): CellIndex, vector: CellVector) -> [i32; 64] {
        self.reference.cell(4 * SIDE * x + vector.x, 4 * SIDE * y + vector.y)
    }

    /// What the distances of `vector` to `neighbours`, the vectors of [`NEIGHBOURS`], cost.
    pub(super) fn smoothness_cost(
        &self,
        at: CellIndex,
        vector: CellVector,
        neighbours: &[CellVector; 8],
    ) -> i32 {
        let longest = MOST_DISTANCES[usize::from(!self.is_finest)].into();
        let weighted = weights(&self.means, at).zip(neighbours);
        let sum: i32 = weighted.map(|(weight, &other)| weight * vector.distance(other).min(longest)).sum();
        self.smoothness[at] * sum
    }
}

/// The weight of each of [`NEIGHBOURS`]: the more alike the cells look, the more; 0 outside the grid.
pub(super) fn weights(means: &Cells<i32>, (x, y): CellIndex) -> impl Iterator<Item = i32> {
    let own = means[(x, y)];
    let weight = move |mean| likeness(mean, own);
    NEIGHBOURS.into_iter().map(move |(dx, dy)| means.get((x + dx, y + dy)).map_or(0, weight))
}

/// The weight of a cell for another, by the means of both: 2 to 16.
pub(super) fn likeness(mean: i32, other: i32) -> i32 {
    (16 - ((mean - other).abs() >> 1)).max(2)
}

/// The samples of the cells of a frame.
fn cells_of(frame: &Frame) -> Cells<[i32; 64]> {
    let frame = frame.view();
    let (columns, rows) = (frame.width().div_ceil(CELL), frame.height().div_ceil(CELL));
    Cells::from_fn(columns as i32, rows as i32, |(x, y)| {
        std::array::from_fn(|i| i32::from(frame.extended(SIDE * x + i as i32 % 8, SIDE * y + i as i32 / 8)))
    })
}

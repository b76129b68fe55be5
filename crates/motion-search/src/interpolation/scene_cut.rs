//! Whether two frames show different scenes.

use std::ops::Add;

use rayon::prelude::*;

use super::rules::BLOCK;
use crate::estimator::{FrameView, MotionVector};
use crate::simd::{InstructionSet, Instructions, Work};

/// What a block, or what it is matched with, differs from its mean so that it counts.
const LEAST_DETAIL: u32 = 2 * (BLOCK * BLOCK) as u32;

/// Blocks that count, and those of them that match badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Votes {
    counted: usize,
    against: usize,
}

impl Add for Votes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { counted: self.counted + other.counted, against: self.against + other.against }
    }
}

impl Votes {
    /// The votes of the blocks of `current` that lie wholly inside, which the search has found in `reference`.
    ///
    /// A block matches badly if it differs from its match hardly less than both differ from their own means. Brightness does
    /// not count: means are left out, so that fades and flashes are no cuts.
    fn of(
        instructions: Instructions,
        [current, reference]: [&FrameView<'_>; 2],
        found: &[MotionVector],
    ) -> Self {
        let rows = found.par_chunks(current.width().div_ceil(BLOCK)).take(current.height() / BLOCK);
        let votes = rows
            .enumerate()
            .map(|(row, found)| instructions.run(VotingRow { current, reference, row, found }));
        votes.reduce(Self::default, Self::add)
    }

    /// Whether more than 13 of 16 blocks that count match badly.
    fn are_against(self) -> bool {
        16 * self.against > 13 * self.counted
    }
}

/// A row of blocks that lies wholly inside `current`.
struct VotingRow<'a> {
    current: &'a FrameView<'a>,
    reference: &'a FrameView<'a>,
    row: usize,
    found: &'a [MotionVector],
}

impl<E: InstructionSet> Work<E, Votes> for VotingRow<'_> {
    #[inline(always)]
    fn run(self, _: E) -> Votes {
        let Self { current, reference, row, found } = self;
        let mut votes = Votes::default();
        for (column, vector) in found.iter().enumerate().take(current.width() / BLOCK) {
            let (x, y) = (BLOCK * column, BLOCK * row);
            let block = minus_mean(current, (x as i32, y as i32));
            let matched = minus_mean(reference, (whole(x, vector.x), whole(y, vector.y)));
            let mut mismatch = 0;
            for at in 0..BLOCK * BLOCK {
                mismatch += u32::from(block[at].abs_diff(matched[at]));
            }
            let details = [detail(&block), detail(&matched)];
            if details[0].max(details[1]) >= LEAST_DETAIL {
                votes.counted += 1;
                votes.against += usize::from(8 * mismatch >= 3 * (details[0] + details[1]));
            }
        }
        votes
    }
}

/// Where a vector of `units` leads from `at`, in whole samples.
#[inline(always)]
fn whole(at: usize, units: i16) -> i32 {
    at as i32 + ((i32::from(units) + 16) >> 5)
}

/// The 8 x 8 samples of `frame` from `(x, y)` on, less their mean. Outside the frame, its edge samples repeat.
#[inline(always)]
pub(crate) fn minus_mean(frame: &FrameView<'_>, (x, y): (i32, i32)) -> [i16; BLOCK * BLOCK] {
    let mut samples = [0; BLOCK * BLOCK];
    if let Some((inside, stride)) = frame.inside((x, y), (BLOCK, BLOCK)) {
        for row in 0..BLOCK {
            let from = &inside[row * stride..][..BLOCK];
            for column in 0..BLOCK {
                samples[BLOCK * row + column] = from[column].into();
            }
        }
    } else {
        for (index, sample) in samples.iter_mut().enumerate() {
            *sample = frame.extended(x + (index % BLOCK) as i32, y + (index / BLOCK) as i32).into();
        }
    }
    let mut sum = 0;
    for sample in samples {
        sum += sample;
    }
    let mean = (sum + 32) >> 6;
    for sample in &mut samples {
        *sample -= mean;
    }
    samples
}

/// How much samples less their mean differ from it.
#[inline(always)]
fn detail(samples: &[i16; BLOCK * BLOCK]) -> u32 {
    let mut sum = 0;
    for sample in samples {
        sum += u32::from(sample.unsigned_abs());
    }
    sum
}

/// Whether more than a quarter of the blocks of `frame` that lie wholly inside have detail.
fn is_detailed(frame: &FrameView<'_>) -> bool {
    let (columns, rows) = (frame.width() / BLOCK, frame.height() / BLOCK);
    let has_detail = |block: usize| {
        let [x, y] = [block % columns, block / columns].map(|at| (BLOCK * at) as i32);
        detail(&minus_mean(frame, (x, y))) >= LEAST_DETAIL
    };
    4 * (0..columns * rows).filter(|&block| has_detail(block)).count() > columns * rows
}

/// Whether `current` and `reference` show different scenes, by the field of the one in the other: blocks match badly, and
/// there is detail in one of them at least. Both are frames that were searched.
pub(super) fn is_scene_cut(
    instructions: Instructions,
    frames: [&FrameView<'_>; 2],
    field: &[MotionVector],
) -> bool {
    // Hardly ever there is more to do.
    Votes::of(instructions, frames, field).are_against() && frames.into_iter().any(is_detailed)
}

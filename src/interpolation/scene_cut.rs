//! Whether two frames show different scenes.

use std::ops::Add;

use rayon::prelude::*;

use super::rules::BLOCK;
use crate::estimator::{FrameView, MotionVector};
use crate::native::level::{InstructionSet, Instructions, Work};

/// What a block differs from its mean, or from what it is matched with, so that it counts.
const LEAST_DETAIL: u32 = 2 * (BLOCK * BLOCK) as u32;

/// Blocks that count, and those of them that match badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Votes {
    blocks: usize,
    counted: usize,
    against: usize,
}

impl Add for Votes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            counted: self.counted + other.counted,
            against: self.against + other.against,
        }
    }
}

impl Votes {
    /// The votes of the blocks of `current` that lie wholly inside, which the search has found in `reference`.
    ///
    /// A block matches badly if it differs from its match hardly less than from its own mean. Brightness does not count:
    /// both are compared with their own means, so that fades and flashes are no cuts.
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

    /// Whether more than a quarter of the blocks count.
    fn is_detailed(self) -> bool {
        4 * self.counted > self.blocks
    }

    /// Whether more than 13 of 16 blocks that count match badly.
    fn is_against(self) -> bool {
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

impl Work for VotingRow<'_> {
    type Output = Votes;

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) -> Votes {
        let Self { current, reference, row, found } = self;
        let mut votes = Votes::default();
        for (column, vector) in found.iter().enumerate().take(current.width() / BLOCK) {
            let (x, y) = (BLOCK * column, BLOCK * row);
            let block = minus_mean(current, (x as i32, y as i32));
            let matched = minus_mean(reference, (whole(x, vector.x), whole(y, vector.y)));
            let (mut detail, mut mismatch) = (0, 0);
            for at in 0..BLOCK * BLOCK {
                detail += u32::from(block[at].unsigned_abs());
                mismatch += u32::from(block[at].abs_diff(matched[at]));
            }
            votes.blocks += 1;
            if detail.max(mismatch) >= LEAST_DETAIL {
                votes.counted += 1;
                votes.against += usize::from(4 * mismatch >= 3 * detail);
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
fn minus_mean(frame: &FrameView<'_>, (x, y): (i32, i32)) -> [i16; BLOCK * BLOCK] {
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

/// Whether `previous` and `next` show different scenes, by the fields that were found in both directions: blocks match
/// badly both ways, and there is detail in one of them at least. Both are frames that were searched.
pub(super) fn is_scene_cut(
    instructions: Instructions,
    [previous, next]: [&FrameView<'_>; 2],
    [forward, backward]: [&[MotionVector]; 2],
) -> bool {
    let forward = Votes::of(instructions, [previous, next], forward);
    // Hardly ever there is more to do.
    forward.is_against() && {
        let backward = Votes::of(instructions, [next, previous], backward);
        backward.is_against() && (forward.is_detailed() || backward.is_detailed())
    }
}

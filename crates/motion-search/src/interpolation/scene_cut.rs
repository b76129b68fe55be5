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
    /// not count: means are left out, so that fades and flashes are no cuts. Nor does contrast, so that strobes are none: a
    /// block that resembles its match, or the block at its own place, with more or less contrast does not match badly.
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
                let matches_badly = 8 * mismatch >= 3 * (details[0] + details[1])
                    && !resembles(&block, &matched)
                    && !resembles(&block, &minus_mean(reference, (x as i32, y as i32)));
                votes.against += usize::from(matches_badly);
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

/// Whether two blocks less their means are the same picture but for its contrast: their correlation is 0.9 or more.
#[inline(always)]
pub(crate) fn resembles(first: &[i16; BLOCK * BLOCK], second: &[i16; BLOCK * BLOCK]) -> bool {
    let (mut product, mut squares) = (0, [0; 2]);
    for (&first, &second) in first.iter().zip(second) {
        let [first, second] = [i32::from(first), i32::from(second)];
        product += first * second;
        squares[0] += first * first;
        squares[1] += second * second;
    }
    let [product, first, second] = [product, squares[0], squares[1]].map(i64::from);
    product > 0 && 100 * product * product >= 81 * first * second
}

/// Whether there is enough detail in `frame` to tell a scene by: in more than a quarter of the blocks that lie wholly inside
/// and are in columns and rows with detail, if these are an eighth of the frame. Bars beside a picture have no detail.
fn is_detailed(frame: &FrameView<'_>) -> bool {
    let (columns, rows) = (frame.width() / BLOCK, frame.height() / BLOCK);
    let has_detail = |column: usize, row: usize| {
        let [x, y] = [column, row].map(|at| (BLOCK * at) as i32);
        detail(&minus_mean(frame, (x, y))) >= LEAST_DETAIL
    };
    let in_row = |row: usize| (0..columns).filter(move |&column| has_detail(column, row));
    let detailed: usize = (0..rows).map(|row| in_row(row).count()).sum();
    let rows_used = (0..rows).filter(|&row| in_row(row).next().is_some()).count();
    let is_used = |column: usize| (0..rows).any(|row| has_detail(column, row));
    let used = rows_used * (0..columns).filter(|&column| is_used(column)).count();
    4 * detailed > used && 8 * used >= columns * rows
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

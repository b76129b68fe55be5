//! Whether two frames show different scenes.

use super::rules::BLOCK;
use crate::estimator::{FrameView, MotionVector};

/// What a block differs from its mean, or from what it is matched with, so that it counts.
const LEAST_DETAIL: u32 = 2 * (BLOCK * BLOCK) as u32;

/// Blocks that count, and those of them that match badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Votes {
    blocks: usize,
    counted: usize,
    against: usize,
}

impl Votes {
    /// The votes of the blocks of `current` that lie wholly inside, which the search has found in `reference`.
    ///
    /// A block matches badly if it differs from its match hardly less than from its own mean. Brightness does not count:
    /// both are compared with their own means, so that fades and flashes are no cuts.
    fn of(current: &FrameView<'_>, reference: &FrameView<'_>, found: &[MotionVector]) -> Self {
        let mut votes = Self::default();
        let columns = current.width().div_ceil(BLOCK);
        for (index, vector) in found.iter().enumerate() {
            let (x, y) = (BLOCK * (index % columns), BLOCK * (index / columns));
            if x + BLOCK > current.width() || y + BLOCK > current.height() {
                continue;
            }
            let whole = |at: usize, units: i16| at as i32 + ((i32::from(units) + 16) >> 5);
            let block = minus_mean(current, (x as i32, y as i32));
            let matched = minus_mean(reference, (whole(x, vector.x), whole(y, vector.y)));
            let detail: u32 = block.iter().map(|sample| u32::from(sample.unsigned_abs())).sum();
            let mismatch: u32 =
                block.iter().zip(matched).map(|(&sample, other)| u32::from(sample.abs_diff(other))).sum();
            votes.blocks += 1;
            if detail.max(mismatch) >= LEAST_DETAIL {
                votes.counted += 1;
                votes.against += usize::from(4 * mismatch >= 3 * detail);
            }
        }
        votes
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

/// The 8 x 8 samples of `frame` from `(x, y)` on, less their mean. Outside the frame, its edge samples repeat.
fn minus_mean(frame: &FrameView<'_>, (x, y): (i32, i32)) -> [i16; BLOCK * BLOCK] {
    let mut samples = [0; BLOCK * BLOCK];
    let is_inside = |at: i32, length: usize| usize::try_from(at).is_ok_and(|at| at + BLOCK <= length);
    if is_inside(x, frame.width()) && is_inside(y, frame.height()) {
        for (row, samples) in samples.chunks_exact_mut(BLOCK).enumerate() {
            let row = &frame.row(y as usize + row)[x as usize..][..BLOCK];
            samples.iter_mut().zip(row).for_each(|(to, &sample)| *to = sample.into());
        }
    } else {
        for (index, sample) in samples.iter_mut().enumerate() {
            *sample = frame.extended(x + (index % BLOCK) as i32, y + (index / BLOCK) as i32).into();
        }
    }
    let sum: i16 = samples.iter().sum();
    let mean = (sum + 32) >> 6;
    samples.map(|sample| sample - mean)
}

/// Whether `previous` and `next` show different scenes, by the fields that were found in both directions: blocks match
/// badly both ways, and there is detail in one of them at least. Both are frames that were searched.
pub(super) fn is_scene_cut(
    [previous, next]: [&FrameView<'_>; 2],
    [forward, backward]: [&[MotionVector]; 2],
) -> bool {
    let votes = [Votes::of(previous, next, forward), Votes::of(next, previous, backward)];
    votes.iter().any(|votes| votes.is_detailed()) && votes.iter().all(|votes| votes.is_against())
}

//! Pictures that one of two frames hardly shows.

use super::rules::BLOCK;
use motion_base::FrameView;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// A frame with less than one part in so many of the detail of another shows nothing that could be found in it.
pub(super) const LEAST_PART: u64 = 8;

/// How far the samples are apart whose differences are detail.
pub(super) const DISTANCE: usize = BLOCK;

/// Whether one of two search frames has so little detail beside the other that no motion between them can be known: the
/// picture fades in from a plain frame or out to one.
pub(super) fn hides_motion(instructions: Instructions, frames: [&FrameView<'_>; 2]) -> bool {
    let [previous, next] = frames.map(|frame| instructions.run(Detail(frame)));
    LEAST_PART * previous.min(next) < previous.max(next)
}

/// The detail of a frame: how much its samples differ from those [`DISTANCE`] to the right and below.
struct Detail<'a>(&'a FrameView<'a>);

impl<E: InstructionSet> Work<E, u64> for Detail<'_> {
    #[inline(always)]
    fn run(self, _: E) -> u64 {
        let Self(frame) = self;
        let mut detail = 0;
        for y in 0..frame.height() {
            let row = frame.row(y);
            let right = row.get(DISTANCE..).unwrap_or_default();
            let below = if y + DISTANCE < frame.height() { frame.row(y + DISTANCE) } else { &[] };
            detail += u64::from(difference(row, right) + difference(row, below));
        }
        detail
    }
}

/// The sum of the differences of the samples that both have.
#[inline(always)]
fn difference(one: &[u8], other: &[u8]) -> u32 {
    let mut sum = 0;
    // A loop of its own, so that it is compiled for the instructions.
    for (a, b) in one.iter().zip(other) {
        sum += u32::from(a.abs_diff(*b));
    }
    sum
}

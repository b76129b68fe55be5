//! Pictures that one of two frames hardly shows.

use super::detail::CentredBlock;
use super::rules::BLOCK;
use crate::estimator::FrameView;
use crate::simd::{InstructionSet, Instructions, Work};

/// A frame with less than one part in so many of the detail of another shows nothing that could be found in it.
const LEAST_PART: u64 = 8;

/// Whether one of two search frames has so little detail beside the other that no motion between them can be known: the
/// picture fades in from a plain frame or out to one.
pub(super) fn hides_motion(instructions: Instructions, frames: [&FrameView<'_>; 2]) -> bool {
    let [previous, next] = frames.map(|frame| instructions.run(DetailOfFrame(frame)));
    LEAST_PART * previous.min(next) < previous.max(next)
}

/// The detail of all blocks of a frame.
struct DetailOfFrame<'a>(&'a FrameView<'a>);

impl<E: InstructionSet> Work<E, u64> for DetailOfFrame<'_> {
    #[inline(always)]
    fn run(self, _: E) -> u64 {
        let mut detail = 0;
        for y in (0..self.0.height()).step_by(BLOCK) {
            for x in (0..self.0.width()).step_by(BLOCK) {
                detail += u64::from(CentredBlock::load(self.0, (x as i32, y as i32), 0).detail());
            }
        }
        detail
    }
}

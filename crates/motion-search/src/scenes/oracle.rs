//! The definition of smaller frames.

use crate::estimator::oracle::eight_bits;
use crate::estimator::{Frame, FrameView};

/// The eight bits of a luma plane, halved so often.
pub fn halved_frame(luma: &FrameView<'_>, halvings: u32) -> Frame {
    let mut frame = eight_bits(luma);
    for _ in 0..halvings {
        let whole = frame.view();
        let half = Frame::from_fn(whole.width().div_ceil(2), whole.height().div_ceil(2), |x, y| {
            let sample =
                |right, down| u32::from(whole.extended((2 * x + right) as i32, (2 * y + down) as i32));
            ((sample(0, 0) + sample(1, 0) + sample(0, 1) + sample(1, 1) + 2) >> 2) as u8
        });
        frame = half;
    }
    frame
}

//! The frames of a pyramid.

use crate::estimator::{Frame, FrameView};
use motion_base::hierarchy::level_sizes;

/// The frame that is searched: eight bits of each sample.
pub fn eight_bits(frame: &FrameView<'_>) -> Frame {
    let seen = |x, y| frame.format().eight_bits(frame.sample(x as i32, y as i32));
    Frame::from_fn(frame.width(), frame.height(), seen)
}

/// The frames of all levels, finest first: pass 1, and pass 2 for level 0.
pub(super) fn pyramid(frame: &FrameView<'_>) -> Vec<Frame> {
    let mut levels = vec![smoothed(frame)];
    let mut finer = Frame::from_fn(frame.width(), frame.height(), |x, y| frame.row(y)[x]);
    for (width, height) in level_sizes(frame.width(), frame.height()).skip(1) {
        finer = halved(&finer.view(), width, height);
        levels.push(finer.clone());
    }
    levels
}

/// The next coarser level of the unsmoothed frame `finer`.
fn halved(finer: &FrameView<'_>, width: usize, height: usize) -> Frame {
    const WEIGHTS: [i32; 4] = [1, 3, 3, 1];
    let row = |x: i32, y: i32| -> i32 {
        (x..).zip(WEIGHTS).map(|(x, weight)| weight * i32::from(finer.extended(x, y))).sum()
    };
    Frame::from_fn(width, height, |x, y| {
        let (left, top) = (2 * x as i32 - 1, 2 * y as i32 - 1);
        let sum: i32 = (top..).zip(WEIGHTS).map(|(y, weight)| weight * row(left, y)).sum();
        ((sum + 32) >> 6) as u8
    })
}

/// `frame` with less noise: half of each sample, and an eighth of each of its four neighbours.
fn smoothed(frame: &FrameView<'_>) -> Frame {
    Frame::from_fn(frame.width(), frame.height(), |x, y| {
        let (x, y) = (x as i32, y as i32);
        let around = [(x, y - 1), (x, y + 1), (x - 1, y), (x + 1, y)];
        let sum: i32 = around.into_iter().map(|(x, y)| i32::from(frame.extended(x, y))).sum();
        ((sum + 4 * i32::from(frame.extended(x, y)) + 4) >> 3) as u8
    })
}

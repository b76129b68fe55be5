//! The frames of a pyramid, and the samples between samples.

use crate::estimator::oracle::interpolation;
use crate::estimator::pyramid::level_sizes;
use crate::estimator::{Frame, FrameView};

/// The frame that is searched: the upper eight bits of each sample.
pub(super) fn upper_eight_bits(frame: &FrameView<'_>) -> Frame {
    let lower = frame.format().depth() - 8;
    let upper = |x, y| (frame.sample(x as i32, y as i32) >> lower) as u8;
    Frame::from_fn(frame.width(), frame.height(), upper)
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

/// A frame between its samples (pass 3): the luma interpolation of H.264 of the endlessly extended frame.
pub(super) struct Interpolated {
    /// The points at whole and half samples, two a sample on each axis, [`MARGIN`] samples beyond the frame.
    points: Frame,
}

/// From three samples outside the frame outwards, all six samples of a filter are the same, so the points
/// further out repeat the outermost ones.
const MARGIN: i32 = 4;

impl Interpolated {
    pub(super) fn new(frame: &FrameView<'_>) -> Self {
        let points = |side: usize| 2 * (side + 2 * MARGIN as usize);
        let point = |x: usize, y: usize| half_sample(frame, x as i32 - 2 * MARGIN, y as i32 - 2 * MARGIN);
        Self { points: Frame::from_fn(points(frame.width()), points(frame.height()), point) }
    }

    /// The 8 x 8 samples whose first is at `(x, y)`, in quarter samples, row by row.
    pub(super) fn cell(&self, x: i32, y: i32) -> [i32; 64] {
        let points = self.points.view();
        std::array::from_fn(|i| quarter_sample(&points, x + 4 * (i as i32 % 8), y + 4 * (i as i32 / 8)))
    }

    /// The sample at `(x, y)`, in quarter samples.
    pub(super) fn sample(&self, x: i32, y: i32) -> i32 {
        quarter_sample(&self.points.view(), x, y)
    }
}

/// The sample of `points` at `(x, y)`, in quarter samples.
fn quarter_sample(points: &FrameView<'_>, x: i32, y: i32) -> i32 {
    let point = |x, y| i32::from(points.extended(x + 2 * MARGIN, y + 2 * MARGIN));
    interpolation::quarter_sample(point, x, y)
}

/// The point of `frame` at `(x, y)`, in half samples.
pub(super) fn half_sample(frame: &FrameView<'_>, x: i32, y: i32) -> u8 {
    interpolation::half_sample(|x, y| frame.extended(x, y), x, y)
}

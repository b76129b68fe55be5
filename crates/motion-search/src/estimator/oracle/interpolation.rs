//! Samples between samples: the luma interpolation of H.264 (ITU-T H.264, 8.4.2.2.1).

use crate::estimator::FrameView;

/// A frame between its samples: that of the endlessly repeated frame.
#[derive(Debug)]
pub struct Interpolated {
    size: (usize, usize),
    /// The points at whole and half samples, two a sample on each axis, [`MARGIN`] samples beyond the frame.
    points: Vec<u16>,
}

/// From three samples outside the frame outwards, all six samples of a filter are the same, so the points
/// further out repeat the outermost ones.
const MARGIN: usize = 4;

impl Interpolated {
    /// The points of `frame`.
    pub fn new(frame: &FrameView<'_>) -> Self {
        let size = frame.size();
        let [columns, rows] = Self::points_of(size).map(|count| 0..count);
        let point = |x, y| point_of(frame, x - 2 * MARGIN as i32, y - 2 * MARGIN as i32);
        let points = rows.flat_map(|y| columns.clone().map(move |x| point(x, y))).collect();
        Self { size, points }
    }

    /// Points of a row, and rows of points.
    fn points_of((width, height): (usize, usize)) -> [i32; 2] {
        [width, height].map(|side| 2 * (side + 2 * MARGIN) as i32)
    }

    /// Samples a row, and rows.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// The 8 x 8 samples whose first is at `(x, y)`, in quarter samples, row by row.
    pub(super) fn cell(&self, x: i32, y: i32) -> [i32; 64] {
        std::array::from_fn(|i| self.sample(x + 4 * (i as i32 % 8), y + 4 * (i as i32 / 8)))
    }

    /// The sample at `(x, y)`, in quarter samples.
    pub fn sample(&self, x: i32, y: i32) -> i32 {
        let [columns, rows] = Self::points_of(self.size);
        let at = |at: i32, count: i32| (at + 2 * MARGIN as i32).clamp(0, count - 1);
        quarter_sample(|x, y| self.points[(at(y, rows) * columns + at(x, columns)) as usize].into(), x, y)
    }
}

/// The point of `frame` at `(x, y)`, in half samples.
pub(super) fn point_of(frame: &FrameView<'_>, x: i32, y: i32) -> u16 {
    let peak = i32::from(frame.format().peak());
    half_sample(peak, |x, y| i32::from(frame.sample(x, y)), x, y) as u16
}

/// The sample at `(x, y)`, in quarter samples, from the points at whole and half samples, `point(x, y)` in half samples:
/// a point, or the mean of two.
pub fn quarter_sample(point: impl Fn(i32, i32) -> i32, x: i32, y: i32) -> i32 {
    let (left, top) = (x >> 1, y >> 1);
    let is_diagonal_up = (left + top) & 1 == 0;
    let (first, second) = match (x & 1 == 1, y & 1 == 1) {
        (false, false) => return point(left, top),
        (true, false) => (point(left, top), point(left + 1, top)),
        (false, true) => (point(left, top), point(left, top + 1)),
        // Of the four points around, the two with one coordinate at a half sample.
        (true, true) if is_diagonal_up => (point(left + 1, top), point(left, top + 1)),
        (true, true) => (point(left, top), point(left + 1, top + 1)),
    };
    (first + second + 1) >> 1
}

/// The point at `(x, y)`, in half samples, of a frame of samples from 0 to `peak`, whose sample at `(x, y)` is
/// `sample(x, y)`.
pub fn half_sample(peak: i32, sample: impl Fn(i32, i32) -> i32, x: i32, y: i32) -> i32 {
    let is_half = (x & 1 == 1, y & 1 == 1);
    let (x, y) = (x >> 1, y >> 1);
    let column = |x: i32| six_taps(|i| sample(x, y + i));
    let (sum, shift) = match is_half {
        (false, false) => return sample(x, y),
        (true, false) => (six_taps(|i| sample(x + i, y)), 5),
        (false, true) => (column(x), 5),
        (true, true) => (six_taps(|i| column(x + i)), 10),
    };
    ((sum + (1 << (shift - 1))) >> shift).clamp(0, peak)
}

/// The filter for a point halfway between `value(0)` and `value(1)`.
fn six_taps(value: impl Fn(i32) -> i32) -> i32 {
    value(-2) + value(3) - 5 * (value(-1) + value(2)) + 20 * (value(0) + value(1))
}

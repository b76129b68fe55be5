//! Samples between samples: the luma interpolation of H.264 (ITU-T H.264, 8.4.2.2.1).

/// The sample at `(x, y)`, in quarter samples, from the points at whole and half samples, `point(x, y)` in half samples:
/// a point, or the mean of two.
pub(crate) fn quarter_sample(point: impl Fn(i32, i32) -> i32, x: i32, y: i32) -> i32 {
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

/// The point at `(x, y)`, in half samples, of a frame whose sample at `(x, y)` is `sample(x, y)`.
pub(crate) fn half_sample(sample: impl Fn(i32, i32) -> u8, x: i32, y: i32) -> u8 {
    half_sample_up_to(u8::MAX.into(), |x, y| i32::from(sample(x, y)), x, y) as u8
}

/// The same of samples from 0 to `peak`.
pub(crate) fn half_sample_up_to(peak: i32, sample: impl Fn(i32, i32) -> i32, x: i32, y: i32) -> i32 {
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

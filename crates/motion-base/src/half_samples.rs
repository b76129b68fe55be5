/// The two points, in half samples, whose average is the sample at `(x, y)` quarter samples, 0 to 3 on each axis, by the
/// luma interpolation of H.264; twice the same if it is such a point itself.
#[inline]
pub const fn half_samples_around(x: usize, y: usize) -> [(usize, usize); 2] {
    let (left, above) = (x / 2, y / 2);
    match (x % 2, y % 2) {
        // Between four of them: the two that lie between whole samples on one axis only.
        (1, 1) if (left + above) % 2 == 0 => [(left + 1, above), (left, above + 1)],
        (right, below) => [(left, above), (left + right, above + below)],
    }
}

/// The filter of H.264 for a point halfway between the third and the fourth of six samples, times 32.
#[inline(always)]
pub fn six_taps(sample: impl Fn(usize) -> i32) -> i32 {
    sample(0) + sample(5) - 5 * (sample(1) + sample(4)) + 20 * (sample(2) + sample(3))
}

//! The luma interpolation of H.264, 8.4.2.2.1: six taps make the samples halfway between others, and those at quarter
//! positions are averages of two of these.
//!
//! All searches and predictions use these definitions; only the oracles have their own.

use std::ops::{Add, Mul, Sub};

use crate::Sample;

/// The two points, in half samples, whose average is the sample at `(x, y)` quarter samples, 0 to 3 on each axis; twice the
/// same if it is such a point itself.
#[inline]
pub const fn half_samples_around(x: usize, y: usize) -> [(usize, usize); 2] {
    let (left, above) = (x / 2, y / 2);
    match (x % 2, y % 2) {
        // Between four of them: the two that lie between whole samples on one axis only.
        (1, 1) if (left + above) % 2 == 0 => [(left + 1, above), (left, above + 1)],
        (right, below) => [(left, above), (left + right, above + below)],
    }
}

/// A sample between which others are interpolated, in numbers that are just large enough for it.
pub trait InterpolatedSample: Sample + Into<u16> + Into<Self::Sum> {
    /// Holds a sum of the six taps.
    type Sum: bytemuck::Pod
        + From<i8>
        + Add<Output = Self::Sum>
        + Sub<Output = Self::Sum>
        + Mul<Output = Self::Sum>;

    /// The filter for a point halfway between the third and the fourth of six numbers, times 32.
    #[inline(always)]
    fn six_taps([a, b, c, d, e, f]: [Self::Sum; 6]) -> Self::Sum {
        a + f - Self::Sum::from(5) * (b + e) + Self::Sum::from(20) * (c + d)
    }

    /// The half sample with this sum, from 0 to `peak`.
    fn half_sample(sum: Self::Sum, peak: u16) -> Self;

    /// The half sample on both axes, from 0 to `peak`, by the six sums on one of them.
    fn half_sample_of_sums(sums: [Self::Sum; 6], peak: u16) -> Self;

    /// The average, halves rounded up.
    fn average(self, other: Self) -> Self;
}

/// `peak` is 255.
impl InterpolatedSample for u8 {
    type Sum = i16;

    #[inline(always)]
    fn half_sample(sum: i16, _: u16) -> u8 {
        ((sum + 16) >> 5).clamp(0, 255) as u8
    }

    /// In 16 bits: the taps of the sums are divided by 16 and rounded down first. Only what is clipped afterwards saturates:
    /// a number beyond 16 bits is beyond 0 to 255 after the whole division too.
    #[inline(always)]
    fn half_sample_of_sums([a, b, c, d, e, f]: [i16; 6], _: u16) -> u8 {
        let (outer, middle, inner) = (a + f, b + e, c + d);
        let quarter = ((outer - middle) >> 2).saturating_add(inner - middle) >> 2;
        (quarter.saturating_add(inner).saturating_add(32) >> 6).clamp(0, 255) as u8
    }

    #[inline(always)]
    fn average(self, other: u8) -> u8 {
        ((u16::from(self) + u16::from(other) + 1) >> 1) as u8
    }
}

impl InterpolatedSample for u16 {
    /// The taps of sums have 28 bits with their sign.
    type Sum = i32;

    #[inline(always)]
    fn half_sample(sum: i32, peak: u16) -> u16 {
        ((sum + 16) >> 5).clamp(0, peak.into()) as u16
    }

    #[inline(always)]
    fn half_sample_of_sums(sums: [i32; 6], peak: u16) -> u16 {
        ((Self::six_taps(sums) + 512) >> 10).clamp(0, peak.into()) as u16
    }

    #[inline(always)]
    fn average(self, other: u16) -> u16 {
        ((u32::from(self) + u32::from(other) + 1) >> 1) as u16
    }
}

/// Writes to `points` what `point` makes of the six numbers at each index of `taps`, which are at least as long.
#[inline(always)]
pub fn filter<N: Copy + Into<S>, S, T>(
    points: &mut [T],
    [a, b, c, d, e, f]: [&[N]; 6],
    point: impl Fn([S; 6]) -> T,
) {
    let length = points.len();
    let (a, b, c) = (&a[..length], &b[..length], &c[..length]);
    let (d, e, f) = (&d[..length], &e[..length], &f[..length]);
    for i in 0..length {
        points[i] = point([a[i].into(), b[i].into(), c[i].into(), d[i].into(), e[i].into(), f[i].into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the formula, of samples of any depth.
    fn defined(sums: [i32; 6], shift: u32, peak: i32) -> i32 {
        let [a, b, c, d, e, f] = sums;
        ((a - 5 * b + 20 * c + 20 * d - 5 * e + f + (1 << (shift - 1))) >> shift).clamp(0, peak)
    }

    #[test]
    fn half_samples_are_those_of_the_formula() {
        let mut random = fastrand::Rng::with_seed(1);
        // The largest and the least sums, which 16 bits do not hold.
        let is_second = |at: usize| at == 1 || at == 4;
        let furthest = |is_bright: bool| -> [[u8; 6]; 6] {
            let sample = |y, x| 255 * u8::from((is_second(y) == is_second(x)) == is_bright);
            std::array::from_fn(|y| std::array::from_fn(|x| sample(y, x)))
        };
        for case in 0..20_000 {
            let rows = match case {
                0 | 1 => furthest(case == 0),
                // Black and white.
                _ if case % 2 == 0 => std::array::from_fn(|_| std::array::from_fn(|_| 255 * random.u8(..2))),
                _ => std::array::from_fn(|_| std::array::from_fn(|_| random.u8(..))),
            };
            let sums = rows.map(|row| u8::six_taps(row.map(i16::from)));
            let wide = rows.map(|row| row.map(i32::from));
            let peak = 1023;
            let deep = wide.map(|row| row.map(|sample| sample * peak / 255));
            let wide_sums = wide.map(u16::six_taps);
            let deep_sums = deep.map(u16::six_taps);
            assert_eq!(sums.map(i32::from), wide_sums);
            assert_eq!(i32::from(u8::half_sample(sums[0], 255)), defined(wide[0], 5, 255));
            assert_eq!(i32::from(u16::half_sample(deep_sums[0], 1023)), defined(deep[0], 5, peak));
            assert_eq!(i32::from(u8::half_sample_of_sums(sums, 255)), defined(wide_sums, 10, 255));
            assert_eq!(i32::from(u16::half_sample_of_sums(deep_sums, 1023)), defined(deep_sums, 10, peak));
        }
    }

    #[test]
    fn a_filter_takes_the_taps_at_each_index() {
        let numbers: [u8; 12] = std::array::from_fn(|i| (i * i) as u8);
        let tap = |k: usize| &numbers[k..];
        let mut points = [0; 7];
        filter(&mut points, [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], u8::six_taps);
        for (i, point) in points.into_iter().enumerate() {
            let taps = [0, 1, 2, 3, 4, 5].map(|k| i16::from(numbers[i + k]));
            assert_eq!(point, u8::six_taps(taps));
        }
    }
}

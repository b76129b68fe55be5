//! What differs between samples of eight bits and deeper ones, apart from their costs.

use crate::estimator::{Sample, six_taps};
use motion_base::pyramid::half_samples;
use motion_base::simd::InstructionSet;

/// A sample of a padded frame.
pub trait SearchSample: Sample + Into<u16> {
    /// By how much the difference of two sums of samples may be too large: by one where sums lose their lowest bits.
    const EXCESS: u16;

    /// Holds sums of the filter of half samples.
    type Filtered: bytemuck::Pod;

    /// The sums of the squares of `SIDE` samples in `SIDE` rows of 16, left to right, without their `lower` lowest bits;
    /// `SIDE` is 4, 8 or 16.
    fn sum_parts<E: InstructionSet, const SIDE: usize>(
        engine: E,
        rows: &[&[Self; 16]; SIDE],
        lower: u32,
    ) -> [u16; 4];

    /// The sample as a number to filter.
    fn number(self) -> Self::Filtered;

    /// The filter of H.264 for a point halfway between the third and the fourth of six numbers, times 32.
    fn six_taps(taps: [Self::Filtered; 6]) -> Self::Filtered;

    /// The half sample with this sum, from 0 to `peak`.
    fn half_sample(sum: Self::Filtered, peak: u16) -> Self;

    /// The half sample on both axes, from six sums on one of them.
    fn half_sample_of_sums(sums: [Self::Filtered; 6], peak: u16) -> Self;

    /// The rounded average.
    fn average(self, other: Self) -> Self;

    /// Prefetches the cache line of `samples[at]`, which may lie past the end.
    #[inline(always)]
    fn prefetch<E: InstructionSet>(engine: E, samples: &[Self], at: usize) {
        engine.prefetch(bytemuck::cast_slice(samples), at * size_of::<Self>());
    }
}

impl SearchSample for u8 {
    const EXCESS: u16 = 0;

    type Filtered = i16;

    #[inline(always)]
    fn sum_parts<E: InstructionSet, const SIDE: usize>(
        engine: E,
        rows: &[&[u8; 16]; SIDE],
        _: u32,
    ) -> [u16; 4] {
        engine.sum_parts(rows)
    }

    #[inline(always)]
    fn number(self) -> i16 {
        half_samples::wide(self)
    }

    #[inline(always)]
    fn six_taps([a, b, c, d, e, f]: [i16; 6]) -> i16 {
        half_samples::six_taps(a, b, c, d, e, f)
    }

    #[inline(always)]
    fn half_sample(sum: i16, _: u16) -> u8 {
        half_samples::clip((sum + 16) >> 5)
    }

    #[inline(always)]
    fn half_sample_of_sums([a, b, c, d, e, f]: [i16; 6], _: u16) -> u8 {
        half_samples::clip(half_samples::six_taps_of_sums(a, b, c, d, e, f).saturating_add(32) >> 6)
    }

    #[inline(always)]
    fn average(self, other: u8) -> u8 {
        ((u16::from(self) + u16::from(other) + 1) >> 1) as u8
    }
}

impl SearchSample for u16 {
    const EXCESS: u16 = 1;

    /// Sums on both axes have 28 bits with their sign.
    type Filtered = i32;

    #[inline(always)]
    fn sum_parts<E: InstructionSet, const SIDE: usize>(
        _: E,
        rows: &[&[u16; 16]; SIDE],
        lower: u32,
    ) -> [u16; 4] {
        let mut down = [0_u32; 16];
        for row in rows {
            for x in 0..16 {
                down[x] += u32::from(row[x]);
            }
        }
        let mut sums = [0; 4];
        for (sum, columns) in sums.iter_mut().zip(down.chunks_exact(SIDE)) {
            *sum = (columns.iter().sum::<u32>() >> lower) as u16;
        }
        sums
    }

    #[inline(always)]
    fn number(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn six_taps(taps: [i32; 6]) -> i32 {
        six_taps(|tap| taps[tap])
    }

    #[inline(always)]
    fn half_sample(sum: i32, peak: u16) -> u16 {
        ((sum + 16) >> 5).clamp(0, peak.into()) as u16
    }

    #[inline(always)]
    fn half_sample_of_sums(sums: [i32; 6], peak: u16) -> u16 {
        ((six_taps(|tap| sums[tap]) + 512) >> 10).clamp(0, peak.into()) as u16
    }

    #[inline(always)]
    fn average(self, other: u16) -> u16 {
        ((u32::from(self) + u32::from(other) + 1) >> 1) as u16
    }
}

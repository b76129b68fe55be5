//! What differs between samples of eight bits and deeper ones, apart from their costs.

use motion_base::half_samples::InterpolatedSample;
use motion_base::simd::InstructionSet;

/// A sample of a padded frame.
pub trait SearchSample: InterpolatedSample {
    /// By how much the difference of two sums of samples may be too large: by one where sums lose their lowest bits.
    const EXCESS: u16;

    /// The sums of the squares of `SIDE` samples in `SIDE` rows of 16, left to right, without their `lower` lowest bits;
    /// `SIDE` is 4, 8 or 16.
    fn sum_parts<E: InstructionSet, const SIDE: usize>(
        engine: E,
        rows: &[&[Self; 16]; SIDE],
        lower: u32,
    ) -> [u16; 4];

    /// Prefetches the cache line of `samples[at]`, which may lie past the end.
    #[inline(always)]
    fn prefetch<E: InstructionSet>(engine: E, samples: &[Self], at: usize) {
        engine.prefetch(bytemuck::cast_slice(samples), at * size_of::<Self>());
    }
}

impl SearchSample for u8 {
    const EXCESS: u16 = 0;

    #[inline(always)]
    fn sum_parts<E: InstructionSet, const SIDE: usize>(
        engine: E,
        rows: &[&[u8; 16]; SIDE],
        _: u32,
    ) -> [u16; 4] {
        engine.sum_parts(rows)
    }
}

impl SearchSample for u16 {
    const EXCESS: u16 = 1;

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
}

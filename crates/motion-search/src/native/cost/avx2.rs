//! The SAD of listed candidates, with AVX2 and AVX-512.

use std::arch::x86_64::*;

use crate::native::candidates::{Candidates, Listed};
use crate::native::cost::metric::{CandidateEngine, Sad, costs_in};
use motion_base::simd::avx2::Avx2;
use motion_base::simd::avx512::Avx512;
use motion_base::simd::instruction_set::by_functions;
use motion_base::simd::proven::Proof;
use motion_base::simd::sse2::Sse2;

impl CandidateEngine for Avx2 {
    by_functions! { fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]); }
}

impl CandidateEngine for Avx512 {
    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        self.avx2().sads(candidates, listed, costs);
    }
}

/// The SAD of each of the candidates listed. Two rows of 16 × 16 samples are one register.
#[target_feature(enable = "avx2")]
#[inline]
fn sads(candidates: &Candidates<'_>, (blocks, offsets): Listed<'_>, costs: &mut [u32]) {
    const SIDE: usize = 16;
    if candidates.side() != SIDE {
        return costs_in::<__m128i, Sad>(Proof::of(Sse2), candidates, (blocks, offsets), costs);
    }
    // A copy: costs that are written might alias what is behind the reference.
    let (candidates, pitch) = (*candidates, candidates.pitch());
    // A row and the one half a side further down.
    let twos = |samples: &[u8], y: usize| {
        debug_assert!(samples.len() == (SIDE - 1) * pitch + SIDE && y < SIDE / 2);
        let (upper, lower) = (samples.as_ptr(), samples.as_ptr().wrapping_add(SIDE / 2 * pitch));
        // SAFETY: the samples of a block and of a candidate are (side - 1) * pitch + side, so that
        // sixteen can be read from the start of each of its 16 rows on.
        unsafe {
            _mm256_loadu2_m128i(lower.wrapping_add(y * pitch).cast(), upper.wrapping_add(y * pitch).cast())
        }
    };
    let (mut rows, mut of) = ([_mm256_setzero_si256(); SIDE / 2], u16::MAX);
    for ((block, offset), cost) in blocks.iter().zip(offsets).zip(costs) {
        if *block != of {
            let samples = candidates.block(*block);
            for (i, rows) in rows.iter_mut().enumerate() {
                *rows = twos(samples, i);
            }
            of = *block;
        }
        let candidate = candidates.at(*offset);
        let mut sums = [_mm256_setzero_si256(); 2];
        for (i, rows) in rows.iter().enumerate() {
            let sad = _mm256_sad_epu8(*rows, twos(candidate, i));
            sums[i % 2] = _mm256_add_epi32(sums[i % 2], sad);
        }
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        *cost = _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum))) as u32;
    }
}

//! One candidate's cost with AVX2.

use std::arch::x86_64::*;

use crate::native::arch::avx2::Avx2;
use crate::native::three_step::{Compare, Group};

impl Compare for Avx2 {
    #[inline(always)]
    fn sad<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
        // SAFETY: a value of this type exists only where `Avx2::new` has found AVX2.
        unsafe { sad::<W>(strip, reference, pitch) }
    }

    #[inline(always)]
    fn ssd<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
        // SAFETY: as above.
        unsafe { ssd::<W>(strip, reference, pitch) }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn sad<const W: usize>(strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
    let mut sums = _mm256_setzero_si256();
    for_pairs::<W>(strip, reference, pitch, |c, r| {
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(c, r));
    });
    let sums = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    (_mm_cvtsi128_si32(sums) + _mm_extract_epi32::<2>(sums)) as u32
}

#[target_feature(enable = "avx2")]
#[inline]
fn ssd<const W: usize>(strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
    let mut sums = _mm256_setzero_si256();
    for_pairs::<W>(strip, reference, pitch, |c, r| {
        // The order of the lanes is of no matter, as long as it is one for both.
        let zero = _mm256_setzero_si256();
        let low = _mm256_sub_epi16(_mm256_unpacklo_epi8(c, zero), _mm256_unpacklo_epi8(r, zero));
        let high = _mm256_sub_epi16(_mm256_unpackhi_epi8(c, zero), _mm256_unpackhi_epi8(r, zero));
        let squares = _mm256_add_epi32(_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high));
        sums = _mm256_add_epi32(sums, squares);
    });
    let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
    (_mm_cvtsi128_si32(sums) + _mm_extract_epi32::<1>(sums)) as u32
}

/// Calls `add` with two groups of `strip` and the two of the candidate, one pair after the other.
/// Where the strip has a group without a partner, zeros fill up both registers.
///
/// # Panics
/// Where `reference` ends before the candidate's last row does.
#[target_feature(enable = "avx2")]
#[inline]
fn for_pairs<const W: usize>(
    strip: &[Group],
    reference: &[u8],
    pitch: usize,
    mut add: impl FnMut(__m256i, __m256i),
) {
    let rows = strip.len() * (16 / W);
    assert!(reference.len() >= (rows - 1) * pitch + W);
    let candidate = |group: usize| {
        // SAFETY: the rows of every group of the strip are within `reference`, as asserted.
        unsafe { gather::<W>(reference.as_ptr().add(group * (16 / W) * pitch), pitch) }
    };
    let (pairs, single) = strip.as_chunks::<2>();
    for (index, pair) in pairs.iter().enumerate() {
        // SAFETY: a pair is as large as a register.
        let current = unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) };
        add(current, _mm256_set_m128i(candidate(2 * index + 1), candidate(2 * index)));
    }
    if let [group] = single {
        // SAFETY: a group is as large as a register.
        let current = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
        let reference = candidate(strip.len() - 1);
        add(_mm256_zextsi128_si256(current), _mm256_zextsi128_si256(reference));
    }
}

/// A row of 16 samples, two of 8 or four of 4, the first in the lowest lanes.
///
/// # Safety
/// `W` bytes must be readable at `samples` and at each multiple of `pitch` from there on, for as
/// many rows.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn gather<const W: usize>(samples: *const u8, pitch: usize) -> __m128i {
    // SAFETY: what is read are the rows that the caller promises, W bytes of each.
    unsafe {
        match W {
            16 => _mm_loadu_si128(samples.cast()),
            8 => _mm_unpacklo_epi64(
                _mm_loadl_epi64(samples.cast()),
                _mm_loadl_epi64(samples.add(pitch).cast()),
            ),
            _ => {
                let row = |index: usize| samples.add(index * pitch).cast::<i32>().read_unaligned();
                _mm_setr_epi32(row(0), row(1), row(2), row(3))
            }
        }
    }
}

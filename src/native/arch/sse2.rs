//! What every x86-64 CPU has: the cost of one candidate in 128-bit instructions. The wider levels
//! take it too, as they are no faster where a single candidate's rows must be brought together.

use std::arch::x86_64::*;

use crate::native::elimination::bounds::SUMMED;
use crate::native::elimination::sums::TILE;
use crate::native::exhaustive::tile::Pair;

/// The SAD of one candidate, by `psadbw`.
#[inline(always)]
pub fn sad_of_one(pair: &Pair<'_>) -> u32 {
    of_one::<false>(pair)
}

/// The SSD of one candidate, by `pmaddwd`.
#[inline(always)]
pub fn ssd_of_one(pair: &Pair<'_>) -> u32 {
    of_one::<true>(pair)
}

#[inline(always)]
fn of_one<const SQUARED: bool>(pair: &Pair<'_>) -> u32 {
    // SAFETY: the strips begin at multiples of their width within the side, of which four is the
    // least that may be left; and every x86-64 CPU has SSE2.
    unsafe {
        let sum = match pair.side() {
            // The sides that most blocks have, known to the compiler.
            8 => of_strip::<8, SQUARED>(pair, 0, 8),
            16 => of_strip::<16, SQUARED>(pair, 0, 16),
            side => {
                let mut sum = _mm_setzero_si128();
                let mut x = 0;
                while x + 16 <= side {
                    sum = _mm_add_epi32(sum, of_strip::<16, SQUARED>(pair, x, side));
                    x += 16;
                }
                if x + 8 <= side {
                    sum = _mm_add_epi32(sum, of_strip::<8, SQUARED>(pair, x, side));
                    x += 8;
                }
                if x < side {
                    sum = _mm_add_epi32(sum, of_strip::<4, SQUARED>(pair, x, side));
                }
                sum
            }
        };
        let sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
        _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32::<1>(sum))) as u32
    }
}

/// The cost of the `W` columns from `x` on, in shares.
///
/// # Safety
/// `x + W` must be within the pair's side, which is `side`.
#[inline(always)]
unsafe fn of_strip<const W: usize, const SQUARED: bool>(pair: &Pair<'_>, x: usize, side: usize) -> __m128i {
    // SAFETY: y + 3 is less than the side, a multiple of four, and x is the caller's promise; every
    // x86-64 CPU has SSE2.
    unsafe {
        let mut sums = [_mm_setzero_si128(); 2];
        for y in (0..side).step_by(4) {
            let [a, b] = [of_row::<W, SQUARED>(pair, x, y), of_row::<W, SQUARED>(pair, x, y + 1)];
            let [c, d] = [of_row::<W, SQUARED>(pair, x, y + 2), of_row::<W, SQUARED>(pair, x, y + 3)];
            sums[0] = _mm_add_epi32(sums[0], _mm_add_epi32(a, b));
            sums[1] = _mm_add_epi32(sums[1], _mm_add_epi32(c, d));
        }
        _mm_add_epi32(sums[0], sums[1])
    }
}

/// The cost of `W` samples, in shares.
///
/// # Safety
/// As [`Pair::samples`].
#[inline(always)]
unsafe fn of_row<const W: usize, const SQUARED: bool>(pair: &Pair<'_>, x: usize, y: usize) -> __m128i {
    // SAFETY: the caller's promise; every x86-64 CPU has SSE2.
    unsafe {
        let [c, r] = pair.samples::<W>(x, y);
        let (c, r) = (load(c), load(r));
        if !SQUARED {
            return _mm_sad_epu8(c, r);
        }
        let zero = _mm_setzero_si128();
        let low = _mm_sub_epi16(_mm_unpacklo_epi8(c, zero), _mm_unpacklo_epi8(r, zero));
        let low = _mm_madd_epi16(low, low);
        if W <= 8 {
            return low;
        }
        let high = _mm_sub_epi16(_mm_unpackhi_epi8(c, zero), _mm_unpackhi_epi8(r, zero));
        _mm_add_epi32(low, _mm_madd_epi16(high, high))
    }
}

/// `W` samples, and zeros in the place of others.
#[inline(always)]
fn load<const W: usize>(samples: &[u8; W]) -> __m128i {
    const { assert!(W == 4 || W == 8 || W == 16) };
    let start = samples.as_ptr();
    // SAFETY: W bytes are readable. Every x86-64 CPU has SSE2.
    unsafe {
        match W {
            16 => _mm_loadu_si128(start.cast()),
            8 => _mm_loadl_epi64(start.cast()),
            _ => _mm_cvtsi32_si128(start.cast::<i32>().read_unaligned()),
        }
    }
}

/// The sums of the parts of `SIDE` samples a side that lie in as many rows, by `psadbw` with zeros.
#[inline(always)]
pub fn sum_parts<const SIDE: usize>(rows: &[&[u8; SUMMED]; SIDE]) -> [u16; SUMMED / TILE] {
    // SAFETY: every x86-64 CPU has SSE2.
    unsafe {
        let zero = _mm_setzero_si128();
        let fours = _mm_set1_epi64x(0xffff_ffff);
        let (mut sums, mut next) = ([zero; 2], zero);
        for (y, row) in rows.iter().enumerate() {
            let row = load(row);
            if SIDE == TILE {
                let even = _mm_and_si128(row, fours);
                sums[0] = _mm_add_epi32(sums[0], _mm_sad_epu8(even, zero));
                next = _mm_add_epi32(next, _mm_sad_epu8(_mm_andnot_si128(fours, row), zero));
            } else {
                sums[y % 2] = _mm_add_epi32(sums[y % 2], _mm_sad_epu8(row, zero));
            }
        }
        let sums = _mm_add_epi32(sums[0], sums[1]);
        let [first, second] = [sums, next]
            .map(|sums| [_mm_extract_epi16::<0>(sums) as u16, _mm_extract_epi16::<4>(sums) as u16]);
        match SIDE {
            TILE => [first[0], second[0], first[1], second[1]],
            8 => [first[0], first[1], 0, 0],
            _ => [first[0] + first[1], 0, 0, 0],
        }
    }
}

/// Brings the cache line of `samples[at]`.
#[inline(always)]
pub fn prefetch(samples: &[u8], at: usize) {
    // SAFETY: SSE is part of x86-64, and no address is wrong to fetch ahead.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(samples.as_ptr().wrapping_add(at).cast()) };
}

/// A bit for each of `values` that is at most `limit`.
#[inline(always)]
pub fn at_most(values: &[u16; 32], limit: u16) -> u32 {
    // SAFETY: every x86-64 CPU has SSE2, and four registers have the bytes of the values.
    unsafe {
        let limit = _mm_set1_epi16(limit as i16);
        let [a, b, c, d] = values.as_ptr().cast::<[__m128i; 4]>().read_unaligned();
        let is_more = |values| _mm_subs_epu16(values, limit);
        let sixteen = |first, second| {
            let zero = _mm_setzero_si128();
            let is_not = [first, second].map(|values| _mm_cmpeq_epi16(is_more(values), zero));
            _mm_movemask_epi8(_mm_packs_epi16(is_not[0], is_not[1])) as u32
        };
        sixteen(a, b) | sixteen(c, d) << 16
    }
}

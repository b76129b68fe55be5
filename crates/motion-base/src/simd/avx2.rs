//! AVX2.

use std::arch::x86_64::*;

use crate::simd::instruction_set::{InstructionSet, Work, by_functions, run_with};
use crate::simd::register::{Register, WIDE, WideRegister, WordRegister, by_intrinsics};
use crate::simd::sse2::{prefetch, sum_parts};

/// A CPU with AVX2.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// The proof that this CPU has AVX2, and the bit instructions that every CPU with it has, if it has.
    pub fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1");
        is_there.then_some(Self(()))
    }
}

impl InstructionSet for Avx2 {
    type Register = __m256i;
    type Samples = __m128i;
    type Words = __m256i;
    type Wide = [__m256i; 2];

    run_with!("avx2,popcnt,bmi1");

    by_functions! {
        fn prefetch(self, samples: &[u8], at: usize);
        fn at_most(self, values: &[u16; WIDE], limit: u16) -> u32;
        fn list(self, bits: u32, start: u32, lanes: &[u32; WIDE], to: &mut [u32; WIDE]);
        fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4];
    }
}

// SAFETY: `load` reads 32 samples, and `load_rows` two rows of 16.
unsafe impl Register for __m256i {
    const SAMPLES: usize = 32;
    type Narrow = __m128i;

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(samples.cast()) }
    }

    #[inline(always)]
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self {
        const { assert!(W == 16) };
        // SAFETY: two rows of 16 samples are readable.
        unsafe { _mm256_loadu2_m128i(samples.add(pitch).cast(), samples.cast()) }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4]) -> [u32; 4] {
        // SAFETY: the caller's promise, and a register has the layout of four costs.
        unsafe {
            let ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
            let totals = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            let upper = _mm256_extracti128_si256::<1>(totals);
            let totals = _mm_add_epi32(_mm256_castsi256_si128(totals), upper);
            std::mem::transmute::<__m128i, [u32; 4]>(totals)
        }
    }

    by_intrinsics! {
        fn zero() -> Self { _mm256_setzero_si256() }

        fn add_differences(sums: Self, c: Self, r: Self) -> Self {
            _mm256_add_epi32(sums, _mm256_sad_epu8(c, r))
        }

        fn add_squares(sums: Self, c: Self, r: Self) -> Self {
            let zero = _mm256_setzero_si256();
            let low = _mm256_sub_epi16(_mm256_unpacklo_epi8(c, zero), _mm256_unpacklo_epi8(r, zero));
            let high = _mm256_sub_epi16(_mm256_unpackhi_epi8(c, zero), _mm256_unpackhi_epi8(r, zero));
            let sums = _mm256_add_epi32(sums, _mm256_madd_epi16(low, low));
            _mm256_add_epi32(sums, _mm256_madd_epi16(high, high))
        }
    }
}

// SAFETY: no pointers but to an argument.
unsafe impl WordRegister for __m256i {
    type Samples = __m128i;

    #[inline(always)]
    unsafe fn load(numbers: &[u16; 16]) -> Self {
        // SAFETY: the caller's promise, and a register has as many numbers.
        unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
    }

    by_intrinsics! {
        fn all(number: u16) -> Self { _mm256_set1_epi16(number as i16) }

        fn widen(samples: __m128i) -> Self { _mm256_cvtepu8_epi16(samples) }

        fn narrow(self) -> __m128i {
            _mm_packus_epi16(_mm256_castsi256_si128(self), _mm256_extracti128_si256::<1>(self))
        }

        fn plus(self, other: Self) -> Self { _mm256_add_epi16(self, other) }
        fn minus(self, other: Self) -> Self { _mm256_sub_epi16(self, other) }
        fn times(self, other: Self) -> Self { _mm256_mullo_epi16(self, other) }
        fn least(self, other: Self) -> Self { _mm256_min_epi16(self, other) }
        fn largest(self, other: Self) -> Self { _mm256_max_epi16(self, other) }

        fn round<const SHIFT: i32>(self) -> Self {
            _mm256_srli_epi16::<SHIFT>(self.plus(Self::all(1 << (SHIFT - 1))))
        }

        /// In each half of a register by itself: `weighted_mean` undoes it.
        fn interleave(self, other: Self) -> [Self; 2] {
            [_mm256_unpacklo_epi16(self, other), _mm256_unpackhi_epi16(self, other)]
        }

        fn upper_product(self, other: Self) -> Self { _mm256_mulhi_epu16(self, other) }

        fn add_pairs(sums: Self, numbers: Self, others: Self) -> Self {
            _mm256_add_epi32(sums, _mm256_madd_epi16(numbers, others))
        }

        fn pairs(self) -> [u32; 8] { std::mem::transmute::<Self, [u32; 8]>(self) }

        fn add_products([low, high]: [Self; 2], numbers: Self, weights: Self) -> [Self; 2] {
            let zero = _mm256_setzero_si256();
            let (numbers, weights) = (numbers.interleave(zero), weights.interleave(zero));
            [
                _mm256_add_epi32(low, _mm256_madd_epi16(numbers[0], weights[0])),
                _mm256_add_epi32(high, _mm256_madd_epi16(numbers[1], weights[1])),
            ]
        }

        fn quotients(sums: [Self; 2], totals: Self) -> Self {
            let totals = totals.interleave(_mm256_setzero_si256());
            let mut quotients = totals;
            for i in 0..2 {
                let double = _mm256_slli_epi32::<1>(totals[i]);
                let dividend = _mm256_cvtepi32_ps(_mm256_add_epi32(sums[i], double));
                let divisor = _mm256_cvtepi32_ps(_mm256_slli_epi32::<1>(double));
                quotients[i] = _mm256_cvttps_epi32(_mm256_div_ps(dividend, divisor));
            }
            _mm256_packs_epi32(quotients[0], quotients[1])
        }

        fn weighted_mean([a, b, c, d]: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self {
            let half = _mm256_set1_epi32(1 << (shift - 1));
            let shift = _mm_cvtsi32_si128(shift as i32);
            let (ab, cd) = (a.interleave(b), c.interleave(d));
            let mut means = ab;
            for i in 0..2 {
                let sum = _mm256_add_epi32(
                    _mm256_madd_epi16(ab[i], weights[0][i]),
                    _mm256_madd_epi16(cd[i], weights[1][i]),
                );
                means[i] = _mm256_srl_epi32(_mm256_add_epi32(sum, half), shift);
            }
            _mm256_packs_epi32(means[0], means[1])
        }
    }
}

// SAFETY: no pointers but to arguments.
unsafe impl WideRegister for [__m256i; 2] {
    #[inline(always)]
    unsafe fn load(numbers: &[u16; WIDE]) -> Self {
        // SAFETY: two registers have as many numbers, and every bit pattern is one.
        unsafe { numbers.as_ptr().cast::<Self>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [u16; WIDE]) {
        // SAFETY: as in `load`.
        unsafe { to.as_mut_ptr().cast::<Self>().write_unaligned(self) };
    }

    by_intrinsics! {
        fn all(number: u16) -> Self { [_mm256_set1_epi16(number as i16); 2] }

        fn plus(self, other: Self) -> Self {
            [_mm256_add_epi16(self[0], other[0]), _mm256_add_epi16(self[1], other[1])]
        }

        fn minus(self, other: Self) -> Self {
            [_mm256_sub_epi16(self[0], other[0]), _mm256_sub_epi16(self[1], other[1])]
        }

        fn largest(self, other: Self) -> Self {
            [_mm256_max_epu16(self[0], other[0]), _mm256_max_epu16(self[1], other[1])]
        }

        fn upper(self) -> Self { [_mm256_srli_epi16::<8>(self[0]), _mm256_srli_epi16::<8>(self[1])] }

        fn plus_differences<const SMALL: bool>(self, numbers: &[u16; WIDE], other: u16) -> Self {
            let (mut sums, numbers, other) = (self, Self::load(numbers), _mm256_set1_epi16(other as i16));
            for half in 0..2 {
                sums[half] = if SMALL {
                    _mm256_add_epi16(sums[half], _mm256_abs_epi16(_mm256_sub_epi16(numbers[half], other)))
                } else {
                    let less = _mm256_subs_epu16(other, numbers[half]);
                    let difference = _mm256_or_si256(_mm256_subs_epu16(numbers[half], other), less);
                    _mm256_adds_epu16(sums[half], difference)
                };
            }
            sums
        }
    }
}

/// Numbers in a register.
const LANES: usize = 16;

/// [`InstructionSet::at_most`].
#[target_feature(enable = "avx2")]
#[inline]
pub(crate) fn at_most(values: &[u16; WIDE], limit: u16) -> u32 {
    let limit = _mm256_set1_epi16(limit as i16);
    let (values, _) = values.as_chunks::<LANES>();
    let lanes = |values: &[u16; LANES]| {
        _mm256_cmpeq_epi16(_mm256_subs_epu16(load(values), limit), _mm256_setzero_si256())
    };
    // `packs` works within lanes.
    let packed = _mm256_packs_epi16(lanes(&values[0]), lanes(&values[1]));
    _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed)) as u32
}

/// The numbers in a register.
///
/// # Safety
/// This CPU has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
pub fn load(values: &[u16; LANES]) -> __m256i {
    // SAFETY: as many values as the register has.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

/// Writes the numbers of a register.
///
/// # Safety
/// As [`load`].
#[target_feature(enable = "avx2")]
#[inline]
pub fn put(to: &mut [u16; LANES], from: __m256i) {
    // SAFETY: as many values as the register has, and every bit pattern is one.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), from) };
}

/// [`InstructionSet::list`].
#[target_feature(enable = "avx2,popcnt")]
#[inline]
pub(crate) fn list(bits: u32, start: u32, lanes: &[u32; WIDE], list: &mut [u32; WIDE]) {
    const EIGHT: usize = 8;
    /// The numbers of the bits set in each byte, in order, a byte each.
    const SET: [u64; 256] = {
        let mut set = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut bit, mut count) = (0, 0);
            while bit < EIGHT as u64 {
                if byte >> bit & 1 != 0 {
                    set[byte] |= bit << (8 * count);
                    count += 1;
                }
                bit += 1;
            }
            byte += 1;
        }
        set
    };
    let start = _mm256_set1_epi32(start as i32);
    let mut count = 0;
    for (byte, lanes) in bits.to_le_bytes().into_iter().zip(lanes.as_chunks::<EIGHT>().0) {
        let order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(SET[usize::from(byte)] as i64));
        // SAFETY: the register takes the lanes, and no more are written than were looked at.
        unsafe {
            let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
            let lanes = _mm256_add_epi32(start, _mm256_permutevar8x32_epi32(lanes, order));
            _mm256_storeu_si256(list.as_mut_ptr().add(count).cast(), lanes);
        }
        count += byte.count_ones() as usize;
    }
}

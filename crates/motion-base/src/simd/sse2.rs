//! What every x86-64 CPU has: 128-bit registers.

use std::arch::x86_64::*;

use crate::simd::instruction_set::{InstructionSet, Work, by_functions, run_with};
use crate::simd::register::{Register, SampleRegister, WIDE, WordRegister, by_intrinsics};

/// Any x86-64 CPU.
#[derive(Clone, Copy)]
pub struct Sse2;

impl InstructionSet for Sse2 {
    type Register = __m128i;
    type Samples = __m128i;
    type Words = [__m128i; 2];
    type Wide = [u16; WIDE];

    run_with!();

    by_functions! {
        fn prefetch(self, samples: &[u8], at: usize);
        fn at_most(self, values: &[u16; WIDE], limit: u16) -> u32;
        fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4];
    }
}

// SAFETY: `load` reads 16 samples, and `load_rows` the rows alone.
unsafe impl Register for __m128i {
    const SAMPLES: usize = 16;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm_loadu_si128(samples.cast()) }
    }

    #[inline(always)]
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self {
        // SAFETY: what is read are the rows that the caller promises, W samples of each.
        unsafe {
            match W {
                16 => _mm_loadu_si128(samples.cast()),
                8 => {
                    // Each in one instruction.
                    let first = _mm_castsi128_pd(_mm_loadl_epi64(samples.cast()));
                    _mm_castpd_si128(_mm_loadh_pd(first, samples.add(pitch).cast()))
                }
                _ => {
                    let row = |index: usize| samples.add(index * pitch).cast::<i32>().read_unaligned();
                    _mm_setr_epi32(row(0), row(1), row(2), row(3))
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4]) -> [u32; 4] {
        // SAFETY: the caller's promise, and a register has the layout of four costs.
        unsafe {
            let ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
            let totals = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
            std::mem::transmute::<__m128i, [u32; 4]>(totals)
        }
    }

    by_intrinsics! {
        fn zero() -> Self { _mm_setzero_si128() }

        fn add_differences(sums: Self, c: Self, r: Self) -> Self { _mm_add_epi32(sums, _mm_sad_epu8(c, r)) }

        fn add_squares(sums: Self, c: Self, r: Self) -> Self {
            let zero = _mm_setzero_si128();
            let low = _mm_sub_epi16(_mm_unpacklo_epi8(c, zero), _mm_unpacklo_epi8(r, zero));
            let high = _mm_sub_epi16(_mm_unpackhi_epi8(c, zero), _mm_unpackhi_epi8(r, zero));
            let sums = _mm_add_epi32(sums, _mm_madd_epi16(low, low));
            _mm_add_epi32(sums, _mm_madd_epi16(high, high))
        }
    }
}

// SAFETY: no pointers.
unsafe impl SampleRegister for __m128i {
    #[inline(always)]
    unsafe fn store(self, to: &mut [u8; 16]) {
        // SAFETY: the caller's promise, and `to` has the bytes of a register.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), self) }
    }

    by_intrinsics! {
        fn all(sample: u8) -> Self { _mm_set1_epi8(sample as i8) }
        fn average(self, other: Self) -> Self { _mm_avg_epu8(self, other) }
        fn plus(self, other: Self) -> Self { _mm_adds_epu8(self, other) }
        fn minus(self, other: Self) -> Self { _mm_subs_epu8(self, other) }

        fn cut_differences(self, other: Self, most: Self) -> Self {
            let differences = _mm_or_si128(_mm_subs_epu8(self, other), _mm_subs_epu8(other, self));
            _mm_min_epu8(differences, most)
        }

        fn overlap(self) -> Self { _mm_shuffle_epi32::<0b10_01_01_00>(self) }

        fn half_totals(sums: [Self; 2]) -> [u32; 4] {
            // The upper halves of the sums are zero.
            let [first, second] = sums.map(|sums| _mm_castsi128_ps(sums));
            let totals = _mm_shuffle_ps::<0b10_00_10_00>(first, second);
            std::mem::transmute::<__m128, [u32; 4]>(totals)
        }

        fn total(self) -> u32 { _mm_cvtsi128_si32(_mm_add_epi32(self, _mm_unpackhi_epi64(self, self))) as u32 }
    }
}

// SAFETY: no pointers but to an argument.
unsafe impl WordRegister for [__m128i; 2] {
    type Samples = __m128i;

    #[inline(always)]
    unsafe fn load(numbers: &[u16; 16]) -> Self {
        // SAFETY: two registers have as many numbers, and every bit pattern is one.
        unsafe { numbers.as_ptr().cast::<Self>().read_unaligned() }
    }

    by_intrinsics! {
        fn all(number: u16) -> Self { [_mm_set1_epi16(number as i16); 2] }

        fn widen(samples: __m128i) -> Self {
            let zero = _mm_setzero_si128();
            [_mm_unpacklo_epi8(samples, zero), _mm_unpackhi_epi8(samples, zero)]
        }

        fn narrow(self) -> __m128i { _mm_packus_epi16(self[0], self[1]) }

        fn plus(self, other: Self) -> Self {
            [_mm_add_epi16(self[0], other[0]), _mm_add_epi16(self[1], other[1])]
        }

        fn minus(self, other: Self) -> Self {
            [_mm_sub_epi16(self[0], other[0]), _mm_sub_epi16(self[1], other[1])]
        }

        fn times(self, other: Self) -> Self {
            [_mm_mullo_epi16(self[0], other[0]), _mm_mullo_epi16(self[1], other[1])]
        }

        fn least(self, other: Self) -> Self {
            [_mm_min_epi16(self[0], other[0]), _mm_min_epi16(self[1], other[1])]
        }

        fn largest(self, other: Self) -> Self {
            [_mm_max_epi16(self[0], other[0]), _mm_max_epi16(self[1], other[1])]
        }

        fn round<const SHIFT: i32>(self) -> Self {
            let [low, high] = self.plus(Self::all(1 << (SHIFT - 1)));
            [_mm_srli_epi16::<SHIFT>(low), _mm_srli_epi16::<SHIFT>(high)]
        }

        fn interleave(self, other: Self) -> [Self; 2] {
            let low = [_mm_unpacklo_epi16(self[0], other[0]), _mm_unpackhi_epi16(self[0], other[0])];
            [low, [_mm_unpacklo_epi16(self[1], other[1]), _mm_unpackhi_epi16(self[1], other[1])]]
        }

        fn upper_product(self, other: Self) -> Self {
            [_mm_mulhi_epu16(self[0], other[0]), _mm_mulhi_epu16(self[1], other[1])]
        }

        fn add_pairs([low, high]: Self, numbers: Self, others: Self) -> Self {
            [
                _mm_add_epi32(low, _mm_madd_epi16(numbers[0], others[0])),
                _mm_add_epi32(high, _mm_madd_epi16(numbers[1], others[1])),
            ]
        }

        fn pairs(self) -> [u32; 8] { std::mem::transmute::<Self, [u32; 8]>(self) }

        fn add_products(mut sums: [Self; 2], numbers: Self, weights: Self) -> [Self; 2] {
            let zero = [_mm_setzero_si128(); 2];
            let (numbers, weights) = (numbers.interleave(zero), weights.interleave(zero));
            for i in 0..2 {
                for j in 0..2 {
                    sums[i][j] = _mm_add_epi32(sums[i][j], _mm_madd_epi16(numbers[i][j], weights[i][j]));
                }
            }
            sums
        }

        fn quotients(sums: [Self; 2], totals: Self) -> Self {
            let mut quotients = totals.interleave([_mm_setzero_si128(); 2]);
            for i in 0..2 {
                for j in 0..2 {
                    let double = _mm_slli_epi32::<1>(quotients[i][j]);
                    let dividend = _mm_cvtepi32_ps(_mm_add_epi32(sums[i][j], double));
                    let divisor = _mm_cvtepi32_ps(_mm_slli_epi32::<1>(double));
                    quotients[i][j] = _mm_cvttps_epi32(_mm_div_ps(dividend, divisor));
                }
            }
            quotients.map(|[low, high]| _mm_packs_epi32(low, high))
        }

        fn weighted_mean([a, b, c, d]: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self {
            let half = _mm_set1_epi32(1 << (shift - 1));
            let shift = _mm_cvtsi32_si128(shift as i32);
            let (ab, cd) = (a.interleave(b), c.interleave(d));
            let mut means = a;
            for i in 0..2 {
                let mut parts = ab[i];
                for j in 0..2 {
                    let sum = _mm_add_epi32(
                        _mm_madd_epi16(ab[i][j], weights[0][i][j]),
                        _mm_madd_epi16(cd[i][j], weights[1][i][j]),
                    );
                    parts[j] = _mm_srl_epi32(_mm_add_epi32(sum, half), shift);
                }
                means[i] = _mm_packs_epi32(parts[0], parts[1]);
            }
            means
        }
    }
}

/// [`InstructionSet::sum_parts`], by `psadbw` with zeros.
#[inline(always)]
pub(crate) unsafe fn sum_parts<const SIDE: usize>(rows: &[&[u8; 16]; SIDE]) -> [u16; 4] {
    // SAFETY: every x86-64 CPU has SSE2, and a row has 16 samples.
    unsafe {
        let zero = _mm_setzero_si128();
        let fours = _mm_set1_epi64x(0xffff_ffff);
        let (mut sums, mut next) = ([zero; 2], zero);
        for (y, row) in rows.iter().enumerate() {
            let row = _mm_loadu_si128(row.as_ptr().cast());
            if SIDE == 4 {
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
            4 => [first[0], second[0], first[1], second[1]],
            8 => [first[0], first[1], 0, 0],
            _ => [first[0] + first[1], 0, 0, 0],
        }
    }
}

/// [`InstructionSet::prefetch`].
#[inline(always)]
pub(crate) unsafe fn prefetch(samples: &[u8], at: usize) {
    // SAFETY: SSE is part of x86-64, and no address is wrong to fetch ahead.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(samples.as_ptr().wrapping_add(at).cast()) };
}

/// [`InstructionSet::at_most`].
#[inline(always)]
pub(crate) unsafe fn at_most(values: &[u16; WIDE], limit: u16) -> u32 {
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

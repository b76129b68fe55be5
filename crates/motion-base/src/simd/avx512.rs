//! AVX-512BW.

use std::arch::x86_64::*;

use crate::simd::avx2::Avx2;
use crate::simd::instruction_set::{InstructionSet, Work, by_functions, run_with};
use crate::simd::register::{WIDE, WideRegister, by_intrinsics};
use crate::simd::sse2::{prefetch, sum_parts};

/// A CPU with the byte and word instructions of AVX-512.
#[derive(Clone, Copy)]
pub struct Avx512 {
    /// Every such CPU has AVX2.
    avx2: Avx2,
    has_vnni: bool,
}

impl Avx512 {
    /// The proof that this CPU has AVX-512BW, if it has.
    pub fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        let avx2 = Avx2::new().filter(|_| is_there)?;
        Some(Self { avx2, has_vnni: is_x86_feature_detected!("avx512vnni") })
    }

    /// The smaller instruction set, which this CPU also has.
    #[inline(always)]
    pub fn avx2(self) -> Avx2 {
        self.avx2
    }

    /// Whether it also multiplies bytes: `vpdpbusd`.
    #[inline(always)]
    pub fn has_vnni(self) -> bool {
        self.has_vnni
    }
}

impl InstructionSet for Avx512 {
    /// Wider registers of neighbouring rows would straddle cache lines three times out of four.
    type Register = __m256i;
    type Samples = __m128i;
    type Words = __m256i;
    type Wide = __m512i;

    run_with!("avx512f,avx512bw,avx512vl,avx2,popcnt,bmi1");

    by_functions! {
        fn prefetch(self, samples: &[u8], at: usize);
        fn at_most(self, values: &[u16; WIDE], limit: u16) -> u32;
        fn list(self, bits: u32, start: u32, lanes: &[u32; WIDE], to: &mut [u32; WIDE]);
        fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4];
    }
}

// SAFETY: no pointers but to arguments.
unsafe impl WideRegister for __m512i {
    #[inline(always)]
    unsafe fn load(numbers: &[u16; WIDE]) -> Self {
        // SAFETY: the register takes the 64 bytes of the numbers.
        unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [u16; WIDE]) {
        // SAFETY: `to` has the 64 bytes of a register, and every bit pattern is a number.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self) };
    }

    by_intrinsics! {
        fn all(number: u16) -> Self { _mm512_set1_epi16(number as i16) }
        fn plus(self, other: Self) -> Self { _mm512_add_epi16(self, other) }
        fn minus(self, other: Self) -> Self { _mm512_sub_epi16(self, other) }
        fn largest(self, other: Self) -> Self { _mm512_max_epu16(self, other) }
        fn upper(self) -> Self { _mm512_srli_epi16::<8>(self) }

        fn plus_differences<const SMALL: bool>(self, numbers: &[u16; WIDE], other: u16) -> Self {
            let (numbers, other) = (Self::load(numbers), Self::all(other));
            if SMALL {
                return self.plus(_mm512_abs_epi16(numbers.minus(other)));
            }
            let (more, less) = (_mm512_subs_epu16(numbers, other), _mm512_subs_epu16(other, numbers));
            _mm512_adds_epu16(self, _mm512_or_si512(more, less))
        }
    }
}

/// [`InstructionSet::at_most`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub(crate) fn at_most(values: &[u16; WIDE], limit: u16) -> u32 {
    _mm512_cmple_epu16_mask(load(values), _mm512_set1_epi16(limit as i16))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn load(values: &[u16; WIDE]) -> __m512i {
    // SAFETY: the register takes the 64 bytes of the values.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

/// [`InstructionSet::list`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub(crate) fn list(bits: u32, start: u32, lanes: &[u32; WIDE], list: &mut [u32; WIDE]) {
    const HALF: usize = WIDE / 2;
    let start = _mm512_set1_epi32(start as i32);
    let (lanes, first) = (lanes.as_ptr(), list.as_mut_ptr());
    // SAFETY: the halves of the lanes are registers, and a whole register is written at the beginning
    // of the list and after no more than HALF of it. (Compressing into memory is far slower.)
    unsafe {
        let low = _mm512_add_epi32(start, _mm512_loadu_si512(lanes.cast()));
        let high = _mm512_add_epi32(start, _mm512_loadu_si512(lanes.add(HALF).cast()));
        _mm512_storeu_si512(first.cast(), _mm512_maskz_compress_epi32(bits as u16, low));
        let second = first.add((bits as u16).count_ones() as usize);
        _mm512_storeu_si512(second.cast(), _mm512_maskz_compress_epi32((bits >> HALF) as u16, high));
    }
}

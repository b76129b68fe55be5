//! NEON.

use std::arch::aarch64::*;

use crate::simd::instruction_set::{InstructionSet, Work, run_with};
use crate::simd::portable::WordArray;
use crate::simd::register::{Register, SampleRegister, WIDE, by_intrinsics};

/// An AArch64 CPU with NEON.
#[derive(Clone, Copy)]
pub struct Neon(());

impl Neon {
    /// The proof that this CPU has NEON, if it has.
    pub fn new() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl InstructionSet for Neon {
    type Register = uint8x16_t;
    type Samples = uint8x16_t;
    type Words = WordArray<uint8x16_t>;
    type Wide = [u16; WIDE];

    run_with!("neon");
}

// SAFETY: `load` reads 16 samples, and `load_rows` the rows alone.
unsafe impl Register for uint8x16_t {
    const SAMPLES: usize = 16;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { vld1q_u8(samples) }
    }

    #[inline(always)]
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self {
        // SAFETY: what is read are the rows that the caller promises, W samples of each.
        unsafe {
            match W {
                16 => vld1q_u8(samples),
                8 => vcombine_u8(vld1_u8(samples), vld1_u8(samples.add(pitch))),
                _ => {
                    let row = |index: usize| samples.add(index * pitch).cast::<u32>().read_unaligned();
                    std::mem::transmute::<[u32; 4], uint8x16_t>([row(0), row(1), row(2), row(3)])
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn totals(sums: [Self; 4]) -> [u32; 4] {
        // SAFETY: the caller's promise, and a register has the layout of four costs.
        unsafe {
            let pair = |a, b| vpaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
            let totals = vpaddq_u32(pair(sums[0], sums[1]), pair(sums[2], sums[3]));
            std::mem::transmute::<uint32x4_t, [u32; 4]>(totals)
        }
    }

    by_intrinsics! {
        fn zero() -> Self { vdupq_n_u8(0) }

        fn add_differences(sums: Self, c: Self, r: Self) -> Self {
            vreinterpretq_u8_u32(vpadalq_u16(vreinterpretq_u32_u8(sums), vpaddlq_u8(vabdq_u8(c, r))))
        }

        fn add_squares(sums: Self, c: Self, r: Self) -> Self {
            let differences = vabdq_u8(c, r);
            let low = vmull_u8(vget_low_u8(differences), vget_low_u8(differences));
            let sums = vpadalq_u16(vreinterpretq_u32_u8(sums), low);
            vreinterpretq_u8_u32(vpadalq_u16(sums, vmull_high_u8(differences, differences)))
        }
    }
}

// SAFETY: no pointers.
unsafe impl SampleRegister for uint8x16_t {
    #[inline(always)]
    unsafe fn store(self, to: &mut [u8; 16]) {
        // SAFETY: the caller's promise, and `to` has the bytes of a register.
        unsafe { vst1q_u8(to.as_mut_ptr(), self) }
    }

    by_intrinsics! {
        fn all(sample: u8) -> Self { vdupq_n_u8(sample) }
        fn average(self, other: Self) -> Self { vrhaddq_u8(self, other) }
        fn plus(self, other: Self) -> Self { vqaddq_u8(self, other) }
        fn minus(self, other: Self) -> Self { vqsubq_u8(self, other) }
        fn cut_differences(self, other: Self, most: Self) -> Self { vminq_u8(vabdq_u8(self, other), most) }
        fn overlap(self) -> Self { vcombine_u8(vget_low_u8(self), vget_low_u8(vextq_u8::<4>(self, self))) }

        fn half_totals([first, second]: [Self; 2]) -> [u32; 4] {
            let totals = vpaddq_u32(vreinterpretq_u32_u8(first), vreinterpretq_u32_u8(second));
            std::mem::transmute::<uint32x4_t, [u32; 4]>(totals)
        }

        fn total(self) -> u32 { vaddvq_u32(vreinterpretq_u32_u8(self)) }
    }
}

//! NEON.

use std::arch::aarch64::*;

use crate::native::arch::portable::WordArray;
use crate::native::arch::register::{Register, SUMS, SampleRegister};
use crate::native::elimination::engine::EliminationEngine;
use crate::native::engine::{Engine, by_functions};
use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::tile::{COLUMNS, ROWS, TileCosts, TileTask, by_bands};

/// An AArch64 CPU with NEON.
#[derive(Clone, Copy)]
pub struct Neon(());

impl Neon {
    /// The proof that this CPU has NEON, if it has.
    pub fn new() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl Engine for Neon {
    const LANES: usize = LANES;
    type Register = uint8x16_t;
    type Words = WordArray<uint8x16_t>;
    type Sums = [u16; SUMS];
    type Deep = [u16; SUMS];
}

impl TileEngine for Neon {
    by_functions! {
        fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>);
        fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>);
    }
}

impl EliminationEngine for Neon {}

// SAFETY: `load` reads 16 samples, and `load_rows` the rows alone.
unsafe impl Register for uint8x16_t {
    const SAMPLES: usize = 16;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { vdupq_n_u8(0) }
    }

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { vld1q_u8(samples) }
    }

    #[inline(always)]
    unsafe fn add_differences(sums: Self, c: Self, r: Self) -> Self {
        // SAFETY: as above.
        unsafe { vreinterpretq_u8_u32(vpadalq_u16(vreinterpretq_u32_u8(sums), vpaddlq_u8(vabdq_u8(c, r)))) }
    }

    #[inline(always)]
    unsafe fn add_squares(sums: Self, c: Self, r: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let differences = vabdq_u8(c, r);
            let low = vmull_u8(vget_low_u8(differences), vget_low_u8(differences));
            let sums = vpadalq_u16(vreinterpretq_u32_u8(sums), low);
            vreinterpretq_u8_u32(vpadalq_u16(sums, vmull_high_u8(differences, differences)))
        }
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
        // SAFETY: as above; a register has the layout of four costs.
        unsafe {
            let pair = |a, b| vpaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b));
            let totals = vpaddq_u32(pair(sums[0], sums[1]), pair(sums[2], sums[3]));
            std::mem::transmute::<uint32x4_t, [u32; 4]>(totals)
        }
    }
}

// SAFETY: no pointers.
unsafe impl SampleRegister for uint8x16_t {
    #[inline(always)]
    unsafe fn all(sample: u8) -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { vdupq_n_u8(sample) }
    }

    #[inline(always)]
    unsafe fn average(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vrhaddq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vqaddq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { vqsubq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn cut_differences(self, other: Self, most: Self) -> Self {
        // SAFETY: as above.
        unsafe { vminq_u8(vabdq_u8(self, other), most) }
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [u8; 16]) {
        // SAFETY: as above; `to` has the bytes of a register.
        unsafe { vst1q_u8(to.as_mut_ptr(), self) }
    }

    #[inline(always)]
    unsafe fn total(self) -> u32 {
        // SAFETY: as above.
        unsafe { vaddvq_u32(vreinterpretq_u32_u8(self)) }
    }
}

/// Neighbouring candidates that one register of samples serves.
const LANES: usize = 16;

/// Rows of candidates whose SAD is summed at once, in two registers each.
const SAD_BAND: usize = 6;

/// Rows of candidates whose SSD is summed at once, in four registers each.
const SSD_BAND: usize = 4;

#[target_feature(enable = "neon")]
fn sad_tile(task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
    const { assert!(ROWS.is_multiple_of(SAD_BAND)) };
    by_bands!(task, costs, LANES, SAD_BAND, sad_of_band, [1 2 3 4 5]);
}

/// `uabal`: one sample of the part against sixteen neighbouring candidates, in two registers of sums.
///
/// `left` and `top` are the column and row of the first candidate.
#[target_feature(enable = "neon")]
#[inline]
fn sad_of_band<const V: usize>(
    task: &TileTask<'_>,
    (left, top): (usize, usize),
    costs: &mut [[u16; COLUMNS]],
) {
    let pitch = task.pitch();
    let mut sums = [[vdupq_n_u16(0); 2]; V];
    for k in 0..task.height() {
        let current = &task.current()[k * pitch..][..task.width()];
        let reference = task.reference()[(top + k) * pitch..].as_ptr();
        for (x, sample) in current.iter().enumerate() {
            let sample = vdupq_n_u8(*sample);
            for (v, [low, high]) in sums.iter_mut().enumerate() {
                // SAFETY: top + v < rows and k < height, so that the row begins within the
                // (height + rows - 2) * pitch + READ bytes of `reference`, and has READ = 64 bytes
                // left, of which left + x + 16 are read: left is 0 or 16 and x at most 15.
                let samples = unsafe { vld1q_u8(reference.add(v * pitch + left + x)) };
                *low = vabal_u8(*low, vget_low_u8(samples), vget_low_u8(sample));
                *high = vabal_high_u8(*high, samples, sample);
            }
        }
    }
    for (costs, sums) in costs.iter_mut().zip(sums) {
        let costs: &mut [u16; LANES] = costs[left..].first_chunk_mut().expect("left is 0 or 16 of 32");
        // SAFETY: as many costs as the registers have, and every bit pattern is a cost.
        unsafe { costs.as_mut_ptr().cast::<[uint16x8_t; 2]>().write_unaligned(sums) };
    }
}

#[target_feature(enable = "neon")]
fn ssd_tile(task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
    const { assert!(ROWS.is_multiple_of(SSD_BAND)) };
    by_bands!(task, costs, LANES, SSD_BAND, ssd_of_band, [1 2 3]);
}

/// The same with squares, in four registers of sums.
#[target_feature(enable = "neon")]
#[inline]
fn ssd_of_band<const V: usize>(
    task: &TileTask<'_>,
    (left, top): (usize, usize),
    costs: &mut [[u32; COLUMNS]],
) {
    let pitch = task.pitch();
    let mut sums = [[vdupq_n_u32(0); 4]; V];
    for k in 0..task.height() {
        let current = &task.current()[k * pitch..][..task.width()];
        let reference = task.reference()[(top + k) * pitch..].as_ptr();
        for (x, sample) in current.iter().enumerate() {
            let sample = vdupq_n_u8(*sample);
            for (v, sums) in sums.iter_mut().enumerate() {
                // SAFETY: as in `sad_of_band`.
                let samples = unsafe { vld1q_u8(reference.add(v * pitch + left + x)) };
                let differences = vabdq_u8(samples, sample);
                let low = vmull_u8(vget_low_u8(differences), vget_low_u8(differences));
                let high = vmull_high_u8(differences, differences);
                sums[0] = vaddw_u16(sums[0], vget_low_u16(low));
                sums[1] = vaddw_high_u16(sums[1], low);
                sums[2] = vaddw_u16(sums[2], vget_low_u16(high));
                sums[3] = vaddw_high_u16(sums[3], high);
            }
        }
    }
    for (costs, sums) in costs.iter_mut().zip(sums) {
        let costs: &mut [u32; LANES] = costs[left..].first_chunk_mut().expect("left is 0 or 16 of 32");
        // SAFETY: as many costs as the registers have, and every bit pattern is a cost.
        unsafe { costs.as_mut_ptr().cast::<[uint32x4_t; 4]>().write_unaligned(sums) };
    }
}

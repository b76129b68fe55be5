//! Tiles with NEON.

use std::arch::aarch64::*;

use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::tile::{COLUMNS, ROWS, TileCosts, TileTask, by_bands};
use motion_base::simd::instruction_set::by_functions;
use motion_base::simd::neon::Neon;

impl TileEngine for Neon {
    const LANES: usize = LANES;

    by_functions! {
        fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>);
        fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>);
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
                // (height + rows - 2) * pitch + ROW_SAMPLES bytes of `reference`, and has ROW_SAMPLES = 64 bytes
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

//! Tiles with SSE4.1: `mpsadbw`, eight neighbouring candidates at once.

use std::arch::x86_64::*;

use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::tile::{COLUMNS, ROWS, TileCosts, TileTask, by_bands};
use crate::simd::instruction_set::by_functions;
use crate::simd::sse41::Sse41;

impl TileEngine for Sse41 {
    const LANES: usize = LANES;

    by_functions! { fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>); }
}

/// 16-bit costs in a register.
const LANES: usize = 8;

/// Rows of candidates that are summed at once: as many sums as leave registers for samples.
const BAND: usize = 9;

#[target_feature(enable = "sse4.1")]
fn sad_tile(task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
    const { assert!(BAND * 4 == ROWS) };
    by_bands!(task, costs, LANES, BAND, sad_of_band, [1 2 3 4 5 6 7 8]);
}

/// `mpsadbw`: the SAD of four samples with eight neighbouring candidates. A row of candidates is one register
/// of sums, and each eight samples of the part, once loaded, serve all `V` rows.
///
/// `left` and `top` are the column and row of the first candidate.
#[target_feature(enable = "sse4.1")]
#[inline]
fn sad_of_band<const V: usize>(
    task: &TileTask<'_>,
    (left, top): (usize, usize),
    costs: &mut [[u16; COLUMNS]],
) {
    let pitch = task.pitch();
    let mut sums = [_mm_setzero_si128(); V];
    for k in 0..task.height() {
        let current = &task.current()[k * pitch..][..task.width()];
        let reference = task.reference()[(top + k) * pitch..].as_ptr();
        let (eights, last) = current.as_chunks::<8>();
        let mut x = left;
        for eight in eights {
            let eight = _mm_cvtsi64_si128(i64::from_le_bytes(*eight));
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: top + v < rows and k < height, so that the row begins within the
                // (height + rows - 2) * pitch + READ bytes of `reference`, and has READ = 64 bytes
                // left, of which x + 16 are read: x is at most 24 + 8, as left is at most 24 and a
                // part at most 16 wide.
                let samples = unsafe { _mm_loadu_si128(reference.add(v * pitch + x).cast()) };
                let right = _mm_mpsadbw_epu8::<0b101>(samples, eight);
                *sum = _mm_add_epi16(*sum, _mm_add_epi16(_mm_mpsadbw_epu8::<0>(samples, eight), right));
            }
            x += 8;
        }
        if let Ok(last) = last.try_into() {
            let last = _mm_cvtsi32_si128(i32::from_le_bytes(last));
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                let samples = unsafe { _mm_loadu_si128(reference.add(v * pitch + x).cast()) };
                *sum = _mm_add_epi16(*sum, _mm_mpsadbw_epu8::<0>(samples, last));
            }
        }
    }
    for (costs, sum) in costs.iter_mut().zip(sums) {
        let costs: &mut [u16; LANES] = costs[left..].first_chunk_mut().expect("left is at most 24 of 32");
        // SAFETY: as many costs as the register has, and every bit pattern is a cost.
        unsafe { _mm_storeu_si128(costs.as_mut_ptr().cast(), sum) };
    }
}

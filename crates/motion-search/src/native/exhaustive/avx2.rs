//! Tiles with AVX2.

use std::arch::x86_64::*;

use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::products::{self, WIDE};
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask, by_bands, by_height};
use crate::native::sample::SearchSample;
use motion_base::simd::avx2::Avx2;
use motion_base::simd::instruction_set::by_functions;

impl TileEngine for Avx2 {
    const LANES: usize = LANES;

    by_functions! {
        fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>);
        fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>);
        fn deep_ssd_tile(self, task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>);
    }
}

/// 16-bit costs in a register.
const LANES: usize = 16;

/// Rows of candidates that are summed at once: as many sums as leave registers for samples.
const BAND: usize = 8;

#[target_feature(enable = "avx2")]
fn sad_tile(task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
    by_bands!(task, costs, LANES, BAND, sad_of_band, [1 2 3 4 5 6 7]);
}

/// `vmpsadbw`: the SAD of four samples with eight neighbouring candidates in each half of the
/// register; the upper half takes the candidates from the eighth on. A row of candidates is one
/// register of sums, and each sample group of the part, once loaded, serves all `V` rows.
/// `vpsadbw` is 5 to 20 % faster on Zen 4 and half as fast on Intel's Xeon, so `vmpsadbw` is used on both.
///
/// `left` and `top` are the column and row of the first candidate.
#[target_feature(enable = "avx2")]
#[inline]
fn sad_of_band<const V: usize>(
    task: &TileTask<'_>,
    (left, top): (usize, usize),
    costs: &mut [[u16; COLUMNS]],
) {
    let pitch = task.pitch();
    let mut sums = [_mm256_setzero_si256(); V];
    for k in 0..task.height() {
        let current = &task.current()[k * pitch..][..task.width()];
        let reference = task.reference()[(top + k) * pitch..].as_ptr();
        let mut groups = current.chunks_exact(8);
        let mut x = left;
        for group in groups.by_ref() {
            let group = _mm256_set1_epi64x(i64::from_le_bytes(group.try_into().expect("8 samples")));
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: top + v < rows and k < height, so that the row begins within the
                // (height + rows - 2) * pitch + ROW_SAMPLES bytes of `reference`, and has ROW_SAMPLES = 64 bytes
                // left, of which x + 24 are read: x is at most 16 + 8, as left is 0 or 16 and a part
                // at most 16 wide.
                let samples = unsafe { halves(reference.add(v * pitch + x)) };
                let left = _mm256_mpsadbw_epu8::<0b000_000>(samples, group);
                let right = _mm256_mpsadbw_epu8::<0b101_101>(samples, group);
                *sum = _mm256_add_epi16(*sum, _mm256_add_epi16(left, right));
            }
            x += 8;
        }
        if let Ok(group) = groups.remainder().try_into() {
            let group = _mm256_set1_epi32(i32::from_le_bytes(group));
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                let samples = unsafe { halves(reference.add(v * pitch + x)) };
                *sum = _mm256_add_epi16(*sum, _mm256_mpsadbw_epu8::<0>(samples, group));
            }
        }
    }
    for (costs, sum) in costs.iter_mut().zip(sums) {
        let costs: &mut [u16; LANES] = costs[left..].first_chunk_mut().expect("left is 0 or 16 of 32");
        // SAFETY: as many costs as the register has, and every bit pattern is a cost.
        unsafe { _mm256_storeu_si256(costs.as_mut_ptr().cast(), sum) };
    }
}

/// Sixteen samples from `samples` on, and sixteen from `samples + 8` on.
///
/// # Safety
/// 24 bytes must be readable.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn halves(samples: *const u8) -> __m256i {
    // SAFETY: bytes 0 to 15 and 8 to 23 are within the caller's 24.
    unsafe { _mm256_loadu2_m128i(samples.add(8).cast(), samples.cast()) }
}

/// Neighbouring samples in 16 bits each: element `u` has those of columns `u` and `u + 1`.
type Pairs = [[u16; 2]; WIDE];

/// Rows of candidates whose products are summed at once, in two registers each.
const PRODUCT_BAND: usize = 5;

/// The SSD, by products. A function of its own, as AVX-512 without VNNI calls it too.
#[target_feature(enable = "avx2")]
#[inline(never)]
fn ssd_tile(task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
    dots(task, costs);
    products::squares_from_dots(task, costs);
}

/// The same of samples of at most ten bits.
#[target_feature(enable = "avx2")]
fn deep_ssd_tile(task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
    dots(task, costs);
    products::squares_from_dots(task, costs);
}

/// `vpmaddwd`: the products of two samples with eight neighbouring candidates, summed.
#[target_feature(enable = "avx2")]
fn dots<S: SearchSample>(task: &TileTask<'_, S>, costs: &mut TileCosts<u32>) {
    let mut rows = [[[0; 2]; WIDE]; PART + ROWS - 1];
    let rows = &mut rows[..task.height() + task.rows() - 1];
    for (k, row) in rows.iter_mut().enumerate() {
        let samples = &task.reference()[k * task.pitch()..];
        let samples: &[S; WIDE + 1] = samples.first_chunk().expect("rows of ROW_SAMPLES");
        for (u, pair) in row.iter_mut().enumerate() {
            *pair = [samples[u].into(), samples[u + 1].into()];
        }
    }
    let bands = task.rows().div_ceil(PRODUCT_BAND);
    for left in (0..task.columns()).step_by(LANES) {
        for band in 0..bands {
            let (start, end) = (task.rows() * band / bands, task.rows() * (band + 1) / bands);
            let (rows, costs) = (&rows[start..], &mut costs[start..end]);
            by_height!(end - start, PRODUCT_BAND, dots_of_band(task, rows, left, costs), [1 2 3 4]);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn dots_of_band<const V: usize>(
    task: &TileTask<'_, impl SearchSample>,
    rows: &[Pairs],
    left: usize,
    costs: &mut [[u32; COLUMNS]],
) {
    let rows = &rows[..task.height() + V - 1];
    let mut sums = [[_mm256_setzero_si256(); 2]; V];
    for k in 0..task.height() {
        let current = &task.current()[k * task.pitch()..][..task.width()];
        let rows: &[Pairs; V] = rows[k..].first_chunk().expect("V rows from each of the part's");
        for (j, pair) in current.as_chunks::<2>().0.iter().enumerate().take(PART / 2) {
            let [low, high]: [u32; 2] = pair.map(Into::into);
            let pair = _mm256_set1_epi32((low | high << 16) as i32);
            for (sums, row) in sums.iter_mut().zip(rows) {
                for (half, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: elements left + 8 * half + 2 * j and the 7 after it are among the row's
                    // WIDE = 48: left is at most 16, half at most 1 and j at most 7.
                    let samples =
                        unsafe { _mm256_loadu_si256(row.as_ptr().add(left + 8 * half + 2 * j).cast()) };
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(samples, pair));
                }
            }
        }
    }
    for (costs, sums) in costs.iter_mut().zip(sums) {
        let costs: &mut [u32; LANES] = costs[left..].first_chunk_mut().expect("left is 0 or 16 of 32");
        // SAFETY: as many costs as the registers have, and every bit pattern is a cost.
        unsafe { costs.as_mut_ptr().cast::<[__m256i; 2]>().write_unaligned(sums) };
    }
}

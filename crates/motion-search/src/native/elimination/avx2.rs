//! What elimination does most, with AVX2.

use std::arch::x86_64::*;

use crate::native::candidates::{Candidates, Listed};
use crate::native::elimination::bounds::{self, Quarters};
use crate::native::elimination::engine::EliminationEngine;
use crate::native::elimination::sums::{GROUP, TILE};
use motion_base::simd::avx2::{Avx2, load, put};
use motion_base::simd::instruction_set::by_functions;
use motion_base::simd::register::WIDE;

/// 16-bit sums in a register.
const LANES: usize = 16;

/// Registers that hold the sums of a group, or of a row of a strip.
const HALVES: usize = WIDE / LANES;

/// The sums of a group, or of a row of a strip.
type Sums = [__m256i; HALVES];

impl EliminationEngine for Avx2 {
    #[inline(always)]
    fn worth_a_group(side: usize) -> Option<u32> {
        // Measured: a group as a whole takes as long as 13 of its candidates one by one; 8 with AVX-512.
        (side == 16).then_some(13)
    }

    by_functions! {
        fn sads_of_groups(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [[u16; GROUP]]);
        fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16;
        fn across<const SIDE: usize>(self, samples: &[u8; 64]) -> Sums;
        fn store_tiles(self, rows: [Sums; 4], tiles: &mut [u16; 4 * WIDE]);
        fn extremes(self, rows: [Sums; 4]) -> [[u16; 4]; 2];
    }
}

/// The SAD of blocks of 16 × 16 samples with every candidate of the groups listed.
///
/// `vmpsadbw`: each 128-bit lane compares four samples of a row with eight neighbouring candidates, in one lane of the
/// upper row of candidates and in the other of the lower.
#[target_feature(enable = "avx2")]
#[inline]
fn sads_of_groups(candidates: &Candidates<'_>, (blocks, offsets): Listed<'_>, costs: &mut [[u16; GROUP]]) {
    const SIDE: usize = 16;
    assert!(candidates.side() == SIDE);
    let pitch = candidates.pitch();
    for ((block, offset), costs) in blocks.iter().zip(offsets).zip(costs) {
        let (samples, group) = (candidates.block(*block), candidates.rows(*offset, TILE));
        // Two rows from `y` on: from the first candidate on, and from eight samples further on.
        let rows = |y: usize| {
            debug_assert!(y + 1 < SIDE + TILE - 1);
            let row = group.as_ptr().wrapping_add(y * pitch);
            let from = |x: usize| {
                let row = row.wrapping_add(x);
                // SAFETY: a group has SIDE + TILE - 1 rows and ROW_SAMPLES samples after the last begins.
                unsafe { _mm256_loadu2_m128i(row.wrapping_add(pitch).cast(), row.cast()) }
            };
            [from(0), from(8)]
        };
        let sad = |[left, right]: [__m256i; 2], block: __m256i| {
            let left = _mm256_add_epi16(
                _mm256_mpsadbw_epu8::<0b000_000>(left, block),
                _mm256_mpsadbw_epu8::<0b101_101>(left, block),
            );
            let right = _mm256_add_epi16(
                _mm256_mpsadbw_epu8::<0b010_010>(right, block),
                _mm256_mpsadbw_epu8::<0b111_111>(right, block),
            );
            _mm256_add_epi16(left, right)
        };
        let mut sums = [_mm256_setzero_si256(); HALVES];
        let mut three = [rows(0), rows(1), rows(2)];
        for y in 0..SIDE {
            // SAFETY: the samples of a block are (SIDE - 1) * pitch + SIDE, so that as many as half the
            // register holds can be read from the start of each of its rows on.
            let block = unsafe { _mm_loadu_si128(samples.as_ptr().add(y * pitch).cast()) };
            let block = _mm256_broadcastsi128_si256(block);
            sums[0] = _mm256_add_epi16(sums[0], sad(three[0], block));
            sums[1] = _mm256_add_epi16(sums[1], sad(three[2], block));
            three = [three[1], three[2], rows((y + 3).min(SIDE + TILE - 3))];
        }
        // Orders the candidates by columns of four.
        let (left, right) =
            (_mm256_unpacklo_epi64(sums[0], sums[1]), _mm256_unpackhi_epi64(sums[0], sums[1]));
        let of_rows = |sums: __m256i| _mm256_permute4x64_epi64::<0b11_01_10_00>(sums);
        let [left, right] = [of_rows(left), of_rows(right)];
        let (upper, lower) = costs.split_at_mut(LANES);
        put(upper.first_chunk_mut().expect("half a group"), left);
        put(lower.first_chunk_mut().expect("half a group"), right);
    }
}

/// [`EliminationEngine::bound_area`]. The lower quarters of a group are the upper ones of another further down: what is
/// read of a row is used for both.
#[target_feature(enable = "avx2")]
#[inline]
fn bound_area<const N: usize>(quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16 {
    let Quarters { rows, columns, of_block, ranges, pitch, down } = *quarters;
    // Rows in a register. The quarters have to be a multiple of them apart.
    let at_once = LANES.div_ceil(N);
    if !down.is_multiple_of(at_once) {
        return bounds::bound_area::<u8, u16, N>(quarters, 0, bounds);
    }
    let (steps, lag, halves) = (rows.div_ceil(at_once), down / at_once, N.div_ceil(LANES));
    let last = rows + down - 1;
    let (all, [left, right]) = (last * pitch + N, ranges);
    let left = [left.0[..all].as_ptr(), left.1[..all].as_ptr()];
    let right = [right.0[..all].as_ptr(), right.1[..all].as_ptr()];
    // The ranges of these rows from `row` on, or of half a row.
    let sums = |extremes: [*const u16; 2], row: usize, half: usize| {
        let next = (row + 1).min(last);
        debug_assert!(row <= last && half < halves);
        // SAFETY: N from the start of each row up to the last on are there, checked above.
        let of = |extremes: *const u16| unsafe {
            match at_once {
                1 => _mm256_loadu_si256(extremes.add(row * pitch + half * LANES).cast()),
                _ => _mm256_loadu2_m128i(extremes.add(next * pitch).cast(), extremes.add(row * pitch).cast()),
            }
        };
        [of(extremes[0]), of(extremes[1])]
    };
    let absent = match at_once {
        1 => [absent(columns, 0), absent(columns, LANES)],
        _ => [_mm256_broadcastsi128_si256(_mm256_castsi256_si128(absent(columns, 0))); 2],
    };
    // The second row of a register, where only the first exists.
    let past = _mm256_setr_epi64x(0, 0, -1, -1);
    let mut least = _mm256_set1_epi16(-1);
    let mut quarters = [_mm256_setzero_si256(); 4];
    for (quarter, sum) in quarters.iter_mut().zip(of_block) {
        *quarter = _mm256_set1_epi16(sum as i16);
    }
    let bounds = &mut bounds.as_chunks_mut::<LANES>().0[..steps * halves];
    for step in 0..steps + lag {
        for half in 0..halves {
            let (left, right) = (sums(left, step * at_once, half), sums(right, step * at_once, half));
            if let Some(lower) = step.checked_sub(lag) {
                let bounds = &mut bounds[lower * halves + half];
                let mut sum = difference(left, quarters[2]);
                sum = _mm256_adds_epu16(sum, difference(right, quarters[3]));
                sum = _mm256_adds_epu16(sum, load(bounds));
                if at_once > 1 && (lower + 1) * at_once > rows {
                    sum = _mm256_or_si256(sum, past);
                }
                least = _mm256_min_epu16(least, sum);
                put(bounds, sum);
            }
            if step < steps {
                let sum = _mm256_adds_epu16(absent[half], difference(left, quarters[0]));
                let sum = _mm256_adds_epu16(sum, difference(right, quarters[1]));
                put(&mut bounds[step * halves + half], sum);
            }
        }
    }
    least_of(_mm_min_epu16(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least)))
}

/// All bits in the lanes past the last of `columns`, where `first` is the column of the first lane.
#[target_feature(enable = "avx2")]
#[inline]
fn absent(columns: usize, first: usize) -> __m256i {
    let lanes = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let last = columns as i16 - first as i16 - 1;
    _mm256_cmpgt_epi16(lanes, _mm256_set1_epi16(last))
}

/// The least, by `phminposuw`.
#[target_feature(enable = "avx2")]
#[inline]
fn least_of(sums: __m128i) -> u16 {
    _mm_extract_epi16::<0>(_mm_minpos_epu16(sums)) as u16
}

/// The distance of the sum of the block's part from the range.
#[target_feature(enable = "avx2")]
#[inline]
fn difference([least, most]: [__m256i; 2], of_block: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_subs_epu16(least, of_block), _mm256_subs_epu16(of_block, most))
}

/// [`EliminationEngine::across`], by `vmpsadbw` with zeros.
#[target_feature(enable = "avx2")]
#[inline]
fn across<const SIDE: usize>(samples: &[u8; 64]) -> Sums {
    let eight = |x: usize| {
        let start = samples.as_ptr().wrapping_add(x);
        // SAFETY: x is at most 24, so that 24 samples can be read from there on.
        let samples = unsafe { _mm256_loadu2_m128i(start.wrapping_add(8).cast(), start.cast()) };
        let first = _mm256_mpsadbw_epu8::<0>(samples, _mm256_setzero_si256());
        if SIDE == 4 {
            return first;
        }
        _mm256_add_epi16(first, _mm256_mpsadbw_epu8::<0b100_100>(samples, _mm256_setzero_si256()))
    };
    match SIDE {
        16 => [_mm256_add_epi16(eight(0), eight(8)), _mm256_add_epi16(eight(16), eight(24))],
        _ => [eight(0), eight(16)],
    }
}

/// [`EliminationEngine::store_tiles`].
#[target_feature(enable = "avx2")]
#[inline]
fn store_tiles([a, b, c, d]: [Sums; 4], tiles: &mut [u16; 4 * WIDE]) {
    for (half, tiles) in tiles.as_chunks_mut::<{ 4 * LANES }>().0.iter_mut().enumerate() {
        let [a, b, c, d] = [a[half], b[half], c[half], d[half]];
        // Transposes runs of four positions.
        let (ab, cd) = (_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d));
        let (ab_odd, cd_odd) = (_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d));
        let of_half = [
            _mm256_permute2x128_si256::<0x20>(ab, cd),
            _mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd),
            _mm256_permute2x128_si256::<0x31>(ab, cd),
            _mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd),
        ];
        // SAFETY: four registers hold as many bytes as half of the tiles.
        unsafe { tiles.as_mut_ptr().cast::<[__m256i; 4]>().write_unaligned(of_half) };
    }
}

/// [`EliminationEngine::extremes`].
#[target_feature(enable = "avx2")]
#[inline]
fn extremes([a, b, c, d]: [Sums; 4]) -> [[u16; 4]; 2] {
    let (mut least, mut most) = ([0; 4], [0; 4]);
    for half in 0..HALVES {
        let [a, b, c, d] = [a[half], b[half], c[half], d[half]];
        let low = _mm256_min_epu16(_mm256_min_epu16(a, b), _mm256_min_epu16(c, d));
        let high = _mm256_max_epu16(_mm256_max_epu16(a, b), _mm256_max_epu16(c, d));
        // The largest is the least of the inverted.
        let high = _mm256_xor_si256(high, _mm256_set1_epi8(-1));
        least[2 * half] = least_of(_mm256_castsi256_si128(low));
        least[2 * half + 1] = least_of(_mm256_extracti128_si256::<1>(low));
        most[2 * half] = !least_of(_mm256_castsi256_si128(high));
        most[2 * half + 1] = !least_of(_mm256_extracti128_si256::<1>(high));
    }
    [least, most]
}

//! What elimination does most, with AVX-512BW.

use std::arch::x86_64::*;

use crate::native::candidates::{Candidates, Listed};
use crate::native::elimination::bounds::Quarters;
use crate::native::elimination::engine::EliminationEngine;
use crate::native::elimination::sums::{GROUP, TILE};
use motion_base::simd::avx512::Avx512;
use motion_base::simd::instruction_set::by_functions;
use motion_base::simd::register::WIDE;

impl EliminationEngine for Avx512 {
    #[inline(always)]
    fn worth_a_group(side: usize) -> Option<u32> {
        (side == 16).then_some(8)
    }

    by_functions! {
        fn sads_of_groups(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [[u16; GROUP]]);
        fn across<const SIDE: usize>(self, samples: &[u8; 64]) -> __m512i;
        fn store_tiles(self, rows: [__m512i; 4], tiles: &mut [u16; 4 * WIDE]);
        fn extremes(self, rows: [__m512i; 4]) -> [[u16; 4]; 2];
    }

    #[inline(always)]
    fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16 {
        self.avx2().bound_area::<N>(quarters, bounds)
    }
}

/// The SAD of blocks of 16 × 16 samples with every candidate of the groups listed.
///
/// `vdbpsadbw`: each 128-bit lane compares four other samples of a row with eight neighbouring candidates. The rows that
/// four rows of candidates need stay in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn sads_of_groups(candidates: &Candidates<'_>, (blocks, offsets): Listed<'_>, costs: &mut [[u16; GROUP]]) {
    const SIDE: usize = 16;
    /// Selects the first four samples of a lane's candidates.
    const FIRST: i32 = 0b10_01_01_00;
    assert!(candidates.side() == SIDE);
    let pitch = candidates.pitch();
    let fours = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    let neighbours = _mm512_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6);
    let (mut block_rows, mut of) = ([_mm512_setzero_si512(); SIDE], u16::MAX);
    for ((block, offset), costs) in blocks.iter().zip(offsets).zip(costs) {
        if *block != of {
            let samples = candidates.block(*block);
            for (y, row) in block_rows.iter_mut().enumerate() {
                // SAFETY: the samples of a block are (SIDE - 1) * pitch + SIDE, so that as many as a quarter of
                // the register holds can be read from the start of each of its rows on.
                let samples = unsafe { _mm_loadu_si128(samples.as_ptr().add(y * pitch).cast()) };
                *row = _mm512_permutexvar_epi32(fours, _mm512_castsi128_si512(samples));
            }
            of = *block;
        }
        let group = candidates.rows(*offset, TILE);
        let row = |y: usize| {
            debug_assert!(y < SIDE + TILE - 1);
            // SAFETY: a group has SIDE + TILE - 1 rows and more than half a register after the last.
            let samples = unsafe { _mm256_loadu_si256(group.as_ptr().add(y * pitch).cast()) };
            _mm512_permutexvar_epi32(neighbours, _mm512_castsi256_si512(samples))
        };
        let mut rows = [row(0), row(1), row(2), _mm512_setzero_si512()];
        let mut sums = [_mm512_setzero_si512(); TILE];
        for (y, block) in block_rows.iter().enumerate() {
            rows[3] = row(y + 3);
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = _mm512_add_epi16(*sum, _mm512_dbsad_epu8::<FIRST>(*block, row));
            }
            rows = [rows[1], rows[2], rows[3], rows[3]];
        }
        // Adds the lanes of each sum, then orders the candidates by columns of four.
        let halves = |[a, b]: [__m512i; 2]| {
            let low = _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b);
            _mm512_add_epi16(low, _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b))
        };
        let (above, below) = (halves([sums[0], sums[1]]), halves([sums[2], sums[3]]));
        let even = _mm512_shuffle_i64x2::<0b10_00_10_00>(above, below);
        let sums = _mm512_add_epi16(even, _mm512_shuffle_i64x2::<0b11_01_11_01>(above, below));
        let sums = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), sums);
        // SAFETY: a group's costs are as large as a register, and every bit pattern is one.
        unsafe { _mm512_storeu_si512(costs.as_mut_ptr().cast(), sums) };
    }
}

/// [`EliminationEngine::across`], by `vdbpsadbw` with zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn across<const SIDE: usize>(samples: &[u8; 64]) -> __m512i {
    /// Selects the first four samples of a lane's positions, and the next four.
    const FIRST: i32 = 0b10_01_01_00;
    const NEXT: i32 = 0b11_10_10_01;
    // SAFETY: 64 samples are as many as a register holds.
    let samples = unsafe { _mm512_loadu_si512(samples.as_ptr().cast()) };
    let zero = _mm512_setzero_si512();
    let eight = |lanes: __m512i| {
        let samples = _mm512_permutexvar_epi64(lanes, samples);
        let first = _mm512_dbsad_epu8::<FIRST>(zero, samples);
        if SIDE == 4 { first } else { _mm512_add_epi16(first, _mm512_dbsad_epu8::<NEXT>(zero, samples)) }
    };
    let first = eight(_mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4));
    match SIDE {
        16 => _mm512_add_epi16(first, eight(_mm512_setr_epi64(1, 2, 2, 3, 3, 4, 4, 5))),
        _ => first,
    }
}

/// [`EliminationEngine::store_tiles`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn store_tiles([a, b, c, d]: [__m512i; 4], to: &mut [u16; 4 * WIDE]) {
    // Transposes runs of four positions: within lanes, then the lanes.
    let even = [_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d)];
    let odd = [_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d)];
    let halves = [
        [
            _mm512_shuffle_i64x2::<0b01_00_01_00>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0b01_00_01_00>(odd[0], odd[1]),
        ],
        [
            _mm512_shuffle_i64x2::<0b11_10_11_10>(even[0], even[1]),
            _mm512_shuffle_i64x2::<0b11_10_11_10>(odd[0], odd[1]),
        ],
    ];
    let mut tiles = [_mm512_setzero_si512(); 4];
    for (tiles, [even, odd]) in tiles.chunks_exact_mut(2).zip(halves) {
        tiles[0] = _mm512_shuffle_i64x2::<0b10_00_10_00>(even, odd);
        tiles[1] = _mm512_shuffle_i64x2::<0b11_01_11_01>(even, odd);
    }
    // SAFETY: four registers hold as many bytes as the tiles.
    unsafe { to.as_mut_ptr().cast::<[__m512i; 4]>().write_unaligned(tiles) };
}

/// [`EliminationEngine::extremes`]: the least and the largest of each 128-bit lane of all rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn extremes([a, b, c, d]: [__m512i; 4]) -> [[u16; 4]; 2] {
    let low = _mm512_min_epu16(_mm512_min_epu16(a, b), _mm512_min_epu16(c, d));
    let high = _mm512_max_epu16(_mm512_max_epu16(a, b), _mm512_max_epu16(c, d));
    // The largest is the least of the inverted: half of each lane for either.
    let high = _mm512_xor_si512(high, _mm512_set1_epi16(-1));
    let least = _mm512_min_epu16(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
    let least = _mm512_min_epu16(least, _mm512_shuffle_epi32::<0b10_11_00_01>(least));
    let least = _mm512_min_epu16(least, _mm512_rol_epi32::<16>(least));
    let firsts = _mm512_setr_epi64(0x0018_0010_0008_0000, 0x001c_0014_000c_0004, 0, 0, 0, 0, 0, 0);
    let least = _mm512_castsi512_si128(_mm512_permutexvar_epi16(firsts, least));
    let (least, most) = (_mm_cvtsi128_si64(least) as u64, !_mm_extract_epi64::<1>(least) as u64);
    let of_groups = |lanes: u64| std::array::from_fn(|group| (lanes >> (16 * group)) as u16);
    [of_groups(least), of_groups(most)]
}

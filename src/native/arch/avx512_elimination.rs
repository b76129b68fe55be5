//! What elimination does most, with AVX-512BW.

use std::arch::x86_64::*;

use crate::native::arch::sse2;
use crate::native::elimination::bounds::{Parts, bounds_of_groups};
use crate::native::elimination::sums::{ACROSS, GROUP, Level, STRIP, Strip, StripSums, TILE};
use crate::native::exhaustive::tile::{Candidates, Listed};

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub fn at_most(values: &[u16; GROUP], limit: u16) -> u32 {
    _mm512_cmple_epu16_mask(load(values), _mm512_set1_epi16(limit as i16))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn load(values: &[u16; GROUP]) -> __m512i {
    // SAFETY: the register takes the 64 bytes of the values.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

bounds_of_groups!("avx512f,avx512bw,avx512vl");

/// The sums of a group.
type Sums = __m512i;

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn zero() -> Sums {
    _mm512_setzero_si512()
}

/// Adds how much the sums of a group's part differ from that of the block's.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn add(sums: Sums, group: &[u16; GROUP], of_block: u16) -> Sums {
    let (group, of_block) = (load(group), _mm512_set1_epi16(of_block as i16));
    let (more, less) = (_mm512_subs_epu16(group, of_block), _mm512_subs_epu16(of_block, group));
    _mm512_adds_epu16(sums, _mm512_or_si512(more, less))
}

/// The same where [`Parts::are_small`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn add_small(sums: Sums, group: &[u16; GROUP], of_block: u16) -> Sums {
    let difference = _mm512_sub_epi16(load(group), _mm512_set1_epi16(of_block as i16));
    _mm512_add_epi16(sums, _mm512_abs_epi16(difference))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn store(to: &mut [u16; GROUP], from: Sums) {
    // SAFETY: `to` has the 64 bytes of a register, and every bit pattern is a number.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), from) };
}

/// The SAD of blocks of 16 × 16 samples with every candidate of the groups listed.
///
/// `vdbpsadbw`: each 128-bit lane compares another four samples of a row, with eight neighbouring
/// candidates; the rows of samples that four rows of candidates need at once stay in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub fn sads_of_groups(
    candidates: &Candidates<'_>,
    (blocks, offsets): Listed<'_>,
    costs: &mut [[u16; GROUP]],
) {
    const SIDE: usize = 16;
    /// Picks the four-sample groups that the candidates of a lane begin with.
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
        let group = candidates.group(*offset);
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
        // The lanes of each sum added, then rows of candidates for columns of four.
        let halves = |[a, b]: [__m512i; 2]| {
            let low = _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b);
            _mm512_add_epi16(low, _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b))
        };
        let (above, below) = (halves([sums[0], sums[1]]), halves([sums[2], sums[3]]));
        let even = _mm512_shuffle_i64x2::<0b10_00_10_00>(above, below);
        let sums = _mm512_add_epi16(even, _mm512_shuffle_i64x2::<0b11_01_11_01>(above, below));
        store(costs, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), sums));
    }
}

/// Writes `start` and what `lanes` has for each bit of `left` to the beginning of `list`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub fn list(left: u32, start: u32, lanes: &[u32; GROUP], list: &mut [u32; GROUP]) {
    const HALF: usize = GROUP / 2;
    let start = _mm512_set1_epi32(start as i32);
    let (lanes, first) = (lanes.as_ptr(), list.as_mut_ptr());
    // SAFETY: the halves of the lanes are registers, and a whole register is written at the beginning
    // of the list and after no more than HALF of it. (To compress into memory is far slower.)
    unsafe {
        let low = _mm512_add_epi32(start, _mm512_loadu_si512(lanes.cast()));
        let high = _mm512_add_epi32(start, _mm512_loadu_si512(lanes.add(HALF).cast()));
        _mm512_storeu_si512(first.cast(), _mm512_maskz_compress_epi32(left as u16, low));
        let second = first.add((left as u16).count_ones() as usize);
        _mm512_storeu_si512(second.cast(), _mm512_maskz_compress_epi32((left >> HALF) as u16, high));
    }
}

/// The sums of a strip.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub fn sum_strip<const SIDE: usize>(strip: &Strip<'_>, sums: &mut StripSums<'_>) {
    let zero = _mm512_setzero_si512();
    // The rows that `down` is the sum of; the one to come replaces the oldest.
    let mut rows = [zero; SIDE];
    let mut down = zero;
    for (y, row) in rows[..SIDE - 1].iter_mut().enumerate() {
        *row = across::<SIDE>(strip.row(y));
        down = _mm512_add_epi16(down, *row);
    }
    for index in 0..sums.rows() {
        let mut tile_row = [zero; TILE];
        for (y, positions) in tile_row.iter_mut().enumerate() {
            let y = index * TILE + y + SIDE - 1;
            let (oldest, next) = (&mut rows[y % SIDE], across::<SIDE>(strip.row(y)));
            down = _mm512_sub_epi16(_mm512_add_epi16(down, next), *oldest);
            (*oldest, *positions) = (next, down);
        }
        let [a, b, c, d] = tile_row;
        // Rows of four positions for columns of them: pairs of such rows, then lanes.
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
        let mut tiles = [zero; TILE];
        for (tiles, [even, odd]) in tiles.chunks_exact_mut(2).zip(halves) {
            tiles[0] = _mm512_shuffle_i64x2::<0b10_00_10_00>(even, odd);
            tiles[1] = _mm512_shuffle_i64x2::<0b11_01_11_01>(even, odd);
        }
        const { assert!(STRIP * TILE * 2 == TILE * 64) };
        // SAFETY: four registers hold as many bytes as the tiles.
        unsafe { sums.tiles(index).as_mut_ptr().cast::<[__m512i; TILE]>().write_unaligned(tiles) };
        if let Some([least, most]) = sums.extremes(index) {
            let low = _mm512_min_epu16(_mm512_min_epu16(a, b), _mm512_min_epu16(c, d));
            let high = _mm512_max_epu16(_mm512_max_epu16(a, b), _mm512_max_epu16(c, d));
            [*least, *most] = extremes(low, high);
        }
    }
}

/// The least of each 128-bit lane of `low`, and the largest of `high`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn extremes(low: __m512i, high: __m512i) -> [[u16; STRIP / ACROSS]; 2] {
    // The largest is what is least when all bits are the other way round: half of each lane for either.
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

/// `vdbpsadbw` with zeros: the sums of `SIDE` samples of a row from each column of a strip on.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn across<const SIDE: usize>(samples: &[u8; 64]) -> __m512i {
    /// Picks the four-sample groups that a lane's positions begin with, and the groups after them.
    const FIRST: i32 = 0b10_01_01_00;
    const NEXT: i32 = 0b11_10_10_01;
    // The strips to the right come next; nothing that walks down a frame is foreseen by the CPU.
    sse2::prefetch(samples, 2 * samples.len());
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

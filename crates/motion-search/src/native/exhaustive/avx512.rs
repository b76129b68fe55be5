//! Tiles with AVX-512BW.

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::products;
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask, by_height};
use motion_base::simd::avx512::Avx512;
use motion_base::simd::instruction_set::by_functions;

impl TileEngine for Avx512 {
    const LANES: usize = COLUMNS;

    by_functions! { fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>); }

    #[inline(always)]
    fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
        if self.has_vnni() {
            // SAFETY: the CPU has AVX-512BW, as a value of this type exists, and VNNI.
            unsafe { dots(task, costs) };
            products::squares_from_dots(task, costs);
        } else {
            self.avx2().ssd_tile(task, costs);
        }
    }
}

/// Rearranges the samples of a row for comparisons, in `N` registers.
trait Permute<const N: usize> {
    /// # Safety
    /// There must be AVX-512BW.
    unsafe fn permute(samples: __m512i) -> [__m512i; N];
}

/// The rows of a task's candidates, the first `written` of them permuted: each when it is first needed, so that the
/// stores hide behind comparisons.
struct PermutedRows<'a, P, const N: usize> {
    task: &'a TileTask<'a>,
    rows: [MaybeUninit<[__m512i; N]>; PART + ROWS],
    written: usize,
    permute: PhantomData<P>,
}

impl<'a, P: Permute<N>, const N: usize> PermutedRows<'a, P, N> {
    #[inline(always)]
    fn new(task: &'a TileTask<'a>) -> Self {
        Self { task, rows: [const { MaybeUninit::uninit() }; PART + ROWS], written: 0, permute: PhantomData }
    }

    /// `V` rows from row `k` on.
    ///
    /// # Safety
    /// There must be AVX-512BW. (A function with `target_feature` cannot be `inline(always)`; not inlined, it would
    /// force the caller's sums out of their registers.)
    #[inline(always)]
    unsafe fn from<const V: usize>(&mut self, k: usize) -> &[[__m512i; N]; V] {
        while self.written < k + V {
            let samples = &self.task.reference()[self.written * self.task.pitch()..];
            let samples: &[u8; 64] = samples.first_chunk().expect("rows of ROW_SAMPLES");
            // SAFETY: 64 samples are as many as a register holds; for the rest, the caller's promise.
            let row = unsafe { P::permute(_mm512_loadu_si512(samples.as_ptr().cast())) };
            self.rows[self.written].write(row);
            self.written += 1;
        }
        let rows = self.rows[k..].first_chunk().expect("no more rows than the largest task has");
        // SAFETY: a row and room for one have the same layout, and all before `written` are written.
        unsafe { &*(rows as *const [MaybeUninit<[__m512i; N]>; V]).cast() }
    }
}

/// One register for the first eight samples of a part's row and one for the last: each 128-bit lane holds the 16 samples
/// that its eight candidates need.
struct Eights;

impl Permute<2> for Eights {
    #[inline(always)]
    unsafe fn permute(samples: __m512i) -> [__m512i; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let first = _mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4);
            let second = _mm512_setr_epi64(1, 2, 2, 3, 3, 4, 4, 5);
            [_mm512_permutexvar_epi64(first, samples), _mm512_permutexvar_epi64(second, samples)]
        }
    }
}

/// Rows of candidates that are summed at once: half of the registers.
const BAND: usize = 16;

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sad_tile(task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
    let rows = &mut PermutedRows::new(task);
    let bands = (task.rows() as u32).div_ceil(BAND as u32);
    let mut start = 0;
    for band in 1..=bands {
        let end = (task.rows() as u32 * band / bands) as usize;
        let costs = &mut costs[start..end];
        by_height!(end - start, BAND, sad_of_band(rows, start, costs), [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]);
        start = end;
    }
}

/// `vdbpsadbw`: the SAD of four samples with 32 neighbouring candidates, eight a lane. A row of
/// candidates is one register of sums, and a row of samples serves all `V` of them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn sad_of_band<const V: usize>(
    rows: &mut PermutedRows<'_, Eights, 2>,
    start: usize,
    costs: &mut [[u16; COLUMNS]],
) {
    let task = rows.task;
    let sums = match task.width() {
        4 => sums_of_band::<V, 1>(rows, start),
        8 => sums_of_band::<V, 2>(rows, start),
        12 => sums_of_band::<V, 3>(rows, start),
        _ => sums_of_band::<V, 4>(rows, start),
    };
    for (costs, sum) in costs.iter_mut().zip(sums) {
        // SAFETY: a row of costs is as large as a register, and every bit pattern is a cost.
        unsafe { _mm512_storeu_si512(costs.as_mut_ptr().cast(), sum) };
    }
}

/// The same for a part that is `G` groups of four samples wide.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn sums_of_band<const V: usize, const G: usize>(
    rows: &mut PermutedRows<'_, Eights, 2>,
    start: usize,
) -> [__m512i; V] {
    /// Selects the first four samples of a lane's candidates, and the next four.
    const FIRST: i32 = 0b10_01_01_00;
    const NEXT: i32 = 0b11_10_10_01;
    let task = rows.task;
    let mut sums = [_mm512_setzero_si512(); V];
    for k in 0..task.height() {
        let current = task.current()[k * task.pitch()..].as_chunks::<4>().0;
        let current: &[_; G] = current.first_chunk().expect("as many groups as the part is wide");
        let current = current.map(|samples| group(samples));
        // SAFETY: this function runs only where there is AVX-512.
        let rows = unsafe { rows.from::<V>(start + k) };
        for (sum, row) in sums.iter_mut().zip(rows) {
            let mut of_row = _mm512_dbsad_epu8::<FIRST>(current[0], row[0]);
            if G > 1 {
                of_row = _mm512_add_epi16(of_row, _mm512_dbsad_epu8::<NEXT>(current[1], row[0]));
            }
            if G > 2 {
                let mut right = _mm512_dbsad_epu8::<FIRST>(current[2], row[1]);
                if G > 3 {
                    right = _mm512_add_epi16(right, _mm512_dbsad_epu8::<NEXT>(current[3], row[1]));
                }
                of_row = _mm512_add_epi16(of_row, right);
            }
            *sum = _mm512_add_epi16(*sum, of_row);
        }
    }
    sums
}

/// Four samples of the current frame in every lane.
#[target_feature(enable = "avx512f")]
#[inline]
fn group(samples: [u8; 4]) -> __m512i {
    _mm512_set1_epi32(i32::from_le_bytes(samples))
}

/// Rows of candidates whose products are summed at once, in two registers each.
const PRODUCT_BAND: usize = 8;

/// `vpdpbusd`: the products of four samples with sixteen neighbouring candidates, summed.
///
/// It takes one factor signed: the candidates' samples enter less 128, which changes all sums by the same.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn dots(task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
    let rows = &mut PermutedRows::new(task);
    let samples = task.current().chunks(task.pitch()).flat_map(|row| &row[..task.width()]);
    let missing = 128 * samples.map(|&sample| i32::from(sample)).sum::<i32>();
    let bands = task.rows().div_ceil(PRODUCT_BAND);
    for band in 0..bands {
        let (start, end) = (task.rows() * band / bands, task.rows() * (band + 1) / bands);
        let costs = &mut costs[start..end];
        by_height!(end - start, PRODUCT_BAND, dots_of_band(rows, start, missing, costs), [1 2 3 4 5 6 7]);
    }
}

/// Register `i` has in its 32-bit lane `u` the four samples from column `4 * i + u` on, each less 128.
struct Quads;

impl Permute<QUADS> for Quads {
    #[inline(always)]
    unsafe fn permute(samples: __m512i) -> [__m512i; QUADS] {
        // SAFETY: the caller's promise.
        unsafe {
            let samples = _mm512_xor_si512(samples, _mm512_set1_epi8(-128));
            // Four neighbouring words in each 128-bit lane, of which the second begins the next lane.
            let words = _mm512_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6);
            let steps = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
            let mut row = [_mm512_setzero_si512(); QUADS];
            for (i, quads) in row.iter_mut().enumerate() {
                let words = _mm512_add_epi32(words, _mm512_set1_epi32(i as i32));
                *quads = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, samples), steps);
            }
            row
        }
    }
}

/// Every fourth column up to the 28th: where the candidates of both halves of a row have the groups of a part's row.
const QUADS: usize = 2 * PART / 4;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn dots_of_band<const V: usize>(
    rows: &mut PermutedRows<'_, Quads, QUADS>,
    start: usize,
    missing: i32,
    costs: &mut [[u32; COLUMNS]],
) {
    let sums = match rows.task.width() {
        4 => dots_of_width::<V, 1>(rows, start, missing),
        8 => dots_of_width::<V, 2>(rows, start, missing),
        12 => dots_of_width::<V, 3>(rows, start, missing),
        _ => dots_of_width::<V, 4>(rows, start, missing),
    };
    for (costs, sums) in costs.iter_mut().zip(sums) {
        // SAFETY: a row of costs is as large as two registers, and every bit pattern is a cost.
        unsafe { costs.as_mut_ptr().cast::<[__m512i; 2]>().write_unaligned(sums) };
    }
}

/// The same for a part that is `G` groups of four samples wide.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn dots_of_width<const V: usize, const G: usize>(
    rows: &mut PermutedRows<'_, Quads, QUADS>,
    start: usize,
    missing: i32,
) -> [[__m512i; 2]; V] {
    let task = rows.task;
    let mut sums = [[_mm512_set1_epi32(missing); 2]; V];
    for k in 0..task.height() {
        let current = task.current()[k * task.pitch()..].as_chunks::<4>().0;
        let current: &[_; G] = current.first_chunk().expect("as many groups as the part is wide");
        // SAFETY: this function runs only where there is AVX-512BW.
        let rows = unsafe { rows.from::<V>(start + k) };
        for (j, quad) in current.iter().enumerate() {
            let quad = group(*quad);
            for ([left, right], row) in sums.iter_mut().zip(rows) {
                *left = _mm512_dpbusd_epi32(*left, quad, row[j]);
                *right = _mm512_dpbusd_epi32(*right, quad, row[PART / 4 + j]);
            }
        }
    }
    sums
}

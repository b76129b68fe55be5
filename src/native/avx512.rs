//! Tile costs with AVX-512BW.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::avx2::Avx2;
use super::bounds::{Extreme, Parts};
use super::products::{self, WIDE};
use super::sums::{GROUP, Level, Strip, StripSums};
use super::tile::{COLUMNS, Candidates, Costs, Engine, PART, Pair, ROWS, Task};
use super::{elimination_avx2, elimination_avx512, sse2};

/// A CPU with the byte and word instructions of AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Avx512 {
    /// Whether it also multiplies bytes: `vpdpbusd`.
    has_vnni: bool,
}

impl Avx512 {
    /// The proof that this CPU has AVX-512BW, if it has.
    pub(super) fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && Avx2::new().is_some();
        is_there.then(|| Self { has_vnni: is_x86_feature_detected!("avx512vnni") })
    }
}

impl Engine for Avx512 {
    /// The more, the more candidates a permuted row serves.
    const ROWS: usize = ROWS;
    const LANES: usize = COLUMNS;

    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        // SAFETY: a value of this type exists only where `Avx512::new` has found AVX-512BW.
        unsafe { sad(task, costs) }
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        if self.has_vnni {
            // SAFETY: as above, and there is VNNI too.
            unsafe { dots(task, costs) };
            products::squares_from_dots(task, costs);
        } else {
            // SAFETY: every CPU with AVX-512 has AVX2, and `Avx512::new` has asked for it.
            unsafe { super::avx2::dots(task, costs) };
            products::squares_from_dots(task, costs);
        }
    }

    #[inline(always)]
    fn sad_of_one(self, pair: &Pair<'_>) -> u32 {
        sse2::sad_of_one(pair)
    }

    #[inline(always)]
    fn ssd_of_one(self, pair: &Pair<'_>) -> u32 {
        sse2::ssd_of_one(pair)
    }

    #[inline(always)]
    fn at_most(self, values: &[u16; 32], limit: u16) -> u32 {
        // SAFETY: a value of this type exists only where `Avx512::new` has found AVX-512BW.
        unsafe { elimination_avx512::at_most(values, limit) }
    }

    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, offsets: &[u32], costs: &mut [u32]) {
        // SAFETY: as above, and every CPU with AVX-512 has AVX2, which `Avx512::new` has asked for.
        unsafe { elimination_avx2::sads(candidates, offsets, costs) };
    }

    #[inline(always)]
    fn bounds(self, parts: &Parts, level: &Level, starts: &[u32], bounds: &mut [[u16; GROUP]]) {
        // SAFETY: as above.
        unsafe { elimination_avx512::bounds(parts, level, starts, bounds) };
    }

    #[inline(always)]
    fn bound_area<const N: usize>(
        self,
        parts: &[Extreme<'_>; 4],
        shape: (usize, usize, usize),
        bounds: &mut [u16],
    ) -> u16 {
        // SAFETY: as above.
        unsafe { elimination_avx2::bound_area::<N>(parts, shape, bounds) }
    }

    #[inline(always)]
    fn list(self, left: u32, start: u32, lanes: &[u32; GROUP], list: &mut [u32; GROUP]) {
        // SAFETY: as above.
        unsafe { elimination_avx512::list(left, start, lanes, list) };
    }

    #[inline(always)]
    fn sum_strip<const SIDE: usize>(self, strip: &Strip<'_>, sums: &mut StripSums<'_>) {
        // SAFETY: as above.
        unsafe { elimination_avx512::sum_strip::<SIDE>(strip, sums) };
    }
}

/// A row of the candidates' samples, ready for the first two and for the last two of the four
/// groups of four samples in a row of a part. Each 128-bit lane holds what its eight candidates
/// need: samples 8 to 23 from the first candidate of the lane on, without and with 8 more.
type Row = [__m512i; 2];

/// Rows of candidates that are summed at once: half of the registers.
const BAND: usize = 16;

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sad(task: &Task<'_>, costs: &mut Costs<u16>) {
    let mut rows = [const { MaybeUninit::<Row>::uninit() }; PART + ROWS - 1];
    let rows = permuted(task, &mut rows);
    let bands = task.rows().div_ceil(BAND);
    for band in 0..bands {
        let (start, end) = (task.rows() * band / bands, task.rows() * (band + 1) / bands);
        let (rows, costs) = (&rows[start..], &mut costs[start..end]);
        match end - start {
            1 => sad_of_band::<1>(task, rows, costs),
            2 => sad_of_band::<2>(task, rows, costs),
            3 => sad_of_band::<3>(task, rows, costs),
            4 => sad_of_band::<4>(task, rows, costs),
            5 => sad_of_band::<5>(task, rows, costs),
            6 => sad_of_band::<6>(task, rows, costs),
            7 => sad_of_band::<7>(task, rows, costs),
            8 => sad_of_band::<8>(task, rows, costs),
            9 => sad_of_band::<9>(task, rows, costs),
            10 => sad_of_band::<10>(task, rows, costs),
            11 => sad_of_band::<11>(task, rows, costs),
            12 => sad_of_band::<12>(task, rows, costs),
            13 => sad_of_band::<13>(task, rows, costs),
            14 => sad_of_band::<14>(task, rows, costs),
            15 => sad_of_band::<15>(task, rows, costs),
            _ => sad_of_band::<BAND>(task, rows, costs),
        }
    }
}

/// Every row that a candidate of `task` has samples in.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn permuted<'a>(task: &Task<'_>, rows: &'a mut [MaybeUninit<Row>]) -> &'a [Row] {
    let first = _mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4);
    let second = _mm512_setr_epi64(1, 2, 2, 3, 3, 4, 4, 5);
    let rows = &mut rows[..task.height() + task.rows() - 1];
    for (k, row) in rows.iter_mut().enumerate() {
        let samples: &[u8; 64] =
            task.reference()[k * task.pitch()..].first_chunk().expect("READ samples a row");
        // SAFETY: 64 samples are as many as a register holds.
        let samples = unsafe { _mm512_loadu_si512(samples.as_ptr().cast()) };
        row.write([_mm512_permutexvar_epi64(first, samples), _mm512_permutexvar_epi64(second, samples)]);
    }
    // SAFETY: `reference` has as many rows as `rows`, each with READ = 64 samples even in the last,
    // so that all of them have just been written.
    unsafe { written(rows) }
}

/// `vdbpsadbw`: the SAD of four samples with 32 neighbouring candidates, eight a lane. A row of
/// candidates is one register of sums, and a row of samples serves all `V` of them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn sad_of_band<const V: usize>(task: &Task<'_>, rows: &[Row], costs: &mut [[u16; COLUMNS]]) {
    /// Picks the four-sample groups that a lane's candidates begin with, and the groups after them.
    const FIRST: i32 = 0b10_01_01_00;
    const NEXT: i32 = 0b11_10_10_01;
    let rows = &rows[..task.height() + V - 1];
    let mut sums = [_mm512_setzero_si512(); V];
    for k in 0..task.height() {
        let current = &task.current()[k * task.pitch()..][..task.width()];
        let rows: &[Row; V] = rows[k..].first_chunk().expect("V rows from each of the part's");
        let (pairs, last) = current.as_chunks::<8>();
        for (half, pair) in pairs.iter().enumerate().take(2) {
            let (a, b) = (group(pair[..4].try_into().expect("4")), group(pair[4..].try_into().expect("4")));
            for (sum, row) in sums.iter_mut().zip(rows) {
                let a = _mm512_dbsad_epu8::<FIRST>(a, row[half]);
                let b = _mm512_dbsad_epu8::<NEXT>(b, row[half]);
                *sum = _mm512_add_epi16(*sum, _mm512_add_epi16(a, b));
            }
        }
        if let Ok(last) = last.try_into() {
            let last = group(last);
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = _mm512_add_epi16(*sum, _mm512_dbsad_epu8::<FIRST>(last, row[pairs.len() & 1]));
            }
        }
    }
    for (costs, sum) in costs.iter_mut().zip(sums) {
        // SAFETY: a row of costs is as large as a register, and every bit pattern is a cost.
        unsafe { _mm512_storeu_si512(costs.as_mut_ptr().cast(), sum) };
    }
}

/// What has been written to `rows`.
///
/// # Safety
/// Every one of them must have been.
#[inline(always)]
unsafe fn written<T>(rows: &[MaybeUninit<T>]) -> &[T] {
    // SAFETY: the layout is the same, and the caller promises the content.
    unsafe { &*(rows as *const [MaybeUninit<T>] as *const [T]) }
}

/// Four samples of the current picture in every lane.
#[target_feature(enable = "avx512f")]
#[inline]
fn group(samples: [u8; 4]) -> __m512i {
    _mm512_set1_epi32(i32::from_le_bytes(samples))
}

/// Rows of candidates whose products are summed at once, in two registers each.
const PRODUCT_BAND: usize = 8;

/// `vpdpbusd`: the products of four samples with sixteen neighbouring candidates, summed.
///
/// It takes one factor signed, so that the candidates' samples enter less 128; what that takes from
/// the sum is the same for every candidate.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn dots(task: &Task<'_>, costs: &mut Costs<u32>) {
    let mut rows = [const { MaybeUninit::<[__m512i; WIDE / 16]>::uninit() }; PART + ROWS - 1];
    let rows = quads(task, &mut rows);
    let samples = task.current().chunks(task.pitch()).flat_map(|row| &row[..task.width()]);
    let missing = 128 * samples.map(|&sample| i32::from(sample)).sum::<i32>();
    let bands = task.rows().div_ceil(PRODUCT_BAND);
    for band in 0..bands {
        let (start, end) = (task.rows() * band / bands, task.rows() * (band + 1) / bands);
        let (rows, costs) = (&rows[start..], &mut costs[start..end]);
        match end - start {
            1 => dots_of_band::<1>(task, rows, missing, costs),
            2 => dots_of_band::<2>(task, rows, missing, costs),
            3 => dots_of_band::<3>(task, rows, missing, costs),
            4 => dots_of_band::<4>(task, rows, missing, costs),
            5 => dots_of_band::<5>(task, rows, missing, costs),
            6 => dots_of_band::<6>(task, rows, missing, costs),
            7 => dots_of_band::<7>(task, rows, missing, costs),
            _ => dots_of_band::<PRODUCT_BAND>(task, rows, missing, costs),
        }
    }
}

/// Every row that a candidate of `task` has samples in: 32-bit lane `u` has the four samples from
/// column `u` on, each less 128.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn quads<'a>(
    task: &Task<'_>,
    rows: &'a mut [MaybeUninit<[__m512i; WIDE / 16]>],
) -> &'a [[__m512i; WIDE / 16]] {
    let lanes = |first: i32| {
        let lane = |l: i32| [first + l, first + l + 1, first + l + 2, first + l + 3];
        let ([a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]) = (lane(0), lane(1), lane(2), lane(3));
        _mm512_setr_epi32(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    };
    let lanes = [lanes(0), lanes(4), lanes(8)];
    let steps = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    let rows = &mut rows[..task.height() + task.rows() - 1];
    for (k, row) in rows.iter_mut().enumerate() {
        let samples: &[u8; 64] =
            task.reference()[k * task.pitch()..].first_chunk().expect("READ samples a row");
        // SAFETY: 64 samples are as many as a register holds.
        let samples = unsafe { _mm512_loadu_si512(samples.as_ptr().cast()) };
        let samples = _mm512_xor_si512(samples, _mm512_set1_epi8(-128));
        let quads = |lanes| _mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, samples), steps);
        row.write([quads(lanes[0]), quads(lanes[1]), quads(lanes[2])]);
    }
    // SAFETY: `reference` has as many rows as `rows`, each with READ = 64 samples even in the last,
    // so that all of them have just been written.
    unsafe { written(rows) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn dots_of_band<const V: usize>(
    task: &Task<'_>,
    rows: &[[__m512i; WIDE / 16]],
    missing: i32,
    costs: &mut [[u32; COLUMNS]],
) {
    let rows = &rows[..task.height() + V - 1];
    let mut sums = [[_mm512_set1_epi32(missing); 2]; V];
    for k in 0..task.height() {
        let current = &task.current()[k * task.pitch()..][..task.width()];
        let rows: &[_; V] = rows[k..].first_chunk().expect("V rows from each of the part's");
        for (j, quad) in current.as_chunks::<4>().0.iter().enumerate().take(PART / 4) {
            let quad = group(*quad);
            for (sums, row) in sums.iter_mut().zip(rows) {
                let row = row.as_ptr().cast::<i32>();
                for (half, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: lanes 16 * half + 4 * j and the 15 after it are among the row's WIDE =
                    // 48: half is at most 1 and j at most 3.
                    let samples = unsafe { _mm512_loadu_si512(row.add(16 * half + 4 * j).cast()) };
                    *sum = _mm512_dpbusd_epi32(*sum, quad, samples);
                }
            }
        }
    }
    for (costs, sums) in costs.iter_mut().zip(sums) {
        // SAFETY: a row of costs is as large as two registers, and every bit pattern is a cost.
        unsafe { costs.as_mut_ptr().cast::<[__m512i; 2]>().write_unaligned(sums) };
    }
}

//! AVX2.

use std::arch::x86_64::*;

use crate::native::arch::avx2_elimination::{at_most, bound_area, bounds, list, sads, sads_of_groups};
use crate::native::arch::register::{DeepRegister, Register, SUMS, WordRegister};
use crate::native::arch::sse2::{prefetch, sum_parts};
use crate::native::candidates::{Candidates, Listed};
use crate::native::elimination::bounds::{BlockParts, Quarters};
use crate::native::elimination::engine::EliminationEngine;
use crate::native::elimination::sums::{GROUP, SumLevel};
use crate::native::engine::{Engine, by_functions};
use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::products::{self, WIDE};
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask, by_bands, by_height};
use crate::native::sample::SearchSample;

/// A CPU with AVX2.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// The proof that this CPU has AVX2, and the bit instructions that every CPU with it has, if it has.
    pub fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1");
        is_there.then_some(Self(()))
    }
}

impl Engine for Avx2 {
    const LANES: usize = LANES;
    type Register = __m256i;
    type Words = __m256i;
    type Sums = [__m256i; 2];
    type Deep = [__m256i; 2];

    by_functions! {
        fn prefetch(self, samples: &[u8], at: usize);
        fn at_most(self, values: &[u16; SUMS], limit: u16) -> u32;
        fn list(self, bits: u32, start: u32, lanes: &[u32; SUMS], to: &mut [u32; SUMS]);
        fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4];
    }
}

impl TileEngine for Avx2 {
    by_functions! {
        fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>);
        fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>);
        fn deep_ssd_tile(self, task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>);
    }
}

impl EliminationEngine for Avx2 {
    #[inline(always)]
    fn worth_a_group(side: usize) -> Option<u32> {
        (side == 16).then_some(13)
    }

    by_functions! {
        fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]);
        fn bounds(self, parts: &BlockParts, level: &SumLevel, listed: Listed<'_>, to: &mut [[u16; GROUP]]);
        fn sads_of_groups(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [[u16; GROUP]]);
        fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16;
    }
}

// SAFETY: `load` reads 32 samples, and `load_rows` two rows of 16.
unsafe impl Register for __m256i {
    const SAMPLES: usize = 32;
    type Narrow = __m128i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(samples.cast()) }
    }

    #[inline(always)]
    unsafe fn add_differences(sums: Self, c: Self, r: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_epi32(sums, _mm256_sad_epu8(c, r)) }
    }

    #[inline(always)]
    unsafe fn add_squares(sums: Self, c: Self, r: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            let zero = _mm256_setzero_si256();
            let low = _mm256_sub_epi16(_mm256_unpacklo_epi8(c, zero), _mm256_unpacklo_epi8(r, zero));
            let high = _mm256_sub_epi16(_mm256_unpackhi_epi8(c, zero), _mm256_unpackhi_epi8(r, zero));
            let sums = _mm256_add_epi32(sums, _mm256_madd_epi16(low, low));
            _mm256_add_epi32(sums, _mm256_madd_epi16(high, high))
        }
    }

    #[inline(always)]
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self {
        const { assert!(W == 16) };
        // SAFETY: two rows of 16 samples are readable.
        unsafe { _mm256_loadu2_m128i(samples.add(pitch).cast(), samples.cast()) }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4]) -> [u32; 4] {
        // SAFETY: as above; a register has the layout of four costs.
        unsafe {
            let ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            let cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
            let totals = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            let upper = _mm256_extracti128_si256::<1>(totals);
            let totals = _mm_add_epi32(_mm256_castsi256_si128(totals), upper);
            std::mem::transmute::<__m128i, [u32; 4]>(totals)
        }
    }
}

// SAFETY: no pointers but to an argument.
unsafe impl WordRegister for __m256i {
    type Samples = __m128i;

    #[inline(always)]
    unsafe fn all(number: u16) -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { _mm256_set1_epi16(number as i16) }
    }

    #[inline(always)]
    unsafe fn load(numbers: &[u16; 16]) -> Self {
        // SAFETY: as above; a register has as many numbers.
        unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn widen(samples: __m128i) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_cvtepu8_epi16(samples) }
    }

    #[inline(always)]
    unsafe fn narrow(self) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_packus_epi16(_mm256_castsi256_si128(self), _mm256_extracti128_si256::<1>(self)) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_epi16(self, other) }
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_sub_epi16(self, other) }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_mullo_epi16(self, other) }
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_min_epi16(self, other) }
    }

    #[inline(always)]
    unsafe fn largest(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_max_epi16(self, other) }
    }

    #[inline(always)]
    unsafe fn round<const SHIFT: i32>(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_srli_epi16::<SHIFT>(self.plus(Self::all(1 << (SHIFT - 1)))) }
    }

    /// In each half of a register by itself: `weighted_mean` undoes it.
    #[inline(always)]
    unsafe fn interleave(self, other: Self) -> [Self; 2] {
        // SAFETY: as above.
        unsafe { [_mm256_unpacklo_epi16(self, other), _mm256_unpackhi_epi16(self, other)] }
    }

    #[inline(always)]
    unsafe fn weighted_mean([a, b, c, d]: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self {
        // SAFETY: as above.
        unsafe {
            let half = _mm256_set1_epi32(1 << (shift - 1));
            let shift = _mm_cvtsi32_si128(shift as i32);
            let (ab, cd) = (a.interleave(b), c.interleave(d));
            let mut means = ab;
            for i in 0..2 {
                let sum = _mm256_add_epi32(
                    _mm256_madd_epi16(ab[i], weights[0][i]),
                    _mm256_madd_epi16(cd[i], weights[1][i]),
                );
                means[i] = _mm256_srl_epi32(_mm256_add_epi32(sum, half), shift);
            }
            _mm256_packs_epi32(means[0], means[1])
        }
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
                // (height + rows - 2) * pitch + READ bytes of `reference`, and has READ = 64 bytes
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

/// The SSD, by products.
#[target_feature(enable = "avx2")]
pub fn ssd_tile(task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
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
        let samples: &[S; WIDE + 1] = samples.first_chunk().expect("READ samples a row");
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

// SAFETY: no pointers but to arguments.
unsafe impl DeepRegister for [__m256i; 2] {
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn all(sample: u16) -> Self {
        [_mm256_set1_epi16(sample as i16); 2]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn load(samples: &[u16; SUMS]) -> Self {
        // SAFETY: two registers have as many samples, and every bit pattern is one.
        unsafe { samples.as_ptr().cast::<Self>().read_unaligned() }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn store(self, to: &mut [u16; SUMS]) {
        // SAFETY: as above.
        unsafe { to.as_mut_ptr().cast::<Self>().write_unaligned(self) };
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn largest(self, other: Self) -> Self {
        [_mm256_max_epu16(self[0], other[0]), _mm256_max_epu16(self[1], other[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn plus(self, other: Self) -> Self {
        [_mm256_add_epi16(self[0], other[0]), _mm256_add_epi16(self[1], other[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn upper(self) -> Self {
        [_mm256_srli_epi16::<8>(self[0]), _mm256_srli_epi16::<8>(self[1])]
    }
}

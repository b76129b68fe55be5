//! Tile costs in 128-bit registers: what every x86-64 CPU has, and what SSE4.1 adds.

use std::arch::x86_64::*;

use crate::native::arch::sse2;
use crate::native::elimination::bounds::SUMMED;
use crate::native::elimination::sums::TILE;
use crate::native::exhaustive::columns::{self, Order, Register};
use crate::native::exhaustive::tile::{COLUMNS, Costs, Engine, Pair, ROWS, Task, by_bands};

// SAFETY: `load` loads 16 samples.
unsafe impl Register for __m128i {
    const SAMPLES: usize = 16;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: every x86-64 CPU has SSE2, here and below.
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { _mm_loadu_si128(samples.cast()) }
    }

    #[inline(always)]
    unsafe fn add<const SQUARED: bool>(sums: Self, c: Self, r: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            if !SQUARED {
                return _mm_add_epi32(sums, _mm_sad_epu8(c, r));
            }
            let zero = _mm_setzero_si128();
            let low = _mm_sub_epi16(_mm_unpacklo_epi8(c, zero), _mm_unpacklo_epi8(r, zero));
            let high = _mm_sub_epi16(_mm_unpackhi_epi8(c, zero), _mm_unpackhi_epi8(r, zero));
            let sums = _mm_add_epi32(sums, _mm_madd_epi16(low, low));
            _mm_add_epi32(sums, _mm_madd_epi16(high, high))
        }
    }

    #[inline(always)]
    unsafe fn totals([a, b, c, d]: [Self; 4]) -> [u32; 4] {
        // SAFETY: as above; a register has the layout of four costs.
        unsafe {
            let ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
            let totals = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
            std::mem::transmute::<__m128i, [u32; 4]>(totals)
        }
    }
}

/// Any x86-64 CPU: `psadbw` and `pmaddwd`, one column of candidates after the other.
#[derive(Clone, Copy)]
pub struct Sse2;

impl Engine for Sse2 {
    const ROWS: usize = ROWS;
    const LANES: usize = 1;

    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { columns::compare::<__m128i, _, false>(task, Order::Tile, costs) }
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        // SAFETY: as above.
        unsafe { columns::compare::<__m128i, _, true>(task, Order::Tile, costs) }
    }

    #[inline(always)]
    fn sad_of_columns(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        // SAFETY: as above.
        unsafe { columns::compare::<__m128i, _, false>(task, Order::Transposed, costs) }
    }

    #[inline(always)]
    fn ssd_of_columns(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        // SAFETY: as above.
        unsafe { columns::compare::<__m128i, _, true>(task, Order::Transposed, costs) }
    }

    #[inline(always)]
    fn prefetch(self, samples: &[u8], at: usize) {
        sse2::prefetch(samples, at);
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
    fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; SUMMED]; SIDE]) -> [u16; SUMMED / TILE] {
        sse2::sum_parts(rows)
    }

    #[inline(always)]
    fn at_most(self, values: &[u16; 32], limit: u16) -> u32 {
        sse2::at_most(values, limit)
    }
}

/// A CPU with SSE4.1: `mpsadbw`, eight neighbouring candidates at once.
#[derive(Clone, Copy)]
pub struct Sse41(());

impl Sse41 {
    /// The proof that this CPU has SSE4.1, if it has.
    pub fn new() -> Option<Self> {
        is_x86_feature_detected!("sse4.1").then_some(Self(()))
    }
}

impl Engine for Sse41 {
    const ROWS: usize = ROWS;
    const LANES: usize = LANES;

    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        // SAFETY: a value of this type exists only where `Sse41::new` has found SSE4.1.
        unsafe { sad(task, costs) }
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        Sse2.ssd(task, costs);
    }

    #[inline(always)]
    fn sad_of_columns(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        Sse2.sad_of_columns(task, costs);
    }

    #[inline(always)]
    fn ssd_of_columns(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        Sse2.ssd_of_columns(task, costs);
    }

    #[inline(always)]
    fn prefetch(self, samples: &[u8], at: usize) {
        Sse2.prefetch(samples, at);
    }

    #[inline(always)]
    fn sad_of_one(self, pair: &Pair<'_>) -> u32 {
        Sse2.sad_of_one(pair)
    }

    #[inline(always)]
    fn ssd_of_one(self, pair: &Pair<'_>) -> u32 {
        Sse2.ssd_of_one(pair)
    }

    #[inline(always)]
    fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; SUMMED]; SIDE]) -> [u16; SUMMED / TILE] {
        Sse2.sum_parts(rows)
    }

    #[inline(always)]
    fn at_most(self, values: &[u16; 32], limit: u16) -> u32 {
        Sse2.at_most(values, limit)
    }
}

/// 16-bit costs in a register.
const LANES: usize = 8;

/// Rows of candidates that are summed at once: as many sums as leave registers for samples.
const BAND: usize = 9;

#[target_feature(enable = "sse4.1")]
fn sad(task: &Task<'_>, costs: &mut Costs<u16>) {
    const { assert!(BAND * 4 == ROWS) };
    by_bands!(task, costs, LANES, BAND, sad_of_band, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// `mpsadbw`: the SAD of four samples with eight neighbouring candidates. A row of candidates is one
/// register of sums, and each eight samples of the part, once loaded, serve all `V` rows.
///
/// `left` and `top` say which of the task's candidates is the first.
#[target_feature(enable = "sse4.1")]
#[inline]
fn sad_of_band<const V: usize>(task: &Task<'_>, (left, top): (usize, usize), costs: &mut [[u16; COLUMNS]]) {
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

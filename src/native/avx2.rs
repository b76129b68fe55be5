//! Tile costs with AVX2.

use std::arch::x86_64::*;

use super::portable::Portable;
use super::tile::{COLUMNS, Costs, Engine, PART, Task};

/// A CPU with AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof that this CPU has AVX2, if it has.
    pub(super) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

impl Engine for Avx2 {
    /// As many sums as leave registers for samples.
    const ROWS: usize = 8;

    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        // SAFETY: a value of this type exists only where `Avx2::new` has found AVX2.
        unsafe { sad(task, costs) }
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        Portable::new().ssd(task, costs);
    }
}

#[target_feature(enable = "avx2")]
fn sad(task: &Task<'_>, costs: &mut Costs<u16>) {
    if task.width() == PART && task.columns() <= FEW_COLUMNS {
        return sad_of_columns(task, costs);
    }
    match task.rows() {
        1 => sad_of_rows::<1>(task, costs),
        2 => sad_of_rows::<2>(task, costs),
        3 => sad_of_rows::<3>(task, costs),
        4 => sad_of_rows::<4>(task, costs),
        5 => sad_of_rows::<5>(task, costs),
        6 => sad_of_rows::<6>(task, costs),
        7 => sad_of_rows::<7>(task, costs),
        _ => sad_of_rows::<8>(task, costs),
    }
}

/// So few columns of candidates that comparing them one by one beats sixteen at once, most of them
/// for nothing. An odd window, as ±16 is, ends with one such column.
const FEW_COLUMNS: usize = 4;

/// `vmpsadbw`: the SAD of four samples with eight neighbouring candidates in each half of the
/// register; the upper half takes the candidates from the eighth on. A row of candidates is one
/// register of sums, and each sample group of the part, once loaded, serves all `V` rows.
#[target_feature(enable = "avx2")]
#[inline]
fn sad_of_rows<const V: usize>(task: &Task<'_>, costs: &mut Costs<u16>) {
    let pitch = task.pitch();
    let mut sums = [_mm256_setzero_si256(); V];
    for k in 0..task.height() {
        let current = &task.current()[k * pitch..][..task.width()];
        let reference = task.reference()[k * pitch..].as_ptr();
        let mut groups = current.chunks_exact(8);
        let mut x = 0;
        for group in groups.by_ref() {
            let group = _mm256_set1_epi64x(i64::from_le_bytes(group.try_into().expect("8 samples")));
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: v < rows and k < height, so that the row begins within the
                // (height + rows - 2) * pitch + READ bytes of `reference`, and has READ = 32 bytes
                // left, of which x + 24 are read: x is 0 or 8, as a part is at most 16 wide.
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
        // SAFETY: a row of costs is as large as a register, and every bit pattern is a cost.
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

/// `vpsadbw`: one candidate at a time, two rows of sixteen samples an instruction.
#[target_feature(enable = "avx2")]
#[inline]
fn sad_of_columns(task: &Task<'_>, costs: &mut Costs<u16>) {
    debug_assert!(task.width() == PART && COLUMNS >= FEW_COLUMNS);
    let pitch = task.pitch();
    let (current, reference) = (task.current().as_ptr(), task.reference().as_ptr());
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        for (u, cost) in costs[..task.columns()].iter_mut().enumerate() {
            let mut sum = _mm256_setzero_si256();
            for k in (0..task.height()).step_by(2) {
                // SAFETY: the height is even, so that rows k and k + 1 are rows of the part, 16
                // samples wide; the candidate's rows are v further down and u <= 3 to the right,
                // within `reference`, which has 32 samples even in its last row.
                let (c, r) = unsafe {
                    let r = reference.add((k + v) * pitch + u);
                    (two_rows(current.add(k * pitch), pitch), two_rows(r, pitch))
                };
                sum = _mm256_add_epi16(sum, _mm256_sad_epu8(c, r));
            }
            let sum = _mm_add_epi16(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
            *cost = (_mm_extract_epi16::<0>(sum) + _mm_extract_epi16::<4>(sum)) as u16;
        }
    }
}

/// Sixteen samples of a row in the lower half, and of the row below in the upper.
///
/// # Safety
/// 16 bytes must be readable at `samples` and at `samples + pitch`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn two_rows(samples: *const u8, pitch: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu2_m128i(samples.add(pitch).cast(), samples.cast()) }
}

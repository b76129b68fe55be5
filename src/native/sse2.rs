//! What every x86-64 CPU has: the cost of one candidate in 128-bit instructions. The wider levels
//! take it too, as they are no faster where a single candidate's rows must be brought together.

use std::arch::x86_64::*;

use super::tile::Task;

/// The SAD of the first candidate of `task`, by `psadbw`.
#[inline(always)]
pub(super) fn sad_of_one(task: &Task<'_>) -> u32 {
    match task.width() {
        4 => sad::<4>(task),
        8 => sad::<8>(task),
        12 => sad::<12>(task),
        _ => sad::<16>(task),
    }
}

#[inline(always)]
fn sad<const W: usize>(task: &Task<'_>) -> u32 {
    // SAFETY: every x86-64 CPU has SSE2.
    unsafe {
        let mut sums = [_mm_setzero_si128(); 2];
        for (k, (c, r)) in rows::<W>(task).enumerate() {
            sums[k % 2] = _mm_add_epi32(sums[k % 2], _mm_sad_epu8(load::<W>(c), load::<W>(r)));
        }
        let sum = _mm_add_epi32(sums[0], sums[1]);
        _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum))) as u32
    }
}

/// The SSD of the first candidate of `task`, by `pmaddwd`.
#[inline(always)]
pub(super) fn ssd_of_one(task: &Task<'_>) -> u32 {
    match task.width() {
        4 => ssd::<4>(task),
        8 => ssd::<8>(task),
        12 => ssd::<12>(task),
        _ => ssd::<16>(task),
    }
}

#[inline(always)]
fn ssd<const W: usize>(task: &Task<'_>) -> u32 {
    // SAFETY: every x86-64 CPU has SSE2.
    unsafe {
        let zero = _mm_setzero_si128();
        let mut sums = [zero; 2];
        for (c, r) in rows::<W>(task) {
            let (c, r) = (load::<W>(c), load::<W>(r));
            let low = _mm_sub_epi16(_mm_unpacklo_epi8(c, zero), _mm_unpacklo_epi8(r, zero));
            sums[0] = _mm_add_epi32(sums[0], _mm_madd_epi16(low, low));
            if W > 8 {
                let high = _mm_sub_epi16(_mm_unpackhi_epi8(c, zero), _mm_unpackhi_epi8(r, zero));
                sums[1] = _mm_add_epi32(sums[1], _mm_madd_epi16(high, high));
            }
        }
        let sum = _mm_add_epi32(sums[0], sums[1]);
        let sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
        _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32::<1>(sum))) as u32
    }
}

/// A bit for each of `values` that is at most `limit`, the lowest for the first.
#[inline(always)]
pub(super) fn at_most(values: &[u16; 32], limit: u16) -> u32 {
    // SAFETY: each load is of eight of the values. Every x86-64 CPU has SSE2.
    unsafe {
        let limit = _mm_set1_epi16(limit as i16);
        let lanes = |start: usize| {
            let values = _mm_loadu_si128(values[start..][..8].as_ptr().cast());
            _mm_cmpeq_epi16(_mm_subs_epu16(values, limit), _mm_setzero_si128())
        };
        let bits = |start| _mm_movemask_epi8(_mm_packs_epi16(lanes(start), lanes(start + 8))) as u32;
        bits(0) | bits(16) << 16
    }
}

/// Sixteen samples in a register.
#[derive(Clone, Copy)]
pub(super) struct Row(__m128i);

impl Row {
    #[inline(always)]
    pub(super) fn from(samples: [u8; 16]) -> Self {
        // SAFETY: any sixteen bytes are a register's content.
        Self(unsafe { std::mem::transmute::<[u8; 16], __m128i>(samples) })
    }

    #[inline(always)]
    pub(super) fn into(self) -> [u8; 16] {
        // SAFETY: any register's content is sixteen bytes.
        unsafe { std::mem::transmute(self.0) }
    }

    /// A sample of the one and a sample of the other in turn, in two rows.
    #[inline(always)]
    pub(super) fn interleaved(self, other: Self) -> [Self; 2] {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { [Self(_mm_unpacklo_epi8(self.0, other.0)), Self(_mm_unpackhi_epi8(self.0, other.0))] }
    }
}

/// The rows of the part, each with that of the candidate.
#[inline(always)]
fn rows<'a, const W: usize>(task: &Task<'a>) -> impl Iterator<Item = (&'a [u8; W], &'a [u8; W])> {
    let (current, reference) = (task.current(), task.reference());
    let row = |samples: &'a [u8]| samples.first_chunk().expect("a task's rows are W wide");
    let pairs = current.chunks(task.pitch()).zip(reference.chunks(task.pitch()));
    pairs.map(move |(c, r)| (row(c), row(r)))
}

/// `W` samples, and zeros in the place of others.
#[inline(always)]
fn load<const W: usize>(samples: &[u8; W]) -> __m128i {
    let start = samples.as_ptr();
    // SAFETY: W bytes are readable: 16, 8 and 4, or 8, or 4. Every x86-64 CPU has SSE2.
    unsafe {
        match W {
            16 => _mm_loadu_si128(start.cast()),
            12 => _mm_unpacklo_epi64(
                _mm_loadl_epi64(start.cast()),
                _mm_cvtsi32_si128(start.add(8).cast::<i32>().read_unaligned()),
            ),
            8 => _mm_loadl_epi64(start.cast()),
            _ => _mm_cvtsi32_si128(start.cast::<i32>().read_unaligned()),
        }
    }
}

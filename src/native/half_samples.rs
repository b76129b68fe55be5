//! The half samples of H.264 luma, a span of a row at a time.
//!
//! Plain loops over arrays of a fixed length in 16-bit numbers, which the compiler turns into the registers of each
//! instruction set.

/// The planes of a frame: whole samples, half a sample to the right, half below, and both.
pub const PLANES: usize = 4;

/// The six taps of H.264, times 32.
#[inline(always)]
fn six_taps(a: i16, b: i16, c: i16, d: i16, e: i16, f: i16) -> i16 {
    a + f - 5 * (b + e) + 20 * (c + d)
}

/// The six taps of sums that [`six_taps`] has returned, divided by 16 and rounded down.
///
/// Only a sum that is clipped afterwards saturates: one beyond 16 bits lies beyond 0 to 255 after the whole
/// division too.
#[inline(always)]
fn six_taps_of_sums(a: i16, b: i16, c: i16, d: i16, e: i16, f: i16) -> i16 {
    let (outer, middle, inner) = (a + f, b + e, c + d);
    let quarter = ((outer - middle) >> 2).saturating_add(inner - middle) >> 2;
    quarter.saturating_add(inner)
}

/// A sample as a number to compute with.
#[inline(always)]
pub fn wide(sample: u8) -> i16 {
    sample.into()
}

/// `sum` as a sample.
#[inline(always)]
fn clip(sum: i16) -> u8 {
    sum.clamp(0, 255) as u8
}

/// Writes a span of a row of each plane. `rows` are the six rows around the half samples below it, of which the third is
/// the row itself; they begin `BEFORE` samples before the span, at least two, and end at least three after it.
#[inline(always)]
pub fn interpolate_span<const SPAN: usize, const READ: usize, const BEFORE: usize>(
    [a, b, c, d, e, f]: [&[u8; READ]; 6],
    [whole, right, below, both]: [&mut [u8; SPAN]; PLANES],
) {
    const { assert!(BEFORE >= 2 && READ >= BEFORE + SPAN + 3) };
    let mut sums = [0; READ];
    for i in 0..READ {
        sums[i] = six_taps(wide(a[i]), wide(b[i]), wide(c[i]), wide(d[i]), wide(e[i]), wide(f[i]));
    }
    whole.copy_from_slice(&c[BEFORE..BEFORE + SPAN]);
    for i in 0..SPAN {
        let tap = |k: usize| wide(c[BEFORE - 2 + i + k]);
        right[i] = clip((six_taps(tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)) + 16) >> 5);
    }
    for i in 0..SPAN {
        below[i] = clip((sums[BEFORE + i] + 16) >> 5);
    }
    for i in 0..SPAN {
        let tap = |k: usize| sums[BEFORE - 2 + i + k];
        let sum = six_taps_of_sums(tap(0), tap(1), tap(2), tap(3), tap(4), tap(5));
        both[i] = clip(sum.saturating_add(32) >> 6);
    }
}

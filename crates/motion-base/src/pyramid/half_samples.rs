//! The filters of H.264 for half samples of eight bits, in 16-bit numbers.

/// The six taps of H.264, times 32.
#[inline(always)]
pub fn six_taps(a: i16, b: i16, c: i16, d: i16, e: i16, f: i16) -> i16 {
    a + f - 5 * (b + e) + 20 * (c + d)
}

/// The six taps of sums that [`six_taps`] has returned, divided by 16 and rounded down.
///
/// Only a sum that is clipped afterwards saturates: one beyond 16 bits lies beyond 0 to 255 after the whole
/// division too.
#[inline(always)]
pub fn six_taps_of_sums(a: i16, b: i16, c: i16, d: i16, e: i16, f: i16) -> i16 {
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
pub fn clip(sum: i16) -> u8 {
    sum.clamp(0, 255) as u8
}

//! The chroma interpolation of H.264 in registers.

use motion_base::sampling::Fraction;
use motion_base::simd::{InstructionSet, Samples, Words};

/// `16 / W` rows of `W` samples each, `fraction` after those from `samples` on. Rows are `pitch` apart, pixels have `pixel`
/// samples.
///
/// # Safety
/// These rows must be readable; with a fraction to the right a pixel more, with one down a row more.
#[inline(always)]
pub(super) unsafe fn bilinear_rows<E: InstructionSet, const W: usize>(
    engine: E,
    (samples, pitch): (*const u8, usize),
    pixel: usize,
    fraction: Fraction,
) -> Words<E> {
    if fraction.is_none() {
        // SAFETY: the caller's promise.
        return unsafe { Samples::load_rows::<W>(engine, samples, pitch) }.widen();
    }
    let mut sum = Words::all(engine, 0);
    for (at, weight) in [0, pixel, pitch, pitch + pixel].into_iter().zip(fraction.weights()) {
        // Two of them are 0 where the motion has whole samples on one axis.
        if weight > 0 {
            // SAFETY: the caller's promise: a pixel or row further on has a weight only with such a fraction.
            let rows = unsafe { Samples::load_rows::<W>(engine, samples.add(at), pitch) };
            sum = sum.plus(rows.widen().times(Words::all(engine, weight)));
        }
    }
    sum.round::<6>()
}

//! Prediction of planes with samples of more than eight bits, a strip of pixels with one vector at a time. Samples are read
//! from their format once for a strip, and computed with in 32 bits.

use super::blend::{Fraction, bilinear};
use super::field::Run;
use super::six_tap::{AROUND, BEFORE, PIXEL, ROWS, StripLine, WIDTH, write_row};
use super::{Field, Sampling};
use crate::half_samples::half_samples_around;
use crate::{FrameView, SampleFormat};

/// Where a strip is predicted from, and how.
struct Strip<'a> {
    reference: &'a FrameView<'a>,
    /// The place of its first pixel in the reference plane.
    left: isize,
    above: isize,
    /// Eighths of a sample further on.
    fraction: Fraction,
    /// Whether points between samples are interpolated as luma.
    is_full: bool,
}

/// Predicts the rows of `band`, starting with row `first` of the plane, in pixels of `P` samples, which are written in
/// `format`.
#[inline(always)]
pub(super) fn predict_pixels<const P: usize>(
    field: &Field<'_>,
    sampling: Sampling,
    (reference, format): (&FrameView<'_>, SampleFormat),
    first: usize,
    band: &mut [u8],
    stride: usize,
) {
    let rows = first..first + band.len().div_ceil(stride);
    let is_full = sampling.is_full();
    for Run { rows, columns, vector: (dx, dy) } in field.runs(sampling, rows) {
        let (above, fraction) = (rows.start as isize + (dy >> 3), Fraction::of((dx as i32, dy as i32)));
        for start in columns.clone().step_by(WIDTH) {
            let pixels = WIDTH.min(columns.end - start);
            let strip = Strip { reference, left: start as isize + (dx >> 3), above, fraction, is_full };
            let out = &mut band[(rows.start - first) * stride + start * P * 2..];
            predict_strip::<P>(&strip, format, (out, stride), (pixels * P, rows.len()));
        }
    }
}

/// Predicts `rows` rows of `length` samples.
#[inline(always)]
fn predict_strip<const P: usize>(
    strip: &Strip<'_>,
    format: SampleFormat,
    (out, stride): (&mut [u8], usize),
    (length, rows): (usize, usize),
) {
    let Strip { fraction, is_full, .. } = *strip;
    let points = half_samples_around(usize::from(fraction.x) / 2, usize::from(fraction.y) / 2);
    let is_filtered = is_full && !fraction.is_none();
    // The lines that the points of a row read: from these many before to these many after.
    let (before, after) = match fraction.is_none() {
        true => (0, 0),
        false if is_full => (BEFORE, AROUND - BEFORE),
        false => (0, 1),
    };
    let mut lines = [[0; (WIDTH + AROUND) * PIXEL]; ROWS];
    let mut read = -(before as isize);
    for (down, out) in out.chunks_mut(stride).take(rows).enumerate() {
        while read <= (down + after) as isize {
            let line = &mut lines[read.rem_euclid(ROWS as isize) as usize];
            let length = length + (before + after) * P;
            let (x, y) = (strip.left - before as isize, strip.above + read);
            strip.reference.read_pixels(P, (x as i32, y as i32), &mut line[..length]);
            read += 1;
        }
        let mut samples = [0; WIDTH * PIXEL];
        let samples = &mut samples[..length];
        if is_filtered {
            write_row::<u16, P>(&lines, down, points, format.peak(), samples);
        } else {
            blend_row::<P>([&lines[down % ROWS], &lines[(down + after) % ROWS]], fraction, samples);
        }
        for (bytes, sample) in out.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
            *bytes = format.bytes_of(*sample);
        }
    }
}

/// The bilinear prediction, from a line and the one below it.
#[inline(always)]
fn blend_row<const P: usize>([upper, lower]: [&StripLine<u16>; 2], fraction: Fraction, to: &mut [u16]) {
    let (weights, length) = (fraction.weights(), to.len());
    let (a, b) = (&upper[..length], &upper[P..][..length]);
    let (c, d) = (&lower[..length], &lower[P..][..length]);
    for i in 0..length {
        to[i] = bilinear::<u32>([a[i].into(), b[i].into(), c[i].into(), d[i].into()], weights) as u16;
    }
}

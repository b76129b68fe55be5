//! Prediction of planes with samples of more than eight bits, a strip of pixels with one vector at a time. Samples are read
//! from their format once for a strip, and computed with in 32 bits.

use super::blend::Fraction;
use super::field::Run;
use super::{Field, Sampling};
use crate::{FrameView, SampleFormat, half_samples_around, six_taps};

/// Pixels of a strip.
const WIDTH: usize = 32;

/// The most samples of a pixel.
const PIXEL: usize = 2;

/// A filter reads from two samples before a point to three after; points half a sample further on, one more.
const BEFORE: usize = 2;
const AROUND: usize = 6;

/// Rows that are kept: a filter reads seven, of which each serves the next rows too.
const ROWS: usize = 8;

/// Samples of a row of the reference plane, as many as the filters of a strip read.
type StripLine = [u16; (WIDTH + AROUND) * PIXEL];

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
        let (above, fraction) =
            (rows.start as isize + (dy >> 3), Fraction { x: (dx & 7) as u16, y: (dy & 7) as u16 });
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
            let peak = i32::from(format.peak());
            point_row::<P>(&lines, down, points[0], peak, samples);
            if points[1] != points[0] {
                let mut others = [0; WIDTH * PIXEL];
                point_row::<P>(&lines, down, points[1], peak, &mut others[..length]);
                for (sample, other) in samples.iter_mut().zip(others) {
                    *sample = ((u32::from(*sample) + u32::from(other) + 1) >> 1) as u16;
                }
            }
        } else {
            blend_row::<P>([&lines[down % ROWS], &lines[(down + after) % ROWS]], fraction, samples);
        }
        for (bytes, sample) in out.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
            *bytes = format.bytes_of(*sample);
        }
    }
}

/// The place of a point after a whole sample, in half samples: 0 to 2 on each axis.
type HalfPoint = (usize, usize);

/// Writes a row of points of the luma interpolation.
#[inline(always)]
fn point_row<const P: usize>(
    lines: &[StripLine; ROWS],
    row: usize,
    (x, y): HalfPoint,
    peak: i32,
    to: &mut [u16],
) {
    // Lines come round again, so that as many rows up is ROWS less down.
    let line = |down: usize| &lines[(row + y / 2 + down + ROWS - BEFORE) % ROWS][x / 2 * P..];
    let rounded = |sum: i32, shift: u32| ((sum + (1 << (shift - 1))) >> shift).clamp(0, peak) as u16;
    let middle = line(BEFORE);
    let six = [0, 1, 2, 3, 4, 5].map(line);
    match (x % 2 == 1, y % 2 == 1) {
        (false, false) => to.copy_from_slice(&middle[BEFORE * P..][..to.len()]),
        (true, false) => {
            for (i, to) in to.iter_mut().enumerate() {
                *to = rounded(six_taps(|k| i32::from(middle[i + k * P])), 5);
            }
        }
        (false, true) => {
            for (i, to) in to.iter_mut().enumerate() {
                *to = rounded(six_taps(|k| i32::from(six[k][i + BEFORE * P])), 5);
            }
        }
        (true, true) => {
            let mut down = [0; (WIDTH + AROUND) * PIXEL];
            for (i, sum) in down.iter_mut().enumerate().take(to.len() + (AROUND - 1) * P) {
                *sum = six_taps(|k| i32::from(six[k][i]));
            }
            for (i, to) in to.iter_mut().enumerate() {
                *to = rounded(six_taps(|k| down[i + k * P]), 10);
            }
        }
    }
}

/// The bilinear prediction, from a line and the one below it.
#[inline(always)]
fn blend_row<const P: usize>([upper, lower]: [&StripLine; 2], fraction: Fraction, to: &mut [u16]) {
    let (x, y) = (u32::from(fraction.x), u32::from(fraction.y));
    let weights = [(8 - x) * (8 - y), x * (8 - y), (8 - x) * y, x * y];
    for (i, to) in to.iter_mut().enumerate() {
        let around = [upper[i], upper[i + P], lower[i], lower[i + P]];
        let mut sum = 32;
        for k in 0..4 {
            sum += weights[k] * u32::from(around[k]);
        }
        *to = (sum >> 6) as u16;
    }
}

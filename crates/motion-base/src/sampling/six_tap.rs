//! Prediction at quarter samples by the luma interpolation of H.264, a strip of pixels with one vector at a time.

use super::blend::copy_run;
use crate::{FrameView, half_samples_around};

/// Pixels of a strip.
const WIDTH: usize = 32;

/// The most bytes of a pixel.
const PIXEL: usize = 2;

/// A filter reads from two samples before a point to three after; points half a sample further on, one more.
const BEFORE: usize = 2;
const AROUND: usize = 6;

/// Rows that are kept: a filter reads seven, of which each serves the next rows too.
const ROWS: usize = 8;

/// Rows of the reference plane, with the samples that a strip's filters read.
type Lines = [[u8; (WIDTH + AROUND) * PIXEL]; ROWS];

/// Predicts `rows` rows of pixels of `P` bytes. `(x, y)` is the place of the first in `reference`, in quarter samples.
#[inline(always)]
pub(super) fn interpolate_rows<const P: usize>(
    reference: &FrameView<'_>,
    (x, y): (isize, isize),
    (out, stride): (&mut [u8], usize),
    (length, rows): (usize, usize),
) {
    let [first, second] = half_samples_around((x & 3) as usize, (y & 3) as usize);
    let (column, row) = (x >> 2, y >> 2);
    let last = reference.height() as isize - 1;
    let mut lines: Lines = [[0; (WIDTH + AROUND) * PIXEL]; ROWS];
    for start in (0..length).step_by(WIDTH * P) {
        let bytes = (length - start).min(WIDTH * P);
        let left = column + (start / P) as isize - BEFORE as isize;
        let mut read = row - BEFORE as isize;
        for (down, out) in out.chunks_mut(stride).take(rows).enumerate() {
            let out = &mut out[start..start + bytes];
            let row = row + down as isize;
            while read <= row + (AROUND - BEFORE) as isize {
                let line = &mut lines[read as usize % ROWS][..bytes + AROUND * P];
                copy_run::<P>(reference.row(read.clamp(0, last) as usize), left, line);
                read += 1;
            }
            point_row::<P>(&lines, row, first, out);
            if second != first {
                let mut other = [0; WIDTH * PIXEL];
                point_row::<P>(&lines, row, second, &mut other[..bytes]);
                for (out, other) in out.iter_mut().zip(other) {
                    *out = ((u16::from(*out) + u16::from(other) + 1) >> 1) as u8;
                }
            }
        }
    }
}

/// The place of a point after a whole sample, in half samples: 0 to 2 on each axis.
type Point = (usize, usize);

/// Writes a row of points.
#[inline(always)]
fn point_row<const P: usize>(lines: &Lines, row: isize, (x, y): Point, out: &mut [u8]) {
    let line = |offset: isize| &lines[(row + (y / 2) as isize + offset) as usize % ROWS][x / 2 * P..];
    let six = || [-2, -1, 0, 1, 2, 3].map(line);
    match (x % 2 == 1, y % 2 == 1) {
        (false, false) => out.copy_from_slice(&line(0)[BEFORE * P..][..out.len()]),
        (true, false) => {
            let line = line(0);
            for (i, out) in out.iter_mut().enumerate() {
                *out = rounded(i32::from(six_taps(|k| i16::from(line[i + k * P]))), 5);
            }
        }
        (false, true) => {
            let six = six();
            for (i, out) in out.iter_mut().enumerate() {
                *out = rounded(i32::from(six_taps(|k| i16::from(six[k][i + BEFORE * P]))), 5);
            }
        }
        (true, true) => {
            let six = six();
            let mut down = [0; (WIDTH + AROUND) * PIXEL];
            for (i, sum) in down.iter_mut().enumerate().take(out.len() + (AROUND - 1) * P) {
                *sum = six_taps(|k| i16::from(six[k][i]));
            }
            for (i, out) in out.iter_mut().enumerate() {
                let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|k| i32::from(down[i + k * P]));
                *out = rounded(a + f - 5 * (b + e) + 20 * (c + d), 10);
            }
        }
    }
}

/// The filter of H.264 for a point halfway between the third and the fourth sample.
#[inline(always)]
fn six_taps(sample: impl Fn(usize) -> i16) -> i16 {
    sample(0) + sample(5) - 5 * (sample(1) + sample(4)) + 20 * (sample(2) + sample(3))
}

/// `sum` divided by a power of two, rounded, and limited to a sample.
#[inline(always)]
fn rounded(sum: i32, shift: u32) -> u8 {
    ((sum + (1 << (shift - 1))) >> shift).clamp(0, 255) as u8
}

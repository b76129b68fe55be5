//! Prediction at quarter samples by the luma interpolation of H.264, a strip of pixels with one vector at a time.

use bytemuck::Zeroable;

use super::blend::copy_run;
use crate::FrameView;
use crate::half_samples::{InterpolatedSample, filter, half_samples_around};

/// Pixels of a strip.
pub(super) const WIDTH: usize = 32;

/// The most samples of a pixel.
pub(super) const PIXEL: usize = 2;

/// A filter reads from two pixels before a point to three after; points half a sample further on, one more.
pub(super) const BEFORE: usize = 2;
pub(super) const AROUND: usize = 6;

/// Rows that are kept: a filter reads seven, of which each serves the next rows too.
pub(super) const ROWS: usize = 8;

/// Samples of a row of the reference plane, as many as the filters of a strip read.
pub(super) type StripLine<S> = [S; (WIDTH + AROUND) * PIXEL];

/// The last rows that were read. They come round again: row `n` is line `n % ROWS`, and `n - BEFORE` is line
/// `(n + ROWS - BEFORE) % ROWS`.
pub(super) type StripLines<S> = [StripLine<S>; ROWS];

/// Predicts `rows` rows of pixels of `P` bytes. `(x, y)` is the place of the first in `reference`, in quarter samples.
#[inline(always)]
pub(super) fn interpolate_rows<const P: usize>(
    reference: &FrameView<'_>,
    (x, y): (isize, isize),
    (out, stride): (&mut [u8], usize),
    (length, rows): (usize, usize),
) {
    let points = half_samples_around((x & 3) as usize, (y & 3) as usize);
    let (column, row) = (x >> 2, y >> 2);
    let (last, peak) = (reference.height() as isize - 1, reference.format().peak());
    let mut lines = [[0; (WIDTH + AROUND) * PIXEL]; ROWS];
    for start in (0..length).step_by(WIDTH * P) {
        let bytes = (length - start).min(WIDTH * P);
        let left = column + (start / P) as isize - BEFORE as isize;
        let mut read = -(BEFORE as isize);
        for (down, out) in out.chunks_mut(stride).take(rows).enumerate() {
            while read <= (down + AROUND - BEFORE) as isize {
                let line = &mut lines[read.rem_euclid(ROWS as isize) as usize][..bytes + AROUND * P];
                copy_run::<P>(reference.row((row + read).clamp(0, last) as usize), left, line);
                read += 1;
            }
            write_row::<u8, P>(&lines, down, points, peak, &mut out[start..start + bytes]);
        }
    }
}

/// The place of a point after a whole sample, in half samples: 0 to 2 on each axis.
type HalfPoint = (usize, usize);

/// Writes the averages of the samples at two points after those of `row`, from 0 to `peak`.
#[inline(always)]
pub(super) fn write_row<S: InterpolatedSample, const P: usize>(
    lines: &StripLines<S>,
    row: usize,
    [first, second]: [HalfPoint; 2],
    peak: u16,
    to: &mut [S],
) {
    point_row::<S, P>(lines, row, first, peak, to);
    if second == first {
        return;
    }
    let mut others = [S::zeroed(); WIDTH * PIXEL];
    let others = &mut others[..to.len()];
    point_row::<S, P>(lines, row, second, peak, others);
    for (sample, other) in to.iter_mut().zip(others) {
        *sample = sample.average(*other);
    }
}

/// Writes the samples at a point after those of `row`.
#[inline(always)]
fn point_row<S: InterpolatedSample, const P: usize>(
    lines: &StripLines<S>,
    row: usize,
    (x, y): HalfPoint,
    peak: u16,
    to: &mut [S],
) {
    let line = |tap: usize| &lines[(row + y / 2 + tap + ROWS - BEFORE) % ROWS][x / 2 * P..];
    match (x % 2 == 1, y % 2 == 1) {
        (false, false) => to.copy_from_slice(&line(BEFORE)[BEFORE * P..][..to.len()]),
        (true, false) => {
            let line = line(BEFORE);
            let tap = |tap: usize| &line[tap * P..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(to, taps, |taps| S::half_sample(S::six_taps(taps), peak));
        }
        (false, true) => {
            let tap = |tap: usize| &line(tap)[BEFORE * P..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(to, taps, |taps| S::half_sample(S::six_taps(taps), peak));
        }
        (true, true) => {
            let mut sums = [S::Sum::zeroed(); (WIDTH + AROUND) * PIXEL];
            let sums = &mut sums[..to.len() + (AROUND - 1) * P];
            filter(sums, [line(0), line(1), line(2), line(3), line(4), line(5)], S::six_taps);
            let tap = |tap: usize| &sums[tap * P..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(to, taps, |sums| S::half_sample_of_sums(sums, peak));
        }
    }
}

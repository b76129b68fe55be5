//! The filters that depend on a frame alone, row by row: halving, smoothing, and the half samples of H.264.
//!
//! All are plain loops over arrays of a fixed length in 16-bit numbers, which the compiler turns into the
//! registers of each instruction set.

use crate::half_samples::{InterpolatedSample, filter};
use crate::memory::{LINE, chunk, chunk_mut};
use crate::pyramid::planes::{LevelLayout, SIDE};
use crate::pyramid::strips::ROW;

/// Samples that are written at once.
const SPAN: usize = LINE;

/// Samples before a span that its filters may read.
const BEFORE: usize = 8;

/// Samples of a row that they may read in all.
const SPAN_ROW: usize = SPAN + 2 * BEFORE;

/// Samples that the filter of half samples reads before the one to whose right, or below which, the half sample is.
const BEFORE_TAPS: usize = 2;

/// Half the samples of a span.
const HALF: usize = SPAN / 2;

/// The samples of a row that the filters of a span read.
pub type SpanRow = [u8; SPAN_ROW];

/// The samples of row `y` around the span that begins `column` samples after the margin. Outside the frame `y` counts as
/// a position in the endlessly repeated frame.
#[inline(always)]
pub fn span_row<'a>(layout: &LevelLayout, frame: &'a [u8], (column, y): (usize, isize)) -> &'a SpanRow {
    chunk(frame, layout.row(y) - SIDE - BEFORE + column)
}

/// Writes a row of a strip of half samples from the six rows around the half samples below it.
#[inline(always)]
pub fn interpolate_row(rows: [&SpanRow; 6], strip: &mut [u8; ROW]) {
    const PEAK: u16 = 255;
    let row = rows[BEFORE_TAPS];
    let mut sums = [0; SPAN_ROW];
    let [a, b, c, d, e, f] = rows;
    filter(&mut sums, [a, b, c, d, e, f], u8::six_taps);
    let (planes, _) = strip.as_chunks_mut::<SPAN>();
    planes[0].copy_from_slice(&row[BEFORE..BEFORE + SPAN]);
    let tap = |k: usize| &row[BEFORE - BEFORE_TAPS + k..];
    filter(&mut planes[1], [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], |taps| {
        u8::half_sample(u8::six_taps(taps), PEAK)
    });
    for i in 0..SPAN {
        planes[2][i] = u8::half_sample(sums[BEFORE + i], PEAK);
    }
    let tap = |k: usize| &sums[BEFORE - BEFORE_TAPS + k..];
    filter(&mut planes[3], [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], |sums| {
        u8::half_sample_of_sums(sums, PEAK)
    });
}

/// Writes row `y` of `frame`, smoothed, without margins.
#[inline(always)]
pub fn smooth_row(layout: &LevelLayout, frame: &[u8], y: isize, smoothed: &mut [u8]) {
    let starts = [y - 1, y, y + 1].map(|y| layout.row(y) - BEFORE);
    for at in (0..layout.width).step_by(SPAN) {
        let row = |k: usize| chunk::<u8, SPAN_ROW>(frame, starts[k] + at);
        let (above, row, below) = (row(0), row(1), row(2));
        let smoothed = chunk_mut::<u8, SPAN>(smoothed, SIDE + at);
        for (i, smoothed) in smoothed.iter_mut().enumerate() {
            let at = BEFORE + i;
            let around =
                i16::from(above[at]) + i16::from(below[at]) + i16::from(row[at - 1]) + i16::from(row[at + 1]);
            *smoothed = ((around + 4 * i16::from(row[at]) + 4) >> 3) as u8;
        }
    }
}

/// Writes row `y` of a frame of half the width and height of `frame`, `width` samples without margins.
#[inline(always)]
pub fn halve_row(layout: &LevelLayout, frame: &[u8], y: isize, (halved, width): (&mut [u8], usize)) {
    let starts: [usize; 4] = std::array::from_fn(|k| layout.row(2 * y + k as isize - 1) - BEFORE);
    for at in (0..width).step_by(HALF) {
        let row = |k: usize| chunk::<u8, SPAN_ROW>(frame, starts[k] + 2 * at);
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let mut down = [0; SPAN_ROW];
        for i in 0..SPAN_ROW {
            down[i] = one_three_three_one(i16::from(a[i]), i16::from(b[i]), i16::from(c[i]), i16::from(d[i]));
        }
        let halved = chunk_mut::<u8, HALF>(halved, SIDE + at);
        for i in 0..HALF {
            let tap = |k: usize| down[BEFORE - 1 + 2 * i + k];
            halved[i] = ((one_three_three_one(tap(0), tap(1), tap(2), tap(3)) + 32) >> 6) as u8;
        }
    }
}

/// The four taps of halving, times 8.
#[inline(always)]
fn one_three_three_one(a: i16, b: i16, c: i16, d: i16) -> i16 {
    a + d + 3 * (b + c)
}

/// Repeats the first and last of `width` samples of a row in its margins.
#[inline(always)]
pub fn repeat_ends(row: &mut [u8], width: usize) {
    let (first, last) = (row[SIDE], row[SIDE + width - 1]);
    row[..SIDE].fill(first);
    row[SIDE + width..].fill(last);
}

//! The filters that depend on a frame alone, row by row: halving, smoothing, and the half samples of H.264.
//!
//! All are plain loops over arrays of a fixed length in 16-bit numbers, which the compiler turns into the registers of
//! each instruction set.

use crate::native::hierarchical::memory::{LINE, chunk, chunk_mut};
use crate::native::hierarchical::planes::{LevelLayout, SIDE};

/// Samples that are written at once.
const SPAN: usize = LINE;

/// Samples before a span that its filters may read.
const BEFORE: usize = 8;

/// Samples that they read in all.
const READ: usize = SPAN + 2 * BEFORE;

/// Half the samples of a span.
const HALF: usize = SPAN / 2;

/// The samples of the six rows around the half samples below row `y`.
#[inline(always)]
fn six_rows(layout: &LevelLayout, y: isize) -> [usize; 6] {
    std::array::from_fn(|k| layout.row(y + k as isize - 2) - SIDE - BEFORE)
}

/// The six taps of H.264, times 32.
#[inline(always)]
fn six_taps(samples: [i16; 6]) -> i16 {
    let [a, b, c, d, e, f] = samples;
    a + f - 5 * (b + e) + 20 * (c + d)
}

/// The six taps of sums that [`six_taps`] has returned, divided by 16 and rounded down.
///
/// Only a sum that is clipped afterwards saturates: one beyond 16 bits lies beyond 0 to 255 after the whole division too.
#[inline(always)]
fn six_taps_of_sums(sums: [i16; 6]) -> i16 {
    let [a, b, c, d, e, f] = sums;
    let (outer, middle, inner) = (a + f, b + e, c + d);
    let quarter = ((outer - middle) >> 2).saturating_add(inner - middle) >> 2;
    quarter.saturating_add(inner)
}

/// `sum` as a sample.
#[inline(always)]
fn clip(sum: i16) -> u8 {
    sum.clamp(0, 255) as u8
}

/// Writes row `y` of the three half-sample planes of `frame`, from margin to margin.
///
/// Outside the frame `y` counts as a position in the endlessly repeated frame.
#[inline(always)]
pub fn interpolate_row(layout: &LevelLayout, frame: &[u8], y: isize, [right, below, both]: [&mut [u8]; 3]) {
    let starts = six_rows(layout, y);
    for at in (0..layout.pitch).step_by(SPAN) {
        let rows = starts.map(|start| chunk::<u8, READ>(frame, start + at));
        let mut sums = [0; READ];
        for i in 0..READ {
            sums[i] = six_taps(rows.map(|row| i16::from(row[i])));
        }
        let (right, below) = (chunk_mut::<u8, SPAN>(right, at), chunk_mut::<u8, SPAN>(below, at));
        let both = chunk_mut::<u8, SPAN>(both, at);
        for i in 0..SPAN {
            below[i] = clip((sums[BEFORE + i] + 16) >> 5);
        }
        for i in 0..SPAN {
            let taps = std::array::from_fn(|k| i16::from(rows[2][BEFORE - 2 + i + k]));
            right[i] = clip((six_taps(taps) + 16) >> 5);
        }
        for i in 0..SPAN {
            let taps = std::array::from_fn(|k| sums[BEFORE - 2 + i + k]);
            both[i] = clip(six_taps_of_sums(taps).saturating_add(32) >> 6);
        }
    }
}

/// Writes row `y` of `frame`, smoothed, without margins.
#[inline(always)]
pub fn smooth_row(layout: &LevelLayout, frame: &[u8], y: isize, smoothed: &mut [u8]) {
    let starts = [y - 1, y, y + 1].map(|y| layout.row(y) - BEFORE);
    for at in (0..layout.width).step_by(SPAN) {
        let [above, row, below] = starts.map(|start| chunk::<u8, READ>(frame, start + at));
        let smoothed = chunk_mut::<u8, SPAN>(smoothed, SIDE + at);
        for i in 0..SPAN {
            let at = BEFORE + i;
            let around = [above[at], below[at], row[at - 1], row[at + 1]].map(u16::from);
            smoothed[i] = ((around.iter().sum::<u16>() + 4 * u16::from(row[at]) + 4) >> 3) as u8;
        }
    }
}

/// Writes row `y` of a frame of half the width and height of `frame`, `width` samples without margins.
#[inline(always)]
pub fn halve_row(layout: &LevelLayout, frame: &[u8], y: isize, (halved, width): (&mut [u8], usize)) {
    let starts: [usize; 4] = std::array::from_fn(|k| layout.row(2 * y + k as isize - 1) - BEFORE);
    for at in (0..width).step_by(HALF) {
        let rows = starts.map(|start| chunk::<u8, READ>(frame, start + 2 * at));
        let mut down = [0; READ];
        for i in 0..READ {
            down[i] = one_three_three_one(rows.map(|row| u16::from(row[i])));
        }
        let halved = chunk_mut::<u8, HALF>(halved, SIDE + at);
        for i in 0..HALF {
            let taps = std::array::from_fn(|k| down[BEFORE - 1 + 2 * i + k]);
            halved[i] = ((one_three_three_one(taps) + 32) >> 6) as u8;
        }
    }
}

/// The four taps of halving, times 8.
#[inline(always)]
fn one_three_three_one([a, b, c, d]: [u16; 4]) -> u16 {
    a + d + 3 * (b + c)
}

/// Repeats the first and last of `width` samples of a row in its margins.
#[inline(always)]
pub fn repeat_ends(row: &mut [u8], width: usize) {
    let (first, last) = (row[SIDE], row[SIDE + width - 1]);
    row[..SIDE].fill(first);
    row[SIDE + width..].fill(last);
}

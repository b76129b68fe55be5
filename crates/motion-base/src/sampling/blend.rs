//! The inner loops: they predict a run of samples of one row that have the same vector.

use std::ops::{Add, Mul, Shr};

/// Calls the function with a constant length for the usual block sizes, so that the compiler turns
/// its loop into a few vector instructions, and with the run-time length otherwise.
macro_rules! with_known_length {
    ($length:expr, $function:ident($($argument:expr),*)) => {
        match $length {
            8 => $function($($argument),*, 8),
            16 => $function($($argument),*, 16),
            32 => $function($($argument),*, 32),
            length => $function($($argument),*, length),
        }
    };
}

/// Copies pixels of `P` bytes from `row` to `out`, starting at pixel `x`. `x` may be outside the row,
/// which is extended by repeating its first and last pixel.
#[inline(always)]
pub(super) fn copy_run<const P: usize>(row: &[u8], x: isize, out: &mut [u8]) {
    let (columns, count) = ((row.len() / P) as isize, (out.len() / P) as isize);
    if x >= 0 && x + count <= columns {
        out.copy_from_slice(&row[x as usize * P..][..out.len()]);
        return;
    }
    // The number of pixels before the row, and the number up to its end.
    let before = (-x).clamp(0, count) as usize;
    let inside = (columns - x).clamp(0, count) as usize;
    let repeat =
        |out: &mut [u8], pixel: &[u8]| out.chunks_exact_mut(P).for_each(|o| o.copy_from_slice(pixel));
    repeat(&mut out[..before * P], &row[..P]);
    if before < inside {
        let start = (x + before as isize) as usize;
        out[before * P..inside * P].copy_from_slice(&row[start * P..][..(inside - before) * P]);
    }
    repeat(&mut out[inside * P..], &row[row.len() - P..]);
}

/// Copies `rows` rows of `length` bytes from `from` to `out`, all inside both planes.
#[inline(always)]
pub(super) fn copy_rows(
    (from, from_stride): (&[u8], usize),
    (out, out_stride): (&mut [u8], usize),
    length: usize,
    rows: usize,
) {
    with_known_length!(length, copy_rows_of((from, from_stride), (out, out_stride), rows));
}

#[inline(always)]
fn copy_rows_of(
    (from, from_stride): (&[u8], usize),
    (out, out_stride): (&mut [u8], usize),
    rows: usize,
    length: usize,
) {
    // Chunks of both would divide by the strides for each block.
    for row in 0..rows {
        out[row * out_stride..][..length].copy_from_slice(&from[row * from_stride..][..length]);
    }
}

/// Pixels per call of `blend` at the edge.
const SEGMENT: usize = 64;

/// The fractional part of a displacement, in eighths of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Fraction {
    /// To the right.
    pub x: u16,
    /// Down.
    pub y: u16,
}

impl Fraction {
    /// That of a displacement in eighths of a sample.
    #[inline(always)]
    pub fn of((x, y): (i32, i32)) -> Self {
        Self { x: (x & 7) as u16, y: (y & 7) as u16 }
    }

    /// Whether the displacement is a whole number of samples.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.x == 0 && self.y == 0
    }

    /// The weights of the four samples around, in 64ths: the upper left one, the upper right one, and those below them.
    #[inline(always)]
    pub fn weights(self) -> [u16; 4] {
        let Self { x, y } = self;
        [(8 - x) * (8 - y), x * (8 - y), (8 - x) * y, x * y]
    }
}

/// The mean of the four samples around a point by their [weights](Fraction::weights): the chroma interpolation of H.264. In 16
/// bits for samples of eight bits, in 32 for deeper ones.
#[inline(always)]
pub fn bilinear<N>([a, b, c, d]: [N; 4], weights: [u16; 4]) -> N
where
    N: Copy + From<u16> + Add<Output = N> + Mul<Output = N> + Shr<u32, Output = N>,
{
    let weight = |index: usize| N::from(weights[index]);
    (a * weight(0) + b * weight(1) + c * weight(2) + d * weight(3) + N::from(32)) >> 6
}

/// Interpolates pixels of `P` bytes between the rows `upper` and `lower`, starting between the
/// pixels `x` and `x + 1`, which may be outside the rows.
#[inline(always)]
pub(super) fn interpolate_run<const P: usize>(
    upper: &[u8],
    lower: &[u8],
    x: isize,
    fraction: Fraction,
    out: &mut [u8],
) {
    let (columns, count) = ((upper.len() / P) as isize, (out.len() / P) as isize);
    // The number of pixels whose left neighbour is before the row, and the number up to the last
    // pixel with both neighbours inside.
    let before = (-x).clamp(0, count) as usize;
    let inside = (columns - 1 - x).clamp(before as isize, count) as usize;
    let (left, rest) = out.split_at_mut(before * P);
    let (middle, right) = rest.split_at_mut((inside - before) * P);
    if !middle.is_empty() {
        let start = (x + before as isize) as usize * P;
        let range = start..start + middle.len() + P;
        blend::<P>(&upper[range.clone()], &lower[range], fraction, middle);
    }
    for (x, out) in [(x, left), (x + inside as isize, right)] {
        if !out.is_empty() {
            interpolate_edge::<P>(upper, lower, x, fraction, out);
        }
    }
}

/// [`interpolate_run`] for pixels with a neighbour outside the row.
fn interpolate_edge<const P: usize>(
    upper: &[u8],
    lower: &[u8],
    x: isize,
    fraction: Fraction,
    out: &mut [u8],
) {
    let mut around = [[0; (SEGMENT + 1) * 2]; 2];
    for (index, out) in out.chunks_mut(SEGMENT * P).enumerate() {
        let x = x + (index * SEGMENT) as isize;
        let [above, below] = around.each_mut().map(|row| &mut row[..out.len() + P]);
        copy_run::<P>(upper, x, above);
        copy_run::<P>(lower, x, below);
        blend::<P>(above, below, fraction, out);
    }
}

/// The bilinear prediction. `upper` and `lower` have one pixel more than `out`.
#[inline(always)]
fn blend<const P: usize>(upper: &[u8], lower: &[u8], fraction: Fraction, out: &mut [u8]) {
    let Fraction { x, y } = fraction;
    match (x, y) {
        (_, 0) => with_known_length!(out.len(), blend_pairs(upper, &upper[P..], x, out)),
        (0, _) => with_known_length!(out.len(), blend_pairs(upper, lower, y, out)),
        _ => {
            let weights = fraction.weights();
            let around = [upper, &upper[P..], lower, &lower[P..]];
            with_known_length!(out.len(), blend_weighted(around, weights, out));
        }
    }
}

/// `((8 - f) a + f b + 4) >> 3`: the formula for a fraction on one axis only.
#[inline(always)]
fn blend_pairs(a: &[u8], b: &[u8], f: u16, out: &mut [u8], length: usize) {
    let (a, b, out) = (&a[..length], &b[..length], &mut out[..length]);
    for i in 0..length {
        out[i] = (((8 - f) * u16::from(a[i]) + f * u16::from(b[i]) + 4) >> 3) as u8;
    }
}

/// The full formula, for the four samples around and their weights, whose sum is 64.
#[inline(always)]
fn blend_weighted(around: [&[u8]; 4], weights: [u16; 4], out: &mut [u8], length: usize) {
    let ([a, b, c, d], out) = (around.map(|samples| &samples[..length]), &mut out[..length]);
    for i in 0..length {
        let around = [a[i].into(), b[i].into(), c[i].into(), d[i].into()];
        out[i] = bilinear::<u16>(around, weights) as u8;
    }
}

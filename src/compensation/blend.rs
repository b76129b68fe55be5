//! The inner loops: a run of samples of one row, all with the same vector.

/// Copies pixels of `P` bytes from `row` to `out`, beginning with the one at `x`, which may lie
/// anywhere: the row goes on outside by its first and last pixel.
#[inline]
pub(super) fn copy_run<const P: usize>(row: &[u8], x: isize, out: &mut [u8]) {
    let (columns, count) = ((row.len() / P) as isize, (out.len() / P) as isize);
    if x >= 0 && x + count <= columns {
        copy(&row[x as usize * P..][..out.len()], out);
        return;
    }
    // Pixels before the row, and up to its end.
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

/// Copies as many bytes as `out` has, which are often those of one block: then no function is
/// called for them.
#[inline(always)]
fn copy(from: &[u8], out: &mut [u8]) {
    #[inline(always)]
    fn fixed<const N: usize>(from: &[u8], out: &mut [u8]) {
        let from: &[u8; N] = from.try_into().expect("the length was looked at");
        let out: &mut [u8; N] = out.try_into().expect("the length was looked at");
        *out = *from;
    }
    match out.len() {
        4 => fixed::<4>(from, out),
        8 => fixed::<8>(from, out),
        16 => fixed::<16>(from, out),
        32 => fixed::<32>(from, out),
        _ => out.copy_from_slice(from),
    }
}

/// Pixels that are interpolated at once.
pub(super) const SEGMENT: usize = 64;

/// A position between samples, in eighths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fraction {
    pub(super) x: u16,
    pub(super) y: u16,
}

/// Interpolates pixels of `P` bytes between the rows `upper` and `lower`, beginning between those
/// at `x` and `x + 1`, which may lie anywhere.
pub(super) fn interpolate_run<const P: usize>(
    upper: &[u8],
    lower: &[u8],
    x: isize,
    fraction: Fraction,
    out: &mut [u8],
) {
    let columns = (upper.len() / P) as isize;
    let count = (out.len() / P) as isize;
    if x >= 0 && x + count < columns {
        let range = x as usize * P..(x + count + 1) as usize * P;
        blend::<P>(&upper[range.clone()], &lower[range], fraction, out);
        return;
    }
    let mut around = [[0; (SEGMENT + 1) * 2]; 2];
    for (index, out) in out.chunks_mut(SEGMENT * P).enumerate() {
        let x = x + (index * SEGMENT) as isize;
        let [above, below] = around.each_mut().map(|row| &mut row[..out.len() + P]);
        copy_run::<P>(upper, x, above);
        copy_run::<P>(lower, x, below);
        blend::<P>(above, below, fraction, out);
    }
}

/// The bilinear prediction: `upper` and `lower` have one pixel more than `out`.
#[inline]
fn blend<const P: usize>(upper: &[u8], lower: &[u8], fraction: Fraction, out: &mut [u8]) {
    let Fraction { x, y } = fraction;
    match (x, y) {
        (_, 0) => blend_pairs(upper, &upper[P..], x, out),
        (0, _) => blend_pairs(upper, lower, y, out),
        _ => {
            let weights = [(8 - x) * (8 - y), x * (8 - y), (8 - x) * y, x * y];
            blend_weighted([upper, &upper[P..], lower, &lower[P..]], weights, out);
        }
    }
}

/// Samples that fill a vector register as 16-bit numbers on every machine.
const LANES: usize = 8;

/// `((8 - f) a + f b + 4) >> 3`: what the formula comes to along one axis.
#[inline]
fn blend_pairs(a: &[u8], b: &[u8], f: u16, out: &mut [u8]) {
    let mix = |a: u8, b: u8| (((8 - f) * u16::from(a) + f * u16::from(b) + 4) >> 3) as u8;
    let n = out.len();
    let (a, a_rest) = a[..n].as_chunks::<LANES>();
    let (b, b_rest) = b[..n].as_chunks::<LANES>();
    let (out, out_rest) = out.as_chunks_mut::<LANES>();
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = std::array::from_fn(|lane| mix(a[lane], b[lane]));
    }
    for ((out, &a), &b) in out_rest.iter_mut().zip(a_rest).zip(b_rest) {
        *out = mix(a, b);
    }
}

/// The formula as it stands, for the four samples around and their weights, 64 in all.
#[inline]
fn blend_weighted(around: [&[u8]; 4], weights: [u16; 4], out: &mut [u8]) {
    let mix = |samples: [u8; 4]| {
        let sum = |i: usize| weights[i] * u16::from(samples[i]);
        ((sum(0) + sum(1) + sum(2) + sum(3) + 32) >> 6) as u8
    };
    let n = out.len();
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
        around.map(|samples| samples[..n].as_chunks::<LANES>());
    let (out, out_rest) = out.as_chunks_mut::<LANES>();
    for (i, out) in out.iter_mut().enumerate() {
        let (a, b, c, d) = (&a[i], &b[i], &c[i], &d[i]);
        *out = std::array::from_fn(|lane| mix([a[lane], b[lane], c[lane], d[lane]]));
    }
    for (i, out) in out_rest.iter_mut().enumerate() {
        *out = mix([a_rest[i], b_rest[i], c_rest[i], d_rest[i]]);
    }
}

/// `current - prediction + 128`, cut off at 0 and 255, in the place of the prediction.
#[inline]
pub(super) fn subtract(current: &[u8], prediction: &mut [u8]) {
    for (prediction, &current) in prediction.iter_mut().zip(current) {
        let difference = i16::from(current) - i16::from(*prediction) + 128;
        *prediction = difference.clamp(0, 255) as u8;
    }
}

//! The prediction of rows of a plane.

use super::blend::{Fraction, copy_rows, copy_run, interpolate_run};
use super::six_tap::interpolate_rows;
use super::{Field, Sampling, deep};
use crate::simd::{InstructionSet, Instructions, Work};
use crate::{FrameView, SampleFormat};

/// The prediction of a plane by a field.
#[derive(Clone, Copy, Debug)]
pub struct PlanePrediction<'a> {
    /// Where the samples come from. It may go beyond `reference`, whose edge samples repeat.
    pub field: &'a Field<'a>,
    /// How the plane is sampled.
    pub sampling: Sampling,
    /// The plane of the reference frame.
    pub reference: &'a FrameView<'a>,
    /// How the samples that are written lie in memory. They have the depth of those of `reference`.
    pub format: SampleFormat,
}

impl PlanePrediction<'_> {
    /// Writes the rows of `band`, which begin `stride` bytes apart, starting with row `first` of the plane, in one thread.
    pub fn write_rows(&self, instructions: Instructions, first: usize, band: &mut [u8], stride: usize) {
        instructions.run(Band { prediction: *self, first, band, stride });
    }
}

/// Rows of a predicted plane.
struct Band<'a> {
    prediction: PlanePrediction<'a>,
    /// The first of them in the plane.
    first: usize,
    band: &'a mut [u8],
    stride: usize,
}

impl<E: InstructionSet> Work<E> for Band<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { prediction, first, band, stride } = self;
        let PlanePrediction { field, sampling, reference, format } = prediction;
        if format.depth() > 8 {
            let planes = (reference, format);
            if sampling.interleaved {
                deep::predict_pixels::<2>(field, sampling, planes, first, band, stride);
            } else {
                deep::predict_pixels::<1>(field, sampling, planes, first, band, stride);
            }
        } else if sampling.interleaved {
            predict_pixels::<2>(field, sampling, reference, first, band, stride);
        } else {
            predict_pixels::<1>(field, sampling, reference, first, band, stride);
        }
    }
}

/// Predicts the rows of `band`, starting with row `first` of the plane, in pixels of `P` bytes.
#[inline(always)]
fn predict_pixels<const P: usize>(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
    first: usize,
    band: &mut [u8],
    stride: usize,
) {
    let rows = band.len().div_ceil(stride);
    let mut y = first;
    while y < first + rows {
        let (end, vectors) = field.row_of_blocks(sampling, y);
        let end = end.min(first + rows);
        let mut column = 0;
        // Neighbouring blocks with the same vector are predicted together.
        for run in vectors.chunk_by(|a, b| (a.x, a.y) == (b.x, b.y)) {
            let samples = field.samples(sampling, column..column + run.len());
            column += run.len();
            let (x, dy) = field.eighths(sampling, run[0]);
            let left = samples.start as isize + (x >> 3);
            let fraction = Fraction { x: (x & 7) as u16, y: (dy & 7) as u16 };
            let above = y as isize + (dy >> 3);
            let (width, height) = (reference.width() / P, reference.height());
            let is_inside = left >= 0
                && left as usize + samples.len() <= width
                && above >= 0
                && above as usize + (end - y) <= height;
            let out = &mut band[(y - first) * stride + samples.start * P..];
            if is_inside && fraction.is_none() {
                let from = &reference.as_bytes()[above as usize * reference.stride() + left as usize * P..];
                let length = samples.len() * P;
                copy_rows((from, reference.stride()), (out, stride), length, end - y);
                continue;
            }
            if sampling.is_full() && !fraction.is_none() {
                let quarters = (4 * samples.start as isize + x / 2, 4 * y as isize + dy / 2);
                let length = samples.len() * P;
                interpolate_rows::<P>(reference, quarters, (out, stride), (length, end - y));
                continue;
            }
            let row = |y: isize| reference.row(y.clamp(0, height as isize - 1) as usize);
            for (above, out) in (above..).zip(out.chunks_mut(stride)).take(end - y) {
                let out = &mut out[..samples.len() * P];
                if fraction.is_none() {
                    copy_run::<P>(row(above), left, out);
                } else {
                    interpolate_run::<P>(row(above), row(above + 1), left, fraction, out);
                }
            }
        }
        y = end;
    }
}

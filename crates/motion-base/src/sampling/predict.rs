//! The prediction of rows of a plane.

use super::blend::{Fraction, copy_rows, copy_run, interpolate_run};
use super::field::Run;
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
    let rows = first..first + band.len().div_ceil(stride);
    for Run { rows, columns, vector: (dx, dy) } in field.runs(sampling, rows) {
        let (y, count, length) = (rows.start as isize, rows.len(), columns.len() * P);
        let (left, above) = (columns.start as isize + (dx >> 3), y + (dy >> 3));
        let fraction = Fraction::of((dx as i32, dy as i32));
        let (width, height) = (reference.width() / P, reference.height());
        let is_inside = left >= 0
            && left as usize + columns.len() <= width
            && above >= 0
            && above as usize + count <= height;
        let out = &mut band[(rows.start - first) * stride + columns.start * P..];
        if is_inside && fraction.is_none() {
            let from = &reference.as_bytes()[above as usize * reference.stride() + left as usize * P..];
            copy_rows((from, reference.stride()), (out, stride), length, count);
            continue;
        }
        if sampling.is_full() && !fraction.is_none() {
            let quarters = (4 * columns.start as isize + dx / 2, 4 * y + dy / 2);
            interpolate_rows::<P>(reference, quarters, (out, stride), (length, count));
            continue;
        }
        let row = |y: isize| reference.row(y.clamp(0, height as isize - 1) as usize);
        for index in 0..count {
            let (above, out) = (above + index as isize, &mut out[index * stride..][..length]);
            if fraction.is_none() {
                copy_run::<P>(row(above), left, out);
            } else {
                interpolate_run::<P>(row(above), row(above + 1), left, fraction, out);
            }
        }
    }
}

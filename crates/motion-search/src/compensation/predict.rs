//! Compensation of whole rows of blocks, with bands of the plane in parallel.

use std::sync::Arc;

use rayon::prelude::*;

use super::blend::{Fraction, copy_rows, copy_run, interpolate_run, subtract};
use super::measure::{BAND_BYTES, check_depths, squared_error_of_row};
use super::six_tap::interpolate_rows;
use super::{Compensated, CompensationError, Field, PlaneMut, Sampling, SquaredError, deep};
use crate::estimator::{Frame, FrameView, MotionVector, Parameters, SampleFormat};

/// Predicts a plane from the plane `reference` of the reference frame and writes it to `out`.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if a plane does not match the field's frame.
pub fn predict(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
    out: &mut PlaneMut<'_>,
) -> Result<(), CompensationError> {
    field.check(sampling, reference)?;
    field.check(sampling, &out.view())?;
    check_depths(reference, &out.view())?;
    RowJob { field, sampling, reference, format: out.view().format(), then: None }.run(out);
    Ok(())
}

/// Predicts the plane `current` from `reference` and writes `output` to `out`. Returns the squared
/// error of the prediction if `measured`, otherwise a sum over no samples.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if a plane does not match the field's frame.
pub fn compensate(
    field: &Field<'_>,
    sampling: Sampling,
    (current, reference): (&FrameView<'_>, &FrameView<'_>),
    (output, measured): (Compensated, bool),
    out: &mut PlaneMut<'_>,
) -> Result<SquaredError, CompensationError> {
    field.check(sampling, reference)?;
    field.check(sampling, current)?;
    field.check(sampling, &out.view())?;
    check_depths(reference, current)?;
    check_depths(reference, &out.view())?;
    let (format, then) = (out.view().format(), Some((current, output, measured)));
    let sum = RowJob { field, sampling, reference, format, then }.run(out);
    let samples = if measured { current.width() * current.height() } else { 0 };
    Ok(SquaredError { sum, samples: samples as u64 })
}

/// The prediction of a luma plane from `reference` by the `vectors` of a search with `parameters`.
///
/// # Errors
/// [`CompensationError`] if vectors or reference do not match `parameters`.
pub fn predict_luma(
    parameters: &Parameters,
    reference: &FrameView<'_>,
    vectors: &[MotionVector],
) -> Result<Frame, CompensationError> {
    let field = Field::of(parameters, vectors)?;
    let &Parameters { width, height, .. } = parameters;
    let too_large = || CompensationError::Blocks(width, height, parameters.block_size, parameters.block_size);
    let format = reference.format().normal();
    let row = width.checked_mul(format.bytes()).ok_or_else(too_large)?;
    let mut samples = vec![0; row.checked_mul(height).ok_or_else(too_large)?];
    let mut plane =
        PlaneMut::with_format(&mut samples, (width, height), row, format).map_err(|_| too_large())?;
    predict(&field, Sampling::LUMA, reference, &mut plane)?;
    Frame::with_format(Arc::new(samples), (width, height), row, format).map_err(|_| too_large())
}

/// Predicts `out.len() / stride` rows of luma from row `first` on, samples without bits below them, in one thread. `field`
/// may go beyond `reference`, whose edge samples repeat.
pub(crate) fn predict_luma_rows(
    field: &Field<'_>,
    reference: &FrameView<'_>,
    first: usize,
    out: &mut [u8],
    stride: usize,
) {
    let format = reference.format().normal();
    let job = RowJob { field, sampling: Sampling::LUMA, reference, format, then: None };
    band_work()(&job, first, out, stride);
}

/// The compensation of one plane.
struct RowJob<'a> {
    field: &'a Field<'a>,
    sampling: Sampling,
    reference: &'a FrameView<'a>,
    /// The format of what is written.
    format: SampleFormat,
    /// The current plane, what to write, and whether to measure; `None` to write the prediction only.
    then: Option<(&'a FrameView<'a>, Compensated, bool)>,
}

/// Compensates a band of rows: the job, the band's first row in the plane, its bytes and the stride.
/// Returns the sum of squared differences, or 0 if it is not measured.
type BandWork = fn(&RowJob<'_>, usize, &mut [u8], usize) -> u64;

impl RowJob<'_> {
    fn run(&self, out: &mut PlaneMut<'_>) -> u64 {
        let (stride, work) = (out.stride(), band_work());
        let rows = (BAND_BYTES / stride).max(1);
        let bytes = out.bytes_mut();
        if bytes.len() <= rows * stride {
            return work(self, 0, bytes, stride);
        }
        let band = |(index, band): (usize, &mut [u8])| work(self, index * rows, band, stride);
        bytes.par_chunks_mut(rows * stride).enumerate().map(band).sum()
    }
}

/// The function for a band, compiled from the same source for the instruction sets of this CPU.
fn band_work() -> BandWork {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn compiled(job: &RowJob<'_>, first: usize, band: &mut [u8], stride: usize) -> u64 {
            work_on_band(job, first, band, stride)
        }

        // SAFETY: the closure is returned only after AVX2 was detected.
        return |job, first, band, stride| unsafe { compiled(job, first, band, stride) };
    }
    portable_band
}

fn portable_band(job: &RowJob<'_>, first: usize, band: &mut [u8], stride: usize) -> u64 {
    work_on_band(job, first, band, stride)
}

#[inline(always)]
fn work_on_band(job: &RowJob<'_>, first: usize, band: &mut [u8], stride: usize) -> u64 {
    let &RowJob { field, sampling, reference, format, then } = job;
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
    let Some((current, output, measured)) = then else { return 0 };
    let mut sum = 0;
    for (row, prediction) in band.chunks_mut(stride).enumerate() {
        let (of_current, current) = (current.format(), current.row(first + row));
        let prediction = &mut prediction[..current.len()];
        if format.depth() > 8 {
            let error = deep::finish_row((current, of_current), (prediction, format), output);
            sum += if measured { error } else { 0 };
            continue;
        }
        if measured {
            sum += squared_error_of_row(current, prediction);
        }
        if output == Compensated::Residual {
            subtract(current, prediction);
        }
    }
    sum
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The integration tests run only the version selected for this CPU; this test runs both.
    #[test]
    fn every_compilation_gives_the_same() {
        let size = (150, 61);
        for interleaved in [false, true] {
            let sampling = Sampling { interleaved, ..Sampling::LUMA };
            let (width, height) = sampling.plane_size(size.0, size.1);
            let frame = |seed: usize| {
                Frame::from_fn(width, height, |x, y| ((x * 37 + seed) ^ (y * 101) ^ (x * y)) as u8)
            };
            let (current, reference) = (frame(0), frame(91));
            let (current, reference) = (current.view(), reference.view());
            let vector =
                |i: usize| MotionVector { x: (i * 7 % 41) as i16 - 20, y: (i % 9) as i16 - 4, cost: 0 };
            let vectors: Vec<_> = (0..19 * 8).map(vector).collect();
            let field = Field::new(size, (8, 8), &vectors).unwrap();
            for output in [Compensated::Prediction, Compensated::Residual] {
                let then = Some((&current, output, true));
                let format = reference.format();
                let job = RowJob { field: &field, sampling, reference: &reference, format, then };
                let done = |work: BandWork| {
                    let mut bytes = vec![0; width * height];
                    let sum = work(&job, 0, &mut bytes, width);
                    (sum, bytes)
                };
                assert!(done(portable_band) == done(band_work()));
                let prediction = crate::compensation::oracle::predict(&field, sampling, &reference).unwrap();
                if output == Compensated::Prediction {
                    assert!(done(portable_band).1 == prediction.view().as_bytes());
                }
            }
        }
    }
}

//! Compensation a row of blocks at a time, bands of the plane in parallel.

use rayon::prelude::*;

use super::blend::{Fraction, copy_run, interpolate_run, subtract};
use super::measure::squared_error_of_row;
use super::{CompensationError, Field, PlaneMut, Sampling, SquaredError};
use crate::estimator::{MotionVector, Parameters, Picture, PictureBuf};

/// Bytes that one task writes: fewer and starting it costs more than the copy, more and what it
/// wrote has left the cache before it is compared.
pub(super) const BAND_BYTES: usize = 1 << 17;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The prediction.
    Prediction,
    /// `current - prediction + 128`, cut off at 0 and 255.
    Residual,
}

/// Writes the prediction of a plane from the plane `reference` of the reference picture to `out`.
///
/// # Errors
/// [`CompensationError::PlaneSize`] where a plane is not one of the field's picture.
pub fn predict(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &Picture<'_>,
    out: &mut PlaneMut<'_>,
) -> Result<(), CompensationError> {
    field.check(sampling, reference)?;
    field.check(sampling, &out.view())?;
    bands(out, |first, band, stride| {
        predict_band(field, sampling, reference, first, band, stride);
        0
    });
    Ok(())
}

/// Predicts the plane `current` from `reference`, writes `output` to `out`, and returns how far
/// the prediction is from `current` where `measured`; otherwise a sum over no samples.
///
/// # Errors
/// [`CompensationError::PlaneSize`] where a plane is not one of the field's picture.
pub fn compensate(
    field: &Field<'_>,
    sampling: Sampling,
    (current, reference): (&Picture<'_>, &Picture<'_>),
    (output, measured): (Output, bool),
    out: &mut PlaneMut<'_>,
) -> Result<SquaredError, CompensationError> {
    field.check(sampling, reference)?;
    field.check(sampling, current)?;
    field.check(sampling, &out.view())?;
    let width = current.width();
    let sum = bands(out, |first, band, stride| {
        predict_band(field, sampling, reference, first, band, stride);
        let mut sum = 0;
        for (row, prediction) in band.chunks_mut(stride).enumerate() {
            let (current, prediction) = (current.row(first + row), &mut prediction[..width]);
            if measured {
                sum += squared_error_of_row(current, prediction);
            }
            if output == Output::Residual {
                subtract(current, prediction);
            }
        }
        sum
    });
    let samples = if measured { width * current.height() } else { 0 };
    Ok(SquaredError { sum, samples: samples as u64 })
}

/// The prediction of a luma plane by the `vectors` that a search with `parameters` found in
/// `reference`.
///
/// # Errors
/// [`CompensationError`] where vectors or reference are not those of `parameters`.
pub fn predict_luma(
    parameters: &Parameters,
    reference: &Picture<'_>,
    vectors: &[MotionVector],
) -> Result<PictureBuf, CompensationError> {
    let field = Field::of(parameters, vectors)?;
    let &Parameters { width, height, .. } = parameters;
    let too_large = || CompensationError::Blocks(width, height, parameters.block_size, parameters.block_size);
    let mut samples = vec![0; width.checked_mul(height).ok_or_else(too_large)?];
    let mut plane = PlaneMut::new(&mut samples, width, height, width).map_err(|_| too_large())?;
    predict(&field, Sampling::LUMA, reference, &mut plane)?;
    PictureBuf::new(samples, width, height).map_err(|_| too_large())
}

/// Calls `work` with every band of `plane`, its first row, its bytes and its stride, and adds up.
fn bands(plane: &mut PlaneMut<'_>, work: impl Fn(usize, &mut [u8], usize) -> u64 + Sync) -> u64 {
    let stride = plane.stride();
    let rows = (BAND_BYTES / stride).max(1);
    let bytes = plane.bytes_mut();
    if bytes.len() <= rows * stride {
        return work(0, bytes, stride);
    }
    let band = |(index, band): (usize, &mut [u8])| work(index * rows, band, stride);
    bytes.par_chunks_mut(rows * stride).enumerate().map(band).sum()
}

/// Predicts the rows of `band`, of which the first is the plane's row `first`.
fn predict_band(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &Picture<'_>,
    first: usize,
    band: &mut [u8],
    stride: usize,
) {
    if sampling.interleaved {
        predict_pixels::<2>(field, sampling, reference, first, band, stride);
    } else {
        predict_pixels::<1>(field, sampling, reference, first, band, stride);
    }
}

/// [`predict_band`] for pixels of `P` bytes.
fn predict_pixels<const P: usize>(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &Picture<'_>,
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
        // Neighbours with the same vector are one run.
        for run in vectors.chunk_by(|a, b| (a.x, a.y) == (b.x, b.y)) {
            let samples = field.samples(sampling, column..column + run.len());
            column += run.len();
            let (x, dy) = sampling.eighths(run[0]);
            let left = samples.start as isize + (x >> 3);
            let fraction = Fraction { x: (x & 7) as u16, y: (dy & 7) as u16 };
            for y in y..end {
                let out = &mut band[(y - first) * stride..][samples.start * P..samples.end * P];
                let above = y as isize + (dy >> 3);
                let row = |y: isize| reference.row(y.clamp(0, reference.height() as isize - 1) as usize);
                if fraction.x == 0 && fraction.y == 0 {
                    copy_run::<P>(row(above), left, out);
                } else {
                    interpolate_run::<P>(row(above), row(above + 1), left, fraction, out);
                }
            }
        }
        y = end;
    }
}

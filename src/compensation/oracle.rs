//! The definition of compensation, one sample at a time.

use super::{CompensationError, Field, Sampling};
use crate::estimator::oracle::interpolation::{half_sample, quarter_sample};
use crate::estimator::{Frame, FrameView};

/// The prediction of a plane from the plane `reference` of the reference frame.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if `reference` does not have the size of such a plane.
pub fn predict(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
) -> Result<Frame, CompensationError> {
    field.check(sampling, reference)?;
    Ok(Frame::from_fn(reference.width(), reference.height(), |byte, y| {
        let (x, component) = (byte / sampling.pixel(), byte % sampling.pixel());
        sample(field, sampling, reference, x, y, component)
    }))
}

/// The predicted sample at `(x, y)` of one of the interleaved components.
fn sample(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
    x: usize,
    y: usize,
    component: usize,
) -> u8 {
    let vector = field.vector_at(sampling, x, y);
    let (eighths_x, eighths_y) = field.eighths(sampling, vector);
    let (x, y) = (8 * x as isize + eighths_x, 8 * y as isize + eighths_y);
    let at = |x: isize, y: isize| {
        let columns = (reference.width() / sampling.pixel()) as isize;
        let x = x.clamp(0, columns - 1) as usize;
        let y = y.clamp(0, reference.height() as isize - 1) as usize;
        u32::from(reference.row(y)[x * sampling.pixel() + component])
    };
    if sampling.is_full() {
        let sample = |x: i32, y: i32| at(x as isize, y as isize) as u8;
        let point = |x: i32, y: i32| i32::from(half_sample(sample, x, y));
        return quarter_sample(point, (x / 2) as i32, (y / 2) as i32) as u8;
    }
    let (left, above) = (x.div_euclid(8), y.div_euclid(8));
    let (fx, fy) = (x.rem_euclid(8) as u32, y.rem_euclid(8) as u32);
    let (a, b) = (at(left, above), at(left + 1, above));
    let (c, d) = (at(left, above + 1), at(left + 1, above + 1));
    (((8 - fx) * (8 - fy) * a + fx * (8 - fy) * b + (8 - fx) * fy * c + fx * fy * d + 32) >> 6) as u8
}

/// The residual of a prediction, `current - prediction + 128`, clipped to 0 … 255.
///
/// # Errors
/// [`CompensationError::PlaneSize`] where the planes' sizes differ.
pub fn residual(current: &FrameView<'_>, prediction: &FrameView<'_>) -> Result<Frame, CompensationError> {
    super::measure::check_sizes(current, prediction)?;
    Ok(Frame::from_fn(current.width(), current.height(), |x, y| {
        let difference = i32::from(current.row(y)[x]) - i32::from(prediction.row(y)[x]);
        (difference + 128).clamp(0, 255) as u8
    }))
}

/// The sum of squared differences of two planes.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if the sizes differ.
pub fn squared_error(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<u64, CompensationError> {
    super::measure::check_sizes(a, b)?;
    let rows = (0..a.height()).map(|y| a.row(y).iter().zip(b.row(y)));
    Ok(rows.flatten().map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum())
}

//! The definition of compensation, one sample at a time.

use super::{CompensationError, Field, Sampling};
use motion_base::sampling::check_sizes;
use motion_base::{Frame, FrameView, SampleFormat};
use motion_search::estimator::oracle::interpolation::{half_sample, quarter_sample};

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
    Ok(Frame::deep_from_fn(reference.width(), reference.height(), reference.format().depth(), |index, y| {
        let (x, component) = (index / sampling.pixel(), index % sampling.pixel());
        sample(field, sampling, reference, x, y, component)
    }))
}

/// The predicted sample at `(x, y)` of one of the interleaved components.
pub(super) fn sample(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
    x: usize,
    y: usize,
    component: usize,
) -> u16 {
    let vector = field.vector_at(sampling, x, y);
    let (eighths_x, eighths_y) = field.eighths(sampling, vector);
    let (x, y) = (8 * x as isize + eighths_x, 8 * y as isize + eighths_y);
    let at = |x: isize, y: isize| {
        let columns = (reference.width() / sampling.pixel()) as isize;
        let column = x.clamp(0, columns - 1) as usize * sampling.pixel() + component;
        u32::from(reference.sample(column as i32, y as i32))
    };
    if sampling.is_full() {
        let sample = |x: i32, y: i32| at(x as isize, y as isize) as i32;
        let peak = i32::from(reference.format().peak());
        let point = |x: i32, y: i32| half_sample(peak, sample, x, y);
        return quarter_sample(point, (x / 2) as i32, (y / 2) as i32) as u16;
    }
    let (left, above) = (x.div_euclid(8), y.div_euclid(8));
    let (fx, fy) = (x.rem_euclid(8) as u32, y.rem_euclid(8) as u32);
    let (a, b) = (at(left, above), at(left + 1, above));
    let (c, d) = (at(left, above + 1), at(left + 1, above + 1));
    (((8 - fx) * (8 - fy) * a + fx * (8 - fy) * b + (8 - fx) * fy * c + fx * fy * d + 32) >> 6) as u16
}

/// The residual of a prediction, `current - prediction + 128`, clipped to 0 … 255; of samples of d bits,
/// `current - prediction + 2^(d - 1)`, clipped to 0 … 2^d - 1.
///
/// # Errors
/// [`CompensationError::PlaneSize`] where the planes' sizes differ, [`CompensationError::BitDepth`] where their depths do.
pub fn residual(current: &FrameView<'_>, prediction: &FrameView<'_>) -> Result<Frame, CompensationError> {
    check_sizes(current, prediction)?;
    let format = current.format();
    Ok(Frame::deep_from_fn(current.width(), current.height(), format.depth(), |x, y| {
        residual_of(format, current.sample(x as i32, y as i32), prediction.sample(x as i32, y as i32))
    }))
}

/// The residual of a sample.
pub(super) fn residual_of(format: SampleFormat, current: u16, prediction: u16) -> u16 {
    let difference = i32::from(current) - i32::from(prediction) + (1 << (format.depth() - 1));
    difference.clamp(0, i32::from(format.peak())) as u16
}

/// The sum of squared differences of two planes.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if the sizes differ, [`CompensationError::BitDepth`] if the depths do.
pub fn squared_error(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<u64, CompensationError> {
    check_sizes(a, b)?;
    let places = (0..a.height() as i32).flat_map(|y| (0..a.width() as i32).map(move |x| (x, y)));
    Ok(places.map(|(x, y)| u64::from(a.sample(x, y).abs_diff(b.sample(x, y))).pow(2)).sum())
}

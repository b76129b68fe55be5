//! Compensation of whole rows of blocks, with bands of the plane in parallel.

use std::sync::Arc;

use rayon::prelude::*;

use super::measure::BAND_BYTES;
use super::residual::FinishedBand;
use super::{Compensated, CompensationError, Field, PlaneMut, Sampling, SquaredError};
use motion_base::sampling::{PlanePrediction, check_depths};
use motion_base::simd::Instructions;
use motion_base::{Frame, FrameView, MotionVector, Parameters};

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
    let prediction = PlanePrediction { field, sampling, reference, format: out.view().format() };
    PlaneJob { prediction, instructions: Instructions::best(), then: None }.run(out);
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
    let prediction = PlanePrediction { field, sampling, reference, format: out.view().format() };
    let then = Some((current, output, measured));
    let sum = PlaneJob { prediction, instructions: Instructions::best(), then }.run(out);
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

/// The compensation of one plane.
struct PlaneJob<'a> {
    prediction: PlanePrediction<'a>,
    instructions: Instructions,
    /// The current plane, what to write, and whether to measure; `None` to write the prediction only.
    then: Option<(&'a FrameView<'a>, Compensated, bool)>,
}

impl PlaneJob<'_> {
    fn run(&self, out: &mut PlaneMut<'_>) -> u64 {
        let stride = out.stride();
        let rows = (BAND_BYTES / stride).max(1);
        let bytes = out.bytes_mut();
        if bytes.len() <= rows * stride {
            return self.work_on_band(0, bytes, stride);
        }
        let band = |(index, band): (usize, &mut [u8])| self.work_on_band(index * rows, band, stride);
        bytes.par_chunks_mut(rows * stride).enumerate().map(band).sum()
    }

    /// Compensates the rows of `band`, which begin `stride` bytes apart, starting with row `first` of the plane. Returns the sum
    /// of squared differences, or 0 if it is not measured.
    fn work_on_band(&self, first: usize, band: &mut [u8], stride: usize) -> u64 {
        self.prediction.write_rows(self.instructions, first, band, stride);
        let Some((current, output, measured)) = self.then else { return 0 };
        if !measured && output == Compensated::Prediction {
            return 0;
        }
        let format = self.prediction.format;
        self.instructions.run(FinishedBand { current, format, output, measured, first, band, stride })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_base::simd::InstructionSetName;

    /// The integration tests run only the version selected for this CPU; this test runs all.
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
                let (field, reference, format) = (&field, &reference, reference.format());
                let prediction = PlanePrediction { field, sampling, reference, format };
                let done = |instruction_set: InstructionSetName| {
                    let instructions = instruction_set.required().unwrap();
                    let mut bytes = vec![0; width * height];
                    let job = PlaneJob { prediction, instructions, then };
                    (job.work_on_band(0, &mut bytes, width), bytes)
                };
                let plainest = done(InstructionSetName::PLAINEST);
                assert!(
                    InstructionSetName::available().all(|instruction_set| done(instruction_set) == plainest)
                );
                let prediction = crate::compensation::oracle::predict(field, sampling, reference).unwrap();
                let residual = crate::compensation::oracle::residual(&current, &prediction.view()).unwrap();
                let error = crate::compensation::oracle::squared_error(&current, &prediction.view()).unwrap();
                let expected = match output {
                    Compensated::Prediction => prediction,
                    Compensated::Residual => residual,
                };
                assert!(plainest == (error, expected.view().as_bytes().to_vec()));
            }
        }
    }
}

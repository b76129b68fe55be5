//! What is made of predicted rows: residuals, and the squared error of the prediction.

use super::Compensated;
use super::measure::squared_error_of_row;
use super::oracle::residual_of;
use motion_base::simd::{InstructionSet, Work};
use motion_base::{FrameView, SampleFormat};

/// Predicted rows, which are made what `output` says. The work returns the sum of squared differences, or 0 if it is not measured.
pub(super) struct FinishedBand<'a> {
    /// The current plane.
    pub current: &'a FrameView<'a>,
    /// The format of the predicted samples.
    pub format: SampleFormat,
    pub output: Compensated,
    pub measured: bool,
    /// The first of the rows in the plane.
    pub first: usize,
    /// The rows, which begin `stride` bytes apart.
    pub band: &'a mut [u8],
    pub stride: usize,
}

impl<E: InstructionSet> Work<E, u64> for FinishedBand<'_> {
    #[inline(always)]
    fn run(self, _: E) -> u64 {
        let Self { current, format, output, measured, first, band, stride } = self;
        let mut sum = 0;
        for (row, prediction) in band.chunks_mut(stride).enumerate() {
            let (of_current, current) = (current.format(), current.row(first + row));
            let prediction = &mut prediction[..current.len()];
            if format.depth() > 8 {
                let error = finish_deep_row((current, of_current), (prediction, format), output);
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
}

/// Replaces the prediction by `current - prediction + 128`, clipped to 0 … 255.
#[inline(always)]
fn subtract(current: &[u8], prediction: &mut [u8]) {
    for (prediction, &current) in prediction.iter_mut().zip(current) {
        let difference = i16::from(current) - i16::from(*prediction) + 128;
        *prediction = difference.clamp(0, 255) as u8;
    }
}

/// Makes the prediction of a row of deep samples, samples in `format`, what `output` says. Returns the sum of squared differences from
/// the row of the current plane, whose format is `of_current`.
#[inline(always)]
fn finish_deep_row(
    (current, of_current): (&[u8], SampleFormat),
    (prediction, format): (&mut [u8], SampleFormat),
    output: Compensated,
) -> u64 {
    let mut sum = 0;
    for (current, bytes) in current.as_chunks::<2>().0.iter().zip(prediction.as_chunks_mut::<2>().0) {
        let (current, predicted) = (of_current.value(*current), format.value(*bytes));
        sum += u64::from(u32::from(current.abs_diff(predicted)).pow(2));
        if output == Compensated::Residual {
            *bytes = format.bytes_of(residual_of(format, current, predicted));
        }
    }
    sum
}

//! Compensation of planes with samples of more than eight bits: as the definition says, several rows at once.

use rayon::prelude::*;

use super::oracle::{residual_of, sample};
use super::{Compensated, Field, PlaneMut, Sampling};
use crate::estimator::FrameView;

/// Predicts a plane from `reference`; `then` has the current plane, what to write, and whether to measure. Returns the
/// sum of squared differences, or 0 if it is not measured.
pub(super) fn compensate(
    field: &Field<'_>,
    sampling: Sampling,
    reference: &FrameView<'_>,
    then: Option<(&FrameView<'_>, Compensated, bool)>,
    out: &mut PlaneMut<'_>,
) -> u64 {
    let (format, stride, row_bytes) = (out.view().format(), out.stride(), out.view().row_bytes());
    let row = |(y, row): (usize, &mut [u8])| {
        let mut sum = 0;
        for (index, bytes) in row[..row_bytes].as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let (x, component) = (index / sampling.pixel(), index % sampling.pixel());
            let prediction = sample(field, sampling, reference, x, y, component);
            let mut written = prediction;
            if let Some((current, output, measured)) = then {
                let current = current.sample(index as i32, y as i32);
                if measured {
                    sum += u64::from(current.abs_diff(prediction)).pow(2);
                }
                if output == Compensated::Residual {
                    written = residual_of(format, current, prediction);
                }
            }
            *bytes = format.bytes_of(written);
        }
        sum
    };
    out.bytes_mut().par_chunks_mut(stride).enumerate().map(row).sum()
}

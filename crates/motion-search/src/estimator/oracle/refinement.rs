//! Sub-sample refinement, one candidate at a time.

use super::interpolation::Interpolated;
use crate::estimator::{FrameView, MotionField, MotionVector, Parameters};

/// Refines `field`, of whole samples, as [`SubSample`](crate::estimator::SubSample) defines it.
pub(super) fn refine(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    field: &mut MotionField,
) {
    let (side, columns) = (parameters.block_size, field.grid.columns);
    let reference = Interpolated::new(reference);
    for (index, vector) in field.vectors.iter_mut().enumerate() {
        let origin = ((index % columns * side) as i32, (index / columns * side) as i32);
        for &step in parameters.sub_sample.steps() {
            let centre = *vector;
            for (right, down) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (right, down))) {
                let (x, y) = (i32::from(centre.x) + right * step, i32::from(centre.y) + down * step);
                let cost = cost(parameters, current, &reference, origin, (x, y));
                *vector = vector.better(MotionVector { x: x as i16, y: y as i16, cost });
            }
        }
    }
}

/// The cost of the block whose first sample is `origin` and the block at `vector` from it, in quarter samples.
fn cost(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &Interpolated,
    origin: (i32, i32),
    vector: (i32, i32),
) -> u32 {
    let side = parameters.block_size as i32;
    let mut sum = 0;
    for y in origin.1..origin.1 + side {
        for x in origin.0..origin.0 + side {
            let sample = reference.sample(4 * x + vector.0, 4 * y + vector.1);
            sum += parameters.metric.term(current.sample(x, y).abs_diff(sample as u16));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use crate::estimator::{Algorithm, Border, Frame, MotionVector, Parameters, SubSample, Window, oracle};

    fn parameters(side: usize, block_size: usize, sub_sample: SubSample) -> Parameters {
        let window = Window::symmetric(2, 2).unwrap();
        Parameters { sub_sample, ..Parameters::new(side, side, block_size, window) }
    }

    /// A slope of 8 a sample to the right, which is 2 a quarter sample.
    fn slope(shift: i32) -> Frame {
        Frame::from_fn(24, 24, |x, _| (20 + 8 * x as i32 + shift) as u8)
    }

    #[test]
    fn a_slope_is_followed_by_quarter_samples() {
        // The block in the middle: no filter reads a repeated sample.
        let found = |shift, sub_sample, algorithm| {
            let p = Parameters { algorithm, ..parameters(24, 8, sub_sample) };
            oracle::search(&p, &slope(shift).view(), &slope(0).view()).vectors[4]
        };
        for algorithm in [Algorithm::Full, Algorithm::ThreeStep] {
            for quarters in -7..=7 {
                let (exact, vector) = (quarters as i16, found(2 * quarters, SubSample::Quarter, algorithm));
                assert_eq!(vector, MotionVector { x: exact, y: 0, cost: 0 }, "{quarters}");
            }
            // 3/4 of a sample: one sample costs 2, half a sample too, and is the shorter vector.
            let vector = found(6, SubSample::Half, algorithm);
            assert_eq!(vector, MotionVector { x: 2, y: 0, cost: 2 * 64 });
        }
    }

    /// In a flat frame every candidate costs the same: the centre is the shortest.
    #[test]
    fn nothing_moves_without_need() {
        let frame = Frame::from_fn(9, 9, |_, _| 77);
        let field = oracle::search(&parameters(9, 4, SubSample::Quarter), &frame.view(), &frame.view());
        assert!(field.vectors.iter().all(|vector| *vector == MotionVector::default()));
    }

    /// Neither the window nor the border limits the half samples around a winner.
    #[test]
    fn refinement_leaves_the_window_and_the_frame() {
        let mut p = parameters(24, 8, SubSample::Half);
        p.border = Border::Restrict;
        p.window = Window::new(0, 0, 0, 0).unwrap();
        // Darker: all of the reference that is half as dark lies to the left, for the first block outside.
        let field = oracle::search(&p, &slope(-4).view(), &slope(0).view());
        assert!(field.vectors.iter().all(|vector| vector.x == -2), "{field:?}");
    }
}

//! The weighted mean of two planes.

use super::{CompensationError, PlaneMut};
use motion_base::FrameView;
use motion_base::sampling::check_sizes;

/// The sum of the two weights.
const WEIGHTS: u32 = 64;

/// Writes the mean of `previous` and `next`, which have the weights `weight` and `64 - weight`, to `out`:
/// `(weight · previous + (64 - weight) · next + 32) >> 6` for each sample.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if a plane has another size than `out`, [`CompensationError::BitDepth`] if its
/// samples have another depth.
///
/// # Panics
/// If `weight` is more than 64.
pub fn weighted_mean(
    previous: &FrameView<'_>,
    next: &FrameView<'_>,
    weight: u32,
    out: &mut PlaneMut<'_>,
) -> Result<(), CompensationError> {
    assert!(weight <= WEIGHTS, "weights are in 64ths");
    check_sizes(&out.view(), previous)?;
    check_sizes(&out.view(), next)?;
    let (format, stride, row_bytes) = (out.view().format(), out.stride(), out.view().row_bytes());
    let formats = [previous.format(), next.format()];
    for (y, row) in out.bytes_mut().chunks_mut(stride).enumerate() {
        let (row, previous, next) = (&mut row[..row_bytes], previous.row(y), next.row(y));
        if format.bytes() == 1 {
            // Sixteen bits hold the sum, so that an instruction computes many.
            let weights = [weight as u16, (WEIGHTS - weight) as u16];
            for ((out, &previous), &next) in row.iter_mut().zip(previous).zip(next) {
                *out = ((weights[0] * u16::from(previous) + weights[1] * u16::from(next) + 32) >> 6) as u8;
            }
        } else {
            let pairs = previous.as_chunks::<2>().0.iter().zip(next.as_chunks::<2>().0);
            for (out, (&previous, &next)) in row.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
                let [previous, next] = [formats[0].value(previous), formats[1].value(next)].map(u32::from);
                let mean = (weight * previous + (WEIGHTS - weight) * next + 32) >> 6;
                *out = format.bytes_of(mean as u16);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_base::SampleFormat;

    /// A byte that looks random, the same for the same `seed`.
    fn noise(seed: usize) -> u8 {
        (seed.wrapping_mul(0x9e37_79b9).wrapping_add(0x7f4a_7c15) >> 11) as u8
    }

    type Layout = (usize, usize, usize, SampleFormat);

    fn view(bytes: &[u8], (width, height, stride, format): Layout) -> FrameView<'_> {
        FrameView::with_format(bytes, (width, height), stride, format).unwrap()
    }

    #[test]
    fn every_sample_has_the_mean_of_the_definition() {
        let formats = [(8, 0), (10, 0), (10, 6), (16, 0)].map(|(d, s)| SampleFormat::new(d, s).unwrap());
        for format in formats {
            for (width, height, pad) in [(1, 1, 0), (7, 3, 5), (64, 2, 0), (33, 4, 1)] {
                let stride = width * format.bytes() + pad;
                let frame =
                    |seed: usize| (0..stride * height).map(|i| noise(i * 3 + seed)).collect::<Vec<_>>();
                let (previous, next) = (frame(1), frame(1000));
                let layout = (width, height, stride, format);
                for weight in [0, 1, 13, 32, 63, 64] {
                    let mut out = vec![0xa5; stride * height];
                    let mut plane = PlaneMut::with_format(&mut out, (width, height), stride, format).unwrap();
                    weighted_mean(&view(&previous, layout), &view(&next, layout), weight, &mut plane)
                        .unwrap();
                    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                        let [a, b, made] = [&previous, &next, &out]
                            .map(|bytes| u32::from(view(bytes, layout).sample(x as i32, y as i32)));
                        assert_eq!(
                            made,
                            (weight * a + (64 - weight) * b + 32) >> 6,
                            "{format:?} {weight} {x} {y}"
                        );
                    }
                    for row in out.chunks(stride) {
                        assert!(row[width * format.bytes()..].iter().all(|&byte| byte == 0xa5));
                    }
                }
            }
        }
    }

    #[test]
    fn planes_of_other_sizes_and_depths_are_errors() {
        let bytes = [0; 64];
        let view = |width| FrameView::new(&bytes, width, 4, 8).unwrap();
        let mut out = [0; 64];
        let mut plane = PlaneMut::new(&mut out, 8, 4, 8).unwrap();
        let sizes = |result| assert_eq!(result, Err(CompensationError::PlaneSize(8, 4, 7, 4)));
        sizes(weighted_mean(&view(7), &view(8), 5, &mut plane));
        sizes(weighted_mean(&view(8), &view(7), 5, &mut plane));
        let deep = SampleFormat::new(10, 0).unwrap();
        let deep = FrameView::with_format(&bytes, (8, 4), 16, deep).unwrap();
        let mixed = weighted_mean(&deep, &view(8), 5, &mut plane);
        assert_eq!(mixed, Err(CompensationError::BitDepth(8, 10)));
    }
}

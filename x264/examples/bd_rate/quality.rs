//! PSNR, SSIM and BD-rate.

use std::error::Error;

use gst_motion_fields::frame::FrameLayout;
use gst_video::VideoInfo;
use motion_frames::compensation::psnr;
use test_support::ssim;

/// PSNR in dB and SSIM of luma of eight bits.
pub fn compare(
    info: &VideoInfo,
    a: &gst::BufferRef,
    b: &gst::BufferRef,
) -> Result<(f64, f64), Box<dyn Error>> {
    let layout = FrameLayout::new(info.clone());
    let (a, b) = (layout.read(a)?, layout.read(b)?);
    let (a, b) = (a.planes()?[0], b.planes()?[0]);
    Ok((psnr(&a, &b)?.min(100.0), ssim(&a, &b)))
}

/// The mean change of the rate in % over the qualities that both curves, of rates and qualities, have: cubic fits of the
/// logarithm of the rate.
pub fn bd_rate(anchor: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
    let least = |curve: &[(f64, f64)]| curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = |curve: &[(f64, f64)]| curve.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let (from, to) = (least(anchor).max(least(other)), most(anchor).min(most(other)));
    let (middle, half) = ((from + to) / 2.0, (to - from) / 2.0);
    let mean = |curve: &[(f64, f64)]| {
        let [first, _, third, _] =
            cubic(curve.iter().map(|&(rate, quality)| ((quality - middle) / half, rate.ln())));
        // Over -1 to 1 the odd powers vanish.
        first + third / 3.0
    };
    100.0 * ((mean(other) - mean(anchor)).exp() - 1.0)
}

/// The coefficients of the cubic through points with the least squares, the constant first.
fn cubic(points: impl Iterator<Item = (f64, f64)>) -> [f64; 4] {
    // The normal equations, with their right side.
    let mut rows = [[0.0; 5]; 4];
    for (x, y) in points {
        let powers = [1.0, x, x * x, x * x * x];
        for (row, power) in rows.iter_mut().zip(powers) {
            for (cell, other) in row.iter_mut().zip(powers.into_iter().chain([y])) {
                *cell += power * other;
            }
        }
    }
    for pivot in 0..4 {
        let best = (pivot..4).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()));
        rows.swap(pivot, best.unwrap_or(pivot));
        let best = rows[pivot];
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != pivot) {
            let factor = row[pivot] / best[pivot];
            row.iter_mut().zip(best).for_each(|(cell, of_best)| *cell -= factor * of_best);
        }
    }
    std::array::from_fn(|index| rows[index][4] / rows[index][index])
}

//! PSNR, SSIM and BD-rate.

use std::error::Error;

use gst_video::prelude::*;
use gst_video::{VideoFrameRef, VideoInfo};

/// PSNR in dB and SSIM of luma of eight bits.
pub fn compare(
    info: &VideoInfo,
    a: &gst::BufferRef,
    b: &gst::BufferRef,
) -> Result<(f64, f64), Box<dyn Error>> {
    let (a, b) = (
        VideoFrameRef::from_buffer_ref_readable(a, info)?,
        VideoFrameRef::from_buffer_ref_readable(b, info)?,
    );
    let size = (info.width() as usize, info.height() as usize);
    let plane = |frame: &VideoFrameRef<&gst::BufferRef>| -> Result<Vec<u8>, Box<dyn Error>> {
        let (bytes, stride) = (frame.plane_data(0)?, frame.plane_stride()[0] as usize);
        Ok((0..size.1).flat_map(|y| bytes[y * stride..][..size.0].iter().copied()).collect())
    };
    let (a, b) = (plane(&a)?, plane(&b)?);
    let squares: u64 = a.iter().zip(&b).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    let psnr = if squares == 0 { 100.0 } else { 10.0 * (65025.0 * a.len() as f64 / squares as f64).log10() };
    Ok((psnr, ssim(&a, &b, size)))
}

/// Sums of a tile of 4 x 4: of both, of their squares together, and of their products.
type Sums = [u32; 4];

/// The mean over windows of 8 x 8 every four samples, without weights.
fn ssim(a: &[u8], b: &[u8], (width, height): (usize, usize)) -> f64 {
    let (columns, rows) = (width / 4, height / 4);
    let tile = |index: usize| -> Sums {
        let at = index / columns * 4 * width + index % columns * 4;
        let mut sums = [0; 4];
        for y in 0..4 {
            let row = at + y * width..at + y * width + 4;
            for (a, b) in a[row.clone()].iter().zip(&b[row]) {
                let (a, b) = (u32::from(*a), u32::from(*b));
                sums[0] += a;
                sums[1] += b;
                sums[2] += a * a + b * b;
                sums[3] += a * b;
            }
        }
        sums
    };
    let tiles: Vec<Sums> = (0..columns * rows).map(tile).collect();
    let mut total = 0.0;
    for y in 0..rows - 1 {
        for x in 0..columns - 1 {
            let four =
                [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(right, down)| tiles[(y + down) * columns + x + right]);
            let sum = |index: usize| f64::from(four.iter().map(|tile| tile[index]).sum::<u32>());
            let (a, b, squares, products) = (sum(0), sum(1), sum(2), sum(3));
            let (c1, c2) = (0.01 * 0.01 * 65025.0 * 64.0 * 64.0, 0.03 * 0.03 * 65025.0 * 64.0 * 63.0);
            let variances = squares * 64.0 - a * a - b * b;
            let covariance = products * 64.0 - a * b;
            total += (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2));
        }
    }
    total / ((columns - 1) * (rows - 1)) as f64
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

//! A frame seen from where the model of the scene was made, and the small step by which it lies beside the model.

use motion_base::FrameView;

use crate::affine::{Affine, Between, solve};
use crate::scene::Scene;

/// Writes to `seen` the samples of `frame` at the places of the model, and to `is_seen` whether the frame has them: a sample of the
/// model is at `to_frame` of its place. Samples between samples are bilinear.
pub fn resample(frame: &FrameView<'_>, to_frame: &Affine, seen: &mut [f32], is_seen: &mut [u8]) {
    let (width, height) = frame.size();
    let rows = seen.chunks_exact_mut(width).zip(is_seen.chunks_exact_mut(width)).enumerate();
    if *to_frame == Affine::IDENTITY {
        for (y, (seen, is_seen)) in rows {
            for (seen, &sample) in seen.iter_mut().zip(frame.row(y)) {
                *seen = f32::from(sample);
            }
            is_seen.fill(1);
        }
        return;
    }
    let (samples, stride) = (frame.as_bytes(), frame.stride());
    for (y, (seen, is_seen)) in rows {
        for (x, (seen, is_seen)) in seen.iter_mut().zip(is_seen).enumerate() {
            let between = Between::around(to_frame.apply(x as f64, y as f64), (width, height));
            *is_seen = u8::from(between.is_some());
            if let Some(between) = between {
                *seen = between.bilinear(between.numbers(stride).map(|at| f32::from(samples[at])));
            }
        }
    }
}

/// Rows and columns from one sample to the next that a step is computed from.
const STEP: usize = 3;

/// The most unknowns: six of the map, an offset and a gain.
const UNKNOWNS: usize = 8;

/// The mean of the errors between `seen` and the model, each at most `limit`, after a gain and an offset.
pub fn error(scene: &Scene, seen: &[f32], is_seen: &[u8], (gain, offset): (f32, f32), limit: f32) -> f64 {
    let (mut sum, mut count) = (0.0f64, 0u32);
    let (width, height) = scene.size();
    for y in (1..height - 1).step_by(STEP) {
        for x in (1..width - 1).step_by(STEP) {
            let at = y * width + x;
            if is_seen[at] != 0 && scene.age[at] >= 2.0 {
                sum += f64::from((seen[at] - gain * scene.mean[at] - offset).abs().min(limit));
                count += 1;
            }
        }
    }
    if count > 0 { sum / f64::from(count) } else { 0.0 }
}

/// The small map that lets the model look more like `seen`: one Gauss-Newton step of an affine map, a gain and an offset, with
/// weights that leave out what differs by much more than `limit` (a Cauchy weight).
pub fn misplacement(
    scene: &Scene,
    seen: &[f32],
    is_seen: &[u8],
    (gain, offset): (f32, f32),
    limit: f32,
) -> Option<Affine> {
    let (width, height) = scene.size();
    let unit = width.max(height) as f32 / 2.0;
    let (middle_x, middle_y) = (width as f32 / 2.0, height as f32 / 2.0);
    let mut sums = [[0.0f64; UNKNOWNS + 1]; UNKNOWNS];
    let mut count = 0u32;
    for y in (1..height - 1).step_by(STEP) {
        let mut row = [[0.0f32; UNKNOWNS + 1]; UNKNOWNS];
        let v = (y as f32 - middle_y) / unit;
        for x in (1..width - 1).step_by(STEP) {
            let at = y * width + x;
            if is_seen[at] == 0 || scene.age[at] < 2.0 {
                continue;
            }
            let mean = &scene.mean;
            let slope_x = (mean[at + 1] - mean[at - 1]) * 0.5 * gain;
            let slope_y = (mean[at + width] - mean[at - width]) * 0.5 * gain;
            let error = seen[at] - gain * mean[at] - offset;
            count += 1;
            // Flat places say nothing of where they are.
            if slope_x.abs() + slope_y.abs() < 3.0 {
                continue;
            }
            let weight = 1.0 / (1.0 + (error / limit) * (error / limit));
            let u = (x as f32 - middle_x) / unit;
            let terms = [
                slope_x,
                slope_x * u,
                slope_x * v,
                slope_y,
                slope_y * u,
                slope_y * v,
                1.0,
                (mean[at] - 128.0) / 128.0,
                error,
            ];
            for i in 0..UNKNOWNS {
                let weighted = weight * terms[i];
                for j in i..=UNKNOWNS {
                    row[i][j] += weighted * terms[j];
                }
            }
        }
        for (sums, row) in sums.iter_mut().flatten().zip(row.iter().flatten()) {
            *sums += f64::from(*row);
        }
    }
    if count < 64 {
        return None;
    }
    let upper = sums;
    for (i, row) in sums.iter_mut().enumerate() {
        for (value, upper) in row[..i].iter_mut().zip(&upper) {
            *value = upper[i];
        }
    }
    // What the samples say little of does not change: as if one in fifty of a slope of ten levels had no error.
    let prior = f64::from(count) * 2.0;
    for i in [1, 2, 4, 5] {
        sums[i][i] += prior;
    }
    for i in [0, 3, 6, 7] {
        sums[i][i] += prior / 16.0;
    }
    let p = solve(sums)?;
    let (unit, middle_x, middle_y) = (f64::from(unit), f64::from(middle_x), f64::from(middle_y));
    let row = |p: &[f64]| [p[1] / unit, p[2] / unit, p[0] - p[1] * middle_x / unit - p[2] * middle_y / unit];
    let (mut x, mut y) = (row(&p[..3]), row(&p[3..6]));
    x[0] += 1.0;
    y[1] += 1.0;
    Some(Affine([x, y]))
}

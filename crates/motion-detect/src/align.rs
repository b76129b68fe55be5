//! How the camera has moved: the map by which the frame lies on the model of the scene.

use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{FrameView, SetupError, memory};

use crate::affine::{Affine, solve};
use crate::camera::Fit;
use crate::resampling::{self, Mix, Plane};
use crate::scene::Scene;

/// Rows and columns from one sample to the next that the map is computed from.
const STRIDE: usize = 3;

/// The most unknowns: six of the map, an offset and a gain.
const UNKNOWNS: usize = 8;

/// What the unknowns are multiplied with, and the error: each of the first is one of the factors of a row, or that times v.
const FACTORS: usize = 7;
const TERMS: [(usize, usize); UNKNOWNS + 1] =
    [(0, 0), (1, 0), (0, 1), (2, 0), (3, 0), (2, 1), (4, 0), (5, 0), (6, 0)];

/// The factors and a zero: as many as vectors of floats have room for.
const LANES: usize = 8;

/// The camera has moved if a corner of the small frame has moved by more samples than this: less is noise.
const LEAST_MOTION: f64 = 0.2;

/// While the camera moves, corrections from this on are worth a look at the frame.
const LEAST_CORRECTION: f64 = 0.03;

/// One step sees no farther than the slopes of the picture go on.
const MOST_CORRECTION: f64 = 4.0;

/// What the error must be times what it was: the vectors of a still camera's noise, and steps in it, let it fall by less.
const LESS_BY_VECTORS: f64 = 0.97;
const LESS_BY_STEP: f64 = 0.985;

/// The share of the texture that must follow the vectors' map.
const LEAST_FOLLOWING: f64 = 0.3;

/// Slopes that are less, across and down together, are noise.
const LEAST_SLOPE: f32 = 3.0;

/// Samples that a step must be computed from.
const LEAST_SAMPLES: u32 = 64;

/// What is known before the frame is looked at.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// The model.
    pub scene: &'a Scene,
    /// Gain and offset of the light of the frame before.
    pub light: (f32, f32),
    /// Errors count at most so much.
    pub limit: f32,
    /// Where a place of the frame before is in the model.
    pub to_model: Affine,
    /// Whether the camera has not moved for a while.
    pub is_still: bool,
}

/// Where a frame lies on the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aligned {
    /// Where a place of the frame is in the model.
    pub to_model: Affine,
    /// The mean error between both.
    pub error: f64,
}

/// Lays frames of one size on a model.
pub struct Aligner {
    instructions: Instructions,
    /// Each third row of the frame as the best map so far sees it, and as another one does.
    best: Rows,
    tried: Rows,
}

struct Rows {
    seen: Vec<f32>,
    is_seen: Vec<u8>,
}

impl Rows {
    fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let samples = height.div_ceil(STRIDE) * width;
        Ok(Self { seen: memory::values("a frame", samples)?, is_seen: memory::values("a frame", samples)? })
    }
}

/// Writes to `seen` the samples of `frame` at the places of the model, and to `is_seen` whether the frame has them.
pub fn resample(
    instructions: Instructions,
    frame: &FrameView<'_>,
    to_model: &Affine,
    seen: &mut [f32],
    is_seen: &mut [u8],
) {
    let width = frame.width();
    let to_frame = to_model.inverse().unwrap_or(Affine::IDENTITY);
    for (y, (seen, is_seen)) in seen.chunks_exact_mut(width).zip(is_seen.chunks_exact_mut(width)).enumerate()
    {
        resample_row(instructions, frame, &to_frame, y, seen, is_seen);
    }
}

fn resample_row(
    instructions: Instructions,
    frame: &FrameView<'_>,
    to_frame: &Affine,
    y: usize,
    seen: &mut [f32],
    is_seen: &mut [u8],
) {
    if *to_frame == Affine::IDENTITY {
        for (seen, &sample) in seen.iter_mut().zip(frame.row(y)) {
            *seen = f32::from(sample);
        }
        return is_seen.fill(1);
    }
    let plane = Plane { samples: frame.as_bytes(), stride: frame.stride(), size: frame.size() };
    resampling::row(instructions, plane, to_frame, y, Mix::Mean, seen, is_seen);
}

impl Aligner {
    /// For frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize), instructions: Instructions) -> Result<Self, SetupError> {
        Ok(Self { instructions, best: Rows::new(size)?, tried: Rows::new(size)? })
    }

    /// Finds where `frame` lies on the model: from where the frame before lay on, by what the vectors say, `fit`, and by small steps.
    /// `halved` is by how much the small frame is smaller than that of the vectors.
    pub fn find(
        &mut self,
        frame: &FrameView<'_>,
        before: &Before<'_>,
        fit: Option<&Fit>,
        halved: f64,
    ) -> Aligned {
        let size = frame.size();
        let Before { to_model, is_still, .. } = *before;
        let error = self.look(frame, before, &to_model);
        std::mem::swap(&mut self.best, &mut self.tried);
        let mut best = Aligned { to_model, error };
        // What the vectors say, if it is more than the noise of a still camera.
        if let Some(fit) = fit {
            let back = fit.map.scaled(1.0 / halved);
            let reach = back.reach(size);
            if fit.following >= LEAST_FOLLOWING && reach > LEAST_MOTION && reach < size.0 as f64 {
                self.try_map(frame, before, to_model.after(&back), LESS_BY_VECTORS, &mut best);
            }
        }
        let is_moving = !is_still || best.to_model != to_model;
        let least = if is_moving { LEAST_CORRECTION } else { LEAST_MOTION };
        for _ in 0..if is_moving { 2 } else { 1 } {
            let Some(step) = self.step(before) else { break };
            let is_worth = (least..MOST_CORRECTION).contains(&step.reach(size));
            if !is_worth || !self.try_map(frame, before, step.after(&best.to_model), LESS_BY_STEP, &mut best)
            {
                break;
            }
        }
        best
    }

    /// Takes a map for the best one if its error is less than `share` of that.
    fn try_map(
        &mut self,
        frame: &FrameView<'_>,
        before: &Before<'_>,
        to_model: Affine,
        share: f64,
        best: &mut Aligned,
    ) -> bool {
        let error = self.look(frame, before, &to_model);
        let is_better = error < share * best.error;
        if is_better {
            std::mem::swap(&mut self.best, &mut self.tried);
            *best = Aligned { to_model, error };
        }
        is_better
    }

    /// Sees the frame as a map does, and returns the mean of the errors between it and the model.
    fn look(&mut self, frame: &FrameView<'_>, before: &Before<'_>, to_model: &Affine) -> f64 {
        let to_frame = to_model.inverse().unwrap_or(Affine::IDENTITY);
        let ((width, height), scene) = (frame.size(), before.scene);
        let (gain, offset) = before.light;
        let (mut sum, mut count) = (0.0f64, 0u32);
        let rows = self.tried.seen.chunks_exact_mut(width).zip(self.tried.is_seen.chunks_exact_mut(width));
        for (y, (seen, is_seen)) in (1..height - 1).step_by(STRIDE).zip(rows) {
            resample_row(self.instructions, frame, &to_frame, y, seen, is_seen);
            let (mean, age) = (&scene.mean[y * width..][..width], &scene.age[y * width..][..width]);
            let mut row = 0.0f32;
            for x in (1..width - 1).step_by(STRIDE) {
                if is_seen[x] != 0 && age[x] >= 2.0 {
                    row += (seen[x] - gain * mean[x] - offset).abs().min(before.limit);
                    count += 1;
                }
            }
            sum += f64::from(row);
        }
        if count > 0 { sum / f64::from(count) } else { 0.0 }
    }

    /// The small map that lets the model look more like the frame: one Gauss-Newton step of an affine map, a gain and an offset, with
    /// weights that leave out what differs by much more than the limit (a Cauchy weight).
    fn step(&self, before: &Before<'_>) -> Option<Affine> {
        let Before { scene, light: (gain, offset), limit, .. } = *before;
        let (width, height) = scene.size();
        let unit = width.max(height) as f32 / 2.0;
        let (middle_x, middle_y) = (width as f32 / 2.0, height as f32 / 2.0);
        let mut sums = [[0.0f64; UNKNOWNS + 1]; UNKNOWNS];
        let mut count = 0u32;
        let rows = self.best.seen.chunks_exact(width).zip(self.best.is_seen.chunks_exact(width));
        for (y, (seen, is_seen)) in (1..height - 1).step_by(STRIDE).zip(rows) {
            let line = |y: usize| &scene.mean[y * width..][..width];
            let (above, mean, below) = (line(y - 1), line(y), line(y + 1));
            let age = &scene.age[y * width..][..width];
            let lines = Lines { above, mean, below, age, seen, is_seen };
            let (row, samples) =
                self.instructions.run(StepRow { lines, light: (gain, offset), limit, middle_x, unit });
            count += samples;
            // In a row v is the same.
            let v = [1.0, f64::from((y as f32 - middle_y) / unit)];
            for (i, sums) in sums.iter_mut().enumerate() {
                for (j, sum) in sums.iter_mut().enumerate().skip(i) {
                    let (a, b) = (TERMS[i], TERMS[j]);
                    *sum += f64::from(row[a.0.min(b.0)][a.0.max(b.0)]) * v[a.1] * v[b.1];
                }
            }
        }
        if count < LEAST_SAMPLES {
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
        let row =
            |p: &[f64]| [p[1] / unit, p[2] / unit, p[0] - p[1] * middle_x / unit - p[2] * middle_y / unit];
        let (mut x, mut y) = (row(&p[..3]), row(&p[3..6]));
        x[0] += 1.0;
        y[1] += 1.0;
        Some(Affine([x, y]))
    }
}

/// A row of the model, those above and below it, and what is seen of it.
struct Lines<'a> {
    above: &'a [f32],
    mean: &'a [f32],
    below: &'a [f32],
    age: &'a [f32],
    seen: &'a [f32],
    is_seen: &'a [u8],
}

/// What a row adds to a step: the weighted sums of all products of two factors, and the number of samples that the model knows. The products
/// below the diagonal are not needed, but without them the sums would be computed one by one.
struct StepRow<'a> {
    lines: Lines<'a>,
    light: (f32, f32),
    limit: f32,
    middle_x: f32,
    unit: f32,
}

impl<E: InstructionSet> Work<E, ([[f32; LANES]; FACTORS], u32)> for StepRow<'_> {
    #[inline(always)]
    fn run(self, _: E) -> ([[f32; LANES]; FACTORS], u32) {
        let Lines { above, mean, below, age, seen, is_seen } = self.lines;
        let (gain, offset) = self.light;
        let (mut row, mut count) = ([[0.0f32; LANES]; FACTORS], 0);
        for x in (1..mean.len() - 1).step_by(STRIDE) {
            if is_seen[x] == 0 || age[x] < 2.0 {
                continue;
            }
            let slope_x = (mean[x + 1] - mean[x - 1]) * 0.5 * gain;
            let slope_y = (below[x] - above[x]) * 0.5 * gain;
            count += 1;
            // Flat places say nothing of where they are.
            if slope_x.abs() + slope_y.abs() < LEAST_SLOPE {
                continue;
            }
            let error = seen[x] - gain * mean[x] - offset;
            let weight = 1.0 / (1.0 + (error / self.limit) * (error / self.limit));
            let u = (x as f32 - self.middle_x) / self.unit;
            let light = (mean[x] - 128.0) / 128.0;
            let factors = [slope_x, slope_x * u, slope_y, slope_y * u, 1.0, light, error, 0.0];
            for (sums, factor) in row.iter_mut().zip(factors) {
                let weighted = weight * factor;
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    *sum += weighted * factor;
                }
            }
        }
        (row, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_motion_of_the_camera_is_found_without_vectors() {
        const SIZE: (usize, usize) = (200, 120);
        let picture = |x: f64, y: f64| {
            128.0 + 40.0 * (x / 9.0).sin() * (y / 7.0).cos() + 25.0 * ((x + 2.0 * y) / 23.0).sin()
        };
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..10 {
            let mut part = |most: f64| (random.f64() - 0.5) * 2.0 * most;
            let to_model = Affine([
                [1.0 + part(0.008), part(0.008), part(1.0)],
                [part(0.008), 1.0 + part(0.008), part(1.0)],
            ]);
            let all = |place: &dyn Fn(f64, f64) -> (f64, f64)| -> Vec<f64> {
                (0..SIZE.0 * SIZE.1)
                    .map(|at| {
                        let (x, y) = place((at % SIZE.0) as f64, (at / SIZE.0) as f64);
                        picture(x, y)
                    })
                    .collect()
            };
            let mut scene = Scene::new(SIZE, Instructions::best()).unwrap();
            scene.mean = all(&|x, y| (x, y)).iter().map(|&sample| sample as f32).collect();
            scene.age.fill(50.0);
            let luma: Vec<u8> =
                all(&|x, y| to_model.apply(x, y)).iter().map(|&sample| (sample + 0.5) as u8).collect();
            let frame = FrameView::new(&luma, SIZE.0, SIZE.1, SIZE.0).unwrap();
            let mut aligner = Aligner::new(SIZE, Instructions::best()).unwrap();
            let mut found = Aligned { to_model: Affine::IDENTITY, error: 0.0 };
            // As in frame after frame of a camera that has moved once.
            for _ in 0..3 {
                let before = Before {
                    scene: &scene,
                    light: (1.0, 0.0),
                    limit: 6.0,
                    to_model: found.to_model,
                    is_still: false,
                };
                found = aligner.find(&frame, &before, None, 1.0);
            }
            let off = found.to_model.inverse().unwrap().after(&to_model).reach(SIZE);
            assert!(off < 0.3, "{off} {found:?} {to_model:?}");
            assert!(found.error < 1.0, "{found:?}");
        }
    }
}

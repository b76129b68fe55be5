//! The model of the scene without what moves: for each sample what is seen there, how much it varies, and what may take its place.

use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{SetupError, memory};

use crate::affine::Affine;
use crate::resampling::{self, Mix, Plane};

/// How fast the model follows what is seen, in seconds.
pub const MEMORY: f32 = 4.0;

/// A standard deviation by the mean of absolute deviations of a normal distribution.
pub const DEVIATION: f32 = 1.25;

/// The planes of the model, each `rows × columns`, row-major.
pub struct Scene {
    instructions: Instructions,
    size: (usize, usize),
    /// The mean of what is seen.
    pub mean: Vec<f32>,
    /// The mean absolute deviation from it.
    pub spread: Vec<f32>,
    /// How many frames it was seen in, as far as that still matters; 0 where nothing is known.
    pub age: Vec<f32>,
    /// What may take the place of the mean: what has been seen there instead.
    candidate: Vec<f32>,
    /// For how long it has been seen, in seconds.
    pub stay: Vec<f32>,
    /// How much the mean differs around a sample.
    pub texture: Vec<f32>,
    scratch: Vec<f32>,
    is_read: Vec<u8>,
    /// Whether something is known everywhere.
    is_complete: bool,
}

/// How the model learns from a frame.
#[derive(Clone, Copy, Debug)]
pub struct Learning {
    /// Seconds since the frame before.
    pub elapsed: f32,
    /// The share of a frame in the mean of a sample that is old.
    pub rate: f32,
    /// Seconds that something must be seen to become part of the scene.
    pub stay: f32,
    /// The standard deviation of the noise.
    pub noise: f32,
}

impl Scene {
    /// A model in which nothing is known.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize), instructions: Instructions) -> Result<Self, SetupError> {
        let plane = || memory::values("the model of a scene", size.0 * size.1);
        Ok(Self {
            instructions,
            size,
            mean: plane()?,
            spread: plane()?,
            age: plane()?,
            candidate: plane()?,
            stay: plane()?,
            texture: plane()?,
            scratch: plane()?,
            is_read: memory::values("the model of a scene", size.0)?,
            is_complete: false,
        })
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Whether anything is known, in its middle.
    pub fn is_known(&self) -> bool {
        self.age[self.size.0 * (self.size.1 / 2) + self.size.0 / 2] > 0.0
    }

    /// Forgets everything.
    pub fn restart(&mut self) {
        self.is_complete = false;
        self.age.fill(0.0);
        self.stay.fill(0.0);
    }

    /// Takes what is seen at places of which nothing is known.
    pub fn fill(&mut self, seen: &[f32], is_seen: &[u8], noise: f32) {
        if self.is_complete {
            return;
        }
        self.is_complete = true;
        for at in 0..seen.len() {
            if self.age[at] == 0.0 {
                self.is_complete &= is_seen[at] != 0;
                if is_seen[at] != 0 {
                    self.take(at, seen[at], 2.0 * noise + 1.0, 1.0);
                }
            }
        }
    }

    /// Takes what is seen in a place for the scene.
    fn take(&mut self, at: usize, seen: f32, spread: f32, age: f32) {
        (self.mean[at], self.spread[at], self.age[at], self.stay[at]) = (seen, spread, age, 0.0);
    }

    /// Finds how much the mean differs around each sample: the larger of the differences across and down, spread to its neighbours.
    pub fn measure_texture(&mut self) {
        let (width, height) = self.size;
        for y in 0..height {
            let row = |y: usize| y * width..(y + 1) * width;
            let (above, here, below) = (
                &self.mean[row(y.saturating_sub(1))],
                &self.mean[row(y)],
                &self.mean[row((y + 1).min(height - 1))],
            );
            let texture = &mut self.texture[row(y)];
            self.instructions.run(TextureRow { above, here, below, texture: &mut *texture });
            texture[0] = texture[1];
            texture[width - 1] = texture[width - 2];
        }
    }

    /// Moves the model so that what was at `(x + right, y + down)` is at `(x, y)`.
    pub fn scroll(&mut self, right: isize, down: isize) {
        self.is_complete = false;
        let (width, height) = (self.size.0 as isize, self.size.1 as isize);
        let planes = [&mut self.mean, &mut self.spread, &mut self.age, &mut self.candidate, &mut self.stay];
        for (index, plane) in planes.into_iter().enumerate() {
            let is_age = index == 2;
            // In an order in which no row is overwritten before it is read.
            for step in 0..height {
                let y = if down >= 0 { step } else { height - 1 - step };
                let from = y + down;
                let to = (y * width) as usize..((y + 1) * width) as usize;
                if !(0..height).contains(&from) || right.abs() >= width {
                    if is_age {
                        plane[to].fill(0.0);
                    }
                    continue;
                }
                let start = from * width;
                let (first, last) = (right.max(0), (width + right).min(width));
                plane.copy_within(
                    (start + first) as usize..(start + last) as usize,
                    to.start + (first - right) as usize,
                );
                if is_age {
                    plane[to.start..to.start + (first - right) as usize].fill(0.0);
                    plane[to.start + (last - right) as usize..to.end].fill(0.0);
                }
            }
        }
    }

    /// Makes the model one whose sample at a place is what was at `from` of that place.
    pub fn transform(&mut self, from: &Affine) {
        self.is_complete = false;
        let Self { instructions, size, mean, spread, age, candidate, stay, scratch, is_read, .. } = self;
        // What is only partly known is not known, and what did not stay everywhere did not stay.
        let planes = [
            (mean, Mix::Mean),
            (spread, Mix::Mean),
            (candidate, Mix::Least),
            (stay, Mix::Least),
            (age, Mix::Least),
        ];
        for (plane, mix) in planes {
            for (y, row) in scratch.chunks_exact_mut(size.0).enumerate() {
                let plane = Plane { samples: plane, stride: size.0, size: *size };
                resampling::row(*instructions, plane, from, y, mix, row, is_read);
            }
            std::mem::swap(plane, scratch);
        }
    }

    /// Learns a row from what is `seen` there, where the model expected `expected`. `is_object` tells which pairs of samples show
    /// something else than the scene.
    pub fn learn_row(
        &mut self,
        y: usize,
        seen: &[f32],
        is_seen: &[u8],
        expected: &[f32],
        is_object: &[u8],
        learning: &Learning,
    ) {
        let width = self.size.0;
        let row = y * width..(y + 1) * width;
        let (mean, spread) = (&mut self.mean[row.clone()], &mut self.spread[row.clone()]);
        let (age, stay) = (&mut self.age[row.clone()], &mut self.stay[row.clone()]);
        let candidate = &mut self.candidate[row];
        let Learning { elapsed, rate, stay: enough, noise } = *learning;
        if is_object.iter().all(|&is_object| is_object == 0) {
            return self.instructions.run(SceneRow {
                mean,
                spread,
                age,
                stay,
                seen,
                is_seen,
                expected,
                rate,
            });
        }
        for x in 0..width {
            if is_seen[x] == 0 {
                continue;
            }
            let difference = seen[x] - expected[x];
            if is_object[(x / 2).min(is_object.len() - 1)] == 0 {
                let rate = rate.max(1.0 / (age[x] + 1.0));
                mean[x] += rate * (seen[x] - mean[x]);
                spread[x] += rate * (difference.abs() - spread[x]);
                age[x] = (age[x] + 1.0).min(1000.0);
                stay[x] = 0.0;
            } else {
                // The light changes behind an object, too, and what comes and goes is seen to vary.
                mean[x] += rate * (expected[x] - mean[x]);
                spread[x] += 0.25 * rate * (difference.abs() - spread[x]);
                if (seen[x] - candidate[x]).abs() <= 2.0 * DEVIATION * spread[x].min(3.0 * noise) + 2.0
                    && stay[x] > 0.0
                {
                    candidate[x] += 0.1 * (seen[x] - candidate[x]);
                    stay[x] += elapsed;
                    if stay[x] >= enough {
                        (mean[x], spread[x], age[x], stay[x]) = (candidate[x], noise + 1.0, 8.0, 0.0);
                    }
                } else {
                    (candidate[x], stay[x]) = (seen[x], elapsed);
                }
            }
        }
    }

    /// Takes what is seen as the scene, at once, in a part of a row.
    pub fn adopt(&mut self, y: usize, columns: std::ops::Range<usize>, seen: &[f32], noise: f32) {
        let start = y * self.size.0;
        for x in columns {
            let at = start + x;
            self.take(at, seen[at], noise + 1.0, 4.0);
        }
    }
}

/// A row that shows the scene alone.
struct SceneRow<'a> {
    mean: &'a mut [f32],
    spread: &'a mut [f32],
    age: &'a mut [f32],
    stay: &'a mut [f32],
    seen: &'a [f32],
    is_seen: &'a [u8],
    expected: &'a [f32],
    rate: f32,
}

impl<E: InstructionSet> Work<E> for SceneRow<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { mean, spread, age, stay, seen, is_seen, expected, rate } = self;
        let width = mean.len();
        // With lengths that the compiler knows to be the same.
        let (spread, age, stay) = (&mut spread[..width], &mut age[..width], &mut stay[..width]);
        let (seen, is_seen, expected) = (&seen[..width], &is_seen[..width], &expected[..width]);
        for x in 0..width {
            let counts = f32::from(is_seen[x]);
            let rate = rate.max(1.0 / (age[x] + 1.0)) * counts;
            mean[x] += rate * (seen[x] - mean[x]);
            spread[x] += rate * ((seen[x] - expected[x]).abs() - spread[x]);
            age[x] = (age[x] + counts).min(1000.0);
            stay[x] *= 1.0 - counts;
        }
    }
}

/// A row whose texture is measured.
struct TextureRow<'a> {
    above: &'a [f32],
    here: &'a [f32],
    below: &'a [f32],
    texture: &'a mut [f32],
}

impl<E: InstructionSet> Work<E> for TextureRow<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { above, here, below, texture } = self;
        let samples = here.windows(3).zip(&above[1..]).zip(&below[1..]).zip(&mut texture[1..]);
        for (((here, above), below), texture) in samples {
            let across = (here[0] - here[1]).abs().max((here[2] - here[1]).abs());
            let down = (above - here[1]).abs().max((below - here[1]).abs());
            *texture = across.max(down);
        }
    }
}

//! How far a frame is from the model where nothing moves: the noise, and how much of the texture does not fit.

use motion_base::{SetupError, memory};

use crate::light::Light;
use crate::scene::{DEVIATION, Scene};

/// The side of the tiles whose noise is measured, and the rows from one to the next that is.
const TILE: usize = 16;
const TILE_ROWS: usize = 4;

/// The noise until it is known, the least and the most, in levels.
const FIRST: f32 = 2.0;
const LEAST: f32 = 0.3;
const MOST: f32 = 20.0;

/// Seconds in which it follows, and the most of one frame.
const SECONDS: f32 = 0.5;
const MOST_OF_FRAME: f32 = 0.2;

/// Rows and columns from one sample whose texture is compared to the next.
const STRIDE: usize = 3;

/// Texture that says how well it fits: so many levels, and so much noise.
const LEAST_TEXTURE: f32 = 6.0;
const LEAST_TEXTURE_IN_NOISE: f32 = 3.0;

/// Samples with texture that are needed.
const LEAST_SAMPLES: u32 = 64;

/// The bins of the shares, from 0 to 1.
const BINS: usize = 64;

/// The share of the samples with texture that fit better than the misfit: what moves covers fewer than the others.
const QUANTILE: f64 = 0.75;

/// The noise of a stream.
pub struct Noise {
    /// Its standard deviation in levels.
    pub level: f32,
    deviations: Vec<f32>,
}

impl Noise {
    /// For frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let tiles = width.div_ceil(TILE) * height.div_ceil(TILE);
        Ok(Self { level: FIRST, deviations: memory::values("the noise of tiles", tiles)? })
    }

    /// Measures it: the lower quartile of the mean deviations of tiles, which objects do not have.
    pub fn measure(&mut self, seen: &[f32], expected: &[f32], (width, height): (usize, usize), elapsed: f32) {
        self.deviations.clear();
        for y in (0..height).step_by(TILE) {
            for x in (0..width).step_by(TILE) {
                let (mut sum, mut count) = (0.0f32, 0.0f32);
                for y in (y..(y + TILE).min(height)).step_by(TILE_ROWS) {
                    let row = y * width + x..y * width + (x + TILE).min(width);
                    for (&seen, &expected) in seen[row.clone()].iter().zip(&expected[row]) {
                        sum += (seen - expected).abs();
                        count += 1.0;
                    }
                }
                self.deviations.push(sum / count.max(1.0));
            }
        }
        self.deviations.sort_unstable_by(f32::total_cmp);
        let quartile = self.deviations[self.deviations.len() / 4];
        let level = (DEVIATION * quartile).clamp(LEAST, MOST);
        self.level += (elapsed / SECONDS).min(MOST_OF_FRAME) * (level - self.level);
    }

    /// By which share of its texture most of the frame does not fit the model: as the lens is out of focus, the camera is not
    /// exactly where it was taken to be, or a coder has left out details.
    pub fn misfit(&self, scene: &Scene, light: &Light, seen: &[f32], is_seen: &[u8]) -> f32 {
        let (width, height) = scene.size();
        let (gain, offset) = light.global;
        let least = LEAST_TEXTURE + LEAST_TEXTURE_IN_NOISE * self.level;
        let (mut bins, mut count) = ([0u32; BINS], 0u32);
        for y in (1..height - 1).step_by(STRIDE) {
            let row = y * width..(y + 1) * width;
            let (mean, texture) = (&scene.mean[row.clone()], &scene.texture[row.clone()]);
            let (seen, is_seen) = (&seen[row.clone()], &is_seen[row]);
            for x in (1..width - 1).step_by(STRIDE) {
                let texture = texture[x] * gain;
                if texture >= least && is_seen[x] != 0 {
                    let difference = (seen[x] - gain * mean[x] - offset).abs();
                    let share = (difference - self.level).max(0.0) / texture;
                    bins[((share * BINS as f32) as usize).min(BINS - 1)] += 1;
                    count += 1;
                }
            }
        }
        if count < LEAST_SAMPLES {
            return 0.0;
        }
        let mut left = (f64::from(count) * QUANTILE) as u32;
        for (bin, &count) in bins.iter().enumerate() {
            if count > left {
                return (bin as f32 + left as f32 / count as f32) / BINS as f32;
            }
            left -= count;
        }
        1.0
    }
}

//! How the light differs between the model and a frame: a gain and an offset, of the whole frame and of its parts.

use std::ops::Range;

use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{SetupError, memory};

use crate::scene::Scene;

/// The side of a tile, in samples.
pub const TILE: usize = 16;

/// Tiles of which a gain can be told have at least this mean, and a row of them at least so many.
const LEAST_LIT: f32 = 16.0;
const LEAST_TILES: usize = 8;

/// What the samples of a tile have in common with the model.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f32,
    model: f32,
    seen: f32,
    /// Sums of products of deviations from the means.
    model_model: f32,
    seen_seen: f32,
    model_seen: f32,
}

/// The light of a tile: what is expected is `gain * mean + offset`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TileLight {
    /// The gain.
    pub gain: f32,
    /// The offset.
    pub offset: f32,
    /// How far that is from the light of the whole frame, in levels.
    pub local: f32,
}

/// The light of a frame.
pub struct Light {
    instructions: Instructions,
    /// Tiles across and down.
    pub tiles: (usize, usize),
    moments: Vec<Moments>,
    /// The mean of each tile in the frame before.
    before: Vec<f32>,
    gains: Vec<f32>,
    /// Those of the tiles of a row, in order.
    band_gains: Vec<f32>,
    offsets: Vec<f32>,
    /// The light of each tile.
    pub local: Vec<TileLight>,
    /// Gain and offset of the whole frame.
    pub global: (f32, f32),
    /// The share of the tiles whose mean is not what the model says.
    pub changed: f32,
    /// The share of those that the light of the whole frame does not explain.
    pub unexplained: f32,
    /// The share of the tiles whose mean has changed since the frame before.
    pub sudden: f32,
    /// The correlation of the samples with the model inside of tiles, of all tiles together.
    pub correlation: f32,
}

impl Light {
    /// For a model of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize), instructions: Instructions) -> Result<Self, SetupError> {
        let tiles = (width.div_ceil(TILE), height.div_ceil(TILE));
        let count = tiles.0 * tiles.1;
        let floats = || memory::values("the light of a frame", count);
        Ok(Self {
            instructions,
            tiles,
            moments: memory::values("the light of a frame", count)?,
            before: floats()?,
            gains: floats()?,
            band_gains: Vec::with_capacity(tiles.0),
            offsets: floats()?,
            local: memory::values("the light of a frame", count)?,
            global: (1.0, 0.0),
            changed: 0.0,
            unexplained: 0.0,
            sudden: 0.0,
            correlation: 1.0,
        })
    }

    fn measure_tiles(&mut self, scene: &Scene, seen: &[f32], is_seen: &[u8]) {
        let (width, height) = scene.size();
        for tile_y in 0..self.tiles.1 {
            for tile_x in 0..self.tiles.0 {
                // Lanes that are added at the end: the compiler may not reorder sums of floats.
                let mut lanes = [[0.0f32; 8]; 6];
                let columns = tile_x * TILE..((tile_x + 1) * TILE).min(width);
                let rows = tile_y * TILE..((tile_y + 1) * TILE).min(height);
                let (mean, stride) = (&scene.mean[..], width);
                self.instructions.run(Tile { mean, seen, is_seen, stride, rows, columns, lanes: &mut lanes });
                let [count, model, seen, model_model, seen_seen, model_seen] =
                    lanes.map(|lanes| lanes.iter().fold(0.0, |sum, lane| sum + lane));
                let share = 1.0 / count.max(1.0);
                self.moments[tile_y * self.tiles.0 + tile_x] = Moments {
                    count,
                    model: model * share + 128.0,
                    seen: seen * share + 128.0,
                    model_model: (model_model - model * model * share).max(0.0),
                    seen_seen: (seen_seen - seen * seen * share).max(0.0),
                    model_seen: model_seen - model * seen * share,
                };
            }
        }
    }

    /// Measures the light of a frame. `is_settling`: parts of the frame may have gains of their own.
    pub fn measure(&mut self, scene: &Scene, seen: &[f32], is_seen: &[u8], noise: f32, is_settling: bool) {
        self.measure_tiles(scene, seen, is_seen);
        self.global = self.fit();
        let (gain, offset) = self.global;
        let limit = 2.0 + noise;
        let (mut tiles, mut changed, mut unexplained, mut sudden) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
        let (mut model_model, mut seen_seen, mut model_seen) = (1.0f32, 1.0f32, 0.0f32);
        for (tile, before) in self.moments.iter().zip(&mut self.before) {
            if tile.count >= 1.0 {
                tiles += 1.0;
                changed += f32::from((tile.seen - tile.model).abs() > limit);
                unexplained += f32::from((tile.seen - gain * tile.model - offset).abs() > limit);
                sudden += f32::from((tile.seen - *before).abs() > limit);
                model_model += tile.model_model;
                seen_seen += tile.seen_seen;
                model_seen += tile.model_seen;
            }
            *before = tile.seen;
        }
        let share = 1.0 / tiles.max(1.0);
        (self.changed, self.unexplained, self.sudden) =
            (changed * share, unexplained * share, sudden * share);
        self.correlation = (model_seen / (model_model * seen_seen).sqrt()).clamp(-1.0, 1.0);
        self.spread_locally(noise, is_settling);
    }

    /// The gain and the offset that the means of most tiles follow, and with less weight the samples inside of tiles.
    fn fit(&self) -> (f32, f32) {
        let (mut gain, mut offset) = (1.0f64, 0.0f64);
        for scale in [64.0f64, 24.0, 12.0, 6.0, 3.0, 3.0, 3.0] {
            let (mut n, mut m, mut s) = (0.0f64, 0.0f64, 0.0f64);
            let (mut mm, mut ms) = (0.0f64, 0.0f64);
            for tile in &self.moments {
                let (model, seen) = (f64::from(tile.model), f64::from(tile.seen));
                let error = (seen - gain * model - offset) / scale;
                let fits = 1.0 / (1.0 + error * error);
                let weight = fits * fits * f64::from(tile.count);
                n += weight;
                m += weight * model;
                s += weight * seen;
                mm += weight * model * model + fits * fits * f64::from(tile.model_model);
                ms += weight * model * seen + fits * fits * f64::from(tile.model_seen);
            }
            if n < 1.0 {
                return (1.0, 0.0);
            }
            let (mean_m, mean_s) = (m / n, s / n);
            let (variance, covariance) = (mm / n - mean_m * mean_m, ms / n - mean_m * mean_s);
            // A prior of one: tiles of about the same brightness say little of the gain.
            let prior = 16.0;
            gain = ((covariance + prior) / (variance + prior)).clamp(0.1, 8.0);
            offset = mean_s - gain * mean_m;
        }
        (gain as f32, offset as f32)
    }

    /// The gain of a row of tiles: the median of theirs, with the offset of the frame. Lamps at the mains and a shutter that rolls make
    /// bands across the frame, which move up or down.
    fn band(&mut self, y: usize) -> f32 {
        let (gain, offset) = self.global;
        let columns = self.tiles.0;
        self.band_gains.clear();
        for tile in &self.moments[y * columns..(y + 1) * columns] {
            if tile.count >= 1.0 && tile.model >= LEAST_LIT {
                self.band_gains.push((tile.seen - offset) / tile.model);
            }
        }
        if self.band_gains.len() < LEAST_TILES {
            return gain;
        }
        self.band_gains.sort_unstable_by(f32::total_cmp);
        self.band_gains[self.band_gains.len() / 2].clamp(0.7 * gain, 1.4 * gain)
    }

    /// Gives each tile the light of the median of the tiles around it: an object that covers less than half of them has no say.
    fn spread_locally(&mut self, noise: f32, is_settling: bool) {
        let (columns, rows) = self.tiles;
        let (global_gain, global_offset) = self.global;
        let around = |at: usize, length: usize| at.saturating_sub(1)..(at + 2).min(length);
        for y in 0..rows {
            let band = self.band(y);
            for x in 0..columns {
                let mut gain = band;
                if is_settling {
                    let mut sums = Moments::default();
                    for tile in around(y, rows).flat_map(|y| around(x, columns).map(move |x| y * columns + x))
                    {
                        let tile = &self.moments[tile];
                        sums.count += tile.count;
                        sums.model_model += tile.model_model;
                        sums.seen_seen += tile.seen_seen;
                        sums.model_seen += tile.model_seen;
                    }
                    let prior = (16.0 + noise * noise) * sums.count;
                    let is_alike = sums.model_seen > 0.0
                        && sums.model_seen * sums.model_seen > 0.5 * sums.model_model * sums.seen_seen;
                    if is_alike {
                        let found = (sums.model_seen + prior * global_gain) / (sums.model_model + prior);
                        gain = found.clamp(0.1, 8.0);
                    }
                }
                let index = y * columns + x;
                let tile = &self.moments[index];
                self.gains[index] = gain;
                self.offsets[index] =
                    if tile.count >= 1.0 { tile.seen - gain * tile.model } else { global_offset };
            }
        }
        for y in 0..rows {
            for x in 0..columns {
                let mut offsets = [0.0f32; 9];
                let mut count = 0;
                for tile in around(y, rows).flat_map(|y| around(x, columns).map(move |x| y * columns + x)) {
                    offsets[count] = self.offsets[tile];
                    count += 1;
                }
                offsets[..count].sort_unstable_by(f32::total_cmp);
                let index = y * columns + x;
                let (gain, offset) = (self.gains[index], offsets[count / 2]);
                let model = self.moments[index].model;
                let local = (gain - global_gain) * model + offset - global_offset;
                self.local[index] = TileLight { gain, offset, local: local.abs() };
            }
        }
    }

    /// Writes the light of each sample of row `y`, between the middles of tiles linear.
    pub fn row(&self, y: usize, gain: &mut [f32], offset: &mut [f32], local: &mut [f32]) {
        let (columns, rows) = self.tiles;
        let at = ((y as f32 + 0.5) / TILE as f32 - 0.5).clamp(0.0, (rows - 1) as f32);
        let (above, share) = (at as usize, at - at.floor());
        let below = (above + 1).min(rows - 1);
        let mix = |a: f32, b: f32, share: f32| a + (b - a) * share;
        let tile = |x: usize| {
            let (a, b) = (&self.local[above * columns + x], &self.local[below * columns + x]);
            [mix(a.gain, b.gain, share), mix(a.offset, b.offset, share), mix(a.local, b.local, share)]
        };
        let width = gain.len();
        // From the middle of one tile to that of the next.
        let mut x = 0;
        for pair in 0..=columns {
            let (left, right) = (tile(pair.saturating_sub(1)), tile(pair.min(columns - 1)));
            let end = if pair == columns { width } else { (pair * TILE + TILE / 2).min(width) };
            let first = (x as f32 + 0.5 + (TILE / 2) as f32) / TILE as f32 - pair as f32;
            let end = end.max(x);
            self.instructions.run(BetweenTiles {
                left,
                right,
                first,
                rows: [&mut gain[x..end], &mut offset[x..end], &mut local[x..end]],
            });
            x = end;
        }
    }
}

/// The light of samples from the middle of a tile to that of the next.
struct BetweenTiles<'a> {
    left: [f32; 3],
    right: [f32; 3],
    /// Where the first sample is on the way, in tiles.
    first: f32,
    rows: [&'a mut [f32]; 3],
}

impl<E: InstructionSet> Work<E> for BetweenTiles<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        for (index, row) in self.rows.into_iter().enumerate() {
            let (left, right) = (self.left[index], self.right[index]);
            for (at, sample) in row.iter_mut().enumerate() {
                let share = self.first + (at as u32 as i32 as f32) / TILE as f32;
                *sample = left + (right - left) * share;
            }
        }
    }
}

/// A tile, and the sums to which it is added.
struct Tile<'a> {
    mean: &'a [f32],
    seen: &'a [f32],
    is_seen: &'a [u8],
    stride: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    lanes: &'a mut [[f32; 8]; 6],
}

impl Tile<'_> {
    /// Adds eight samples to as many lanes, in an order that the compiler turns into vectors: one moment after the other.
    #[inline(always)]
    fn add(lanes: &mut [[f32; 8]; 6], mean: &[f32; 8], seen: &[f32; 8], is_seen: &[u8; 8]) {
        let counts: [f32; 8] = std::array::from_fn(|lane| f32::from(is_seen[lane]));
        // Around mid grey, where squares of floats lose nothing.
        let mean: [f32; 8] = std::array::from_fn(|lane| (mean[lane] - 128.0) * counts[lane]);
        let seen: [f32; 8] = std::array::from_fn(|lane| (seen[lane] - 128.0) * counts[lane]);
        let product = |a: &[f32; 8], b: &[f32; 8]| std::array::from_fn(|lane| a[lane] * b[lane]);
        let moments =
            [counts, mean, seen, product(&mean, &mean), product(&seen, &seen), product(&mean, &seen)];
        for (sums, values) in lanes.iter_mut().zip(&moments) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
    }
}

impl<E: InstructionSet> Work<E> for Tile<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let mut lanes = *self.lanes;
        for y in self.rows {
            let row = y * self.stride + self.columns.start..y * self.stride + self.columns.end;
            let (means, mean_rest) = self.mean[row.clone()].as_chunks::<8>();
            let (seens, seen_rest) = self.seen[row.clone()].as_chunks::<8>();
            let (flags, flag_rest) = self.is_seen[row].as_chunks::<8>();
            for ((means, seens), flags) in means.iter().zip(seens).zip(flags) {
                Self::add(&mut lanes, means, seens, flags);
            }
            if !mean_rest.is_empty() {
                let (mut means, mut seens, mut flags) = ([0.0; 8], [0.0; 8], [0; 8]);
                means[..mean_rest.len()].copy_from_slice(mean_rest);
                seens[..seen_rest.len()].copy_from_slice(seen_rest);
                flags[..flag_rest.len()].copy_from_slice(flag_rest);
                Self::add(&mut lanes, &means, &seens, &flags);
            }
        }
        *self.lanes = lanes;
    }
}

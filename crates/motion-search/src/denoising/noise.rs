//! How much noise a frame has, by brightness.

use super::rules::{NOISE_GAINS, SAMPLES, Strength};

/// Brightness is divided into as many levels, each with its own noise.
const LEVELS: usize = 8;

/// A level has its own estimate if it has at least as many blocks; else that of the whole frame holds.
const LEAST_BLOCKS: usize = 64;

/// The noise of a level is at most as many times that of the frame: in a frame without noise a level whose blocks all move
/// would seem to have some.
const MOST_OF_LEVEL: u64 = 16;

/// Darker and brighter blocks, in samples of eight bits, tell little: samples cannot go further down or up.
const DARKEST: u64 = 16;
const BRIGHTEST: u64 = 235;

/// A block whose texture has as many times the variance of the noise must be found by the search.
const TEXTURE: u64 = 16;

/// Such a block is found if its texture has at least as many times the variance of the difference.
const FOUND: u64 = 4;

/// A block whose difference has more than as many times its variance is not found either: it has another brightness.
const OTHER: u64 = 4;

/// The luma of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockLuma {
    pub samples: u64,
    pub sum: u64,
    /// The sum of squares.
    pub squares: u64,
}

impl BlockLuma {
    /// Whether noise can be estimated from it.
    fn is_usable(&self, depth: u32) -> bool {
        let limit = |level: u64| (SAMPLES * level) << (depth - 8);
        self.samples == SAMPLES && (limit(DARKEST)..=limit(BRIGHTEST)).contains(&self.sum)
    }

    fn level(&self, depth: u32) -> usize {
        ((LEVELS as u64 * self.sum / self.samples) >> depth) as usize
    }

    /// The variance of a whole block's samples times their number.
    fn texture(&self) -> u64 {
        self.squares - self.sum * self.sum / SAMPLES
    }

    /// The most noise that a whole block has: its variance, or that of the level by which coded video flickers.
    fn most_noise(&self, depth: u32) -> u64 {
        self.texture().max(SAMPLES << (2 * (depth - 8)))
    }
}

/// The prediction of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockError {
    /// The sum of squared differences.
    pub sum: u64,
    /// The fraction of its vector, in quarter samples.
    pub fraction: (u8, u8),
}

impl BlockError {
    /// How much of a sample's noise the prediction has, in 256ths.
    pub fn gain(&self) -> u32 {
        NOISE_GAINS[usize::from(self.fraction.1)][usize::from(self.fraction.0)]
    }

    /// The noise of one frame in the difference of two.
    fn noise(&self) -> u64 {
        256 * self.sum / (256 + u64::from(self.gain()))
    }
}

/// Memory for what each block tells, which is used for all frames.
#[derive(Default)]
pub(super) struct NoiseMemory {
    of_levels: [Vec<u64>; LEVELS],
    of_all: Vec<u64>,
}

/// The noise of a frame for each of eight levels of brightness: the sum of squares that it has in a block of 8 x 8
/// samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoiseLevels {
    levels: [u64; LEVELS],
    depth: u32,
}

impl NoiseLevels {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.levels == [0; LEVELS]
    }

    /// The standard deviation of the noise of samples of `brightness`.
    ///
    /// # Panics
    /// If samples have no such value.
    pub fn deviation(&self, brightness: u16) -> f64 {
        let level = (LEVELS * usize::from(brightness)) >> self.depth;
        (self.levels[level] as f64 / SAMPLES as f64).sqrt()
    }

    /// The mean standard deviation over the levels.
    pub fn mean_deviation(&self) -> f64 {
        let deviation = |noise: &u64| (*noise as f64 / SAMPLES as f64).sqrt();
        self.levels.iter().map(deviation).sum::<f64>() / LEVELS as f64
    }

    /// The noise in `block`.
    pub(super) fn of(&self, block: &BlockLuma) -> u64 {
        self.levels[block.level(self.depth)]
    }

    /// The noise that is taken out.
    pub(super) fn times(mut self, strength: Strength) -> Self {
        self.levels.iter_mut().for_each(|noise| *noise = strength.of(*noise));
        self
    }

    /// The least of `estimates`: those from the frames before and after, of which one may belong to another scene.
    pub(super) fn least(depth: u32, estimates: impl Iterator<Item = NoiseEstimate>) -> Self {
        let least = estimates.min_by_key(|estimate| estimate.whole);
        least.map_or(Self { levels: [0; LEVELS], depth }, |estimate| estimate.levels)
    }
}

/// The noise of a frame by its prediction from one other frame.
pub(super) struct NoiseEstimate {
    /// Without regard to brightness.
    whole: u64,
    levels: NoiseLevels,
}

impl NoiseEstimate {
    /// Of a frame of samples of `depth` bits, from its `blocks` and the `errors` of their predictions; `None` if no block
    /// tells any.
    ///
    /// Half of the squared difference of two frames is noise where the motion is found, and more where it is not. So the
    /// quarter of the blocks with the least differences tell it: their limit is 7/8 of the mean of white noise.
    pub fn new(
        depth: u32,
        blocks: &[BlockLuma],
        errors: &[BlockError],
        NoiseMemory { of_levels, of_all }: &mut NoiseMemory,
    ) -> Option<Self> {
        let usable = || blocks.iter().zip(errors).filter(|(block, _)| block.is_usable(depth));
        of_levels.iter_mut().for_each(Vec::clear);
        of_all.clear();
        for (block, error) in usable() {
            let noise = error.noise().min(block.most_noise(depth));
            of_levels[block.level(depth)].push(noise);
            of_all.push(noise);
        }
        let whole = noise_of(of_all)?;
        let mut levels = of_levels.each_mut().map(|noise| match noise.len() {
            LEAST_BLOCKS.. => noise_of(noise).unwrap_or(whole).min(MOST_OF_LEVEL * whole),
            _ => whole,
        });
        // Where the search does not find what it must find, differences do not tell noise.
        let (mut all, mut lost) = (0, 0_u64);
        for (block, error) in usable() {
            let is_textured = block.texture() >= TEXTURE * levels[block.level(depth)];
            let is_telling = is_textured || error.sum > OTHER * block.most_noise(depth);
            all += 1;
            lost += u64::from(is_telling && FOUND * error.sum > block.texture());
        }
        // Full trust up to 3/16 of all blocks, none from 4/16 on.
        let trust = (4_u64 * all).saturating_sub(16 * lost).min(all);
        levels.iter_mut().for_each(|noise| *noise = *noise * trust / all);
        Some(Self { whole, levels: NoiseLevels { levels, depth } })
    }
}

/// The noise of blocks, from what each tells; `None` if there are none.
fn noise_of(blocks: &mut [u64]) -> Option<u64> {
    let at = blocks.len() / 4;
    (!blocks.is_empty()).then(|| *blocks.select_nth_unstable(at).1 * 8 / 7)
}

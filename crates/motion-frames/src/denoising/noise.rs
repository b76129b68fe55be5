//! What blocks tell about noise.

use super::limits::{CLIPPED, EVEN, FOUND, LEAST, LEFT, LIGHT, LOSS, MORE_TEXTURE, PLAIN, TEXTURE};
use super::rules::SAMPLES;

/// What the samples of luma are in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LumaBlock {
    samples: u32,
    sum: u32,
    /// The squared differences from the mean.
    pub variation: u64,
    /// The part of `variation` by which neighbouring samples agree: noise has none.
    structure: u64,
}

/// What the samples of all planes of chroma are in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ChromaBlock {
    pub samples: u64,
    /// The squared differences from the mean of each component.
    pub variation: u64,
    pub bends: Bends,
}

/// Sums over the samples of a block, of products of their second differences: those along rows, along columns, and of
/// both. Linear interpolation loses these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Bends {
    pub along: u64,
    pub down: u64,
    pub both: i64,
}

impl Bends {
    /// The squared error of linear interpolation at these eighths between samples.
    ///
    /// At `f` between two samples it is half of `f (1 - f)` times the second difference on that axis.
    fn lost(&self, fraction: [u8; 2]) -> u64 {
        let [x, y] = lost_parts(fraction);
        let squares = x * x * self.along + y * y * self.down;
        squares.saturating_add_signed(2 * (x * y) as i64 * self.both) / (128 * 128)
    }
}

/// What linear interpolation seems to lose of white noise of variance 256: the noise has second differences of variance 6,
/// and the product of both has a mean of 4.
fn lost_of_noise(fraction: [u8; 2]) -> u64 {
    let [x, y] = lost_parts(fraction);
    (6 * (x * x + y * y) + 8 * x * y) / 64
}

/// Half of `f (1 - f)` on each axis, in 128ths.
fn lost_parts(fraction: [u8; 2]) -> [u64; 2] {
    fraction.map(|eighths| u64::from(eighths * (8 - eighths)))
}

/// `total / samples`. Whole blocks have a power of two of them: a shift takes less time than a division.
pub(super) fn per_sample(total: u64, samples: u64) -> u64 {
    if samples.is_power_of_two() { total >> samples.trailing_zeros() } else { total / samples }
}

/// The most noise that a block of so many samples with this variation has, in 64 samples: its variation, or that of
/// a difference of 1 in eight bits, by which coded video flickers.
fn most_noise(variation: u64, samples: u64, depth: u32) -> u64 {
    per_sample(variation * SAMPLES, samples).max(least_noise(depth))
}

impl LumaBlock {
    /// A block by the sums of its samples, their squares, and the squared differences of those beside each other
    /// in a row.
    pub fn new(samples: u64, sum: u64, squares: u64, steps: u64) -> Self {
        let variation = squares - per_sample(sum * sum, samples);
        // White noise differs by twice its variance, and 8 x 8 samples have 7 x 8 pairs.
        let structure = variation.saturating_sub(steps * 4 / 7);
        // 64 samples of 16 bits have a sum of 22.
        Self { samples: samples as u32, sum: sum as u32, variation, structure }
    }

    pub fn samples(&self) -> u64 {
        self.samples.into()
    }

    pub fn sum(&self) -> u64 {
        self.sum.into()
    }

    /// Whether all its samples are in the frame.
    pub fn is_whole(&self) -> bool {
        self.samples() == SAMPLES
    }

    /// The part of `variation` by which neighbouring samples agree.
    pub fn structure(&self) -> u64 {
        self.structure
    }

    /// The part of `variation` by which neighbouring samples differ.
    pub fn white(&self) -> u64 {
        self.variation - self.structure
    }

    /// Whether there is no texture that stands out of `noise`.
    pub fn is_plain(&self, noise: u64) -> bool {
        PLAIN * self.structure <= noise
    }

    /// Whether a prediction with this `difference` shows that the search has found the texture of this whole block.
    pub fn is_found(&self, difference: u64) -> bool {
        FOUND * difference <= self.variation
    }

    /// Whether a prediction with this `difference` shows that the search has not found this whole block: there is texture,
    /// which stands out of `noise`, but it is in the difference. The frame has noise of `sure`, if it is sure that this is noise,
    /// however coarse.
    pub fn is_lost(&self, noise: u64, sure: Option<u64>, difference: u64, depth: u32) -> bool {
        if self.is_found(difference) {
            return false;
        }
        let is_texture = self.variation >= TEXTURE * noise
            || difference > MORE_TEXTURE * most_noise(self.variation, self.samples(), depth);
        // Where a whole area is lost, its texture seems to be its noise. But noise has no structure, unless it is coarse.
        let is_coarse_noise = sure.is_some_and(|sure| difference <= 2 * MORE_TEXTURE * sure);
        let is_structure = !is_coarse_noise
            && self.structure >= self.variation * 3 / 4
            && self.variation > least_noise(depth);
        is_texture || is_structure && difference > self.variation
    }
}

impl ChromaBlock {
    /// Adds components of so many samples each by the sums of these, and those of their squares.
    pub fn add(&mut self, samples: u64, sums: &[u64], squares: u64, bends: Bends) {
        self.samples += samples * sums.len() as u64;
        self.variation += squares - sums.iter().map(|sum| per_sample(sum * sum, samples)).sum::<u64>();
        self.bends.along += bends.along;
        self.bends.down += bends.down;
        self.bends.both += bends.both;
    }
}

/// The noise of 64 samples of a deviation of 1 in eight bits.
pub(super) fn least_noise(depth: u32) -> u64 {
    SAMPLES << (2 * (depth - 8))
}

/// The difference of a block of luma and its prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LumaError {
    /// The sum of squared differences.
    pub sum: u64,
    /// The same without the difference of the means.
    pub variation: u64,
    /// How much of a sample's noise the prediction has, in 256ths.
    pub gain: u16,
    /// How much brighter the block is, on the mean of its samples.
    pub brighter: i32,
}

impl LumaError {
    /// That of `block`, by the squared differences and the sum of the predicted samples.
    pub fn new(block: &LumaBlock, squares: u64, predicted: u64, gain: u16) -> Self {
        let (samples, sum) = (block.samples(), block.sum());
        let variation = squares - per_sample(sum.abs_diff(predicted).pow(2), samples);
        let twice = 2 * (sum as i64 - predicted as i64) + samples as i64;
        let brighter = match samples {
            SAMPLES => twice >> (SAMPLES.ilog2() + 1),
            samples => twice.div_euclid(2 * samples as i64),
        };
        Self { sum: squares, variation, gain, brighter: brighter as i32 }
    }

    /// Whether the brightness of the block has changed.
    pub fn is_of_other_light(&self) -> bool {
        SAMPLES * (self.sum - self.variation) > LIGHT * self.variation
    }

    /// The squared difference; if light `flickers`, without that of the means.
    pub fn difference(&self, flickers: bool) -> u64 {
        if flickers { self.variation } else { self.sum }
    }

    /// Whether `block` is flat and repeats the other frame.
    pub fn is_flat_repeat(&self, block: &LumaBlock) -> bool {
        self.sum == 0 && block.variation == 0
    }

    /// The noise of the whole block `block`: 0 if the frames repeat each other; `None` if it cannot be told, as in bars.
    pub fn noise(&self, block: &LumaBlock, flickers: bool, depth: u32) -> Option<u64> {
        if self.is_flat_repeat(block) {
            return None;
        }
        let noise = 256 * self.difference(flickers) / (256 + u64::from(self.gain));
        without_clipping(noise.min(most_noise(block.variation, block.samples(), depth)), block, depth)
    }
}

/// The difference of a block of chroma and its prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ChromaError {
    /// The sum of squared differences.
    pub sum: u64,
    /// How much of a sample's noise the prediction has, in 256ths.
    pub gain: u16,
    /// The place of the predicted samples between those of the other frame, in eighths.
    pub fraction: [u8; 2],
}

impl ChromaError {
    /// Adds a plane by the squared differences.
    pub fn add(&mut self, squares: u64, gain: u16, fraction: [u8; 2]) {
        *self = Self { sum: self.sum + squares, gain, fraction };
    }

    /// The noise of `block`.
    pub fn noise(&self, block: &ChromaBlock, depth: u32) -> u64 {
        let part = LOSS * lost_of_noise(self.fraction) / 2;
        let lost = LOSS * block.bends.lost(self.fraction) / 2;
        let noise = 256 * SAMPLES * self.sum.saturating_sub(lost)
            / (block.samples * (256 + u64::from(self.gain) - part));
        let noise = noise.max(u64::from(self.sum > 0));
        noise.min(most_noise(block.variation, block.samples, depth))
    }
}

/// Whether light flickers: the brightness has changed in so many of the blocks, which is most of them.
pub(super) fn flickers(changed: usize, blocks: usize) -> bool {
    2 * changed > blocks
}

/// The lower quartile of what blocks of one noise tell, as a part of the mean, in 256ths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LowerQuartile(u64);

impl LowerQuartile {
    /// That of white noise in blocks of so many samples: of a chi-squared distribution of so many degrees of freedom.
    pub fn of_white(samples: u64) -> Self {
        Self(match samples {
            ..=48 => 209,
            49..=96 => 224,
            _ => 234,
        })
    }

    /// That of noise in blocks of luma whose neighbouring samples differ by the part `white` of their variation, in 256ths:
    /// the coarser it is, the fewer of the samples are independent. Measured with noise blurred by 0.7 to 2 samples.
    pub fn of_coarse(white: u64) -> Self {
        Self((64 + white * 5 / 4).min(Self::of_white(SAMPLES).0))
    }
}

/// The noise that blocks tell, whose noise has this `quartile`; `None` if there are none.
///
/// Part of a difference is noise where the motion is found, and more where it is not. So the quarter of the blocks with
/// the least differences tell it.
pub(super) fn noise_of(told: &mut [u64], quartile: LowerQuartile) -> Option<u64> {
    let at = told.len() / 4;
    (!told.is_empty()).then(|| *told.select_nth_unstable(at).1 * 256 / quartile.0)
}

/// Whether all that blocks of a frame tell is noise, however coarse.
pub(super) fn are_even(told: &mut [u64]) -> bool {
    let (quarter, most) = (told.len() / 4, told.len() * 15 / 16);
    !told.is_empty() && *told.select_nth_unstable(most).1 <= EVEN * *told.select_nth_unstable(quarter).1
}

/// Whether blocks of a frame tell of noise, however coarse, rather than of what coding and motion leave: half of them tell
/// at most twice what the lower quartile of them tells.
pub(super) fn are_of_one_kind(told: &mut [u64]) -> bool {
    if told.is_empty() {
        return false;
    }
    let (quarter, half) = (told.len() / 4, told.len() / 2);
    let half = *told.select_nth_unstable(half).1;
    half <= 2 * *told.select_nth_unstable(quarter).1
}

/// Whether blocks tell `noise`: white noise is alike in all of them, motion and coding are not. What is less than `little` is
/// alike, too.
pub(super) fn are_alike(told: &[u64], noise: u64, little: u64) -> bool {
    // One of twenty blocks with white noise tells more.
    let most = little.max(noise * 4 / 3);
    let unlike = told.iter().filter(|told| **told > most).count();
    8 * unlike <= told.len()
}

/// The noise that is taken out, of the noise that is known.
pub(super) fn worthwhile(noise: u64) -> u64 {
    if noise < LEAST { 0 } else { noise }
}

/// The value of `table` for the mean of `block` and the deviation of `noise`.
fn part_left(table: &[u64; 12], noise: u64, block: &LumaBlock, depth: u32) -> u64 {
    let (samples, sum) = (block.samples(), block.sum());
    let most = samples * ((1 << depth) - 1);
    let from_limit = sum.min(most.saturating_sub(sum));
    // The mean is more than 11 quarters of the deviation away.
    if SAMPLES * from_limit.pow(2) >= 8 * noise * samples.pow(2) {
        return 256;
    }
    // In 256ths of a quarter: the deviation is an eighth of the root of the noise of 64 samples.
    let at = ((from_limit << 21) / samples) / (noise << 16).isqrt().max(1);
    let index = (at / 256) as usize;
    match table.get(index..index + 2) {
        Some(&[low, high]) => low + (high - low) * (at % 256) / 256,
        _ => 256,
    }
}

/// The noise that `block` would have if its samples could go further down and up, from `noise`, which it has; `None` if
/// that cannot be told.
fn without_clipping(noise: u64, block: &LumaBlock, depth: u32) -> Option<u64> {
    if noise == 0 {
        return Some(0);
    }
    let left = part_left(&LEFT, noise, block, depth);
    (left >= LEFT[2]).then(|| noise * 256 / left)
}

/// The noise that `block` has, from `noise`, which it would have if its samples could go further down and up.
pub(super) fn with_clipping(noise: u64, block: &LumaBlock, depth: u32) -> u64 {
    noise * part_left(&CLIPPED, noise, block, depth) / 256
}

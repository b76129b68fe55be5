//! Areas of small frames less their mean, and how much of them is structure rather than noise.

use super::{BLOCK, BlockSamples};

/// The samples of an area.
const SAMPLES: usize = BLOCK * BLOCK;

/// The [structure](CentredBlock::structure) from which on an area counts: a deviation of one and a half.
const LEAST_STRUCTURE: i64 = 144;

/// The most variance of noise that is believed.
const MOST_NOISE: i64 = 64;

/// The [correlation](CentredBlock::correlation) of areas that are equal but for noise, brightness and contrast.
pub(super) const SAME: i64 = 1024;

/// The 8 x 8 samples of an area less their mean.
pub(super) struct CentredBlock {
    samples: [[i16; BLOCK]; BLOCK],
    /// The sum of their squares.
    variation: i64,
    /// The part of `variation` that is not noise.
    structure: i64,
}

impl CentredBlock {
    /// The area with these samples.
    ///
    /// What neighbouring samples have in common is structure: they differ by twice the variance of white noise, and 8 x 8 samples
    /// have 112 neighbours and 63 degrees of freedom.
    #[inline(always)]
    pub fn new(samples: BlockSamples) -> Self {
        let mut samples = samples.0.map(|row| row.map(i16::from));
        let sum: i16 = samples.as_flattened().iter().sum();
        let mean = (sum + 32) >> 6;
        samples.as_flattened_mut().iter_mut().for_each(|sample| *sample -= mean);
        let mut steps = 0;
        for row in &samples {
            for x in 1..BLOCK {
                steps += square(row[x] - row[x - 1]);
            }
        }
        for y in 1..BLOCK {
            let [above, row] = [y - 1, y].map(|y| &samples[y]);
            for (above, sample) in above.iter().zip(row) {
                steps += square(sample - above);
            }
        }
        let variation = samples.as_flattened().iter().map(|sample| square(*sample)).sum::<i32>().into();
        let noise = ((9 * i64::from(steps)) >> 5).min(MOST_NOISE * SAMPLES as i64);
        Self { samples, variation, structure: (variation - noise).max(0) }
    }

    /// Whether it has structure, most of which is not noise.
    #[inline(always)]
    pub fn has_structure(&self) -> bool {
        self.structure >= LEAST_STRUCTURE && 2 * self.structure >= self.variation
    }

    /// The correlation of the structure of both, from -[`SAME`] to [`SAME`]. Noise has no part in the sum of products, because
    /// that of one frame is not that of the other, and no part in what this is divided by.
    #[inline(always)]
    pub fn correlation(&self, other: &Self) -> i64 {
        let pairs = self.samples.as_flattened().iter().zip(other.samples.as_flattened());
        let product = i64::from(pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>());
        // Where nearly all is noise, the products of structure and noise are no correlation.
        let [own, others] = [self, other].map(|area| area.structure.max(area.variation >> 2));
        let both = (own * others).unsigned_abs().isqrt().max(1) as i64;
        (SAME * product / both).clamp(-SAME, SAME)
    }
}

#[inline(always)]
fn square(value: i16) -> i32 {
    i32::from(value) * i32::from(value)
}

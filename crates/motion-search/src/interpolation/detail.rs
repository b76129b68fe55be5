//! Blocks of search frames less their mean, and how much of them is structure rather than noise.

use super::rules::BLOCK;
use crate::estimator::FrameView;

/// The samples of a block.
const SAMPLES: usize = BLOCK * BLOCK;

/// The [structure](CentredBlock::structure) from which on a block counts: a deviation of two and a half levels.
const LEAST_STRUCTURE: i64 = 400;

/// The 8 x 8 samples of a block less their mean.
pub(super) struct CentredBlock {
    samples: [[i16; BLOCK]; BLOCK],
    /// The sum of their squares.
    variation: i64,
    /// The part of `variation` that is not noise.
    structure: i64,
}

impl CentredBlock {
    /// The block of `frame` from `(x, y)` on, in which noise has a variance of `most_noise` at most. Outside the frame, its edge
    /// samples repeat.
    ///
    /// What neighbouring samples have in common is structure: they differ by twice the variance of white noise, and 8 x 8 samples
    /// have 112 neighbours and 63 degrees of freedom.
    #[inline(always)]
    pub fn load(frame: &FrameView<'_>, (x, y): (i32, i32), most_noise: i64) -> Self {
        let mut samples = [[0_i16; BLOCK]; BLOCK];
        match frame.inside((x, y), (BLOCK, BLOCK)) {
            Some((inside, stride)) => {
                for (row, inside) in samples.iter_mut().zip(inside.chunks(stride)) {
                    for (sample, inside) in row.iter_mut().zip(&inside[..BLOCK]) {
                        *sample = i16::from(*inside);
                    }
                }
            }
            None => {
                for (row, y) in samples.iter_mut().zip(y..) {
                    for (sample, x) in row.iter_mut().zip(x..) {
                        *sample = i16::from(frame.extended(x, y));
                    }
                }
            }
        }
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
        let noise = ((9 * i64::from(steps)) >> 5).min(most_noise * SAMPLES as i64);
        Self { samples, variation, structure: (variation - noise).max(0) }
    }

    /// Whether it has structure, most of which is not noise.
    #[inline(always)]
    pub fn has_structure(&self) -> bool {
        self.structure >= LEAST_STRUCTURE && 2 * self.structure >= self.variation
    }

    /// Whether `other` has most of the structure of this block. Noise has no part in the sum of products: that of one frame is
    /// not that of the other.
    #[inline(always)]
    pub fn matches(&self, other: &Self) -> bool {
        25 * self.product(other) > 9 * (self.structure + other.structure)
    }

    /// Whether both have the same structure but for contrast: their correlation without noise is 0.9 or more.
    #[inline(always)]
    pub fn resembles(&self, other: &Self) -> bool {
        // The products of structure and noise are no correlation.
        let [own, others] = [self, other].map(|block| block.structure.max(block.variation >> 2));
        let product = self.product(other);
        product > 0 && 100 * product * product >= 81 * own * others
    }

    /// The sum of the products of the samples.
    #[inline(always)]
    fn product(&self, other: &Self) -> i64 {
        let pairs = self.samples.as_flattened().iter().zip(other.samples.as_flattened());
        i64::from(pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>())
    }
}

#[inline(always)]
fn square(value: i16) -> i32 {
    i32::from(value) * i32::from(value)
}

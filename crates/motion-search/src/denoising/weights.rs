//! How much each frame counts in a block.

use super::map::BlockNoise;
use super::noise::{Block, BlockError};
use super::rules::{BlockWeights, MOST_REFERENCES, SAMPLES, WEIGHTS};

/// A block, its noise, and how well other frames predict it.
#[derive(Clone, Copy)]
pub(super) struct Weighed<'a> {
    pub luma_block: &'a Block,
    pub chroma_block: &'a Block,
    /// What is taken out.
    pub noise: BlockNoise,
    /// The noise that luma may have for all that is known, in 64 samples.
    pub least_noise: u64,
    /// The errors of each plane or pair of planes, by frame and block.
    pub luma: &'a [Vec<BlockError>],
    pub chroma: &'a [Vec<BlockError>],
    /// For each frame whether it has another light: it is not averaged, as its brightness would be, too.
    pub flickers: &'a [bool],
    /// The number of the block.
    pub block: usize,
}

impl Weighed<'_> {
    /// The weights of luma.
    pub fn luma_weights(&self) -> BlockWeights {
        let noise = self.noise.luma * self.luma_block.samples / SAMPLES;
        weights(self.luma.len(), |index| {
            let error = self.luma[index][self.block];
            let is_known = error.sum == 0 || self.luma[..index].iter().any(|of| of[self.block] == error);
            if noise == 0 || is_known || self.flickers[index] {
                0
            } else {
                share(error.gain, mismatch(noise, &error, 0))
            }
        })
    }

    /// The weights of chroma.
    pub fn chroma_weights(&self) -> BlockWeights {
        let noise = self.noise.chroma * self.chroma_block.samples / SAMPLES;
        let luma_noise = self.noise.luma.max(self.least_noise) * self.luma_block.samples / SAMPLES;
        weights(self.luma.len(), |index| {
            if noise == 0 {
                return 0;
            }
            let of_frame = |index: usize| (self.luma[index][self.block], self.chroma[index][self.block]);
            let (luma, chroma) = of_frame(index);
            if chroma.sum == 0 || (0..index).any(|other| of_frame(other) == (luma, chroma)) {
                return 0;
            }
            let of_chroma = mismatch(noise, &chroma, chroma.lost(self.chroma_block, noise));
            share(chroma.gain, of_chroma.max(mismatch(luma_noise, &luma, 0)))
        })
    }
}

/// The most by which noise of a block changes a sample, for all that is taken out: two and a half standard deviations.
/// What changes more is small and fast, like rain, and not noise.
pub(super) fn most_change(noise: u64) -> u16 {
    (25 * noise / 4 / SAMPLES).isqrt().saturating_add(1).try_into().unwrap_or(u16::MAX)
}

/// The variance of the mismatch of a block in 256ths of that of its noise, of which it has `noise`. The squared mismatch
/// is at least `least`.
fn mismatch(noise: u64, error: &BlockError, least: u64) -> u64 {
    let found = (256 * error.sum).saturating_sub((256 + u64::from(error.gain)) * noise);
    found.max(256 * least) / noise.max(1)
}

/// The weight of a prediction in 256ths of that of the frame itself.
fn share(gain: u32, mismatch: u64) -> u64 {
    256 * 256 / (u64::from(gain) + mismatch)
}

/// Weights with the sum [`WEIGHTS`] of a frame and `count` others, each with a share.
fn weights(count: usize, share: impl Fn(usize) -> u64) -> BlockWeights {
    let mut shares = [0; MOST_REFERENCES];
    shares.iter_mut().enumerate().take(count).for_each(|(index, to)| *to = share(index));
    let own = u64::from(WEIGHTS);
    let sum = own + shares.iter().sum::<u64>();
    let mut weights = BlockWeights::default();
    let [current, others @ ..] = &mut weights;
    *current = WEIGHTS as u16;
    for (other, share) in others.iter_mut().zip(shares) {
        *other = ((own * share + sum / 2) / sum) as u16;
        *current -= *other;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_from_noise_and_errors() {
        let weights = |luma, samples, errors: &[(u64, u32)]| {
            let error = |(index, &(sum, gain)): (usize, &(u64, u32))| {
                vec![BlockError { sum, variation: index as u64, gain, fraction: (0, 0) }]
            };
            let errors: Vec<_> = errors.iter().enumerate().map(error).collect();
            let noise = BlockNoise { luma, chroma: 0 };
            let weighed = Weighed {
                luma_block: &Block { samples, ..Block::default() },
                chroma_block: &Block::default(),
                noise,
                least_noise: 0,
                luma: &errors,
                chroma: &[],
                flickers: &[false; MOST_REFERENCES],
                block: 0,
            };
            weighed.luma_weights()[..=errors.len()].to_vec()
        };
        // Noise alone: all frames count alike.
        assert_eq!(weights(640, 64, &[(1280, 256); 3]), [64; 4]);
        // A mismatch with the variance of the noise halves the weight.
        assert_eq!(weights(640, 64, &[(1280, 256), (1920, 256)]), [103, 102, 51]);
        // A quarter of the samples has a quarter of the noise.
        assert_eq!(weights(640, 16, &[(320, 256)]), [128, 128]);
        // Between samples there is less noise.
        assert_eq!(weights(640, 64, &[(960, 128)]), [85, 171]);
        // Without noise, and with a bad match, nothing changes.
        assert_eq!(weights(0, 64, &[(0, 256), (9, 256)]), [256, 0, 0]);
        assert_eq!(weights(64, 64, &[(1 << 40, 256)]), [256, 0]);
        let most = 4 * (u64::from(u16::MAX)).pow(2) * SAMPLES;
        // Deep samples do not overflow.
        assert_eq!(weights(most, 64, &[(most, 256); 8]).iter().sum::<u16>(), 256);
    }
}

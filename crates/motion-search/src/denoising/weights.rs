//! How much each frame counts in a block.

use super::map::BlockNoise;
use super::noise::{ChromaBlock, ChromaError, LumaBlock, LumaError};
use super::rules::{BlockWeights, MOST_REFERENCES, SAMPLES, WEIGHTS};

/// A block, its noise, and how well other frames predict it.
#[derive(Clone, Copy)]
pub(super) struct Weighed<'a> {
    pub luma_block: &'a LumaBlock,
    pub chroma_block: &'a ChromaBlock,
    /// What is taken out.
    pub noise: BlockNoise,
    /// The noise that luma may have for all that is known, in 64 samples.
    pub least_noise: u64,
    /// The errors of its predictions from each other frame; of chroma there are none if there is no chroma.
    pub luma: &'a [LumaError],
    pub chroma: &'a [ChromaError],
    /// For each other frame whether it has another light.
    pub lights: &'a [bool],
}

impl Weighed<'_> {
    /// The weights of luma, and those of chroma.
    pub fn weights(&self) -> [BlockWeights; 2] {
        let of_block = |noise: u64, samples: u64| noise * samples / SAMPLES;
        let luma_noise = of_block(self.noise.luma, self.luma_block.samples());
        let chroma_noise = of_block(self.noise.chroma, self.chroma_block.samples);
        let possible_noise = of_block(self.noise.luma.max(self.least_noise), self.luma_block.samples());
        let mut shares = [[0; MOST_REFERENCES]; 2];
        if (luma_noise, chroma_noise) != (0, 0) {
            for (index, &is_of_other_light) in self.lights.iter().enumerate() {
                let luma = &self.luma[index];
                let equals = |other: &usize| self.luma[*other] == *luma;
                let mut equal = (0..index).filter(equals);
                let difference = luma.difference(is_of_other_light);
                let mismatch = |noise| mismatch(noise, luma.gain, difference);
                if luma.sum > 0 && equal.clone().next().is_none() {
                    shares[0][index] = share(luma_noise, luma.gain, mismatch(luma_noise));
                }
                if chroma_noise == 0 {
                    continue;
                }
                let chroma = &self.chroma[index];
                if chroma.sum > 0 && !equal.any(|other| self.chroma[other] == *chroma) {
                    let of_chroma = self::mismatch(chroma_noise, chroma.gain, chroma.sum);
                    let of_luma = share(possible_noise, chroma.gain, mismatch(possible_noise));
                    shares[1][index] = of_luma.min(share(chroma_noise, chroma.gain, of_chroma));
                }
            }
        }
        let others = self.lights.len();
        [weights(&shares[0][..others]), weights(&shares[1][..others])]
    }
}

/// The most by which noise of a block changes a sample, for all that is taken out: two and a half standard deviations.
/// What changes more is small and fast, like rain, and not noise.
pub(super) fn most_change(noise: u64) -> u16 {
    // Exact, because the square has less than 53 bits, and faster than integer arithmetic.
    let deviations = ((25 * noise / 4 / SAMPLES) as f64).sqrt() as u16;
    deviations.saturating_add(1)
}

/// The squared mismatch of a block of `noise`, times 256, from the squared `difference` of its prediction.
fn mismatch(noise: u64, gain: u16, difference: u64) -> u64 {
    (256 * difference).saturating_sub((256 + u64::from(gain)) * noise)
}

/// The weight of a prediction in 256ths of that of the frame itself.
fn share(noise: u64, gain: u16, mismatch: u64) -> u32 {
    let variance = u64::from(gain) * noise + mismatch;
    quotient(256 * 256 * noise, variance.max(1))
}

/// `number / divisor`, rounded down: exact below 2^51, which are all numbers of samples of up to 12 bits; of larger ones it may
/// be rounded up. It takes a third of the time of an integer division.
fn quotient(number: u64, divisor: u64) -> u32 {
    // Signed integers are converted in one instruction.
    (number as i64 as f64 / divisor as i64 as f64) as u32
}

/// Weights with the sum [`WEIGHTS`] of a frame and of others with these shares.
fn weights(shares: &[u32]) -> BlockWeights {
    let sum = WEIGHTS + shares.iter().sum::<u32>();
    let mut weights = BlockWeights::default();
    let [current, others @ ..] = &mut weights;
    *current = WEIGHTS as u16;
    if sum > WEIGHTS {
        for (other, share) in others.iter_mut().zip(shares) {
            *other = quotient((WEIGHTS * share + sum / 2).into(), sum.into()) as u16;
            *current -= *other;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_below_2_to_51_are_rounded_down() {
        for divisor in [1, 3, 255, 65_537, (1 << 31) - 1, (1 << 42) - 11, (1 << 43) + 1] {
            let largest = ((1 << 51) / divisor).min(1 << 20);
            for quotient in [1, 2, 255, 419, largest].into_iter().filter(|quotient| *quotient <= largest) {
                let number = quotient * divisor;
                assert_eq!(u64::from(super::quotient(number, divisor)), quotient, "{number} / {divisor}");
                let below = super::quotient(number - 1, divisor);
                assert_eq!(u64::from(below), (number - 1) / divisor, "{} / {divisor}", number - 1);
            }
        }
    }

    #[test]
    fn weights_follow_from_noise_and_errors() {
        let weights = |luma, samples, errors: &[(u64, u16)]| {
            let error = |(index, &(sum, gain)): (usize, &(u64, u16))| LumaError {
                sum,
                variation: index as u64,
                gain,
                brighter: 0,
            };
            let errors: Vec<_> = errors.iter().enumerate().map(error).collect();
            let noise = BlockNoise { luma, chroma: 0 };
            let weighed = Weighed {
                luma_block: &LumaBlock::new(samples, 0, 0, 0),
                chroma_block: &ChromaBlock::default(),
                noise,
                least_noise: 0,
                luma: &errors,
                chroma: &[],
                lights: &vec![false; errors.len()],
            };
            weighed.weights()[0][..=errors.len()].to_vec()
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

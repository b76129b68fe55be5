//! How much each frame counts in a block.

use super::map::BlockNoise;
use super::noise::{ChromaBlock, ChromaError, LumaBlock, LumaError, per_sample};
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
    /// For each other frame whether it is brighter or darker.
    pub lights: &'a [bool],
}

impl Weighed<'_> {
    /// The noise of luma, or less where a prediction differs by less than half of what noise makes; 0 if there is no other frame.
    pub fn shown_noise(&self) -> u64 {
        if self.lights.is_empty() {
            return 0;
        }
        let (mut least, samples) = (self.noise.luma, self.luma_block.samples());
        for (luma, &is_of_other_light) in self.luma.iter().zip(self.lights) {
            let shown = 2 * 256 * luma.difference(is_of_other_light) / (256 + u64::from(luma.gain));
            least = least.min(per_sample(SAMPLES * shown, samples));
        }
        least
    }

    /// The weights of luma, and those of chroma.
    pub fn weights(&self) -> [BlockWeights; 2] {
        let of_block = |noise: u64, samples: u64| (noise * samples / SAMPLES) as f64;
        let luma_noise = of_block(self.noise.luma, self.luma_block.samples());
        let chroma_noise = of_block(self.noise.chroma, self.chroma_block.samples);
        // Luma limits chroma where its mismatch is beyond doubt.
        let possible_noise = 2.0 * of_block(self.noise.luma.max(self.least_noise), self.luma_block.samples());
        let mut shares = [[0; MOST_REFERENCES]; 2];
        // What is wrong in one prediction of luma is mostly wrong in the others, too, so that it counts the more the more there are.
        let counted = (ONCE + self.lights.len() as u32 - 1).max(TWICE);
        if (luma_noise, chroma_noise) != (0.0, 0.0) {
            for (index, &is_of_other_light) in self.lights.iter().enumerate() {
                let luma = &self.luma[index];
                let equals = |other: &usize| self.luma[*other] == *luma;
                let mut equal = (0..index).filter(equals);
                let difference = luma.difference(is_of_other_light);
                if luma.sum > 0 && equal.clone().next().is_none() {
                    shares[0][index] = share(luma_noise, luma.gain, luma.gain, difference, counted) as u32;
                }
                if chroma_noise == 0.0 {
                    continue;
                }
                let chroma = &self.chroma[index];
                if chroma.sum > 0 && !equal.any(|other| self.chroma[other] == *chroma) {
                    let of_luma = share(possible_noise, chroma.gain, luma.gain, difference, ONCE);
                    let of_chroma = share(chroma_noise, chroma.gain, chroma.gain, chroma.sum, ONCE);
                    shares[1][index] = of_chroma.min(of_luma) as u32;
                }
            }
        }
        let others = self.lights.len();
        [weights(&shares[0][..others]), weights(&shares[1][..others])]
    }
}

/// The most by which noise of a block changes a sample, for all that is taken out: two and a half standard deviations.
/// What changes more is small and fast, like rain, and not noise. Nothing changes without noise.
pub(super) fn most_change(noise: u64) -> u16 {
    if noise == 0 {
        return 0;
    }
    // Exact, because the square has less than 53 bits, and faster than integer arithmetic.
    let deviations = ((25 * noise / 4 / SAMPLES) as f64).sqrt() as u16;
    deviations.saturating_add(1)
}

/// The weight of a prediction in 256ths of that of the frame itself, which is to be rounded down: for a block of `noise`, of
/// which the prediction has the part `gain`, by the squared `difference` from a prediction of which it is the part
/// `gain_of_difference`, in 256ths. What noise does not make of the difference counts so many `thirds`.
///
/// All numbers are whole; a division takes a third of the time of one of integers. Rounded down it is exact if the dividend
/// is below 2^51, as it is with samples of at most 12 bits.
fn share(noise: f64, gain: u16, gain_of_difference: u16, difference: u64, thirds: u32) -> f64 {
    if noise >= MOST_OF_DOUBLES {
        return share_of_integers(noise as u64, [gain, gain_of_difference], difference, thirds.into()) as f64;
    }
    let of_noise = (256.0 + f64::from(gain_of_difference)) * noise;
    // Signed integers are converted in one instruction.
    let mismatch = (256.0 * difference as i64 as f64 - of_noise).max(0.0);
    3.0 * 256.0 * 256.0 * noise / (3.0 * f64::from(gain) * noise + f64::from(thirds) * mismatch).max(1.0)
}

/// From this noise on dividends of [`share`] are 2^51 or more.
const MOST_OF_DOUBLES: f64 = (1_u64 << 33) as f64;

/// As [`share`], by integers.
#[cold]
fn share_of_integers(noise: u64, [gain, of_difference]: [u16; 2], difference: u64, thirds: u64) -> u64 {
    let mismatch = (256 * difference).saturating_sub((256 + u64::from(of_difference)) * noise);
    3 * 65_536 * noise / (3 * u64::from(gain) * noise + thirds * mismatch).max(1)
}

/// What counts once, and twice, in thirds.
const ONCE: u32 = 3;
const TWICE: u32 = 2 * ONCE;

/// Weights with the sum [`WEIGHTS`] of a frame and of others with these shares.
fn weights(shares: &[u32]) -> BlockWeights {
    let sum = WEIGHTS + shares.iter().sum::<u32>();
    let mut weights = BlockWeights::default();
    let [current, others @ ..] = &mut weights;
    *current = WEIGHTS as u16;
    if sum > WEIGHTS {
        // With a half added to the dividends, quotients are far enough from whole numbers for a reciprocal to do.
        let reciprocal = 1.0 / f64::from(sum);
        for (other, share) in others.iter_mut().zip(shares) {
            *other = ((f64::from(WEIGHTS * share + sum / 2) + 0.5) * reciprocal) as u16;
            *current -= *other;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_weights_are_those_of_integers() {
        let noises = (0..44).flat_map(|bits| [1_u64 << bits, (1 << bits) + 1, (3 << bits) / 2 - 1]);
        for noise in noises.filter(|noise| *noise > 0) {
            for (gain, of_difference) in [(256, 256), (164, 213), (81, 256), (4, 156)] {
                let [noise_of_both, part] = [(256 + of_difference) * noise, gain * noise];
                // Differences for which the quotient is whole, or nearly.
                let whole = (1..=420)
                    .map(|share| (65_536 * noise / share + noise_of_both).saturating_sub(part) / 256);
                for difference in
                    whole.flat_map(|difference| [difference, difference + 1]).chain([0, 1 << 42])
                {
                    let mismatch = (256 * difference).saturating_sub(noise_of_both);
                    for thirds in [ONCE, 4, 6, 10] {
                        let expected = 3 * 65_536 * noise / (3 * part + u64::from(thirds) * mismatch).max(1);
                        let found =
                            share(noise as f64, gain as u16, of_difference as u16, difference, thirds);
                        assert_eq!(
                            found as u64, expected,
                            "{noise}, {gain}, {of_difference}, {difference}, {thirds}"
                        );
                    }
                }
            }
        }
        // Without the half [56, 191] and seven others have other weights.
        for shares in (0..=420).flat_map(|share| (0..=420).map(move |other| [share, other])) {
            let sum = WEIGHTS + shares[0] + shares[1];
            let expected = shares.map(|share| ((WEIGHTS * share + sum / 2) / sum) as u16);
            assert_eq!(weights(&shares)[1..3], expected, "{shares:?}");
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
        // A mismatch with half the variance of the noise halves the weight.
        assert_eq!(weights(640, 64, &[(1280, 256), (1600, 256)]), [103, 102, 51]);
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

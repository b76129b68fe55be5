//! How much each frame counts in a block, and by how much a sample changes at most.

use super::super::BlockNoise;
use super::super::rules::{SAMPLES, Strength, WEIGHTS};
use super::blocks::{DefinedChromaBlock, DefinedLumaBlock};
use super::estimate::square_of_one;
use super::prediction::Prediction;

/// How a block of luma, or of chroma, is averaged.
pub(super) struct DefinedAverage {
    /// The weight of the frame itself, then that of each other frame.
    pub weights: Vec<u64>,
    /// The most by which a sample changes.
    pub most: u64,
    /// What is left of the noise of luma, as 64 samples have it.
    pub left: u64,
}

/// What is taken out of noise.
fn taken_out(strength: Strength, noise: u64) -> u64 {
    noise * u64::from(strength.0) / 64
}

/// How a block of luma is averaged.
pub(super) fn of_luma(
    predictions: &[Prediction],
    block: usize,
    luma: &DefinedLumaBlock,
    noise: BlockNoise,
    strength: Strength,
) -> DefinedAverage {
    let noise = taken_out(strength, noise.luma);
    let of_block = noise * luma.samples / SAMPLES;
    let mut shares = Vec::new();
    // No more than twice what the predictions differ by.
    let mut shown = if predictions.is_empty() { 0 } else { noise };
    for (index, prediction) in predictions.iter().enumerate() {
        let error = prediction.luma[block];
        let of_difference = 2 * 256 * prediction.luma_difference(block) / (256 + error.gain);
        shown = shown.min(SAMPLES * of_difference / luma.samples);
        let is_new = predictions[..index].iter().all(|earlier| earlier.luma[block] != error);
        // What is wrong in one prediction is mostly wrong in the others, too: it counts twice, and with more than four predictions a third
        // more for each of them.
        let mismatch = mismatch(of_block, error.gain, prediction.luma_difference(block));
        let mismatch = mismatch * 6.max(predictions.len() as u64 + 2);
        let is_counted = error.squares > 0 && is_new;
        shares.push(if is_counted { share(of_block, error.gain, mismatch) } else { 0 });
    }
    let weights = weights(&shares);
    let squares: u64 = weights.iter().map(|weight| weight * weight).sum();
    DefinedAverage { weights, most: most_change(noise), left: shown * squares / (256 * 256) }
}

/// How a block of chroma is averaged.
pub(super) fn of_chroma(
    predictions: &[Prediction],
    block: usize,
    (luma, chroma): (&DefinedLumaBlock, &DefinedChromaBlock),
    noise: BlockNoise,
    (strength, depth): (Strength, u32),
) -> DefinedAverage {
    // Chroma alone may have noise; and luma limits chroma only where its mismatch is beyond doubt: so all is twice its noise.
    let of_luma = 2 * (taken_out(strength, noise.luma).max(square_of_one(depth)) * luma.samples / SAMPLES);
    let noise = taken_out(strength, noise.chroma);
    let of_block = noise * chroma.samples / SAMPLES;
    let mut shares = Vec::new();
    for (index, prediction) in predictions.iter().enumerate() {
        let (error, luma_error) = (prediction.chroma[block], prediction.luma[block]);
        let is_new = predictions[..index]
            .iter()
            .all(|earlier| earlier.luma[block] != luma_error || earlier.chroma[block] != error);
        if of_block == 0 || error.squares == 0 || !is_new {
            shares.push(0);
            continue;
        }
        let by_chroma = share(of_block, error.gain, 3 * mismatch(of_block, error.gain, error.squares));
        let luma_mismatch = 3 * mismatch(of_luma, luma_error.gain, prediction.luma_difference(block));
        let by_luma = share(of_luma, error.gain, luma_mismatch);
        shares.push(by_chroma.min(by_luma));
    }
    DefinedAverage { weights: weights(&shares), most: most_change(noise), left: 0 }
}

/// The part of a squared difference that noise does not make, 256 times.
fn mismatch(noise: u64, gain: u64, difference: u64) -> u64 {
    (256 * difference).saturating_sub((256 + gain) * noise)
}

/// The share of a prediction, in 256ths of that of the frame itself, by three times its mismatch.
fn share(noise: u64, gain: u64, mismatch: u64) -> u64 {
    if noise == 0 { 0 } else { 3 * 65_536 * noise / (3 * gain * noise + mismatch) }
}

/// The weights of the frame itself, and of the others by their shares, with the sum 256.
fn weights(shares: &[u64]) -> Vec<u64> {
    let all = u64::from(WEIGHTS);
    let sum = all + shares.iter().sum::<u64>();
    let mut weights = vec![all];
    for share in shares {
        let weight = (all * share + sum / 2) / sum;
        weights[0] -= weight;
        weights.push(weight);
    }
    weights
}

/// Two and a half deviations of the noise, and 1; 0 without noise.
fn most_change(noise: u64) -> u64 {
    if noise == 0 { 0 } else { (25 * noise / 256).isqrt() + 1 }
}

//! The definition in plain loops, one sample at a time. It shares with other code only numbers, such as sizes and limits, and
//! the types of what goes in and comes out.

mod blocks;
mod comparison;
mod estimate;
mod prediction;
mod stream;
mod weights;

pub use stream::StreamNoise;

use super::Reference;
use super::rules::{BLOCK, MOST_REFERENCES, Strength};
use crate::compensation::{CompensationError, Sampling};
use crate::interpolation::FrameFormat;
use blocks::{Blocks, DefinedChromaBlock, DefinedLumaBlock};
use motion_base::{Frame, FrameView};
use motion_search::scenes::oracle::halved_frame;
use prediction::{Prediction, halvings};
use weights::DefinedAverage;

/// The frame that is searched in place of a luma plane.
pub fn search_frame(luma: &FrameView<'_>) -> Frame {
    halved_frame(luma, halvings(luma.size()))
}

/// The frame with these `planes`, which are sampled as `samplings` say, without its noise. `noise` is that of the previous
/// frame at first, and then of this one.
///
/// # Errors
/// [`CompensationError`] if planes or fields have other sizes.
///
/// # Panics
/// If there is no plane, `noise` is of another size of frames, or there are more than [`MOST_REFERENCES`] references.
pub fn denoise(
    noise: &mut StreamNoise,
    samplings: &[Sampling],
    planes: &[FrameView<'_>],
    references: &[Reference<'_>],
    strength: Strength,
) -> Result<Vec<Frame>, CompensationError> {
    let luma = &planes[0];
    let format = FrameFormat { size: luma.size(), samplings: samplings.to_vec(), samples: luma.format() };
    format.check_all(planes)?;
    references.iter().try_for_each(|reference| format.check_all(reference.planes))?;
    assert!(references.len() <= MOST_REFERENCES, "{} references", references.len());
    let blocks = Blocks::new(planes, samplings);
    assert_eq!(noise.blocks().len(), blocks.count(), "the noise of other frames");
    let (mut luma, mut chroma) = (Vec::new(), Vec::new());
    for block in 0..blocks.count() {
        luma.push(DefinedLumaBlock::of(&blocks, block));
        if blocks.has_chroma() {
            chroma.push(DefinedChromaBlock::of(&blocks, block));
        }
    }
    let mut predictions = Vec::new();
    for reference in references {
        predictions.push(Prediction::new(&blocks, &luma, reference)?);
    }
    noise.follow(&blocks, (&luma, &chroma), &predictions);
    for (prediction, reference) in predictions.iter_mut().zip(references) {
        prediction.refine(&blocks, &luma, noise.blocks(), reference);
    }
    let (mut of_luma, mut of_chroma) = (Vec::new(), Vec::new());
    for block in 0..blocks.count() {
        let (luma, noise) = (&luma[block], noise.blocks()[block]);
        of_luma.push(weights::of_luma(&predictions, block, luma, noise, strength));
        if blocks.has_chroma() {
            let limits = (strength, blocks.depth());
            let both = (luma, &chroma[block]);
            of_chroma.push(weights::of_chroma(&predictions, block, both, noise, limits));
        }
    }
    let mut made = vec![mean_of_luma(&blocks, &predictions, &of_luma)];
    for plane in 1..planes.len() {
        made.push(mean(&blocks, plane, &predictions, &of_chroma));
    }
    Ok(made)
}

/// The mean of luma and its predictions, by the weights and vectors of the blocks around each sample.
fn mean_of_luma(blocks: &Blocks<'_>, predictions: &[Prediction], averages: &[DefinedAverage]) -> Frame {
    let view = &blocks.planes[0];
    let peak = i64::from(view.format().peak());
    Frame::deep_from_fn(view.width(), view.height(), blocks.depth(), |x, y| {
        let sample = u64::from(view.sample(x as i32, y as i32));
        // Four times the sample, rounded down to 64ths of a level: the mean that a block makes.
        let of_block = |block: usize| {
            let mut sum = averages[block].weights[0] * sample;
            for (prediction, weight) in predictions.iter().zip(&averages[block].weights[1..]) {
                let mut predicted = prediction.luma_sample(blocks, block, (x as i32, y as i32));
                // In flickering light predicted luma becomes as bright as the block.
                if prediction.flickers {
                    predicted = (predicted + prediction.luma[block].brighter).clamp(0, peak);
                }
                sum += weight * predicted as u64;
            }
            (sum + 2) / 4
        };
        let mut sum = 0;
        for (column, across) in around(x, blocks.columns) {
            for (row, down) in around(y, blocks.rows) {
                sum += across * down * of_block(row * blocks.columns + column);
            }
        }
        let most = averages[blocks.block_of(0, x, y)].most;
        // 64 times the windows, which add up to 16 on each axis.
        ((sum + 8192) / 16384).clamp(sample.saturating_sub(most), sample + most) as u16
    })
}

/// On an axis with so many blocks, the two between whose centres a sample is, and the window of each there: it falls from 15
/// to 1 from its centre to the other. At the edges of the frame both are the same block.
fn around(at: usize, blocks: usize) -> [(usize, u64); 2] {
    let half = BLOCK / 2;
    let after = (at + half) / BLOCK;
    let falling = (2 * BLOCK - 1 - 2 * ((at + half) % BLOCK)) as u64;
    [(after.saturating_sub(1), falling), (after.min(blocks - 1), 16 - falling)]
}

/// The mean of a plane of chroma and its predictions.
fn mean(blocks: &Blocks<'_>, plane: usize, predictions: &[Prediction], averages: &[DefinedAverage]) -> Frame {
    let view = &blocks.planes[plane];
    let pixel = blocks.samplings[plane].pixel();
    Frame::deep_from_fn(view.width(), view.height(), blocks.depth(), |x, y| {
        let DefinedAverage { weights, most } = &averages[blocks.block_of(plane, x / pixel, y)];
        let (x, y) = (x as i32, y as i32);
        let sample = u64::from(view.sample(x, y));
        let mut sum = weights[0] * sample;
        for (prediction, weight) in predictions.iter().zip(&weights[1..]) {
            sum += weight * u64::from(prediction.chroma_planes[plane - 1].view().sample(x, y));
        }
        ((sum + 128) / 256).clamp(sample.saturating_sub(*most), sample + most) as u16
    })
}

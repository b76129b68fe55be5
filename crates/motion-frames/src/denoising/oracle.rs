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
use super::rules::{MOST_REFERENCES, Strength};
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
    let mut made = vec![mean(&blocks, 0, &predictions, &of_luma)];
    for plane in 1..planes.len() {
        made.push(mean(&blocks, plane, &predictions, &of_chroma));
    }
    Ok(made)
}

/// The mean of a plane and its predictions.
fn mean(blocks: &Blocks<'_>, plane: usize, predictions: &[Prediction], averages: &[DefinedAverage]) -> Frame {
    let view = &blocks.planes[plane];
    let pixel = blocks.samplings[plane].pixel();
    let peak = i64::from(view.format().peak());
    Frame::deep_from_fn(view.width(), view.height(), blocks.depth(), |x, y| {
        let block = blocks.block_of(plane, x / pixel, y);
        let DefinedAverage { weights, most } = &averages[block];
        let (x, y) = (x as i32, y as i32);
        let sample = u64::from(view.sample(x, y));
        let mut sum = weights[0] * sample;
        for (prediction, weight) in predictions.iter().zip(&weights[1..]) {
            let mut predicted = i64::from(prediction.planes[plane].view().sample(x, y));
            // In flickering light predicted luma becomes as bright as the block.
            if plane == 0 && prediction.flickers {
                predicted = (predicted + prediction.luma[block].brighter).clamp(0, peak);
            }
            sum += weight * predicted as u64;
        }
        ((sum + 128) / 256).clamp(sample.saturating_sub(*most), sample + most) as u16
    })
}

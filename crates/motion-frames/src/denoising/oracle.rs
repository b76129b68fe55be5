//! The definition in plain loops, one sample at a time. It shares with other code only numbers, such as sizes and limits, and
//! the types of what goes in and comes out.

mod blocks;
mod comparison;
mod estimate;
mod prediction;
mod spatial;
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
/// frame at first, and then of this one. What time leaves of it is taken out, too, if `is_spatial`.
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
    (strength, is_spatial): (Strength, bool),
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
    let mut made = vec![mean_of_luma(&blocks, &predictions, &of_luma, is_spatial)];
    for plane in 1..planes.len() {
        made.push(mean(&blocks, plane, &predictions, &of_chroma));
    }
    Ok(made)
}

/// The mean of luma and its predictions, in cells of 8 x 8 samples between the centres of four blocks each.
fn mean_of_luma(
    blocks: &Blocks<'_>,
    predictions: &[Prediction],
    averages: &[DefinedAverage],
    is_spatial: bool,
) -> Frame {
    let view = &blocks.planes[0];
    let (width, height) = view.size();
    let mut made = vec![0; width * height];
    for row in 0..=blocks.rows {
        for column in 0..=blocks.columns {
            let cell = Cell::new(blocks, (column, row));
            let mut samples = cell.mean(blocks, predictions, averages);
            let left = cell.blocks().map(|block| averages[block].left).into_iter().min().unwrap_or(0);
            if is_spatial && left > 0 {
                samples = spatial::nearer_to_plane(&samples, left, view.format().peak().into());
            }
            for (y, samples) in samples.iter().enumerate() {
                for (x, made_sample) in samples.iter().enumerate() {
                    let (x, y) = cell.place(x, y);
                    if x < 0 || y < 0 || x >= width as i32 || y >= height as i32 {
                        continue;
                    }
                    let sample = u64::from(view.sample(x, y));
                    let (x, y) = (x as usize, y as usize);
                    let most = averages[blocks.block_of(0, x, y)].most;
                    made[y * width + x] =
                        (*made_sample).clamp(sample.saturating_sub(most), sample + most) as u16;
                }
            }
        }
    }
    Frame::deep_from_fn(width, height, blocks.depth(), |x, y| made[y * width + x])
}

/// A cell of 8 x 8 samples of luma.
struct Cell {
    /// Its first sample, which may be outside the frame.
    first: (i32, i32),
    /// The columns and the rows of the blocks between whose centres it is. At the edges of the frame both are the same.
    columns: [usize; 2],
    rows: [usize; 2],
    blocks_of_row: usize,
}

impl Cell {
    fn new(blocks: &Blocks<'_>, (column, row): (usize, usize)) -> Self {
        let first = |at: usize| (BLOCK * at) as i32 - BLOCK as i32 / 2;
        let beside = |at: usize, count: usize| [at.max(1) - 1, at.min(count - 1)];
        Self {
            first: (first(column), first(row)),
            columns: beside(column, blocks.columns),
            rows: beside(row, blocks.rows),
            blocks_of_row: blocks.columns,
        }
    }

    fn place(&self, x: usize, y: usize) -> (i32, i32) {
        (self.first.0 + x as i32, self.first.1 + y as i32)
    }

    fn blocks(&self) -> [usize; 4] {
        let block = |row: usize, column: usize| self.rows[row] * self.blocks_of_row + self.columns[column];
        [block(0, 0), block(0, 1), block(1, 0), block(1, 1)]
    }

    /// The mean by the weights and vectors of the four blocks. The window of each falls from 15 to 1 from its centre to the
    /// others'. Outside the frame its edge samples repeat.
    fn mean(
        &self,
        blocks: &Blocks<'_>,
        predictions: &[Prediction],
        averages: &[DefinedAverage],
    ) -> [[u64; BLOCK]; BLOCK] {
        let view = &blocks.planes[0];
        let peak = i64::from(view.format().peak());
        let mut made = [[0; BLOCK]; BLOCK];
        for (y, made) in made.iter_mut().enumerate() {
            for (x, made) in made.iter_mut().enumerate() {
                let place = self.place(x, y);
                let sample = u64::from(view.sample(place.0, place.1));
                // Four times the sample, rounded down to 64ths of a level: the mean that a block makes.
                let of_block = |block: usize| {
                    let mut sum = averages[block].weights[0] * sample;
                    for (prediction, weight) in predictions.iter().zip(&averages[block].weights[1..]) {
                        let mut predicted = prediction.luma_sample(blocks, block, place);
                        // In flickering light predicted luma becomes as bright as the block.
                        if prediction.flickers {
                            predicted = (predicted + prediction.luma[block].brighter).clamp(0, peak);
                        }
                        sum += weight * predicted as u64;
                    }
                    (sum + 2) / 4
                };
                let falling = |at: usize| [15 - 2 * at as u64, 1 + 2 * at as u64];
                let (across, down) = (falling(x), falling(y));
                let mut sum = 0;
                for (n, block) in self.blocks().into_iter().enumerate() {
                    sum += across[n % 2] * down[n / 2] * of_block(block);
                }
                // 64 times the windows, which add up to 16 on each axis.
                *made = (sum + 8192) / 16384;
            }
        }
        made
    }
}

/// The mean of a plane of chroma and its predictions.
fn mean(blocks: &Blocks<'_>, plane: usize, predictions: &[Prediction], averages: &[DefinedAverage]) -> Frame {
    let view = &blocks.planes[plane];
    let pixel = blocks.samplings[plane].pixel();
    Frame::deep_from_fn(view.width(), view.height(), blocks.depth(), |x, y| {
        let DefinedAverage { weights, most, .. } = &averages[blocks.block_of(plane, x / pixel, y)];
        let (x, y) = (x as i32, y as i32);
        let sample = u64::from(view.sample(x, y));
        let mut sum = weights[0] * sample;
        for (prediction, weight) in predictions.iter().zip(&weights[1..]) {
            sum += weight * u64::from(prediction.chroma_planes[plane - 1].view().sample(x, y));
        }
        ((sum + 128) / 256).clamp(sample.saturating_sub(*most), sample + most) as u16
    })
}

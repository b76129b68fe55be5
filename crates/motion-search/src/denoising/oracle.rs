//! The definition, one sample at a time.

use super::Reference;
use super::noise::{BlockError, BlockLuma, NoiseEstimate, NoiseLevels, NoiseMemory};
use super::rules::{BLOCK, BlockWeights, Strength, field, halvings, set_weights};
use crate::compensation::{CompensationError, Field, Sampling, oracle};
use crate::estimator::{Frame, FrameView};
use crate::interpolation::oracle::{chroma_sample, halved_frame};

/// The frame that is searched in place of a luma plane.
pub fn search_frame(luma: &FrameView<'_>) -> Frame {
    halved_frame(luma, halvings(luma.size()))
}

/// The noise of the frame with these `planes`, which are sampled as `samplings` say, and the frame without it.
///
/// # Errors
/// [`CompensationError`] if planes or fields have other sizes.
pub fn denoise(
    samplings: &[Sampling],
    planes: &[FrameView<'_>],
    references: &[Reference<'_>],
    strength: Strength,
) -> Result<(NoiseLevels, Vec<Frame>), CompensationError> {
    let luma = &planes[0];
    let (width, height) = luma.size();
    let (columns, rows) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
    let samples_of = |block: usize| {
        let (left, top) = (block % columns * BLOCK, block / columns * BLOCK);
        let rows = top..(top + BLOCK).min(height);
        rows.flat_map(move |y| (left..(left + BLOCK).min(width)).map(move |x| (x as i32, y as i32)))
    };
    let blocks: Vec<_> = (0..columns * rows)
        .map(|block| {
            let samples = samples_of(block).map(|(x, y)| u64::from(luma.sample(x, y)));
            BlockLuma {
                samples: samples.clone().count() as u64,
                sum: samples.clone().sum(),
                squares: samples.map(|sample| sample * sample).sum(),
            }
        })
        .collect();
    let mut errors = Vec::new();
    for reference in references {
        let field = field(luma.size(), reference.vectors)?;
        let prediction = oracle::predict(&field, Sampling::LUMA, &reference.planes[0])?;
        let of_block = |block: usize| {
            let difference = |(x, y)| luma.sample(x, y).abs_diff(prediction.view().sample(x, y));
            let (x, y) = field.position_in_quarters(block % columns * BLOCK, block / columns * BLOCK);
            BlockError {
                sum: samples_of(block).map(|at| u64::from(difference(at)).pow(2)).sum(),
                fraction: ((x & 3) as u8, (y & 3) as u8),
            }
        };
        errors.push((0..blocks.len()).map(of_block).collect::<Vec<_>>());
    }
    let depth = luma.format().depth();
    let beside = references.iter().zip(&errors).filter(|(reference, _)| reference.is_beside);
    let estimates = beside
        .filter_map(|(_, errors)| NoiseEstimate::new(depth, &blocks, errors, &mut NoiseMemory::default()));
    let noise = NoiseLevels::least(depth, estimates);
    let taken = noise.times(strength);
    let weights: Vec<_> = (0..blocks.len())
        .map(|block| {
            let mut weights = BlockWeights::default();
            let errors = errors.iter().map(|errors| (errors[block].sum, errors[block].gain()));
            set_weights(taken.of(&blocks[block]), blocks[block].samples, errors, &mut weights);
            weights
        })
        .collect();
    let mut made = Vec::new();
    for (index, (plane, sampling)) in planes.iter().zip(samplings).enumerate() {
        let mut predictions = Vec::new();
        for reference in references {
            let field = field(luma.size(), reference.vectors)?;
            predictions.push(if index == 0 {
                oracle::predict(&field, Sampling::LUMA, &reference.planes[0])?
            } else {
                predict_chroma(&field, *sampling, &reference.planes[index])
            });
        }
        made.push(Frame::deep_from_fn(plane.format().depth(), plane.size(), |x, y| {
            let luma_x = (x / sampling.pixel()) << u32::from(sampling.halved_x);
            let luma_y = y << u32::from(sampling.halved_y);
            let [current, others @ ..] = weights[luma_y / BLOCK * columns + luma_x / BLOCK];
            let mut sum = u32::from(current) * u32::from(plane.sample(x as i32, y as i32));
            for (weight, prediction) in others.into_iter().zip(&predictions) {
                sum += u32::from(weight) * u32::from(prediction.view().sample(x as i32, y as i32));
            }
            ((sum + 128) >> 8) as u16
        }));
    }
    Ok((noise, made))
}

/// The prediction of a plane of chroma.
fn predict_chroma(field: &Field<'_>, sampling: Sampling, plane: &FrameView<'_>) -> Frame {
    let halved = [sampling.halved_x, sampling.halved_y].map(u32::from);
    Frame::deep_from_fn(plane.format().depth(), plane.size(), |x, y| {
        let (pixel, component) = (x / sampling.pixel(), x % sampling.pixel());
        let luma = (pixel << halved[0], y << halved[1]);
        let end = field.position_in_quarters(luma.0, luma.1);
        // Eighths of a pixel.
        let (x, y) = (end.0 << (1 - halved[0]), end.1 << (1 - halved[1]));
        chroma_sample(plane, (sampling.pixel(), component), x, y) as u16
    })
}

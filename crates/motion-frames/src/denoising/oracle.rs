//! The definition, one sample at a time.

use super::Reference;
use super::errors::Errors;
use super::map::{BlockNoise, Evidence, NoiseMap, NoiseMemory};
use super::noise::{Bends, ChromaBlock, ChromaError, LumaBlock, LumaError, flickers, least_noise};
use super::rules::{BLOCK, MOST_REFERENCES, NOISE_GAINS, Strength, chroma_gain, field, halvings};
use super::weights::{Weighed, most_change};
use crate::compensation::{CompensationError, Field, Sampling, oracle};
use crate::interpolation::FrameFormat;
use crate::interpolation::oracle::chroma_sample;
use motion_base::{Frame, FrameView};
use motion_search::scenes::oracle::halved_frame;

/// The frame that is searched in place of a luma plane.
pub fn search_frame(luma: &FrameView<'_>) -> Frame {
    halved_frame(luma, halvings(luma.size()))
}

/// The frame with these `planes`, which are sampled as `samplings` say, without its noise, which is that of the previous
/// frame at first.
///
/// # Errors
/// [`CompensationError`] if planes or fields have other sizes.
///
/// # Panics
/// If there is no plane, `noise` is of another size of frames, or there are more than [`MOST_REFERENCES`] references.
pub fn denoise(
    noise: &mut NoiseMap,
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
    let columns = luma.width().div_ceil(BLOCK);
    let count = columns * luma.height().div_ceil(BLOCK);
    assert_eq!(noise.blocks().len(), count, "a noise map of other frames");
    // The samples of a plane of chroma, or of one component, in a block.
    let samples_of = |index: usize, component: usize, block: usize| {
        let (plane, sampling) = (&planes[index], samplings[index]);
        let [width, height] = [sampling.halved_x, sampling.halved_y].map(|halved| BLOCK >> u32::from(halved));
        let (left, top) = (block % columns * width, block / columns * height);
        let columns = left..(left + width).min(plane.width() / sampling.pixel());
        let rows = top..(top + height).min(plane.height());
        let x = move |column| (column * sampling.pixel() + component) as i32;
        rows.flat_map(move |y| columns.clone().map(move |column| (x(column), y as i32)))
    };
    let luma_block = |block: usize| {
        let samples = samples_of(0, 0, block).map(|(x, y)| u64::from(luma.sample(x, y)));
        let step = |(x, y)| u64::from(luma.sample(x - 1, y).abs_diff(luma.sample(x, y))).pow(2);
        let is_first = |x: i32| (x as usize).is_multiple_of(BLOCK);
        let is_whole = (block % columns + 1) * BLOCK <= luma.width();
        let steps = samples_of(0, 0, block).filter(|&(x, _)| is_whole && !is_first(x)).map(step).sum();
        let squares = samples.clone().map(|sample| sample * sample).sum();
        LumaBlock::new(samples.clone().count() as u64, samples.sum(), squares, steps)
    };
    let chroma_block = |block: usize| {
        let mut of_block = ChromaBlock::default();
        for (index, sampling) in samplings.iter().enumerate().skip(1) {
            for component in 0..sampling.pixel() {
                let samples = samples_of(index, component, block);
                let sample = |x: i32, y: i32| i64::from(extended(&planes[index], *sampling, x, y));
                let mut bends = Bends::default();
                let (mut count, mut sum, mut squares) = (0, 0, 0);
                for (x, y) in samples {
                    let (middle, beside) = (sample(x, y), sampling.pixel() as i32);
                    let along = sample(x - beside, y) - 2 * middle + sample(x + beside, y);
                    let down = sample(x, y - 1) - 2 * middle + sample(x, y + 1);
                    bends.along += along.unsigned_abs().pow(2);
                    bends.down += down.unsigned_abs().pow(2);
                    bends.both += along * down;
                    count += 1;
                    sum += middle as u64;
                    squares += (middle * middle) as u64;
                }
                of_block.add(count, &[sum], squares, bends);
            }
        }
        of_block
    };
    let luma_blocks: Vec<_> = (0..count).map(luma_block).collect();
    let chroma_blocks: Vec<_> =
        if planes.len() > 1 { (0..count).map(chroma_block).collect() } else { Vec::new() };
    // For each other frame its predictions, and their errors in blocks.
    let (mut predictions, mut luma_errors, mut chroma_errors) = (Vec::new(), Vec::new(), Vec::new());
    for reference in references {
        let field = field(luma.size(), reference.vectors)?;
        let mut predicted = vec![oracle::predict(&field, Sampling::LUMA, &reference.planes[0])?];
        for (index, sampling) in samplings.iter().enumerate().skip(1) {
            predicted.push(predict_chroma(&field, *sampling, &reference.planes[index]));
        }
        let difference = |index: usize, (x, y): (i32, i32)| {
            u64::from(planes[index].sample(x, y).abs_diff(predicted[index].view().sample(x, y))).pow(2)
        };
        let position =
            |block: usize| field.position_in_quarters(block % columns * BLOCK, block / columns * BLOCK);
        let luma_error = |block: usize| {
            let (x, y) = position(block);
            let (x, y) = ((x & 3) as usize, (y & 3) as usize);
            let squares = samples_of(0, 0, block).map(|at| difference(0, at)).sum();
            let of_block = samples_of(0, 0, block);
            let sum = of_block.map(|(x, y)| u64::from(predicted[0].view().sample(x, y))).sum();
            LumaError::new(&luma_blocks[block], squares, sum, NOISE_GAINS[y][x])
        };
        let chroma_error = |block: usize| {
            let mut error = ChromaError::default();
            for (index, sampling) in samplings.iter().enumerate().skip(1) {
                let (x, y) = in_eighths(*sampling, position(block));
                let components = 0..sampling.pixel();
                let samples = components.flat_map(|component| samples_of(index, component, block));
                let squares = samples.map(|at| difference(index, at)).sum();
                error.add(squares, chroma_gain((x, y)), ((x & 7) as u8, (y & 7) as u8));
            }
            error
        };
        luma_errors.push((0..count).map(luma_error).collect::<Vec<_>>());
        chroma_errors.push((0..chroma_blocks.len()).map(chroma_error).collect::<Vec<_>>());
        predictions.push(predicted);
    }
    let is_of_other_light = |errors: &Vec<LumaError>| {
        flickers(errors.iter().filter(|error| error.is_of_other_light()).count(), count)
    };
    let lights: Vec<_> = luma_errors.iter().map(is_of_other_light).collect();
    let luma_errors = Errors::of(count, &luma_errors);
    let chroma_errors = Errors::of(chroma_blocks.len(), &chroma_errors);
    let evidence = Evidence::of(references, &lights, &luma_errors, &chroma_errors);
    noise.follow(&luma_blocks, &chroma_blocks, &evidence, &mut NoiseMemory::default());
    let no_chroma = ChromaBlock::default();
    let weighed = |block: usize| {
        let BlockNoise { luma, chroma } = noise.blocks()[block];
        Weighed {
            luma_block: &luma_blocks[block],
            chroma_block: chroma_blocks.get(block).unwrap_or(&no_chroma),
            noise: BlockNoise { luma: strength.of(luma), chroma: strength.of(chroma) },
            least_noise: least_noise(planes[0].format().depth()),
            luma: luma_errors.of_block(block),
            chroma: if chroma_blocks.is_empty() { &[] } else { chroma_errors.of_block(block) },
            lights: &lights,
        }
    };
    let averages: Vec<_> = (0..count)
        .map(|block| {
            let weighed = weighed(block);
            let [luma, chroma] = weighed.weights();
            let BlockNoise { luma: luma_noise, chroma: chroma_noise } = weighed.noise;
            [(luma, most_change(luma_noise)), (chroma, most_change(chroma_noise))]
        })
        .collect();
    let made = planes.iter().zip(samplings).enumerate().map(|(index, (plane, sampling))| {
        Frame::deep_from_fn(plane.width(), plane.height(), plane.format().depth(), |x, y| {
            let luma_x = (x / sampling.pixel()) << u32::from(sampling.halved_x);
            let luma_y = y << u32::from(sampling.halved_y);
            let block = luma_y / BLOCK * columns + luma_x / BLOCK;
            let ([current, others @ ..], most) = averages[block][index.min(1)];
            let (x, y) = (x as i32, y as i32);
            let mut sum = u32::from(current) * u32::from(plane.sample(x, y));
            for (number, (weight, predicted)) in others.into_iter().zip(&predictions).enumerate() {
                let is_of_other_light = index == 0 && lights[number];
                let brighter =
                    if is_of_other_light { luma_errors.of_block(block)[number].brighter } else { 0 };
                let peak = i32::from(plane.format().peak());
                let sample = i32::from(predicted[index].view().sample(x, y)) + brighter;
                sum += u32::from(weight) * sample.clamp(0, peak) as u32;
            }
            let sample = plane.sample(x, y);
            (((sum + 128) >> 8) as u16).clamp(sample.saturating_sub(most), sample.saturating_add(most))
        })
    });
    Ok(made.collect())
}

/// The sample of a plane at `(x, y)`; outside, its edge pixels repeat.
fn extended(plane: &FrameView<'_>, sampling: Sampling, x: i32, y: i32) -> u16 {
    let pixel = sampling.pixel() as i32;
    let last = plane.width() as i32 - pixel;
    plane.sample(
        if x < 0 {
            x + pixel
        } else if x >= last + pixel {
            x - pixel
        } else {
            x
        },
        y,
    )
}

/// A position in quarter luma samples in eighths of a pixel of chroma.
fn in_eighths(sampling: Sampling, (x, y): (i32, i32)) -> (i32, i32) {
    (x << (1 - u32::from(sampling.halved_x)), y << (1 - u32::from(sampling.halved_y)))
}

/// The prediction of a plane of chroma.
fn predict_chroma(field: &Field<'_>, sampling: Sampling, plane: &FrameView<'_>) -> Frame {
    let halved = [sampling.halved_x, sampling.halved_y].map(u32::from);
    Frame::deep_from_fn(plane.width(), plane.height(), plane.format().depth(), |x, y| {
        let (pixel, component) = (x / sampling.pixel(), x % sampling.pixel());
        let luma = (pixel << halved[0], y << halved[1]);
        let end = field.position_in_quarters(luma.0, luma.1);
        let (x, y) = in_eighths(sampling, end);
        chroma_sample(plane, (sampling.pixel(), component), x, y) as u16
    })
}

//! A frame in blocks of 8 x 8 luma samples, and what the samples of each block are.

use super::super::limits::SHADES;
use super::super::rules::{BLOCK, SAMPLES};
use crate::compensation::Sampling;
use motion_base::FrameView;

/// The planes of a frame, luma first, in blocks.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    pub planes: &'a [FrameView<'a>],
    pub samplings: &'a [Sampling],
    pub columns: usize,
    pub rows: usize,
}

/// What the samples of luma are in a block.
#[derive(Clone, Copy)]
pub(super) struct DefinedLumaBlock {
    /// How many samples of the block are in the frame.
    pub samples: u64,
    pub sum: u64,
    /// The sum of the squared differences from the mean.
    pub variation: u64,
    /// The part of the variation that is in the differences of neighbouring samples of a row. All of white noise is.
    pub white: u64,
    /// The shade of brightness.
    pub shade: usize,
}

/// What the samples of all planes of chroma are in a block.
#[derive(Clone, Copy, Default)]
pub(super) struct DefinedChromaBlock {
    pub samples: u64,
    /// The sum of the squared differences from the mean of each component.
    pub variation: u64,
    /// The sum of squared second differences along rows.
    pub along: i64,
    /// The same along columns.
    pub down: i64,
    /// The sum of the products of both.
    pub both: i64,
}

impl<'a> Blocks<'a> {
    pub fn new(planes: &'a [FrameView<'a>], samplings: &'a [Sampling]) -> Self {
        let (width, height) = planes[0].size();
        Self { planes, samplings, columns: width.div_ceil(BLOCK), rows: height.div_ceil(BLOCK) }
    }

    pub fn count(&self) -> usize {
        self.columns * self.rows
    }

    pub fn depth(&self) -> u32 {
        self.planes[0].format().depth()
    }

    pub fn has_chroma(&self) -> bool {
        self.planes.len() > 1
    }

    /// The planes of chroma and their components.
    pub fn chroma_components(&self) -> Vec<(usize, usize)> {
        let mut components = Vec::new();
        for plane in 1..self.planes.len() {
            for component in 0..self.samplings[plane].pixel() {
                components.push((plane, component));
            }
        }
        components
    }

    /// The places of the samples of a component of a plane in a block, as far as they are in the plane.
    pub fn places(&self, plane: usize, component: usize, block: usize) -> Vec<(i32, i32)> {
        let (view, sampling) = (&self.planes[plane], self.samplings[plane]);
        let side = |is_halved: bool| if is_halved { BLOCK / 2 } else { BLOCK };
        let (width, height) = (side(sampling.halved_x), side(sampling.halved_y));
        let (left, top) = (block % self.columns * width, block / self.columns * height);
        let mut places = Vec::new();
        for y in top..(top + height).min(view.height()) {
            for x in left..(left + width).min(view.width() / sampling.pixel()) {
                places.push(((x * sampling.pixel() + component) as i32, y as i32));
            }
        }
        places
    }

    /// The block of a pixel of a plane.
    pub fn block_of(&self, plane: usize, x: usize, y: usize) -> usize {
        let sampling = self.samplings[plane];
        let luma_x = if sampling.halved_x { 2 * x } else { x };
        let luma_y = if sampling.halved_y { 2 * y } else { y };
        luma_y / BLOCK * self.columns + luma_x / BLOCK
    }
}

impl DefinedLumaBlock {
    pub fn of(blocks: &Blocks<'_>, block: usize) -> Self {
        let luma = &blocks.planes[0];
        let (mut samples, mut sum, mut squares, mut steps) = (0, 0, 0, 0);
        for (x, y) in blocks.places(0, 0, block) {
            let sample = u64::from(luma.sample(x, y));
            samples += 1;
            sum += sample;
            squares += sample * sample;
            if !(x as usize).is_multiple_of(BLOCK) {
                steps += u64::from(luma.sample(x - 1, y)).abs_diff(sample).pow(2);
            }
        }
        // A block that the right edge cuts has no differences.
        if (block % blocks.columns + 1) * BLOCK > luma.width() {
            steps = 0;
        }
        let variation = squares - sum * sum / samples;
        // Samples of white noise differ by twice its variance, and 8 x 8 samples have 7 x 8 neighbours.
        let white = (4 * steps / 7).min(variation);
        let shades = SHADES as u64 * sum / samples / (1 << blocks.depth());
        Self { samples, sum, variation, white, shade: shades as usize }
    }

    /// Whether all its samples are in the frame. Only such blocks have an estimate.
    pub fn is_whole(&self) -> bool {
        self.samples == SAMPLES
    }

    pub fn is_flat(&self) -> bool {
        self.variation == 0
    }
}

impl DefinedChromaBlock {
    pub fn of(blocks: &Blocks<'_>, block: usize) -> Self {
        let mut all = Self::default();
        for (plane, component) in blocks.chroma_components() {
            let sample = |x: i32, y: i32| i64::from(extended(blocks, plane, x, y));
            let beside = blocks.samplings[plane].pixel() as i32;
            let (mut samples, mut sum, mut squares) = (0, 0, 0);
            for (x, y) in blocks.places(plane, component, block) {
                let middle = sample(x, y);
                samples += 1;
                sum += middle as u64;
                squares += (middle * middle) as u64;
                let along = sample(x - beside, y) - 2 * middle + sample(x + beside, y);
                let down = sample(x, y - 1) - 2 * middle + sample(x, y + 1);
                all.along += along * along;
                all.down += down * down;
                all.both += along * down;
            }
            all.samples += samples;
            all.variation += squares - sum * sum / samples;
        }
        all
    }
}

/// The sample of a plane at `(x, y)`, or one pixel beside the plane, where pixels of the edge repeat.
fn extended(blocks: &Blocks<'_>, plane: usize, x: i32, y: i32) -> u16 {
    let (view, pixel) = (&blocks.planes[plane], blocks.samplings[plane].pixel() as i32);
    let (width, height) = (view.width() as i32, view.height() as i32);
    let x = if x < 0 {
        x + pixel
    } else if x >= width {
        x - pixel
    } else {
        x
    };
    view.sample(x, y.clamp(0, height - 1))
}

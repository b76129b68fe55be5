//! A frame predicted from another one along the motion, and the errors of the prediction in each block.

use super::super::BlockNoise;
use super::super::limits::{LIGHT, PLAIN};
use super::super::reference::Reference;
use super::super::rules::{BLOCK, NOISE_GAINS, SAMPLES, SEARCHED_SAMPLES};
use super::blocks::{Blocks, DefinedLumaBlock};
use crate::compensation::{CompensationError, Sampling};
use crate::interpolation::oracle::{chroma_sample, halvings_to};
use motion_base::{Frame, FrameView, MotionVector};
use motion_search::estimator::oracle::interpolation::Interpolated;

/// How often a frame of this size is halved for the search.
pub(super) fn halvings(size: (usize, usize)) -> u32 {
    halvings_to(size, SEARCHED_SAMPLES)
}

/// The error of a block of luma.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DefinedLumaError {
    /// The sum of the squared differences: D.
    pub squares: u64,
    /// The same without the difference of the means: V.
    pub variation: u64,
    /// The part of a sample's noise that the prediction has, in 256ths: G.
    pub gain: u64,
    /// By how much the block is brighter on the mean, rounded to a whole sample value; halves are rounded up.
    pub brighter: i64,
}

/// The error of a block of chroma, of all planes together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DefinedChromaError {
    pub squares: u64,
    pub gain: u64,
    /// The place between the samples of the other frame, in eighths.
    pub fraction: (u64, u64),
}

/// The prediction of a frame from another one.
pub(super) struct Prediction {
    /// How many frames later the other frame is; earlier, if less than zero.
    pub offset: isize,
    /// The luma of the other frame.
    between: Interpolated,
    /// The ends of the vectors of the blocks of the search frame: those of the blocks of the frame at first.
    found: Vec<(i32, i32)>,
    /// For each block the place of its first sample in the other frame, in quarter samples.
    ends: Vec<(i32, i32)>,
    /// The planes behind luma, which is predicted where it is averaged.
    pub chroma_planes: Vec<Frame>,
    pub luma: Vec<DefinedLumaError>,
    pub chroma: Vec<DefinedChromaError>,
    /// Whether light flickers between both frames.
    pub flickers: bool,
}

impl Prediction {
    /// # Errors
    /// [`CompensationError::FieldSize`] if there are too few or too many vectors.
    pub fn new(
        blocks: &Blocks<'_>,
        of_luma: &[DefinedLumaBlock],
        reference: &Reference<'_>,
    ) -> Result<Self, CompensationError> {
        let found = ends(blocks, reference.vectors)?;
        let mut prediction = Self {
            offset: reference.offset,
            between: Interpolated::new(&reference.planes[0]),
            ends: found.clone(),
            found,
            chroma_planes: Vec::new(),
            luma: Vec::new(),
            chroma: Vec::new(),
            flickers: false,
        };
        let mut changed = 0;
        for (block, of_luma) in of_luma.iter().enumerate() {
            let error = prediction.error(blocks, of_luma, block, prediction.ends[block]);
            // The mean of so many samples of noise has a variance of V / 64, and its square is more than 16 times that.
            if SAMPLES * (error.squares - error.variation) > LIGHT * error.variation {
                changed += 1;
            }
            prediction.luma.push(error);
        }
        prediction.flickers = 2 * changed > blocks.count();
        prediction.predict_chroma(blocks, reference);
        Ok(prediction)
    }

    /// Predicts the planes of chroma, and measures their errors.
    fn predict_chroma(&mut self, blocks: &Blocks<'_>, reference: &Reference<'_>) {
        self.chroma_planes.clear();
        for plane in 1..blocks.planes.len() {
            self.chroma_planes.push(predict_chroma(blocks, &self.ends, plane, &reference.planes[plane]));
        }
        self.chroma.clear();
        if blocks.has_chroma() {
            for (block, &end) in self.ends.iter().enumerate() {
                self.chroma.push(chroma_error(blocks, block, &self.chroma_planes, end));
            }
        }
    }

    /// The error of a block of luma whose first sample is at `end` in the other frame.
    fn error(
        &self,
        blocks: &Blocks<'_>,
        of_luma: &DefinedLumaBlock,
        block: usize,
        end: (i32, i32),
    ) -> DefinedLumaError {
        let sample = |x: i32, y: i32| self.between.sample(end.0 + 4 * x, end.1 + 4 * y).into();
        luma_error(blocks, block, of_luma, sample, end)
    }

    /// Gives blocks with noise the vectors of neighbours, and then those beside them, that predict them better.
    pub fn refine(
        &mut self,
        blocks: &Blocks<'_>,
        of_luma: &[DefinedLumaBlock],
        noise: &[BlockNoise],
        reference: &Reference<'_>,
    ) {
        let halvings = halvings(blocks.planes[0].size());
        let side = 1 << halvings;
        for block in 0..blocks.count() {
            let structure = of_luma[block].variation - of_luma[block].white;
            let is_plain = PLAIN * structure <= noise[block].luma;
            if noise[block] == BlockNoise::default() || self.luma[block].squares == 0 || is_plain {
                continue;
            }
            let (column, row) = ((block % blocks.columns) as i32, (block / blocks.columns) as i32);
            // The block of the search frame above, those on the left and right, and that below.
            for (across, down) in [(0, -side), (-side, 0), (side, 0), (0, side)] {
                // Blocks of the search frame may be cut off by the edge.
                let beside = ((column + across) / side * side, (row + down) / side * side);
                let is_inside = column + across >= 0
                    && row + down >= 0
                    && beside.0 < blocks.columns as i32
                    && beside.1 < blocks.rows as i32;
                if !is_inside {
                    continue;
                }
                let other = self.found[beside.1 as usize * blocks.columns + beside.0 as usize];
                let place = |at: i32| 4 * BLOCK as i32 * at;
                let end = (place(column) + other.0 - place(beside.0), place(row) + other.1 - place(beside.1));
                self.try_end(blocks, &of_luma[block], block, end);
            }
            // Vectors that were found in smaller frames are not known to quarter samples.
            for step in (0..halvings).rev().map(|halvings| 1 << halvings) {
                for (across, down) in [(step, 0), (0, step)] {
                    let (x, y) = self.ends[block];
                    if !self.try_end(blocks, &of_luma[block], block, (x + across, y + down)) {
                        self.try_end(blocks, &of_luma[block], block, (x - across, y - down));
                    }
                }
            }
        }
        self.predict_chroma(blocks, reference);
    }

    /// Gives a block a vector that ends at `end`, if that predicts it better. Returns whether it does.
    fn try_end(
        &mut self,
        blocks: &Blocks<'_>,
        of_luma: &DefinedLumaBlock,
        block: usize,
        end: (i32, i32),
    ) -> bool {
        let error = self.error(blocks, of_luma, block, end);
        let is_better = self.difference(&error) < self.luma_difference(block);
        if is_better {
            self.luma[block] = error;
            self.ends[block] = end;
        }
        is_better
    }

    /// The sample of luma that the vector of a block predicts at `(x, y)`, which may be outside the block.
    pub fn luma_sample(&self, blocks: &Blocks<'_>, block: usize, (x, y): (i32, i32)) -> i64 {
        let first = (block % blocks.columns * BLOCK, block / blocks.columns * BLOCK);
        let end = self.ends[block];
        self.between.sample(end.0 + 4 * (x - first.0 as i32), end.1 + 4 * (y - first.1 as i32)).into()
    }

    fn difference(&self, error: &DefinedLumaError) -> u64 {
        if self.flickers { error.variation } else { error.squares }
    }

    /// The squared difference of a block of luma by which noise and mismatch are measured.
    pub fn luma_difference(&self, block: usize) -> u64 {
        self.difference(&self.luma[block])
    }
}

/// For each block the end of its vector in the other frame: the place of the block's first sample there, in quarter samples of
/// luma.
fn ends(blocks: &Blocks<'_>, vectors: &[MotionVector]) -> Result<Vec<(i32, i32)>, CompensationError> {
    let halvings = halvings(blocks.planes[0].size());
    // The frame that is searched has blocks of 8 x 8 samples, too.
    let columns = blocks.columns.div_ceil(1 << halvings);
    let needed = columns * blocks.rows.div_ceil(1 << halvings);
    if vectors.len() != needed {
        return Err(CompensationError::FieldSize { needed, present: vectors.len() });
    }
    let mut ends = Vec::new();
    for row in 0..blocks.rows {
        for column in 0..blocks.columns {
            let vector = vectors[(row >> halvings) * columns + (column >> halvings)];
            let end = |block: usize, length: i16| (4 * BLOCK * block) as i32 + in_quarters(length, halvings);
            ends.push((end(column, vector.x), end(row, vector.y)));
        }
    }
    Ok(ends)
}

/// The length of a vector, in 1/32 sample of a frame halved so often, in quarter samples of the frame; halves are rounded away from
/// zero.
fn in_quarters(length: i16, halvings: u32) -> i32 {
    let length = i32::from(length) << halvings;
    (length.abs() + 4) / 8 * length.signum()
}

/// A position in quarter samples of luma, in eighths of a pixel of chroma.
fn in_eighths(sampling: Sampling, (x, y): (i32, i32)) -> (i32, i32) {
    (if sampling.halved_x { x } else { 2 * x }, if sampling.halved_y { y } else { 2 * y })
}

fn predict_chroma(
    blocks: &Blocks<'_>,
    ends: &[(i32, i32)],
    plane: usize,
    reference: &FrameView<'_>,
) -> Frame {
    let sampling = blocks.samplings[plane];
    Frame::deep_from_fn(reference.width(), reference.height(), blocks.depth(), |x, y| {
        let (x, component) = (x / sampling.pixel(), x % sampling.pixel());
        let end = in_eighths(sampling, ends[blocks.block_of(plane, x, y)]);
        let side = |is_halved: bool| if is_halved { BLOCK / 2 } else { BLOCK };
        let (inside_x, inside_y) = (x % side(sampling.halved_x), y % side(sampling.halved_y));
        let place = (end.0 + 8 * inside_x as i32, end.1 + 8 * inside_y as i32);
        chroma_sample(reference, (sampling.pixel(), component), place.0, place.1) as u16
    })
}

/// The error of a block of luma, by the predicted sample at a place in the block.
fn luma_error(
    blocks: &Blocks<'_>,
    block: usize,
    of_luma: &DefinedLumaBlock,
    predicted: impl Fn(i32, i32) -> i64,
    end: (i32, i32),
) -> DefinedLumaError {
    let first = (block % blocks.columns * BLOCK, block / blocks.columns * BLOCK);
    let (mut squares, mut sum) = (0, 0);
    for (x, y) in blocks.places(0, 0, block) {
        let difference =
            i64::from(blocks.planes[0].sample(x, y)) - predicted(x - first.0 as i32, y - first.1 as i32);
        squares += difference.unsigned_abs().pow(2);
        sum += difference;
    }
    let samples = of_luma.samples as i64;
    DefinedLumaError {
        squares,
        variation: squares - sum.unsigned_abs().pow(2) / of_luma.samples,
        gain: NOISE_GAINS[(end.1 & 3) as usize][(end.0 & 3) as usize].into(),
        brighter: (2 * sum + samples).div_euclid(2 * samples),
    }
}

fn chroma_error(
    blocks: &Blocks<'_>,
    block: usize,
    predicted: &[Frame],
    end: (i32, i32),
) -> DefinedChromaError {
    let mut squares = 0;
    for (plane, component) in blocks.chroma_components() {
        for (x, y) in blocks.places(plane, component, block) {
            let predicted = predicted[plane - 1].view().sample(x, y);
            squares += u64::from(blocks.planes[plane].sample(x, y).abs_diff(predicted)).pow(2);
        }
    }
    // All planes of chroma are sampled alike.
    let end = in_eighths(blocks.samplings[1], end);
    let (x, y) = ((end.0 & 7) as u64, (end.1 & 7) as u64);
    // The sum of the squares of the four weights of the mean, in 256ths.
    let gain = ((8 - x).pow(2) + x.pow(2)) * ((8 - y).pow(2) + y.pow(2)) / 16;
    DefinedChromaError { squares, gain, fraction: (x, y) }
}

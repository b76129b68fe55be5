//! Frames without noise, made on the CPU.

use std::sync::Arc;

use rayon::prelude::*;

use super::mean::{PlaneMean, steps_of_chroma};
use super::measure::{MeasuredErrors, MeasuredLuma};
use super::noise::{BlockError, BlockLuma, NoiseEstimate, NoiseLevels, NoiseMemory};
use super::rules::{BLOCK, BlockWeights, MOST_REFERENCES, Strength, VectorEnds, halvings, set_weights};
use crate::compensation::{CompensationError, PlaneMut};
use crate::estimator::{Frame, FrameView, MotionVector, NATIVE, SetupError};
use crate::interpolation::{CellSource, DeepLuma, FrameFormat, LumaPoints, SearchFrames, with_chroma};
use crate::memory;
use crate::simd::Instructions;
use crate::simd::Level;

/// How often frames may be halved for the search: vectors are in 1/32 sample of the search frame.
const MOST_HALVINGS: u32 = 5;

/// Where a [`Denoiser`] keeps the luma of a frame that it has loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LumaSlot(usize);

/// A frame that another one is averaged with.
#[derive(Clone, Copy)]
pub struct Reference<'a> {
    /// Where its luma is.
    pub slot: LumaSlot,
    /// Its planes, luma first.
    pub planes: &'a [FrameView<'a>],
    /// The field of the other frame in this one.
    pub vectors: &'a [MotionVector],
    /// Whether no frame is between the two. The noise is estimated with such frames.
    pub is_beside: bool,
}

/// Takes the noise out of frames: [`Self::load`] each frame of a stream; when those are loaded that it is averaged with,
/// [`Self::measure`] it, and write its planes in order.
///
/// Memory: with eight bits five bytes a luma sample of each loaded frame; 16 bytes a block of 8 x 8 samples for each
/// reference frame.
pub struct Denoiser {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    format: FrameFormat,
    search_frames: SearchFrames,
    /// The luma of the frames that were loaded last, if it has eight bits, and where that of the next one goes.
    points: Vec<LumaPoints>,
    next: usize,
    blocks: Vec<BlockLuma>,
    /// For each reference frame the errors of its prediction.
    errors: Vec<Vec<BlockError>>,
    /// And where the vectors lead to in it.
    ends: Vec<VectorEnds>,
    noise_memory: Vec<NoiseMemory>,
    weights: Vec<BlockWeights>,
}

impl Denoiser {
    /// For frames of `format`, each to be averaged with at most `references` of the `loaded` frames that were loaded last.
    /// It runs in `threads` threads, 0 for one a core, which it shares with all devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if threads or memory are missing, or the frames are too large.
    ///
    /// # Panics
    /// If `references` is more than [`MOST_REFERENCES`], or `loaded` is 0.
    pub fn new(
        format: &FrameFormat,
        references: usize,
        loaded: usize,
        threads: usize,
    ) -> Result<Self, SetupError> {
        Self::with_level(format, references, loaded, threads, Level::best())
    }

    /// The same with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `level`.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn with_level(
        format: &FrameFormat,
        references: usize,
        loaded: usize,
        threads: usize,
        level: Level,
    ) -> Result<Self, SetupError> {
        assert!(references <= MOST_REFERENCES && loaded > 0, "{references} of {loaded} frames");
        let (width, height) = format.size;
        let halvings = halvings(format.size);
        if halvings > MOST_HALVINGS {
            return Err(SetupError::DeviceUnsupported {
                wanted: NATIVE.into(),
                reason: format!(
                    "noise is taken out of frames of at most 2^27 samples, not {width} x {height}"
                ),
            });
        }
        let blocks = width.div_ceil(BLOCK) * height.div_ceil(BLOCK);
        format.check_chroma(NATIVE)?;
        let instructions = level.required()?;
        let kept = if format.samples.depth() == 8 { loaded } else { 0 };
        Ok(Self {
            instructions,
            threads: crate::threads::pool(threads)?,
            format: format.clone(),
            search_frames: SearchFrames::new(format.size, halvings)?,
            points: (0..kept).map(|_| LumaPoints::new(format.size)).collect::<Result<_, _>>()?,
            next: 0,
            blocks: memory::values("the brightness of blocks", blocks)?,
            errors: (0..references)
                .map(|_| memory::values("the errors of blocks", blocks))
                .collect::<Result<_, _>>()?,
            ends: (0..references).map(|_| VectorEnds::default()).collect(),
            noise_memory: (0..references).map(|_| NoiseMemory::default()).collect(),
            weights: memory::values("the weights of blocks", blocks)?,
        })
    }

    /// Loads the frame with the plane `luma`. Returns the frame that is searched in its place, with
    /// [`search_parameters`](super::search_parameters), and where its luma is until as many others are loaded as may be.
    ///
    /// # Errors
    /// [`CompensationError`] if it is no plane of the stream.
    pub fn load(&mut self, luma: &FrameView<'_>) -> Result<(Frame, LumaSlot), CompensationError> {
        self.format.check(0, luma)?;
        let Self { instructions, threads, search_frames, points, next, .. } = self;
        let slot = LumaSlot(*next);
        let search_frame = threads.install(|| {
            if let Some(points) = points.get_mut(slot.0) {
                points.fill(*instructions, luma);
            }
            search_frames.make(*instructions, luma)
        });
        *next = if slot.0 + 1 < points.len() { slot.0 + 1 } else { 0 };
        Ok((search_frame, slot))
    }

    /// Estimates the noise of the frame with the plane `luma`, and decides by how much [`Self::write_plane`] averages it
    /// with `references`. Returns the noise. Nothing changes if there is none.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane or a field is not one of the stream.
    ///
    /// # Panics
    /// If there are more references than it was made for.
    pub fn measure(
        &mut self,
        luma: &FrameView<'_>,
        references: &[Reference<'_>],
        strength: Strength,
    ) -> Result<NoiseLevels, CompensationError> {
        self.format.check(0, luma)?;
        self.check(0, references)?;
        let Self {
            instructions, threads, format, points, blocks, ends, errors, noise_memory, weights, ..
        } = self;
        for (ends, reference) in ends.iter_mut().zip(references) {
            ends.set(format.size, reference.vectors)?;
        }
        let (columns, depth) = (format.size.0.div_ceil(BLOCK), format.samples.depth());
        let errors = &mut errors[..references.len()];
        let measure = |is_beside: bool, errors: &mut [Vec<BlockError>]| {
            let others = references.par_iter().zip(&*ends).zip(errors);
            let others = others.filter(|((reference, _), _)| reference.is_beside == is_beside);
            others.for_each(|((reference, ends), errors)| match points.get(reference.slot.0) {
                Some(points) => {
                    measure_errors(*instructions, luma, &points.quarter_samples(), ends, errors);
                }
                None => {
                    let source = DeepLuma(reference.planes[0]);
                    measure_errors(*instructions, luma, &source, ends, errors);
                }
            });
        };
        // One call from this thread: handing work over takes time.
        let noise = threads.install(|| {
            blocks.par_chunks_mut(columns).enumerate().for_each(|(row, blocks)| {
                instructions.run(MeasuredLuma { plane: luma, y: row * BLOCK, blocks });
            });
            measure(true, errors);
            let others = references.par_iter().zip(&*errors).zip(noise_memory);
            let beside = others.filter(|((reference, _), _)| reference.is_beside);
            let estimates: Vec<_> = beside
                .map(|((_, errors), memory)| NoiseEstimate::new(depth, blocks, errors, memory))
                .collect();
            let noise = NoiseLevels::least(depth, estimates.into_iter().flatten());
            let taken = noise.times(strength);
            // Without noise the others have no weight.
            if !taken.is_none() {
                measure(false, errors);
            }
            weights.par_iter_mut().zip(&*blocks).enumerate().with_min_len(columns).for_each(
                |(index, (weights, block))| {
                    let errors = errors.iter().map(|errors| (errors[index].sum, errors[index].gain()));
                    set_weights(taken.of(block), block.samples, errors, weights);
                },
            );
            noise
        });
        Ok(noise)
    }

    /// Writes plane `index` of the frame that was measured last. `plane` is this plane of it; `references` are those that
    /// it was measured with.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane is not one of the stream.
    ///
    /// # Panics
    /// If there is no such plane, or luma is not written first.
    pub fn write_plane(
        &self,
        index: usize,
        plane: &FrameView<'_>,
        references: &[Reference<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        self.format.check(index, plane)?;
        self.format.check(index, &out.view())?;
        self.check(index, references)?;
        let Self { instructions, threads, format, points, ends, weights, .. } = self;
        let mean = PlaneMean {
            instructions: *instructions,
            plane,
            others: references.iter().map(|reference| reference.planes[index]).collect(),
            ends: &ends[..references.len()],
            weights,
            columns: format.size.0.div_ceil(BLOCK),
            steps: if index == 0 { (1, 1) } else { steps_of_chroma(format.samplings[index]) },
            out,
        };
        let depth = format.samples.depth();
        threads.install(|| match (index, depth) {
            (0, 8) => {
                let luma = |reference: &Reference<'_>| points[reference.slot.0].quarter_samples();
                mean.write::<_, 1, BLOCK, BLOCK>(&references.iter().map(luma).collect::<Vec<_>>());
            }
            (0, _) => {
                let luma: Vec<_> = mean.others.iter().map(|plane| DeepLuma(*plane)).collect();
                mean.write::<_, 1, BLOCK, BLOCK>(&luma);
            }
            _ => with_chroma(format.samplings[index], depth, mean),
        });
        Ok(())
    }

    /// Checks the planes `index` of `references`.
    fn check(&self, index: usize, references: &[Reference<'_>]) -> Result<(), CompensationError> {
        references.iter().try_for_each(|reference| self.format.check(index, &reference.planes[index]))
    }
}

/// Measures the prediction of all blocks of `luma` from `source`.
fn measure_errors<S: CellSource<BLOCK, BLOCK>>(
    instructions: Instructions,
    luma: &FrameView<'_>,
    source: &S,
    ends: &VectorEnds,
    errors: &mut [BlockError],
) {
    let columns = luma.width().div_ceil(BLOCK);
    errors.par_chunks_mut(columns).enumerate().for_each(|(row, errors)| {
        S::run(instructions, MeasuredErrors { plane: luma, source, ends, row, errors });
    });
}

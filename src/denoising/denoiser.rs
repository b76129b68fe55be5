//! Frames without noise, made on the CPU.

use std::sync::Arc;

use rayon::prelude::*;

use super::mean::{MeanOfRows, MeanRow};
use super::measure::{MeasuredErrors, MeasuredLuma};
use super::noise::{BlockError, BlockLuma, NoiseLevels};
use super::rules::{BLOCK, BlockWeights, MOST_REFERENCES, Strength, field, set_weights};
use crate::compensation::{CompensationError, PlaneMut, predict};
use crate::estimator::{Frame, FrameView, MotionVector, SetupError};
use crate::interpolation::{FrameFormat, SearchFrames, halvings};
use crate::native::level::Instructions;
use crate::native::{Level, Native, threads};

/// How often frames may be halved for the search: vectors are in 1/32 sample of the search frame.
const MOST_HALVINGS: u32 = 5;

/// A frame that another one is averaged with.
#[derive(Clone, Copy)]
pub struct Reference<'a> {
    /// Its planes, luma first.
    pub planes: &'a [FrameView<'a>],
    /// The field of the other frame in this one.
    pub vectors: &'a [MotionVector],
    /// Whether no frame is between the two. The noise is estimated with such frames.
    pub is_beside: bool,
}

/// Takes the noise out of frames, one after the other: [`Self::measure`] a frame, then write its planes in order.
///
/// Memory: for each reference frame a byte a luma sample, two of deep samples, and 24 bytes a block of 8 x 8 samples.
pub struct Denoiser {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    format: FrameFormat,
    search_frames: SearchFrames,
    blocks: Vec<BlockLuma>,
    /// For each reference frame the errors of its prediction, and the prediction of the plane that was written last.
    errors: Vec<Vec<BlockError>>,
    predictions: Vec<Vec<u8>>,
    weights: Vec<BlockWeights>,
}

impl Denoiser {
    /// For frames of `format` and at most `references` frames to average each with. It runs in `threads` threads, 0 for
    /// one a core, which it shares with all devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if threads are missing, or the frames are too large.
    ///
    /// # Panics
    /// If `references` is more than [`MOST_REFERENCES`].
    pub fn new(format: &FrameFormat, references: usize, threads: usize) -> Result<Self, SetupError> {
        Self::with_level(format, references, threads, Level::best())
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
        threads: usize,
        level: Level,
    ) -> Result<Self, SetupError> {
        assert!(references <= MOST_REFERENCES, "{references} reference frames");
        let (width, height) = format.size;
        if halvings(width, height) > MOST_HALVINGS {
            return Err(SetupError::DeviceUnsupported {
                wanted: Native::NAME.into(),
                reason: format!(
                    "noise is taken out of frames of at most 2^29 samples, not {width} x {height}"
                ),
            });
        }
        let blocks = width.div_ceil(BLOCK) * height.div_ceil(BLOCK);
        // Interleaved chroma of a frame of one column is larger than luma.
        let largest = (0..format.samplings.len()).map(|plane| layout(format, plane).2).max().unwrap_or(0);
        Ok(Self {
            instructions: level.required()?,
            threads: threads::pool(threads)?,
            format: format.clone(),
            search_frames: SearchFrames::new(format.size),
            blocks: vec![BlockLuma::default(); blocks],
            errors: vec![vec![BlockError::default(); blocks]; references],
            predictions: vec![vec![0; largest]; references],
            weights: vec![BlockWeights::default(); blocks],
        })
    }

    /// The frame that is searched in place of that with the plane `luma`, with
    /// [`search_parameters`](super::search_parameters).
    ///
    /// # Errors
    /// [`CompensationError`] if it is no plane of the stream.
    pub fn search_frame(&mut self, luma: &FrameView<'_>) -> Result<Frame, CompensationError> {
        self.format.check(0, luma)?;
        let Self { instructions, threads, search_frames, .. } = self;
        Ok(threads.install(|| search_frames.make(*instructions, luma)))
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
        self.predict_plane(0, references)?;
        let Self { instructions, threads, format, blocks, errors, predictions, weights, .. } = self;
        let columns = format.size.0.div_ceil(BLOCK);
        let fields = references.iter().map(|reference| field(format.size, reference.vectors));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let errors = &mut errors[..references.len()];
        threads.install(|| {
            blocks.par_chunks_mut(columns).enumerate().for_each(|(row, blocks)| {
                instructions.run(MeasuredLuma { plane: luma, y: row * BLOCK, blocks });
            });
            for ((errors, field), prediction) in errors.iter_mut().zip(fields).zip(&*predictions) {
                let prediction = &view(format, 0, prediction);
                errors.par_chunks_mut(columns).enumerate().for_each(|(row, errors)| {
                    let y = row * BLOCK;
                    instructions.run(MeasuredErrors { plane: luma, prediction, field, y, errors });
                });
            }
        });
        let beside = references.iter().zip(&*errors).filter(|(reference, _)| reference.is_beside);
        let noise =
            NoiseLevels::estimate(format.samples.depth(), blocks, beside.map(|(_, errors)| &errors[..]));
        let taken = noise.times(strength);
        for (index, (weights, block)) in weights.iter_mut().zip(&*blocks).enumerate() {
            let errors = errors.iter().map(|errors| (errors[index].sum, errors[index].gain()));
            set_weights(taken.of(block), block.samples, errors, weights);
        }
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
        &mut self,
        index: usize,
        plane: &FrameView<'_>,
        references: &[Reference<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        self.format.check(index, plane)?;
        self.format.check(index, &out.view())?;
        // Luma has been predicted to be measured.
        if index > 0 {
            self.predict_plane(index, references)?;
        }
        let Self { instructions, threads, format, predictions, weights, .. } = self;
        let sampling = format.samplings[index];
        let columns = format.size.0.div_ceil(BLOCK);
        let predictions: Vec<_> = predictions[..references.len()]
            .iter()
            .map(|prediction| view(format, index, prediction))
            .collect();
        let rows = BLOCK >> u32::from(sampling.halved_y);
        let stride = out.stride();
        threads.install(|| {
            let rows_of_blocks = out.bytes_mut().par_chunks_mut(stride * rows).enumerate();
            rows_of_blocks.for_each_init(MeanRow::default, |memory, (row, out)| {
                let (weights, predictions) = (&weights[row * columns..][..columns], &predictions[..]);
                let y = row * rows;
                instructions.run(MeanOfRows {
                    sampling,
                    weights,
                    y,
                    plane,
                    predictions,
                    out,
                    stride,
                    memory,
                });
            });
        });
        Ok(())
    }

    /// Predicts plane `index` from each of `references`.
    fn predict_plane(&mut self, index: usize, references: &[Reference<'_>]) -> Result<(), CompensationError> {
        let Self { threads, format, predictions, .. } = self;
        let sampling = format.samplings[index];
        for (reference, prediction) in references.iter().zip(&mut predictions[..references.len()]) {
            let field = field(format.size, reference.vectors)?;
            let mut plane = plane_mut(format, index, prediction);
            threads.install(|| predict(&field, sampling, &reference.planes[index], &mut plane))?;
        }
        Ok(())
    }
}

/// The samples, samples a row and rows, and bytes a row of plane `index` in memory of this crate.
fn layout(format: &FrameFormat, index: usize) -> ((usize, usize), usize, usize) {
    let (width, height) = format.plane_size(index);
    let row = width * format.samples.bytes();
    ((width, height), row, row * height)
}

fn view<'a>(format: &FrameFormat, index: usize, bytes: &'a [u8]) -> FrameView<'a> {
    let (size, row, length) = layout(format, index);
    FrameView::with_format(&bytes[..length], size, row, format.samples.normal())
        .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"))
}

fn plane_mut<'a>(format: &FrameFormat, index: usize, bytes: &'a mut [u8]) -> PlaneMut<'a> {
    let (size, row, length) = layout(format, index);
    PlaneMut::with_format(&mut bytes[..length], size, row, format.samples.normal())
        .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"))
}

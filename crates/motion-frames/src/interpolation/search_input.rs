//! What is searched in place of the frames of a stream.

use std::sync::Arc;

use super::fading;
use super::patches::Patch;
use super::rules::{BLOCK, check_field};
use super::small_objects::SmallObjects;
use crate::compensation::CompensationError;
use motion_base::simd::InstructionSetName;
use motion_base::simd::Instructions;
use motion_base::{Algorithm, Frame, FrameView, MotionVector, Parameters, SetupError};
use motion_search::scenes::{
    BlockVectors, FlatFrame, SceneCutThreshold, SceneCuts, SearchFrames, halved, halvings,
};

/// Makes what is searched, and tells scene cuts by what is found. That is always the CPU's, whatever makes the frames between.
pub struct SearchInput {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    size: (usize, usize),
    search_frames: SearchFrames,
    searched_size: (usize, usize),
    scene_cuts: SceneCuts,
    small_objects: SmallObjects,
    threshold: SceneCutThreshold,
}

impl SearchInput {
    /// For frames of `size` luma samples. It runs in `threads` threads, 0 for one a core, which it shares with all
    /// devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if the frames are empty or too large, or threads or memory are missing.
    pub fn new(size: (usize, usize), threads: usize) -> Result<Self, SetupError> {
        Self::with_instruction_set(size, threads, InstructionSetName::best())
    }

    /// The same with the instructions of `instruction_set`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`.
    pub fn with_instruction_set(
        size: (usize, usize),
        threads: usize,
        instruction_set: InstructionSetName,
    ) -> Result<Self, SetupError> {
        Parameters::check_frame_size(size)?;
        let halvings = halvings(size.0, size.1);
        let searched_size = (halved(size.0, halvings), halved(size.1, halvings));
        Ok(Self {
            instructions: instruction_set.required()?,
            threads: motion_base::threads::pool(threads)?,
            size,
            search_frames: SearchFrames::new(size, halvings)?,
            searched_size,
            scene_cuts: SceneCuts::new(searched_size)?,
            small_objects: SmallObjects::new(searched_size)?,
            threshold: SceneCutThreshold::default(),
        })
    }

    /// The frame to be searched in place of that with this luma plane, with
    /// [`search_parameters`](super::search_parameters).
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] if the plane has another size.
    pub fn frame(&mut self, luma: &FrameView<'_>) -> Result<Frame, CompensationError> {
        let (width, height) = self.size;
        if luma.size() != self.size {
            return Err(CompensationError::PlaneSize(width, height, luma.width(), luma.height()));
        }
        let Self { instructions, threads, search_frames, .. } = self;
        Ok(threads.install(|| search_frames.make(*instructions, luma)))
    }

    /// How much two frames must differ from now on to show different scenes.
    pub fn set_scene_cut_threshold(&mut self, threshold: SceneCutThreshold) {
        self.threshold = threshold;
    }

    /// The value set last.
    pub fn scene_cut_threshold(&self) -> SceneCutThreshold {
        self.threshold
    }

    /// Whether two frames that [`Self::frame`] has made show different scenes, so that nothing should be made between them,
    /// by the field of the previous one in the next one.
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] or [`CompensationError::BitDepth`] if a frame is none that [`Self::frame`] makes,
    /// [`CompensationError::FieldSize`] if it is not a field of search frames.
    pub fn is_scene_cut(
        &mut self,
        [previous, next]: [&Frame; 2],
        field: &[MotionVector],
    ) -> Result<bool, CompensationError> {
        check_field(self.size, field)?;
        let frames = [&previous.view(), &next.view()];
        frames.into_iter().try_for_each(|frame| self.search_frames.check(frame))?;
        let (width, height) = self.searched_size;
        let field = BlockVectors {
            vectors: field,
            grid: (width.div_ceil(BLOCK), height.div_ceil(BLOCK)),
            block_size: BLOCK,
            halvings: 0,
            unit: Algorithm::Hierarchical.scale().ilog2(),
        };
        let Self { instructions, threads, scene_cuts, threshold, .. } = self;
        Ok(threads
            .install(|| scene_cuts.is_cut(*instructions, frames, &field, (*threshold, FlatFrame::Scene))))
    }

    /// Corrects the field that was found for the previous of two frames in the next one, where frames are made between them:
    /// without the vectors of a picture that one of them hardly shows, and without those of small objects. Returns what is
    /// drawn of these.
    ///
    /// # Errors
    /// As [`Self::is_scene_cut`].
    pub fn correct(
        &mut self,
        [previous, next]: [&Frame; 2],
        field: &mut [MotionVector],
    ) -> Result<Vec<Patch>, CompensationError> {
        check_field(self.size, field)?;
        let frames = [&previous.view(), &next.view()];
        frames.into_iter().try_for_each(|frame| self.search_frames.check(frame))?;
        if fading::hides_motion(self.instructions, frames) {
            field.fill(MotionVector::default());
            return Ok(Vec::new());
        }
        Ok(self.small_objects.find(self.instructions, frames, field))
    }
}

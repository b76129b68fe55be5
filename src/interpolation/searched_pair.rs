//! What is searched in place of the two newest frames of a stream.

use std::sync::Arc;

use super::rules::check_field;
use super::scene_cut::is_scene_cut;
use super::search_frame::SearchFrames;
use crate::compensation::CompensationError;
use crate::estimator::{Frame, FrameView, MotionVector, SetupError};
use crate::native::level::Instructions;
use crate::native::{Level, threads};

/// The search frames of the two newest frames of a stream. The CPU makes them, whatever makes the frames between.
pub struct SearchedPair {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    size: (usize, usize),
    search_frames: SearchFrames,
    /// Of the previous frame, and of the next one.
    frames: [Option<Frame>; 2],
}

impl SearchedPair {
    /// For frames of `size` luma samples. It runs in `threads` threads, 0 for one a core, which it shares with all
    /// devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if threads are missing.
    pub fn new(size: (usize, usize), threads: usize) -> Result<Self, SetupError> {
        Self::with_level(size, threads, Level::best())
    }

    /// The same with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `level`.
    pub fn with_level(size: (usize, usize), threads: usize, level: Level) -> Result<Self, SetupError> {
        Ok(Self {
            instructions: level.required()?,
            threads: threads::pool(threads)?,
            size,
            search_frames: SearchFrames::new(size),
            frames: [None, None],
        })
    }

    /// Makes the frame with this luma plane the next one, and what was the next one the previous. Returns the frame to
    /// be searched in its place, with [`search_parameters`](super::search_parameters).
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] if the plane has another size.
    pub fn load(&mut self, luma: &FrameView<'_>) -> Result<Frame, CompensationError> {
        let (width, height) = self.size;
        if luma.size() != self.size {
            return Err(CompensationError::PlaneSize(width, height, luma.width(), luma.height()));
        }
        let Self { instructions, threads, search_frames, frames, .. } = self;
        frames.swap(0, 1);
        // Its memory is used again.
        frames[1] = None;
        let search_frame = threads.install(|| search_frames.make(*instructions, luma));
        frames[1] = Some(search_frame.clone());
        Ok(search_frame)
    }

    /// Whether the two frames show different scenes, so that nothing should be made between them, by the field of the next
    /// frame in the previous one.
    ///
    /// # Errors
    /// [`CompensationError::FieldSize`] if it is not a field of search frames.
    pub fn is_scene_cut(&self, field: &[MotionVector]) -> Result<bool, CompensationError> {
        check_field(self.size, field)?;
        let [Some(previous), Some(next)] = &self.frames else { return Ok(false) };
        let frames = [&next.view(), &previous.view()];
        Ok(self.threads.install(|| is_scene_cut(self.instructions, frames, field)))
    }
}

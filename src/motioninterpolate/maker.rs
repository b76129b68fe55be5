//! Makes the frames between two input frames.

use gst_video::{VideoFrameRef, VideoInfo};

use super::timeline::Phase;
use super::{MotionInterpolateMode, MotionInterpolateSceneCut};
use crate::compensation::{CompensationError, Sampling, weighted_mean};
use crate::video::frame::{PlaneError, plane, plane_mut, samplings};

/// Why a frame is not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A buffer cannot be mapped as a frame of its caps.
    #[error("no frame that can be mapped")]
    Mapping(#[from] glib::BoolError),
    /// A plane of a buffer cannot be used.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Two planes do not fit together.
    #[error(transparent)]
    Planes(#[from] CompensationError),
}

/// What becomes of a moment between two input frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A frame is made.
    Make,
    /// The previous input frame is repeated.
    RepeatPrevious,
    /// The next input frame is shown early.
    RepeatNext,
}

/// The two newest input frames of a sequence, and what makes frames between them.
#[derive(Debug)]
pub struct Maker {
    info: VideoInfo,
    /// One for each plane.
    samplings: Vec<Sampling>,
    previous: Option<gst::Buffer>,
    next: Option<gst::Buffer>,
}

impl Maker {
    /// For frames of `info`. Everything that making a frame needs is allocated here.
    pub fn new(info: &VideoInfo) -> Self {
        Self { info: info.clone(), samplings: samplings(info), previous: None, next: None }
    }

    /// Goes on to the next input frame.
    pub fn load(&mut self, buffer: gst::Buffer) {
        self.previous = self.next.replace(buffer);
    }

    /// Holds the previous frame no longer: nothing is made between the two any more.
    pub fn release(&mut self) {
        self.previous = None;
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        (self.previous, self.next) = (None, None);
    }

    pub fn previous(&self) -> Option<&gst::Buffer> {
        self.previous.as_ref()
    }

    pub fn next(&self) -> Option<&gst::Buffer> {
        self.next.as_ref()
    }

    /// What becomes of the moment at `phase` between the two frames, and whether that is so because of a scene cut.
    pub fn decide(
        &self,
        mode: MotionInterpolateMode,
        _scene_cut: MotionInterpolateSceneCut,
        phase: Phase,
    ) -> (Decision, bool) {
        match mode {
            MotionInterpolateMode::Motion | MotionInterpolateMode::Blend => (Decision::Make, false),
            MotionInterpolateMode::Repeat if phase.is_nearer_to_previous() => {
                (Decision::RepeatPrevious, false)
            }
            MotionInterpolateMode::Repeat => (Decision::RepeatNext, false),
        }
    }

    /// Makes the frame at `phase` between the two frames in `out`.
    ///
    /// # Errors
    /// [`MakeError`] if a buffer does not hold the frame its caps promise.
    pub fn make(
        &mut self,
        _mode: MotionInterpolateMode,
        phase: Phase,
        out: &mut gst::BufferRef,
    ) -> Result<(), MakeError> {
        let (Some(previous), Some(next)) = (&self.previous, &self.next) else { return Ok(()) };
        let info = &self.info;
        let previous = VideoFrameRef::from_buffer_ref_readable(previous, info)?;
        let next = VideoFrameRef::from_buffer_ref_readable(next, info)?;
        let mut out = VideoFrameRef::from_buffer_ref_writable(out, info)?;
        for (index, &sampling) in self.samplings.iter().enumerate() {
            let [previous, next] = [&previous, &next].map(|frame| plane(frame, info, index, sampling));
            let mut out = plane_mut(&mut out, info, index, sampling)?;
            weighted_mean(&previous?, &next?, phase.weight_of_previous(), &mut out)?;
        }
        Ok(())
    }
}

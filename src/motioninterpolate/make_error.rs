//! Why frames are not made.

use gst_video::VideoInfo;

use super::motion::MotionError;
use crate::settings::search_message;
use crate::video::frame::{PlaneError, frame_message};
use motion_search::compensation::CompensationError;
use motion_search::interpolation::InterpolationError;

/// Why a frame is not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A buffer does not hold the frame its caps promise.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Two planes do not fit together.
    #[error(transparent)]
    Planes(#[from] CompensationError),
    /// The search for motion failed, or what makes frames along it.
    #[error(transparent)]
    Motion(#[from] MotionError),
}

impl MakeError {
    /// The error message for the bus about a frame of `info`.
    pub fn message(&self, info: &VideoInfo) -> gst::ErrorMessage {
        match self {
            Self::Motion(MotionError::Search(error)) => search_message(error),
            Self::Motion(MotionError::Make(error @ InterpolationError::Device(_))) => {
                gst::error_msg!(gst::LibraryError::Failed, ("No frame can be made: {error}"), ["{error:?}"])
            }
            _ => frame_message(self, info),
        }
    }
}

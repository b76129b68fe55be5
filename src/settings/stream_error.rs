//! What goes wrong with a frame of a stream.

use gst_video::VideoInfo;

use super::search_message;
use crate::meta::MetaError;
use crate::video::frame::{PlaneError, frame_message};
use motion_frames::compensation::CompensationError;
use motion_frames::denoising::DenoisingError;
use motion_frames::interpolation::InterpolationError;
use motion_search::estimator::EstimateError;

/// Why a frame is not searched, made or written.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// A buffer does not hold the frame its caps promise.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Planes or fields do not fit together.
    #[error(transparent)]
    Planes(#[from] CompensationError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
    /// A frame between two others is not made.
    #[error(transparent)]
    Make(InterpolationError),
    /// The noise of a frame is not taken out.
    #[error(transparent)]
    Denoise(#[from] DenoisingError),
    /// The vectors cannot be attached.
    #[error(transparent)]
    Attach(#[from] MetaError),
}

impl StreamError {
    /// The error message for the bus about a frame of `info`.
    pub fn message(&self, info: &VideoInfo) -> gst::ErrorMessage {
        match self {
            Self::Search(error) => search_message(error),
            Self::Make(error @ InterpolationError::Device(_)) => {
                gst::error_msg!(gst::LibraryError::Failed, ("No frame can be made: {error}"), ["{error:?}"])
            }
            Self::Denoise(error @ DenoisingError::Device(_)) => {
                gst::error_msg!(
                    gst::LibraryError::Failed,
                    ("No frame can be denoised: {error}"),
                    ["{error:?}"]
                )
            }
            Self::Attach(error) => {
                gst::error_msg!(
                    gst::LibraryError::Failed,
                    ("Cannot attach the vectors: {error}"),
                    ["{error:?}"]
                )
            }
            _ => frame_message(self, info),
        }
    }
}

//! How several devices work together, as properties have it.

use crate::backend::OnDeviceFailure;
use crate::session::{Balance, Split};

/// How several devices divide the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateSplit")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateSplit {
    /// By rows.
    #[default]
    #[enum_value(name = "By rows of blocks", nick = "auto")]
    Auto,
    /// Each a band of rows of blocks.
    #[enum_value(name = "Each a band of rows of blocks", nick = "rows")]
    Rows,
    /// Each a share of the displacements.
    #[enum_value(name = "Each a share of the displacements of the whole frame", nick = "candidates")]
    Candidates,
    /// Whole frames in turn.
    #[enum_value(name = "Whole frames in turn, of those in flight", nick = "frames")]
    Frames,
}

/// How much each of several devices gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateBalance")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateBalance {
    /// Shares follow the rates that are measured.
    #[default]
    #[enum_value(name = "Shares follow the rates measured with every frame", nick = "adaptive")]
    Adaptive,
    /// Shares are computed once.
    #[enum_value(name = "Shares by curves fitted to the first frames' times", nick = "fit")]
    Fit,
    /// By weights.
    #[enum_value(name = "Shares by the weights in the list of devices", nick = "static")]
    Static,
}

/// What happens when the last device has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateOnDeviceFailure")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateOnDeviceFailure {
    /// The CPU takes over.
    #[default]
    #[enum_value(name = "The CPU without OpenCL goes on, with a warning", nick = "native")]
    Native,
    /// An error.
    #[enum_value(name = "An error ends the stream", nick = "error")]
    Error,
}

impl From<MotionEstimateSplit> for Split {
    fn from(split: MotionEstimateSplit) -> Self {
        match split {
            MotionEstimateSplit::Auto => Self::Auto,
            MotionEstimateSplit::Rows => Self::Rows,
            MotionEstimateSplit::Candidates => Self::Candidates,
            MotionEstimateSplit::Frames => Self::Frames,
        }
    }
}

impl From<MotionEstimateBalance> for Balance {
    fn from(balance: MotionEstimateBalance) -> Self {
        match balance {
            MotionEstimateBalance::Adaptive => Self::Adaptive,
            MotionEstimateBalance::Fit => Self::Fit,
            MotionEstimateBalance::Static => Self::Static,
        }
    }
}

impl From<MotionEstimateOnDeviceFailure> for OnDeviceFailure {
    fn from(failure: MotionEstimateOnDeviceFailure) -> Self {
        match failure {
            MotionEstimateOnDeviceFailure::Native => Self::Native,
            MotionEstimateOnDeviceFailure::Error => Self::Error,
        }
    }
}

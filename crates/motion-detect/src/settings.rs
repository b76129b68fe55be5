//! What a user may set, and why it may be refused.

use std::time::Duration;

use crate::mask::{Mask, MaskError};

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// From 0, only what is unmistakable, to 1, the faintest motion. It is the significance that a region must have.
    pub sensitivity: f64,
    /// Regions that are smaller than this, across or down, are ignored: in samples of the full frame.
    pub least_size: (u32, u32),
    /// How long something must move before its region begins.
    pub least_duration: Duration,
    /// How long a region stays open without being seen.
    pub hold: Duration,
    /// How long after a change of light, or a new scene, only what travels counts.
    pub settle: Duration,
    /// Where motion counts; everywhere without.
    pub mask: Option<Mask>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sensitivity: 0.5,
            least_size: (0, 0),
            least_duration: Duration::from_millis(100),
            hold: Duration::from_secs(1),
            settle: Duration::from_secs(2),
            mask: None,
        }
    }
}

/// Why there is no detector.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DetectionError {
    /// The frame that is looked at has too few or too many samples.
    #[error(
        "motion is not detected in frames of {width} x {height} samples, halved {halvings} times: what is left must have at least \
         {least} on each side and at most {most} in all"
    )]
    #[allow(missing_docs)]
    FrameSize { width: usize, height: usize, halvings: u32, least: usize, most: usize },
    /// A number that is no sensitivity.
    #[error("sensitivity {0} is not usable: use 0 to 1")]
    Sensitivity(f64),
    /// The mask cannot be used.
    #[error(transparent)]
    Mask(#[from] MaskError),
}

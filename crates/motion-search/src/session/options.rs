//! How a session works.

use std::fmt;
use std::time::Duration;

use super::Balance;
use crate::estimator::{Device, SetupError};
use motion_base::pace;

/// How the work is divided among several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// By rows.
    #[default]
    Auto,
    /// Each device gets a band of block rows, and of the frames the rows that it needs.
    Rows,
    /// Each device gets a share of the displacements for the whole frame (Uta 6.2, 8.5): whole rows of the window, or single
    /// displacements if all kernels [try these](crate::estimator::WindowParts). Rows of blocks for an algorithm that goes
    /// from one displacement to the next.
    Candidates,
    /// Each device gets whole frames (Zhang IV). As many devices are busy as searches are in flight; with one
    /// in flight, the fastest device works.
    Frames,
}

/// How a session works.
pub struct Options {
    /// How the work is divided.
    pub split: Split,
    /// How much each device gets.
    pub balance: Balance,
    /// How long a device may take for a job at least before it is evicted, six times as long for its first
    /// one. A device whose jobs take long may take 50 times their average, and for its first job as long as
    /// it takes at 0.1 G absolute differences a second.
    pub patience: Duration,
    /// Whether to report shares and the devices of rows although there is only one device.
    pub is_list: bool,
    /// Threads of the [stages](crate::stages), shared with all that have this number: 0 for one a core.
    pub stage_threads: usize,
    /// Makes the device that takes over when the last device has failed; without it that is an error.
    pub fallback: Option<Fallback>,
}

/// Makes a device for the same parameters and depth as the others.
pub type Fallback = Box<dyn FnMut() -> Result<Box<dyn Device>, SetupError> + Send>;

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { split, balance, patience, is_list, stage_threads, fallback } = self;
        f.debug_struct("Options")
            .field("split", split)
            .field("balance", balance)
            .field("patience", patience)
            .field("is_list", is_list)
            .field("stage_threads", stage_threads)
            .field("has_fallback", &fallback.is_some())
            .finish()
    }
}

impl Options {
    /// The default of [`Self::patience`]: longer than any search takes, and longer than a compiler that the
    /// first search starts.
    pub const PATIENCE: Duration = pace::PATIENCE;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            split: Split::default(),
            balance: Balance::default(),
            patience: Self::PATIENCE,
            is_list: false,
            stage_threads: 0,
            fallback: None,
        }
    }
}

//! How a group works.

use std::time::Duration;

use super::Balance;
use crate::estimator::{Estimator, SetupError, pace};

/// How the work is divided among the devices of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// By rows.
    #[default]
    Auto,
    /// A device gets a band of block rows, and of the frames the rows that it needs.
    Rows,
    /// A device gets a share of the displacements, for the whole frame (Uta 7.1). Of an algorithm
    /// that goes from one displacement to the next, rows.
    Candidates,
    /// A device gets whole frames (Zhang IV). Several devices are busy only where so many
    /// searches are in flight.
    Frames,
}

/// How a group works.
pub struct Options {
    /// How the work is divided.
    pub split: Split,
    /// How much each device gets.
    pub balance: Balance,
    /// How long a device may at least take for a job before it counts as lost, six times as long for its
    /// first. Where its frames take long, it may take fifty times as long as they do on average; its
    /// first, as long as it takes by the slowest rate that a device has, 0.1 G absolute differences a second.
    pub patience: Duration,
    /// Makes what takes the place of the last device that failed; without it the failure is an error.
    pub fallback: Option<Fallback>,
}

/// Makes an estimator for the same parameters and depth as the others.
pub type Fallback = Box<dyn FnMut() -> Result<Box<dyn Estimator>, SetupError> + Send>;

impl Options {
    /// [`Self::patience`] where nothing is chosen: longer than any search should take, and a compiler
    /// that is started by the first.
    pub const PATIENCE: Duration = pace::PATIENCE;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            split: Split::default(),
            balance: Balance::default(),
            patience: Self::PATIENCE,
            fallback: None,
        }
    }
}

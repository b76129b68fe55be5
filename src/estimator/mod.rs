//! The vocabulary of motion estimation, and the trait every backend implements.
//!
//! Nothing here knows of GStreamer, OpenCL or SIMD. [`oracle`] is the definition of what is
//! found: every backend returns the very field it returns.

mod error;
mod kernel;
pub mod oracle;
mod order;
mod parameters;
mod picture;
pub mod prediction;
pub mod recurrence;
mod tuning;
mod vector;
mod window;

pub use error::{EstimateError, PictureError, SetupError};
pub use kernel::Kernel;
pub use order::OrderKey;
pub use parameters::{Algorithm, Border, Metric, Parameters};
pub use picture::{Picture, PictureBuf};
pub use prediction::{Prediction, Predictor};
pub use recurrence::Difference;
pub use tuning::{Launch, Tuning};
pub use vector::{Grid, MotionField, MotionVector, UNITS_PER_SAMPLE};
pub use window::{Displacement, MAX_DISPLACEMENT, Window};

use std::time::Duration;

/// One of the two places in which an estimator keeps a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The first place.
    A,
    /// The second place.
    B,
}

impl Slot {
    /// The other place.
    pub fn other(self) -> Self {
        match self {
            Slot::A => Slot::B,
            Slot::B => Slot::A,
        }
    }
}

/// How long each stage took for the last picture, as the backend measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Bringing the picture to where it is searched, borders included.
    pub upload: Duration,
    /// The search itself.
    pub search: Duration,
    /// Bringing the vectors back.
    pub download: Duration,
    /// Predicting the vectors, with bringing the predictors back; zero without prediction.
    pub prediction: Duration,
}

/// Finds the motion between two pictures, with everything allocated when it was made.
///
/// A picture is loaded once, into a [`Slot`], and stays there: as current picture of one search
/// and, as a rule, as reference of the next.
pub trait Estimator: Send {
    /// What this estimator was made for.
    fn parameters(&self) -> &Parameters;

    /// The device that does the work, in words a user knows it by.
    fn device(&self) -> &str;

    /// The kernel in use, never [`Kernel::Auto`] on an OpenCL device.
    fn kernel(&self) -> Kernel;

    /// Copies `picture` into `slot`, extended to whole blocks.
    ///
    /// # Errors
    /// [`EstimateError::PictureSize`] where its size is not that of [`Self::parameters`], and
    /// whatever the device reports. The slot is empty after an error.
    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError>;

    /// Copies the picture in `slot` back to the host, without the block extension; `None` where
    /// the slot is empty. Meant for moving a reference to another estimator, not for every picture.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError>;

    /// Finds for every block of the picture in `current` its match in the picture in the other
    /// slot, and writes one vector a block to `vectors` (`rows × columns`, row-major).
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`] where a picture is missing, [`EstimateError::FieldSize`] where
    /// `vectors` does not hold one record a block, and whatever the device reports.
    fn search(&mut self, current: Slot, vectors: &mut [MotionVector]) -> Result<(), EstimateError>;

    /// Writes one predictor a block of the field that was found last to `predictors`
    /// (`rows × columns`, row-major), as [`Parameters::prediction`] says.
    ///
    /// # Errors
    /// [`EstimateError::NotPredicting`] where the parameters ask for no prediction,
    /// [`EstimateError::NoField`] where no search has succeeded since the last that did not,
    /// [`EstimateError::FieldSize`] where `predictors` does not hold one record a block, and
    /// whatever the device reports.
    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError>;

    /// How long the stages of the last picture took.
    fn stage_times(&self) -> StageTimes;
}

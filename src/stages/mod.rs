//! Stages: each turns a whole field into a richer one.
//!
//! A session runs them after it has merged the parts of a search, so that a stage sees the whole field and
//! no split over devices can change its result.

mod median_prediction;

pub use median_prediction::{MedianPrediction, median_predictors};

use crate::estimator::{EstimateError, Output, Parameters, Prediction};

/// A step from a whole field to a richer one.
pub trait Stage: Send {
    /// Adds what the stage computes to `output`, whose vectors are complete.
    ///
    /// # Errors
    /// [`EstimateError::FieldSize`] if the field does not have the size that the stage was made for.
    fn apply(&mut self, output: &mut Output) -> Result<(), EstimateError>;
}

/// The stages that `parameters` ask for, in the order in which they run.
pub fn stages(parameters: &Parameters) -> Vec<Box<dyn Stage>> {
    match parameters.prediction {
        Prediction::None => Vec::new(),
        Prediction::Median => vec![Box::new(MedianPrediction::new(parameters.grid()))],
    }
}

//! Stages: each turns a whole field into a richer one.
//!
//! A session runs them after it has merged the parts of a search, so that a stage sees the whole field and
//! no split over devices can change its result.

mod cost_rows;
mod costs;
mod median_prediction;
mod scene_cut;
mod tiles;

pub use costs::block_costs;
use median_prediction::MedianPrediction;
pub use median_prediction::median_predictors;
use scene_cut::SceneCut;

use crate::estimator::{EstimateError, FrameView, Output, Parameters, Prediction, SetupError};
use motion_base::simd::InstructionSetName;

/// A step from a whole field to a richer one.
pub trait Stage: Send {
    /// Whether it reads the frames.
    fn reads_frames(&self) -> bool;

    /// Adds what the stage computes to `output`, whose vectors are complete. It runs in the rayon pool it is called from.
    ///
    /// # Errors
    /// [`EstimateError::FieldSize`], [`EstimateError::FrameSize`] if field or frames do not have the size that the stage
    /// was made for; [`EstimateError::NoFrame`] if it reads frames and there are none.
    fn apply(&mut self, frames: Option<SearchedFrames<'_>>, output: &mut Output)
    -> Result<(), EstimateError>;
}

/// The two frames of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchedFrames<'a> {
    /// The current frame.
    pub current: FrameView<'a>,
    /// The reference frame.
    pub reference: FrameView<'a>,
    /// Frames from the current frame to the reference frame, see [`Parameters::references`].
    pub offset: i64,
}

/// The stages that `parameters` ask for, in the order in which they run.
///
/// # Errors
/// [`SetupError`] if `parameters` are not valid.
pub fn stages(parameters: &Parameters) -> Result<Vec<Box<dyn Stage>>, SetupError> {
    parameters.validate()?;
    let mut stages: Vec<Box<dyn Stage>> = Vec::new();
    match parameters.prediction {
        Prediction::None => (),
        Prediction::Median => stages.push(Box::new(MedianPrediction::new(parameters.grid()))),
    }
    if !parameters.costs.is_empty() {
        stages.push(block_costs(parameters, InstructionSetName::best())?);
    }
    if parameters.scene_cut {
        stages.push(Box::new(SceneCut::new(parameters, InstructionSetName::best())?));
    }
    Ok(stages)
}

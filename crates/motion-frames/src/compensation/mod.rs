//! Motion compensation: the prediction of a frame from its reference frame and a motion field, the
//! residual, and the quality of the prediction.
//!
//! This module is independent of GStreamer. [`oracle`] is the definition, one sample at a time; all
//! other functions return the same samples and sums, faster.
//!
//! [`motion_base::sampling`] defines which samples a field leads to, and has the fast code for them.

mod compensated;
mod mean;
mod measure;
pub mod oracle;
mod predict;
mod residual;

pub use compensated::Compensated;
pub use mean::weighted_mean;
pub use measure::{SquaredError, mse, psnr, squared_error};
#[doc(inline)]
pub use motion_base::sampling::{CompensationError, Field, PlaneMut, Sampling};
pub use predict::{compensate, predict, predict_luma};

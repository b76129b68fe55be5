//! Motion compensation: the prediction of a frame from its reference and a motion field, and how
//! good it is.
//!
//! Nothing here knows of GStreamer. [`oracle`] is the definition, a sample at a time; everything
//! else returns the very same samples and sums, faster.
//!
//! # Which sample predicts which
//!
//! - A sample of a plane takes the vector of the block that holds its luma sample, the top left one
//!   where chroma is subsampled: `(x · 2, y · 2)` for the 4:2:0 chroma sample at `(x, y)`. So blocks
//!   of any size work with any subsampling, odd ones too.
//! - Vectors count quarter samples of luma, hence eighths of a chroma sample along an axis that is
//!   halved. Everything is computed in eighths of the plane's own samples.
//! - Between samples the prediction is bilinear, as in H.264, 8.4.2.2.2: with the fractions
//!   `fx`, `fy` in eighths and the four samples `a b / c d` around,
//!   `((8 - fx)(8 - fy) a + fx (8 - fy) b + (8 - fx) fy c + fx fy d + 32) >> 6`. Luma is treated
//!   alike (H.264 has a six-tap filter there); vectors of whole samples copy.
//! - Outside, the reference goes on by repeating its edge samples without limit.

mod blend;
mod error;
mod field;
mod measure;
pub mod oracle;
mod plane;
mod predict;

pub use error::CompensationError;
pub use field::{Field, Sampling};
pub use measure::{SquaredError, mse, psnr, squared_error};
pub use plane::PlaneMut;
pub use predict::{Output, compensate, predict, predict_luma};

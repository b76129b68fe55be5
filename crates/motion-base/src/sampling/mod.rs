//! The samples that vectors lead to: planes of a reference frame, sampled at quarters of a luma sample.
//!
//! - A sample of a plane uses the vector of the block that holds its luma sample; for subsampled
//!   chroma that is the top left of its luma samples, `(2x, 2y)` for the 4:2:0 sample at `(x, y)`.
//!   Blocks of any size, also odd ones, therefore work with any subsampling.
//! - Vectors are rounded to quarter luma samples, which are eighths of a chroma sample on a subsampled axis.
//! - Between samples, a plane with all of luma's columns and rows (luma, and chroma of 4:4:4) is predicted by the luma
//!   interpolation of H.264, 8.4.2.2.1: six taps to half samples, means to quarter samples.
//! - A subsampled plane is predicted as H.264, 8.4.2.2.2 does: with the fractions `fx`, `fy` in eighths and the four
//!   surrounding samples `a b / c d`,
//!   `((8 - fx)(8 - fy) a + fx (8 - fy) b + (8 - fx) fy c + fx fy d + 32) >> 6`.
//! - Samples of d bits are clipped to 0 … 2^d - 1.
//! - Outside the frame the reference repeats its edge samples without limit.

mod blend;
mod deep;
mod error;
mod field;
mod format;
mod plane;
mod predict;
mod six_tap;

pub use blend::{Fraction, bilinear};
pub use error::{CompensationError, check_depths, check_plane, check_size, check_sizes};
pub use field::{Field, Sampling};
pub use format::FrameFormat;
pub use plane::PlaneMut;
pub use predict::PlanePrediction;

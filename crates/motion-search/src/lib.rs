//! Block motion search: for every block of a frame, where the reference frame has it.
#![deny(missing_docs)]

pub mod backend;
pub mod compensation;
pub mod denoising;
pub mod estimator;
pub mod interpolation;
pub mod native;
#[cfg(feature = "opencl")]
pub mod opencl;
mod pace;
pub mod packers;
pub mod session;
pub mod stages;
pub mod tuning;
#[cfg(feature = "opencl")]
pub mod warnings;

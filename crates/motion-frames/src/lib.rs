#![doc = include_str!("../README.md")]
//!
//! # What is public
//!
//! | for | what |
//! |---|---|
//! | frames made of others | [`interpolation`]: between them, [`denoising`]: without noise, both on the device that [`backend`] opens; [`compensation`]: predicted ones |
//! | encoders | [`packers`]: the records that they read; [`quantizer`]: where their bits pay off |
//! | what needs no field | [`duplicates`]: frames that repeat others |
//! | tests and benchmarks, and what opens one certain device | `opencl`, and the modules `oracle`, which define each algorithm in plain loops |
//!
//! Errors and qualities may grow and are `non_exhaustive`.
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]

pub mod backend;
pub mod compensation;
pub mod denoising;
pub mod duplicates;
#[allow(unsafe_code)]
pub mod interpolation;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
pub mod opencl;
pub mod packers;

#[doc(inline)]
pub use motion_search::quantizer;

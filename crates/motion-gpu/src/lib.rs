#![doc = include_str!("../README.md")]
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]

pub mod compilation;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
mod opencl;

#[cfg(feature = "opencl")]
pub use opencl::*;

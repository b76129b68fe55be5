//! What the benchmarks share.
#![allow(missing_docs)] // No other package uses it.

pub mod papers;

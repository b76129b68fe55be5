//! What the benchmark `papers` is made of.

mod kernels;
mod tables;

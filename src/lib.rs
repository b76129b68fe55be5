//! Motion estimation for GStreamer: elements that find, draw and export block motion vectors.
#![deny(missing_docs)]

pub mod backend;
pub mod estimator;
pub mod meta;
pub mod native;

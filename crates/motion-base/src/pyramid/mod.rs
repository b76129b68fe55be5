//! Frames with margins, and the samples between their samples: what searches of a level, made frames and denoising read.

mod fill;
mod filters;
pub mod planes;
pub mod quarter_samples;
pub mod strips;

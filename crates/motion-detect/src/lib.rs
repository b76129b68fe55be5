#![doc = include_str!("../README.md")]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]

mod affine;
mod align;
mod camera;
mod changes;
mod detector;
mod evidence;
mod ghosts;
mod light;
mod mask;
mod noise;
mod observation;
mod regions;
mod resampling;
mod scene;
mod settings;
mod shadows;
mod tracks;

pub use camera::{Camera, Field};
pub use detector::Detector;
pub use mask::{Mask, MaskError};
pub use observation::{Observation, Region};
pub use settings::{DetectionError, Settings};

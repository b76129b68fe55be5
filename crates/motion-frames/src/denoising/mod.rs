//! Noise taken out of a frame by averaging it with the frames before and after it along the motion between them.
//!
//! `docs/how/denoising.md` derives the weights, and [`oracle`] defines all of it in plain loops. [`Denoiser`]
//! makes the same frames faster.
//!
//! [`FrameDenoiser`] is what makes them, on the CPU or on a device.
//!
//! The motion comes from the search frames and the search of [`interpolation`](crate::interpolation): a field of the
//! frame in each of the others, whatever device has found it.

mod areas;
mod denoiser;
mod errors;
mod frame_denoiser;
#[cfg(feature = "opencl")]
mod kernel_constants;
mod limits;
mod map;
mod mean;
mod measure;
mod noise;
pub mod oracle;
mod reference;
mod refined;
mod rules;
mod spatial;
mod stripes;
mod told;
mod weights;

pub use denoiser::Denoiser;
pub use frame_denoiser::{DenoisingError, FrameDenoiser, LoadedFrame, ReferenceFrame};
#[cfg(feature = "opencl")]
pub(crate) use kernel_constants::{constants_for_kernels, noise_constants_for_kernels};
#[cfg(feature = "opencl")]
pub(crate) use limits::SHADES;
#[cfg(feature = "opencl")]
pub(crate) use map::NoiseHistory;
pub use map::{BlockNoise, NoiseMap};
#[cfg(feature = "opencl")]
pub(crate) use mean::Average;
#[cfg(feature = "opencl")]
pub(crate) use noise::{ChromaBlock, ChromaError, LumaBlock, LumaError};
pub use reference::{LumaSlot, Reference};
pub use rules::{MOST_REFERENCES, NoiseLevel, NoiseLevelError, Strength, search_parameters};
#[cfg(feature = "opencl")]
pub(crate) use rules::{checked_halvings, quarters};
#[cfg(feature = "opencl")]
pub(crate) use told::step_of_asked;

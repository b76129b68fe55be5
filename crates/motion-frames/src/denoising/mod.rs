//! Noise taken out of a frame by averaging it with the frames before and after it along the motion between them.
//!
//! `docs/denoising.md` has the definition and derives the weights, and [`oracle`] says it in plain loops. [`Denoiser`]
//! makes the same frames faster.
//!
//! The motion comes from the search frames and the search of [`interpolation`](crate::interpolation): a field of the
//! frame in each of the others, whatever device has found it.

mod areas;
mod denoiser;
mod errors;
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
pub use map::{BlockNoise, NoiseMap};
pub use reference::{LumaSlot, Reference};
pub use rules::{MOST_REFERENCES, NoiseLevel, NoiseLevelError, Strength, search_parameters};

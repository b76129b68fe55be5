//! The element `motionx264enc` beside `x264enc`, in harnesses and in real pipelines.

mod events;
mod identical;
mod properties;
mod regions;
mod streams;
mod support;
mod told;

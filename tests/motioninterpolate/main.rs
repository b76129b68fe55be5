//! The element `motioninterpolate` in harnesses and real pipelines.

mod allocation;
mod bad_input;
mod caps;
mod depth;
mod events;
#[cfg(feature = "opencl")]
mod failures;
mod frames;
#[cfg(feature = "opencl")]
#[path = "../launched/mod.rs"]
mod launched;
mod live;
mod motion;
mod speed;
#[path = "../start/mod.rs"]
mod start;
mod statistics;
mod support;
mod times;

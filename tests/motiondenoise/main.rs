//! The element `motiondenoise` in harnesses and real pipelines.

mod bad_input;
mod events;
mod frames;
#[path = "../start/mod.rs"]
mod start;
mod support;

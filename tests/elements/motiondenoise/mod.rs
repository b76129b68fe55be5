//! The element `motiondenoise` in harnesses and real pipelines.

mod bad_input;
mod events;
mod frames;

use crate::support::denoise as support;

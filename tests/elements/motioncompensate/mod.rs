//! The element `motioncompensate`: what it sends on compared with the definition, and what it says.

mod bad_input;
mod buffers;
mod frames;
mod measures;
mod references;

use crate::support::compensate as support;

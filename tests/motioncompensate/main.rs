//! The element `motioncompensate`: what it sends on compared with the definition, and what it says.
#![allow(missing_docs)]

mod bad_input;
mod buffers;
#[path = "../fields/mod.rs"]
mod fields;
#[path = "../formats/mod.rs"]
mod formats;
mod frames;
mod measures;
mod references;
mod support;

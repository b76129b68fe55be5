//! The element `motionestimate` in harnesses and real pipelines, its vectors compared with the
//! oracle's throughout.

mod allocation;
mod bad_input;
mod costs;
mod deep;
mod depth;
mod drivers;
mod events;
#[cfg(feature = "opencl")]
mod failures;
#[path = "../launched/mod.rs"]
mod launched;
mod lifecycle;
mod properties;
mod references;
mod scene_cuts;
mod sequences;
mod several;
#[path = "../start/mod.rs"]
mod start;
mod statistics;
mod support;
mod vectors;

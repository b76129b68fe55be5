//! The element `motionestimate` in harnesses and real pipelines, its vectors compared with the
//! oracle's throughout.

mod allocation;
mod bad_input;
mod costs;
mod deep;
mod depth;
mod devices;
mod events;
mod lifecycle;
mod properties;
mod references;
mod scene_cuts;
mod sequences;
mod several;
mod statistics;
mod vectors;

use crate::support::estimate as support;

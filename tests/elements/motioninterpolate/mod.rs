//! The element `motioninterpolate` in harnesses and real pipelines.

mod allocation;
mod bad_input;
mod caps;
mod depth;
mod events;
mod frames;
mod grid;
mod live;
mod metas;
mod motion;
mod neighbours;
mod packed;
mod passing;
mod scene_cuts;
mod small_objects;
mod speed;
mod statistics;
mod times;

use crate::support::interpolate as support;

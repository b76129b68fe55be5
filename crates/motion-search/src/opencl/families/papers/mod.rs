//! The methods of the papers, as kernels: selectable by name and by tables of tuned devices. `auto` takes another one
//! wherever that is faster; `collaborative-unaligned` is its choice for CPUs, and for devices that can run nothing else.
//! `elimination` is faster than `tiled` in large windows of real video, but up to ten times as slow in noise.

mod collaborative;
mod elimination;
mod launch;
mod reference;
mod three_step;
mod tile;
mod two_pass;

pub(super) use collaborative::CollaborativeFamily;
pub(super) use elimination::EliminationFamily;
pub(super) use reference::{ReferenceNaive, ReferenceStaged};
pub(super) use three_step::ThreeStepSamples;
pub(super) use two_pass::TwoPassFamily;

//! The methods of the papers, as kernels. `auto` takes one of them where it is the fastest: `collaborative-unaligned` on CPUs, and
//! on devices that can run nothing else; others on devices of `kernels/tuning.toml`.

mod collaborative;
mod jobs;
mod reference;
mod three_step;
mod tile;
mod two_pass;

pub(super) use collaborative::CollaborativeFamily;
pub(super) use reference::{ReferenceNaive, ReferenceStaged};
pub(super) use three_step::ThreeStepSamples;
pub(super) use two_pass::TwoPassFamily;

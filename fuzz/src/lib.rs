//! What is fuzzed: functions that take any bytes, and panic or abort if an element does what it must not.
//!
//! `cargo fuzz` lets libFuzzer choose the bytes; `tests/corpus.rs` runs the same functions over the corpus that is kept in
//! `corpus`.
#![cfg(feature = "opencl")]
#![allow(missing_docs)] // No other package uses it.

mod buffers;
mod detection;
mod field_metas;
pub mod frames;
pub mod metas;
pub mod orders;
mod plan;
pub mod records;
pub mod settings;
pub mod setup;
pub mod tuning;

/// What runs bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its folder in the corpus.
pub const TARGETS: [(&str, Target); 6] = [
    ("frames", frames::run),
    ("metas", metas::run),
    ("records", records::run),
    ("settings", settings::run),
    ("tuning", tuning::run),
    ("orders", orders::run),
];

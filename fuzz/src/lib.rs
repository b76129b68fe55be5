//! What is fuzzed: functions that take any bytes, and panic or abort if an element does what it must not.
//!
//! `scripts/fuzz` lets libFuzzer choose the bytes; `tests/fuzz_corpus.rs` runs the same functions over the corpus that is
//! kept in `fuzz/corpus`.
#![allow(missing_docs)]

mod buffers;
#[path = "../../tests/start/element_bus.rs"]
mod element_bus;
mod field_metas;
#[path = "../../tests/formats/mod.rs"]
mod formats;
pub mod frames;
pub mod metas;
pub mod orders;
mod plan;
pub mod records;
pub mod settings;
pub mod setup;
pub mod tuning;

/// The files of the program `motion-vectors`.
#[path = "../../tools/src"]
#[allow(dead_code)] // What only the program uses.
mod tools {
    pub mod error;
    pub mod range;
    pub mod records;
}

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

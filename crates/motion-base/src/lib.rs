#![doc = include_str!("../README.md")]
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Its formulas have indexes in brackets, which are no links.
#[allow(rustdoc::broken_intra_doc_links)]
pub mod algorithms {
    //! The definitions: what each algorithm finds, how samples between samples are made, and what the costs of a block are.
    //!
    //! This is a file of the repository: what it links to beside itself is there.
    // Not where code is compiled, which would be again after each change of the text.
    #![cfg_attr(doc, doc = include_str!("../docs/search.md"))]
}
mod costs;
mod error;
mod frame;
mod frame_view;
pub mod half_samples;
pub mod hierarchy;
#[cfg(feature = "image")]
mod images;
mod launching;
#[allow(unsafe_code)]
pub mod memory;
mod order;
pub mod pace;
mod parameters;
pub mod prediction;
#[allow(unsafe_code)]
pub mod pyramid;
mod records;
mod references;
mod sample;
pub mod sampling;
#[allow(unsafe_code)]
pub mod simd;
mod sub_sample;
pub mod threads;
mod units;
mod vector;
mod window;

pub use costs::{CostKind, CostKinds};
pub use error::{EstimateError, FrameError, SetupError};
pub use frame::{BlockHandle, Frame, FrameSource, HostBlock, HostMemory};
pub use frame_view::{FrameView, PlaneCopy, copy_planes};
pub use hierarchy::Quality;
pub use launching::{Launcher, Launching, NATIVE};
pub use order::OrderKey;
pub use parameters::{Algorithm, Border, Metric, Parameters};
pub use prediction::{Prediction, Predictor};
pub use records::{PooledRecords, RecordPool};
pub use references::References;
pub use sample::{Sample, SampleFormat};
pub use sub_sample::SubSample;
pub use units::{MAX_DISPLACEMENT, UNITS_PER_SAMPLE};
pub use vector::{Grid, MotionVector};
pub use window::{Displacement, Window};

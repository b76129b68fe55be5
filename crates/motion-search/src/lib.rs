//! Block motion search: for every block of a frame, where the reference frame has it. On the CPU or on OpenCL devices,
//! with the same vectors on every device, bit for bit.
//!
//! ```
//! use motion_search::{Frame, MotionSearch};
//!
//! // A texture that moves by three samples to the right and one down.
//! let picture = |moved_x, moved_y| {
//!     Frame::from_fn(64, 48, move |x, y| {
//!         let (x, y) = (x as i32 - moved_x, y as i32 - moved_y);
//!         (x * x + 5 * y * y + 3 * x * y) as u8
//!     })
//! };
//! let (reference, current) = (picture(0, 0), picture(3, 1));
//!
//! let mut search = MotionSearch::builder(64, 48).block_size(8).search_range(7, 7).build()?;
//! let field = search.search(&current, &reference)?;
//!
//! // Vectors lead from a block of the current frame to its match in the reference frame.
//! assert_eq!(field.motion_at(32, 24), Some((-3.0, -1.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Frame::from_samples`] takes the bytes of a plane, [`Frame::new`] also those of a mapped buffer, rows with padding
//! between them, or samples of more than eight bits. [`MotionSearchBuilder`] has the settings: the algorithm, the size of
//! blocks, the range, the device. [`backend::devices`] lists the devices.
//!
//! The frames of a stream are loaded once each:
//!
//! ```
//! # use motion_search::{Frame, MotionSearch};
//! # let frames = (0..4).map(|n| Frame::from_fn(64, 48, move |x, y| (x * x + y * n) as u8));
//! use motion_search::Algorithm;
//!
//! let mut search = MotionSearch::builder(64, 48).algorithm(Algorithm::Hierarchical).in_flight(2).build()?;
//! for field in search.fields(frames) {
//!     let field = field?;
//!     println!("{} x {} blocks", field.grid.columns, field.grid.rows);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `flow` searches two pictures and draws the field: `cargo run --release --example flow -- FROM TO OUT.png`.
//!
//! # What is public
//!
//! | for | what |
//! |---|---|
//! | applications | [`MotionSearch`] and what stands beside it here |
//! | encoders | [`quantizer`]: where their bits pay off |
//! | programs that keep frames on devices themselves, as the GStreamer elements do | [`backend`], which opens a [`session`] on a device or several; [`compilation`], which tells that a driver compiles; [`estimator`], the vocabulary and the trait of devices; [`tuning`]; [`stages`]; [`scenes`]: whether two frames show different scenes |
//! | tests and benchmarks, and what opens one certain device | [`native`], `opencl`, and the modules `oracle`, which define each algorithm in plain loops |
//!
//! All of it follows Semantic Versioning, except for items that this documentation does not show. While the first number
//! is 0, a change that breaks users raises the second.
//!
//! What may grow is `non_exhaustive`: errors, notices, reports and kernels. The algorithms, metrics, borders, precisions,
//! predictions, qualities and costs of [`estimator`] are exhaustive on purpose: a device must know all of them, so that
//! another one breaks devices.
//!
//! What is made of fields is in the crate `motion-frames`: frames between frames, predicted and denoised ones, records for encoders.
//!
//! # Features
//!
//! `opencl`, on by default: OpenCL devices. Without it the crate neither links nor looks for an OpenCL loader.
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]

pub mod backend;
pub mod estimator;
#[allow(unsafe_code)]
pub mod native;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
pub mod opencl;
pub mod quantizer;
pub mod scenes;
mod search;
pub mod session;
pub mod stages;
pub mod tuning;

pub use backend::{DeviceSelector, OnDeviceFailure, devices};
pub use estimator::{
    Algorithm, Border, EstimateError, Frame, FrameError, Metric, MotionField, MotionVector, Quality,
    SetupError, SubSample,
};
#[doc(inline)]
pub use motion_gpu::compilation;
pub use search::{MotionSearch, MotionSearchBuilder};
pub use session::{Balance, Split};
pub use tuning::Kernel;

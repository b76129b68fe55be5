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
//!     let (frame, field) = field?;
//!     println!("frame {frame}: {} x {} blocks", field.grid.columns, field.grid.rows);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A search can find more than vectors, and search each frame in several others:
//!
//! ```
//! # use motion_search::{Frame, MotionSearch};
//! # let frames = (0..4).map(|n| Frame::from_fn(64, 48, move |x, y| (x * x + y * n) as u8));
//! use motion_search::{CostKind, Prediction};
//!
//! // In the frame before and in the next one, by windows that reach further to the right.
//! let builder = MotionSearch::builder(64, 48).search_window(-4..=12, -4..=4).references(1, 1);
//! let mut search =
//!     builder.costs([CostKind::Confidence]).prediction(Prediction::Median).scene_cut(true).build()?;
//! for field in search.fields(frames) {
//!     let (frame, field) = field?;
//!     let other = frame as i64 + field.offset;
//!     println!("frame {frame} in frame {other}: {:?}", field.cost(CostKind::Confidence, 2, 1));
//!     assert_eq!(field.is_scene_cut.is_some(), field.offset == -1);
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
//! # Definitions
//!
//! [`algorithms`] defines what each algorithm finds and what the costs of a block are.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `opencl`, by default | OpenCL devices. Without it the crate neither links nor looks for an OpenCL loader |
//! | `cuda`, by default | CUDA's driver launches the kernels of NVIDIA's devices, where it is found at run time |
//! | `image` | [`Frame`] from [`image`](https://docs.rs/image)`::GrayImage`, and a field as `RgbImage` by `MotionField::to_image` |
//! | `ndarray` | a field as arrays of [`ndarray`](https://docs.rs/ndarray): `MotionField::vector_array`, `motion_array`, `cost_array` |
//! | `serde` | [`MotionField`] and its parts are `Serialize` and `Deserialize` |
//! | `portable` | plain Rust on x86-64 too, where no CPU needs it: for tests |
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::dbg_macro, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// Each public type of these modules has `Debug`.
#[deny(missing_debug_implementations)]
pub mod backend;
#[deny(missing_debug_implementations)]
pub mod estimator;
#[allow(unsafe_code)]
#[deny(missing_debug_implementations)]
pub mod native;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
pub mod opencl;
pub mod quantizer;
pub mod scenes;
#[deny(missing_debug_implementations)]
mod search;
#[deny(missing_debug_implementations)]
pub mod session;
#[deny(missing_debug_implementations)]
pub mod stages;
#[deny(missing_debug_implementations)]
pub mod tuning;

pub use backend::{DeviceSelector, OnDeviceFailure, devices};
pub use estimator::{
    Algorithm, Border, CostKind, EstimateError, FieldError, Frame, FrameError, Metric, MotionField,
    MotionVector, Prediction, Quality, SetupError, SubSample,
};
/// The version of the crate whose images are read and made.
#[cfg(feature = "image")]
#[cfg_attr(docsrs, doc(cfg(feature = "image")))]
pub use image;
#[doc(inline)]
pub use motion_base::algorithms;
#[doc(inline)]
pub use motion_gpu::compilation;
/// The version of the crate whose arrays are made.
#[cfg(feature = "ndarray")]
#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
pub use ndarray;
pub use search::{MotionSearch, MotionSearchBuilder};
pub use session::{Balance, Split};
pub use tuning::Kernel;

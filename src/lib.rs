//! Motion estimation for GStreamer: elements that find, draw and export block motion vectors.
//!
//! # What is public, and for whom
//!
//! | for | what |
//! |---|---|
//! | applications with GStreamer | [`plugin_register_static`]; [`meta`], which reads and attaches motion fields; a module for each element with its type and the enums of its properties |
//! | programs without GStreamer | [`backend`], which opens a [`session`] on a device or several; [`estimator`], the vocabulary: frames, parameters, fields, and the trait of devices; [`tuning`]; [`stages`]; [`compensation`], [`interpolation`], [`denoising`] and [`packers`], what can be made of a field |
//! | tests and benchmarks of this crate, and what opens one certain device | [`native`], `opencl`, and the modules `oracle`, which define each algorithm in plain loops |
//!
//! All of it follows Semantic Versioning, except for items that this documentation does not show. While the first number
//! is 0, a change that breaks users raises the second.
//!
//! What may grow is `non_exhaustive`: errors, notices, reports, kernels, algorithms, and the values of properties. The
//! metrics, borders, precisions, qualities and costs of [`estimator`] are exhaustive on purpose: a device must know all of
//! them, so that another one breaks devices.
//!
//! The names of elements, properties, messages and fields of the meta are as public as the Rust items, and more widely
//! used. `CHANGELOG.md` tells of every change.
#![deny(missing_docs)]

pub mod meta;
pub mod motioncompensate;
pub mod motiondenoise;
pub mod motionestimate;
pub mod motioninterpolate;
pub mod motionoverlay;
pub mod motionserialize;
mod plugin;
mod settings;
mod video;

#[cfg(feature = "opencl")]
use std::sync::LazyLock;

pub use plugin::plugin_register_static;

/// What the layers say that do not know GStreamer.
#[cfg(feature = "opencl")]
static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Motion estimation: OpenCL devices");
    gst::DebugCategory::new("motionestimate-opencl", gst::DebugColorFlags::empty(), about)
});

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    #[cfg(feature = "opencl")]
    motion_search::warnings::send_to(|text| gst::warning!(CAT, "{text}"));
    meta::register();
    motionestimate::register(plugin)?;
    motioninterpolate::register(plugin)?;
    motioncompensate::register(plugin)?;
    motiondenoise::register(plugin)?;
    motionoverlay::register(plugin)?;
    motionserialize::register(plugin)
}

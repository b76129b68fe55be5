//! Motion estimation for GStreamer: elements that find block motion in video and use it.
//!
//! What is public is for applications with GStreamer: [`plugin_register_static`]; [`meta`], which reads and attaches motion
//! fields; [`camera`], what `motiondetect` attaches; [`quantizer`], offsets for encoders; and a module for each element with its documentation, its type, and the
//! enums of its properties. [`meta`] and [`quantizer`] are those of the crate
//! `gst_motion_fields`. The search itself, without GStreamer, is the crate `motion_search`.
//!
//! All of it follows Semantic Versioning. While the first number is 0, a change that breaks users raises the second. The
//! values of properties are `non_exhaustive`: they may grow.
//!
//! The names of elements, properties, messages and fields of the meta are as public as the Rust items, and more widely
//! used. `CHANGELOG.md` tells of every change.
#![deny(missing_docs)]

mod library;
pub mod motioncompensate;
pub mod motiondenoise;
pub mod motiondetect;
pub mod motionestimate;
pub mod motioninterpolate;
pub mod motionoverlay;
pub mod motionserialize;
mod plugin;
mod settings;
mod video;

#[doc(inline)]
pub use gst_motion_fields::{camera, meta, quantizer};
pub use plugin::plugin_register_static;
/// For the examples of this package: it follows no version.
#[doc(hidden)]
pub use settings::tuning_file;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    meta::register();
    camera::register();
    settings::log_compilations();
    motionestimate::register(plugin)?;
    motioninterpolate::register(plugin)?;
    motioncompensate::register(plugin)?;
    motiondenoise::register(plugin)?;
    motiondetect::register(plugin)?;
    motionoverlay::register(plugin)?;
    motionserialize::register(plugin)
}

//! Motion estimation for GStreamer: elements that find, draw and export block motion vectors.
#![deny(missing_docs)]

pub mod backend;
pub mod compensation;
pub mod denoising;
pub mod estimator;
pub mod interpolation;
mod lock;
pub mod meta;
pub mod motioncompensate;
pub mod motiondenoise;
pub mod motionestimate;
pub mod motioninterpolate;
pub mod motionoverlay;
pub mod motionserialize;
pub mod native;
#[cfg(feature = "opencl")]
pub mod opencl;
mod pace;
pub mod packers;
mod plugin;
pub mod session;
mod settings;
pub mod stages;
pub mod tuning;
mod video;

pub use plugin::plugin_register_static;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    meta::register();
    motionestimate::register(plugin)?;
    motioninterpolate::register(plugin)?;
    motioncompensate::register(plugin)?;
    motiondenoise::register(plugin)?;
    motionoverlay::register(plugin)?;
    motionserialize::register(plugin)
}

//! Motion estimation for GStreamer: elements that find, draw and export block motion vectors.
#![deny(missing_docs)]

pub mod backend;
pub mod estimator;
pub mod meta;
pub mod motionoverlay;
pub mod motionserialize;
pub mod native;

pub use plugin::plugin_register_static;

/// The plugin's entry points.
mod plugin {
    #![allow(missing_docs)]

    fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
        crate::meta::register();
        crate::motionoverlay::register(plugin)?;
        crate::motionserialize::register(plugin)
    }

    gst::plugin_define!(
        motionestimate,
        env!("CARGO_PKG_DESCRIPTION"),
        plugin_init,
        concat!(env!("CARGO_PKG_VERSION"), "-", env!("COMMIT_ID")),
        "MIT/X11",
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_REPOSITORY"),
        env!("BUILD_REL_DATE")
    );
}

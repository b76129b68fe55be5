//! `motionx264enc`: H.264 by x264, guided by the motion fields of `motionestimate` and by regions of interest.
//!
//! This plugin is under the GNU General Public License, version 2 or later (file `COPYING`), as x264 is. It uses the crates of
//! `gst-plugin-motionestimate`, which are under MIT or Apache-2.0.
#![deny(missing_docs)]

mod encoder;
#[allow(unsafe_code)]
mod ffi;
pub mod motionx264enc;
mod plugin;

pub use plugin::plugin_register_static;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    motionx264enc::register(plugin)
}

//! What GStreamer looks for in a plugin's library.
// The macro's items cannot be documented one by one.
#![allow(missing_docs)]

use crate::plugin_init;

gst::plugin_define!(
    motionx264,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("COMMIT_ID")),
    "GPL",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    env!("BUILD_REL_DATE")
);

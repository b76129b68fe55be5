//! GStreamer in a test program.
#![allow(dead_code, unused_imports)]

mod element_bus;
mod leak_check;

use std::sync::Once;

pub use element_bus::ElementBus;
pub use leak_check::check_leaks;

/// Starts GStreamer with this crate's elements; any warning ends the program.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // What G_DEBUG=fatal_warnings does; GLib reads that before main() is entered.
        let levels = glib::LogLevels::LEVEL_WARNING | glib::LogLevels::LEVEL_CRITICAL;
        glib::log_set_always_fatal(levels | glib::LogLevels::LEVEL_ERROR);
        gst::init().expect("GStreamer");
        gstmotionestimate::plugin_register_static().expect("the plugin registers");
        check_leaks();
    });
}

#![no_main]

use gst_plugin_motionestimate_fuzz::settings;

libfuzzer_sys::fuzz_target!(|data: &[u8]| settings::run(data));

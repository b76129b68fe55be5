#![no_main]

use gst_plugin_motionestimate_fuzz::frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| frames::run(data));

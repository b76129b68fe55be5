#![no_main]

use gst_plugin_motionestimate_fuzz::tuning;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tuning::run(data));

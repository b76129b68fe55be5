#![no_main]

use gst_plugin_motionestimate_fuzz::orders;

libfuzzer_sys::fuzz_target!(|data: &[u8]| orders::run(data));

#![no_main]

use gst_plugin_motionestimate_fuzz::records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| records::run(data));

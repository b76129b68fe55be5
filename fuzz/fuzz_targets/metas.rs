#![no_main]

use gst_plugin_motionestimate_fuzz::metas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| metas::run(data));

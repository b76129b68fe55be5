//! The target `settings`, for libFuzzer.
#![no_main]

use motion_fuzz::settings;

libfuzzer_sys::fuzz_target!(|data: &[u8]| settings::run(data));

//! The target `tuning`, for libFuzzer.
#![no_main]

use motion_fuzz::tuning;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tuning::run(data));

//! The target `frames`, for libFuzzer.
#![no_main]

use motion_fuzz::frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| frames::run(data));

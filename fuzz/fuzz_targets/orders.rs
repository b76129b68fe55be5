//! The target `orders`, for libFuzzer.
#![no_main]

use motion_fuzz::orders;

libfuzzer_sys::fuzz_target!(|data: &[u8]| orders::run(data));

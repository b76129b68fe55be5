//! The target `records`, for libFuzzer.
#![no_main]

use motion_fuzz::records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| records::run(data));

//! The target `metas`, for libFuzzer.
#![no_main]

use motion_fuzz::metas;

libfuzzer_sys::fuzz_target!(|data: &[u8]| metas::run(data));

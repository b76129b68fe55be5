//! SSE4.1.

use std::arch::x86_64::__m128i;

use crate::simd::instruction_set::{InstructionSet, Work, by_functions, run_with};
use crate::simd::register::WIDE;
use crate::simd::sse2::{at_most, prefetch, sum_parts};

/// A CPU with SSE4.1.
#[derive(Clone, Copy)]
pub struct Sse41(());

impl Sse41 {
    /// The proof that this CPU has SSE4.1, if it has.
    pub fn new() -> Option<Self> {
        is_x86_feature_detected!("sse4.1").then_some(Self(()))
    }
}

impl InstructionSet for Sse41 {
    type Register = __m128i;
    type Samples = __m128i;
    type Words = [__m128i; 2];
    type Wide = [u16; WIDE];

    run_with!("sse4.1");

    by_functions! {
        fn prefetch(self, samples: &[u8], at: usize);
        fn at_most(self, values: &[u16; WIDE], limit: u16) -> u32;
        fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4];
    }
}

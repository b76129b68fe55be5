//! The instruction sets: each is what the searches need, in its own instructions.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_elimination;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_elimination;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod portable;
pub mod register;
#[cfg(target_arch = "x86_64")]
pub mod sse2;
#[cfg(target_arch = "x86_64")]
pub mod sse41;

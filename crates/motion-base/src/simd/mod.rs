//! Instruction sets and their registers, below all searches and without any of them.
//!
//! ```text
//! InstructionSetName ─required()─▶ Instructions ─run(work)─▶ Work::run(engine)   compiled once for each instruction set
//!                                  what this CPU has         engine: InstructionSet, the proof that the CPU has it
//!                                                            Samples, Words: registers that only an engine makes
//! ```
//!
//! A search is a [`Work`], generic over the instruction set, and all that it calls is `inline(always)`: so it becomes part
//! of the one function for which the instructions are enabled. What a search does with instructions that no other
//! search needs is a trait of that search, implemented for the engines beside it.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod instruction_set;
pub mod instructions;
#[cfg(target_arch = "aarch64")]
pub mod neon;
// On x86-64 SSE2 uses parts of it, and the feature all.
#[cfg_attr(all(target_arch = "x86_64", not(feature = "portable")), allow(dead_code))]
pub mod portable;
pub mod proven;
#[expect(clippy::missing_safety_doc, reason = "each trait says once what its functions need")]
pub mod register;
#[cfg(target_arch = "x86_64")]
pub mod sse2;

pub use instruction_set::{InstructionSet, Work};
pub use instructions::{InstructionSetName, Instructions, WorkForAll};
pub use proven::{Samples, Words};

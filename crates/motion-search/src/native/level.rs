//! The choice of the instruction set.

use std::fmt;

use crate::estimator::SetupError;
use crate::native::Native;
#[cfg(target_arch = "aarch64")]
use crate::native::arch::neon::Neon;
use crate::native::arch::portable::Portable;
#[cfg(target_arch = "x86_64")]
use crate::native::arch::{avx2::Avx2, avx512::Avx512, sse2::Sse2, sse41::Sse41};
use crate::native::elimination::engine::EliminationEngine;

/// An instruction set that the searches are compiled for. All find the same field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, for every CPU.
    Portable,
    /// AArch64 with NEON.
    Neon,
    /// Any x86-64.
    Sse2,
    /// x86-64 with SSE4.1.
    Sse41,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with the byte and word instructions of AVX-512, and VNNI where the CPU has it.
    Avx512,
}

impl Level {
    /// Every level, slowest first.
    const ALL: [Level; 6] =
        [Level::Portable, Level::Neon, Level::Sse2, Level::Sse41, Level::Avx2, Level::Avx512];

    /// The levels that this CPU has, slowest first.
    pub fn available() -> impl Iterator<Item = Level> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// The fastest level that this CPU has.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Level::Portable)
    }

    /// Whether this CPU has it.
    pub fn is_available(self) -> bool {
        self.instructions().is_some()
    }

    /// The name in tables and lists of devices.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Neon => "neon",
            Level::Sse2 => "sse2",
            Level::Sse41 => "sse4.1",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The engine.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if this CPU lacks the instructions.
    pub(crate) fn required(self) -> Result<Instructions, SetupError> {
        self.instructions().ok_or_else(|| SetupError::DeviceUnsupported {
            wanted: Native::NAME.into(),
            reason: format!("this CPU does not have {self}"),
        })
    }

    /// The engine, or `None` where this CPU lacks the instructions.
    pub(super) fn instructions(self) -> Option<Instructions> {
        match self {
            Level::Portable => Some(Instructions::Portable(Portable)),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Neon::new().map(Instructions::Neon),
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => Some(Instructions::Sse2(Sse2)),
            #[cfg(target_arch = "x86_64")]
            Level::Sse41 => Sse41::new().map(Instructions::Sse41),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Avx2::new().map(Instructions::Avx2),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::new().map(Instructions::Avx512),
            #[cfg(not(target_arch = "aarch64"))]
            Level::Neon => None,
            #[cfg(not(target_arch = "x86_64"))]
            Level::Sse2 | Level::Sse41 | Level::Avx2 | Level::Avx512 => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The engine of a [`Level`] that this CPU has.
#[derive(Clone, Copy)]
pub enum Instructions {
    Portable(Portable),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    #[cfg(target_arch = "x86_64")]
    Sse41(Sse41),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Instructions {
    /// Runs the compilation of `work` for these instructions.
    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Portable(engine) => engine.run(work),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Sse41(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(engine) => engine.run(work),
        }
    }

    /// Runs `work` on samples of more than eight bits, for which no engine has instructions of its own: compiled for
    /// two engines only, as a search takes the compiler seconds for each.
    pub fn run_deep<W: Work>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(engine) => engine.avx2().run(work),
            _ => Portable.run(work),
        }
    }
}

/// A part of a search that is compiled once for each instruction set.
pub trait Work {
    /// What it returns.
    type Output;

    /// Does the work. To be `inline(always)`, as all that it calls: what becomes part of
    /// [`InstructionSet::run`] is compiled for the instructions.
    fn run<E: InstructionSet>(self, engine: E) -> Self::Output;
}

/// An engine that can run work.
pub trait InstructionSet: EliminationEngine {
    /// Runs `work` in a function for which the instructions are enabled, and which is not inlined.
    fn run<W: Work>(self, work: W) -> W::Output;
}

/// Implements [`InstructionSet`] for an engine whose instructions have the names `$features`.
macro_rules! compile {
    ($engine:ty $(, $features:literal)?) => {
        impl InstructionSet for $engine {
            fn run<W: Work>(self, work: W) -> W::Output {
                $(#[target_feature(enable = $features)])?
                #[inline(never)]
                unsafe fn run<E: InstructionSet, W: Work>(engine: E, work: W) -> W::Output {
                    work.run(engine)
                }
                // SAFETY: a value of an engine exists only where the CPU has its instructions.
                unsafe { run(self, work) }
            }
        }
    };
}

compile!(Portable);
#[cfg(target_arch = "aarch64")]
compile!(Neon, "neon");
#[cfg(target_arch = "x86_64")]
compile!(Sse2);
#[cfg(target_arch = "x86_64")]
compile!(Sse41, "sse4.1");
#[cfg(target_arch = "x86_64")]
compile!(Avx2, "avx2,popcnt,bmi1");
#[cfg(target_arch = "x86_64")]
compile!(Avx512, "avx512f,avx512bw,avx512vl,avx2,popcnt,bmi1");

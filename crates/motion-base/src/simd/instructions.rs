//! The choice of the instruction set.

use std::fmt;

#[cfg(target_arch = "aarch64")]
use crate::simd::neon::Neon;
#[cfg(any(not(target_arch = "x86_64"), feature = "portable"))]
use crate::simd::portable::Portable;
use crate::simd::{InstructionSet, Work};
#[cfg(target_arch = "x86_64")]
use crate::simd::{avx2::Avx2, avx512::Avx512, sse2::Sse2};
use crate::{NATIVE, SetupError};

/// An instruction set that the searches are compiled for, by its name. All find the same field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum InstructionSetName {
    /// Plain Rust, for every CPU. On x86-64, where SSE2 is never slower, only the feature `portable` compiles it.
    Portable,
    /// AArch64 with NEON.
    Neon,
    /// Any x86-64.
    Sse2,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with the byte and word instructions of AVX-512, and VNNI where the CPU has it.
    Avx512,
}

impl InstructionSetName {
    /// All of them, slowest first.
    const ALL: [Self; 5] = [Self::Portable, Self::Neon, Self::Sse2, Self::Avx2, Self::Avx512];

    /// Those that this CPU has and this build is compiled for, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|instruction_set| instruction_set.is_available())
    }

    /// The slowest one of this build, which every CPU of the architecture has.
    pub const PLAINEST: Self = match cfg!(all(target_arch = "x86_64", not(feature = "portable"))) {
        true => Self::Sse2,
        false => Self::Portable,
    };

    /// The fastest one that is available.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::PLAINEST)
    }

    /// Whether this CPU has it and this build is compiled for it.
    pub fn is_available(self) -> bool {
        self.instructions().is_some()
    }

    /// The name in tables and lists of devices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Sse2 => "sse2",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The engine.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if this CPU lacks the instructions, or this build was not compiled for them.
    pub fn required(self) -> Result<Instructions, SetupError> {
        self.instructions().ok_or_else(|| SetupError::DeviceUnsupported {
            wanted: NATIVE.into(),
            reason: match self {
                Self::Portable => "the feature portable of motion-search compiles plain Rust".into(),
                _ => format!("this CPU does not have {self}"),
            },
        })
    }

    /// The engine, or `None` where this CPU lacks the instructions or this build was not compiled for them.
    pub fn instructions(self) -> Option<Instructions> {
        match self {
            #[cfg(any(not(target_arch = "x86_64"), feature = "portable"))]
            Self::Portable => Some(Instructions::Portable(Portable)),
            #[cfg(not(any(not(target_arch = "x86_64"), feature = "portable")))]
            Self::Portable => None,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Neon::new().map(Instructions::Neon),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => Some(Instructions::Sse2(Sse2)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Avx2::new().map(Instructions::Avx2),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Avx512::new().map(Instructions::Avx512),
            #[cfg(not(target_arch = "aarch64"))]
            Self::Neon => None,
            #[cfg(not(target_arch = "x86_64"))]
            Self::Sse2 | Self::Avx2 | Self::Avx512 => None,
        }
    }
}

impl fmt::Display for InstructionSetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The engine of an [`InstructionSetName`] that this CPU has.
#[derive(Clone, Copy)]
pub enum Instructions {
    /// [`InstructionSetName::Portable`].
    #[cfg(any(not(target_arch = "x86_64"), feature = "portable"))]
    Portable(Portable),
    /// [`InstructionSetName::Neon`].
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    /// [`InstructionSetName::Sse2`].
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    /// [`InstructionSetName::Avx2`].
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// [`InstructionSetName::Avx512`].
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Instructions {
    /// Those of [`InstructionSetName::best`].
    pub fn best() -> Self {
        let mut fastest_first = InstructionSetName::ALL.into_iter().rev();
        fastest_first
            .find_map(InstructionSetName::instructions)
            .unwrap_or_else(|| unreachable!("every CPU has the plainest instruction set of the build"))
    }

    /// Runs the compilation of `work` for these instructions, or for those that suffice: on a CPU with AVX-512 the one for
    /// AVX2.
    pub fn run<R, W: WorkForAll<R>>(self, work: W) -> R {
        match self {
            #[cfg(target_arch = "aarch64")]
            Self::Neon(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(engine) => engine.avx2().run(work),
            #[cfg(any(not(target_arch = "x86_64"), feature = "portable"))]
            Self::Portable(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            _ => Sse2.run(work),
        }
    }

    /// Runs the compilation of `work` for exactly these instructions, which full search gains by and tests compare.
    pub fn run_widest<R, W: WorkForAll<R>>(self, work: W) -> R {
        match self {
            #[cfg(any(not(target_arch = "x86_64"), feature = "portable"))]
            Self::Portable(engine) => engine.run(work),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(engine) => engine.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(engine) => engine.run(work),
        }
    }

    /// Runs `work` on samples of more than eight bits, for which no engine has instructions of its own: compiled for
    /// AVX2 and for every CPU of the architecture alone, as a search takes the compiler seconds for each.
    pub fn run_deep<R, W: WorkForAll<R>>(self, work: W) -> R {
        #[cfg(target_arch = "x86_64")]
        return self.run(work);
        #[cfg(not(target_arch = "x86_64"))]
        Portable.run(work)
    }
}

/// Defines [`WorkForAll`] for the instruction sets of an architecture.
macro_rules! work_for_all {
    ($($engine:ty),+) => {
        /// [`Work`] for all instruction sets of the architecture.
        pub trait WorkForAll<R>: $(Work<$engine, R> +)+ {}

        impl<R, W: $(Work<$engine, R> +)+> WorkForAll<R> for W {}
    };
}

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
work_for_all!(Sse2, Avx2, Avx512);
#[cfg(all(target_arch = "x86_64", feature = "portable"))]
work_for_all!(Portable, Sse2, Avx2, Avx512);
#[cfg(target_arch = "aarch64")]
work_for_all!(Portable, Neon);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
work_for_all!(Portable);

//! Which instruction set does the work.

use std::fmt;

use crate::estimator::{MotionVector, OrderKey, Parameters};
#[cfg(target_arch = "x86_64")]
use crate::native::arch::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use crate::native::arch::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use crate::native::arch::neon::Neon;
use crate::native::arch::portable::Portable;
#[cfg(target_arch = "x86_64")]
use crate::native::arch::sse41::{Sse2, Sse41};
use crate::native::elimination::backoff::Experience;
use crate::native::elimination::row::{self as elimination, Exhaustive};
use crate::native::elimination::sums;
use crate::native::elimination::workspace::Workspace;
use crate::native::exhaustive::{self as search, Block, Job, Room};
use crate::native::plane::Plane;
use crate::native::three_step;

/// An instruction set that the searches are written for. All find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, for every CPU; its innermost loops are compiled for AVX2 as well, and that is used
    /// where the CPU has it.
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
        self.functions().is_some()
    }

    /// The name by which tables know it.
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

    /// What is compiled for it, or `None` where this CPU lacks the instructions. The one place where
    /// an instruction set is added.
    pub fn functions(self) -> Option<Functions> {
        match self {
            Level::Portable => Some(portable::FUNCTIONS),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Neon::new().map(|_| neon::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => Some(sse2::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Level::Sse41 => Sse41::new().map(|_| sse41::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Avx2::new().map(|_| avx2::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::new().map(|_| avx512::FUNCTIONS),
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

/// Writes the vectors of one row of blocks.
pub type RowSearch = fn(&Job<'_>, usize, &mut [MotionVector]);

/// Sums the parts of a frame: [`sums::sum`].
pub type Sum = fn((&Plane, usize, usize), &mut [u16], Option<[&mut [u16]; 2]>);

/// What is compiled once for each instruction set. To be called only where the CPU has it.
#[derive(Clone, Copy)]
pub struct Functions {
    /// [`search::search_row`].
    pub search_row: RowSearch,
    /// [`three_step::search_row`].
    pub three_step: RowSearch,
    /// [`elimination::sides_of_parts`].
    pub sides_of_parts: fn(&Parameters) -> (usize, Option<usize>),
    /// [`elimination::eliminate_row`].
    pub eliminate_row: fn(&Job<'_>, &mut Workspace, (usize, &mut [MotionVector]), &mut Experience),
    /// [`sums::sum`].
    pub sum: Sum,
    /// [`sums::find_extremes`].
    pub find_extremes: fn(&[u16], &mut [u16], &mut [u16]),
}

/// A module with the [`Functions`] of an engine: each in a function for which the instruction set is
/// enabled, so that what is written for all of them, and the engine's own functions, become part of
/// it.
macro_rules! compile {
    ($module:ident, $engine:expr, $compare:expr $(, $features:literal)?) => {
        mod $module {
            use super::*;

            /// Exhaustive search of a block.
            // SAFETY: `Level::functions` gives what calls it only where the CPU has the instructions.
            const BEST: Exhaustive = |block, room| unsafe { best(block, room) };

            pub const FUNCTIONS: Functions = Functions {
                search_row: |job, row, vectors| search::search_row(BEST, job, row, vectors),
                // SAFETY: as above.
                three_step: |job, row, vectors| unsafe { three_step(job, row, vectors) },
                sides_of_parts: |parameters| elimination::sides_of_parts($engine, parameters),
                // SAFETY: as above.
                eliminate_row: |job, workspace, row, experience| unsafe {
                    eliminate_row(job, workspace, row, experience)
                },
                // SAFETY: as above.
                sum: |rows, sums, extremes| unsafe { sum(rows, sums, extremes) },
                // SAFETY: as above.
                find_extremes: |sums, least, most| unsafe { find_extremes(sums, least, most) },
            };

            $(#[target_feature(enable = $features)])?
            unsafe fn best(block: Block<'_>, room: &mut Room) -> OrderKey {
                block.best($engine, room)
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn three_step(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
                three_step::search_row($compare, job, row, vectors);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn eliminate_row(
                job: &Job<'_>,
                workspace: &mut Workspace,
                row: (usize, &mut [MotionVector]),
                experience: &mut Experience,
            ) {
                elimination::eliminate_row($engine, BEST, job, workspace, row, experience);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn sum(
                rows: (&Plane, usize, usize),
                sums: &mut [u16],
                extremes: Option<[&mut [u16]; 2]>,
            ) {
                sums::sum($engine, rows, sums, extremes);
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn find_extremes(sums: &[u16], least: &mut [u16], most: &mut [u16]) {
                sums::find_extremes(sums, least, most);
            }
        }
    };
}

compile!(portable, Portable::new(), three_step::Portable);
#[cfg(target_arch = "aarch64")]
compile!(neon, Neon::new().expect(ASKED), three_step::Portable, "neon");
#[cfg(target_arch = "x86_64")]
compile!(sse2, Sse2, three_step::Portable);
#[cfg(target_arch = "x86_64")]
compile!(sse41, Sse41::new().expect(ASKED), three_step::Portable, "sse4.1");
#[cfg(target_arch = "x86_64")]
compile!(avx2, Avx2::new().expect(ASKED), Avx2::new().expect(ASKED), "avx2,popcnt,bmi1");
#[cfg(target_arch = "x86_64")]
compile!(
    avx512,
    Avx512::new().expect(ASKED),
    Avx2::new().expect(ASKED),
    "avx512f,avx512bw,avx512vl,avx2,popcnt,bmi1"
);

/// Why there is an engine.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const ASKED: &str = "Level::functions gives what needs it only where the CPU has it";

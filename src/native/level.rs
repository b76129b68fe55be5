//! Which instruction set does the work.

use std::fmt;

use super::portable::Portable;
use super::search::{Job, search_row};
use super::three_step;
use crate::estimator::{Algorithm, MotionVector};

/// An instruction set that the searches are written for. All find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, for every CPU; its innermost loops are compiled for AVX2 as well, and that is used
    /// where the CPU has it.
    Portable,
    /// x86-64 with AVX2.
    Avx2,
}

impl Level {
    /// Every level, slowest first.
    const ALL: [Level; 2] = [Level::Portable, Level::Avx2];

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
        self.row_search(Algorithm::Full).is_some()
    }

    /// The name by which tables know it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
        }
    }

    /// The search of one row of blocks by `algorithm`, or `None` where this CPU lacks the instructions. The one
    /// place where an instruction set is added.
    pub(super) fn row_search(self, algorithm: Algorithm) -> Option<RowSearch> {
        match self {
            Level::Portable => Some(match algorithm {
                Algorithm::Full => portable_row,
                Algorithm::ThreeStep => portable_three_step,
            }),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::avx2::Avx2::new().map(|_| match algorithm {
                Algorithm::Full => avx2_row as RowSearch,
                Algorithm::ThreeStep => avx2_three_step,
            }),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Writes the vectors of one row of blocks.
pub(super) type RowSearch = fn(&Job<'_>, usize, &mut [MotionVector]);

fn portable_row(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    search_row(Portable::new(), job, row, vectors);
}

#[cfg(target_arch = "x86_64")]
fn avx2_row(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    use super::avx2::Avx2;

    /// The search in a function for which AVX2 is enabled, so that the engine's functions, for which
    /// it is too, may be inlined.
    #[target_feature(enable = "avx2")]
    fn compiled(engine: Avx2, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
        search_row(engine, job, row, vectors);
    }

    let engine = Avx2::new().expect("row_search gives this function only where there is AVX2");
    // SAFETY: `engine` is the proof that this CPU has AVX2.
    unsafe { compiled(engine, job, row, vectors) }
}

fn portable_three_step(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    three_step::search_row(three_step::Portable, job, row, vectors);
}

#[cfg(target_arch = "x86_64")]
fn avx2_three_step(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    use super::avx2::Avx2;

    /// As in [`avx2_row`].
    #[target_feature(enable = "avx2")]
    fn compiled(engine: Avx2, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
        three_step::search_row(engine, job, row, vectors);
    }

    let engine = Avx2::new().expect("row_search gives this function only where there is AVX2");
    // SAFETY: `engine` is the proof that this CPU has AVX2.
    unsafe { compiled(engine, job, row, vectors) }
}

//! Which instruction set does the work.

use std::fmt;

use super::portable::Portable;
use super::search::{Job, search_row};
use crate::estimator::MotionVector;

/// An instruction set that full search is written for. All find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, for every CPU; its innermost loops are compiled for AVX2 as well, and that is used
    /// where the CPU has it.
    Portable,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with the byte and word instructions of AVX-512, and VNNI where the CPU has it.
    Avx512,
}

impl Level {
    /// Every level, slowest first.
    const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

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
        self.row_search().is_some()
    }

    /// The name by which tables know it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The search of one row of blocks, or `None` where this CPU lacks the instructions. The one
    /// place where an instruction set is added.
    pub(super) fn row_search(self) -> Option<RowSearch> {
        match self {
            Level::Portable => Some(portable_row),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::avx2::Avx2::new().map(|_| avx2_row as RowSearch),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::avx512::Avx512::new().map(|_| avx512_row as RowSearch),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => None,
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

#[cfg(target_arch = "x86_64")]
fn avx512_row(job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    use super::avx512::Avx512;

    /// As with AVX2.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn compiled(engine: Avx512, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
        search_row(engine, job, row, vectors);
    }

    let engine = Avx512::new().expect("row_search gives this function only where there is AVX-512");
    // SAFETY: `engine` is the proof that this CPU has AVX-512BW.
    unsafe { compiled(engine, job, row, vectors) }
}

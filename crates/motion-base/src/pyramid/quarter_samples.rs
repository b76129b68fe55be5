//! Samples at quarter positions: averages of two half samples.

use crate::half_samples::half_samples_around;
use crate::hierarchy::CELL;
use crate::memory::LINE;
use crate::pyramid::planes::{LevelFrame, LevelLayout};
use crate::pyramid::strips::{self, HalfSamples, PLANES, ROW};
use crate::simd::{InstructionSet, Samples};

/// The most rows that are read at once: a cell, and as many as half of it.
const ROWS: usize = CELL + CELL / 2;

/// Samples that are loaded at once at most.
const LOADED: usize = 16;

/// Samples from a whole sample to the last one that is loaded of `ROWS` rows of half samples around it.
const ROWS_LENGTH: usize = (PLANES - 1) * LINE + ROW + 1 + (ROWS - 1) * ROW + LOADED;

/// For each fraction, 4 y + x: the distances of the two samples whose average it is from the whole sample.
const PARTS: [[u16; 2]; 16] = {
    let mut parts = [[0; 2]; 16];
    let mut fraction = 0;
    while fraction < 16 {
        let [first, second] = half_samples_around(fraction % 4, fraction / 4);
        parts[fraction] = [part(first), part(second)];
        fraction += 1;
    }
    parts
};

/// The distance of a half sample, counted in these, from the whole sample.
const fn part((x, y): (usize, usize)) -> u16 {
    let plane = 2 * (y % 2) + x % 2;
    (plane * LINE + (y / 2) * ROW + x / 2) as u16
}

/// The reference frame, readable at quarter samples.
#[derive(Clone, Copy)]
pub struct QuarterSamples<'a> {
    layout: LevelLayout,
    samples: &'a [u8],
    strip_length: usize,
}

impl<'a> QuarterSamples<'a> {
    /// The quarter samples between `half_samples`.
    #[inline(always)]
    pub fn new(half_samples: &'a HalfSamples) -> Self {
        let layout = half_samples.layout;
        Self { layout, samples: half_samples.samples(), strip_length: HalfSamples::strip_length(&layout) }
    }

    /// `W` × `W` samples, `vector` away from the sample at `(x, y)`, in registers of `16 / W` rows. No sample may
    /// lie outside the margins, as [`Self::near`] ensures.
    #[inline(always)]
    pub fn load<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        engine: E,
        (x, y): (i32, i32),
        vector: (i32, i32),
    ) -> [Samples<E>; N] {
        average::<E, W, N>(engine, self.parts((x + (vector.0 >> 2), y + (vector.1 >> 2)), vector), ROW)
    }

    /// As many rows of `W` samples as `N` registers have, at most 12, from a position in quarter samples on, which may be
    /// anywhere: outside the frame its edge samples repeat.
    #[inline(always)]
    pub fn load_anywhere<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        engine: E,
        position: (i32, i32),
    ) -> [Samples<E>; N] {
        average::<E, W, N>(engine, self.parts_anywhere(position), ROW)
    }

    /// The same, of every second row.
    #[inline(always)]
    pub fn load_second_rows<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        engine: E,
        position: (i32, i32),
    ) -> [Samples<E>; N] {
        const { assert!(2 * N * 16 / W <= ROWS) };
        average::<E, W, N>(engine, self.parts_anywhere(position), 2 * ROW)
    }

    /// The same, of rows of 12 samples, each in a register: its first eight samples, and those from the fifth on.
    #[inline(always)]
    pub fn load_overlapping_rows<E: InstructionSet, const N: usize>(
        &self,
        engine: E,
        position: (i32, i32),
    ) -> [Samples<E>; N] {
        const { assert!(2 * N <= ROWS) };
        let (samples, [first, second]) = self.parts_anywhere(position);
        let mut rows = [Samples::zero(engine); N];
        // SAFETY: `ROWS_LENGTH` has `LOADED` samples of all rows.
        unsafe {
            for (n, row) in rows.iter_mut().enumerate() {
                let samples = samples.add(2 * n * ROW);
                let first = Samples::load_rows::<16>(engine, samples.add(first.into()), ROW);
                let second = Samples::load_rows::<16>(engine, samples.add(second.into()), ROW);
                *row = first.average(second).overlap();
            }
        }
        rows
    }

    /// [`Self::parts`] at a position that may be anywhere.
    #[inline(always)]
    fn parts_anywhere(&self, position: (i32, i32)) -> (*const u8, [u16; 2]) {
        self.parts(self.layout.near(position.0 >> 2, position.1 >> 2), position)
    }

    /// The same for a vector whose components are even: half samples, which need no average.
    #[inline(always)]
    pub fn load_half<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        engine: E,
        (x, y): (i32, i32),
        vector: (i32, i32),
    ) -> [Samples<E>; N] {
        let (samples, [half, _]) = self.parts((x + (vector.0 >> 2), y + (vector.1 >> 2)), vector);
        // SAFETY: as in `average`.
        unsafe { load_square::<E, W, N>(engine, samples.add(half.into()), ROW) }
    }

    /// The [`ROWS_LENGTH`] samples from the whole sample at `(x, y)` on, and how far from it the two half samples are whose
    /// average is the sample at the fractions of `position`, in quarter samples.
    #[inline(always)]
    fn parts(&self, (x, y): (i32, i32), position: (i32, i32)) -> (*const u8, [u16; 2]) {
        let at = strips::at(self.strip_length, x, y);
        let samples = self.samples[at..][..ROWS_LENGTH].as_ptr();
        (samples, PARTS[((position.1 & 3) << 2 | position.0 & 3) as usize])
    }

    /// Prefetches the half samples of a row around `(x, y)`, in the margins at most or below them.
    #[inline(always)]
    pub fn prefetch<E: InstructionSet>(&self, engine: E, (x, y): (i32, i32)) {
        let row = strips::at(self.strip_length, x, y) / ROW * ROW;
        for plane in 0..PLANES {
            engine.prefetch(self.samples, row + plane * LINE);
        }
    }

    /// Prefetches what [`Self::load_anywhere`] reads.
    #[inline(always)]
    pub fn prefetch_anywhere<E: InstructionSet, const W: usize>(&self, engine: E, position: (i32, i32)) {
        let (x, y) = self.layout.near(position.0 >> 2, position.1 >> 2);
        let at = strips::at(self.strip_length, x, y);
        for part in PARTS[((position.1 & 3) << 2 | position.0 & 3) as usize] {
            for row in 0..W {
                engine.prefetch(self.samples, at + usize::from(part) + row * ROW);
            }
        }
    }

    /// A vector that leads to the same samples from `(x, y)`, and not out of the margins.
    #[inline(always)]
    pub fn near(&self, (x, y): (i32, i32), vector: (i32, i32)) -> (i32, i32) {
        let (column, row) = self.layout.near(x + (vector.0 >> 2), y + (vector.1 >> 2));
        ((column - x) * 4 + (vector.0 & 3), (row - y) * 4 + (vector.1 & 3))
    }
}

/// The averages of rows that are `pitch` apart at the two distances from the whole sample, which [`QuarterSamples::parts`]
/// returns.
#[inline(always)]
fn average<E: InstructionSet, const W: usize, const N: usize>(
    engine: E,
    (samples, [first, second]): (*const u8, [u16; 2]),
    pitch: usize,
) -> [Samples<E>; N] {
    // SAFETY: `ROWS_LENGTH` has the furthest of the parts and `ROWS` rows.
    unsafe {
        let first = load_square::<E, W, N>(engine, samples.add(first.into()), pitch);
        let second = load_square::<E, W, N>(engine, samples.add(second.into()), pitch);
        let mut averages = first;
        for n in 0..N {
            averages[n] = first[n].average(second[n]);
        }
        averages
    }
}

/// Samples from the first to the last one of a square.
const fn square_length(side: usize, pitch: usize) -> usize {
    (side - 1) * pitch + side
}

/// Rows of `W` samples in registers of `16 / W` rows, which are `pitch` apart.
///
/// # Safety
/// The rows must be readable.
#[inline(always)]
pub unsafe fn load_square<E: InstructionSet, const W: usize, const N: usize>(
    engine: E,
    samples: *const u8,
    pitch: usize,
) -> [Samples<E>; N] {
    const { assert!((N * 16).is_multiple_of(W) && N * 16 / W <= ROWS && W <= CELL) };
    let mut registers = [Samples::zero(engine); N];
    for (n, register) in registers.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *register = unsafe { Samples::load_rows::<W>(engine, samples.add(n * (16 / W) * pitch), pitch) };
    }
    registers
}

/// The samples of a square of `current` at `(x, y)`, in the margins at most.
#[inline(always)]
pub fn load_current<E: InstructionSet, const W: usize, const N: usize>(
    engine: E,
    current: &LevelFrame,
    (x, y): (i32, i32),
) -> [Samples<E>; N] {
    const { assert!(N * 16 == W * W) };
    let layout = &current.layout;
    let samples = &current.samples()[layout.at(x, y)..][..square_length(W, layout.pitch)];
    // SAFETY: the slice has the square.
    unsafe { load_square::<E, W, N>(engine, samples.as_ptr(), layout.pitch) }
}

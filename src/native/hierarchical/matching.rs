//! How well samples match the reference frame at a vector in quarter samples.

use crate::estimator::pyramid::CELL;
use crate::native::aligned::Aligned;
use crate::native::arch::register::{Register, SampleRegister};
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::memory::LINE;
use crate::native::hierarchical::planes::{LevelLayout, LevelPlanes, PLANES};
use crate::native::level::InstructionSet;

/// 16 samples in the instructions of `E`.
type Samples<E> = <<E as crate::native::engine::Engine>::Register as Register>::Narrow;

/// Registers that hold the samples of a cell, two rows each.
const REGISTERS: usize = CELL / 2;

/// The samples of a cell in registers.
type CellSamples<E> = [Samples<E>; REGISTERS];

/// The largest difference of brightness that is compensated.
const MOST_OFFSET: i32 = 48;

/// What a unit of it adds to the cost of a vector.
const OFFSET_PENALTY: u32 = 8;

/// The reference frame, readable at quarter samples.
pub struct QuarterSamples<'a> {
    /// The layout of its planes.
    pub layout: LevelLayout,
    samples: &'a [u8],
    /// For each fraction, 4 y + x: the distances of the two samples whose average it is from the whole sample.
    parts: [[usize; 2]; 16],
}

impl<'a> QuarterSamples<'a> {
    /// The quarter samples of `planes`.
    #[inline(always)]
    pub fn new(planes: &'a LevelPlanes) -> Self {
        let layout = planes.layout;
        let mut parts = [[0; 2]; 16];
        for (fraction, parts) in parts.iter_mut().enumerate() {
            for (part, (x, y)) in parts.iter_mut().zip(half_samples_around(fraction % 4, fraction / 4)) {
                let plane = 2 * (y % 2) + x % 2;
                *part = plane * layout.length() + (y / 2) * layout.pitch + x / 2;
            }
        }
        Self { layout, samples: planes.samples(), parts }
    }

    /// `W` × `W` samples, `vector` away from the sample at `(x, y)`, in registers of `16 / W` rows. No sample may lie
    /// outside the margins, as [`Self::near`] ensures.
    #[inline(always)]
    fn load<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        (x, y): (i32, i32),
        vector: (i32, i32),
    ) -> [Samples<E>; N] {
        let at = self.layout.at(x + (vector.0 >> 2), y + (vector.1 >> 2));
        let [first, second] = self.parts[((vector.1 & 3) << 2 | vector.0 & 3) as usize];
        let first = load_square::<E, W, N>(&self.samples[at.wrapping_add(first)..], self.layout.pitch);
        let second = load_square::<E, W, N>(&self.samples[at.wrapping_add(second)..], self.layout.pitch);
        let mut averages = first;
        for n in 0..N {
            // SAFETY: an engine exists, so that the CPU has its instructions.
            averages[n] = unsafe { first[n].average(second[n]) };
        }
        averages
    }

    /// A vector that leads to the same samples from `(x, y)`, and not out of the margins.
    #[inline(always)]
    fn near(&self, (x, y): (i32, i32), vector: (i32, i32)) -> (i32, i32) {
        let (column, row) = self.layout.near(x + (vector.0 >> 2), y + (vector.1 >> 2));
        ((column - x) * 4 + (vector.0 & 3), (row - y) * 4 + (vector.1 & 3))
    }
}

/// `W` × `W` samples in registers of `16 / W` rows, which are `pitch` apart.
#[inline(always)]
fn load_square<E: InstructionSet, const W: usize, const N: usize>(
    samples: &[u8],
    pitch: usize,
) -> [Samples<E>; N] {
    const { assert!(N * 16 == W * W) };
    let samples = samples[..(W - 1) * pitch + W].as_ptr();
    // SAFETY: an engine exists, so that the CPU has its instructions; the slice holds W rows.
    unsafe {
        let mut registers = [Samples::<E>::zero(); N];
        for (n, register) in registers.iter_mut().enumerate() {
            *register = Samples::<E>::load_rows::<W>(samples.add(n * (16 / W) * pitch), pitch);
        }
        registers
    }
}

/// The two points in half samples whose average is the sample at this fraction; twice the same if it is one itself.
#[inline(always)]
fn half_samples_around(x: usize, y: usize) -> [(usize, usize); 2] {
    let (left, above) = (x / 2, y / 2);
    match (x % 2, y % 2) {
        // Between four of them: the two that lie between whole samples on one axis only.
        (1, 1) if (left + above) % 2 == 0 => [(left + 1, above), (left, above + 1)],
        (right, below) => [(left, above), (left + right, above + below)],
    }
}

/// How differences of brightness are compensated.
#[derive(Clone, Copy, Debug)]
pub enum Brightness<'a> {
    /// Each vector compensates the difference of the means, and pays for it. Needs the sums of the cells.
    OfEachVector(&'a [u16]),
    /// The cells have these offsets, whatever the vector.
    OfEachCell(&'a [i8]),
}

/// The comparison of the cells of a level with the reference frame.
pub struct CellMatcher<'a> {
    /// The level of the current frame.
    pub current: &'a LevelPlanes,
    /// The same level of the reference frame.
    pub reference: QuarterSamples<'a>,
    /// How differences of brightness are compensated.
    pub brightness: Brightness<'a>,
    /// The most that a sample adds to a cost.
    pub cut: u8,
}

/// The cells of a chunk, each in one piece.
pub struct ChunkCells {
    /// The first sample of the first cell.
    origin: (i32, i32),
    /// Row by row.
    samples: Aligned<[[[u8; 16]; REGISTERS]; LANES]>,
    /// The sums of the samples.
    sums: [i32; LANES],
}

impl Default for ChunkCells {
    #[inline(always)]
    fn default() -> Self {
        let samples = Aligned([[[0; 16]; REGISTERS]; LANES]);
        Self { origin: (0, 0), samples, sums: [0; LANES] }
    }
}

impl ChunkCells {
    /// The first sample of a cell.
    #[inline(always)]
    fn origin(&self, lane: usize) -> (i32, i32) {
        (self.origin.0 + (lane * CELL) as i32, self.origin.1)
    }

    #[inline(always)]
    fn samples<E: InstructionSet>(&self, lane: usize) -> CellSamples<E> {
        load_square::<E, CELL, REGISTERS>(self.samples.0[lane].as_flattened(), CELL)
    }
}

impl CellMatcher<'_> {
    /// Collects `count` cells from `column` on, whose values begin at `at`. Cells with an offset get darker by it.
    #[inline(always)]
    pub fn collect<E: InstructionSet>(
        &self,
        cells: &mut ChunkCells,
        (column, row): (usize, usize),
        at: usize,
        count: usize,
    ) {
        cells.origin = ((column * CELL) as i32, (row * CELL) as i32);
        for lane in 0..count {
            let (x, y) = cells.origin(lane);
            let samples = &self.current.samples()[self.current.layout.at(x, y)..];
            let mut samples = load_square::<E, CELL, REGISTERS>(samples, self.current.layout.pitch);
            match self.brightness {
                Brightness::OfEachVector(sums) => cells.sums[lane] = sums[at + lane].into(),
                Brightness::OfEachCell(offsets) => {
                    samples = darkened::<E>(samples, offsets[at + lane].into())
                }
            }
            for (samples, to) in samples.into_iter().zip(&mut cells.samples.0[lane]) {
                // SAFETY: an engine exists, so that the CPU has its instructions.
                unsafe { samples.store(to) };
            }
        }
    }

    /// The cost of `vector` without its smoothness, for a cell of `cells`. The vector is within the bounds of the cell's,
    /// or at most half a sample outside.
    #[inline(always)]
    pub fn cost<E: InstructionSet>(&self, cells: &ChunkCells, lane: usize, vector: (i32, i32)) -> u32 {
        let samples = cells.samples::<E>(lane);
        let matched = self.reference.load::<E, CELL, REGISTERS>(cells.origin(lane), vector);
        match self.brightness {
            Brightness::OfEachCell(_) => self.difference::<E>(samples, matched),
            Brightness::OfEachVector(_) => {
                let offset = offset::<E>(cells.sums[lane], matched);
                self.difference::<E>(darkened::<E>(samples, offset), matched)
                    + OFFSET_PENALTY * offset.unsigned_abs()
            }
        }
    }

    /// How much brighter a cell is than the reference at any vector, within what is compensated.
    #[inline(always)]
    pub fn offset<E: InstructionSet>(&self, cells: &ChunkCells, lane: usize, vector: (i32, i32)) -> i32 {
        let vector = self.reference.near(cells.origin(lane), vector);
        offset::<E>(cells.sums[lane], self.reference.load::<E, CELL, REGISTERS>(cells.origin(lane), vector))
    }

    /// Prefetches the samples of the cells of the chunk from `column` on, and those around `vector` from them.
    #[inline(always)]
    pub fn prefetch<E: InstructionSet>(&self, engine: E, (column, row): (usize, usize), vector: (i32, i32)) {
        let layout = &self.reference.layout;
        let (x, y) = ((column * CELL) as i32, (row * CELL) as i32);
        let at = layout.at(x, y);
        let (x, y) = layout.near(x + (vector.0 >> 2), y + (vector.1 >> 2));
        let to = layout.at(x, y);
        for y in 0..=CELL {
            for line in 0..=LANES * CELL / LINE {
                let at = y * layout.pitch + line * LINE;
                for plane in 0..PLANES {
                    engine.prefetch(self.reference.samples, to + plane * layout.length() + at);
                }
            }
        }
        for y in 0..CELL {
            for line in 0..LANES * CELL / LINE {
                engine.prefetch(self.current.samples(), at + y * layout.pitch + line * LINE);
            }
        }
    }

    /// The sum of absolute differences, each at most the cut.
    #[inline(always)]
    fn difference<E: InstructionSet>(&self, a: CellSamples<E>, b: CellSamples<E>) -> u32 {
        // SAFETY: an engine exists, so that the CPU has its instructions.
        unsafe {
            let zero = Samples::<E>::zero();
            let mut sums = zero;
            if self.cut == u8::MAX {
                for n in 0..REGISTERS {
                    sums = Register::add_differences(sums, a[n], b[n]);
                }
            } else {
                let cut = Samples::<E>::all(self.cut);
                for n in 0..REGISTERS {
                    sums = Register::add_differences(sums, a[n].cut_differences(b[n], cut), zero);
                }
            }
            sums.total()
        }
    }
}

/// How much brighter a cell with this sum is than the samples that it is compared with.
#[inline(always)]
fn offset<E: InstructionSet>(sum: i32, matched: CellSamples<E>) -> i32 {
    // SAFETY: an engine exists, so that the CPU has its instructions.
    let other = unsafe {
        let zero = Samples::<E>::zero();
        let mut sums = zero;
        for samples in matched {
            sums = Register::add_differences(sums, samples, zero);
        }
        sums.total()
    };
    ((sum - other as i32 + 32) >> 6).clamp(-MOST_OFFSET, MOST_OFFSET)
}

/// `samples` minus `offset`, clipped.
#[inline(always)]
fn darkened<E: InstructionSet>(mut samples: CellSamples<E>, offset: i32) -> CellSamples<E> {
    // SAFETY: an engine exists, so that the CPU has its instructions.
    unsafe {
        // One of the two is zero.
        let darker = Samples::<E>::all(offset.max(0) as u8);
        let brighter = Samples::<E>::all((-offset).max(0) as u8);
        for samples in &mut samples {
            *samples = samples.plus(brighter).minus(darker);
        }
    }
    samples
}

/// The sum of absolute differences of `W` × `W` samples of `current` at `(x, y)` and of the reference at any `vector`.
#[inline(always)]
pub fn sum_of_differences<E: InstructionSet, const W: usize, const N: usize>(
    current: &LevelPlanes,
    reference: &QuarterSamples<'_>,
    at: (i32, i32),
    vector: (i32, i32),
) -> u32 {
    let layout = &current.layout;
    let (column, row) = layout.near(at.0, at.1);
    let samples = load_square::<E, W, N>(&current.samples()[layout.at(column, row)..], layout.pitch);
    let matched = reference.load::<E, W, N>(at, reference.near(at, vector));
    // SAFETY: an engine exists, so that the CPU has its instructions.
    unsafe {
        let mut sums = Samples::<E>::zero();
        for n in 0..N {
            sums = Register::add_differences(sums, samples[n], matched[n]);
        }
        sums.total()
    }
}

//! How well samples match the reference frame at a vector in quarter samples.

use crate::estimator::pyramid::CELL;
use crate::native::aligned::Aligned;
use crate::native::arch::register::{Register, SampleRegister};
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::memory::LINE;
use crate::native::hierarchical::planes::{LevelFrame, LevelLayout};
use crate::native::hierarchical::strips::{self, HalfSamples, PLANES, ROW};
use crate::native::level::InstructionSet;

/// 16 samples in the instructions of `E`.
type NarrowRegister<E> = <<E as crate::native::engine::Engine>::Register as Register>::Narrow;

/// Registers that hold the samples of a cell, two rows each.
const REGISTERS: usize = CELL / 2;

/// The samples of a cell in registers.
type CellSamples<E> = [NarrowRegister<E>; REGISTERS];

/// The largest difference of brightness that is compensated.
const MOST_OFFSET: i32 = 48;

/// What a unit of it adds to the cost of a vector.
const OFFSET_PENALTY: u32 = 8;

/// Samples from a whole sample to the last one of 8 × 8 half samples around it.
const READ: usize = (PLANES - 1) * LINE + ROW + 1 + square_length(CELL, ROW);

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

/// The two points in half samples whose average is the sample at this fraction; twice the same if it is one itself.
const fn half_samples_around(x: usize, y: usize) -> [(usize, usize); 2] {
    let (left, above) = (x / 2, y / 2);
    match (x % 2, y % 2) {
        // Between four of them: the two that lie between whole samples on one axis only.
        (1, 1) if (left + above) % 2 == 0 => [(left + 1, above), (left, above + 1)],
        (right, below) => [(left, above), (left + right, above + below)],
    }
}

/// The reference frame, readable at quarter samples.
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

    /// `W` × `W` samples, `vector` away from the sample at `(x, y)`, in registers of `16 / W` rows. No sample may lie
    /// outside the margins, as [`Self::near`] ensures.
    #[inline(always)]
    fn load<E: InstructionSet, const W: usize, const N: usize>(
        &self,
        (x, y): (i32, i32),
        vector: (i32, i32),
    ) -> [NarrowRegister<E>; N] {
        let at = strips::at(self.strip_length, x + (vector.0 >> 2), y + (vector.1 >> 2));
        let samples = self.samples[at..][..READ].as_ptr();
        let [first, second] = PARTS[((vector.1 & 3) << 2 | vector.0 & 3) as usize];
        // SAFETY: an engine exists, so that the CPU has its instructions. `READ` has the furthest of the parts and a square.
        unsafe {
            let first = load_square::<E, W, N>(samples.add(first.into()), ROW);
            let second = load_square::<E, W, N>(samples.add(second.into()), ROW);
            let mut averages = first;
            for n in 0..N {
                averages[n] = first[n].average(second[n]);
            }
            averages
        }
    }

    /// A vector that leads to the same samples from `(x, y)`, and not out of the margins.
    #[inline(always)]
    fn near(&self, (x, y): (i32, i32), vector: (i32, i32)) -> (i32, i32) {
        let (column, row) = self.layout.near(x + (vector.0 >> 2), y + (vector.1 >> 2));
        ((column - x) * 4 + (vector.0 & 3), (row - y) * 4 + (vector.1 & 3))
    }
}

/// Samples from the first to the last one of a square.
const fn square_length(side: usize, pitch: usize) -> usize {
    (side - 1) * pitch + side
}

/// `W` × `W` samples in registers of `16 / W` rows, which are `pitch` apart.
///
/// # Safety
/// The CPU must have the instructions of `E`, and the rows must be readable.
#[inline(always)]
unsafe fn load_square<E: InstructionSet, const W: usize, const N: usize>(
    samples: *const u8,
    pitch: usize,
) -> [NarrowRegister<E>; N] {
    const { assert!(N * 16 == W * W && W <= CELL) };
    // SAFETY: the caller's promises.
    unsafe {
        let mut registers = [NarrowRegister::<E>::zero(); N];
        for (n, register) in registers.iter_mut().enumerate() {
            *register = NarrowRegister::<E>::load_rows::<W>(samples.add(n * (16 / W) * pitch), pitch);
        }
        registers
    }
}

/// The samples of a square of `current` at `(x, y)`, in the margins at most.
#[inline(always)]
fn load_current<E: InstructionSet, const W: usize, const N: usize>(
    current: &LevelFrame,
    (x, y): (i32, i32),
) -> [NarrowRegister<E>; N] {
    let layout = &current.layout;
    let samples = &current.samples()[layout.at(x, y)..][..square_length(W, layout.pitch)];
    // SAFETY: an engine exists, so that the CPU has its instructions, and the slice has the square.
    unsafe { load_square::<E, W, N>(samples.as_ptr(), layout.pitch) }
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
    pub current: &'a LevelFrame,
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
        let samples = &self.samples.0[lane];
        // SAFETY: an engine exists, so that the CPU has its instructions, and an array has the bytes of a register.
        unsafe {
            let mut registers = [NarrowRegister::<E>::zero(); REGISTERS];
            for (register, samples) in registers.iter_mut().zip(samples) {
                *register = NarrowRegister::<E>::load(samples.as_ptr());
            }
            registers
        }
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
            let mut samples = load_current::<E, CELL, REGISTERS>(self.current, cells.origin(lane));
            match self.brightness {
                Brightness::OfEachVector(sums) => cells.sums[lane] = sums[at + lane].into(),
                Brightness::OfEachCell(offsets) => {
                    samples = darkened::<E, REGISTERS>(samples, offsets[at + lane].into())
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
            Brightness::OfEachCell(_) => self.difference::<E, REGISTERS>(samples, matched),
            Brightness::OfEachVector(_) => {
                let offset = offset::<E>(cells.sums[lane], matched);
                self.difference::<E, REGISTERS>(darkened::<E, REGISTERS>(samples, offset), matched)
                    + OFFSET_PENALTY * offset.unsigned_abs()
            }
        }
    }

    /// Prefetches a part of what the cell below needs if it has the same vector. Eight neighbouring cells prefetch all of it.
    #[inline(always)]
    pub fn prefetch_below<E: InstructionSet>(
        &self,
        engine: E,
        cells: &ChunkCells,
        lane: usize,
        vector: (i32, i32),
    ) {
        let (x, y) = cells.origin(lane);
        let at = strips::at(self.reference.strip_length, x + (vector.0 >> 2), y + (vector.1 >> 2));
        let row = at / ROW + CELL + lane % CELL;
        for plane in 0..PLANES {
            engine.prefetch(self.reference.samples, row * ROW + plane * LINE);
        }
    }

    /// How much brighter a cell is than the reference at any vector, within what is compensated.
    #[inline(always)]
    pub fn offset<E: InstructionSet>(&self, cells: &ChunkCells, lane: usize, vector: (i32, i32)) -> i32 {
        let vector = self.reference.near(cells.origin(lane), vector);
        offset::<E>(cells.sums[lane], self.reference.load::<E, CELL, REGISTERS>(cells.origin(lane), vector))
    }

    /// The cost of any `vector` for a small cell at `origin`, a part of the cell whose values have the index `at`.
    #[inline(always)]
    pub fn cost_of_small_cell<E: InstructionSet>(
        &self,
        origin: (i32, i32),
        at: usize,
        vector: (i32, i32),
    ) -> u32 {
        let offset = match self.brightness {
            Brightness::OfEachVector(_) => 0,
            Brightness::OfEachCell(offsets) => offsets[at].into(),
        };
        let samples = load_current::<E, 4, 1>(self.current, origin);
        let matched = self.reference.load::<E, 4, 1>(origin, self.reference.near(origin, vector));
        self.difference::<E, 1>(darkened::<E, 1>(samples, offset), matched)
    }

    /// The sum of absolute differences, each at most the cut.
    #[inline(always)]
    fn difference<E: InstructionSet, const N: usize>(
        &self,
        a: [NarrowRegister<E>; N],
        b: [NarrowRegister<E>; N],
    ) -> u32 {
        // SAFETY: an engine exists, so that the CPU has its instructions.
        unsafe {
            let zero = NarrowRegister::<E>::zero();
            let mut sums = zero;
            if self.cut == u8::MAX {
                for n in 0..N {
                    sums = Register::add_differences(sums, a[n], b[n]);
                }
            } else {
                let cut = NarrowRegister::<E>::all(self.cut);
                for n in 0..N {
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
        let zero = NarrowRegister::<E>::zero();
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
fn darkened<E: InstructionSet, const N: usize>(
    mut samples: [NarrowRegister<E>; N],
    offset: i32,
) -> [NarrowRegister<E>; N] {
    // SAFETY: an engine exists, so that the CPU has its instructions.
    unsafe {
        // One of the two is zero.
        let darker = NarrowRegister::<E>::all(offset.max(0) as u8);
        let brighter = NarrowRegister::<E>::all((-offset).max(0) as u8);
        for samples in &mut samples {
            *samples = samples.plus(brighter).minus(darker);
        }
    }
    samples
}

/// The sum of absolute differences of `W` × `W` samples of `current` at `(x, y)` and of the reference at any `vector`.
#[inline(always)]
pub fn sum_of_differences<E: InstructionSet, const W: usize, const N: usize>(
    current: &LevelFrame,
    reference: &QuarterSamples<'_>,
    at: (i32, i32),
    vector: (i32, i32),
) -> u32 {
    let samples = load_current::<E, W, N>(current, current.layout.near(at.0, at.1));
    let matched = reference.load::<E, W, N>(at, reference.near(at, vector));
    // SAFETY: an engine exists, so that the CPU has its instructions.
    unsafe {
        let mut sums = NarrowRegister::<E>::zero();
        for n in 0..N {
            sums = Register::add_differences(sums, samples[n], matched[n]);
        }
        sums.total()
    }
}

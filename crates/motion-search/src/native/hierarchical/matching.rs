//! How well cells match the reference frame at a vector in quarter samples.

use crate::native::hierarchical::grid::LANES;
use motion_base::hierarchy::CELL;
use motion_base::memory::Aligned;
use motion_base::pyramid::planes::LevelFrame;
use motion_base::pyramid::quarter_samples::{QuarterSamples, load_current};
use motion_base::simd::{InstructionSet, Samples};

/// Registers that hold the samples of a cell, two rows each.
const REGISTERS: usize = CELL / 2;

/// The samples of a cell in registers.
type CellSamples<E> = [Samples<E>; REGISTERS];

/// The largest difference of brightness that is compensated.
const MOST_OFFSET: i32 = 48;

/// What a unit of it adds to the cost of a vector.
const OFFSET_PENALTY: u32 = 8;

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
#[derive(Clone, Copy, Default)]
pub struct ChunkCells {
    /// The first sample of the first cell.
    origin: (i32, i32),
    /// Row by row.
    samples: Aligned<[[[u8; 16]; REGISTERS]; LANES]>,
    /// The sums of the samples.
    sums: [i32; LANES],
}

impl ChunkCells {
    /// The first sample of a cell.
    #[inline(always)]
    fn origin(&self, lane: usize) -> (i32, i32) {
        (self.origin.0 + (lane * CELL) as i32, self.origin.1)
    }

    #[inline(always)]
    fn samples<E: InstructionSet>(&self, engine: E, lane: usize) -> CellSamples<E> {
        let mut registers = [Samples::zero(engine); REGISTERS];
        for (register, samples) in registers.iter_mut().zip(&self.samples.0[lane]) {
            *register = Samples::load(engine, samples);
        }
        registers
    }
}

impl CellMatcher<'_> {
    /// Collects `count` cells from `column` on, whose values begin at `at`. Cells with an offset get darker by it.
    #[inline(always)]
    pub fn collect<E: InstructionSet>(
        &self,
        engine: E,
        cells: &mut ChunkCells,
        (column, row): (usize, usize),
        at: usize,
        count: usize,
    ) {
        cells.origin = ((column * CELL) as i32, (row * CELL) as i32);
        for lane in 0..count {
            let mut samples = load_current::<E, CELL, REGISTERS>(engine, self.current, cells.origin(lane));
            match self.brightness {
                Brightness::OfEachVector(sums) => cells.sums[lane] = sums[at + lane].into(),
                Brightness::OfEachCell(offsets) => {
                    samples = darkened(engine, samples, offsets[at + lane].into())
                }
            }
            for (samples, to) in samples.into_iter().zip(&mut cells.samples.0[lane]) {
                samples.store(to);
            }
        }
    }

    /// The cost of `vector` without its smoothness, for a cell of `cells`. The vector is within the bounds of the
    /// cell's, or at most half a sample outside; if `IS_EVEN`, both of its components are.
    #[inline(always)]
    pub fn cost<E: InstructionSet, const IS_EVEN: bool>(
        &self,
        engine: E,
        cells: &ChunkCells,
        lane: usize,
        vector: (i32, i32),
    ) -> u32 {
        let samples = cells.samples(engine, lane);
        let matched = match IS_EVEN {
            true => self.reference.load_half::<E, CELL, REGISTERS>(engine, cells.origin(lane), vector),
            false => self.reference.load::<E, CELL, REGISTERS>(engine, cells.origin(lane), vector),
        };
        match self.brightness {
            Brightness::OfEachCell(_) => self.difference(engine, samples, matched),
            Brightness::OfEachVector(_) => {
                let offset = offset(engine, cells.sums[lane], matched);
                self.difference(engine, darkened(engine, samples, offset), matched)
                    + OFFSET_PENALTY * offset.unsigned_abs()
            }
        }
    }

    /// Prefetches a part of what the cell below needs if it has the same vector. Eight neighbouring cells
    /// prefetch all of it.
    #[inline(always)]
    pub fn prefetch_below<E: InstructionSet>(
        &self,
        engine: E,
        cells: &ChunkCells,
        lane: usize,
        (x, y): (i32, i32),
    ) {
        let origin = cells.origin(lane);
        self.reference
            .prefetch(engine, (origin.0 + (x >> 2), origin.1 + (y >> 2) + (CELL + lane % CELL) as i32));
    }

    /// How much brighter a cell is than the reference at any vector, within what is compensated.
    #[inline(always)]
    pub fn offset<E: InstructionSet>(
        &self,
        engine: E,
        cells: &ChunkCells,
        lane: usize,
        vector: (i32, i32),
    ) -> i32 {
        let vector = self.reference.near(cells.origin(lane), vector);
        offset(
            engine,
            cells.sums[lane],
            self.reference.load::<E, CELL, REGISTERS>(engine, cells.origin(lane), vector),
        )
    }

    /// The cost of any `vector` for a small cell at `origin`, a part of the cell whose values have the index `at`.
    #[inline(always)]
    pub fn cost_of_small_cell<E: InstructionSet>(
        &self,
        engine: E,
        origin: (i32, i32),
        at: usize,
        vector: (i32, i32),
    ) -> u32 {
        let offset = match self.brightness {
            Brightness::OfEachVector(_) => 0,
            Brightness::OfEachCell(offsets) => offsets[at].into(),
        };
        let samples = load_current::<E, 4, 1>(engine, self.current, origin);
        let matched = self.reference.load::<E, 4, 1>(engine, origin, self.reference.near(origin, vector));
        self.difference(engine, darkened(engine, samples, offset), matched)
    }

    /// The sum of absolute differences, each at most the cut.
    #[inline(always)]
    fn difference<E: InstructionSet, const N: usize>(
        &self,
        engine: E,
        a: [Samples<E>; N],
        b: [Samples<E>; N],
    ) -> u32 {
        let zero = Samples::zero(engine);
        let mut sums = zero;
        if self.cut == u8::MAX {
            for n in 0..N {
                sums = sums.plus_differences(a[n], b[n]);
            }
        } else {
            let cut = Samples::all(engine, self.cut);
            for n in 0..N {
                sums = sums.plus_differences(a[n].cut_differences(b[n], cut), zero);
            }
        }
        sums.total()
    }
}

/// How much brighter a cell with this sum is than the samples that it is compared with.
#[inline(always)]
fn offset<E: InstructionSet>(engine: E, sum: i32, matched: CellSamples<E>) -> i32 {
    let zero = Samples::zero(engine);
    let mut sums = zero;
    for samples in matched {
        sums = sums.plus_differences(samples, zero);
    }
    ((sum - sums.total() as i32 + 32) >> 6).clamp(-MOST_OFFSET, MOST_OFFSET)
}

/// `samples` minus `offset`, clipped.
#[inline(always)]
fn darkened<E: InstructionSet, const N: usize>(
    engine: E,
    mut samples: [Samples<E>; N],
    offset: i32,
) -> [Samples<E>; N] {
    // One of the two is zero.
    let darker = Samples::all(engine, offset.max(0) as u8);
    let brighter = Samples::all(engine, (-offset).max(0) as u8);
    for samples in &mut samples {
        *samples = samples.plus(brighter).minus(darker);
    }
    samples
}

//! The choice of each block's vector by the samples of both frames.

use rayon::prelude::*;

use super::rules::{BLOCK, HalfVector};
use super::starts::Starts;
use crate::estimator::Grid;
use crate::native::arch::register::{Register, SampleRegister};
use crate::native::hierarchical::quarter_samples::{NarrowRegister, QuarterSamples};
use crate::native::level::{InstructionSet, Instructions, Work};

/// Registers that hold the samples of a block, two rows each.
const REGISTERS: usize = BLOCK / 2;

/// The vectors that a block chooses from: its own, those of eight neighbours, that of the other field, and zero.
const MOST_CANDIDATES: usize = 11;

/// The choice at a phase.
pub(super) struct VectorChoice<'a> {
    /// The luma of the previous and of the next frame.
    pub luma: [QuarterSamples<'a>; 2],
    pub starts: &'a Starts,
    pub grid: Grid,
    /// The projected field from the previous frame, and that from the next one.
    pub projected: [&'a [HalfVector]; 2],
}

impl VectorChoice<'_> {
    /// Writes the vector of each block.
    pub fn choose(&self, instructions: Instructions, chosen: &mut [HalfVector]) {
        chosen.par_chunks_mut(self.grid.columns).enumerate().for_each(|(row, chosen)| {
            instructions.run(ChosenRow { choice: self, row, chosen });
        });
    }

    /// The candidates of a block in order, each once, and the vectors of its neighbours.
    #[inline(always)]
    fn candidates(&self, column: usize, row: usize) -> (VectorSet, [HalfVector; 8]) {
        let Grid { columns, rows } = self.grid;
        let [forward, backward] = self.projected;
        let above = row.saturating_sub(1) * columns;
        let below = (row + 1).min(rows - 1) * columns;
        let (left, right) = (column.saturating_sub(1), (column + 1).min(columns - 1));
        let at = row * columns;
        let neighbours = [
            forward[above + left],
            forward[above + column],
            forward[above + right],
            forward[at + left],
            forward[at + right],
            forward[below + left],
            forward[below + column],
            forward[below + right],
        ];
        let own = forward[at + column];
        let mut candidates = VectorSet { vectors: [own; MOST_CANDIDATES], count: 1 };
        if neighbours != [own; 8] {
            for vector in neighbours {
                candidates.add(vector);
            }
        }
        candidates.add(backward[at + column]);
        candidates.add(HalfVector::default());
        (candidates, neighbours)
    }

    /// The sum of the absolute differences of both ends of `vector`.
    #[inline(always)]
    fn difference<E: InstructionSet>(&self, origin: (i32, i32), vector: HalfVector) -> u32 {
        let [previous, next] = &self.luma;
        let [start, end] = self.starts.ends(vector);
        let start = previous.load::<E, BLOCK, REGISTERS>(origin, previous.near(origin, start));
        let end = next.load::<E, BLOCK, REGISTERS>(origin, next.near(origin, end));
        // SAFETY: an engine exists, so that the CPU has its instructions.
        unsafe {
            let mut sums = NarrowRegister::<E>::zero();
            for n in 0..REGISTERS {
                sums = Register::add_differences(sums, start[n], end[n]);
            }
            sums.total()
        }
    }
}

/// Vectors that differ.
struct VectorSet {
    vectors: [HalfVector; MOST_CANDIDATES],
    count: usize,
}

impl VectorSet {
    #[inline(always)]
    fn add(&mut self, vector: HalfVector) {
        if !self.vectors[..self.count].contains(&vector) {
            self.vectors[self.count] = vector;
            self.count += 1;
        }
    }
}

/// A row of blocks.
struct ChosenRow<'a> {
    choice: &'a VectorChoice<'a>,
    row: usize,
    chosen: &'a mut [HalfVector],
}

impl Work for ChosenRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { choice, row, chosen } = self;
        for (column, chosen) in chosen.iter_mut().enumerate() {
            let (candidates, neighbours) = choice.candidates(column, row);
            let candidates = &candidates.vectors[..candidates.count];
            *chosen = candidates[0];
            if candidates.len() == 1 {
                continue;
            }
            let origin = ((BLOCK * column) as i32, (BLOCK * row) as i32);
            let mut least = u32::MAX;
            for &vector in candidates {
                let mut unlike = 0;
                for neighbour in neighbours {
                    unlike += vector.difference(neighbour);
                }
                if 2 * unlike >= least {
                    continue;
                }
                let cost = choice.difference::<E>(origin, vector) + 2 * unlike;
                if cost < least {
                    (*chosen, least) = (vector, cost);
                }
            }
        }
    }
}

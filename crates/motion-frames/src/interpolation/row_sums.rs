//! Sums over samples of eight bits, 16 at a time.

use super::cells::RegisterCell;
use motion_base::simd::InstructionSet;
use motion_base::simd::register::WordRegister;

/// Sums over rows of 16 samples, each with the samples around it.
#[derive(Clone, Copy)]
pub(crate) struct RowSums<E: InstructionSet> {
    samples: E::Words,
    products: [E::Words; 4],
    counted: E::Words,
}

impl<E: InstructionSet> RowSums<E> {
    /// Sums that are 0. The first `columns` samples of each row are then added.
    #[inline(always)]
    pub fn new(_engine: E, columns: usize) -> Self {
        let mut counted = [0; 16];
        counted[..columns].fill(1);
        // SAFETY: an engine exists, so that the CPU has its instructions, here and below.
        unsafe {
            let zero = E::Words::all(0);
            Self { samples: zero, products: [zero; 4], counted: E::Words::load(&counted) }
        }
    }

    /// Adds the samples `middle`; the others are those beside them.
    #[inline(always)]
    pub fn add(&mut self, [left, middle, right, above, below]: [&[u16; 16]; 5]) {
        // SAFETY: as in `new`.
        unsafe {
            let middle = E::Words::load(middle).times(self.counted);
            let twice = middle.plus(middle);
            let bend =
                |one, other| E::Words::load(one).plus(E::Words::load(other)).times(self.counted).minus(twice);
            let (along, down) = (bend(left, right), bend(above, below));
            self.samples = self.samples.plus(middle);
            let factors = [(middle, middle), (along, along), (down, down), (along, down)];
            for (sum, (one, other)) in self.products.iter_mut().zip(factors) {
                *sum = E::Words::add_pairs(*sum, one, other);
            }
        }
    }

    /// For each sample of every two neighbours the sum.
    #[inline(always)]
    pub fn samples(&self) -> [[u64; 2]; 8] {
        // SAFETY: as in `new`.
        let pairs = unsafe { self.samples.pairs() };
        pairs.map(|pair| [pair & 0xffff, pair >> 16].map(u64::from))
    }

    /// For every two neighbours the sums of squares, of squared second differences along rows and down columns, and of the
    /// products of both.
    #[inline(always)]
    pub fn products(&self) -> [[i32; 8]; 4] {
        // SAFETY: as in `new`.
        self.products.map(|sums| unsafe { sums.pairs() }.map(u32::cast_signed))
    }
}

impl<E: InstructionSet> RegisterCell<E, 4> {
    /// The sum of 8 x 8 samples, that of their squares, and that of the squared differences from those of `next` in the first
    /// seven columns.
    #[inline(always)]
    pub fn sums(self, next: Self) -> [u64; 3] {
        // SAFETY: an engine exists, so that the CPU has its instructions.
        let sums = unsafe {
            let mut first = [1; 16];
            [first[7], first[15]] = [0; 2];
            let (first, zero) = (E::Words::load(&first), E::Words::all(0));
            let [mut sum, mut squares, mut steps] = [zero; 3];
            for (words, next) in self.0.into_iter().zip(next.0) {
                let differences = words.minus(next);
                sum = sum.plus(words);
                squares = E::Words::add_pairs(squares, words, words);
                steps = E::Words::add_pairs(steps, differences, differences.times(first));
            }
            [E::Words::add_pairs(zero, sum, E::Words::all(1)), squares, steps].map(|sums| sums.pairs())
        };
        sums.map(|sums| sums.into_iter().sum::<u32>().into())
    }
}

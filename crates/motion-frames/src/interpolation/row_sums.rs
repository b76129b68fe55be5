//! Sums over samples of eight bits, 16 at a time.

use super::cells::RegisterCell;
use motion_base::simd::{InstructionSet, Words};

/// Sums over rows of 16 samples, each with the samples around it.
#[derive(Clone, Copy)]
pub(crate) struct RowSums<E: InstructionSet> {
    engine: E,
    samples: Words<E>,
    products: [Words<E>; 4],
    counted: Words<E>,
}

impl<E: InstructionSet> RowSums<E> {
    /// Sums that are 0. The first `columns` samples of each row are then added.
    #[inline(always)]
    pub fn new(engine: E, columns: usize) -> Self {
        let mut counted = [0; 16];
        counted[..columns].fill(1);
        let zero = Words::all(engine, 0);
        Self { engine, samples: zero, products: [zero; 4], counted: Words::load(engine, &counted) }
    }

    /// Adds the samples `middle`; the others are those beside them.
    #[inline(always)]
    pub fn add(&mut self, [left, middle, right, above, below]: [&[u16; 16]; 5]) {
        let middle = Words::load(self.engine, middle).times(self.counted);
        let twice = middle.plus(middle);
        let (along, down) = (self.bend(left, right, twice), self.bend(above, below, twice));
        self.samples = self.samples.plus(middle);
        let factors = [(middle, middle), (along, along), (down, down), (along, down)];
        for (sum, (one, other)) in self.products.iter_mut().zip(factors) {
            *sum = sum.plus_pairs(one, other);
        }
    }

    /// The sums of the samples on two sides, minus `twice` the samples between them.
    #[inline(always)]
    fn bend(&self, one: &[u16; 16], other: &[u16; 16], twice: Words<E>) -> Words<E> {
        let sum = Words::load(self.engine, one).plus(Words::load(self.engine, other));
        sum.times(self.counted).minus(twice)
    }

    /// For each sample of every two neighbours the sum.
    #[inline(always)]
    pub fn samples(&self) -> [[u64; 2]; 8] {
        self.samples.pairs().map(|pair| [pair & 0xffff, pair >> 16].map(u64::from))
    }

    /// For every two neighbours the sums of squares, of squared second differences along rows and down columns, and of the
    /// products of both.
    #[inline(always)]
    pub fn products(&self) -> [[i32; 8]; 4] {
        self.products.map(|sums| sums.pairs().map(u32::cast_signed))
    }
}

impl<E: InstructionSet> RegisterCell<E, 4> {
    /// The sum of 8 x 8 samples, that of their squares, and that of the squared differences from those of `next` in the first
    /// seven columns.
    #[inline(always)]
    pub fn sums(self, engine: E, next: Self) -> [u64; 3] {
        let mut first = [1; 16];
        [first[7], first[15]] = [0; 2];
        let (first, zero) = (Words::load(engine, &first), Words::all(engine, 0));
        let [mut sum, mut squares, mut steps] = [zero; 3];
        for (words, next) in self.0.into_iter().zip(next.0) {
            let differences = words.minus(next);
            sum = sum.plus(words);
            squares = squares.plus_pairs(words, words);
            steps = steps.plus_pairs(differences, differences.times(first));
        }
        let sums = [zero.plus_pairs(sum, zero.filled(1)), squares, steps];
        sums.map(|sums| sums.pairs().into_iter().sum::<u32>().into())
    }
}

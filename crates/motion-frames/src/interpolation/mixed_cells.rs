//! Weighted means of any number of predictions of a cell.

use std::ops::{Add, Mul};

use super::cells::{DeepCell, PlaneCell, RegisterCell};
use motion_base::simd::{InstructionSet, Words};

/// The samples of a cell, times 64, of which weighted means are taken.
pub(crate) trait MixedCell<E, const W: usize, const H: usize>: PlaneCell<E, W, H> {
    /// A sum for each sample.
    type Sums: Copy;

    /// The sums of numbers.
    fn add(numbers: Self::Numbers, other: Self::Numbers) -> Self::Numbers;

    /// The products of numbers.
    fn multiply(numbers: Self::Numbers, other: Self::Numbers) -> Self::Numbers;

    /// The numbers, below 2^14, times the factors of the four cells of a block, divided by `2^bits`, of 6 bits or more. `cells`
    /// have ones in the samples of a cell.
    fn weigh(
        numbers: Self::Numbers,
        factors: [u8; 4],
        bits: u32,
        cells: &[Self::Numbers; 4],
    ) -> Self::Numbers;

    /// Sums that are 0.
    fn no_sums(engine: E) -> Self::Sums;

    /// `sums` plus the samples in quarters of their unit, weighted.
    fn add_to(self, sums: Self::Sums, weights: Self::Numbers) -> Self::Sums;

    /// The samples that are the means of what has been added with weights of these `totals`.
    fn mean(sums: Self::Sums, totals: Self::Numbers) -> [[Self::Sample; W]; H];

    /// The samples: the same as the mean of them alone.
    fn round_quarters(self) -> [[Self::Sample; W]; H];
}

impl<E: InstructionSet, const N: usize, const W: usize, const H: usize> MixedCell<E, W, H>
    for RegisterCell<E, N>
{
    type Sums = [[Words<E>; 2]; N];

    #[inline(always)]
    fn add(mut numbers: Self::Numbers, other: Self::Numbers) -> Self::Numbers {
        for n in 0..N {
            numbers[n] = numbers[n].plus(other[n]);
        }
        numbers
    }

    #[inline(always)]
    fn multiply(mut numbers: Self::Numbers, other: Self::Numbers) -> Self::Numbers {
        for n in 0..N {
            numbers[n] = numbers[n].times(other[n]);
        }
        numbers
    }

    #[inline(always)]
    fn weigh(
        mut numbers: Self::Numbers,
        factors: [u8; 4],
        bits: u32,
        cells: &[Self::Numbers; 4],
    ) -> Self::Numbers {
        let all = numbers[0];
        // A register has samples of all cells, or of the upper or the lower ones, as have those beside it.
        let (halves, alike) = if N == 1 { (1, 1) } else { (2, N / 2) };
        for half in 0..halves {
            let mut factor = all.filled(0);
            for cell in 4 / halves * half..4 / halves * (half + 1) {
                let of_cell = u16::from(factors[cell]) << (16 - 2 - bits);
                factor = factor.plus(cells[cell][alike * half].times(all.filled(of_cell)));
            }
            for numbers in &mut numbers[alike * half..][..alike] {
                *numbers = numbers.times(all.filled(4)).upper_product(factor);
            }
        }
        numbers
    }

    #[inline(always)]
    fn no_sums(engine: E) -> Self::Sums {
        [[Words::all(engine, 0); 2]; N]
    }

    #[inline(always)]
    fn add_to(self, mut sums: Self::Sums, weights: Self::Numbers) -> Self::Sums {
        for n in 0..N {
            sums[n] = Words::add_products(sums[n], self.0[n].round::<4>(), weights[n]);
        }
        sums
    }

    #[inline(always)]
    fn mean(sums: Self::Sums, totals: Self::Numbers) -> [[u8; W]; H] {
        let mut means = totals;
        for n in 0..N {
            means[n] = Words::quotients(sums[n], totals[n]);
        }
        RegisterCell(means).store()
    }

    #[inline(always)]
    fn round_quarters(self) -> [[u8; W]; H] {
        let mut rounded = self;
        for n in 0..N {
            rounded.0[n] = self.0[n].round::<4>().round::<2>();
        }
        rounded.store()
    }
}

impl<E, const W: usize, const H: usize> MixedCell<E, W, H> for DeepCell<W, H> {
    type Sums = Self;

    #[inline(always)]
    fn add(numbers: Self, other: Self) -> Self {
        numbers.each(other, Add::add)
    }

    #[inline(always)]
    fn multiply(numbers: Self, other: Self) -> Self {
        numbers.each(other, Mul::mul)
    }

    #[inline(always)]
    fn weigh(numbers: Self, factors: [u8; 4], bits: u32, cells: &[Self; 4]) -> Self {
        let mut factor = Self([[0; W]; H]);
        for (cell, of_cell) in cells.iter().zip(factors) {
            factor = factor.each(*cell, |sum, is_of_cell| sum + is_of_cell * u32::from(of_cell));
        }
        numbers.each(factor, |number, factor| (number * factor) >> bits)
    }

    #[inline(always)]
    fn no_sums(_: E) -> Self {
        Self([[0; W]; H])
    }

    #[inline(always)]
    fn add_to(self, sums: Self, weights: Self) -> Self {
        sums.each(self.each(weights, |sample, weight| ((sample + 8) >> 4) * weight), Add::add)
    }

    #[inline(always)]
    fn mean(sums: Self, totals: Self) -> [[u16; W]; H] {
        sums.each(totals, |sum, total| (sum + 2 * total) / (4 * total))
            .0
            .map(|row| row.map(|mean| mean as u16))
    }

    #[inline(always)]
    fn round_quarters(self) -> [[u16; W]; H] {
        self.0.map(|row| row.map(|number| ((((number + 8) >> 4) + 2) >> 2) as u16))
    }
}

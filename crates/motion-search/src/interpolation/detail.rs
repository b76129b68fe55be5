//! Blocks of search frames less their mean, by which scene cuts are told.

use super::rules::BLOCK;
use crate::estimator::FrameView;
use crate::simd::InstructionSet;
use crate::simd::register::{Register, SampleRegister, WordRegister};

/// The [detail](CentredBlock::detail) from which on a block counts: two levels a sample.
pub(crate) const LEAST_DETAIL: u32 = 2 * (BLOCK * BLOCK) as u32;

/// The 8 x 8 samples of a block less their mean, two rows a register.
pub(crate) struct CentredBlock<E: InstructionSet>([E::Words; BLOCK / 2]);

impl<E: InstructionSet> CentredBlock<E> {
    /// The block of `frame` from `(x, y)` on. Outside the frame, its edge samples repeat.
    #[inline(always)]
    pub fn load(frame: &FrameView<'_>, (x, y): (i32, i32)) -> Self {
        let mut copied = [0; BLOCK * BLOCK];
        let (block, stride) = match frame.inside((x, y), (BLOCK, BLOCK)) {
            Some(inside) => inside,
            None => {
                for (index, sample) in copied.iter_mut().enumerate() {
                    *sample = frame.extended(x + (index % BLOCK) as i32, y + (index / BLOCK) as i32);
                }
                (&copied[..], BLOCK)
            }
        };
        let block = &block[..(BLOCK - 1) * stride + BLOCK];
        // SAFETY: the block has these rows. An engine exists, so that the CPU has its instructions.
        unsafe {
            let rows = [0, 2, 4, 6].map(|row| {
                <E::Samples as Register>::load_rows::<BLOCK>(block.as_ptr().add(row * stride), stride)
            });
            let zero = E::Samples::zero();
            let sums = rows.iter().fold(zero, |sums, row| E::Samples::add_differences(sums, *row, zero));
            let mean = E::Words::all(((sums.total() + 32) >> 6) as u16);
            Self(rows.map(|row| E::Words::widen(row).minus(mean)))
        }
    }

    /// The sum of the absolute differences.
    #[inline(always)]
    pub fn difference(&self, other: &Self) -> u32 {
        self.sum_differences(&other.0)
    }

    /// How much the samples differ from their mean.
    #[inline(always)]
    pub fn detail(&self) -> u32 {
        // SAFETY: an engine exists, so that the CPU has its instructions.
        self.sum_differences(&[unsafe { E::Words::all(0) }; BLOCK / 2])
    }

    #[inline(always)]
    fn sum_differences(&self, others: &[E::Words; BLOCK / 2]) -> u32 {
        // SAFETY: as above. Four differences of at most 510 fit in a number.
        unsafe {
            let mut sums = E::Words::all(0);
            for (a, b) in self.0.iter().zip(others) {
                sums = sums.plus(a.minus(*b).largest(b.minus(*a)));
            }
            E::Words::add_pairs(E::Words::all(0), sums, E::Words::all(1)).pairs().iter().sum()
        }
    }

    /// Whether two blocks are the same picture but for brightness and contrast: their correlation is 0.9 or more.
    #[inline(always)]
    pub fn resembles(&self, other: &Self) -> bool {
        let product = self.product(other);
        product > 0 && 100 * product * product >= 81 * self.product(self) * other.product(other)
    }

    /// The sum of the products.
    #[inline(always)]
    fn product(&self, other: &Self) -> i64 {
        // SAFETY: as above. A sum is of eight products below 2^16.
        let sums = unsafe {
            let mut sums = E::Words::all(0);
            for (a, b) in self.0.iter().zip(&other.0) {
                sums = E::Words::add_pairs(sums, *a, *b);
            }
            sums.pairs()
        };
        sums.iter().map(|sum| i64::from(*sum as i32)).sum()
    }
}

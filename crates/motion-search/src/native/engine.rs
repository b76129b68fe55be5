//! What an instruction set is to the searches.

use crate::native::arch::register::{DeepRegister, Register, SUMS, SumRegister, WordRegister};

/// An instruction set. A value of the type is the proof that this CPU has it.
///
/// The searches add a trait each for what an instruction set may do its own way:
/// [`TileEngine`](crate::native::exhaustive::engine::TileEngine) and
/// [`EliminationEngine`](crate::native::elimination::engine::EliminationEngine).
pub trait Engine: Copy {
    /// Neighbouring candidates that are compared at once: one of them costs as much as all.
    const LANES: usize;

    /// The samples of candidates that are compared one after the other.
    type Register: Register;

    /// As many numbers as a narrow register has samples.
    type Words: WordRegister<Samples = <Self::Register as Register>::Narrow>;

    /// The sums that bounds are computed from.
    type Sums: SumRegister;

    /// Samples of more than eight bits. `[u16; SUMS]` for engines that no search of such samples is compiled for
    /// ([`Instructions::run_deep`](crate::native::level::Instructions::run_deep)).
    type Deep: DeepRegister;

    /// Prefetches the cache line of `samples[at]`, which may lie past the end.
    #[inline(always)]
    fn prefetch(self, _samples: &[u8], _at: usize) {}

    /// A bit for each of `values` that is at most `limit`, the lowest bit for the first value.
    #[inline(always)]
    fn at_most(self, values: &[u16; SUMS], limit: u16) -> u32 {
        values.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(*value <= limit) << lane)
    }

    /// Writes `start + lanes[i]` for each bit `i` of `bits` to the beginning of `to`, in order. The rest of `to` is overwritten with anything.
    #[inline(always)]
    fn list(self, mut bits: u32, start: u32, lanes: &[u32; SUMS], to: &mut [u32; SUMS]) {
        let mut count = 0;
        while bits != 0 {
            to[count % SUMS] = start.wrapping_add(lanes[bits.trailing_zeros() as usize % SUMS]);
            bits &= bits - 1;
            count += 1;
        }
    }

    /// The sums of the squares of `SIDE` samples in `SIDE` rows of 16, left to right; `SIDE` is 4, 8 or 16.
    #[inline(always)]
    fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; 16]; SIDE]) -> [u16; 4] {
        let mut down = [0_u16; 16];
        for row in rows {
            for x in 0..16 {
                down[x] += u16::from(row[x]);
            }
        }
        let mut sums = [0; 4];
        for (sum, columns) in sums.iter_mut().zip(down.chunks_exact(SIDE)) {
            *sum = columns.iter().sum();
        }
        sums
    }
}

/// Defines methods of an engine by the functions of the same names in scope, which are compiled for its instructions.
macro_rules! by_functions {
    ($(fn $name:ident $(<const $n:ident: usize>)? (self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        fn $name $(<const $n: usize>)? (self $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: a value of an engine exists only where the CPU has its instructions.
            unsafe { $name $(::<$n>)? ($($argument),*) }
        }
    )*};
}
pub(crate) use by_functions;

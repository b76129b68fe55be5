//! What an instruction set is to the searches.

use crate::simd::register::{Register, SampleRegister, WIDE, WideRegister, WordRegister};

/// A part of a search that is compiled once for each instruction set `E` that it is run with. It returns `R`.
pub trait Work<E, R = ()> {
    /// Does the work. To be `inline(always)`, as all that it calls: what becomes part of
    /// [`InstructionSet::run`] is compiled for the instructions.
    fn run(self, engine: E) -> R;
}

/// An instruction set. A value of the type is the proof that this CPU has it.
///
/// A search adds a trait of its own for what an instruction set may do its own way.
pub trait InstructionSet: Copy {
    /// Samples that are compared or computed with, 16 or more at a time.
    type Register: Register<Narrow = Self::Samples>;

    /// 16 samples.
    type Samples: SampleRegister;

    /// As many numbers of 16 bits.
    type Words: WordRegister<Samples = Self::Samples>;

    /// [`WIDE`] numbers of 16 bits.
    type Wide: WideRegister;

    /// Runs `work` in a function for which the instructions are enabled, and which is not inlined.
    fn run<R, W: Work<Self, R>>(self, work: W) -> R;

    /// Prefetches the cache line of `samples[at]`, which may lie past the end.
    #[inline(always)]
    fn prefetch(self, _samples: &[u8], _at: usize) {}

    /// A bit for each of `values` that is at most `limit`, the lowest bit for the first value.
    #[inline(always)]
    fn at_most(self, values: &[u16; WIDE], limit: u16) -> u32 {
        values.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(*value <= limit) << lane)
    }

    /// Writes `start + lanes[i]` for each bit `i` of `bits` to the beginning of `to`, in order. The rest of `to` is
    /// overwritten with anything.
    #[inline(always)]
    fn list(self, mut bits: u32, start: u32, lanes: &[u32; WIDE], to: &mut [u32; WIDE]) {
        let mut count = 0;
        while bits != 0 {
            to[count % WIDE] = start.wrapping_add(lanes[bits.trailing_zeros() as usize % WIDE]);
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

/// Defines [`InstructionSet::run`] for an engine whose instructions have the names `$features`.
macro_rules! run_with {
    ($($features:literal)?) => {
        fn run<R, W: Work<Self, R>>(self, work: W) -> R {
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            unsafe fn run<E, R, W: Work<E, R>>(engine: E, work: W) -> R {
                work.run(engine)
            }
            // SAFETY: a value of an engine exists only where the CPU has its instructions.
            unsafe { run(self, work) }
        }
    };
}
pub(crate) use run_with;

/// Defines methods of an engine by the functions of the same names in scope, which are compiled for its instructions.
#[macro_export]
#[doc(hidden)]
macro_rules! by_functions {
    ($(fn $name:ident $(<const $n:ident: usize>)? (self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        fn $name $(<const $n: usize>)? (self $(, $argument: $type)*) $(-> $result)? {
            // SAFETY: a value of an engine exists only where the CPU has its instructions.
            unsafe { $name $(::<$n>)? ($($argument),*) }
        }
    )*};
}
#[doc(inline)]
pub use by_functions;

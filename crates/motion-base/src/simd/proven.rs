//! Registers that only a value of an [`InstructionSet`] makes: where there is one, the CPU has its instructions, so that what
//! is computed with them is safe. What the instruction sets make of these functions is in [`register`](super::register).
//!
//! Where a function stands for one instruction, or is made around one, its documentation names that of x86; others have the
//! same under another name.

use std::marker::PhantomData;

use crate::simd::InstructionSet;
use crate::simd::register::{Register, SampleRegister, WIDE, WideRegister, WordRegister};

/// The value of an expression that calls functions of registers.
macro_rules! proven {
    ($value:expr) => {
        // SAFETY: the CPU has the instructions: an engine or a proof is given, or was given for the register. Memory that is
        // read is an argument, or what the caller promises.
        unsafe { $value }
    };
}

/// Declares methods that compute one register from two by the register's methods of the same names.
macro_rules! of_two {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(self, other: Self) -> Self {
            Self(proven!(self.0.$name(other.0)))
        }
    )+};
}

/// The proof that the CPU has the instructions of the register `R`.
#[derive(Clone, Copy)]
pub struct Proof<R>(PhantomData<R>);

impl<R: Register> Proof<R> {
    /// That of an engine, for its widest register of samples.
    #[inline(always)]
    pub fn of<E: InstructionSet<Register = R>>(_: E) -> Self {
        Self(PhantomData)
    }

    /// That for 16 samples.
    #[inline(always)]
    pub fn narrow(self) -> Proof<R::Narrow> {
        Proof(PhantomData)
    }

    /// All zero.
    #[inline(always)]
    pub fn zero(self) -> Compared<R> {
        Compared(proven!(R::zero()))
    }

    /// The first [`Register::SAMPLES`] of `samples`.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    pub fn load(self, samples: &[u8]) -> Compared<R> {
        Compared(proven!(R::load(samples[..R::SAMPLES].as_ptr())))
    }

    /// The samples of `SAMPLES / W` rows, as [`Register::load_rows`].
    ///
    /// # Safety
    /// The rows must be readable.
    #[inline(always)]
    pub unsafe fn load_rows<const W: usize>(self, samples: *const u8, pitch: usize) -> Compared<R> {
        Compared(proven!(R::load_rows::<W>(samples, pitch)))
    }
}

/// Samples that are compared, 16 or a multiple, or partial sums of costs.
#[derive(Clone, Copy)]
pub struct Compared<R>(R);

impl<R: Register> Compared<R> {
    /// The sums plus the absolute differences of the samples of `a` and `b`, by `PSADBW`.
    #[inline(always)]
    pub fn plus_differences(self, a: Self, b: Self) -> Self {
        Self(proven!(R::add_differences(self.0, a.0, b.0)))
    }

    /// The sums plus the squared differences of the samples of `a` and `b`, by `PMADDWD`.
    #[inline(always)]
    pub fn plus_squares(self, a: Self, b: Self) -> Self {
        Self(proven!(R::add_squares(self.0, a.0, b.0)))
    }

    /// The total of each of four registers of partial sums.
    #[inline(always)]
    pub fn totals([a, b, c, d]: [Self; 4]) -> [u32; 4] {
        proven!(R::totals([a.0, b.0, c.0, d.0]))
    }
}

/// 16 samples, or partial sums of differences.
#[derive(Clone, Copy)]
pub struct Samples<E: InstructionSet>(E::Samples);

impl<E: InstructionSet> Samples<E> {
    /// All zero.
    #[inline(always)]
    pub fn zero(_: E) -> Self {
        Self(proven!(E::Samples::zero()))
    }

    /// 16 times `sample`.
    #[inline(always)]
    pub fn all(_: E, sample: u8) -> Self {
        Self(proven!(E::Samples::all(sample)))
    }

    /// These samples.
    #[inline(always)]
    pub fn load(_: E, samples: &[u8; 16]) -> Self {
        Self(proven!(E::Samples::load(samples.as_ptr())))
    }

    /// The samples of `16 / W` rows of `W` samples each, which are `pitch` apart; `W` is 4, 8 or 16.
    ///
    /// # Safety
    /// The rows must be readable.
    #[inline(always)]
    pub unsafe fn load_rows<const W: usize>(_: E, samples: *const u8, pitch: usize) -> Self {
        Self(proven!(E::Samples::load_rows::<W>(samples, pitch)))
    }

    /// Writes the samples.
    #[inline(always)]
    pub fn store(self, to: &mut [u8; 16]) {
        proven!(self.0.store(to));
    }

    /// The sums plus the absolute differences of the samples of `a` and `b`, by `PSADBW`.
    #[inline(always)]
    pub fn plus_differences(self, a: Self, b: Self) -> Self {
        Self(proven!(Register::add_differences(self.0, a.0, b.0)))
    }

    /// The total of partial sums.
    #[inline(always)]
    pub fn total(self) -> u32 {
        proven!(self.0.total())
    }

    /// The totals of [`Self::plus_differences`], of the first eight samples and of the last eight, in two registers.
    #[inline(always)]
    pub fn half_totals([first, second]: [Self; 2]) -> [u32; 4] {
        proven!(SampleRegister::half_totals([first.0, second.0]))
    }

    of_two! {
        /// The averages of the samples, halves rounded up: `PAVGB`.
        average;
        /// The sums of the samples, at most 255: `PADDUSB`.
        plus;
        /// The samples minus those of `other`, at least 0: `PSUBUSB`.
        minus;
    }

    /// The larger of two samples each: `PSUBUSB`, then `PADDUSB`.
    #[inline(always)]
    pub fn largest(self, other: Self) -> Self {
        self.minus(other).plus(other)
    }

    /// The absolute differences of the samples, at most `most`.
    #[inline(always)]
    pub fn cut_differences(self, other: Self, most: Self) -> Self {
        Self(proven!(self.0.cut_differences(other.0, most.0)))
    }

    /// The first eight samples, and eight from the fifth on: `PSHUFD`.
    #[inline(always)]
    pub fn overlap(self) -> Self {
        Self(proven!(self.0.overlap()))
    }

    /// The samples as numbers: `PMOVZXBW`.
    #[inline(always)]
    pub fn widen(self) -> Words<E> {
        Words(proven!(E::Words::widen(self.0)))
    }
}

/// 16 numbers of 16 bits: samples, and what is computed from them.
#[derive(Clone, Copy)]
pub struct Words<E: InstructionSet>(E::Words);

impl<E: InstructionSet> Words<E> {
    /// 16 times `number`.
    #[inline(always)]
    pub fn all(_: E, number: u16) -> Self {
        Self(proven!(E::Words::all(number)))
    }

    /// These numbers.
    #[inline(always)]
    pub fn load(_: E, numbers: &[u16; 16]) -> Self {
        Self(proven!(E::Words::load(numbers)))
    }

    /// 16 times `number`, whatever the numbers are: the register proves the instructions where no engine is at hand.
    #[inline(always)]
    pub fn filled(self, number: u16) -> Self {
        Self(proven!(E::Words::all(number)))
    }

    /// The numbers, at most 255, as samples: `PACKUSWB`.
    #[inline(always)]
    pub fn narrow(self) -> Samples<E> {
        Samples(proven!(self.0.narrow()))
    }

    of_two! {
        /// The sums, wrapping: `PADDW`.
        plus;
        /// The differences, wrapping: `PSUBW`.
        minus;
        /// The lower 16 bits of the products: `PMULLW`.
        times;
        /// The smaller of two numbers each, with signs: `PMINSW`.
        least;
        /// The larger of two numbers each, with signs: `PMAXSW`.
        largest;
    }

    /// The numbers divided by `2^SHIFT` and rounded; with what is added for that, they are at most 2^16 - 1.
    #[inline(always)]
    pub fn round<const SHIFT: i32>(self) -> Self {
        Self(proven!(self.0.round::<SHIFT>()))
    }

    /// The numbers of both in turn: `PUNPCKLWD` and `PUNPCKHWD`.
    #[inline(always)]
    pub fn interleave(self, other: Self) -> [Self; 2] {
        let [low, high] = proven!(self.0.interleave(other.0));
        [Self(low), Self(high)]
    }

    of_two! {
        /// The upper 16 bits of the products of numbers without signs: `PMULHUW`.
        upper_product;
    }

    /// The sums plus the products of numbers with signs, those of two neighbours added, in 32 bits: `PMADDWD`, then `PADDD`.
    #[inline(always)]
    pub fn plus_pairs(self, numbers: Self, others: Self) -> Self {
        Self(proven!(E::Words::add_pairs(self.0, numbers.0, others.0)))
    }

    /// Sums of [`Self::plus_pairs`].
    #[inline(always)]
    pub fn pairs(self) -> [u32; 8] {
        proven!(self.0.pairs())
    }

    /// `sums` plus the products of numbers below 2^15, in 32 bits, by `PMADDWD`. The order of the products depends on the
    /// instruction set: [`Self::quotients`] undoes it.
    #[inline(always)]
    pub fn add_products([low, high]: [Self; 2], numbers: Self, weights: Self) -> [Self; 2] {
        let [low, high] = proven!(E::Words::add_products([low.0, high.0], numbers.0, weights.0));
        [Self(low), Self(high)]
    }

    /// `(sums[i] + 2 * totals[i]) / (4 * totals[i])`, of sums of [`Self::add_products`]: by `DIVPS`, as both numbers are below
    /// 2^24.
    #[inline(always)]
    pub fn quotients([low, high]: [Self; 2], totals: Self) -> Self {
        Self(proven!(E::Words::quotients([low.0, high.0], totals.0)))
    }

    /// `(numbers[0] * weights[0] + … + numbers[3] * weights[3] + 2^(shift - 1)) >> shift`, in 32 bits, of numbers below 2^15,
    /// by `PMADDWD`. `weights` are interleaved: the first two, and the others.
    #[inline(always)]
    pub fn weighted_mean([a, b, c, d]: [Self; 4], [first, second]: &[[Self; 2]; 2], shift: u32) -> Self {
        let weights = [[first[0].0, first[1].0], [second[0].0, second[1].0]];
        Self(proven!(E::Words::weighted_mean([a.0, b.0, c.0, d.0], &weights, shift)))
    }
}

/// [`WIDE`] numbers of 16 bits without signs: of neighbouring candidates or positions.
#[derive(Clone, Copy)]
pub struct Wide<E: InstructionSet>(E::Wide);

impl<E: InstructionSet> Wide<E> {
    /// The numbers of a register of the engine.
    #[inline(always)]
    pub fn of(_: E, register: E::Wide) -> Self {
        Self(register)
    }

    /// The registers of these numbers.
    #[inline(always)]
    pub fn registers<const N: usize>(rows: [Self; N]) -> [E::Wide; N] {
        let mut registers = [rows[0].0; N];
        for (register, row) in registers.iter_mut().zip(rows) {
            *register = row.0;
        }
        registers
    }

    /// As many times `number`.
    #[inline(always)]
    pub fn all(_: E, number: u16) -> Self {
        Self(proven!(E::Wide::all(number)))
    }

    /// These numbers.
    #[inline(always)]
    pub fn load(_: E, numbers: &[u16; WIDE]) -> Self {
        Self(proven!(E::Wide::load(numbers)))
    }

    /// Writes the numbers.
    #[inline(always)]
    pub fn store(self, to: &mut [u16; WIDE]) {
        proven!(self.0.store(to));
    }

    of_two! {
        /// The sums, wrapping.
        plus;
        /// The differences, wrapping.
        minus;
        /// The larger of two numbers each: `PMAXUW`.
        largest;
    }

    /// The upper eight bits.
    #[inline(always)]
    pub fn upper(self) -> Self {
        Self(proven!(self.0.upper()))
    }

    /// The numbers plus the absolute differences of `numbers` and `other`, as [`WideRegister::plus_differences`].
    #[inline(always)]
    pub fn plus_differences<const SMALL: bool>(self, numbers: &[u16; WIDE], other: u16) -> Self {
        Self(proven!(self.0.plus_differences::<SMALL>(numbers, other)))
    }
}

//! The small vector traits over which the searches are written once for all instruction sets.
//!
//! To call any of their functions is safe where the CPU has the instructions of the implementing type, which a value of
//! an [`InstructionSet`](crate::simd::InstructionSet) that names the type proves.
//!
//! Where a function stands for one instruction, or is made around one, its documentation names that of x86; others have the
//! same under another name.

/// Numbers in a [`WideRegister`].
pub const WIDE: usize = 32;

/// A register of samples, or of partial sums of costs.
///
/// # Safety
/// An implementation reads no more than the documented samples.
pub unsafe trait Register: Copy {
    /// Samples in a register: 16 or a multiple.
    const SAMPLES: usize;

    /// A register of 16 samples of the same instruction set.
    type Narrow: SampleRegister;

    /// All zero: `PXOR`.
    unsafe fn zero() -> Self;

    /// The [`Self::SAMPLES`] samples from `samples` on, which must be readable.
    unsafe fn load(samples: *const u8) -> Self;

    /// The samples of `SAMPLES / W` rows of `W` samples each, which are `pitch` apart and must be readable; `W` is 16, and
    /// in a register of 16 samples 4 or 8 too.
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self;

    /// `sums` plus the absolute differences of the samples of `c` and `r`, by `PSADBW`.
    unsafe fn add_differences(sums: Self, c: Self, r: Self) -> Self;

    /// `sums` plus the squared differences, by `PMADDWD`.
    unsafe fn add_squares(sums: Self, c: Self, r: Self) -> Self;

    /// The total of each of four registers of partial sums: `PUNPCKLDQ`, `PUNPCKHDQ` and `PADDD`, then the same with
    /// `PUNPCKLQDQ` and `PUNPCKHQDQ`.
    unsafe fn totals(sums: [Self; 4]) -> [u32; 4];
}

/// 16 samples that are also computed with.
///
/// # Safety
/// The functions touch no memory.
pub unsafe trait SampleRegister: Register {
    /// 16 times `sample`.
    unsafe fn all(sample: u8) -> Self;

    /// The averages of the samples, halves rounded up: `PAVGB`.
    unsafe fn average(self, other: Self) -> Self;

    /// The sums of the samples, at most 255: `PADDUSB`.
    unsafe fn plus(self, other: Self) -> Self;

    /// The samples minus those of `other`, at least 0: `PSUBUSB`.
    unsafe fn minus(self, other: Self) -> Self;

    /// The absolute differences of the samples, at most `most`: `PSUBUSB` both ways, `POR`, then `PMINUB`.
    unsafe fn cut_differences(self, other: Self, most: Self) -> Self;

    /// Writes the samples.
    unsafe fn store(self, to: &mut [u8; 16]);

    /// The first eight samples, and eight from the fifth on: `PSHUFD`.
    unsafe fn overlap(self) -> Self;

    /// The total of partial sums: `PUNPCKHQDQ`, then `PADDD`.
    unsafe fn total(self) -> u32;

    /// The totals of [`Register::add_differences`], of the first eight samples and of the last eight, in two registers:
    /// `SHUFPS`.
    unsafe fn half_totals(sums: [Self; 2]) -> [u32; 4];
}

/// 16 numbers of 16 bits: samples, and what is computed from them.
///
/// # Safety
/// The functions touch no memory but their arguments.
pub unsafe trait WordRegister: Copy {
    /// As many samples of the same instruction set.
    type Samples: SampleRegister;

    /// 16 times `number`.
    unsafe fn all(number: u16) -> Self;

    /// The numbers.
    unsafe fn load(numbers: &[u16; 16]) -> Self;

    /// The samples as numbers: `PMOVZXBW`.
    unsafe fn widen(samples: Self::Samples) -> Self;

    /// The numbers, at most 255, as samples: `PACKUSWB`.
    unsafe fn narrow(self) -> Self::Samples;

    /// The sums, wrapping: `PADDW`.
    unsafe fn plus(self, other: Self) -> Self;

    /// The differences, wrapping: `PSUBW`.
    unsafe fn minus(self, other: Self) -> Self;

    /// The lower 16 bits of the products: `PMULLW`.
    unsafe fn times(self, other: Self) -> Self;

    /// The smaller of two numbers each, with signs: `PMINSW`.
    unsafe fn least(self, other: Self) -> Self;

    /// The larger of two numbers each, with signs: `PMAXSW`.
    unsafe fn largest(self, other: Self) -> Self;

    /// The numbers divided by `2^SHIFT` and rounded; with what is added for that, they are at most 2^16 - 1: `PADDW`,
    /// then `PSRLW`.
    unsafe fn round<const SHIFT: i32>(self) -> Self;

    /// The numbers of both in turn: `PUNPCKLWD` and `PUNPCKHWD`.
    unsafe fn interleave(self, other: Self) -> [Self; 2];

    /// The upper 16 bits of the products of numbers without signs: `PMULHUW`.
    unsafe fn upper_product(self, other: Self) -> Self;

    /// `sums` plus the products of numbers with signs, those of two neighbours added, in 32 bits: `PMADDWD`, then `PADDD`.
    unsafe fn add_pairs(sums: Self, numbers: Self, others: Self) -> Self;

    /// Sums of [`Self::add_pairs`].
    unsafe fn pairs(self) -> [u32; 8];

    /// `sums` plus the products of numbers below 2^15, in 32 bits, by `PMADDWD`. The order of the products depends on the
    /// instruction set: [`Self::quotients`] undoes it.
    unsafe fn add_products(sums: [Self; 2], numbers: Self, weights: Self) -> [Self; 2];

    /// `(sums[i] + 2 * totals[i]) / (4 * totals[i])`, of sums of [`Self::add_products`]: by `DIVPS`, as both numbers are below
    /// 2^24.
    unsafe fn quotients(sums: [Self; 2], totals: Self) -> Self;

    /// `(self[0] * weights[0] + … + self[3] * weights[3] + 2^(shift - 1)) >> shift`, in 32 bits, of numbers below 2^15,
    /// by `PMADDWD`.
    /// `weights` are interleaved: the first two, and the others.
    unsafe fn weighted_mean(numbers: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self;
}

/// [`WIDE`] numbers of 16 bits without signs: of neighbouring candidates or positions.
///
/// # Safety
/// The functions touch no memory but their arguments.
pub unsafe trait WideRegister: Copy {
    /// As many times `number`.
    unsafe fn all(number: u16) -> Self;

    /// The numbers.
    unsafe fn load(numbers: &[u16; WIDE]) -> Self;

    /// Writes the numbers.
    unsafe fn store(self, to: &mut [u16; WIDE]);

    /// The sums, wrapping: `PADDW`.
    unsafe fn plus(self, other: Self) -> Self;

    /// The differences, wrapping: `PSUBW`.
    unsafe fn minus(self, other: Self) -> Self;

    /// The larger of two numbers each: `PMAXUW`.
    unsafe fn largest(self, other: Self) -> Self;

    /// The upper eight bits: `PSRLW` by 8.
    unsafe fn upper(self) -> Self;

    /// The numbers plus the absolute differences of `numbers` and `other`. The result saturates; where `SMALL`, no number
    /// exceeds 15 bits and no result 16, which needs fewer instructions: `PSUBW`, `PABSW`, `PADDW` instead of `PSUBUSW` both
    /// ways, `POR`, `PADDUSW`.
    unsafe fn plus_differences<const SMALL: bool>(self, numbers: &[u16; WIDE], other: u16) -> Self;
}

/// Defines functions of a register in intrinsics that touch no memory.
macro_rules! by_intrinsics {
    ($($(#[$doc:meta])* fn $name:ident $(<const $n:ident: $of:ty>)? ($($arguments:tt)*) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name $(<const $n: $of>)? ($($arguments)*) -> $result {
            // SAFETY: the caller promises that the CPU has the instructions, and the intrinsics need no more.
            unsafe { $body }
        }
    )*};
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use by_intrinsics;

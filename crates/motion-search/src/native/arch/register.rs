//! The small vector traits over which the searches are written once for all instruction sets.
//!
//! To call any of their functions is safe where the CPU has the instructions of the implementing type, which a value of
//! an [`Engine`](crate::native::engine::Engine) that names the type proves.

/// 16-bit sums in a [`SumRegister`].
pub const SUMS: usize = 32;

/// A register of samples, or of partial sums of costs.
///
/// # Safety
/// An implementation reads no more than the documented samples.
pub unsafe trait Register: Copy {
    /// Samples in a register: 16 or a multiple.
    const SAMPLES: usize;

    /// A register of 16 samples of the same instruction set.
    type Narrow: SampleRegister;

    /// All zero.
    unsafe fn zero() -> Self;

    /// The [`Self::SAMPLES`] samples from `samples` on, which must be readable.
    unsafe fn load(samples: *const u8) -> Self;

    /// The samples of `SAMPLES / W` rows of `W` samples each, which are `pitch` apart and must be readable; `W` is 16, and
    /// in a register of 16 samples 4 or 8 too.
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self;

    /// `sums` plus the absolute differences of the samples of `c` and `r`.
    unsafe fn add_differences(sums: Self, c: Self, r: Self) -> Self;

    /// `sums` plus the squared differences.
    unsafe fn add_squares(sums: Self, c: Self, r: Self) -> Self;

    /// The total of each of four registers of partial sums.
    unsafe fn totals(sums: [Self; 4]) -> [u32; 4];
}

/// 16 samples that are also computed with.
///
/// # Safety
/// The functions touch no memory.
pub unsafe trait SampleRegister: Register {
    /// 16 times `sample`.
    unsafe fn all(sample: u8) -> Self;

    /// The averages of the samples, halves rounded up.
    unsafe fn average(self, other: Self) -> Self;

    /// The sums of the samples, at most 255.
    unsafe fn plus(self, other: Self) -> Self;

    /// The samples minus those of `other`, at least 0.
    unsafe fn minus(self, other: Self) -> Self;

    /// The absolute differences of the samples, at most `most`.
    unsafe fn cut_differences(self, other: Self, most: Self) -> Self;

    /// Writes the samples.
    unsafe fn store(self, to: &mut [u8; 16]);

    /// The total of partial sums.
    unsafe fn total(self) -> u32;
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

    /// The samples as numbers.
    unsafe fn widen(samples: Self::Samples) -> Self;

    /// The numbers, at most 255, as samples.
    unsafe fn narrow(self) -> Self::Samples;

    /// The sums, wrapping.
    unsafe fn plus(self, other: Self) -> Self;

    /// The differences, wrapping.
    unsafe fn minus(self, other: Self) -> Self;

    /// The products, wrapping.
    unsafe fn times(self, other: Self) -> Self;

    /// The smaller of two numbers each, with signs.
    unsafe fn least(self, other: Self) -> Self;

    /// The larger of two numbers each, with signs.
    unsafe fn largest(self, other: Self) -> Self;

    /// The numbers divided by `2^SHIFT` and rounded; with what is added for that, they are at most 2^16 - 1.
    unsafe fn round<const SHIFT: i32>(self) -> Self;

    /// The numbers of both in turn.
    unsafe fn interleave(self, other: Self) -> [Self; 2];

    /// `(self[0] * weights[0] + … + self[3] * weights[3] + 2^(shift - 1)) >> shift`, in 32 bits, of numbers below 2^15.
    /// `weights` are interleaved: the first two, and the others.
    unsafe fn weighted_mean(numbers: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self;
}

/// 32 sums of samples, 16 bits each: of the candidates of a group, or of neighbouring positions of a row.
///
/// # Safety
/// The functions touch no memory but their arguments.
pub unsafe trait SumRegister: Copy {
    /// All zero.
    unsafe fn zero() -> Self;

    /// The sums as numbers.
    unsafe fn store(self, to: &mut [u16; SUMS]);

    /// `self + next - oldest`, wrapping.
    unsafe fn slide(self, next: Self, oldest: Self) -> Self;

    /// `self` plus the absolute differences of `sums` and `of_block`. The result saturates; where `SMALL`, no sum
    /// exceeds 15 bits and no result 16, which needs fewer instructions.
    unsafe fn plus_differences<const SMALL: bool>(self, sums: &[u16; SUMS], of_block: u16) -> Self;

    /// The sums of `SIDE` neighbouring samples, from each of the first 32 samples on; `SIDE` is 4, 8 or 16.
    unsafe fn across<const SIDE: usize>(samples: &[u8; 64]) -> Self;

    /// Writes four rows of 32 positions as eight tiles of 4 × 4, each row by row.
    unsafe fn store_tiles(rows: [Self; 4], tiles: &mut [u16; 4 * SUMS]);

    /// The least and the largest sum of each 8 columns of four rows.
    unsafe fn extremes(rows: [Self; 4]) -> [[u16; 4]; 2];
}

/// [`SUMS`] samples of more than eight bits, or sums of them: of neighbouring candidates.
///
/// # Safety
/// The functions touch no memory but their arguments.
pub unsafe trait DeepRegister: Copy {
    /// As many times `sample`.
    unsafe fn all(sample: u16) -> Self;

    /// The samples.
    unsafe fn load(samples: &[u16; SUMS]) -> Self;

    /// Writes the numbers.
    unsafe fn store(self, to: &mut [u16; SUMS]);

    /// The larger of two samples each.
    unsafe fn largest(self, other: Self) -> Self;

    /// The sums, wrapping.
    unsafe fn plus(self, other: Self) -> Self;

    /// The upper eight bits.
    unsafe fn upper(self) -> Self;
}

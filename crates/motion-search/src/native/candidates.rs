//! Blocks and the candidates that they are compared with, as samples in memory.

use crate::native::arch::register::Register;
use crate::native::cost::RegisterCost;
use crate::native::engine::Engine;

/// Samples of a reference row that may be read from the first candidate's first sample on.
pub const READ: usize = 64;

/// Blocks of a row and the frame that holds their candidates; rows of both are `pitch` apart.
#[derive(Clone, Copy)]
pub struct Candidates<'a, S = u8> {
    current: &'a [S],
    reference: &'a [S],
    pitch: usize,
    side: usize,
}

impl<'a, S> Candidates<'a, S> {
    /// Blocks of `side` samples, the first of them at the start of `current` and the others to its right, and the
    /// samples of the reference frame.
    ///
    /// # Panics
    /// Where `side` is no multiple of four.
    #[inline(always)]
    pub fn new(current: &'a [S], reference: &'a [S], pitch: usize, side: usize) -> Self {
        assert!(side.is_multiple_of(4) && side >= 4 && pitch >= side);
        Self { current, reference, pitch, side }
    }

    /// Samples from the first of a block, or of a candidate, to its last.
    #[inline(always)]
    fn length(&self) -> usize {
        (self.side - 1) * self.pitch + self.side
    }

    /// The samples of block `block`, to its last.
    ///
    /// # Panics
    /// Where there is no such block.
    #[inline(always)]
    pub fn block(&self, block: u16) -> &'a [S] {
        &self.current[usize::from(block) * self.side..][..self.length()]
    }

    /// The samples of the candidate whose first is at `offset` of the reference, to its last.
    ///
    /// # Panics
    /// Where the reference ends before.
    #[inline(always)]
    pub fn at(&self, offset: u32) -> &'a [S] {
        &self.reference[offset as usize..][..self.length()]
    }

    /// Samples that `rows` rows of neighbouring candidates read: to [`READ`] past the beginning of the last row.
    #[inline(always)]
    fn length_of_rows(&self, rows: usize) -> usize {
        (self.side + rows - 2) * self.pitch + READ
    }

    /// Whether the reference has all samples that `rows` rows of candidates read, the first candidate at `offset`.
    #[inline(always)]
    pub fn has_rows(&self, offset: u32, rows: usize) -> bool {
        offset as usize + self.length_of_rows(rows) <= self.reference.len()
    }

    /// These samples.
    ///
    /// # Panics
    /// Where the reference ends before.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn rows(&self, offset: u32, rows: usize) -> &'a [S] {
        &self.reference[offset as usize..][..self.length_of_rows(rows)]
    }

    /// Samples from one row to the next.
    #[inline(always)]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Samples an axis.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }
}

impl Candidates<'_, u8> {
    /// The cost of the candidate at `offset` for block `block`.
    ///
    /// # Panics
    /// As [`Self::block`] and [`Self::at`].
    #[inline(always)]
    pub fn cost<E: Engine, C: RegisterCost>(&self, _: E, block: u16, offset: u32) -> u32 {
        // SAFETY: the engine proves that the CPU has the instructions.
        unsafe { self.cost_in::<E::Register, C>(block, offset) }
    }

    /// The same in the registers `R`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `R`.
    #[inline(always)]
    pub unsafe fn cost_in<R: Register, C: RegisterCost>(&self, block: u16, offset: u32) -> u32 {
        let pair = [self.block(block), self.at(offset)];
        // SAFETY: the caller's promise. Both slices have the samples to the end of a square of the side, and the strips
        // lie side by side in it.
        unsafe {
            let (side, pitch, wide, narrow) = (self.side, self.pitch, R::zero(), R::Narrow::zero());
            // Constants for the most frequent sides.
            if side == 16 {
                return total(add_strip::<R, C, 16>(wide, pair, 0, 16, pitch));
            } else if side == 8 {
                return total(add_strip::<R::Narrow, C, 8>(narrow, pair, 0, 8, pitch));
            }
            let (mut wide, mut narrow, mut x) = (wide, narrow, 0);
            while x + 16 <= side {
                wide = add_strip::<R, C, 16>(wide, pair, x, side, pitch);
                x += 16;
            }
            if x + 8 <= side {
                narrow = add_strip::<R::Narrow, C, 8>(narrow, pair, x, side, pitch);
                x += 8;
            }
            if x < side {
                narrow = add_strip::<R::Narrow, C, 4>(narrow, pair, x, side, pitch);
            }
            total(wide) + total(narrow)
        }
    }
}

/// Candidates, or groups of them: the block that each belongs to, and where its first sample is.
pub type Listed<'a> = (&'a [u16], &'a [u32]);

/// `sums` plus the cost of `W` columns of a square of `side` samples, from column `x` on.
///
/// # Safety
/// The CPU must have the instructions of `R`, and both slices the samples.
#[inline(always)]
unsafe fn add_strip<R: Register, C: RegisterCost, const W: usize>(
    mut sums: R,
    [current, reference]: [&[u8]; 2],
    x: usize,
    side: usize,
    pitch: usize,
) -> R {
    // A side is a multiple of the rows that are read at once: four at most.
    for y in (0..side).step_by(R::SAMPLES / W) {
        let start = y * pitch + x;
        // SAFETY: the caller's promise.
        unsafe {
            let c = R::load_rows::<W>(current.as_ptr().add(start), pitch);
            let r = R::load_rows::<W>(reference.as_ptr().add(start), pitch);
            sums = C::add(sums, c, r);
        }
    }
    sums
}

/// The total of partial sums.
///
/// # Safety
/// The CPU must have the instructions of `R`.
#[inline(always)]
unsafe fn total<R: Register>(sums: R) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { R::totals([sums, R::zero(), R::zero(), R::zero()])[0] }
}

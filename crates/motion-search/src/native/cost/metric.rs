//! The metrics, a type each: what the searches are generic over.

use crate::native::candidates::{Candidates, Listed};
use crate::native::sample::SearchSample;
use motion_base::simd::InstructionSet;
#[cfg(target_arch = "aarch64")]
use motion_base::simd::neon::Neon;
use motion_base::simd::portable::Portable;
use motion_base::simd::register::{Register, WIDE};
#[cfg(target_arch = "x86_64")]
use motion_base::simd::sse2::Sse2;

/// A number that holds the cost of a part of a block, or a lower bound of one.
pub trait CostValue:
    Copy + Ord + Default + Into<u32> + std::ops::BitOr<Output = Self> + Send + 'static
{
    /// The largest value, which means "no candidate".
    const MAX: Self;

    /// The number for `cost`; [`Self::MAX`] for costs that are too large for the type.
    fn from_cost(cost: u32) -> Self;

    /// A bit for each of `values` that is at most `limit`, the lowest bit for the first value.
    fn at_most<E: InstructionSet>(engine: E, values: &[Self; WIDE], limit: Self) -> u32;

    /// This lower bound of a cost, raised by what a part of the block costs at least: one of `2^shift` samples of the
    /// type `S` whose sum differs from the candidate's by `difference`.
    fn raise<S: SearchSample>(self, difference: u16, shift: u32) -> Self;

    /// The largest bound that a candidate of `cost` may have.
    fn limit(cost: u32, unit: BoundUnit) -> Self;
}

/// What one of the sums stands for that bounds are computed from. Sums have 16 bits, as those of eight-bit samples: sums
/// of deeper samples lose their lowest bits. So a difference of d may be one of more than d - 1 in these units.
#[derive(Clone, Copy, Default)]
pub struct BoundUnit {
    /// The bits that are lost: those of a sample beyond eight.
    pub lower: u32,
    /// By how much the bounds may be too large: by one for each sum of a block where bits are lost.
    pub excess: u32,
}

/// Bounds of sums of absolute differences, and costs of parts of eight-bit samples.
impl CostValue for u16 {
    const MAX: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost.min(u32::from(u16::MAX)) as u16
    }

    #[inline(always)]
    fn at_most<E: InstructionSet>(engine: E, values: &[Self; WIDE], limit: Self) -> u32 {
        engine.at_most(values, limit)
    }

    #[inline(always)]
    fn raise<S: SearchSample>(self, difference: u16, _: u32) -> Self {
        self.saturating_add(difference)
    }

    #[inline(always)]
    fn limit(cost: u32, unit: BoundUnit) -> Self {
        Self::from_cost((cost >> unit.lower).saturating_add(unit.excess))
    }
}

/// Bounds of sums of squared differences, in units of the square of what a sum stands for, and costs.
impl CostValue for u32 {
    const MAX: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost
    }

    #[inline(always)]
    fn at_most<E: InstructionSet>(engine: E, values: &[Self; WIDE], limit: Self) -> u32 {
        let mut is_more = [0; WIDE];
        for i in 0..WIDE {
            is_more[i] = u16::from(values[i] > limit);
        }
        engine.at_most(&is_more, 0)
    }

    /// By the inequality of the quadratic mean.
    #[inline(always)]
    fn raise<S: SearchSample>(self, difference: u16, shift: u32) -> Self {
        let difference = u32::from(difference.saturating_sub(S::EXCESS));
        self.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }

    #[inline(always)]
    fn limit(cost: u32, unit: BoundUnit) -> Self {
        cost >> (2 * unit.lower)
    }
}

/// A metric, of samples of one type. A further one is an implementation of this trait, of
/// [`TileCost`](crate::native::exhaustive::engine::TileCost) and
/// [`GroupCost`](crate::native::elimination::engine::GroupCost), and a line in
/// [`by_cost`](crate::native::cost::by_cost).
pub trait Cost: Copy + Send + 'static {
    /// A sample.
    type Sample: SearchSample;

    /// Holds the cost of 16 × 16 samples.
    type Value: CostValue;

    /// Holds lower bounds of costs.
    type Bound: CostValue;

    /// The cost of the candidate at `offset` for block `block`.
    ///
    /// # Panics
    /// As [`Candidates::block`] and [`Candidates::at`].
    fn cost<E: InstructionSet>(
        engine: E,
        candidates: &Candidates<'_, Self::Sample>,
        block: u16,
        offset: u32,
    ) -> u32;

    /// Writes the cost of each of the candidates listed.
    #[inline(always)]
    fn costs<E: CandidateEngine>(
        engine: E,
        candidates: &Candidates<'_, Self::Sample>,
        listed: Listed<'_>,
        costs: &mut [u32],
    ) {
        one_by_one::<E, Self>(engine, candidates, listed, costs);
    }
}

/// An instruction set, with what it may do its own way for listed candidates.
pub trait CandidateEngine: InstructionSet {
    /// Writes the SAD of each of the candidates listed.
    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        one_by_one::<Self, Sad>(self, candidates, listed, costs);
    }
}

impl CandidateEngine for Portable {}
#[cfg(target_arch = "aarch64")]
impl CandidateEngine for Neon {}
#[cfg(target_arch = "x86_64")]
impl CandidateEngine for Sse2 {}

/// Writes the cost of each of the candidates listed.
#[inline(always)]
fn one_by_one<E: InstructionSet, C: Cost>(
    engine: E,
    candidates: &Candidates<'_, C::Sample>,
    (blocks, offsets): Listed<'_>,
    costs: &mut [u32],
) {
    for ((block, offset), cost) in blocks.iter().zip(offsets).zip(costs) {
        *cost = C::cost(engine, candidates, *block, *offset);
    }
}

/// A metric of eight-bit samples, computed in registers.
pub trait RegisterCost: Cost<Sample = u8> {
    /// `sums` plus the costs of the samples of `c` and `r`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `R`.
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R;
}

/// The sum of absolute differences. That of more than 16 × 16 samples may exceed its `Value`: such bounds are the
/// largest value, by which nothing is eliminated.
#[derive(Clone, Copy)]
pub struct Sad;

impl Cost for Sad {
    type Sample = u8;
    type Value = u16;
    type Bound = u16;

    #[inline(always)]
    fn cost<E: InstructionSet>(engine: E, candidates: &Candidates<'_>, block: u16, offset: u32) -> u32 {
        register_cost::<E, Self>(engine, candidates, block, offset)
    }

    #[inline(always)]
    fn costs<E: CandidateEngine>(
        engine: E,
        candidates: &Candidates<'_>,
        listed: Listed<'_>,
        costs: &mut [u32],
    ) {
        engine.sads(candidates, listed, costs);
    }
}

impl RegisterCost for Sad {
    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_differences(sums, c, r) }
    }
}

/// The sum of squared differences.
#[derive(Clone, Copy)]
pub struct Ssd;

impl Cost for Ssd {
    type Sample = u8;
    type Value = u32;
    type Bound = u32;

    #[inline(always)]
    fn cost<E: InstructionSet>(engine: E, candidates: &Candidates<'_>, block: u16, offset: u32) -> u32 {
        register_cost::<E, Self>(engine, candidates, block, offset)
    }
}

impl RegisterCost for Ssd {
    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_squares(sums, c, r) }
    }
}

/// The cost of the candidate at `offset` for block `block`, in the widest registers of the engine.
#[inline(always)]
fn register_cost<E: InstructionSet, C: RegisterCost>(
    _: E,
    candidates: &Candidates<'_>,
    block: u16,
    offset: u32,
) -> u32 {
    // SAFETY: the engine proves that the CPU has the instructions.
    unsafe { cost_in::<E::Register, C>(candidates, block, offset) }
}

/// The same in the registers `R`.
///
/// # Safety
/// The CPU must have the instructions of `R`.
#[inline(always)]
pub unsafe fn cost_in<R: Register, C: RegisterCost>(
    candidates: &Candidates<'_>,
    block: u16,
    offset: u32,
) -> u32 {
    let pair = [candidates.block(block), candidates.at(offset)];
    // SAFETY: the caller's promise. Both slices have the samples to the end of a square of the side, and the strips
    // lie side by side in it.
    unsafe {
        let (side, pitch) = (candidates.side(), candidates.pitch());
        let (wide, narrow) = (R::zero(), R::Narrow::zero());
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

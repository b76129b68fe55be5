//! The metrics, a type each: what the searches are generic over.

use std::marker::PhantomData;

use crate::native::candidates::{Candidates, Listed};
use crate::native::sample::SearchSample;
#[cfg(target_arch = "aarch64")]
use motion_base::simd::neon::Neon;
use motion_base::simd::portable::Portable;
use motion_base::simd::proven::{Compared, Proof};
use motion_base::simd::register::{Register, WIDE};
#[cfg(target_arch = "x86_64")]
use motion_base::simd::sse2::Sse2;
use motion_base::simd::{InstructionSet, Instructions, Work, WorkForAll};

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

    /// What computes the costs of samples of `depth` bits.
    fn compute_costs(depth: u32) -> ComputeCosts<Self::Sample>;
}

/// Writes the cost of each of the candidates listed, by their blocks and where their first samples are.
///
/// It panics as [`Candidates::block`] and [`Candidates::at`].
pub type ComputeCosts<S> = fn(Instructions, &Candidates<'_, S>, &[u16], &[u32], &mut [u32]);

/// [`ComputeCosts`], compared by `C`.
pub fn compute_costs<C, S: 'static>(
    instructions: Instructions,
    candidates: &Candidates<'_, S>,
    blocks: &[u16],
    offsets: &[u32],
    costs: &mut [u32],
) where
    for<'a> ListedCosts<'a, C, S>: WorkForAll<()>,
{
    instructions.run(ListedCosts { candidates, listed: (blocks, offsets), costs, comparison: PhantomData });
}

/// An instruction set, with what it may do its own way for listed candidates.
pub trait CandidateEngine: InstructionSet {
    /// Writes the SAD of each of the candidates listed.
    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        register_costs::<Self, Sad>(self, candidates, listed, costs);
    }
}

impl CandidateEngine for Portable {}
#[cfg(target_arch = "aarch64")]
impl CandidateEngine for Neon {}
#[cfg(target_arch = "x86_64")]
impl CandidateEngine for Sse2 {}

/// The costs of listed candidates, compared by `C`. They are compiled by themselves, as they are much code with several
/// callers.
pub struct ListedCosts<'a, C, S = u8> {
    pub candidates: &'a Candidates<'a, S>,
    pub listed: Listed<'a>,
    pub costs: &'a mut [u32],
    comparison: PhantomData<C>,
}

impl<E: CandidateEngine> Work<E> for ListedCosts<'_, Sad> {
    #[inline(always)]
    fn run(self, engine: E) {
        engine.sads(self.candidates, self.listed, self.costs);
    }
}

impl<E: CandidateEngine> Work<E> for ListedCosts<'_, Ssd> {
    #[inline(always)]
    fn run(self, engine: E) {
        register_costs::<E, Ssd>(engine, self.candidates, self.listed, self.costs);
    }
}

/// A metric of eight-bit samples, computed in registers.
pub trait RegisterCost: Cost<Sample = u8> {
    /// `sums` plus the costs of the samples of `c` and `r`.
    fn add<R: Register>(sums: Compared<R>, c: Compared<R>, r: Compared<R>) -> Compared<R>;
}

/// The sum of absolute differences. That of more than 16 × 16 samples may exceed its `Value`: such bounds are the
/// largest value, by which nothing is eliminated.
#[derive(Clone, Copy)]
pub struct Sad;

impl Cost for Sad {
    type Sample = u8;
    type Value = u16;
    type Bound = u16;

    #[inline]
    fn compute_costs(_: u32) -> ComputeCosts<u8> {
        compute_costs::<Self, u8>
    }
}

impl RegisterCost for Sad {
    #[inline(always)]
    fn add<R: Register>(sums: Compared<R>, c: Compared<R>, r: Compared<R>) -> Compared<R> {
        sums.plus_differences(c, r)
    }
}

/// The sum of squared differences.
#[derive(Clone, Copy)]
pub struct Ssd;

impl Cost for Ssd {
    type Sample = u8;
    type Value = u32;
    type Bound = u32;

    #[inline]
    fn compute_costs(_: u32) -> ComputeCosts<u8> {
        compute_costs::<Self, u8>
    }
}

impl RegisterCost for Ssd {
    #[inline(always)]
    fn add<R: Register>(sums: Compared<R>, c: Compared<R>, r: Compared<R>) -> Compared<R> {
        sums.plus_squares(c, r)
    }
}

/// Writes the cost of each of the candidates listed, computed in the widest registers of the engine.
#[inline(always)]
fn register_costs<E: InstructionSet, C: RegisterCost>(
    engine: E,
    candidates: &Candidates<'_>,
    listed: Listed<'_>,
    costs: &mut [u32],
) {
    costs_in::<E::Register, C>(Proof::of(engine), candidates, listed, costs);
}

/// The same in the registers `R`.
#[inline(always)]
pub fn costs_in<R: Register, C: RegisterCost>(
    proof: Proof<R>,
    candidates: &Candidates<'_>,
    listed: Listed<'_>,
    costs: &mut [u32],
) {
    // Constants for the most frequent sides.
    match candidates.side() {
        8 => costs_of_side::<R, C>(proof, candidates, 8, listed, costs),
        16 => costs_of_side::<R, C>(proof, candidates, 16, listed, costs),
        side => costs_of_side::<R, C>(proof, candidates, side, listed, costs),
    }
}

/// The same for blocks of `side` samples, the side of the candidates.
#[inline(always)]
fn costs_of_side<R: Register, C: RegisterCost>(
    proof: Proof<R>,
    candidates: &Candidates<'_>,
    side: usize,
    (blocks, offsets): Listed<'_>,
    costs: &mut [u32],
) {
    // A copy: costs that are written might alias what is behind the reference.
    let candidates = *candidates;
    assert!(side == candidates.side());
    let (mut samples, mut of) = (candidates.block(0), 0);
    for ((block, offset), cost) in blocks.iter().zip(offsets).zip(costs) {
        if *block != of {
            (samples, of) = (candidates.block(*block), *block);
        }
        let (pair, pitch) = ([samples, candidates.at(*offset)], candidates.pitch());
        let (mut wide, mut narrow, mut x) = (proof.zero(), proof.narrow().zero(), 0);
        // SAFETY: both slices have the samples to the end of a square of the side, and the strips lie side by side in it.
        unsafe {
            while x + 16 <= side {
                wide = add_strip::<R, C, 16>(proof, wide, pair, x, side, pitch);
                x += 16;
            }
            if x + 8 <= side {
                narrow = add_strip::<R::Narrow, C, 8>(proof.narrow(), narrow, pair, x, side, pitch);
                x += 8;
            }
            if x < side {
                narrow = add_strip::<R::Narrow, C, 4>(proof.narrow(), narrow, pair, x, side, pitch);
            }
        }
        *cost = total(proof, wide) + total(proof.narrow(), narrow);
    }
}

/// `sums` plus the cost of `W` columns of a square of `side` samples, from column `x` on.
///
/// # Safety
/// Both slices must have the samples.
#[inline(always)]
unsafe fn add_strip<R: Register, C: RegisterCost, const W: usize>(
    proof: Proof<R>,
    mut sums: Compared<R>,
    [current, reference]: [&[u8]; 2],
    x: usize,
    side: usize,
    pitch: usize,
) -> Compared<R> {
    // A side is a multiple of the rows that are read at once: four at most.
    for y in (0..side).step_by(R::SAMPLES / W) {
        let start = y * pitch + x;
        // SAFETY: the caller's promise.
        sums = unsafe {
            let c = proof.load_rows::<W>(current.as_ptr().add(start), pitch);
            let r = proof.load_rows::<W>(reference.as_ptr().add(start), pitch);
            C::add(sums, c, r)
        };
    }
    sums
}

/// The total of partial sums.
#[inline(always)]
fn total<R: Register>(proof: Proof<R>, sums: Compared<R>) -> u32 {
    let zero = proof.zero();
    Compared::totals([sums, zero, zero, zero])[0]
}

//! What elimination needs of an instruction set and of a metric.

use crate::native::candidates::{Candidates, Listed};
use crate::native::cost::{DeepSad, DeepSsd, Sad, Ssd};
use crate::native::elimination::bounds::{self, BlockParts, Quarters};
use crate::native::elimination::sums::{GROUP, SumLevel};
use crate::native::exhaustive::engine::{TileCost, TileEngine};

/// An instruction set, with what it may do its own way.
pub trait EliminationEngine: TileEngine {
    /// Writes the SAD of each of the candidates listed.
    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        one_by_one::<Self, Sad>(self, candidates, listed, costs);
    }

    /// The number of candidates of a group from which on [`Self::sads_of_groups`] is faster than [`Self::sads`];
    /// `None` where it is not there for blocks of `side` samples.
    #[inline(always)]
    fn worth_a_group(_side: usize) -> Option<u32> {
        None
    }

    /// Writes the SAD of every candidate of the groups listed.
    #[inline(always)]
    fn sads_of_groups(self, _: &Candidates<'_>, _: Listed<'_>, _: &mut [[u16; GROUP]]) {
        unreachable!("worth_a_group is None")
    }

    /// [`BoundCost::bounds_of_groups`] of the SAD.
    #[inline(always)]
    fn bounds(self, parts: &BlockParts, level: &SumLevel, listed: Listed<'_>, bounds: &mut [[u16; GROUP]]) {
        // SAFETY: the engine proves that the CPU has the instructions.
        unsafe { bounds::bounds_of_groups::<Self::Sums>(parts, level, listed, bounds) };
    }

    /// [`bounds::bound_area`] of the SAD; `N` is 8, 16 or 32.
    #[inline(always)]
    fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16 {
        bounds::bound_area::<Sad, N>(quarters, 0, bounds)
    }
}

/// Writes the cost of each of the candidates listed.
#[inline(always)]
fn one_by_one<E: EliminationEngine, C: TileCost>(
    engine: E,
    candidates: &Candidates<'_, C::Sample>,
    (blocks, offsets): Listed<'_>,
    costs: &mut [u32],
) {
    for ((block, offset), cost) in blocks.iter().zip(offsets).zip(costs) {
        *cost = C::cost(engine, candidates, *block, *offset);
    }
}

/// A metric, computed by what an instruction set does its own way where it does.
pub trait BoundCost: TileCost {
    /// Writes the cost of each of the candidates listed.
    #[inline(always)]
    fn costs<E: EliminationEngine>(
        engine: E,
        candidates: &Candidates<'_, Self::Sample>,
        listed: Listed<'_>,
        costs: &mut [u32],
    ) {
        one_by_one::<E, Self>(engine, candidates, listed, costs);
    }

    /// As [`EliminationEngine::worth_a_group`].
    #[inline(always)]
    fn worth_a_group<E: EliminationEngine>(_side: usize) -> Option<u32> {
        None
    }

    /// Writes the cost of every candidate of the groups listed, where they are worth it.
    #[inline(always)]
    fn costs_of_groups<E: EliminationEngine>(
        _: E,
        _: &Candidates<'_, Self::Sample>,
        _: Listed<'_>,
        _: &mut [[Self::Bound; GROUP]],
    ) {
        unreachable!("worth_a_group is None")
    }

    /// Writes the bounds, by `parts`, of the candidates of the groups listed, by where their sums are in `level`.
    #[inline(always)]
    fn bounds_of_groups<E: EliminationEngine>(
        _: E,
        parts: &BlockParts,
        level: &SumLevel,
        (blocks, starts): Listed<'_>,
        bounds: &mut [[Self::Bound; GROUP]],
    ) {
        for ((block, start), bounds) in blocks.iter().zip(starts).zip(bounds) {
            *bounds = parts.bound::<Self>(level, *block, *start as usize);
        }
    }

    /// [`bounds::bound_area`]; `N` is 8, 16 or 32.
    #[inline(always)]
    fn bound_area<E: EliminationEngine, const N: usize>(
        _: E,
        quarters: &Quarters<'_>,
        shift: u32,
        bounds: &mut [Self::Bound],
    ) -> Self::Bound {
        bounds::bound_area::<Self, N>(quarters, shift, bounds)
    }
}

impl BoundCost for Sad {
    #[inline(always)]
    fn costs<E: EliminationEngine>(
        engine: E,
        candidates: &Candidates<'_>,
        listed: Listed<'_>,
        costs: &mut [u32],
    ) {
        engine.sads(candidates, listed, costs);
    }

    #[inline(always)]
    fn worth_a_group<E: EliminationEngine>(side: usize) -> Option<u32> {
        E::worth_a_group(side)
    }

    #[inline(always)]
    fn costs_of_groups<E: EliminationEngine>(
        engine: E,
        candidates: &Candidates<'_>,
        listed: Listed<'_>,
        costs: &mut [[u16; GROUP]],
    ) {
        engine.sads_of_groups(candidates, listed, costs);
    }

    #[inline(always)]
    fn bounds_of_groups<E: EliminationEngine>(
        engine: E,
        parts: &BlockParts,
        level: &SumLevel,
        listed: Listed<'_>,
        bounds: &mut [[u16; GROUP]],
    ) {
        engine.bounds(parts, level, listed, bounds);
    }

    #[inline(always)]
    fn bound_area<E: EliminationEngine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        _: u32,
        bounds: &mut [u16],
    ) -> u16 {
        engine.bound_area::<N>(quarters, bounds)
    }
}

impl BoundCost for Ssd {}

impl<const TERMS: usize> BoundCost for DeepSad<TERMS> {
    #[inline(always)]
    fn bounds_of_groups<E: EliminationEngine>(
        engine: E,
        parts: &BlockParts,
        level: &SumLevel,
        listed: Listed<'_>,
        bounds: &mut [[u16; GROUP]],
    ) {
        engine.bounds(parts, level, listed, bounds);
    }

    #[inline(always)]
    fn bound_area<E: EliminationEngine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        _: u32,
        bounds: &mut [u16],
    ) -> u16 {
        engine.bound_area::<N>(quarters, bounds)
    }
}

impl BoundCost for DeepSsd {}

//! What elimination needs of an instruction set and of a metric.

use std::marker::PhantomData;

use crate::native::candidates::{Candidates, Listed};
use crate::native::cost::{CostValue, DeepSad, DeepSsd, Sad, Ssd};
use crate::native::elimination::bounds::{self, BlockParts, Quarters};
use crate::native::elimination::sums::{ACROSS, GROUP, PartSums};
use crate::native::exhaustive::engine::{TileCost, TileEngine};
use crate::native::sample::SearchSample;
use motion_base::simd::Work;
#[cfg(target_arch = "aarch64")]
use motion_base::simd::neon::Neon;
use motion_base::simd::portable::Portable;
use motion_base::simd::proven::Wide;
use motion_base::simd::register::WIDE;
#[cfg(target_arch = "x86_64")]
use motion_base::simd::sse2::Sse2;

/// Groups across a register of sums.
pub const GROUPS: usize = WIDE / ACROSS;

/// An instruction set, with what it may do its own way for elimination.
pub trait EliminationEngine: TileEngine {
    /// The number of candidates of a group from which on [`Self::sads_of_groups`] is faster than
    /// [`sads`](crate::native::cost::CandidateEngine::sads); `None` where it is not there for blocks of `side` samples.
    #[inline(always)]
    fn worth_a_group(_side: usize) -> Option<u32> {
        None
    }

    /// Writes the SAD of every candidate of the groups listed.
    #[inline(always)]
    fn sads_of_groups(self, _: &Candidates<'_>, _: Listed<'_>, _: &mut [[u16; GROUP]]) {
        unreachable!("worth_a_group is None")
    }

    /// [`bounds::bound_area`] in 16 bits; `N` is 8, 16 or 32.
    #[inline(always)]
    fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16 {
        bounds::bound_area::<u8, u16, N>(quarters, 0, bounds)
    }

    /// The sums of `SIDE` neighbouring samples, from each of the first 32 samples on; `SIDE` is 4, 8 or 16. This, as the
    /// next ones, is a function of its own where it takes more than a few instructions.
    #[inline(never)]
    fn across<const SIDE: usize>(self, samples: &[u8; 64]) -> Self::Wide {
        let mut sums = [0; WIDE];
        for i in 0..SIDE {
            for x in 0..WIDE {
                sums[x] += u16::from(samples[x + i]);
            }
        }
        let [sums] = Wide::registers([Wide::load(self, &sums)]);
        sums
    }

    /// Writes four rows of 32 positions as eight tiles of 4 × 4, each row by row.
    #[inline(never)]
    fn store_tiles(self, rows: [Self::Wide; 4], tiles: &mut [u16; 4 * WIDE]) {
        for (y, row) in rows.into_iter().enumerate() {
            let row = numbers(self, row);
            for x in 0..WIDE {
                tiles[x / 4 * 16 + y * 4 + x % 4] = row[x];
            }
        }
    }

    /// The least and the largest number of each 8 columns of four rows.
    #[inline(never)]
    fn extremes(self, rows: [Self::Wide; 4]) -> [[u16; GROUPS]; 2] {
        let mut least = numbers(self, rows[0]);
        let mut most = least;
        for row in &rows[1..] {
            let row = numbers(self, *row);
            for x in 0..WIDE {
                (least[x], most[x]) = (least[x].min(row[x]), most[x].max(row[x]));
            }
        }
        let of_group = |sums: &[u16; WIDE], start: u16, better: fn(u16, u16) -> u16| {
            std::array::from_fn(|group| sums[group * ACROSS..][..ACROSS].iter().copied().fold(start, better))
        };
        [of_group(&least, u16::MAX, u16::min), of_group(&most, 0, u16::max)]
    }
}

/// The numbers of a register.
#[inline(always)]
fn numbers<E: EliminationEngine>(engine: E, register: E::Wide) -> [u16; WIDE] {
    let mut numbers = [0; WIDE];
    Wide::of(engine, register).store(&mut numbers);
    numbers
}

impl EliminationEngine for Portable {}
#[cfg(target_arch = "aarch64")]
impl EliminationEngine for Neon {}
#[cfg(target_arch = "x86_64")]
impl EliminationEngine for Sse2 {}

/// A lower bound of a cost, computed by what an instruction set does its own way where it does.
pub trait Bound: CostValue {
    /// Writes the bounds, by parts of samples `S`, of the candidates of the groups listed, by where the sums of these parts
    /// are in the sums of parts.
    fn bounds_of_groups<S: SearchSample, E: EliminationEngine>(
        engine: E,
        parts: (&BlockParts, &PartSums),
        listed: Listed<'_>,
        bounds: &mut [[Self; GROUP]],
    );

    /// [`bounds::bound_area`]; `N` is 8, 16 or 32.
    fn bound_area<S: SearchSample, E: EliminationEngine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        shift: u32,
        bounds: &mut [Self],
    ) -> Self;
}

impl Bound for u16 {
    #[inline(always)]
    fn bounds_of_groups<S: SearchSample, E: EliminationEngine>(
        engine: E,
        parts: (&BlockParts, &PartSums),
        listed: Listed<'_>,
        bounds: &mut [[u16; GROUP]],
    ) {
        engine.run(DifferenceBounds { parts, listed, bounds });
    }

    #[inline(always)]
    fn bound_area<S: SearchSample, E: EliminationEngine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        _: u32,
        bounds: &mut [u16],
    ) -> u16 {
        engine.bound_area::<N>(quarters, bounds)
    }
}

impl Bound for u32 {
    #[inline(always)]
    fn bounds_of_groups<S: SearchSample, E: EliminationEngine>(
        engine: E,
        parts: (&BlockParts, &PartSums),
        listed: Listed<'_>,
        bounds: &mut [[u32; GROUP]],
    ) {
        engine.run(SquareBounds { parts, listed, bounds, samples: PhantomData::<S> });
    }

    #[inline(always)]
    fn bound_area<S: SearchSample, E: EliminationEngine, const N: usize>(
        _: E,
        quarters: &Quarters<'_>,
        shift: u32,
        bounds: &mut [u32],
    ) -> u32 {
        bounds::bound_area::<S, u32, N>(quarters, shift, bounds)
    }
}

/// [`Bound::bounds_of_groups`] of 16 bits. It is compiled by itself, as it is much code with several callers.
struct DifferenceBounds<'a> {
    parts: (&'a BlockParts, &'a PartSums),
    listed: Listed<'a>,
    bounds: &'a mut [[u16; GROUP]],
}

impl<E: EliminationEngine> Work<E> for DifferenceBounds<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { parts: (parts, part_sums), listed, bounds } = self;
        bounds::bounds_of_groups(engine, parts, part_sums, listed, bounds);
    }
}

/// The same of 32 bits.
struct SquareBounds<'a, S> {
    parts: (&'a BlockParts, &'a PartSums),
    listed: Listed<'a>,
    bounds: &'a mut [[u32; GROUP]],
    samples: PhantomData<S>,
}

impl<S: SearchSample, E: EliminationEngine> Work<E> for SquareBounds<'_, S> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { parts: (parts, part_sums), listed: (blocks, starts), bounds, .. } = self;
        for ((block, start), bounds) in blocks.iter().zip(starts).zip(bounds) {
            *bounds = parts.bound::<S, u32>(part_sums, *block, *start as usize);
        }
    }
}

/// A metric that elimination searches by. Only the SAD of eight-bit samples is computed for whole groups.
pub trait GroupCost: TileCost<Bound: Bound> {
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
}

impl GroupCost for Sad {
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
}

impl GroupCost for Ssd {}

impl GroupCost for DeepSad {}

impl GroupCost for DeepSsd {}

//! What exhaustive search needs of an instruction set and of a metric.

use crate::native::cost::{Cost, DeepSad, DeepSsd, Differences, Sad, Squares, Ssd};
use crate::native::exhaustive::columns::{self, CostLayout};
use crate::native::exhaustive::deep;
use crate::native::exhaustive::tile::{TileCosts, TileTask};
use motion_base::simd::InstructionSet;
use motion_base::simd::portable::Portable;
#[cfg(target_arch = "x86_64")]
use motion_base::simd::sse2::Sse2;

/// An instruction set, with what it may do its own way for tiles of candidates.
pub trait TileEngine: InstructionSet {
    /// Neighbouring candidates that are compared at once: one of them costs as much as all.
    const LANES: usize = 1;

    /// Writes the SAD of every candidate of `task` to its row and column.
    #[inline(always)]
    fn sad_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
        columns::compare::<Self, Sad>(self, task, CostLayout::Tile, costs);
    }

    /// The same with the SSD.
    #[inline(always)]
    fn ssd_tile(self, task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
        columns::compare::<Self, Ssd>(self, task, CostLayout::Tile, costs);
    }

    /// The same of samples of at most ten bits.
    #[inline(always)]
    fn deep_ssd_tile(self, task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
        deep::ssd_tile(task, costs);
    }
}

impl TileEngine for Portable {}
#[cfg(target_arch = "x86_64")]
impl TileEngine for Sse2 {}

/// A metric, computed by what an instruction set does its own way where it does.
pub trait TileCost: Cost {
    /// Writes the cost of every candidate of `task` to where `layout` says.
    fn tile_costs<E: TileEngine>(
        engine: E,
        task: &TileTask<'_, Self::Sample>,
        layout: CostLayout,
        costs: &mut TileCosts<Self::Value>,
    );
}

/// Implements [`TileCost`] for a metric of eight-bit samples, whose tiles `$tile` computes.
macro_rules! eight_bits {
    ($cost:ty, $value:ty, $tile:ident) => {
        impl TileCost for $cost {
            #[inline(always)]
            fn tile_costs<E: TileEngine>(
                engine: E,
                task: &TileTask<'_>,
                layout: CostLayout,
                costs: &mut TileCosts<$value>,
            ) {
                match layout {
                    CostLayout::Tile => engine.$tile(task, costs),
                    CostLayout::Transposed => columns::compare::<E, Self>(engine, task, layout, costs),
                }
            }
        }
    };
}

eight_bits!(Sad, u16, sad_tile);
eight_bits!(Ssd, u32, ssd_tile);

impl TileCost for DeepSad {
    #[inline(always)]
    fn tile_costs<E: TileEngine>(
        engine: E,
        task: &TileTask<'_, u16>,
        layout: CostLayout,
        costs: &mut TileCosts<u32>,
    ) {
        match (layout, task.depth()) {
            (CostLayout::Tile, ..=10) => deep::sad_tile::<E, 64>(engine, task, costs),
            (CostLayout::Tile, _) => deep::sad_tile::<E, 1>(engine, task, costs),
            (CostLayout::Transposed, ..=10) => deep::columns::<Differences<64>>(task, costs),
            (CostLayout::Transposed, _) => deep::columns::<Differences<1>>(task, costs),
        }
    }
}

impl TileCost for DeepSsd {
    #[inline(always)]
    fn tile_costs<E: TileEngine>(
        engine: E,
        task: &TileTask<'_, u16>,
        layout: CostLayout,
        costs: &mut TileCosts<u32>,
    ) {
        match layout {
            CostLayout::Tile => engine.deep_ssd_tile(task, costs),
            CostLayout::Transposed => deep::columns::<Squares>(task, costs),
        }
    }
}

//! What exhaustive search needs of an instruction set and of a metric.

use crate::native::cost::{Cost, Sad, Ssd};
use crate::native::engine::Engine;
use crate::native::exhaustive::columns::{self, CostLayout};
use crate::native::exhaustive::tile::{TileCosts, TileTask};

/// An instruction set, with what it may do its own way.
pub trait TileEngine: Engine {
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
}

/// A metric, computed by what an instruction set does its own way where it does.
pub trait TileCost: Cost {
    /// Writes the cost of every candidate of `task` to its row and column.
    #[inline(always)]
    fn tile_costs<E: TileEngine>(engine: E, task: &TileTask<'_>, costs: &mut TileCosts<Self::Value>) {
        columns::compare::<E, Self>(engine, task, CostLayout::Tile, costs);
    }
}

impl TileCost for Sad {
    #[inline(always)]
    fn tile_costs<E: TileEngine>(engine: E, task: &TileTask<'_>, costs: &mut TileCosts<u16>) {
        engine.sad_tile(task, costs);
    }
}

impl TileCost for Ssd {
    #[inline(always)]
    fn tile_costs<E: TileEngine>(engine: E, task: &TileTask<'_>, costs: &mut TileCosts<u32>) {
        engine.ssd_tile(task, costs);
    }
}

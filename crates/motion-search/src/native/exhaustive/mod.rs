//! Exhaustive search: every cost is computed, tile of candidates by tile.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
mod deep;
pub mod engine;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod products;
pub mod tile;

use crate::estimator::{MotionVector, OrderKey, Sample};
use crate::native::cost::{CostValue, by_cost};
use crate::native::job::{JobBlock, SearchJob};
use columns::CostLayout;
use engine::{TileCost, TileEngine};
use motion_base::simd::{Instructions, Work};
use tile::{COLUMNS, PART, ROWS, TileCosts, TileTask, best_of};

/// Writes the vectors of the blocks in row `row` of the grid.
pub fn search_row(job: &SearchJob<'_>, row: usize, vectors: &mut [MotionVector]) {
    by_cost!(job.parameters, C, run => {
        run(job.instructions, ExhaustiveRow { job, row, vectors, scratch: TileScratch::<C>::new() });
    });
}

/// The search of a row of blocks.
struct ExhaustiveRow<'a, C: TileCost> {
    job: &'a SearchJob<'a>,
    row: usize,
    vectors: &'a mut [MotionVector],
    scratch: TileScratch<C>,
}

impl<C: TileCost, E: TileEngine> Work<E> for ExhaustiveRow<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { job, row, vectors, mut scratch } = self;
        for (column, vector) in vectors.iter_mut().enumerate() {
            let block = JobBlock { job, column, row };
            *vector = engine.run(ExhaustiveSearch { block, scratch: &mut scratch }).vector();
        }
    }
}

/// Memory for the costs of a tile, used again for the next one.
pub struct TileScratch<C: TileCost> {
    /// Costs of a part of a block, or of a block of one part.
    part: TileCosts<C::Value>,
    /// Costs of a block of several parts.
    block: TileCosts<u32>,
}

impl<C: TileCost> TileScratch<C> {
    pub fn new() -> Self {
        Self { part: [[C::Value::default(); COLUMNS]; ROWS], block: [[0; COLUMNS]; ROWS] }
    }
}

/// The search of one block: the best of all candidates.
pub struct ExhaustiveSearch<'a, C: TileCost> {
    pub block: JobBlock<'a>,
    pub scratch: &'a mut TileScratch<C>,
}

impl<C: TileCost, E: TileEngine> Work<E, OrderKey> for ExhaustiveSearch<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) -> OrderKey {
        search(engine, self.block, self.scratch)
    }
}

/// Candidates that are compared at once: `rows × columns` of them from `displacement` on.
#[derive(Clone, Copy)]
struct Tile {
    displacement: (i32, i32),
    rows: usize,
    columns: usize,
    layout: CostLayout,
}

impl Tile {
    /// The displacements of its candidates.
    #[inline(always)]
    fn displacements(self) -> impl Iterator<Item = (i32, i32)> {
        let (left, top) = self.displacement;
        let rows = top..top + self.rows as i32;
        (left..left + self.columns as i32).flat_map(move |x| rows.clone().map(move |y| (x, y)))
    }

    /// The rows and columns of its costs.
    #[inline(always)]
    fn size_of_costs(self) -> (usize, usize) {
        match self.layout {
            CostLayout::Tile => (self.rows, self.columns),
            CostLayout::Transposed => (self.columns, self.rows),
        }
    }
}

/// At most so many candidates are compared one by one: fewer than it takes for copying their rows to pay.
const FEW: usize = 4;

#[inline(always)]
fn search<E: TileEngine, C: TileCost>(
    engine: E,
    block: JobBlock<'_>,
    scratch: &mut TileScratch<C>,
) -> OrderKey {
    let window = block.window();
    let mut best = OrderKey::WORST;
    let left_over = left_over::<E>(window.columns());
    let end = window.x1() + 1 - left_over as i32;
    for (y, rows) in bands(window.y0(), window.rows()) {
        for x in (window.x0()..end).step_by(COLUMNS) {
            let columns = COLUMNS.min((end - x) as usize);
            let tile = Tile { displacement: (x, y), rows, columns, layout: CostLayout::Tile };
            best = scratch.best_of(engine, block, tile, best);
        }
    }
    if left_over == 0 {
        return best;
    }
    for y in (window.y0()..=window.y1()).step_by(COLUMNS) {
        let rows = COLUMNS.min((window.y1() - y + 1) as usize);
        let tile = Tile { displacement: (end, y), rows, columns: left_over, layout: CostLayout::Transposed };
        best = if rows * left_over > FEW {
            scratch.best_of(engine, block, tile, best)
        } else {
            best_of_few::<C>(block, tile, best)
        };
    }
    best
}

/// The better of `best` and the best of at most [`FEW`] candidates.
#[inline(always)]
fn best_of_few<C: TileCost>(block: JobBlock<'_>, tile: Tile, mut best: OrderKey) -> OrderKey {
    let count = tile.rows * tile.columns;
    let (mut offsets, mut costs) = ([0; FEW], [0; FEW]);
    for (offset, displacement) in offsets.iter_mut().zip(tile.displacements()) {
        *offset = block.offset((0, 0), displacement) as u32;
    }
    let (blocks, offsets) = (&[0; FEW][..count], &offsets[..count]);
    let compute_costs = C::compute_costs(block.job.parameters.bit_depth);
    compute_costs(block.job.instructions, &block.candidates(), blocks, offsets, &mut costs);
    for ((x, y), cost) in tile.displacements().zip(costs) {
        best = best.min(OrderKey::new(cost, x, y));
    }
    best
}

impl<C: TileCost> TileScratch<C> {
    /// The better of `best` and the best candidate of `block` in `tile`.
    #[inline(always)]
    fn best_of<E: TileEngine>(
        &mut self,
        engine: E,
        block: JobBlock<'_>,
        tile: Tile,
        best: OrderKey,
    ) -> OrderKey {
        let Self { part, block: sums } = self;
        if block.side() <= PART {
            let task = task_of(block, tile, (0, 0));
            engine.run(ComputeTile::<C> { task, layout: tile.layout, costs: part });
            return engine.run(BestOfTile { costs: part, tile, best });
        }
        // The costs of larger blocks are the sums of those of their parts.
        let of_parts = sums[..tile.size_of_costs().0].as_flattened_mut();
        of_parts.fill(0);
        let starts = || (0..block.side()).step_by(PART);
        for start in starts().flat_map(|y| starts().map(move |x| (x, y))) {
            let task = task_of(block, tile, start);
            engine.run(ComputeTile::<C> { task, layout: tile.layout, costs: part });
            for (sum, cost) in of_parts.iter_mut().zip(part.as_flattened()) {
                // A row of costs is wider than the tile: the numbers past its columns mean nothing, and may overflow.
                *sum = sum.wrapping_add((*cost).into());
            }
        }
        engine.run(BestOfTile { costs: sums, tile, best })
    }
}

/// The part of `block` from its sample `part` on, and its candidates in `tile`.
#[inline(always)]
fn task_of<S: Sample>(block: JobBlock<'_>, tile: Tile, part: (usize, usize)) -> TileTask<'_, S> {
    let current = &block.job.current.samples()[block.offset(part, (0, 0))..];
    let reference = &block.job.reference.samples()[block.offset(part, tile.displacement)..];
    let size = (PART.min(block.side() - part.0), PART.min(block.side() - part.1));
    let samples = (current, reference, block.layout().pitch);
    TileTask::new(samples, size, (tile.rows, tile.columns), block.job.parameters.bit_depth)
}

/// Writes the costs of a task. It is compiled by itself, as it is much code with several callers.
struct ComputeTile<'a, C: TileCost> {
    task: TileTask<'a, C::Sample>,
    layout: CostLayout,
    costs: &'a mut TileCosts<C::Value>,
}

impl<C: TileCost, E: TileEngine> Work<E> for ComputeTile<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) {
        // Where candidates are compared one at a time, no columns are left over.
        let layout = if E::LANES == 1 { CostLayout::Tile } else { self.layout };
        C::tile_costs(engine, &self.task, layout, self.costs);
    }
}

/// The better of `best` and the best candidate of a tile. It is compiled by itself, for all metrics with such costs.
struct BestOfTile<'a, V> {
    costs: &'a TileCosts<V>,
    tile: Tile,
    best: OrderKey,
}

impl<V: CostValue, E: TileEngine> Work<E, OrderKey> for BestOfTile<'_, V> {
    #[inline(always)]
    fn run(self, _: E) -> OrderKey {
        let Self { costs, tile, best } = self;
        let ((x, y), is_transposed) = (tile.displacement, tile.layout == CostLayout::Transposed);
        let tie = |u: i32, v: i32| {
            let (right, down) = if is_transposed { (v, u) } else { (u, v) };
            OrderKey::tie(x + right, y + down)
        };
        best_of(costs, tile.size_of_costs(), tie, best)
    }
}

/// The columns at the right of a window that are compared by themselves, because they would fill no more than a
/// quarter of a register.
#[inline(always)]
fn left_over<E: TileEngine>(columns: usize) -> usize {
    let left_over = columns % E::LANES;
    if left_over <= E::LANES / 4 && columns > E::LANES { left_over } else { 0 }
}

/// Divides `rows` rows of candidates from `y` on into the fewest tiles, of nearly equal height: the first row and the
/// height of each.
fn bands(y: i32, rows: usize) -> impl Iterator<Item = (i32, usize)> {
    let tiles = rows.div_ceil(ROWS);
    (0..tiles).map(move |tile| {
        let (start, end) = (rows * tile / tiles, rows * (tile + 1) / tiles);
        (y + start as i32, end - start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_every_row_once() {
        for rows in 1..5 * ROWS {
            let mut next = -7;
            for (y, height) in bands(-7, rows) {
                assert_eq!(y, next);
                assert!((1..=ROWS).contains(&height));
                next += height as i32;
            }
            assert_eq!(next, -7 + rows as i32);
        }
    }
}

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
use crate::native::cost::by_cost;
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
            best = scratch.best_of(engine, block, tile, |u, v| OrderKey::tie(x + u, y + v), best);
        }
    }
    if left_over == 0 {
        return best;
    }
    for y in (window.y0()..=window.y1()).step_by(COLUMNS) {
        let rows = COLUMNS.min((window.y1() - y + 1) as usize);
        if rows * left_over <= FEW {
            let candidates = block.candidates();
            for (x, y) in (end..=window.x1()).flat_map(|x| (y..=window.y1()).map(move |y| (x, y))) {
                let offset = block.offset((0, 0), (x, y)) as u32;
                best = best.min(OrderKey::new(C::cost(engine, &candidates, 0, offset), x, y));
            }
            continue;
        }
        let layout = CostLayout::Transposed;
        let tile = Tile { displacement: (end, y), rows, columns: left_over, layout };
        best = scratch.best_of(engine, block, tile, |u, v| OrderKey::tie(end + v, y + u), best);
    }
    best
}

impl<C: TileCost> TileScratch<C> {
    /// The better of `best` and the best candidate of `block` in `tile`. `tie(u, v)` decides between equal costs
    /// ([`OrderKey::tie`]) for the one whose cost is in column `u` and row `v` of the tile's layout.
    #[inline(always)]
    fn best_of<E: TileEngine>(
        &mut self,
        engine: E,
        block: JobBlock<'_>,
        tile: Tile,
        tie: impl Fn(i32, i32) -> u32,
        best: OrderKey,
    ) -> OrderKey {
        let size = match tile.layout {
            CostLayout::Tile => (tile.rows, tile.columns),
            CostLayout::Transposed => (tile.columns, tile.rows),
        };
        if block.side() <= PART {
            let task = task_of(block, tile, (0, 0));
            engine.run(ComputeTile::<C> { task, layout: tile.layout, costs: &mut self.part });
            return best_of(&self.part, size, tie, best);
        }
        // The costs of larger blocks are the sums of those of their parts.
        let sums = self.block[..size.0].as_flattened_mut();
        sums.fill(0);
        let starts = || (0..block.side()).step_by(PART);
        for start in starts().flat_map(|y| starts().map(move |x| (x, y))) {
            let task = task_of(block, tile, start);
            engine.run(ComputeTile::<C> { task, layout: tile.layout, costs: &mut self.part });
            for (sum, cost) in sums.iter_mut().zip(self.part.as_flattened()) {
                // A row of costs is wider than the tile: the numbers past its columns mean nothing, and may overflow.
                *sum = sum.wrapping_add((*cost).into());
            }
        }
        best_of(&self.block, size, tie, best)
    }
}

/// The part of `block` from its sample `part` on, and its candidates in `tile`.
#[inline(always)]
fn task_of<S: Sample>(block: JobBlock<'_>, tile: Tile, part: (usize, usize)) -> TileTask<'_, S> {
    let current = &block.job.current.samples()[block.offset(part, (0, 0))..];
    let reference = &block.job.reference.samples()[block.offset(part, tile.displacement)..];
    let size = (PART.min(block.side() - part.0), PART.min(block.side() - part.1));
    TileTask::new((current, reference, block.layout().pitch), size, (tile.rows, tile.columns))
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
        C::tile_costs(engine, &self.task, self.layout, self.costs);
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

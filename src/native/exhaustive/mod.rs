//! Exhaustive search of one row of blocks, tile of candidates by tile, the same for every
//! instruction set.

pub mod columns;
pub mod products;
pub mod tile;

use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, Window};
use crate::native::plane::Plane;
use columns::Order;
use tile::{Candidates, Cost, Costs, Engine, Pair, Task, best_of};

/// What is searched, and where.
pub struct Job<'a> {
    pub parameters: &'a Parameters,
    pub current: &'a Plane,
    pub reference: &'a Plane,
    /// The field found last, or none.
    pub last: &'a [MotionVector],
}

/// Writes the vectors of the blocks in row `row` of the grid, `best` finding each.
pub fn search_row(
    best: fn(Block<'_>, &mut Room) -> OrderKey,
    job: &Job<'_>,
    row: usize,
    vectors: &mut [MotionVector],
) {
    let mut room = Room::new();
    for (column, vector) in vectors.iter_mut().enumerate() {
        *vector = best(Block { job, column, row }, &mut room).vector();
    }
}

/// Memory that the search of a block needs and the next one uses again: costs of the block, and of a
/// part.
pub struct Room {
    narrow: [Costs<u16>; 2],
    wide: [Costs<u32>; 2],
}

impl Room {
    pub fn new() -> Self {
        let (narrow, wide) = ([[0; tile::COLUMNS]; tile::ROWS], [[0; tile::COLUMNS]; tile::ROWS]);
        Self { narrow: [narrow; 2], wide: [wide; 2] }
    }
}

/// One block of the current frame.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub job: &'a Job<'a>,
    pub column: usize,
    pub row: usize,
}

/// So few candidates that comparing them one by one beats bringing their rows together.
const FEW: usize = 4;

impl<'a> Block<'a> {
    /// The best of all candidates.
    #[inline(always)]
    pub fn best<E: Engine>(self, engine: E, room: &mut Room) -> OrderKey {
        let Room { narrow: [narrow, narrow_part], wide: [wide, wide_part] } = room;
        let is_whole = self.job.parameters.block_size <= tile::PART;
        match self.job.parameters.metric {
            Metric::Sad if is_whole => self.search(engine, &mut Sad, narrow),
            Metric::Sad => self.search(engine, &mut Parts(Sad, narrow_part), wide),
            Metric::Ssd if is_whole => self.search(engine, &mut Ssd, wide),
            Metric::Ssd => self.search(engine, &mut Parts(Ssd, wide_part), wide),
        }
    }

    /// The best candidate.
    #[inline(always)]
    fn search<E: Engine, P: PartCosts>(
        self,
        engine: E,
        costs_of: &mut P,
        costs: &mut Costs<P::Cost>,
    ) -> OrderKey {
        let window = self.window();
        let mut best = OrderKey::WORST;
        let left_over = left_over::<E>(window.columns());
        let end = window.x1() + 1 - left_over as i32;
        for (y, rows) in bands(window.y0(), window.rows(), E::ROWS) {
            for x in (window.x0()..end).step_by(tile::COLUMNS) {
                let columns = tile::COLUMNS.min((end - x) as usize);
                let tile = Tile { displacement: (x, y), rows, columns, order: Order::Tile };
                self.sum_parts(tile, engine, costs_of, costs);
                best = best_of(costs, (rows, columns), |u, v| OrderKey::tie(x + u, y + v), best);
            }
        }
        if left_over == 0 {
            return best;
        }
        for y in (window.y0()..=window.y1()).step_by(tile::COLUMNS) {
            let rows = tile::COLUMNS.min((window.y1() - y + 1) as usize);
            if rows * left_over <= FEW {
                for (x, y) in (end..=window.x1()).flat_map(|x| (y..=window.y1()).map(move |y| (x, y))) {
                    best = best.min(self.key(engine, (x, y)));
                }
                continue;
            }
            let tile = Tile { displacement: (end, y), rows, columns: left_over, order: Order::Transposed };
            self.sum_parts(tile, engine, costs_of, costs);
            best = best_of(costs, (left_over, rows), |u, v| OrderKey::tie(end + v, y + u), best);
        }
        best
    }

    /// The samples from its first on, [`Self::pitch`] from one row to the next.
    #[inline(always)]
    pub fn samples(self) -> &'a [u8] {
        let (column, row) = self.position();
        &self.job.current.samples()[row * self.pitch() + column..]
    }

    /// Where its first sample lies in a padded frame: column and row.
    #[inline(always)]
    pub fn position(self) -> (usize, usize) {
        let Job { parameters, current, .. } = self.job;
        let side = parameters.block_size;
        current.layout().position((self.column * side) as i32, (self.row * side) as i32)
    }

    /// Samples from one row to the next.
    #[inline(always)]
    pub fn pitch(self) -> usize {
        self.job.current.layout().pitch
    }

    /// The candidates that can win.
    #[inline(always)]
    pub fn window(self) -> Window {
        self.job.parameters.winning_window(self.column, self.row)
    }

    /// The block and those to the right of it, and all their candidates.
    #[inline(always)]
    pub fn candidates(self) -> Candidates<'a> {
        let side = self.job.parameters.block_size;
        Candidates::new(self.samples(), self.job.reference.samples(), self.pitch(), side)
    }

    /// The key of one candidate.
    #[inline(always)]
    pub fn key<E: Engine>(self, engine: E, (x, y): (i32, i32)) -> OrderKey {
        let Job { parameters, current, reference, .. } = self.job;
        let side = parameters.block_size;
        let (layout, origin_x, origin_y) =
            (current.layout(), (self.column * side) as i32, (self.row * side) as i32);
        let current = &current.samples()[layout.offset(origin_x, origin_y)..];
        let reference = &reference.samples()[layout.offset(origin_x + x, origin_y + y)..];
        let pair = Pair::new(current, reference, layout.pitch, side);
        let cost = match parameters.metric {
            Metric::Sad => engine.sad_of_one(&pair),
            Metric::Ssd => engine.ssd_of_one(&pair),
        };
        OrderKey::new(cost, x, y)
    }

    /// Where the parts of the block begin in it.
    #[inline(always)]
    fn parts(self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let side = self.job.parameters.block_size;
        let starts = move || (0..side).step_by(tile::PART);
        starts().flat_map(move |y| starts().map(move |x| (x, y)))
    }

    /// The costs of a tile.
    #[inline(always)]
    fn sum_parts<E: Engine, P: PartCosts>(
        self,
        tile: Tile,
        engine: E,
        costs_of: &mut P,
        costs: &mut Costs<P::Cost>,
    ) {
        if self.job.parameters.block_size <= tile::PART {
            return costs_of.put(engine, &self.task(tile, (0, 0)), tile.order, costs);
        }
        let rows = if tile.order == Order::Tile { tile.rows } else { tile.columns };
        costs[..rows].as_flattened_mut().fill(P::Cost::ZERO);
        for start in self.parts() {
            costs_of.put(engine, &self.task(tile, start), tile.order, costs);
        }
    }

    /// The part at `(part_x, part_y)` of the block, and its candidates in `tile`.
    #[inline(always)]
    fn task(self, tile: Tile, (part_x, part_y): (usize, usize)) -> Task<'a> {
        let Tile { displacement: (x, y), rows, columns, .. } = tile;
        let Job { parameters, current, reference, .. } = self.job;
        let side = parameters.block_size;
        let layout = current.layout();
        let (origin_x, origin_y) = ((self.column * side + part_x) as i32, (self.row * side + part_y) as i32);
        let current = &current.samples()[layout.offset(origin_x, origin_y)..];
        let reference = &reference.samples()[layout.offset(origin_x + x, origin_y + y)..];
        let size = (tile::PART.min(side - part_x), tile::PART.min(side - part_y));
        Task::new((current, reference, layout.pitch), size, (rows, columns))
    }
}

/// Candidates that are compared at once: `rows × columns` of them from `displacement` on.
#[derive(Clone, Copy)]
struct Tile {
    displacement: (i32, i32),
    rows: usize,
    columns: usize,
    order: Order,
}

/// What an engine computes for a tile, in the width that the costs of a whole block need.
///
/// (A trait and no closure: only a method can be told to become part of the function that is
/// compiled for the instruction set.)
trait PartCosts {
    type Cost: Cost;

    /// Writes the costs of a block of one part; of a larger one, adds those of a part.
    fn put<E: Engine>(&mut self, engine: E, task: &Task<'_>, order: Order, costs: &mut Costs<Self::Cost>);
}

/// The SAD of blocks of one part.
struct Sad;

impl PartCosts for Sad {
    type Cost = u16;

    #[inline(always)]
    fn put<E: Engine>(&mut self, engine: E, task: &Task<'_>, order: Order, costs: &mut Costs<u16>) {
        match order {
            Order::Tile => engine.sad(task, costs),
            Order::Transposed => engine.sad_of_columns(task, costs),
        }
    }
}

/// The SSD of blocks of one part.
struct Ssd;

impl PartCosts for Ssd {
    type Cost = u32;

    #[inline(always)]
    fn put<E: Engine>(&mut self, engine: E, task: &Task<'_>, order: Order, costs: &mut Costs<u32>) {
        match order {
            Order::Tile => engine.ssd(task, costs),
            Order::Transposed => engine.ssd_of_columns(task, costs),
        }
    }
}

/// The costs of larger blocks, with room for those of a part.
struct Parts<'a, P: PartCosts>(P, &'a mut Costs<P::Cost>);

impl<P: PartCosts> PartCosts for Parts<'_, P> {
    type Cost = u32;

    #[inline(always)]
    fn put<E: Engine>(&mut self, engine: E, task: &Task<'_>, order: Order, costs: &mut Costs<u32>) {
        let Self(costs_of, part) = self;
        costs_of.put(engine, task, order, part);
        let rows = if order == Order::Tile { task.rows() } else { task.columns() };
        let part = part[..rows].as_flattened();
        for (sum, cost) in costs[..rows].as_flattened_mut().iter_mut().zip(part) {
            *sum = sum.plus((*cost).into());
        }
    }
}

/// The columns at the right of a window that are better compared one by one: those that would fill no
/// more than a quarter of a register.
#[inline(always)]
fn left_over<E: Engine>(columns: usize) -> usize {
    let left_over = columns % E::LANES;
    if left_over <= E::LANES / 4 && columns > E::LANES { left_over } else { 0 }
}

/// Divides `rows` rows of candidates from `y` on into the fewest tiles of at most `tallest`, of
/// nearly equal height: the first row and the height of each.
fn bands(y: i32, rows: usize, tallest: usize) -> impl Iterator<Item = (i32, usize)> {
    let tiles = rows.div_ceil(tallest);
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
        for rows in 1..100 {
            let mut next = -7;
            for (y, height) in bands(-7, rows, 8) {
                assert_eq!(y, next);
                assert!((1..=8).contains(&height));
                next += height as i32;
            }
            assert_eq!(next, -7 + rows as i32);
        }
    }
}

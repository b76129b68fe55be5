//! Exhaustive search of one row of blocks, tile of candidates by tile, the same for every
//! instruction set.

use super::plane::{Plane, useful_window};
use super::tile::{self, Candidates, Cost, Costs, Engine, Pair, Task, best_of};
use super::transposed::{self, Transposed};
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, Window};

/// What is searched, and where.
pub(super) struct Job<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) current: &'a Plane,
    pub(super) reference: &'a Plane,
    /// The field found last, or none.
    pub(super) last: &'a [MotionVector],
}

/// Writes the vectors of the blocks in row `row` of the grid, `best` finding each.
pub(super) fn search_row(
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

/// Memory that the search of a block needs and the next one uses again.
pub(super) struct Room {
    narrow: [Costs<u16>; 2],
    wide: [Costs<u32>; 2],
    transposed: Transposed,
}

impl Room {
    pub(super) fn new() -> Self {
        let (narrow, wide) = ([[0; tile::COLUMNS]; tile::ROWS], [[0; tile::COLUMNS]; tile::ROWS]);
        Self { narrow: [narrow; 2], wide: [wide; 2], transposed: Transposed::new() }
    }
}

/// One block of the current picture.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) column: usize,
    pub(super) row: usize,
}

/// So few candidates that comparing them one by one beats exchanging their columns and rows.
const FEW: usize = 4;

impl<'a> Block<'a> {
    /// The best of all candidates.
    #[inline(always)]
    pub(super) fn best<E: Engine>(self, engine: E, room: &mut Room) -> OrderKey {
        let Room { narrow, wide, transposed } = room;
        match self.job.parameters.metric {
            Metric::Sad if self.job.parameters.block_size <= tile::PART => {
                self.search(&mut Sad(engine), narrow, transposed)
            }
            Metric::Sad => self.search(&mut WideSad(engine, &mut narrow[0]), wide, transposed),
            Metric::Ssd => self.search(&mut Ssd(engine), wide, transposed),
        }
    }

    /// The best candidate.
    #[inline(always)]
    fn search<P: PartCosts>(
        self,
        costs_of: &mut P,
        room: &mut [Costs<P::Cost>; 2],
        transposed: &mut Transposed,
    ) -> OrderKey {
        let window = self.window();
        let mut best = OrderKey::WORST;
        let left_over = left_over::<P::Engine>(window.columns());
        let end = window.x1() + 1 - left_over as i32;
        for (y, rows) in bands(window.y0(), window.rows(), P::Engine::ROWS) {
            for x in (window.x0()..end).step_by(tile::COLUMNS) {
                let columns = tile::COLUMNS.min((end - x) as usize);
                self.sum_parts((x, y), (rows, columns), costs_of, room, None);
                best = best_of(&room[0], (rows, columns), |u, v| OrderKey::tie(x + u, y + v), best);
            }
        }
        if left_over == 0 {
            return best;
        }
        for y in (window.y0()..=window.y1()).step_by(tile::COLUMNS) {
            let rows = tile::COLUMNS.min((window.y1() - y + 1) as usize);
            if rows * left_over <= FEW {
                for (x, y) in (end..=window.x1()).flat_map(|x| (y..=window.y1()).map(move |y| (x, y))) {
                    best = best.min(self.key(costs_of.engine(), (x, y)));
                }
                continue;
            }
            self.sum_parts((end, y), (rows, left_over), costs_of, room, Some(&mut *transposed));
            best = best_of(&room[0], (left_over, rows), |u, v| OrderKey::tie(end + v, y + u), best);
        }
        best
    }

    /// The samples from its first on, [`Self::pitch`] from one row to the next.
    #[inline(always)]
    pub(super) fn samples(self) -> &'a [u8] {
        let (column, row) = self.position();
        &self.job.current.samples()[row * self.pitch() + column..]
    }

    /// Where its first sample lies in a padded picture: column and row.
    #[inline(always)]
    pub(super) fn position(self) -> (usize, usize) {
        let Job { parameters, current, .. } = self.job;
        let side = parameters.block_size;
        current.layout().position((self.column * side) as i32, (self.row * side) as i32)
    }

    /// Samples from one row to the next.
    #[inline(always)]
    pub(super) fn pitch(self) -> usize {
        self.job.current.layout().pitch
    }

    /// The candidates that can win.
    #[inline(always)]
    pub(super) fn window(self) -> Window {
        useful_window(self.job.parameters, self.column, self.row)
    }

    /// The block, and all its candidates.
    #[inline(always)]
    pub(super) fn candidates(self) -> Candidates<'a> {
        let side = self.job.parameters.block_size;
        Candidates::new(self.samples(), self.job.reference.samples(), self.pitch(), side)
    }

    /// The key of one candidate.
    #[inline(always)]
    pub(super) fn key<E: Engine>(self, engine: E, (x, y): (i32, i32)) -> OrderKey {
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

    /// The costs of a tile, columns for rows where there is a place to exchange them in. They are
    /// in the first element of `room`; the other holds those of a part meanwhile.
    #[inline(always)]
    fn sum_parts<P: PartCosts>(
        self,
        displacement: (i32, i32),
        shape: (usize, usize),
        costs_of: &mut P,
        [sums, part]: &mut [Costs<P::Cost>; 2],
        mut transposed: Option<&mut Transposed>,
    ) {
        let is_whole = self.job.parameters.block_size <= tile::PART;
        if !is_whole {
            let rows = if transposed.is_some() { shape.1 } else { shape.0 };
            sums[..rows].as_flattened_mut().fill(P::Cost::ZERO);
        }
        for start in self.parts() {
            let mut task = self.task(displacement, start, shape);
            if let Some(transposed) = &mut transposed {
                task = transposed.of(&task);
            }
            if is_whole {
                return costs_of.part(&task, sums);
            }
            costs_of.part(&task, part);
            let sums = sums[..task.rows()].as_flattened_mut();
            for (sum, cost) in sums.iter_mut().zip(part.as_flattened()) {
                *sum = sum.plus(*cost);
            }
        }
    }

    /// The part at `(part_x, part_y)` of the block, and the tile whose first candidate is displaced
    /// by `(x, y)`.
    #[inline(always)]
    fn task(self, (x, y): (i32, i32), (part_x, part_y): (usize, usize), shape: (usize, usize)) -> Task<'a> {
        let Job { parameters, current, reference, .. } = self.job;
        let side = parameters.block_size;
        let layout = current.layout();
        let (origin_x, origin_y) = ((self.column * side + part_x) as i32, (self.row * side + part_y) as i32);
        let current = &current.samples()[layout.offset(origin_x, origin_y)..];
        let reference = &reference.samples()[layout.offset(origin_x + x, origin_y + y)..];
        let size = (tile::PART.min(side - part_x), tile::PART.min(side - part_y));
        Task::new((current, reference, layout.pitch), size, shape)
    }
}

/// What an engine computes for a tile, in the width that the costs of a whole block need.
///
/// (A trait and no closure: only a method can be told to become part of the function that is
/// compiled for the instruction set.)
trait PartCosts {
    type Engine: Engine;
    type Cost: Cost;

    fn engine(&self) -> Self::Engine;
    fn part(&mut self, task: &Task<'_>, costs: &mut Costs<Self::Cost>);
}

/// The SAD of blocks of one part.
struct Sad<E>(E);

impl<E: Engine> PartCosts for Sad<E> {
    type Engine = E;
    type Cost = u16;

    #[inline(always)]
    fn engine(&self) -> E {
        self.0
    }

    #[inline(always)]
    fn part(&mut self, task: &Task<'_>, costs: &mut Costs<u16>) {
        self.0.sad(task, costs);
    }
}

/// The SAD of larger blocks.
struct WideSad<'a, E>(E, &'a mut Costs<u16>);

impl<E: Engine> PartCosts for WideSad<'_, E> {
    type Engine = E;
    type Cost = u32;

    #[inline(always)]
    fn engine(&self) -> E {
        self.0
    }

    #[inline(always)]
    fn part(&mut self, task: &Task<'_>, costs: &mut Costs<u32>) {
        self.0.sad(task, self.1);
        let narrow = self.1[..task.rows()].as_flattened();
        for (cost, narrow) in costs.as_flattened_mut().iter_mut().zip(narrow) {
            *cost = u32::from(*narrow);
        }
    }
}

/// The SSD of any block.
struct Ssd<E>(E);

impl<E: Engine> PartCosts for Ssd<E> {
    type Engine = E;
    type Cost = u32;

    #[inline(always)]
    fn engine(&self) -> E {
        self.0
    }

    #[inline(always)]
    fn part(&mut self, task: &Task<'_>, costs: &mut Costs<u32>) {
        self.0.ssd(task, costs);
    }
}

/// The columns at the right of a window that are better compared as rows: those that would fill no
/// more than a quarter of a register.
#[inline(always)]
fn left_over<E: Engine>(columns: usize) -> usize {
    let left_over = columns % E::LANES;
    if left_over <= E::LANES / 4 && columns > E::LANES { left_over.min(transposed::MOST_COLUMNS) } else { 0 }
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

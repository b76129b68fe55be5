//! Full search of one row of blocks, tile of candidates by tile, the same for every instruction set.

use super::plane::{Plane, useful_window};
use super::tile::{self, Cost, Costs, Engine, Task, best_of};
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters};

/// What is searched, and where.
pub(super) struct Job<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) current: &'a Plane,
    pub(super) reference: &'a Plane,
}

/// Writes the vectors of the blocks in row `row` of the grid.
#[inline(always)]
pub(super) fn search_row<E: Engine>(engine: E, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    let side = job.parameters.block_size;
    for (column, vector) in vectors.iter_mut().enumerate() {
        let block = Block { job, column, row, tallest: E::ROWS };
        let best = match job.parameters.metric {
            Metric::Sad if side <= tile::PART => block.search(|task, costs| engine.sad(task, costs)),
            Metric::Sad => {
                let mut narrow = [[0; tile::COLUMNS]; tile::ROWS];
                block.search(|task, costs: &mut Costs<u32>| {
                    engine.sad(task, &mut narrow);
                    for (costs, narrow) in costs.iter_mut().zip(&narrow).take(task.rows()) {
                        *costs = narrow.map(u32::from);
                    }
                })
            }
            Metric::Ssd => block.search(|task, costs| engine.ssd(task, costs)),
        };
        *vector = best.vector();
    }
}

/// One block of the current picture.
struct Block<'a> {
    job: &'a Job<'a>,
    column: usize,
    row: usize,
    /// Candidates down a tile.
    tallest: usize,
}

impl Block<'_> {
    /// The best candidate, with `part_costs` to compare a part of the block with a tile.
    #[inline(always)]
    fn search<C: Cost + std::ops::AddAssign>(
        &self,
        mut part_costs: impl FnMut(&Task<'_>, &mut Costs<C>),
    ) -> OrderKey {
        let side = self.job.parameters.block_size;
        let window = useful_window(self.job.parameters, self.column, self.row);
        let mut best = OrderKey::WORST;
        let mut costs = [[C::ZERO; tile::COLUMNS]; tile::ROWS];
        let mut part = costs;
        for (y, rows) in bands(window.y0(), window.rows(), self.tallest) {
            for x in (window.x0()..=window.x1()).step_by(tile::COLUMNS) {
                let columns = tile::COLUMNS.min((window.x1() - x + 1) as usize);
                if side <= tile::PART {
                    part_costs(&self.task((x, y), (0, 0), (rows, columns)), &mut costs);
                } else {
                    let (sums, part) = (&mut costs[..rows], &mut part);
                    self.sum_parts((x, y), (rows, columns), &mut part_costs, sums, part);
                }
                best = best_of(&costs, (rows, columns), (x, y), best);
            }
        }
        best
    }

    /// The costs of a block of several parts, in `sums`; `part` holds those of one part meanwhile.
    #[inline(always)]
    fn sum_parts<C: Cost + std::ops::AddAssign>(
        &self,
        displacement: (i32, i32),
        shape: (usize, usize),
        part_costs: &mut impl FnMut(&Task<'_>, &mut Costs<C>),
        sums: &mut [[C; tile::COLUMNS]],
        part: &mut Costs<C>,
    ) {
        let side = self.job.parameters.block_size;
        sums.fill([C::ZERO; tile::COLUMNS]);
        for part_y in (0..side).step_by(tile::PART) {
            for part_x in (0..side).step_by(tile::PART) {
                part_costs(&self.task(displacement, (part_x, part_y), shape), part);
                for (sum, cost) in sums.as_flattened_mut().iter_mut().zip(part.as_flattened()) {
                    *sum += *cost;
                }
            }
        }
    }

    /// The part at `(part_x, part_y)` of the block, and the tile whose first candidate is displaced
    /// by `(x, y)`.
    #[inline(always)]
    fn task(&self, (x, y): (i32, i32), (part_x, part_y): (usize, usize), shape: (usize, usize)) -> Task<'_> {
        let Job { parameters, current, reference } = self.job;
        let side = parameters.block_size;
        let layout = current.layout();
        let (origin_x, origin_y) = ((self.column * side + part_x) as i32, (self.row * side + part_y) as i32);
        let current = &current.samples()[layout.offset(origin_x, origin_y)..];
        let reference = &reference.samples()[layout.offset(origin_x + x, origin_y + y)..];
        let size = (tile::PART.min(side - part_x), tile::PART.min(side - part_y));
        Task::new((current, reference, layout.pitch), size, shape)
    }
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

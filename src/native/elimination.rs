//! Exact search that computes the costs of few candidates: successive elimination.
//!
//! The sum of a part of a block and that of the same part of a candidate differ by no more than
//! their samples do. So the differences of the sums, added over the parts, are a lower bound of the
//! SAD (and their squares over the samples of a part, added, of the SSD), and a candidate whose
//! bound is worse than the best cost so far cannot win. Three bounds, each tighter and dearer than
//! the one before, thin the candidates out:
//!
//! 1. a group of 8 × 4 candidates, by the least and the largest sums among them;
//! 2. each candidate of a group, by the same large parts;
//! 3. each that is left, by parts of half the side, where there are sums of such;
//!
//! and the cost of those that remain decides. Equal costs are decided by the order of full search:
//! a bound that equals the best cost eliminates only what is further away than the best. The result
//! is therefore that of exhaustive search, whatever is tried first; but the sooner a good candidate
//! is found, the more are eliminated, so that the vectors around and that of the last field come
//! first, then the group of the least bound.

use super::search::{Block, Job, Room};
use super::sums::{GROUP, GROUP_TILES, SPARE_GROUPS, Sums, TILE};
use super::tile::Engine;
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, UNITS_PER_SAMPLE};

/// The side of the largest parts that bound the cost of a block of `side` samples: half of it where
/// that is a power of two.
pub(super) fn coarse_side(side: usize) -> usize {
    match side {
        _ if side.is_multiple_of(32) || side == 48 => 16,
        _ if side.is_multiple_of(8) && side > 8 => 8,
        _ => TILE,
    }
}

/// Parts of a block at most: 4 × 4 samples of 60 × 60.
const MOST_PARTS: usize = 225;

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
const MOST_BOUNDS: usize = 2048;

/// Rows of groups in a strip at most.
const MOST_ROWS: usize = MOST_BOUNDS / SPARE_GROUPS * 2;

/// So few candidates left of a group that their costs are computed without a finer bound.
const FEW: u32 = 2;

/// A row of blocks: whether elimination has paid there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Experience {
    /// What a group that is not eliminated as a whole costs, in sixteenths of what a candidate costs
    /// exhaustive search: a running mean.
    group_cost: u32,
    /// Blocks yet to be searched exhaustively without asking.
    pause: u32,
    /// How long the next pause is.
    next_pause: u32,
    /// Blocks of the last picture that were searched exhaustively.
    pub(super) exhaustive: u32,
}

/// Longest pause.
const LONGEST_PAUSE: u32 = 63;

/// A lower bound, and how a difference of sums adds to it.
trait Bound: Copy + Ord + Default {
    /// What `cost` is compared as. A bound past the largest is the largest, and then so is the cost.
    fn from_cost(cost: u32) -> Self;

    /// The bound with the difference of the sums of one part more; `shift` is the logarithm of the
    /// part's samples.
    fn plus(self, difference: u16, shift: u32) -> Self;
}

/// SAD. It may be larger, for blocks of more than 16 × 16 samples: then nothing is eliminated.
impl Bound for u16 {
    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost.min(u32::from(u16::MAX)) as u16
    }

    #[inline(always)]
    fn plus(self, difference: u16, _: u32) -> Self {
        self.saturating_add(difference)
    }
}

/// SSD, by the inequality of the quadratic mean.
impl Bound for u32 {
    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost
    }

    #[inline(always)]
    fn plus(self, difference: u16, shift: u32) -> Self {
        let difference = u32::from(difference);
        self.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }
}

/// Memory that the search of a block needs and the next one uses again.
struct Scratch<B> {
    /// Bounds of the groups of a strip, row by row.
    bounds: [B; MOST_BOUNDS],
    /// The least of each row.
    least: [B; MOST_ROWS],
    coarse: Parts,
    fine: Parts,
}

/// The sums of a block's parts, and where they are in the block.
struct Parts {
    count: usize,
    places: [(u8, u8); MOST_PARTS],
    sums: [u16; MOST_PARTS],
    /// Logarithm of the samples of a part.
    shift: u32,
}

impl Parts {
    const NONE: Self = Self { count: 0, places: [(0, 0); MOST_PARTS], sums: [0; MOST_PARTS], shift: 0 };

    fn iter(&self) -> impl Iterator<Item = ((usize, usize), u16)> + '_ {
        let parts = self.places[..self.count].iter().zip(&self.sums[..self.count]);
        parts.map(|(&(x, y), &sum)| ((usize::from(x), usize::from(y)), sum))
    }
}

/// Writes the vectors of the blocks in row `row` of the grid.
#[inline(always)]
pub(super) fn eliminate_row<E: Engine>(
    engine: E,
    job: &Job<'_>,
    sums: &Sums,
    row: usize,
    vectors: &mut [MotionVector],
    experience: &mut Experience,
) {
    match job.parameters.metric {
        Metric::Sad => Row::<E, u16>::new(engine, job, sums, row, experience).search(vectors),
        Metric::Ssd => Row::<E, u32>::new(engine, job, sums, row, experience).search(vectors),
    }
}

/// A row of blocks.
struct Row<'a, E, B> {
    engine: E,
    job: &'a Job<'a>,
    sums: &'a Sums,
    row: usize,
    experience: &'a mut Experience,
    scratch: Scratch<B>,
    room: Room,
}

/// The groups that hold a block's candidates, as columns and rows of groups in the padded picture.
#[derive(Clone, Copy)]
struct Area {
    /// First column and row.
    column: usize,
    row: usize,
    columns: usize,
    rows: usize,
    /// The displacement of the first candidate of the first group.
    x: i32,
    y: i32,
}

impl<'a, E: Engine, B: Bound> Row<'a, E, B> {
    #[inline(always)]
    fn new(engine: E, job: &'a Job<'a>, sums: &'a Sums, row: usize, experience: &'a mut Experience) -> Self {
        let scratch = Scratch {
            bounds: [B::default(); MOST_BOUNDS],
            least: [B::default(); MOST_ROWS],
            coarse: Parts::NONE,
            fine: Parts::NONE,
        };
        experience.exhaustive = 0;
        Self { engine, job, sums, row, experience, scratch, room: Room::new() }
    }

    #[inline(always)]
    fn search(&mut self, vectors: &mut [MotionVector]) {
        for column in 0..vectors.len() {
            let block = Block { job: self.job, column, row: self.row };
            let left = column.checked_sub(1).map(|left| vectors[left]);
            vectors[column] = self.best(block, left).vector();
        }
    }

    /// The best candidate of a block whose left neighbour has the vector `left`.
    #[inline(always)]
    fn best(&mut self, block: Block<'_>, left: Option<MotionVector>) -> OrderKey {
        if self.experience.pause > 0 {
            self.experience.pause -= 1;
            self.experience.exhaustive += 1;
            return block.best(self.engine, &mut self.room);
        }
        let mut best = self.first(block, left);
        self.sum_parts(block);
        let area = self.area(block);
        let lanes = if area.columns <= 8 { 8 } else { 16 };
        let stride = area.columns.next_multiple_of(lanes);
        let strip_rows = (MOST_BOUNDS / stride).min(MOST_ROWS).min(area.rows);
        let strips = area.rows.div_ceil(strip_rows);
        let middle = ((-area.y).max(0) as usize / TILE / strip_rows).min(strips - 1);
        // The strip of the zero vector first, then those around it.
        for distance in 0..strips {
            let below = Some(middle + distance).filter(|strip| *strip < strips);
            let above = middle.checked_sub(distance).filter(|_| distance > 0);
            for strip in [below, above].into_iter().flatten() {
                let first = strip * strip_rows;
                let strip = Area {
                    row: area.row + first,
                    rows: strip_rows.min(area.rows - first),
                    y: area.y + (first * TILE) as i32,
                    ..area
                };
                best = if lanes == 8 {
                    self.search_strip::<8>(block, strip, stride, best)
                } else {
                    self.search_strip::<16>(block, strip, stride, best)
                };
            }
        }
        best
    }

    /// The best of the candidates that are likely to be good.
    #[inline(always)]
    fn first(&self, block: Block<'_>, left: Option<MotionVector>) -> OrderKey {
        let columns = self.job.parameters.grid().columns;
        let index = self.row * columns + block.column;
        let last = self.job.last;
        let below = last.get(index + columns);
        let right = last.get(index + 1);
        let window = block.window();
        let mut tried = [(0, 0); 5];
        let mut count = 1;
        let mut best = block.key(self.engine, (0, 0));
        for vector in [left.as_ref(), last.get(index), right, below].into_iter().flatten() {
            let units = UNITS_PER_SAMPLE;
            let (x, y) = (i32::from(vector.x) / units, i32::from(vector.y) / units);
            let is_inside =
                (window.x0()..=window.x1()).contains(&x) && (window.y0()..=window.y1()).contains(&y);
            if is_inside && !tried[..count].contains(&(x, y)) {
                tried[count] = (x, y);
                count += 1;
                best = best.min(block.key(self.engine, (x, y)));
            }
        }
        best
    }

    /// Sums the parts of the block.
    #[inline(always)]
    fn sum_parts(&mut self, block: Block<'_>) {
        let side = self.job.parameters.block_size;
        let samples = block.samples();
        let Scratch { coarse, fine, .. } = &mut self.scratch;
        for (parts, level) in [(coarse, Some(self.sums.coarse())), (fine, self.sums.fine())] {
            let Some(level) = level else { continue };
            parts.count = 0;
            parts.shift = 2 * level.side.ilog2();
            for y in (0..side).step_by(level.side) {
                for x in (0..side).step_by(level.side) {
                    let mut sum = 0_u32;
                    for row in samples[y * block.pitch()..].chunks(block.pitch()).take(level.side) {
                        for four in row[x..][..level.side].as_chunks::<4>().0 {
                            let four = u32::from_le_bytes(*four);
                            sum += (four & 0x00ff_00ff) + (four >> 8 & 0x00ff_00ff);
                        }
                    }
                    parts.places[parts.count] = (x as u8, y as u8);
                    parts.sums[parts.count] = ((sum & 0xffff) + (sum >> 16)) as u16;
                    parts.count += 1;
                }
            }
        }
    }

    /// The groups that hold the block's candidates.
    #[inline(always)]
    fn area(&self, block: Block<'_>) -> Area {
        let Parameters { block_size, .. } = *self.job.parameters;
        let window = block.window();
        let origin = ((block.column * block_size) as i32, (block.row * block_size) as i32);
        let layout = self.job.reference.layout();
        let first = layout.position(origin.0 + window.x0(), origin.1 + window.y0());
        let last = layout.position(origin.0 + window.x1(), origin.1 + window.y1());
        const ACROSS: usize = GROUP_TILES * TILE;
        let (column, row) = (first.0 / ACROSS, first.1 / TILE);
        Area {
            column,
            row,
            columns: last.0 / ACROSS - column + 1,
            rows: last.1 / TILE - row + 1,
            x: window.x0() - (first.0 % ACROSS) as i32,
            y: window.y0() - (first.1 % TILE) as i32,
        }
    }

    /// The better of `best` and the best of the candidates in `area`, whose bounds are kept `stride`
    /// from row to row.
    #[inline(always)]
    fn search_strip<const N: usize>(
        &mut self,
        block: Block<'_>,
        area: Area,
        stride: usize,
        mut best: OrderKey,
    ) -> OrderKey {
        let (first_row, first_column) = self.bound_groups::<N>(area, stride);
        let first = self.scratch.bounds[first_row * stride + first_column];
        if first <= B::from_cost(best.cost()) {
            best = self.search_group(block, area, (first_column, first_row), best).0;
        }
        let (mut groups, mut cost) = (0, 0);
        for row in 0..area.rows {
            let y = area.y + (row * TILE) as i32;
            let Some(limit) = worst_bound::<B>(best, 0, nearest(y, TILE)) else { continue };
            if self.scratch.least[row] > limit {
                continue;
            }
            for column in 0..area.columns {
                let Some(limit) = worst_bound::<B>(best, 0, nearest(y, TILE)) else { break };
                if self.scratch.bounds[row * stride + column] <= limit
                    && (row, column) != (first_row, first_column)
                {
                    let (better, spent) = self.search_group(block, area, (column, row), best);
                    best = better;
                    groups += 1;
                    cost += spent;
                }
            }
        }
        let _ = (groups, cost);
        best
    }

    /// Bounds the groups of `area`; row and column of the least.
    #[inline(always)]
    fn bound_groups<const N: usize>(&mut self, area: Area, stride: usize) -> (usize, usize) {
        let Scratch { bounds, least, coarse, .. } = &mut self.scratch;
        let mut first = (0, 0);
        let mut least_of_all = None;
        for row in 0..area.rows {
            let mut row_least = [B::from_cost(u32::MAX); N];
            for column in (0..area.columns).step_by(N) {
                let mut bound = [B::default(); N];
                for (place, sum) in coarse.iter() {
                    let group = (area.column + column, area.row + row);
                    let (least, most) = self.sums.extremes::<N>(group, place);
                    for i in 0..N {
                        let difference = least[i].saturating_sub(sum) | sum.saturating_sub(most[i]);
                        bound[i] = bound[i].plus(difference, coarse.shift);
                    }
                }
                for bound in bound.iter_mut().skip(area.columns - column) {
                    *bound = B::from_cost(u32::MAX);
                }
                bounds[row * stride + column..][..N].copy_from_slice(&bound);
                for i in 0..N {
                    row_least[i] = row_least[i].min(bound[i]);
                }
            }
            least[row] = row_least.into_iter().fold(B::from_cost(u32::MAX), B::min);
            if least_of_all.is_none_or(|least_of_all| least[row] < least_of_all) {
                least_of_all = Some(least[row]);
                first.0 = row;
            }
        }
        let row = &bounds[first.0 * stride..][..area.columns];
        first.1 = row.iter().position(|bound| *bound == least[first.0]).unwrap_or(0);
        first
    }

    /// A bit for each of `bounds` that is at most `limit`.
    #[inline(always)]
    fn at_most(&self, bounds: &[B; GROUP], limit: B) -> u32 {
        let mut is_more = [0; GROUP];
        for i in 0..GROUP {
            is_more[i] = u16::from(bounds[i] > limit);
        }
        self.engine.at_most(&is_more, 0)
    }

    /// The better of `best` and the best of the candidates of the group at `column` and `row` of
    /// `area`, and what it cost to find it.
    #[inline(always)]
    fn search_group(
        &self,
        block: Block<'_>,
        area: Area,
        (column, row): (usize, usize),
        mut best: OrderKey,
    ) -> (OrderKey, u32) {
        let (x, y) = (area.x + (column * GROUP_TILES * TILE) as i32, area.y + (row * TILE) as i32);
        let group = (area.column + column, area.row + row);
        let distance = (nearest(x, GROUP_TILES * TILE), nearest(y, TILE));
        let Some(limit) = worst_bound::<B>(best, distance.0, distance.1) else { return (best, 0) };
        let window = block.window();
        let mut bounds = [B::default(); GROUP];
        let Scratch { coarse, fine, .. } = &self.scratch;
        for (place, sum) in coarse.iter() {
            let sums = self.sums.coarse().group(self.sums.offset(group, place));
            for i in 0..GROUP {
                bounds[i] = bounds[i].plus(sums[i].abs_diff(sum), coarse.shift);
            }
        }
        let mut left = self.at_most(&bounds, limit);
        if left == 0 {
            return (best, 4);
        }
        left &= inside(window.x0() - x, window.x1() - x, window.y0() - y, window.y1() - y);
        let mut cost = 4;
        if left.count_ones() > FEW
            && let Some(level) = self.sums.fine()
        {
            cost += 12;
            bounds = [B::default(); GROUP];
            for (place, sum) in fine.iter() {
                let sums = level.group(self.sums.offset(group, place));
                for i in 0..GROUP {
                    bounds[i] = bounds[i].plus(sums[i].abs_diff(sum), fine.shift);
                }
            }
            left &= self.at_most(&bounds, limit);
        }
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            if bounds[lane] <= B::from_cost(best.cost()) {
                cost += 6;
                best = best.min(block.key(self.engine, (x + lane_x(lane), y + lane_y(lane))));
            }
        }
        (best, cost)
    }
}

/// The largest bound with which a candidate at least so far from the zero vector may still win.
#[inline(always)]
fn worst_bound<B: Bound>(best: OrderKey, x: u32, y: u32) -> Option<B> {
    let (best_x, best_y) = best.displacement();
    let cost = best.cost();
    if x + y > best_x.unsigned_abs() + best_y.unsigned_abs() {
        // What only equals the best is further away.
        cost.checked_sub(1).map(B::from_cost)
    } else {
        Some(B::from_cost(cost))
    }
}

/// The least distance from zero among `count` numbers from `first` on.
#[inline(always)]
fn nearest(first: i32, count: usize) -> u32 {
    let last = first + count as i32 - 1;
    if first > 0 {
        first as u32
    } else if last < 0 {
        last.unsigned_abs()
    } else {
        0
    }
}

/// Column and row, in its group, of a candidate whose sums are in lane `lane`.
#[inline(always)]
fn lane_x(lane: usize) -> i32 {
    (lane / (TILE * TILE) * TILE + lane % TILE) as i32
}

#[inline(always)]
fn lane_y(lane: usize) -> i32 {
    (lane / TILE % TILE) as i32
}

/// A bit for each candidate of a group whose column and row are within both ranges.
#[inline(always)]
fn inside(x0: i32, x1: i32, y0: i32, y1: i32) -> u32 {
    /// The lanes of a group's first column, and of its first row.
    const COLUMN: u32 = 0x1111;
    const ROW: u32 = 0x000f_000f;
    if x0 <= 0 && y0 <= 0 && x1 >= 7 && y1 >= 3 {
        return u32::MAX;
    }
    let mut columns = 0;
    for x in x0.max(0)..=x1.min(7) {
        columns |= COLUMN << (x / 4 * 16 + x % 4);
    }
    let mut rows = 0;
    for y in y0.max(0)..=y1.min(3) {
        rows |= ROW << (4 * y);
    }
    columns & rows
}

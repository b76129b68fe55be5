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
use super::sums::{GROUP, GROUP_TILES, Level, SPARE_GROUPS, Sums, TILE};
use super::tile::{COLUMNS, Engine};
use crate::estimator::{Metric, MotionVector, OrderKey, UNITS_PER_SAMPLE, Window};

/// The side of the largest parts that bound the cost of a block of `side` samples: half of it where
/// that is a power of two.
pub(super) fn coarse_side(side: usize) -> usize {
    match side {
        _ if side.is_multiple_of(16) && side > 16 => 16,
        _ if side.is_multiple_of(8) && side > 8 => 8,
        _ => TILE,
    }
}

/// Parts of a block at most: 4 × 4 samples of 60 × 60.
const MOST_PARTS: usize = 225;

/// Parts whose sums are kept as registers of them: as many as most blocks have.
const REPEATED: usize = 16;

/// Samples of a block's row that are summed at once.
const SUMMED: usize = 16;

/// Squares of 4 × 4 samples in a block at most.
const MOST_SQUARES: usize = 256;

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
const MOST_BOUNDS: usize = 2048;

/// Groups that are searched together.
const BATCH: usize = 32;

/// Samples across a group.
const ACROSS: usize = GROUP_TILES * TILE;

/// Exhaustive search of a block, compiled for the same instructions.
pub(super) type Exhaustive = fn(Block<'_>, &mut Room) -> OrderKey;

/// Whether elimination has paid in a row of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Experience {
    /// What a group that is not eliminated as a whole costs, in sixteenths of what a candidate costs
    /// exhaustive search: a running mean.
    group_cost: usize,
    /// Blocks yet to be searched exhaustively without asking.
    pause: usize,
    /// How long the next pause is.
    next_pause: usize,
    /// Blocks of the last picture that were searched exhaustively.
    pub(super) exhaustive: usize,
}

impl Experience {
    /// So many blocks at most are not asked: enough that asking is no burden.
    const LONGEST_PAUSE: usize = 31;

    /// Notes that elimination of a block took longer than exhaustive search would have.
    fn note_failure(&mut self) {
        self.pause = self.next_pause;
        self.next_pause = (2 * self.next_pause + 1).min(Self::LONGEST_PAUSE);
    }

    /// Notes that it took less.
    fn note_success(&mut self) {
        self.next_pause /= 2;
    }

    /// Notes what `groups` groups have cost.
    fn note_cost(&mut self, groups: usize, cost: usize) {
        self.group_cost = (7 * self.group_cost + 16 * cost / groups) / 8;
    }
}

/// What it costs to bound a group's candidates coarsely, to do so finely and to compute the cost of
/// one of them: each about as much, in units of what one candidate of many costs exhaustive search,
/// as measured with 16 × 16 SAD. Costs of one at a time wait for what is known only when they are.
const fn step_cost<E: Engine>() -> usize {
    let cost = 20 * E::LANES / COLUMNS;
    if cost < 4 { 4 } else { cost }
}

/// What elimination of a block costs besides, in the same units.
const fn block_cost<E: Engine>() -> usize {
    20 * step_cost::<E>()
}

/// A lower bound, and how a difference of sums adds to it.
trait Bound: Copy + Ord + Default + Into<u32> {
    /// As bad as can be.
    const WORST: Self;

    /// What `cost` is compared as. A bound past the largest is the largest, and then so is the cost.
    fn from_cost(cost: u32) -> Self;

    /// The bound with the difference of the sums of one part more; `shift` is the logarithm of the
    /// part's samples.
    fn plus(self, difference: u16, shift: u32) -> Self;

    /// A bit for each of `bounds` that is at most `limit`.
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32;
}

/// SAD. It may be larger, for blocks of more than 16 × 16 samples: then nothing is eliminated.
impl Bound for u16 {
    const WORST: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost.min(u32::from(u16::MAX)) as u16
    }

    #[inline(always)]
    fn plus(self, difference: u16, _: u32) -> Self {
        self.saturating_add(difference)
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32 {
        engine.at_most(bounds, limit)
    }
}

/// SSD, by the inequality of the quadratic mean.
impl Bound for u32 {
    const WORST: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost
    }

    #[inline(always)]
    fn plus(self, difference: u16, shift: u32) -> Self {
        let difference = u32::from(difference);
        self.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32 {
        let mut is_more = [0; GROUP];
        for i in 0..GROUP {
            is_more[i] = u16::from(bounds[i] > limit);
        }
        engine.at_most(&is_more, 0)
    }
}

/// The parts of a block: their sums, and where those of a candidate are.
struct Parts {
    count: usize,
    /// Logarithm of the samples of a part.
    shift: u32,
    sums: [u16; MOST_PARTS],
    /// The first of them, each as often as a group has candidates.
    repeated: [[u16; GROUP]; REPEATED],
    /// From the sums of a candidate's group to those of the part.
    steps: [usize; MOST_PARTS],
}

impl Parts {
    fn new(sums: &Sums, level: Option<&Level>, side: usize) -> Self {
        let mut parts = Self {
            count: 0,
            shift: 0,
            sums: [0; MOST_PARTS],
            repeated: [[0; GROUP]; REPEATED],
            steps: [0; MOST_PARTS],
        };
        let Some(level) = level else { return parts };
        parts.shift = 2 * level.side.ilog2();
        for y in (0..side).step_by(level.side) {
            for x in (0..side).step_by(level.side) {
                parts.steps[parts.count] = sums.offset((0, 0), (x, y));
                parts.count += 1;
            }
        }
        parts
    }

    /// Bounds all candidates of the group whose sums in `level` are at `start`.
    #[inline(always)]
    fn bound<B: Bound>(&self, level: &Level, start: usize) -> [B; GROUP] {
        match self.count {
            4 => self.bound_by::<B, 4>(level, start),
            16 => self.bound_by::<B, 16>(level, start),
            _ => {
                let mut bounds = [B::default(); GROUP];
                for part in 0..self.count {
                    bounds = self.add(part, bounds, level, start);
                }
                bounds
            }
        }
    }

    /// The same with a count that the compiler knows, so that the bounds stay in registers.
    #[inline(always)]
    fn bound_by<B: Bound, const N: usize>(&self, level: &Level, start: usize) -> [B; GROUP] {
        const { assert!(N <= REPEATED) };
        let mut bounds = [B::default(); GROUP];
        for part in 0..N {
            let (sum, sums) = (&self.repeated[part], level.group(start + self.steps[part]));
            for i in 0..GROUP {
                bounds[i] = bounds[i].plus(sums[i].abs_diff(sum[i]), self.shift);
            }
        }
        bounds
    }

    #[inline(always)]
    fn add<B: Bound>(&self, part: usize, mut bounds: [B; GROUP], level: &Level, start: usize) -> [B; GROUP] {
        let (sum, sums) = (self.sums[part], level.group(start + self.steps[part]));
        for i in 0..GROUP {
            bounds[i] = bounds[i].plus(sums[i].abs_diff(sum), self.shift);
        }
        bounds
    }

    /// Takes the sums of a block's parts.
    #[inline(always)]
    fn set(&mut self, sums: &[u16]) {
        self.sums[..self.count].copy_from_slice(&sums[..self.count]);
        for (repeated, sum) in self.repeated.iter_mut().zip(&sums[..self.count]) {
            *repeated = [*sum; GROUP];
        }
    }
}

/// Writes the vectors of the blocks in row `row` of the grid.
#[inline(always)]
pub(super) fn eliminate_row<E: Engine>(
    engine: E,
    exhaustive: Exhaustive,
    job: &Job<'_>,
    sums: &Sums,
    (row, vectors): (usize, &mut [MotionVector]),
    experience: &mut Experience,
) {
    match job.parameters.metric {
        Metric::Sad => Row::<E, u16>::new(engine, exhaustive, job, sums, experience).search(row, vectors),
        Metric::Ssd => Row::<E, u32>::new(engine, exhaustive, job, sums, experience).search(row, vectors),
    }
}

/// A row of blocks, and memory that the search of a block needs and the next one uses again.
struct Row<'a, E, B> {
    engine: E,
    exhaustive: Exhaustive,
    job: &'a Job<'a>,
    sums: &'a Sums,
    experience: &'a mut Experience,
    coarse: Parts,
    fine: Parts,
    /// Bounds of the groups of a strip, row by row.
    bounds: [B; MOST_BOUNDS],
    /// A bit for each of them that may hold the best candidate.
    left: [u32; MOST_BOUNDS / GROUP],
    /// The places, among the bounds, of groups that are searched together.
    batch: [u16; BATCH],
    /// Those of them that are left.
    finalists: [Finalist<B>; BATCH],
    room: Room,
}

/// The groups that hold a block's candidates, or a strip of them.
#[derive(Clone, Copy)]
struct Area {
    window: Window,
    /// Column and row, among the groups of the padded picture, of the first group.
    column: usize,
    row: usize,
    columns: usize,
    rows: usize,
    /// The displacement of the first group's first candidate, which may be outside the window.
    x: i32,
    y: i32,
    /// Logarithm of the way from one row of bounds to the next.
    shift: u32,
}

/// A group that may hold the best candidate.
#[derive(Clone, Copy)]
struct Finalist<B> {
    /// Among the groups of its area.
    column: u16,
    row: u16,
    /// The displacement of its first candidate.
    x: i32,
    y: i32,
    /// A bit for each candidate that may be the best.
    left: u32,
    /// Their bounds.
    bounds: [B; GROUP],
}

impl<B: Bound> Finalist<B> {
    /// The group of `area` whose bound is at `index`.
    #[inline(always)]
    fn new(area: &Area, index: u16) -> Self {
        let (column, row) = (index & ((1 << area.shift) - 1), index >> area.shift);
        let x = area.x + i32::from(column) * ACROSS as i32;
        let y = area.y + i32::from(row) * TILE as i32;
        Self { column, row, x, y, left: 0, bounds: [B::default(); GROUP] }
    }

    /// Column and row among the groups of the picture.
    #[inline(always)]
    fn group(&self, area: &Area) -> (usize, usize) {
        (area.column + usize::from(self.column), area.row + usize::from(self.row))
    }
}

impl<'a, E: Engine, B: Bound> Row<'a, E, B> {
    #[inline(always)]
    fn new(
        engine: E,
        exhaustive: Exhaustive,
        job: &'a Job<'a>,
        sums: &'a Sums,
        experience: &'a mut Experience,
    ) -> Self {
        let side = job.parameters.block_size;
        experience.exhaustive = 0;
        Self {
            engine,
            exhaustive,
            job,
            sums,
            experience,
            coarse: Parts::new(sums, Some(sums.coarse()), side),
            fine: Parts::new(sums, sums.fine(), side),
            bounds: [B::default(); MOST_BOUNDS],
            left: [0; MOST_BOUNDS / GROUP],
            batch: [0; BATCH],
            finalists: [Finalist { column: 0, row: 0, x: 0, y: 0, left: 0, bounds: [B::default(); GROUP] };
                BATCH],
            room: Room::new(),
        }
    }

    #[inline(always)]
    fn search(&mut self, row: usize, vectors: &mut [MotionVector]) {
        for column in 0..vectors.len() {
            let block = Block { job: self.job, column, row };
            let left = column.checked_sub(1).map(|left| vectors[left]);
            let best = match self.eliminate(block, left) {
                Some(best) => best,
                None => {
                    self.experience.exhaustive += 1;
                    (self.exhaustive)(block, &mut self.room)
                }
            };
            vectors[column] = best.vector();
        }
    }

    /// The best candidate of a block whose left neighbour has the vector `left`, or `None` where to
    /// find it would take longer than exhaustive search.
    #[inline(always)]
    fn eliminate(&mut self, block: Block<'_>, left: Option<MotionVector>) -> Option<OrderKey> {
        if self.experience.pause > 0 {
            self.experience.pause -= 1;
            return None;
        }
        let window = block.window();
        let mut best = Best::new(self.first(block, window, left));
        self.sum_parts(block);
        let area = area(block, window);
        let strip_rows = (MOST_BOUNDS >> area.shift).min(area.rows);
        let strips = area.rows.div_ceil(strip_rows);
        let middle = ((-area.y).max(0) as usize / TILE / strip_rows).min(strips - 1);
        let mut cost = block_cost::<E>();
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
                let Some(spent) = self.search_strip(block, &strip, &mut best) else {
                    self.experience.note_failure();
                    return None;
                };
                cost += spent;
            }
        }
        if cost > window.candidates() {
            self.experience.note_failure();
        } else {
            self.experience.note_success();
        }
        Some(best.key)
    }

    /// The best of the candidates that are likely to be good.
    #[inline(always)]
    fn first(&self, block: Block<'_>, window: Window, left: Option<MotionVector>) -> OrderKey {
        let (last, columns) = (self.job.last, self.job.parameters.grid().columns);
        let index = block.row * columns + block.column;
        let around = [left.as_ref(), last.get(index), last.get(index + 1), last.get(index + columns)];
        let mut tried = [(0, 0); 5];
        let mut best = block.key(self.engine, (0, 0));
        for (i, vector) in around.into_iter().enumerate() {
            let Some(vector) = vector else { continue };
            let (x, y) = (i32::from(vector.x) / UNITS_PER_SAMPLE, i32::from(vector.y) / UNITS_PER_SAMPLE);
            let is_inside = window.x0() <= x && x <= window.x1() && window.y0() <= y && y <= window.y1();
            if is_inside && !tried.contains(&(x, y)) {
                tried[i + 1] = (x, y);
                best = best.min(block.key(self.engine, (x, y)));
            }
        }
        best
    }

    /// Sums the parts of the block.
    #[inline(always)]
    fn sum_parts(&mut self, block: Block<'_>) {
        let (side, samples, pitch) = (self.job.parameters.block_size, block.samples(), block.pitch());
        // Sums of squares of `step` samples, `across` a row; then of four of these each.
        let mut sums = [0; MOST_SQUARES];
        let (mut step, mut across) = (TILE, side / TILE);
        for row in 0..across {
            let samples = &samples[row * TILE * pitch..];
            let mut column = 0;
            while column < across {
                // More samples than the block has across may be read, but not used.
                let rows: [&[u8; SUMMED]; TILE] = std::array::from_fn(|y| {
                    samples[y * pitch + column * TILE..].first_chunk().expect("a row goes on")
                });
                let mut down = [0_u16; SUMMED];
                for x in 0..SUMMED {
                    down[x] = u16::from(rows[0][x])
                        + u16::from(rows[1][x])
                        + u16::from(rows[2][x])
                        + u16::from(rows[3][x]);
                }
                for (four, sum) in
                    down.as_chunks::<TILE>().0.iter().zip(&mut sums[row * across..][column..across])
                {
                    *sum = four[0] + four[1] + four[2] + four[3];
                }
                column += SUMMED / TILE;
            }
        }
        loop {
            for (parts, level) in
                [(&mut self.fine, self.sums.fine()), (&mut self.coarse, Some(self.sums.coarse()))]
            {
                if level.is_some_and(|level| level.side == step) {
                    parts.set(&sums);
                }
            }
            if step == self.sums.coarse().side {
                return;
            }
            (step, across) = (2 * step, across / 2);
            for row in 0..across {
                for column in 0..across {
                    let first = 4 * row * across + 2 * column;
                    sums[row * across + column] = sums[first]
                        + sums[first + 1]
                        + sums[first + 2 * across]
                        + sums[first + 2 * across + 1];
                }
            }
        }
    }

    /// Makes `best` the best of itself and the candidates in `area`; what it cost. `None` where that
    /// would take longer than exhaustive search: it is not done then.
    #[inline(always)]
    fn search_strip(&mut self, block: Block<'_>, area: &Area, best: &mut Best<B>) -> Option<usize> {
        let first = match area.shift {
            ..=3 => self.bound_groups::<8>(area),
            4 => self.bound_groups::<16>(area),
            _ => self.bound_groups::<SPARE_GROUPS>(area),
        };
        let (mut cost, mut searched) = (0, 1);
        if self.bounds[first] <= best.near {
            self.batch[0] = first as u16;
            cost = self.search_batch(block, area, 1, best);
        }
        let chunks = (area.rows << area.shift).div_ceil(GROUP);
        let mut left = 0;
        for chunk in 0..chunks {
            let bounds = self.bounds[chunk * GROUP..].first_chunk().expect("MOST_BOUNDS in whole chunks");
            self.left[chunk] = B::at_most(self.engine, bounds, best.near);
            // What only equals the best is further away as a rule.
            left += best.far.map_or(0, |far| B::at_most(self.engine, bounds, far).count_ones() as usize);
        }
        if left * self.experience.group_cost > 16 * GROUP * area.columns * area.rows {
            return None;
        }
        let mut count = 0;
        for chunk in 0..chunks {
            let mut bits = self.left[chunk];
            while bits != 0 {
                let index = chunk * GROUP + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Finalist { column, row, x, y, .. } = Finalist::<B>::new(area, index as u16);
                let is_there = usize::from(column) < area.columns && usize::from(row) < area.rows;
                let worst = best.worst(nearest(x, ACROSS) + nearest(y, TILE));
                let may_win = worst.is_some() && self.bounds[index] <= worst.unwrap_or_default();
                // Without a branch, as there is no telling.
                self.batch[count] = index as u16;
                count += usize::from(is_there & may_win & (index != first));
                if count == BATCH {
                    cost += self.search_batch(block, area, count, best);
                    searched += count;
                    count = 0;
                }
            }
        }
        cost += self.search_batch(block, area, count, best);
        self.experience.note_cost(searched + count, cost);
        Some(cost)
    }

    /// Makes `best` the best of itself and the candidates of the first `count` groups of the batch;
    /// what it cost. Each bound is taken of all groups before the next one of those that it leaves,
    /// so that there is little to be guessed by the branch predictor.
    #[inline(always)]
    fn search_batch(&mut self, block: Block<'_>, area: &Area, count: usize, best: &mut Best<B>) -> usize {
        let Self { engine, sums, coarse, fine, batch, finalists, .. } = self;
        let mut cost = step_cost::<E>() * count;
        let mut remain = 0;
        for index in &batch[..count] {
            let finalist = &mut finalists[remain];
            *finalist = Finalist::new(area, *index);
            let Finalist { x, y, .. } = *finalist;
            let worst = best.worst(nearest(x, ACROSS) + nearest(y, TILE));
            let group = sums.offset(finalist.group(area), (0, 0));
            finalist.bounds = coarse.bound::<B>(sums.coarse(), group);
            let left = B::at_most(*engine, &finalist.bounds, worst.unwrap_or_default());
            finalist.left = if worst.is_some() { left & inside(&area.window, x, y) } else { 0 };
            remain += usize::from(finalist.left != 0);
        }
        if let Some(level) = sums.fine() {
            cost += step_cost::<E>() * remain;
            let count = remain;
            remain = 0;
            for index in 0..count {
                let Finalist { x, y, left, .. } = finalists[index];
                let group = sums.offset(finalists[index].group(area), (0, 0));
                let bounds = fine.bound::<B>(level, group);
                let worst = best.worst(nearest(x, ACROSS) + nearest(y, TILE)).unwrap_or_default();
                let left = left & B::at_most(*engine, &bounds, worst);
                finalists[remain] = Finalist { x, y, left, bounds, ..finalists[index] };
                remain += usize::from(left != 0);
            }
        }
        let mut is_stale = false;
        for finalist in &finalists[..remain] {
            let Finalist { x, y, mut left, .. } = *finalist;
            let distance = nearest(x, ACROSS) + nearest(y, TILE);
            if is_stale {
                let Some(worst) = best.worst(distance) else { continue };
                left &= B::at_most(*engine, &finalist.bounds, worst);
            }
            let is_near = distance <= best.length;
            let mut key = best.key;
            while left != 0 {
                let lane = left.trailing_zeros() as usize;
                left &= left - 1;
                let (x, y) = (x + lane_x(lane), y + lane_y(lane));
                // Of those that may be as good as the best, some are further away. (Which is not asked
                // of the better key: its cost is not known yet when the CPU looks ahead.)
                if is_near && OrderKey::new(finalist.bounds[lane].into(), x, y) >= best.key {
                    continue;
                }
                cost += step_cost::<E>();
                key = key.min(block.key(*engine, (x, y)));
            }
            if key < best.key {
                *best = Best::new(key);
                is_stale = true;
            }
        }
        cost
    }

    /// Bounds the groups of `area`, `N` at once; where the least bound is.
    #[inline(always)]
    fn bound_groups<const N: usize>(&mut self, area: &Area) -> usize {
        let mut least = match self.coarse.count {
            4 => self.bound_by::<N, 4>(area),
            _ => self.bound_by_all::<N>(area),
        };
        // Whole registers of bounds are looked at.
        let end = area.rows << area.shift;
        self.bounds[end..end.next_multiple_of(GROUP)].fill(B::WORST);
        let mut least_of_all = B::WORST;
        for bound in &mut least {
            least_of_all = least_of_all.min(*bound);
        }
        let chunks = self.bounds[..end.next_multiple_of(GROUP)].as_chunks::<GROUP>().0;
        let bits = chunks.iter().map(|bounds| B::at_most(self.engine, bounds, least_of_all));
        let first = bits.enumerate().find(|(_, bits)| *bits != 0);
        first.map_or(0, |(chunk, bits)| chunk * GROUP + bits.trailing_zeros() as usize)
    }

    /// Bounds the groups of `area` by `PARTS` parts; the least bounds of each of `N` columns.
    #[inline(always)]
    fn bound_by<const N: usize, const PARTS: usize>(&mut self, area: &Area) -> [B; N] {
        let start = self.sums.offset((area.column, area.row), (0, 0));
        let mut parts = [(0, [].as_slice(), [].as_slice()); PARTS];
        for (i, part) in parts.iter_mut().enumerate() {
            let (least, most) = self.sums.extremes(start + self.coarse.steps[i]);
            *part = (self.coarse.sums[i], least, most);
        }
        let mut least_of_all = [B::WORST; N];
        for row in 0..area.rows {
            for column in (0..area.columns).step_by(N) {
                let at = row * self.sums.groups() + column;
                let mut bounds = [B::default(); N];
                for (sum, least, most) in parts {
                    bounds = add(bounds, sum, &least[at..], &most[at..], self.coarse.shift);
                }
                self.keep(area, (column, row), bounds, &mut least_of_all);
            }
        }
        least_of_all
    }

    /// The same by all parts, however many there are.
    #[inline(always)]
    fn bound_by_all<const N: usize>(&mut self, area: &Area) -> [B; N] {
        let mut least_of_all = [B::WORST; N];
        for row in 0..area.rows {
            for column in (0..area.columns).step_by(N) {
                let start = self.sums.offset((area.column + column, area.row + row), (0, 0));
                let mut bounds = [B::default(); N];
                for part in 0..self.coarse.count {
                    let (least, most) = self.sums.extremes(start + self.coarse.steps[part]);
                    bounds = add(bounds, self.coarse.sums[part], least, most, self.coarse.shift);
                }
                self.keep(area, (column, row), bounds, &mut least_of_all);
            }
        }
        least_of_all
    }

    /// Keeps the bounds of groups from `column` and `row` of `area` on.
    #[inline(always)]
    fn keep<const N: usize>(
        &mut self,
        area: &Area,
        (column, row): (usize, usize),
        mut bounds: [B; N],
        least: &mut [B; N],
    ) {
        for i in 0..N {
            bounds[i] = if column + i < area.columns { bounds[i] } else { B::WORST };
            least[i] = least[i].min(bounds[i]);
        }
        self.bounds[row << area.shift | column..][..N].copy_from_slice(&bounds);
    }
}

/// Adds to the bounds of `N` groups what a part does whose sum is `sum`, with the extremes of the
/// groups.
#[inline(always)]
fn add<B: Bound, const N: usize>(
    mut bounds: [B; N],
    sum: u16,
    least: &[u16],
    most: &[u16],
    shift: u32,
) -> [B; N] {
    let least: &[u16; N] = least.first_chunk().expect("SPARE_GROUPS at the end");
    let most: &[u16; N] = most.first_chunk().expect("SPARE_GROUPS at the end");
    for i in 0..N {
        let difference = least[i].saturating_sub(sum) | sum.saturating_sub(most[i]);
        bounds[i] = bounds[i].plus(difference, shift);
    }
    bounds
}

/// The groups that hold the candidates of `block`, which are in `window`.
#[inline(always)]
fn area(block: Block<'_>, window: Window) -> Area {
    let side = block.job.parameters.block_size;
    let origin = ((block.column * side) as i32, (block.row * side) as i32);
    let layout = block.job.reference.layout();
    let first = layout.position(origin.0 + window.x0(), origin.1 + window.y0());
    let last = layout.position(origin.0 + window.x1(), origin.1 + window.y1());
    let (column, row) = (first.0 / ACROSS, first.1 / TILE);
    let columns = last.0 / ACROSS - column + 1;
    Area {
        window,
        column,
        row,
        columns,
        rows: last.1 / TILE - row + 1,
        x: window.x0() - (first.0 % ACROSS) as i32,
        y: window.y0() - (first.1 % TILE) as i32,
        shift: columns.next_power_of_two().max(8).ilog2(),
    }
}

/// The best candidate so far, and what a bound has to be for another to be better.
#[derive(Clone, Copy)]
struct Best<B> {
    key: OrderKey,
    /// `|x| + |y|` of its displacement.
    length: u32,
    /// The largest bound with which a candidate may win that is no further away than the best.
    near: B,
    /// The largest with which one may that is: it has to cost less. `None` where nothing does.
    far: Option<B>,
}

impl<B: Bound> Best<B> {
    #[inline(always)]
    fn new(key: OrderKey) -> Self {
        let (x, y) = key.displacement();
        Self {
            key,
            length: x.unsigned_abs() + y.unsigned_abs(),
            near: B::from_cost(key.cost()),
            far: key.cost().checked_sub(1).map(B::from_cost),
        }
    }

    /// The largest bound with which a candidate may win that is `distance` or further from the zero
    /// vector; `None` where none does.
    #[inline(always)]
    fn worst(&self, distance: u32) -> Option<B> {
        if distance > self.length { self.far } else { Some(self.near) }
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
const fn lane_x(lane: usize) -> i32 {
    (lane / (TILE * TILE) * TILE + lane % TILE) as i32
}

#[inline(always)]
const fn lane_y(lane: usize) -> i32 {
    (lane / TILE % TILE) as i32
}

/// A bit for each candidate in `window` of the group whose first is displaced by `(x, y)`.
#[inline(always)]
fn inside(window: &Window, x: i32, y: i32) -> u32 {
    /// The lanes of the columns from one on, and of the rows.
    const COLUMNS: [u32; ACROSS + 1] = lanes_from(true);
    const ROWS: [u32; ACROSS + 1] = lanes_from(false);
    let from = |lanes: &[u32; ACROSS + 1], first: i32| lanes[first.clamp(0, ACROSS as i32) as usize];
    let columns = from(&COLUMNS, window.x0() - x) & !from(&COLUMNS, window.x1() + 1 - x);
    let rows = from(&ROWS, window.y0() - y) & !from(&ROWS, window.y1() + 1 - y);
    columns & rows
}

/// Element `i` has a bit for each candidate of a group whose column, or row, is `i` or more.
const fn lanes_from(columns: bool) -> [u32; ACROSS + 1] {
    let mut lanes = [0; ACROSS + 1];
    let mut first = 0;
    while first <= ACROSS {
        let mut lane = 0;
        while lane < GROUP {
            let place = if columns { lane_x(lane) } else { lane_y(lane) };
            if place >= first as i32 {
                lanes[first] |= 1 << lane;
            }
            lane += 1;
        }
        first += 1;
    }
    lanes
}

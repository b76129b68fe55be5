//! Exact search that computes the costs of few candidates: successive elimination.
//!
//! The sum of a part of a block and that of the same part of a candidate differ by no more than
//! their samples do. So the differences of the sums, added over the parts, are a lower bound of the
//! SAD (and their squares over the samples of a part, added, of the SSD), and a candidate whose
//! bound is worse than the best cost so far cannot win. Bounds, each tighter and dearer than the one
//! before, thin the candidates out:
//!
//! 1. a group of 8 × 4 candidates, by the least and the largest sums among them;
//! 2. each candidate of a group, by the same large parts;
//! 3. each that is left, by parts of half the side, in blocks that are large;
//!
//! and the cost of those that remain decides. Equal costs are decided by the order of full search:
//! a bound that equals the best cost eliminates only what is further away than the best. The result
//! is therefore that of exhaustive search, whatever is tried first; but the sooner a good candidate
//! is found, the more are eliminated, so that the vectors around and that of the last field come
//! first, then the group of the least bound.

use super::area::{Area, Group, lane_x, lane_y};
use super::bounds::{Bound, Parts};
use super::experience::{Experience, StepCosts};
use super::search::{Block, Job, Room};
use super::sums::{GROUP, SPARE_GROUPS, Sums, TILE};
use super::tile::{Candidates, Engine};
use crate::estimator::{Metric, MotionVector, OrderKey, UNITS_PER_SAMPLE, Window};

/// The sides of the parts that bound the cost of a block of `side` samples: the large ones and, where
/// a candidate costs so much that they pay, smaller ones.
pub(super) fn sides_of_parts(side: usize) -> (usize, Option<usize>) {
    match side {
        _ if side.is_multiple_of(16) && side > 16 => (16, Some(8)),
        _ if side.is_multiple_of(8) && side > 8 => (8, None),
        _ => (TILE, None),
    }
}

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
const MOST_BOUNDS: usize = 2048;

/// Groups that are searched together.
const BATCH: usize = 32;

/// Candidates that are computed together.
const CHUNK: usize = 16;

/// Exhaustive search of a block, compiled for the same instructions.
pub(super) type Exhaustive = fn(Block<'_>, &mut Room) -> OrderKey;

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
    /// Those of them that are left: where their sums are, what bounds their candidates, and a bit for
    /// each candidate that may be the best.
    groups: [Group; BATCH],
    starts: [u32; BATCH],
    bounds_of: [[B; GROUP]; BATCH],
    left_of: [u32; BATCH],
    /// From the first sample of a group's first candidate to those of the others.
    lane_offsets: [u32; GROUP],
    room: Room,
}

/// A block, and what follows from it alone.
struct Target<'a> {
    block: Block<'a>,
    window: Window,
    candidates: Candidates<'a>,
    /// Where its first sample lies in the pictures.
    start: u32,
    pitch: u32,
}

impl<'a> Target<'a> {
    #[inline(always)]
    fn new(block: Block<'a>) -> Self {
        let (window, candidates) = (block.window(), block.candidates());
        Self { block, window, candidates, start: block.start() as u32, pitch: block.pitch() as u32 }
    }

    /// The displacement of the candidate that is nearest to `vector`.
    #[inline(always)]
    fn nearest(&self, vector: MotionVector) -> (i32, i32) {
        let (x, y) = (i32::from(vector.x) / UNITS_PER_SAMPLE, i32::from(vector.y) / UNITS_PER_SAMPLE);
        (x.clamp(self.window.x0(), self.window.x1()), y.clamp(self.window.y0(), self.window.y1()))
    }

    /// Where the first sample of the candidate displaced by `(x, y)` lies.
    #[inline(always)]
    fn offset(&self, (x, y): (i32, i32)) -> u32 {
        self.start.wrapping_add_signed(y.wrapping_mul(self.pitch as i32).wrapping_add(x))
    }
}

impl<'a, E: Engine, B: Bound> Row<'a, E, B> {
    const COSTS: StepCosts = StepCosts::of::<E>();

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
        let pitch = job.reference.layout().pitch;
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
            groups: [Group::default(); BATCH],
            starts: [0; BATCH],
            bounds_of: [[B::default(); GROUP]; BATCH],
            left_of: [0; BATCH],
            lane_offsets: std::array::from_fn(|lane| (lane_y(lane) as usize * pitch) as u32 + lane_x(lane) as u32),
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
        if self.experience.pauses() {
            return None;
        }
        let target = Target::new(block);
        let mut best = Best::new(self.first(&target, left));
        self.coarse.sum(block.samples(), block.pitch());
        if self.sums.fine().is_some() {
            self.fine.sum(block.samples(), block.pitch());
        }
        let area = Area::new(block, target.window);
        let mut cost = Self::COSTS.block;
        for strip in area.strips(MOST_BOUNDS >> area.shift) {
            let Some(spent) = self.search_strip(&target, &strip, &mut best) else {
                self.experience.note_failure();
                return None;
            };
            cost += spent;
        }
        if cost > target.window.candidates() {
            self.experience.note_failure();
        } else {
            self.experience.note_success();
        }
        Some(best.key)
    }

    /// The best of the candidates that are likely to be good.
    #[inline(always)]
    fn first(&self, target: &Target<'_>, left: Option<MotionVector>) -> OrderKey {
        let Block { job, column, row } = target.block;
        let (last, columns) = (job.last, job.parameters.grid().columns);
        let index = row * columns + column;
        let around = [left.as_ref(), last.get(index), last.get(index + 1), last.get(index + columns)];
        let mut displacements = [(0, 0); 5];
        for (displacement, vector) in displacements[1..].iter_mut().zip(around) {
            *displacement = target.nearest(vector.copied().unwrap_or_default());
        }
        let (offsets, mut costs) = (displacements.map(|displacement| target.offset(displacement)), [0; 5]);
        B::costs(self.engine, &target.candidates, &offsets, &mut costs);
        let keys = costs.into_iter().zip(displacements).map(|(cost, (x, y))| OrderKey::new(cost, x, y));
        keys.fold(OrderKey::WORST, Ord::min)
    }

    /// Makes `best` the best of itself and the candidates in `area`; what it cost. `None` where that
    /// would take longer than exhaustive search: it is not done then.
    #[inline(always)]
    fn search_strip(&mut self, target: &Target<'_>, area: &Area, best: &mut Best<B>) -> Option<usize> {
        let first = match area.shift {
            ..=3 => self.bound_groups::<8>(area),
            4 => self.bound_groups::<16>(area),
            _ => self.bound_groups::<SPARE_GROUPS>(area),
        };
        self.try_least_of(target, area, first, best);
        let chunks = (area.rows << area.shift).div_ceil(GROUP);
        let mut left = 0;
        for chunk in 0..chunks {
            let bounds = self.bounds[chunk * GROUP..].first_chunk().expect("MOST_BOUNDS in whole chunks");
            self.left[chunk] = B::at_most(self.engine, bounds, best.near);
            // What only equals the best is further away as a rule.
            left += best.far.map_or(0, |far| B::at_most(self.engine, bounds, far).count_ones() as usize);
        }
        if self.experience.expects_failure(left, GROUP * area.columns * area.rows) {
            return None;
        }
        let (mut cost, mut searched, mut count) = (0, 1, 0);
        for chunk in 0..chunks {
            let mut bits = self.left[chunk];
            while bits != 0 {
                let index = chunk * GROUP + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // Without a branch, as there is no telling.
                self.batch[count] = index as u16;
                count += usize::from(best.admits(self.bounds[index], area.group(index).distance()));
                if count == BATCH {
                    cost += self.search_batch(target, area, count, best);
                    searched += count;
                    count = 0;
                }
            }
        }
        cost += self.search_batch(target, area, count, best);
        self.experience.note_cost(searched + count, cost);
        Some(cost)
    }

    /// Makes `best` the better of itself and the candidate of least bound in the group whose bound is
    /// at `index`.
    #[inline(always)]
    fn try_least_of(&mut self, target: &Target<'_>, area: &Area, index: usize, best: &mut Best<B>) {
        let group = area.group(index);
        let starts = [self.sums.offset(group.place, (0, 0)) as u32];
        let mut bounds = [[B::default(); GROUP]];
        B::of_groups(self.engine, &self.coarse, self.sums.coarse(), &starts, &mut bounds);
        let inside = area.inside(&group);
        if inside == 0 {
            return;
        }
        let least = bounds[0].into_iter().fold(B::WORST, B::min);
        let lanes = B::at_most(self.engine, &bounds[0], least);
        let lanes = if lanes & inside == 0 { inside } else { lanes & inside };
        let (x, y) = group.displacement(lanes.trailing_zeros() as usize);
        let mut costs = [0];
        B::costs(self.engine, &target.candidates, &[target.offset((x, y))], &mut costs);
        best.improve(OrderKey::new(costs[0], x, y));
    }

    /// Makes `best` the best of itself and the candidates of the first `count` groups of the batch;
    /// what it cost. Each step is done for all before the next one is for those that it leaves, so
    /// that there is little to be guessed by the branch predictor.
    #[inline(always)]
    fn search_batch(&mut self, target: &Target<'_>, area: &Area, count: usize, best: &mut Best<B>) -> usize {
        let Self { engine, sums, coarse, fine, batch, groups, starts, bounds_of, left_of, .. } = self;
        let mut cost = Self::COSTS.bounds * count;
        for (index, (group, start)) in batch[..count].iter().zip(groups.iter_mut().zip(&mut *starts)) {
            *group = area.group(usize::from(*index));
            *start = sums.offset(group.place, (0, 0)) as u32;
        }
        B::of_groups(*engine, coarse, sums.coarse(), &starts[..count], bounds_of);
        // The candidate of the least bound of all.
        let mut least = [B::WORST; GROUP];
        for bounds in &bounds_of[..count] {
            for (least, bound) in least.iter_mut().zip(bounds) {
                *least = (*least).min(*bound);
            }
        }
        let least = least.into_iter().fold(B::WORST, B::min);
        let (mut i_of_least, mut lanes_of_least) = (0, 0);
        for (i, bounds) in bounds_of[..count].iter().enumerate() {
            let lanes = B::at_most(*engine, bounds, least);
            (i_of_least, lanes_of_least) = if lanes != 0 { (i, lanes) } else { (i_of_least, lanes_of_least) };
        }
        let group = groups[i_of_least];
        let (x, y) = group.displacement(lanes_of_least.trailing_zeros() as usize % GROUP);
        if target.window.contains((x, y)) {
            let mut costs = [0];
            B::costs(*engine, &target.candidates, &[target.offset((x, y))], &mut costs);
            best.improve(OrderKey::new(costs[0], x, y));
        }
        let mut remain = 0;
        for i in 0..count {
            let (group, bounds) = (groups[i], bounds_of[i]);
            let left = best.admitted(*engine, &bounds, group.distance()) & area.inside(&group);
            (groups[remain], starts[remain], left_of[remain], bounds_of[remain]) =
                (group, starts[i], left, bounds);
            remain += usize::from(left != 0);
        }
        if let Some(level) = sums.fine() {
            cost += Self::COSTS.bounds * remain;
            B::of_groups(*engine, fine, level, &starts[..remain], bounds_of);
            for i in 0..remain {
                left_of[i] &= best.admitted(*engine, &bounds_of[i], groups[i].distance());
            }
        }
        let (mut offsets, mut lanes, mut costs) = ([0; CHUNK], [(0, 0); CHUNK], [0; CHUNK]);
        let mut count = 0;
        let found = best.key;
        for i in 0..remain {
            let mut left = left_of[i];
            if best.key != found {
                left &= best.admitted(*engine, &bounds_of[i], groups[i].distance());
            }
            let start = target.offset((groups[i].x, groups[i].y));
            while left != 0 {
                let lane = left.trailing_zeros() as usize;
                left &= left - 1;
                (offsets[count], lanes[count]) = (start.wrapping_add(self.lane_offsets[lane]), (i, lane));
                count += 1;
                if count == CHUNK {
                    Self::try_all(*engine, target, groups, (&offsets, &lanes, &mut costs), best);
                    cost += Self::COSTS.one * count;
                    count = 0;
                }
            }
        }
        Self::try_all(*engine, target, groups, (&offsets[..count], &lanes, &mut costs), best);
        cost + Self::COSTS.one * count
    }

    /// Makes `best` the best of itself and the candidates at `offsets`.
    #[inline(always)]
    fn try_all(
        engine: E,
        target: &Target<'_>,
        groups: &[Group],
        (offsets, lanes, costs): (&[u32], &[(usize, usize)], &mut [u32; CHUNK]),
        best: &mut Best<B>,
    ) {
        B::costs(engine, &target.candidates, offsets, costs);
        for (cost, (group, lane)) in costs[..offsets.len()].iter().zip(lanes) {
            if *cost <= best.key.cost() {
                let (x, y) = groups[*group].displacement(*lane);
                best.improve(OrderKey::new(*cost, x, y));
            }
        }
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

    /// Takes `key` where it is better.
    #[inline(always)]
    fn improve(&mut self, key: OrderKey) {
        if key < self.key {
            *self = Self::new(key);
        }
    }

    /// Whether a candidate may win with `bound` that is `distance` or further from the zero vector.
    #[inline(always)]
    fn admits(&self, bound: B, distance: u32) -> bool {
        (bound <= self.near) & (distance <= self.length || self.far.is_some_and(|far| bound <= far))
    }

    /// A bit for each of a group's `bounds` with which a candidate may win that is `distance` or
    /// further from the zero vector.
    #[inline(always)]
    fn admitted<E: Engine>(&self, engine: E, bounds: &[B; GROUP], distance: u32) -> u32 {
        if distance <= self.length {
            return B::at_most(engine, bounds, self.near);
        }
        self.far.map_or(0, |far| B::at_most(engine, bounds, far))
    }
}

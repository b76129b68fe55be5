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
//! 3. each of a group with many left, by parts of half the side, where the last picture had so many
//!    that these sums pay, and only where the engine cannot compute the costs of a group at once;
//!
//! and the cost of those that remain decides, computed one by one, or of a whole group at once. Equal
//! costs are decided by the order of full search: a bound that equals the best cost eliminates only
//! what is further away than the best. The result is therefore that of exhaustive search, whatever is
//! tried first; but the sooner a good candidate is found, the more are eliminated, so that the vectors
//! around and that of the last field come first, then the group of the least bound.

use std::ops::Range;

use super::area::{Area, Group, lane_x, lane_y};
use super::bounds::{self, Bound, Parts};
use super::experience::{Experience, StepCosts};
use super::search::{Block, Job, Room};
use super::sums::{GROUP, SPARE_GROUPS, Sums, TILE};
use super::tile::{Candidates, Engine};
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, UNITS_PER_SAMPLE, Window};

/// The sides of the parts that bound the cost of a block: the large ones and, where a candidate costs
/// so much that they may pay, smaller ones.
pub(super) fn sides_of_parts<E: Engine>(_: E, parameters: &Parameters) -> (usize, Option<usize>) {
    let side = parameters.block_size;
    let (large, small) = match side {
        _ if side.is_multiple_of(16) && side > 16 => (16, Some(8)),
        _ if side.is_multiple_of(8) && side > 8 => (8, Some(TILE)),
        _ => (TILE, None),
    };
    let worth_a_group = match parameters.metric {
        Metric::Sad => u16::worth_a_group::<E>(side),
        Metric::Ssd => u32::worth_a_group::<E>(side),
    };
    (large, small.filter(|_| worth_a_group.is_none()))
}

/// The rows of tiles whose sums the row `row` of blocks reaches.
pub(super) fn rows_of_tiles(job: &Job<'_>, row: usize) -> Range<usize> {
    let block = Block { job, column: 0, row };
    let (window, side) = (block.window(), job.parameters.block_size);
    let layout = job.reference.layout();
    let row_at = |y: i32| layout.position(0, (row * side) as i32 + y).1 / TILE;
    row_at(window.y0())..row_at(window.y1()) + side / TILE
}

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
const MOST_BOUNDS: usize = 2048;

/// So many samples ahead of a block the current picture is fetched.
const AHEAD: usize = 128;

/// Groups that are searched together.
const BATCH: usize = 32;

/// Candidates that are enough to be computed together.
const CHUNK: usize = 32;

/// Candidates left in a group by its large parts that are enough for smaller ones to pay.
const CROWD: u32 = 3;

/// Candidates a block in such groups that are enough for the sums of smaller parts to pay.
pub(super) const CROWDED: usize = 100;

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
    /// What they are, where their sums are, and what bounds their candidates.
    groups: [Group; BATCH],
    starts: [u32; BATCH],
    bounds_of: [[B; GROUP]; BATCH],
    /// Those that have many candidates left, and the tighter bounds or the costs of these.
    picked: [u16; BATCH],
    of_picked: [[B; GROUP]; BATCH],
    /// Where candidates are whose costs are computed together, and these costs.
    offsets: [u32; CHUNK + GROUP],
    costs: [u32; CHUNK + GROUP],
    /// From the first sample of a group's first candidate to those of the others.
    lane_offsets: [u32; GROUP],
    /// Candidates left in a group with which all are computed at once.
    worth_a_group: u32,
    room: Room,
}

/// A block, and what follows from it alone.
struct Target<'a> {
    block: Block<'a>,
    window: Window,
    candidates: Candidates<'a>,
    /// Where its first sample lies in the pictures.
    start: u32,
    /// In which column of the padded picture that is.
    column: u32,
    pitch: u32,
}

impl<'a> Target<'a> {
    #[inline(always)]
    fn new(block: Block<'a>) -> Self {
        let (window, candidates) = (block.window(), block.candidates());
        let (column, row) = block.position();
        let pitch = block.pitch();
        let start = (row * pitch + column) as u32;
        Self { block, window, candidates, start, column: column as u32, pitch: pitch as u32 }
    }

    /// The displacement of the candidate that is nearest to `vector`.
    #[inline(always)]
    fn nearest(&self, vector: MotionVector) -> (i32, i32) {
        let (x, y) = (i32::from(vector.x) / UNITS_PER_SAMPLE, i32::from(vector.y) / UNITS_PER_SAMPLE);
        (x.clamp(self.window.x0(), self.window.x1()), y.clamp(self.window.y0(), self.window.y1()))
    }

    /// The displacement of the candidate whose first sample lies at `offset`.
    #[inline(always)]
    fn displacement(&self, offset: u32) -> (i32, i32) {
        // From the first sample of the row that the block begins in, which no candidate is left of.
        let offset = offset as i32 - self.start as i32 + self.column as i32;
        let row = offset.div_euclid(self.pitch as i32);
        (offset - row * self.pitch as i32 - self.column as i32, row)
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
        (experience.exhaustive, experience.crowded) = (0, 0);
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
            picked: [0; BATCH],
            of_picked: [[B::default(); GROUP]; BATCH],
            offsets: [0; CHUNK + GROUP],
            costs: [0; CHUNK + GROUP],
            lane_offsets: std::array::from_fn(|lane| {
                (lane_y(lane) as usize * pitch) as u32 + lane_x(lane) as u32
            }),
            worth_a_group: B::worth_a_group::<E>(side).unwrap_or(u32::MAX),
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
        // Blocks to come lie beside this one, row by row in another cache line.
        for y in 0..self.job.parameters.block_size {
            self.engine.prefetch(block.samples(), y * block.pitch() + AHEAD);
        }
        let mut best = Best::new(self.first(&target, left));
        self.coarse.sum(self.engine, block.samples(), block.pitch());
        if self.sums.fine().is_some() {
            self.fine.sum(self.engine, block.samples(), block.pitch());
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
        if cost > StepCosts::CANDIDATE * target.window.candidates() {
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
            self.left[chunk] = B::at_most(self.engine, bounds, best.limits[1]) & best.lanes[1];
            left += self.left[chunk].count_ones() as usize;
            // What only equals the best has to be near: that is rare, but in flat pictures the rule.
            let equal = B::at_most(self.engine, bounds, best.limits[0]) & !self.left[chunk];
            if equal != 0 {
                let distances = area.distances(chunk * GROUP);
                self.left[chunk] |= equal & u16::at_most(self.engine, &distances, best.length as u16);
            }
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
                // Without a branch. What is not there has the worst bound, which a cost may equal.
                self.batch[count] = index as u16;
                count += usize::from(area.has(index));
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
        let starts = [self.sums.offset(group.place) as u32];
        let mut bounds = [[B::default(); GROUP]];
        B::of_groups(self.engine, &self.coarse, self.sums.coarse(), &starts, &mut bounds);
        let inside = group.inside;
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
        let Self { engine, sums, coarse, fine, batch, groups, starts, bounds_of, .. } = self;
        let Self { offsets, costs, lane_offsets, picked, of_picked, experience, worth_a_group, .. } = self;
        let is_fine = sums.fine().is_some();
        let mut cost = Self::COSTS.bounds * count;
        for (index, (group, start)) in batch[..count].iter().zip(groups.iter_mut().zip(&mut *starts)) {
            *group = area.group(usize::from(*index));
            *start = sums.offset(group.place) as u32;
        }
        B::of_groups(*engine, coarse, sums.coarse(), &starts[..count], bounds_of);
        if let Some(level) = sums.fine() {
            // The groups of which few candidates are left stay as they are.
            let mut many = 0;
            for i in 0..count {
                let left = best.admitted(*engine, &bounds_of[i], groups[i].distance()) & groups[i].inside;
                (picked[many], starts[many]) = (i as u16, starts[i]);
                many += usize::from(left.count_ones() >= CROWD);
                experience.crowded += crowd(left);
            }
            cost += Self::COSTS.bounds * many;
            B::of_groups(*engine, fine, level, &starts[..many], of_picked);
            for (i, finer) in picked[..many].iter().zip(&*of_picked) {
                bounds_of[usize::from(*i)] = *finer;
            }
        }
        // Groups of which many candidates are left, all of them at once; what is left of the others is looked
        // at again, as the best may be better then.
        let (mut many, mut few) = (0, 0);
        for i in 0..count {
            let left = best.admitted(*engine, &bounds_of[i], groups[i].distance()) & groups[i].inside;
            experience.crowded += if is_fine { 0 } else { crowd(left) };
            (picked[many], starts[many]) = (i as u16, target.offset((groups[i].x, groups[i].y)));
            let is_whole = (left.count_ones() >= *worth_a_group) & target.candidates.has_group(starts[many]);
            many += usize::from(is_whole);
            batch[few] = i as u16;
            few += usize::from((left != 0) & !is_whole);
        }
        if many > 0 {
            cost += Self::COSTS.group * many;
            B::costs_of_groups(*engine, &target.candidates, &starts[..many], of_picked);
            for (i, costs) in picked[..many].iter().zip(&*of_picked) {
                best.improve_by(*engine, costs, &groups[usize::from(*i)]);
            }
        }
        let mut listed = 0;
        for (n, i) in batch[..few].iter().map(|i| usize::from(*i)).enumerate() {
            let group = groups[i];
            let left = best.admitted(*engine, &bounds_of[i], group.distance()) & group.inside;
            let start = target.offset((group.x, group.y));
            let room = offsets[listed..].first_chunk_mut().expect("a group more than CHUNK");
            engine.list(left, start, lane_offsets, room);
            listed += left.count_ones() as usize;
            if listed >= CHUNK || n == few - 1 {
                cost += Self::COSTS.one * listed;
                let offsets = &offsets[..listed];
                B::costs(*engine, &target.candidates, offsets, costs);
                // Mostly none is as good as the best.
                let least = costs[..listed].iter().copied().fold(u32::MAX, u32::min);
                if least <= best.key.cost() {
                    for (_, offset) in costs.iter().zip(offsets).filter(|(cost, _)| **cost == least) {
                        let (x, y) = target.displacement(*offset);
                        best.improve(OrderKey::new(least, x, y));
                    }
                }
                listed = 0;
            }
        }
        cost
    }

    /// Bounds the groups of `area`, `N` at once; where the least bound is.
    #[inline(always)]
    fn bound_groups<const N: usize>(&mut self, area: &Area) -> usize {
        let end = area.rows << area.shift;
        let start = self.sums.offset((area.column, area.row));
        let extremes = |part: usize| self.sums.extremes(start + self.coarse.steps[part]);
        let least = if self.coarse.count == 4 && 1 << area.shift == N {
            let parts = std::array::from_fn(|part| (self.coarse.sums[part], extremes(part)));
            let shape = (area.rows, area.columns, self.sums.groups());
            B::of_area::<E, N>(self.engine, &parts, self.coarse.shift, shape, &mut self.bounds[..end])
        } else {
            for (at, bounds) in self.bounds[..end].chunks_exact_mut(N).enumerate() {
                let (column, row) = ((at * N) & ((1 << area.shift) - 1), (at * N) >> area.shift);
                let mut sums = [B::WORST; N];
                if column < area.columns {
                    sums = [B::default(); N];
                    for part in 0..self.coarse.count {
                        let at = row * self.sums.groups() + column;
                        let (least, most) = extremes(part);
                        let part = (self.coarse.sums[part], (&least[at..], &most[at..]));
                        sums = bounds::add_extremes(sums, part, self.coarse.shift);
                    }
                    sums[N.min(area.columns - column)..].fill(B::WORST);
                }
                bounds.copy_from_slice(&sums);
            }
            self.bounds[..end].iter().copied().fold(B::WORST, B::min)
        };
        // Whole registers of bounds are looked at.
        self.bounds[end..end.next_multiple_of(GROUP)].fill(B::WORST);
        let chunks = self.bounds[..end.next_multiple_of(GROUP)].as_chunks::<GROUP>().0;
        let bits = chunks.iter().map(|bounds| B::at_most(self.engine, bounds, least));
        let first = bits.enumerate().find(|(_, bits)| *bits != 0);
        first.map_or(0, |(chunk, bits)| chunk * GROUP + bits.trailing_zeros() as usize)
    }
}

/// The best candidate so far, and what a bound has to be for another to be better.
#[derive(Clone, Copy)]
struct Best<B> {
    key: OrderKey,
    /// `|x| + |y|` of its displacement.
    length: u32,
    /// The largest bound with which a candidate may win that is no further away than the best, and
    /// with which one may that is: it has to cost less.
    limits: [B; 2],
    /// A bit for each lane where there are such bounds: nothing costs less than zero.
    lanes: [u32; 2],
}

impl<B: Bound> Best<B> {
    #[inline(always)]
    fn new(key: OrderKey) -> Self {
        let (x, y) = key.displacement();
        Self {
            key,
            length: x.unsigned_abs() + y.unsigned_abs(),
            limits: [B::from_cost(key.cost()), B::from_cost(key.cost().saturating_sub(1))],
            lanes: [u32::MAX, if key.cost() > 0 { u32::MAX } else { 0 }],
        }
    }

    /// Takes `key` where it is better.
    #[inline(always)]
    fn improve(&mut self, key: OrderKey) {
        if key < self.key {
            *self = Self::new(key);
        }
    }

    /// Makes it the best of itself and the candidates of `group`.
    #[inline(always)]
    fn improve_by<E: Engine>(&mut self, engine: E, costs: &[B; GROUP], group: &Group) {
        let better = B::at_most(engine, costs, self.limits[0]) & group.inside;
        if better == 0 {
            return;
        }
        // In flat pictures many are equal: all are compared at once.
        let mut least = B::WORST;
        for (lane, cost) in costs.iter().enumerate() {
            least = least.min(if better >> lane & 1 != 0 { *cost } else { B::WORST });
        }
        let lanes = B::at_most(engine, costs, least) & better;
        let (x, y) = group.displacement(group.nearest(lanes));
        self.improve(OrderKey::new(least.into(), x, y));
    }

    /// A bit for each of a group's `bounds` with which a candidate may win that is `distance` or
    /// further from the zero vector.
    #[inline(always)]
    fn admitted<E: Engine>(&self, engine: E, bounds: &[B; GROUP], distance: u32) -> u32 {
        // Without a branch, which would be hard to predict.
        let is_far = usize::from(distance > self.length);
        B::at_most(engine, bounds, self.limits[is_far]) & self.lanes[is_far]
    }
}

/// How many candidates are `left` in a group, if many are.
#[inline(always)]
fn crowd(left: u32) -> usize {
    let count = left.count_ones();
    if count >= CROWD { count as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<E: Engine>(engine: E) {
        const PITCH: usize = 192;
        for side in [4, 8, 12, 16, 20] {
            if u16::worth_a_group::<E>(side).is_none() {
                continue;
            }
            // Noise, and errors as large as can be.
            let noise = |length: usize| -> Vec<u8> {
                (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
            };
            let noises = (noise(PITCH * side), noise(PITCH * 41).split_off(PITCH));
            for (current, reference) in [noises, (vec![255; PITCH * side], vec![0; PITCH * 40])] {
                let candidates = Candidates::new(&current, &reference, PITCH, side);
                let offsets = [0, 5, 63, 3 * PITCH as u32 + 41];
                let mut costs = [[0; GROUP]; 4];
                u16::costs_of_groups(engine, &candidates, &offsets, &mut costs);
                for (offset, costs) in offsets.iter().zip(costs) {
                    for (lane, cost) in costs.into_iter().enumerate() {
                        let at = offset + (lane_y(lane) * PITCH as i32 + lane_x(lane)) as u32;
                        assert_eq!(u32::from(cost), engine.sad_of_one(&candidates.pair(at)), "{side} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn groups_cost_what_their_candidates_do() {
        check(super::super::portable::Portable::new());
        #[cfg(target_arch = "x86_64")]
        {
            super::super::avx2::Avx2::new().into_iter().for_each(check);
            super::super::avx512::Avx512::new().into_iter().for_each(check);
        }
    }

    #[test]
    fn groups_that_end_past_the_reference_are_not_there() {
        let (current, reference) = ([0; 64 * 16], [0; 64 * 20]);
        let candidates = Candidates::new(&current, &reference, 64, 16);
        assert!(candidates.has_group(64) && !candidates.has_group(65));
    }
}

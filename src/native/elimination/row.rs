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
//! 3. each of a group with many left, by parts of half the side, where the last frame had so many
//!    that these sums pay, and only where the engine cannot compute the costs of a group at once;
//!
//! and the cost of those that remain decides, computed one by one, or of a whole group at once. Equal
//! costs are decided by the order of full search: a bound that equals the best cost eliminates only
//! what is further away than the best. The result is therefore that of exhaustive search, whatever is
//! tried first; but the sooner a good candidate is found, the more are eliminated, so that the vectors
//! of the row above and that of the last field come first, then the group of the least bound.

use std::ops::Range;

use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, Window};
use crate::native::elimination::area::{self, Area, Group, PUT, lane_x, lane_y};
use crate::native::elimination::backoff::{Experience, StepCosts};
use crate::native::elimination::bounds::{self, Bound, Parts, Quarters};
use crate::native::elimination::sums::{ACROSS, GROUP, SPARE_GROUPS, Sums, TILE};
use crate::native::elimination::workspace::{BATCH, Buffers, CHUNK, MOST_BOUNDS, Memory, RUN, Workspace};
use crate::native::exhaustive::tile::{Candidates, Engine};
use crate::native::exhaustive::{Block, Job, Room};

/// The sides of the parts that bound the cost of a block: the large ones and, where a candidate costs
/// so much that they may pay, smaller ones.
pub fn sides_of_parts<E: Engine>(_: E, parameters: &Parameters) -> (usize, Option<usize>) {
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
pub fn rows_of_tiles(job: &Job<'_>, row: usize) -> Range<usize> {
    let block = Block { job, column: 0, row };
    let (window, side) = (block.window(), job.parameters.block_size);
    let layout = job.reference.layout();
    let row_at = |y: i32| layout.position(0, (row * side) as i32 + y).1 / TILE;
    row_at(window.y0())..row_at(window.y1()) + side / TILE
}

/// So many samples ahead of a block the current frame is fetched.
const AHEAD: usize = 128;

/// Candidates of a block that are tried first.
const KNOWN: usize = 4;
const _: () = assert!(RUN * KNOWN <= CHUNK + GROUP && RUN <= BATCH, "room for those of all blocks of a run");

/// Candidates left in a group by its large parts that are enough for smaller ones to pay.
const CROWD: u32 = 3;

/// Candidates a block in such groups that are enough for the sums of smaller parts to pay.
pub const CROWDED: usize = 100;

/// Exhaustive search of a block, compiled for the same instructions.
pub type Exhaustive = fn(Block<'_>, &mut Room) -> OrderKey;

/// Writes the vectors of the blocks in row `row` of the grid.
#[inline(always)]
pub fn eliminate_row<E: Engine>(
    engine: E,
    exhaustive: Exhaustive,
    job: &Job<'_>,
    workspace: &mut Workspace,
    (row, vectors): (usize, &mut [MotionVector]),
    experience: &mut Experience,
) {
    let Workspace { sums, memory, found } = workspace;
    let of_last_field = || job.last.chunks_exact(vectors.len()).nth(row.checked_sub(1)?);
    let above = found.above(row).or_else(of_last_field).unwrap_or_default();
    match memory {
        Memory::Sad(buffers) => {
            Row::<E, u16>::new(engine, exhaustive, job, sums, buffers, experience, (row, above))
                .search(vectors);
        }
        Memory::Ssd(buffers) => {
            Row::<E, u32>::new(engine, exhaustive, job, sums, buffers, experience, (row, above))
                .search(vectors);
        }
    }
    found.keep(row, vectors);
}

/// Searches a row of blocks, some of them together: each step is done for all of these before the next one is.
/// The steps of a block wait for each other, and how many groups and candidates each leaves cannot be foreseen
/// by the branch predictor; in long loops over those of many blocks the CPU is at work on the next ones
/// meanwhile.
struct Row<'a, E, B> {
    engine: E,
    exhaustive: Exhaustive,
    job: &'a Job<'a>,
    sums: &'a Sums,
    experience: &'a mut Experience,
    /// Which row of the grid, and the vectors of the one above, as far as they are known.
    row: usize,
    above: &'a [MotionVector],
    coarse: Parts,
    fine: Parts,
    /// Blocks that are searched together, at most.
    most: usize,
    /// The columns of blocks whose windows no side of the frame cuts, and their window.
    inner: Range<usize>,
    window: Window,
    buffers: &'a mut Buffers<B>,
    /// From the first sample of a group's first candidate to those of the others.
    lane_offsets: [u32; GROUP],
    /// Candidates left in a group with which all are computed at once; the largest number where they never are.
    worth_a_group: u32,
}

/// The lanes of a group of groups.
const LANES: [u32; GROUP] = {
    let mut lanes = [0; GROUP];
    let mut lane = 0;
    while lane < GROUP {
        lanes[lane] = lane as u32;
        lane += 1;
    }
    lanes
};

/// A block, and what follows from it alone.
#[derive(Clone, Copy, Default)]
pub struct Target {
    window: Window,
    area: Area,
    /// Where its first sample lies in the frames.
    start: u32,
    /// In which column of the padded frame that is.
    column: u32,
    pitch: u32,
}

impl Target {
    #[inline(always)]
    fn new(block: Block<'_>, window: Window) -> Self {
        let (column, row) = block.position();
        let pitch = block.pitch();
        let start = (row * pitch + column) as u32;
        let area = Area::new(block, window);
        Self { window, area, start, column: column as u32, pitch: pitch as u32 }
    }

    /// That of the block to the right, where both have the same window and their `side` is that of whole groups.
    #[inline(always)]
    fn next(&self, side: usize) -> Self {
        let mut next = *self;
        (next.start, next.column) = (self.start + side as u32, self.column + side as u32);
        next.area.column += side / ACROSS;
        next
    }

    /// The displacement of the candidate that is nearest to `(x, y)`.
    #[inline(always)]
    fn nearest(&self, (x, y): (i32, i32)) -> (i32, i32) {
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
        area::displaced(self.start, (x, y), self.pitch)
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
        buffers: &'a mut Buffers<B>,
        experience: &'a mut Experience,
        (row, above): (usize, &'a [MotionVector]),
    ) -> Self {
        let side = job.parameters.block_size;
        let columns = job.parameters.grid().columns;
        let window = Block { job, column: columns / 2, row }.window();
        let is_inner = |column: &usize| Block { job, column: *column, row }.window() == window;
        let first = (0..columns / 2).find(is_inner).unwrap_or(columns / 2);
        let last = (columns / 2..columns).rev().find(is_inner).unwrap_or(columns / 2);
        (experience.exhaustive, experience.crowded) = (0, 0);
        let pitch = job.reference.layout().pitch;
        let (coarse, fine) =
            (Parts::new(sums, Some(sums.coarse()), side), Parts::new(sums, sums.fine(), side));
        let most = MOST_BOUNDS / Area::most_bounds(&job.parameters.window).next_multiple_of(GROUP);
        Self {
            engine,
            exhaustive,
            job,
            sums,
            experience,
            row,
            above,
            most: most.min(coarse.most_blocks()).min(fine.most_blocks()).clamp(1, RUN),
            inner: first..last + 1,
            window,
            coarse,
            fine,
            buffers,
            lane_offsets: std::array::from_fn(|lane| {
                (lane_y(lane) as usize * pitch) as u32 + lane_x(lane) as u32
            }),
            worth_a_group: B::worth_a_group::<E>(side).unwrap_or(u32::MAX),
        }
    }

    #[inline(always)]
    fn search(&mut self, vectors: &mut [MotionVector]) {
        let mut column = 0;
        while column < vectors.len() {
            if self.experience.pauses() {
                vectors[column] = self.search_all(column);
                column += 1;
                continue;
            }
            let most = if self.experience.is_wary() { 1 } else { self.most };
            let end = vectors.len().min(column + most);
            self.search_together(column, &mut vectors[column..end]);
            column = end;
        }
    }

    /// The block in `column`.
    #[inline(always)]
    fn block(&self, column: usize) -> Block<'a> {
        Block { job: self.job, column, row: self.row }
    }

    /// Exhaustive search of the block in `column`.
    #[inline(always)]
    fn search_all(&mut self, column: usize) -> MotionVector {
        self.experience.exhaustive += 1;
        (self.exhaustive)(self.block(column), &mut self.buffers.room).vector()
    }

    /// Writes the vectors of the blocks from `column` on.
    #[inline(always)]
    fn search_together(&mut self, column: usize, vectors: &mut [MotionVector]) {
        let (count, side) = (vectors.len(), self.job.parameters.block_size);
        let first = self.block(column);
        let candidates = first.candidates();
        let mut shift = 0;
        for i in 0..count {
            let block = self.block(column + i);
            let is_inner = |column: usize| self.inner.contains(&column);
            let is_next = i > 0 && is_inner(block.column - 1) && side.is_multiple_of(ACROSS);
            self.buffers.targets[i] = if is_inner(block.column) && is_next {
                self.buffers.targets[i - 1].next(side)
            } else {
                let window = if is_inner(block.column) { self.window } else { block.window() };
                Target::new(block, window)
            };
            (self.buffers.spent[i], self.buffers.searched[i]) = (0, 1);
            shift = shift.max(self.buffers.targets[i].area.shift);
        }
        for i in 0..count {
            self.buffers.targets[i].area.shift = shift;
            let samples = &first.samples()[i * side..];
            // Blocks to come lie beside this one, row by row in another cache line.
            for y in 0..side {
                self.engine.prefetch(samples, y * first.pitch() + AHEAD);
            }
            self.coarse.sum(self.engine, i, samples, first.pitch());
            if self.sums.fine().is_some() {
                self.fine.sum(self.engine, i, samples, first.pitch());
            }
        }
        self.try_known(&candidates, column, count);
        let mut failed = 0;
        if count > 1 {
            failed = self.search_strips(&candidates, count);
        } else {
            for strip in self.buffers.targets[0].area.strips(MOST_BOUNDS >> shift) {
                self.buffers.targets[0].area = strip;
                failed = self.search_strips(&candidates, 1);
                if failed != 0 {
                    break;
                }
            }
        }
        for (i, vector) in vectors.iter_mut().enumerate() {
            let (spent, all) = (
                Self::COSTS.block + self.buffers.spent[i],
                StepCosts::CANDIDATE * self.buffers.targets[i].window.candidates(),
            );
            let has_failed = failed >> i & 1 != 0;
            self.experience.note(has_failed || spent > all);
            *vector =
                if has_failed { self.search_all(column + i) } else { self.buffers.best[i].key.vector() };
        }
    }

    /// The best of the candidates of each block that are likely to be good.
    #[inline(always)]
    fn try_known(&mut self, candidates: &Candidates<'_>, column: usize, count: usize) {
        let (last, columns) = (self.job.last, self.job.parameters.grid().columns);
        let Buffers { targets, best, blocks_listed, offsets, costs, .. } = &mut *self.buffers;
        let mut displacements = [[(0, 0); KNOWN]; RUN];
        let displacements = &mut displacements[..count];
        for (i, displacements) in displacements.iter_mut().enumerate() {
            let target = &targets[i];
            let (column, above) = (column + i, self.above);
            let above_left = column.checked_sub(1).and_then(|left| above.get(left));
            let at_last = last.get(self.row * columns + column);
            let around = [above_left, above.get(column), above.get(column + 1), at_last];
            for (n, (displacement, vector)) in displacements.iter_mut().zip(around).enumerate() {
                *displacement = target.nearest(vector.copied().unwrap_or_default().displacement());
                blocks_listed[i * KNOWN + n] = i as u16;
                offsets[i * KNOWN + n] = target.offset(*displacement);
            }
        }
        let listed = count * KNOWN;
        B::costs(self.engine, candidates, (&blocks_listed[..listed], &offsets[..listed]), costs);
        for (i, displacements) in displacements.iter().enumerate() {
            let costs = &costs[i * KNOWN..][..KNOWN];
            let keys = costs.iter().zip(displacements).map(|(cost, (x, y))| OrderKey::new(*cost, *x, *y));
            best[i] = Best::new(keys.fold(OrderKey::WORST, Ord::min));
        }
    }

    /// Makes the best of each block the best of itself and the candidates in its area. A bit for each block
    /// for which that would take longer than exhaustive search: it is not done then.
    #[inline(always)]
    fn search_strips(&mut self, candidates: &Candidates<'_>, count: usize) -> u32 {
        let mut rows = 0;
        for target in &self.buffers.targets[..count] {
            rows = rows.max(target.area.rows);
        }
        let shift = self.buffers.targets[0].area.shift;
        let pitch = (rows << shift).next_multiple_of(GROUP);
        for i in 0..count {
            let first = match shift {
                ..=3 => self.bound_groups::<8>(i, pitch),
                4 => self.bound_groups::<16>(i, pitch),
                _ => self.bound_groups::<SPARE_GROUPS>(i, pitch),
            };
            self.buffers.entries[i] = first as u32;
        }
        self.try_promising(candidates, count);
        let (mut failed, mut listed) = (0, 0);
        for i in 0..count {
            let start = listed;
            let count = self.list_groups(i, pitch, start);
            listed += count;
            if self.experience.expects_failure(count, self.buffers.targets[i].window.candidates()) {
                failed |= 1 << i;
                listed = start;
                continue;
            }
            self.buffers.searched[i] += count;
            self.buffers.spent[i] += Self::COSTS.bounds * count;
            // What there is to know of them, a register of them at once.
            let Buffers { targets, entries, blocks, starts, groups, .. } = &mut *self.buffers;
            let Target { area, start: block, pitch, .. } = targets[i];
            let sums = area.sums(self.sums);
            for k in (start..listed).step_by(PUT) {
                let entries = entries[k..].first_chunk().expect("a chunk more");
                area::put!(starts, k, entries, |entry| area.start_at(entry, sums));
                area::put!(blocks, k, entries, |_| i as u16);
                area.put_groups(entries, k, (block, pitch), groups);
            }
        }
        for batch in (0..listed).step_by(BATCH) {
            self.search_batch(candidates, batch..listed.min(batch + BATCH));
        }
        for i in 0..count {
            if failed >> i & 1 == 0 {
                self.experience.note_cost(self.buffers.searched[i], self.buffers.spent[i]);
            }
        }
        failed
    }

    /// Lists the groups of block `i`, bounded in `pitch` bounds, that may hold a better candidate than its best:
    /// the places of their bounds, from entry `start` on. How many they are.
    #[inline(always)]
    fn list_groups(&mut self, i: usize, pitch: usize, start: usize) -> usize {
        let Buffers { targets, best, bounds, entries, .. } = &mut *self.buffers;
        let (area, best, mut listed) = (targets[i].area, best[i], start);
        let bounds = bounds[i * pitch..][..pitch].as_chunks::<GROUP>().0;
        // What only equals the best has to be near. That is asked by the second loop, where the best costs nothing or
        // half of the groups seem to be left, as in flat frames. Elsewhere few do, and later steps leave them out.
        if best.key.cost() > 0 && best.limits[0] < B::WORST {
            for (chunk, bounds) in bounds.iter().enumerate() {
                let left = B::at_most(self.engine, bounds, best.limits[0]);
                let room = entries[listed..].first_chunk_mut().expect("a chunk more");
                self.engine.list(left, (chunk * GROUP) as u32, &LANES, room);
                listed += left.count_ones() as usize;
            }
            if 2 * (listed - start) <= area.rows * area.columns {
                return listed - start;
            }
        }
        listed = start;
        let distances = area.distances();
        for (chunk, bounds) in bounds.iter().enumerate() {
            let first = (chunk * GROUP) as u32;
            let less = B::at_most(self.engine, bounds, best.limits[1]) & best.lanes[1];
            let near = u16::at_most(self.engine, &distances.from(first), best.length as u16);
            let mut left = less | B::at_most(self.engine, bounds, best.limits[0]) & near;
            if best.limits[0] == B::WORST {
                left &= area.present(first);
            }
            let room = entries[listed..].first_chunk_mut().expect("a chunk more");
            self.engine.list(left, first, &LANES, room);
            listed += left.count_ones() as usize;
        }
        listed - start
    }

    /// Tries the candidate of least bound in the group of least bound, whose place the first entries are, one for
    /// each block.
    #[inline(always)]
    fn try_promising(&mut self, candidates: &Candidates<'_>, count: usize) {
        let Buffers { targets, best, entries, blocks, starts, bounds_of, offsets, costs, .. } =
            &mut *self.buffers;
        for i in 0..count {
            blocks[i] = i as u16;
            let area = &targets[i].area;
            starts[i] = area.start_at(entries[i], area.sums(self.sums));
        }
        let (blocks, starts) = (&blocks[..count], &starts[..count]);
        B::of_groups(self.engine, &self.coarse, self.sums.coarse(), (blocks, starts), &mut **bounds_of);
        let mut displacements = [(0, 0); RUN];
        let displacements = &mut displacements[..count];
        for (i, displacement) in displacements.iter_mut().enumerate() {
            let (target, bounds) = (&targets[i], &bounds_of[i]);
            let group = target.area.group(entries[i], (target.start, target.pitch));
            let least = bounds.iter().copied().fold(B::WORST, B::min);
            let lanes = B::at_most(self.engine, bounds, least);
            let lanes = if lanes & group.inside == 0 { group.inside } else { lanes & group.inside };
            *displacement = target.nearest(group.displacement(lanes.trailing_zeros() as usize % GROUP));
            offsets[i] = target.offset(*displacement);
        }
        B::costs(self.engine, candidates, (blocks, &offsets[..count]), costs);
        for (i, (x, y)) in displacements.iter().enumerate() {
            best[i].improve(OrderKey::new(costs[i], *x, *y));
        }
    }

    /// Makes the best of each block the best of itself and the candidates of the groups listed at `batch`. Each
    /// step is done for all before the next one is for those that it leaves.
    #[inline(always)]
    fn search_batch(&mut self, candidates: &Candidates<'_>, batch: Range<usize>) {
        let Self { engine, sums, coarse, fine, experience, buffers, lane_offsets, worth_a_group, .. } = self;
        let Buffers {
            targets,
            best,
            spent,
            blocks,
            starts,
            bounds_of,
            kept,
            groups,
            few,
            picked,
            blocks_of_picked,
            of_picked,
            blocks_listed,
            offsets,
            costs,
            ..
        } = &mut **buffers;
        let (blocks, starts) = (&blocks[batch.clone()], &mut starts[batch.clone()]);
        let group = |i: usize| groups.get(batch.start + i);
        let (bounds_of, of_picked) = (&mut **bounds_of, &mut **of_picked);
        let is_fine = sums.fine().is_some();
        B::of_groups(*engine, coarse, sums.coarse(), (blocks, starts), bounds_of);
        // Most are left out here, before what only the others need.
        let mut left_over = 0;
        for i in 0..blocks.len() {
            let limit = best[usize::from(blocks[i])].limits[0];
            kept[left_over] = i as u16;
            left_over += usize::from(B::at_most(*engine, &bounds_of[i], limit) != 0);
        }
        let kept = &kept[..left_over];
        if let Some(level) = sums.fine() {
            // The groups of which few candidates are left stay as they are.
            let mut many = 0;
            for i in kept.iter().map(|i| usize::from(*i)) {
                let block = usize::from(blocks[i]);
                let left = best[block].admitted(*engine, &bounds_of[i], &group(i));
                (picked[many], blocks_of_picked[many], starts[many]) = (i as u16, blocks[i], starts[i]);
                let is_many = left.count_ones() >= CROWD;
                many += usize::from(is_many);
                spent[block] += if is_many { Self::COSTS.bounds } else { 0 };
                experience.crowded += crowd(left);
            }
            B::of_groups(*engine, fine, level, (&blocks_of_picked[..many], &starts[..many]), of_picked);
            for (i, finer) in picked[..many].iter().zip(&*of_picked) {
                bounds_of[usize::from(*i)] = *finer;
            }
        }
        // Groups of which many candidates are left, all of them at once; what is left of the others is looked
        // at again, as the best may be better then.
        let (mut many, mut fewer) = (0, 0);
        for i in kept.iter().map(|i| usize::from(*i)) {
            let block = usize::from(blocks[i]);
            let left = best[block].admitted(*engine, &bounds_of[i], &group(i));
            if *worth_a_group == u32::MAX && !is_fine {
                experience.crowded += crowd(left);
            }
            let start = group(i).offset;
            (picked[many], blocks_of_picked[many], starts[many]) = (i as u16, blocks[i], start);
            let is_whole = (left.count_ones() >= *worth_a_group) & candidates.has_group(start);
            many += usize::from(is_whole);
            spent[block] += if is_whole { Self::COSTS.group } else { 0 };
            few[fewer] = i as u16;
            fewer += usize::from((left != 0) & !is_whole);
        }
        if many > 0 {
            B::costs_of_groups(*engine, candidates, (&blocks_of_picked[..many], &starts[..many]), of_picked);
            for (i, costs) in picked[..many].iter().map(|i| usize::from(*i)).zip(&*of_picked) {
                best[usize::from(blocks[i])].improve_by(*engine, costs, &group(i));
            }
        }
        let mut listed = 0;
        for (n, i) in few[..fewer].iter().map(|i| usize::from(*i)).enumerate() {
            let (group, block) = (group(i), usize::from(blocks[i]));
            let left = best[block].admitted(*engine, &bounds_of[i], &group)
                & !group.lane(best[block].key.displacement());
            let room = offsets[listed..].first_chunk_mut().expect("a group more than CHUNK");
            engine.list(left, group.offset, lane_offsets, room);
            blocks_listed[listed..][..GROUP].fill(block as u16);
            listed += left.count_ones() as usize;
            spent[block] += Self::COSTS.one * left.count_ones() as usize;
            if listed >= CHUNK || n == fewer - 1 {
                let (blocks, offsets) = (&blocks_listed[..listed], &offsets[..listed]);
                B::costs(*engine, candidates, (blocks, offsets), costs);
                for (cost, (block, offset)) in costs.iter().zip(blocks.iter().zip(offsets)) {
                    let best = &mut best[usize::from(*block)];
                    // Mostly none is as good as the best.
                    if *cost <= best.key.cost() {
                        let (x, y) = targets[usize::from(*block)].displacement(*offset);
                        best.improve(OrderKey::new(*cost, x, y));
                    }
                }
                listed = 0;
            }
        }
    }

    /// Bounds the groups of block `i`, `N` at once, in `pitch` bounds; where the least bound is.
    #[inline(always)]
    fn bound_groups<const N: usize>(&mut self, i: usize, pitch: usize) -> usize {
        let area = &self.buffers.targets[i].area;
        let end = area.rows << area.shift;
        let (start, _) = area.sums(self.sums);
        let bounds = &mut self.buffers.bounds[i * pitch..][..pitch];
        let extremes = |part: usize| self.sums.extremes(start as usize + self.coarse.steps[part]);
        let of_block = self.coarse.of_block(i);
        let least = if self.coarse.count == 4 && 1 << area.shift == N {
            let quarters = Quarters {
                rows: area.rows,
                columns: area.columns,
                of_block: *of_block.first_chunk().expect("four"),
                extremes: [extremes(0), extremes(1)],
                pitch: self.sums.groups(),
                down: self.sums.coarse().side / TILE,
            };
            B::of_area::<E, N>(self.engine, &quarters, self.coarse.shift, bounds)
        } else {
            for (at, bounds) in bounds[..end].chunks_exact_mut(N).enumerate() {
                let (column, row) = ((at * N) & ((1 << area.shift) - 1), (at * N) >> area.shift);
                let mut sums = [B::WORST; N];
                if column < area.columns {
                    sums = [B::default(); N];
                    for (part, of_block) in of_block.iter().enumerate() {
                        let at = row * self.sums.groups() + column;
                        let (least, most) = extremes(part);
                        let extremes = (&least[at..], &most[at..]);
                        sums = bounds::add_extremes(sums, *of_block, extremes, self.coarse.shift);
                    }
                    sums[N.min(area.columns - column)..].fill(B::WORST);
                }
                bounds.copy_from_slice(&sums);
            }
            bounds[..end].iter().copied().fold(B::WORST, B::min)
        };
        // Whole registers of bounds are looked at.
        bounds[end..].fill(B::WORST);
        let mut first = 0;
        for (chunk, bounds) in bounds.as_chunks::<GROUP>().0.iter().enumerate().rev() {
            let bits = B::at_most(self.engine, bounds, least);
            first = if bits != 0 { chunk * GROUP + bits.trailing_zeros() as usize } else { first };
        }
        first
    }
}

/// The best candidate so far, and what a bound has to be for another to be better.
#[derive(Clone, Copy)]
pub struct Best<B> {
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
    pub fn new(key: OrderKey) -> Self {
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
        let better = self.admitted(engine, costs, group) & !group.lane(self.key.displacement());
        if better == 0 {
            return;
        }
        // In flat frames many are equal: all are compared at once.
        let mut least = B::WORST;
        for (lane, cost) in costs.iter().enumerate() {
            least = least.min(if better >> lane & 1 != 0 { *cost } else { B::WORST });
        }
        let lanes = B::at_most(engine, costs, least) & better;
        let (x, y) = group.displacement(group.nearest(lanes));
        self.improve(OrderKey::new(least.into(), x, y));
    }

    /// A bit for each candidate of `group` that may win by its bound, or its cost.
    #[inline(always)]
    fn admitted<E: Engine>(&self, engine: E, bounds: &[B; GROUP], group: &Group) -> u32 {
        // Without a branch, which would be hard to predict.
        let is_far = usize::from(group.distance > self.length);
        B::at_most(engine, bounds, self.limits[is_far]) & self.lanes[is_far] & group.inside
    }
}

/// How many candidates are `left` in a group, if many are.
#[inline(always)]
fn crowd(left: u32) -> usize {
    let count = left.count_ones();
    if count >= CROWD { count as usize } else { 0 }
}

//! Elimination in one row of blocks.

use std::ops::Range;

use crate::estimator::{MotionVector, OrderKey, Window};
use crate::native::candidates::Candidates;
use crate::native::cost::{BoundUnit, ComputeCosts, CostValue};
use crate::native::elimination::area::{self, GroupArea, PUT, lane_x, lane_y};
use crate::native::elimination::backoff::{RowHistory, StepCosts};
use crate::native::elimination::batch::GroupBatch;
use crate::native::elimination::bounds::{self, BlockParts, Quarters};
use crate::native::elimination::engine::{Bound, EliminationEngine, GroupCost};
use crate::native::elimination::sums::{ACROSS, GROUP, ReferenceSums, SPARE_GROUPS, TILE};
use crate::native::elimination::target::{BestCandidate, TargetBlock};
use crate::native::elimination::workspace::{
    BATCH, Buffers, CHUNK, CandidateList, GroupLists, MOST_BOUNDS, RUN, RunBlock,
};
use crate::native::exhaustive::ExhaustiveSearch;
use crate::native::job::{JobBlock, SearchJob};
use crate::native::sample::SearchSample;
use motion_base::memory::Aligned;

/// The current frame is prefetched this many samples ahead of a block.
const AHEAD: usize = 128;

/// Candidates of a block that are tried first.
const KNOWN: usize = 4;
const _: () = assert!(RUN * KNOWN <= CHUNK + GROUP && RUN <= BATCH, "those of all blocks of a run fit");

/// Searches a row of blocks in runs of several. Each step is done for all blocks of a run before the next step begins:
/// the steps of one block depend on each other, and the branch predictor cannot know how many groups and candidates
/// each leaves. In long loops over those of several blocks the CPU works ahead.
pub struct RowElimination<'a, E, C: GroupCost> {
    engine: E,
    job: &'a SearchJob<'a>,
    compute_costs: ComputeCosts<C::Sample>,
    sums: &'a ReferenceSums,
    history: &'a mut RowHistory,
    /// The row of the grid, and the vectors of the row above, where they are known.
    row: usize,
    above: &'a [MotionVector],
    /// The field found last.
    last_field: &'a [MotionVector],
    coarse: BlockParts,
    fine: BlockParts,
    /// The most blocks of a run.
    most: usize,
    /// The columns of blocks whose window the frame does not cut, and that window.
    inner: Range<usize>,
    window: Window,
    buffers: &'a mut Buffers<C>,
    /// The offsets of a group's candidates from its first one.
    lane_offsets: [u32; GROUP],
    /// Candidates left in a group from which on the costs of all are computed; `u32::MAX` for never.
    worth_a_group: u32,
    unit: BoundUnit,
}

/// The numbers of the lanes.
const LANES: [u32; GROUP] = {
    let mut lanes = [0; GROUP];
    let mut lane = 0;
    while lane < GROUP {
        lanes[lane] = lane as u32;
        lane += 1;
    }
    lanes
};

impl<'a, E: EliminationEngine, C: GroupCost> RowElimination<'a, E, C> {
    const COSTS: StepCosts = StepCosts::of::<E>();

    #[inline(always)]
    pub fn new(
        engine: E,
        job: &'a SearchJob<'a>,
        (sums, buffers): (&'a ReferenceSums, &'a mut Buffers<C>),
        history: &'a mut RowHistory,
        row: usize,
        (last_field, above): (&'a [MotionVector], &'a [MotionVector]),
    ) -> Self {
        let side = job.parameters.block_size;
        let columns = job.parameters.grid().columns;
        let window = JobBlock { job, column: columns / 2, row }.window();
        let is_inner = |column: &usize| JobBlock { job, column: *column, row }.window() == window;
        let first = (0..columns / 2).find(is_inner).unwrap_or(columns / 2);
        let last = (columns / 2..columns).rev().find(is_inner).unwrap_or(columns / 2);
        (history.exhaustive, history.crowded) = (0, 0);
        let pitch = job.reference.layout().pitch;
        let (coarse, fine) =
            (BlockParts::new(sums, Some(sums.coarse()), side), BlockParts::new(sums, sums.fine(), side));
        let excess = u32::from(C::Sample::EXCESS) * coarse.count.max(fine.count) as u32;
        let unit = BoundUnit { lower: sums.lower(), excess };
        let most = MOST_BOUNDS / GroupArea::most_bounds(&job.parameters.window).next_multiple_of(GROUP);
        Self {
            engine,
            job,
            compute_costs: C::compute_costs(job.parameters.bit_depth),
            sums,
            history,
            row,
            above,
            last_field,
            most: most.min(coarse.most_blocks()).min(fine.most_blocks()).clamp(1, RUN),
            inner: first..last + 1,
            window,
            coarse,
            fine,
            buffers,
            lane_offsets: std::array::from_fn(|lane| {
                (lane_y(lane) as usize * pitch) as u32 + lane_x(lane) as u32
            }),
            worth_a_group: C::worth_a_group::<E>(side).unwrap_or(u32::MAX),
            unit,
        }
    }

    #[inline(always)]
    pub fn search(&mut self, vectors: &mut [MotionVector]) {
        let mut column = 0;
        while column < vectors.len() {
            if self.history.backoff.pauses() {
                vectors[column] = self.search_all(column);
                column += 1;
                continue;
            }
            let most = if self.history.is_wary() { 1 } else { self.most };
            let end = vectors.len().min(column + most);
            self.search_together(column, &mut vectors[column..end]);
            column = end;
        }
    }

    /// The block in `column`.
    #[inline(always)]
    fn block(&self, column: usize) -> JobBlock<'a> {
        JobBlock { job: self.job, column, row: self.row }
    }

    /// Exhaustive search of the block in `column`.
    #[inline(always)]
    fn search_all(&mut self, column: usize) -> MotionVector {
        self.history.exhaustive += 1;
        let (block, scratch) = (self.block(column), &mut self.buffers.scratch);
        self.engine.run(ExhaustiveSearch { block, scratch }).vector()
    }

    /// Searches the run of blocks from `column` on and writes their vectors.
    #[inline(always)]
    fn search_together(&mut self, column: usize, vectors: &mut [MotionVector]) {
        let (count, side) = (vectors.len(), self.job.parameters.block_size);
        let first = self.block(column);
        let pitch = first.layout().pitch;
        let candidates = first.candidates();
        let mut shift = 0;
        for i in 0..count {
            let block = self.block(column + i);
            let is_inner = |column: usize| self.inner.contains(&column);
            let is_next = i > 0 && is_inner(block.column - 1) && side.is_multiple_of(ACROSS);
            let target = if is_inner(block.column) && is_next {
                self.buffers.run[i - 1].target.next(side)
            } else {
                let window = if is_inner(block.column) { self.window } else { block.window() };
                TargetBlock::new(block, window)
            };
            shift = shift.max(target.area.shift);
            let best = BestCandidate::new(OrderKey::WORST, self.unit);
            self.buffers.run[i] = RunBlock { target, best, spent: 0, searched: 1 };
        }
        for i in 0..count {
            self.buffers.run[i].target.area.shift = shift;
            let samples = &first.samples::<C::Sample>()[i * side..];
            // The next blocks, each row in another cache line.
            for y in 0..side {
                C::Sample::prefetch(self.engine, samples, y * pitch + AHEAD);
            }
            for parts in [&mut self.coarse, &mut self.fine].into_iter().filter(|parts| parts.count > 0) {
                parts.sum(self.engine, i, samples, pitch);
            }
        }
        self.try_known(&candidates, column, count);
        let mut failed = 0;
        // Where a run has several blocks, there is room for the bounds of all rows of each.
        for strip in self.buffers.run[0].target.area.strips(MOST_BOUNDS >> shift) {
            self.buffers.run[0].target.area = strip;
            failed = self.search_strip(&candidates, count);
            if failed != 0 {
                break;
            }
        }
        for (i, vector) in vectors.iter_mut().enumerate() {
            let (spent, all) = (
                Self::COSTS.block + self.buffers.run[i].spent,
                StepCosts::CANDIDATE * self.buffers.run[i].target.window.candidates(),
            );
            let has_failed = failed >> i & 1 != 0;
            self.history.backoff.note(has_failed || spent > all);
            *vector =
                if has_failed { self.search_all(column + i) } else { self.buffers.run[i].best.key.vector() };
        }
    }

    /// Sets the best of each block to the best of a few candidates that are likely to be good.
    #[inline(always)]
    fn try_known(&mut self, candidates: &Candidates<'_, C::Sample>, column: usize, count: usize) {
        let (last, columns) = (self.last_field, self.job.parameters.grid().columns);
        let Buffers { run, listed: CandidateList { blocks, offsets, costs }, .. } = &mut *self.buffers;
        let mut displacements = [[(0, 0); KNOWN]; RUN];
        let displacements = &mut displacements[..count];
        for (i, displacements) in displacements.iter_mut().enumerate() {
            let target = &run[i].target;
            let (column, above) = (column + i, self.above);
            let above_left = column.checked_sub(1).and_then(|left| above.get(left));
            let at_last = last.get(self.row * columns + column);
            let around = [above_left, above.get(column), above.get(column + 1), at_last];
            for (n, (displacement, vector)) in displacements.iter_mut().zip(around).enumerate() {
                *displacement = target.nearest(vector.copied().unwrap_or_default().full_samples());
                blocks[i * KNOWN + n] = i as u16;
                offsets[i * KNOWN + n] = target.offset(*displacement);
            }
        }
        let listed = count * KNOWN;
        (self.compute_costs)(self.job.instructions, candidates, &blocks[..listed], &offsets[..listed], costs);
        for (i, displacements) in displacements.iter().enumerate() {
            let costs = &costs[i * KNOWN..][..KNOWN];
            let keys = costs.iter().zip(displacements).map(|(cost, (x, y))| OrderKey::new(*cost, *x, *y));
            run[i].best = BestCandidate::new(keys.fold(OrderKey::WORST, Ord::min), self.unit);
        }
    }

    /// Updates each block's best candidate from its area. Returns a bit for each block that was left out because
    /// exhaustive search is expected to be faster.
    #[inline(always)]
    fn search_strip(&mut self, candidates: &Candidates<'_, C::Sample>, count: usize) -> u32 {
        let mut rows = 0;
        for block in &self.buffers.run[..count] {
            rows = rows.max(block.target.area.rows);
        }
        let shift = self.buffers.run[0].target.area.shift;
        let pitch = (rows << shift).next_multiple_of(GROUP);
        for i in 0..count {
            let first = match shift {
                ..=3 => self.bound_groups::<8>(i, pitch),
                4 => self.bound_groups::<16>(i, pitch),
                _ => self.bound_groups::<SPARE_GROUPS>(i, pitch),
            };
            self.buffers.lists.entries.0[i] = first as u32;
        }
        self.try_promising(candidates, count);
        let (mut failed, mut listed) = (0, 0);
        for i in 0..count {
            let start = listed;
            let count = self.list_groups(i, pitch, start);
            listed += count;
            if self.history.expects_failure(count, self.buffers.run[i].target.window.candidates()) {
                failed |= 1 << i;
                listed = start;
                continue;
            }
            self.buffers.run[i].searched += count;
            self.buffers.run[i].spent += Self::COSTS.bounds * count;
            let Buffers { run, lists, .. } = &mut *self.buffers;
            let GroupLists { entries: Aligned(entries), blocks, starts: Aligned(starts), groups } = lists;
            let TargetBlock { area, start: block, pitch, .. } = run[i].target;
            let sums = area.sums(self.sums);
            for k in (start..listed).step_by(PUT) {
                let entries = entries[k..].first_chunk().expect("a chunk more");
                area::put!(starts, k, entries, |entry| area.start_at(entry, sums));
                area::put!(blocks, k, entries, |_| i as u16);
                area.put_groups(entries, k, (block, pitch), groups);
            }
        }
        for first in (0..listed).step_by(BATCH) {
            let Buffers { run, lists, batch, listed: list, .. } = &mut *self.buffers;
            GroupBatch {
                engine: self.engine,
                instructions: self.job.instructions,
                compute_costs: self.compute_costs,
                candidates,
                sums: self.sums,
                coarse: &self.coarse,
                fine: &self.fine,
                lane_offsets: &self.lane_offsets,
                worth_a_group: self.worth_a_group,
                lists,
                range: first..listed.min(first + BATCH),
                run,
                history: self.history,
                memory: batch,
                listed: list,
            }
            .search();
        }
        for i in 0..count {
            if failed >> i & 1 == 0 {
                self.history.note_cost(self.buffers.run[i].searched, self.buffers.run[i].spent);
            }
        }
        failed
    }

    /// Lists the groups of block `i` that may hold a better candidate than its best: the indices of their bounds,
    /// among `pitch` of the block, from entry `start` on. Returns their number.
    #[inline(always)]
    fn list_groups(&mut self, i: usize, pitch: usize, start: usize) -> usize {
        let Buffers { run, bounds: Aligned(bounds), lists, .. } = &mut *self.buffers;
        let Aligned(entries) = &mut lists.entries;
        let (area, best, mut listed) = (run[i].target.area, run[i].best, start);
        let bounds = bounds[i * pitch..][..pitch].as_chunks::<GROUP>().0;
        // A bound that equals the best cost counts only where the group is near. The second loop checks that, where the
        // best costs nothing or half of the groups are left, as in flat frames. Elsewhere such groups are few, and
        // later steps eliminate them.
        if best.key.cost() > 0 && best.limits[0] < C::Bound::MAX {
            for (chunk, bounds) in bounds.iter().enumerate() {
                let left = C::Bound::at_most(self.engine, bounds, best.limits[0]);
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
            let less = C::Bound::at_most(self.engine, bounds, best.limits[1]) & best.lanes[1];
            let near = u16::at_most(self.engine, &distances.from(first), best.length as u16);
            let mut left = less | C::Bound::at_most(self.engine, bounds, best.limits[0]) & near;
            if best.limits[0] == C::Bound::MAX {
                left &= area.present(first);
            }
            let room = entries[listed..].first_chunk_mut().expect("a chunk more");
            self.engine.list(left, first, &LANES, room);
            listed += left.count_ones() as usize;
        }
        listed - start
    }

    /// Tries the candidate of least bound in each block's group of least bound, which is the block's entry.
    #[inline(always)]
    fn try_promising(&mut self, candidates: &Candidates<'_, C::Sample>, count: usize) {
        let Buffers { run, lists, batch, listed: CandidateList { offsets, costs, .. }, .. } =
            &mut *self.buffers;
        let GroupLists { entries: Aligned(entries), blocks, starts: Aligned(starts), .. } = lists;
        let Aligned(bounds) = &mut batch.bounds;
        for i in 0..count {
            blocks[i] = i as u16;
            let area = &run[i].target.area;
            starts[i] = area.start_at(entries[i], area.sums(self.sums));
        }
        let (blocks, starts) = (&blocks[..count], &starts[..count]);
        let parts = (&self.coarse, self.sums.coarse());
        C::Bound::bounds_of_groups::<C::Sample, E>(self.engine, parts, (blocks, starts), bounds);
        let mut displacements = [(0, 0); RUN];
        let displacements = &mut displacements[..count];
        for (i, displacement) in displacements.iter_mut().enumerate() {
            let (target, bounds) = (&run[i].target, &bounds[i]);
            let group = target.area.group(entries[i], (target.start, target.pitch));
            let least = bounds.iter().copied().fold(C::Bound::MAX, Ord::min);
            let lanes = C::Bound::at_most(self.engine, bounds, least);
            let lanes = if lanes & group.inside == 0 { group.inside } else { lanes & group.inside };
            *displacement = target.nearest(group.displacement(lanes.trailing_zeros() as usize % GROUP));
            offsets[i] = target.offset(*displacement);
        }
        (self.compute_costs)(self.job.instructions, candidates, blocks, &offsets[..count], costs);
        for (i, (x, y)) in displacements.iter().enumerate() {
            run[i].best.improve(OrderKey::new(costs[i], *x, *y));
        }
    }

    /// Writes the bounds of the groups of block `i`, `N` at a time, to its `pitch` bounds. Returns the index of the least.
    #[inline(always)]
    fn bound_groups<const N: usize>(&mut self, i: usize, pitch: usize) -> usize {
        let area = &self.buffers.run[i].target.area;
        let end = area.rows << area.shift;
        let (start, _) = area.sums(self.sums);
        let bounds = &mut self.buffers.bounds.0[i * pitch..][..pitch];
        let extremes = |part: usize| self.sums.extremes(start as usize + self.coarse.steps[part]);
        let of_block = self.coarse.of_block(i);
        let least = if self.coarse.count == 4 && 1 << area.shift == N {
            let quarters = Quarters {
                rows: area.rows,
                columns: area.columns,
                of_block: *of_block.first_chunk().expect("four"),
                ranges: [extremes(0), extremes(1)],
                pitch: self.sums.groups(),
                down: self.sums.coarse().side / TILE,
            };
            C::Bound::bound_area::<C::Sample, E, N>(self.engine, &quarters, self.coarse.shift, bounds)
        } else {
            for (at, bounds) in bounds[..end].chunks_exact_mut(N).enumerate() {
                let (column, row) = ((at * N) & ((1 << area.shift) - 1), (at * N) >> area.shift);
                let mut sums = [C::Bound::MAX; N];
                if column < area.columns {
                    sums = [C::Bound::default(); N];
                    for (part, of_block) in of_block.iter().enumerate() {
                        let at = row * self.sums.groups() + column;
                        let (least, most) = extremes(part);
                        let extremes = (&least[at..], &most[at..]);
                        sums = bounds::raise_by_range::<C::Sample, C::Bound, N>(
                            sums,
                            *of_block,
                            extremes,
                            self.coarse.shift,
                        );
                    }
                    sums[N.min(area.columns - column)..].fill(C::Bound::MAX);
                }
                bounds.copy_from_slice(&sums);
            }
            bounds[..end].iter().copied().fold(C::Bound::MAX, Ord::min)
        };
        // Whole registers of bounds are read.
        bounds[end..].fill(C::Bound::MAX);
        let mut first = 0;
        for (chunk, bounds) in bounds.as_chunks::<GROUP>().0.iter().enumerate().rev() {
            let bits = C::Bound::at_most(self.engine, bounds, least);
            first = if bits != 0 { chunk * GROUP + bits.trailing_zeros() as usize } else { first };
        }
        first
    }
}

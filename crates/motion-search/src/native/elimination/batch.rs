//! Groups that may hold a better candidate, a batch at a time: their bounds get tighter, then the costs of the candidates
//! that are left are computed. Each step is done for all groups before the next step begins for those that it leaves.

use std::ops::Range;

use crate::estimator::OrderKey;
use crate::native::candidates::Candidates;
use crate::native::cost::{ComputeCosts, CostValue};
use crate::native::elimination::area::CandidateGroup;
use crate::native::elimination::backoff::{RowHistory, StepCosts};
use crate::native::elimination::bounds::BlockParts;
use crate::native::elimination::engine::{Bound, EliminationEngine, GroupCost};
use crate::native::elimination::sums::{GROUP, PartSums, ReferenceSums, TILE};
use crate::native::elimination::workspace::{BATCH, BatchMemory, CHUNK, CandidateList, GroupLists, RunBlock};
use motion_base::simd::Instructions;

/// Candidates that the large parts leave in a group: from here on smaller parts pay.
const CROWD: u32 = 3;

/// Some of the groups that are listed, and what their search reads and writes.
pub struct GroupBatch<'b, 'c, E, C: GroupCost> {
    pub engine: E,
    pub instructions: Instructions,
    pub compute_costs: ComputeCosts<C::Sample>,
    pub candidates: &'b Candidates<'c, C::Sample>,
    pub sums: &'b ReferenceSums,
    /// The large parts of the blocks, and the smaller ones.
    pub coarse: &'b BlockParts,
    pub fine: &'b BlockParts,
    /// The offsets of a group's candidates from its first one.
    pub lane_offsets: &'b [u32; GROUP],
    /// Candidates left in a group from which on the costs of all are computed; `u32::MAX` for never.
    pub worth_a_group: u32,
    /// All groups that are listed, and which of them are the batch.
    pub lists: &'b GroupLists,
    pub range: Range<usize>,
    /// The blocks whose best candidates get better.
    pub run: &'b mut [RunBlock<C>],
    pub history: &'b mut RowHistory,
    pub memory: &'b mut BatchMemory<C>,
    pub listed: &'b mut CandidateList,
}

impl<E: EliminationEngine, C: GroupCost> GroupBatch<'_, '_, E, C> {
    const COSTS: StepCosts = StepCosts::of::<E>();

    /// Updates the best candidates from all groups of the batch.
    #[inline(always)]
    pub fn search(mut self) {
        debug_assert!(self.range.len() <= BATCH);
        let kept = self.bound_candidates();
        if let Some(part_sums) = self.sums.fine() {
            self.tighten_crowded(part_sums, kept);
        }
        let (whole, few) = self.divide(kept);
        if whole > 0 {
            self.compute_groups(whole);
        }
        self.compute_candidates(few);
    }

    /// The block of group `i` of the batch: its number in the run.
    #[inline(always)]
    fn block(&self, i: usize) -> usize {
        self.lists.blocks[self.range.start + i].into()
    }

    /// Group `i` of the batch.
    #[inline(always)]
    fn group(&self, i: usize) -> CandidateGroup {
        self.lists.groups.get(self.range.start + i)
    }

    /// A bit for each candidate of group `i` that its bounds leave.
    #[inline(always)]
    fn left(&self, i: usize, group: &CandidateGroup) -> u32 {
        self.run[self.block(i)].best.admitted(self.engine, &self.memory.bounds.0[i], group)
    }

    /// Bounds all candidates by the large parts. Returns how many groups are kept: most end here.
    #[inline(always)]
    fn bound_candidates(&mut self) -> usize {
        let BatchMemory { bounds, kept, .. } = &mut *self.memory;
        let blocks = &self.lists.blocks[self.range.clone()];
        let starts = &self.lists.starts.0[self.range.clone()];
        let parts = (self.coarse, self.sums.coarse());
        C::Bound::bounds_of_groups::<C::Sample, E>(self.engine, parts, (blocks, starts), &mut bounds.0);
        let mut count = 0;
        for (i, (block, bounds)) in blocks.iter().zip(&bounds.0).enumerate() {
            let limit = self.run[usize::from(*block)].best.limits[0];
            kept[count] = i as u16;
            count += usize::from(C::Bound::at_most(self.engine, bounds, limit) != 0);
        }
        count
    }

    /// Bounds the candidates of the first `kept` groups kept by the smaller parts, whose sums are in `part_sums`, where many
    /// are left. The others keep their bounds.
    #[inline(always)]
    fn tighten_crowded(&mut self, part_sums: &PartSums, kept: usize) {
        let mut crowded = 0;
        for n in 0..kept {
            let i = usize::from(self.memory.kept[n]);
            let (block, left) = (self.block(i), self.left(i, &self.group(i)));
            self.memory.picked.put(crowded, (i, block, self.lists.starts.0[self.range.start + i]));
            let is_crowded = left.count_ones() >= CROWD;
            crowded += usize::from(is_crowded);
            self.run[block].spent += if is_crowded { Self::COSTS.bounds } else { 0 };
            self.history.crowded += crowd(left);
        }
        let BatchMemory { bounds, picked, values, .. } = &mut *self.memory;
        let parts = (self.fine, part_sums);
        C::Bound::bounds_of_groups::<C::Sample, E>(self.engine, parts, picked.first(crowded), &mut values.0);
        for (i, finer) in picked.numbers[..crowded].iter().zip(&values.0) {
            bounds.0[usize::from(*i)] = *finer;
        }
    }

    /// Divides the first `kept` groups kept into those whose costs are all computed, as many candidates are left, and
    /// those with few. Returns how many there are of each.
    #[inline(always)]
    fn divide(&mut self, kept: usize) -> (usize, usize) {
        let counts_crowds = self.worth_a_group == u32::MAX && self.sums.fine().is_none();
        let (mut whole, mut few) = (0, 0);
        for n in 0..kept {
            let i = usize::from(self.memory.kept[n]);
            let (block, group) = (self.block(i), self.group(i));
            let left = self.left(i, &group);
            if counts_crowds {
                self.history.crowded += crowd(left);
            }
            self.memory.picked.put(whole, (i, block, group.offset));
            let is_whole =
                (left.count_ones() >= self.worth_a_group) & self.candidates.has_rows(group.offset, TILE);
            whole += usize::from(is_whole);
            self.run[block].spent += if is_whole { Self::COSTS.group } else { 0 };
            self.memory.few[few] = i as u16;
            few += usize::from((left != 0) & !is_whole);
        }
        (whole, few)
    }

    /// Computes the costs of all candidates of the first `count` groups picked. They come first: the best that they lead
    /// to eliminates more of the others.
    #[inline(always)]
    fn compute_groups(&mut self, count: usize) {
        let BatchMemory { picked, values, .. } = &mut *self.memory;
        C::costs_of_groups(self.engine, self.candidates, picked.first(count), &mut values.0);
        for n in 0..count {
            let i = usize::from(self.memory.picked.numbers[n]);
            let (block, group) = (self.block(i), self.group(i));
            self.run[block].best.improve_by(self.engine, &self.memory.values.0[n], &group);
        }
    }

    /// Computes the costs of the candidates that are left in the first `count` groups with few.
    #[inline(always)]
    fn compute_candidates(&mut self, count: usize) {
        let mut listed = 0;
        for n in 0..count {
            let i = usize::from(self.memory.few[n]);
            let (block, group) = (self.block(i), self.group(i));
            let left = self.left(i, &group) & !group.lane(self.run[block].best.key.displacement());
            let room = self.listed.offsets[listed..].first_chunk_mut().expect("a group more than CHUNK");
            self.engine.list(left, group.offset, self.lane_offsets, room);
            self.listed.blocks[listed..][..GROUP].fill(block as u16);
            listed += left.count_ones() as usize;
            self.run[block].spent += Self::COSTS.one * left.count_ones() as usize;
            if listed >= CHUNK || n == count - 1 {
                self.try_listed(listed);
                listed = 0;
            }
        }
    }

    /// Computes the costs of the first `count` candidates listed.
    #[inline(always)]
    fn try_listed(&mut self, count: usize) {
        let CandidateList { blocks, offsets, costs } = &mut *self.listed;
        let (blocks, offsets) = (&blocks[..count], &offsets[..count]);
        (self.compute_costs)(self.instructions, self.candidates, blocks, offsets, costs);
        for (cost, (block, offset)) in costs.iter().zip(blocks.iter().zip(offsets)) {
            let RunBlock { target, best, .. } = &mut self.run[usize::from(*block)];
            // Rarely taken.
            if *cost <= best.key.cost() {
                let (x, y) = target.displacement(*offset);
                best.improve(OrderKey::new(*cost, x, y));
            }
        }
    }
}

/// The number of candidates `left` in a group, or 0 where they are few.
#[inline(always)]
fn crowd(left: u32) -> usize {
    let count = left.count_ones();
    if count >= CROWD { count as usize } else { 0 }
}

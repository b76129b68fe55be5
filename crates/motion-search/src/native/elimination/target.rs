//! A block that is searched by elimination, and the best of its candidates.

use crate::estimator::{OrderKey, Window};
use crate::native::cost::{BoundUnit, Cost, CostValue};
use crate::native::elimination::area::{self, CandidateGroup, GroupArea};
use crate::native::elimination::sums::{ACROSS, GROUP};
use crate::native::job::JobBlock;
use motion_base::simd::InstructionSet;

/// A block, with what does not change during its search.
#[derive(Clone, Copy, Default)]
pub struct TargetBlock {
    pub window: Window,
    pub area: GroupArea,
    /// The index of its first sample in a padded frame.
    pub start: u32,
    /// The column of that sample.
    column: u32,
    pub pitch: u32,
}

impl TargetBlock {
    #[inline(always)]
    pub fn new(block: JobBlock<'_>, window: Window) -> Self {
        let (column, row) = block.position();
        let pitch = block.layout().pitch;
        let start = (row * pitch + column) as u32;
        let area = GroupArea::new(block, window);
        Self { window, area, start, column: column as u32, pitch: pitch as u32 }
    }

    /// The block to the right, where both have the same window and `side` is a multiple of a group's.
    #[inline(always)]
    pub fn next(&self, side: usize) -> Self {
        let mut next = *self;
        (next.start, next.column) = (self.start + side as u32, self.column + side as u32);
        next.area.column += side / ACROSS;
        next
    }

    /// The displacement of the candidate that is nearest to `(x, y)`.
    #[inline(always)]
    pub fn nearest(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (x.clamp(self.window.x0(), self.window.x1()), y.clamp(self.window.y0(), self.window.y1()))
    }

    /// The displacement of the candidate whose first sample lies at `offset`.
    #[inline(always)]
    pub fn displacement(&self, offset: u32) -> (i32, i32) {
        // Relative to the first sample of the block's first row, which no candidate is left of.
        let offset = offset as i32 - self.start as i32 + self.column as i32;
        let row = offset.div_euclid(self.pitch as i32);
        (offset - row * self.pitch as i32 - self.column as i32, row)
    }

    /// The index of the first sample of the candidate displaced by `(x, y)`.
    #[inline(always)]
    pub fn offset(&self, (x, y): (i32, i32)) -> u32 {
        area::displaced(self.start, (x, y), self.pitch)
    }
}

/// The best candidate so far, and the limits of bounds for another to be better.
#[derive(Clone, Copy)]
pub struct BestCandidate<C: Cost> {
    pub key: OrderKey,
    /// `|x| + |y|` of its displacement.
    pub length: u32,
    /// The largest bound with which a candidate may win: one that is no further away than the best, and one that is,
    /// which has to cost less.
    pub limits: [C::Bound; 2],
    /// All bits where such a bound exists: nothing costs less than zero.
    pub lanes: [u32; 2],
    unit: BoundUnit,
}

impl<C: Cost> BestCandidate<C> {
    #[inline(always)]
    pub fn new(key: OrderKey, unit: BoundUnit) -> Self {
        let (x, y) = key.displacement();
        Self {
            key,
            length: x.unsigned_abs() + y.unsigned_abs(),
            limits: [C::Bound::limit(key.cost(), unit), C::Bound::limit(key.cost().saturating_sub(1), unit)],
            lanes: [u32::MAX, if key.cost() > 0 { u32::MAX } else { 0 }],
            unit,
        }
    }

    /// Takes `key` where it is better.
    #[inline(always)]
    pub fn improve(&mut self, key: OrderKey) {
        if key < self.key {
            *self = Self::new(key, self.unit);
        }
    }

    /// Updates it from the candidates of `group`, whose costs are numbers of the kind that bounds are.
    #[inline(always)]
    pub fn improve_by<E: InstructionSet>(
        &mut self,
        engine: E,
        costs: &[C::Bound; GROUP],
        group: &CandidateGroup,
    ) {
        let better = self.admitted(engine, costs, group) & !group.lane(self.key.displacement());
        if better == 0 {
            return;
        }
        // In flat frames many costs are equal.
        let mut least = C::Bound::MAX;
        for (lane, cost) in costs.iter().enumerate() {
            least = least.min(if better >> lane & 1 != 0 { *cost } else { C::Bound::MAX });
        }
        let lanes = C::Bound::at_most(engine, costs, least) & better;
        let (x, y) = group.displacement(group.nearest(lanes));
        self.improve(OrderKey::new(least.into(), x, y));
    }

    /// A bit for each candidate of `group` that may win by its bound, or by its cost.
    #[inline(always)]
    pub fn admitted<E: InstructionSet>(
        &self,
        engine: E,
        bounds: &[C::Bound; GROUP],
        group: &CandidateGroup,
    ) -> u32 {
        // No branch: it would be hard to predict.
        let is_far = usize::from(group.distance > self.length);
        C::Bound::at_most(engine, bounds, self.limits[is_far]) & self.lanes[is_far] & group.inside
    }
}

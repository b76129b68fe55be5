//! Memory that a thread needs to search by elimination, allocated before and used again.

use std::any::Any;

use parking_lot::Mutex;

use crate::estimator::{MotionVector, OrderKey, Parameters, SetupError};
use crate::native::candidates::Listed;
use crate::native::cost::{BoundUnit, CostValue, by_cost};
use crate::native::elimination::area::GroupList;
use crate::native::elimination::engine::GroupCost;
use crate::native::elimination::sums::{GROUP, ReferenceSums};
use crate::native::elimination::target::{BestCandidate, TargetBlock};
use crate::native::exhaustive::TileScratch;
use crate::native::plane::PlaneLayout;
use motion_base::memory::Aligned;

/// The most blocks that are searched together.
pub const RUN: usize = 16;

/// The most bounds of groups that are kept at once; a larger window is searched in strips.
pub const MOST_BOUNDS: usize = 4096;

/// Groups whose candidates are bounded together.
pub const BATCH: usize = 32;

/// Candidates that are enough to be computed together.
pub const CHUNK: usize = 64;

/// The memory of a thread.
pub struct Workspace {
    pub sums: ReferenceSums,
    pub last_row: LastRow,
    /// [`Buffers`] for the metric and the bit depth.
    buffers: Box<dyn Any + Send>,
}

impl Workspace {
    /// # Errors
    /// As [`ReferenceSums::new`].
    pub fn new(
        parameters: &Parameters,
        layout: &PlaneLayout,
        sides: (usize, Option<usize>),
        limit: u64,
    ) -> Result<Self, SetupError> {
        let sums = ReferenceSums::new(parameters, layout, sides, limit)?;
        let last_row =
            LastRow { row: None, vectors: vec![MotionVector::default(); parameters.grid().columns] };
        let buffers: Box<dyn Any + Send> = by_cost!(parameters, C => Box::new(Buffers::<C>::new()));
        Ok(Self { sums, last_row, buffers })
    }

    /// The parts, where this was made for the metric `C`.
    pub fn parts<C: GroupCost>(&mut self) -> (&ReferenceSums, &mut LastRow, &mut Buffers<C>) {
        let buffers = self.buffers.downcast_mut().expect("the metric and depth of the parameters");
        (&self.sums, &mut self.last_row, buffers)
    }
}

/// The vectors of the row of blocks that was searched last.
pub struct LastRow {
    row: Option<usize>,
    vectors: Vec<MotionVector>,
}

impl LastRow {
    /// The vectors of the row above `row`, if that was searched last.
    #[inline(always)]
    pub fn above(&self, row: usize) -> Option<&[MotionVector]> {
        (self.row? + 1 == row).then_some(&*self.vectors)
    }

    /// Keeps the vectors of `row`.
    #[inline(always)]
    pub fn keep(&mut self, row: usize, vectors: &[MotionVector]) {
        self.row = Some(row);
        self.vectors.copy_from_slice(vectors);
    }
}

/// A block of the run that is searched.
#[derive(Clone, Copy)]
pub struct RunBlock<C: GroupCost> {
    pub target: TargetBlock,
    pub best: BestCandidate<C>,
    /// What its search has cost so far, and how many groups were searched.
    pub spent: usize,
    pub searched: usize,
}

/// Groups that may hold the best candidate of their block, a list for each of what is known of them.
pub struct GroupLists {
    /// The indices of their bounds.
    pub entries: Aligned<[u32; MOST_BOUNDS + GROUP]>,
    /// The numbers of their blocks in the run.
    pub blocks: [u16; MOST_BOUNDS + GROUP],
    /// The indices of their sums.
    pub starts: Aligned<[u32; MOST_BOUNDS + GROUP]>,
    pub groups: GroupList<{ MOST_BOUNDS + GROUP }>,
}

/// Groups of a batch that the next step is for.
pub struct PickedGroups {
    /// Their numbers in the batch.
    pub numbers: [u16; BATCH],
    blocks: [u16; BATCH],
    starts: [u32; BATCH],
}

impl PickedGroups {
    /// Puts a group at `index`: its number in the batch, its block, and where its sums or its candidates begin.
    #[inline(always)]
    pub fn put(&mut self, index: usize, (number, block, start): (usize, usize, u32)) {
        (self.numbers[index], self.blocks[index], self.starts[index]) = (number as u16, block as u16, start);
    }

    /// The first `count` groups.
    #[inline(always)]
    pub fn first(&self, count: usize) -> Listed<'_> {
        (&self.blocks[..count], &self.starts[..count])
    }
}

/// Memory for the search of a batch of groups.
pub struct BatchMemory<C: GroupCost> {
    /// Bounds of the candidates of each group.
    pub bounds: Aligned<[[C::Bound; GROUP]; BATCH]>,
    /// The groups that have candidates left, and those of them that have few.
    pub kept: [u16; BATCH],
    pub few: [u16; BATCH],
    /// Groups with many candidates left, and the tighter bounds or the costs of all their candidates.
    pub picked: PickedGroups,
    pub values: Aligned<[[C::Bound; GROUP]; BATCH]>,
}

/// Candidates whose costs are computed together.
pub struct CandidateList {
    /// The numbers of their blocks in the run.
    pub blocks: [u16; CHUNK + GROUP],
    /// Where their first samples are in the frame.
    pub offsets: [u32; CHUNK + GROUP],
    pub costs: [u32; CHUNK + GROUP],
}

/// Memory for the search of a run of blocks.
pub struct Buffers<C: GroupCost> {
    pub run: [RunBlock<C>; RUN],
    /// Bounds of the groups of a block's strip, row by row, block by block.
    pub bounds: Aligned<[C::Bound; MOST_BOUNDS]>,
    pub lists: GroupLists,
    pub batch: BatchMemory<C>,
    pub listed: CandidateList,
    pub scratch: TileScratch<C>,
}

impl<C: GroupCost> Buffers<C> {
    fn new() -> Self {
        let best = BestCandidate::new(OrderKey::WORST, BoundUnit::default());
        Self {
            run: [RunBlock { target: TargetBlock::default(), best, spent: 0, searched: 0 }; RUN],
            bounds: Aligned([C::Bound::MAX; MOST_BOUNDS]),
            lists: GroupLists {
                entries: Aligned([0; MOST_BOUNDS + GROUP]),
                blocks: [0; MOST_BOUNDS + GROUP],
                starts: Aligned([0; MOST_BOUNDS + GROUP]),
                groups: GroupList::new(),
            },
            batch: BatchMemory {
                bounds: Aligned([[C::Bound::MAX; GROUP]; BATCH]),
                kept: [0; BATCH],
                few: [0; BATCH],
                picked: PickedGroups { numbers: [0; BATCH], blocks: [0; BATCH], starts: [0; BATCH] },
                values: Aligned([[C::Bound::MAX; GROUP]; BATCH]),
            },
            listed: CandidateList {
                blocks: [0; CHUNK + GROUP],
                offsets: [0; CHUNK + GROUP],
                costs: [0; CHUNK + GROUP],
            },
            scratch: TileScratch::new(),
        }
    }
}

/// A workspace taken from a shared list, to which it returns when dropped.
pub struct BorrowedWorkspace<'a> {
    spare: &'a Mutex<Vec<Workspace>>,
    /// `None` where the list was empty.
    pub workspace: Option<Workspace>,
}

impl<'a> BorrowedWorkspace<'a> {
    pub fn from(spare: &'a Mutex<Vec<Workspace>>) -> Self {
        Self { spare, workspace: spare.lock().pop() }
    }
}

impl Drop for BorrowedWorkspace<'_> {
    fn drop(&mut self) {
        self.spare.lock().extend(self.workspace.take());
    }
}

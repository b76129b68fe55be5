//! Memory that a thread needs to search by elimination, allocated before and used again.

use std::any::Any;

use parking_lot::Mutex;

use crate::estimator::{MotionVector, OrderKey, Parameters, SetupError};
use crate::native::aligned::Aligned;
use crate::native::cost::{BoundUnit, CostValue, by_cost};
use crate::native::elimination::area::GroupList;
use crate::native::elimination::engine::BoundCost;
use crate::native::elimination::sums::{GROUP, ReferenceSums};
use crate::native::elimination::target::{BestCandidate, TargetBlock};
use crate::native::exhaustive::TileScratch;
use crate::native::plane::PlaneLayout;

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
    pub fn parts<C: BoundCost>(&mut self) -> (&ReferenceSums, &mut LastRow, &mut Buffers<C>) {
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

/// Memory for the search of a run of blocks.
pub struct Buffers<C: BoundCost> {
    /// The blocks, the best candidate of each, what it has cost, and how many groups were searched.
    pub targets: [TargetBlock; RUN],
    pub best: [BestCandidate<C>; RUN],
    pub spent: [usize; RUN],
    pub searched: [usize; RUN],
    /// Bounds of the groups of a block's strip, row by row, block by block.
    pub bounds: Aligned<[C::Bound; MOST_BOUNDS]>,
    /// Groups that may hold the best candidate of their block: the indices of their bounds, the blocks, and the
    /// indices of their sums.
    pub entries: Aligned<[u32; MOST_BOUNDS + GROUP]>,
    pub blocks: [u16; MOST_BOUNDS + GROUP],
    pub starts: Aligned<[u32; MOST_BOUNDS + GROUP]>,
    pub groups: GroupList<{ MOST_BOUNDS + GROUP }>,
    /// Bounds of the candidates of a batch of groups.
    pub bounds_of: Aligned<[[C::Bound; GROUP]; BATCH]>,
    /// Groups of the batch that have candidates left, and those of them that have few.
    pub kept: [u16; BATCH],
    pub few: [u16; BATCH],
    /// Groups of the batch that have many left, their blocks, and the tighter bounds or the costs of their candidates.
    pub picked: [u16; BATCH],
    pub blocks_of_picked: [u16; BATCH],
    pub of_picked: Aligned<[[C::Bound; GROUP]; BATCH]>,
    /// Candidates whose costs are computed together: their blocks, their offsets in the frame, and the costs.
    pub blocks_listed: [u16; CHUNK + GROUP],
    pub offsets: [u32; CHUNK + GROUP],
    pub costs: [u32; CHUNK + GROUP],
    pub scratch: TileScratch<C>,
}

impl<C: BoundCost> Buffers<C> {
    fn new() -> Self {
        Self {
            targets: [TargetBlock::default(); RUN],
            best: [BestCandidate::new(OrderKey::WORST, BoundUnit::default()); RUN],
            spent: [0; RUN],
            searched: [0; RUN],
            bounds: Aligned([C::Bound::MAX; MOST_BOUNDS]),
            entries: Aligned([0; MOST_BOUNDS + GROUP]),
            blocks: [0; MOST_BOUNDS + GROUP],
            starts: Aligned([0; MOST_BOUNDS + GROUP]),
            groups: GroupList::new(),
            bounds_of: Aligned([[C::Bound::MAX; GROUP]; BATCH]),
            kept: [0; BATCH],
            few: [0; BATCH],
            picked: [0; BATCH],
            blocks_of_picked: [0; BATCH],
            of_picked: Aligned([[C::Bound::MAX; GROUP]; BATCH]),
            blocks_listed: [0; CHUNK + GROUP],
            offsets: [0; CHUNK + GROUP],
            costs: [0; CHUNK + GROUP],
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

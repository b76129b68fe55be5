//! What a thread needs to search by elimination, made before and used again.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use super::area::Groups;
use super::bounds::Bound;
use super::elimination::{Best, Target};
use super::plane::Layout;
use super::search::Room;
use super::sums::{GROUP, Sums};
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, SetupError};
use crate::lock::lock;

/// Blocks that are searched together, at most.
pub(super) const RUN: usize = 16;

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
pub(super) const MOST_BOUNDS: usize = 4096;

/// Groups whose candidates are bounded together.
pub(super) const BATCH: usize = 32;

/// Candidates that are enough to be computed together.
pub(super) const CHUNK: usize = 64;

/// What a thread needs.
pub(super) struct Workspace {
    pub(super) sums: Sums,
    pub(super) memory: Memory,
    pub(super) found: Found,
}

/// The vectors of the row of blocks that was searched last.
pub(super) struct Found {
    row: Option<usize>,
    vectors: Vec<MotionVector>,
}

impl Found {
    /// Those of the row above `row`, if that was it.
    #[inline(always)]
    pub(super) fn above(&self, row: usize) -> Option<&[MotionVector]> {
        (self.row? + 1 == row).then_some(&*self.vectors)
    }

    /// Keeps those of `row`.
    #[inline(always)]
    pub(super) fn keep(&mut self, row: usize, vectors: &[MotionVector]) {
        self.row = Some(row);
        self.vectors.copy_from_slice(vectors);
    }
}

/// What the search of a few blocks needs, in the width that bounds of the metric have.
pub(super) enum Memory {
    Sad(Box<Buffers<u16>>),
    Ssd(Box<Buffers<u32>>),
}

impl Workspace {
    /// With [`Sums::new`].
    pub(super) fn new(
        parameters: &Parameters,
        layout: &Layout,
        sides: (usize, Option<usize>),
        limit: u64,
    ) -> Result<Self, SetupError> {
        let memory = match parameters.metric {
            Metric::Sad => Memory::Sad(Box::new(Buffers::new())),
            Metric::Ssd => Memory::Ssd(Box::new(Buffers::new())),
        };
        let found = Found { row: None, vectors: vec![MotionVector::default(); parameters.grid().columns] };
        Ok(Self { sums: Sums::new(parameters, layout, sides, limit)?, memory, found })
    }
}

/// Begins with a cache line, so that a register is in one.
#[repr(align(64))]
pub(super) struct Lines<T>(T);

impl<T> Deref for Lines<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Lines<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Memory that the search of some blocks needs and the next ones use again.
pub(super) struct Buffers<B> {
    /// The blocks, the best of each, and what it has cost.
    pub(super) targets: [Target; RUN],
    pub(super) best: [Best<B>; RUN],
    pub(super) spent: [usize; RUN],
    pub(super) searched: [usize; RUN],
    /// Bounds of the groups of a block's strip, row by row, block by block.
    pub(super) bounds: Lines<[B; MOST_BOUNDS]>,
    /// Groups that may hold the best candidate of their block: the places of their bounds, these blocks, and
    /// where their sums are.
    pub(super) entries: Lines<[u32; MOST_BOUNDS + GROUP]>,
    pub(super) blocks: [u16; MOST_BOUNDS + GROUP],
    pub(super) starts: Lines<[u32; MOST_BOUNDS + GROUP]>,
    /// What bounds the candidates of those that are searched together.
    pub(super) bounds_of: Lines<[[B; GROUP]; BATCH]>,
    /// Those that have candidates left, what they are, and those of them that have few.
    pub(super) kept: [u16; BATCH],
    pub(super) groups: Groups<{ MOST_BOUNDS + GROUP }>,
    pub(super) few: [u16; BATCH],
    /// Those that have many, their blocks, and the tighter bounds or the costs of these.
    pub(super) picked: [u16; BATCH],
    pub(super) blocks_of_picked: [u16; BATCH],
    pub(super) of_picked: Lines<[[B; GROUP]; BATCH]>,
    /// Candidates whose costs are computed together: their blocks, where they are, and these costs.
    pub(super) blocks_listed: [u16; CHUNK + GROUP],
    pub(super) offsets: [u32; CHUNK + GROUP],
    pub(super) costs: [u32; CHUNK + GROUP],
    pub(super) room: Room,
}

impl<B: Bound> Buffers<B> {
    pub(super) fn new() -> Self {
        Self {
            targets: [Target::default(); RUN],
            best: [Best::new(OrderKey::WORST); RUN],
            spent: [0; RUN],
            searched: [0; RUN],
            bounds: Lines([B::default(); MOST_BOUNDS]),
            entries: Lines([0; MOST_BOUNDS + GROUP]),
            blocks: [0; MOST_BOUNDS + GROUP],
            starts: Lines([0; MOST_BOUNDS + GROUP]),
            bounds_of: Lines([[B::default(); GROUP]; BATCH]),
            kept: [0; BATCH],
            groups: Groups::new(),
            few: [0; BATCH],
            picked: [0; BATCH],
            blocks_of_picked: [0; BATCH],
            of_picked: Lines([[B::default(); GROUP]; BATCH]),
            blocks_listed: [0; CHUNK + GROUP],
            offsets: [0; CHUNK + GROUP],
            costs: [0; CHUNK + GROUP],
            room: Room::new(),
        }
    }
}

/// A workspace that a thread has taken from those that are there, and puts back.
pub(super) struct Taken<'a> {
    spare: &'a Mutex<Vec<Workspace>>,
    /// Until it is dropped.
    workspace: Option<Workspace>,
}

impl<'a> Taken<'a> {
    /// The first of `spare`, if there is one.
    pub(super) fn from(spare: &'a Mutex<Vec<Workspace>>) -> Option<Self> {
        let workspace = lock(spare).pop()?;
        Some(Self { spare, workspace: Some(workspace) })
    }
}

impl Deref for Taken<'_> {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        self.workspace.as_ref().expect("there until it is dropped")
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Workspace {
        self.workspace.as_mut().expect("there until it is dropped")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        lock(self.spare).extend(self.workspace.take());
    }
}

//! What a thread needs to search by elimination, made before and used again.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use crate::estimator::{Metric, MotionVector, OrderKey, Parameters, SetupError};
use crate::lock::lock;
use crate::native::elimination::area::Groups;
use crate::native::elimination::bounds::Bound;
use crate::native::elimination::row::{Best, Target};
use crate::native::elimination::sums::{GROUP, Sums};
use crate::native::exhaustive::Room;
use crate::native::plane::Layout;

/// Blocks that are searched together, at most.
pub const RUN: usize = 16;

/// Bounds of groups that are kept at once at most; a larger window is searched in strips.
pub const MOST_BOUNDS: usize = 4096;

/// Groups whose candidates are bounded together.
pub const BATCH: usize = 32;

/// Candidates that are enough to be computed together.
pub const CHUNK: usize = 64;

/// What a thread needs.
pub struct Workspace {
    pub sums: Sums,
    pub memory: Memory,
    pub found: Found,
}

/// The vectors of the row of blocks that was searched last.
pub struct Found {
    row: Option<usize>,
    vectors: Vec<MotionVector>,
}

impl Found {
    /// Those of the row above `row`, if that was it.
    #[inline(always)]
    pub fn above(&self, row: usize) -> Option<&[MotionVector]> {
        (self.row? + 1 == row).then_some(&*self.vectors)
    }

    /// Keeps those of `row`.
    #[inline(always)]
    pub fn keep(&mut self, row: usize, vectors: &[MotionVector]) {
        self.row = Some(row);
        self.vectors.copy_from_slice(vectors);
    }
}

/// What the search of a few blocks needs, in the width that bounds of the metric have.
pub enum Memory {
    Sad(Box<Buffers<u16>>),
    Ssd(Box<Buffers<u32>>),
}

impl Workspace {
    /// With [`Sums::new`].
    pub fn new(
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
pub struct Lines<T>(T);

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
pub struct Buffers<B> {
    /// The blocks, the best of each, and what it has cost.
    pub targets: [Target; RUN],
    pub best: [Best<B>; RUN],
    pub spent: [usize; RUN],
    pub searched: [usize; RUN],
    /// Bounds of the groups of a block's strip, row by row, block by block.
    pub bounds: Lines<[B; MOST_BOUNDS]>,
    /// Groups that may hold the best candidate of their block: the places of their bounds, these blocks, and
    /// where their sums are.
    pub entries: Lines<[u32; MOST_BOUNDS + GROUP]>,
    pub blocks: [u16; MOST_BOUNDS + GROUP],
    pub starts: Lines<[u32; MOST_BOUNDS + GROUP]>,
    /// What bounds the candidates of those that are searched together.
    pub bounds_of: Lines<[[B; GROUP]; BATCH]>,
    /// Those that have candidates left, what they are, and those of them that have few.
    pub kept: [u16; BATCH],
    pub groups: Groups<{ MOST_BOUNDS + GROUP }>,
    pub few: [u16; BATCH],
    /// Those that have many, their blocks, and the tighter bounds or the costs of these.
    pub picked: [u16; BATCH],
    pub blocks_of_picked: [u16; BATCH],
    pub of_picked: Lines<[[B; GROUP]; BATCH]>,
    /// Candidates whose costs are computed together: their blocks, where they are, and these costs.
    pub blocks_listed: [u16; CHUNK + GROUP],
    pub offsets: [u32; CHUNK + GROUP],
    pub costs: [u32; CHUNK + GROUP],
    pub room: Room,
}

impl<B: Bound> Buffers<B> {
    pub fn new() -> Self {
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
pub struct Taken<'a> {
    spare: &'a Mutex<Vec<Workspace>>,
    /// Until it is dropped.
    workspace: Option<Workspace>,
}

impl<'a> Taken<'a> {
    /// The first of `spare`, if there is one.
    pub fn from(spare: &'a Mutex<Vec<Workspace>>) -> Option<Self> {
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

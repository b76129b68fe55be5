//! Small objects that move by more than their size: found by what the motion around them does not explain.
//!
//! A vector of a block that a small object shares with its surroundings follows the surroundings, and between two places of the
//! object both frames show what it passes: no choice of vectors by matches shows it there. So it is found as a whole, and drawn as
//! [`Patch`]es over the made frame.

mod pairs;
mod regions;

use super::patches::{Mask, Patch, Shown};
use super::rules::{BLOCK, grid};
use crate::estimator::{FrameView, MotionVector, SetupError};
use motion_base::simd::Instructions;
use pairs::Object;
use regions::{Region, RegionSearch};

/// A block is looked at if its match costs at least so much more than those of all blocks on the mean: eight levels a sample.
pub(super) const LEAST_COST: u32 = 8 * (BLOCK * BLOCK) as u32;

/// It is also looked at if its vector differs by more from one beside it: two samples, in 32nds.
pub(super) const MOST_UNLIKE: u32 = 64;

/// There are small objects only where at most one block in as many is looked at. Elsewhere too much moves.
pub(super) const BLOCKS_A_SUSPECT: usize = 8;

/// The motion around a block is the median of vectors up to so many blocks away on each axis, of every second one.
pub(super) const AROUND: i32 = 4;

/// A sample is not explained if it differs from where the motion around it leads to by more than this and half the range of
/// the samples around.
pub(super) const LEAST_DIFFERENCE: u8 = 24;

/// How far apart the samples of a region may be.
pub(super) const GAP: i32 = 2;

/// The samples of a region, the largest side of one, and the most regions of a frame.
pub(super) const LEAST_SAMPLES: usize = 8;
pub(super) const MOST_SIDE: i32 = 64;
pub(super) const MOST_REGIONS: usize = 32;

/// The most objects of a frame.
pub(super) const MOST_OBJECTS: usize = 8;

/// The most patches of a frame.
pub(crate) const MOST_PATCHES: usize = 3 * MOST_OBJECTS;

/// How far the places of regions are moved to match them, on each axis.
pub(super) const REACH: i32 = 4;

/// What an object matches as another differs by at most one part of so many of what the motion around it leaves.
pub(super) const BETTER: u32 = 8;

/// By how many samples regions are extended: their edges are soft.
pub(super) const EDGE: i32 = 2;

/// A place or a way, in whole samples.
type Way = [i32; 2];

fn add(a: Way, b: Way) -> Way {
    [a[0] + b[0], a[1] + b[1]]
}

fn subtract(a: Way, b: Way) -> Way {
    [a[0] - b[0], a[1] - b[1]]
}

/// Two search frames.
#[derive(Clone, Copy)]
struct FramePair<'a>([&'a FrameView<'a>; 2]);

impl FramePair<'_> {
    #[inline]
    fn sample(self, frame: usize, [x, y]: Way) -> u8 {
        self.0[frame].extended(x, y)
    }

    /// The difference between the sample of the previous frame at `place` and that of the next frame `motion` further.
    #[inline]
    fn difference(self, place: Way, motion: Way) -> u8 {
        self.sample(0, place).abs_diff(self.sample(1, add(place, motion)))
    }
}

/// Finds small objects, with memory for one frame after the other.
pub(super) struct SmallObjects {
    regions: RegionSearch,
}

impl SmallObjects {
    /// For search frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub fn new(size: (usize, usize)) -> Result<Self, SetupError> {
        Ok(Self { regions: RegionSearch::new(size)? })
    }

    /// Finds those of two search frames by the field of the first in the second. The vectors of blocks that show one of them
    /// become those around it.
    pub fn find(
        &mut self,
        instructions: Instructions,
        frames: [&FrameView<'_>; 2],
        field: &mut [MotionVector],
    ) -> Vec<Patch> {
        let frames = FramePair(frames);
        let regions = self.regions.find(instructions, frames, field);
        let objects = pairs::objects(frames, &regions);
        replace_vectors(frames, &objects, field);
        objects.iter().flat_map(|object| patches(frames, object)).collect()
    }
}

/// Gives the blocks that show one of `objects` the vectors around them.
fn replace_vectors(frames: FramePair<'_>, objects: &[Object<'_>], field: &mut [MotionVector]) {
    let grid = grid(frames.0[0].width(), frames.0[0].height());
    let mut around = Vec::new();
    for Region { first, last, .. } in objects.iter().flat_map(|object| [object.from, object.to]) {
        let range = |axis: usize, count: usize| {
            let block = |at: i32| (at.max(0) as usize / BLOCK).min(count - 1);
            block(first[axis] - EDGE)..=block(last[axis] + EDGE)
        };
        for row in range(1, grid.rows) {
            for column in range(0, grid.columns) {
                let vector = regions::vector_around(field, grid, (column, row));
                around.push((row * grid.columns + column, vector));
            }
        }
    }
    for (block, (x, y)) in around {
        (field[block].x, field[block].y) = (x, y);
    }
}

/// What is drawn of an object: the background where it was and where it will be, and the object.
fn patches(frames: FramePair<'_>, object: &Object<'_>) -> [Patch; 3] {
    let Object { from, to, motion, .. } = object;
    let way = subtract(*motion, to.background);
    let [moved_first, moved_last] = [to.first, to.last].map(|corner| subtract(corner, way));
    let mut of_object = Mask::empty(
        [0, 1].map(|axis| from.first[axis].min(moved_first[axis]) - EDGE),
        [0, 1].map(|axis| from.last[axis].max(moved_last[axis]) + EDGE),
    );
    let moved = to.places().map(|place| subtract(place, way));
    from.places().chain(moved).for_each(|place| of_object.add_around(place, EDGE));
    of_object.retain(|place| frames.difference(place, *motion) <= LEAST_DIFFERENCE);
    let of_region = |region: &Region<'_>, shown| {
        let mut mask = Mask::empty(region.first.map(|at| at - EDGE), region.last.map(|at| at + EDGE));
        region.places().for_each(|place| mask.add_around(place, EDGE));
        Patch { mask, motion: region.background, shown }
    };
    [
        of_region(from, Shown::Next),
        of_region(to, Shown::Previous),
        Patch { mask: of_object, motion: *motion, shown: Shown::Nearer },
    ]
}

//! Small objects, found by what the motion around them does not explain.
//!
//! A vector of a block that a small object shares with its surroundings follows the surroundings, and between two places of the
//! object both frames show what it passes: no choice of vectors by matches shows it there. So it is found as a whole, and drawn as
//! [`Patch`]es over the made frame.

mod pairs;
mod ranges;
mod regions;
mod split;

use super::patches::{Mask, Patch, Shown};
use super::rules::{BLOCK, grid};
use motion_base::simd::Instructions;
use motion_base::{FrameView, MotionVector, SetupError};
use pairs::Object;
use ranges::Ranges;
use regions::{Region, RegionSearch};

/// A block is looked at if its match costs at least so much more than those of all blocks on the mean: eight a sample.
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

/// An object matches if it differs by at most one part of so many of what the motion around it leaves.
pub(super) const BETTER: u32 = 8;

/// What is behind an object is plain if its contrast is at most one part of so many of the object's: then it is clear what has
/// moved, and how it lies between samples need not be the same in both frames.
pub(super) const PLAINER: i32 = 4;

/// The same for a region that is split: one that is no object at all is split all the more easily by mismatches.
pub(super) const MUCH_PLAINER: i32 = 16;

/// About how many samples of a region are compared to find out whether two places of an object share it.
pub(super) const TRIED_SAMPLES: usize = 128;

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

/// Two search frames, and the ranges of their samples.
#[derive(Clone, Copy)]
struct FramePair<'a> {
    frames: [&'a FrameView<'a>; 2],
    ranges: [&'a Ranges; 2],
}

impl FramePair<'_> {
    #[inline]
    fn sample(self, frame: usize, [x, y]: Way) -> u8 {
        self.frames[frame].extended(x, y)
    }

    /// The difference between the sample of the previous frame at `place` and that of the next frame `motion` further.
    #[inline]
    fn difference(self, place: Way, motion: Way) -> u8 {
        self.sample(0, place).abs_diff(self.sample(1, add(place, motion)))
    }

    /// The ranges of the samples around these two.
    #[inline]
    fn ranges(self, place: Way, motion: Way) -> [u8; 2] {
        [self.ranges[0].at(place), self.ranges[1].at(add(place, motion))]
    }

    /// What is more in the same difference than what moves by half a sample differs by at an edge.
    #[inline]
    fn mismatch(self, place: Way, motion: Way) -> u8 {
        let difference = self.difference(place, motion);
        if difference == 0 {
            return 0;
        }
        let [previous, next] = self.ranges(place, motion);
        difference.saturating_sub(previous.max(next) / 2)
    }
}

/// Finds small objects, with memory for one frame after the other.
pub(super) struct SmallObjects {
    ranges: [Ranges; 2],
    regions: RegionSearch,
}

impl SmallObjects {
    /// For search frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub fn new(size: (usize, usize)) -> Result<Self, SetupError> {
        Ok(Self { ranges: [Ranges::new(size)?, Ranges::new(size)?], regions: RegionSearch::new(size)? })
    }

    /// Finds those of two search frames by the field of the first in the second. The vectors of blocks that show one of them
    /// become those around it.
    pub fn find(
        &mut self,
        instructions: Instructions,
        frames: [&FrameView<'_>; 2],
        field: &mut [MotionVector],
    ) -> Vec<Patch> {
        // Most frames have none, and then a look at the field is enough.
        if !self.regions.find_near(frames[0].size(), field) {
            return Vec::new();
        }
        for (ranges, frame) in self.ranges.iter_mut().zip(frames) {
            ranges.set(instructions, frame);
        }
        let frames = FramePair { frames, ranges: self.ranges.each_ref() };
        let regions = self.regions.find(instructions, frames, field);
        let parts = |region| split::split(frames, &[&region]).map_or_else(|| vec![region], Vec::from);
        let regions: Vec<_> = regions.into_iter().flat_map(parts).collect();
        let objects = pairs::objects(frames, &regions);
        replace_vectors(frames, &objects, field);
        objects.iter().flat_map(|object| patches(frames, object)).collect()
    }
}

/// Gives the blocks that show one of `objects` the vectors around them.
fn replace_vectors(frames: FramePair<'_>, objects: &[Object<'_>], field: &mut [MotionVector]) {
    let grid = grid(frames.frames[0].width(), frames.frames[0].height());
    let mut around = Vec::new();
    for Region { first, last, .. } in objects.iter().flat_map(|object| [&object.from, &object.to]) {
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
    let object_around = |reach: i32| {
        let moved = to.places().map(|place| subtract(place, way));
        let [moved_first, moved_last] = [to.first, to.last].map(|corner| subtract(corner, way));
        let first = [0, 1].map(|axis| from.first[axis].min(moved_first[axis]));
        let last = [0, 1].map(|axis| from.last[axis].max(moved_last[axis]));
        mask_around(from.places().chain(moved), [first, last], reach)
    };
    let [inside, mut of_object] = [object_around(0), object_around(EDGE)];
    // Around the object is what it passes, which differs however little its edges may.
    of_object.retain(|place| {
        frames.difference(place, *motion) <= LEAST_DIFFERENCE
            || inside.has(place) && frames.mismatch(place, *motion) <= LEAST_DIFFERENCE
    });
    let around = |region: &Region<'_>| mask_around(region.places(), [region.first, region.last], EDGE);
    // Where the object is in both frames no frame shows the background.
    let [mut left, mut entered] = [around(from), around(to)];
    let all_left = left.clone();
    left.retain(|place| !entered.has(place));
    entered.retain(|place| !all_left.has(place));
    [
        Patch { mask: left, motion: from.background, shown: Shown::Next },
        Patch { mask: entered, motion: to.background, shown: Shown::Previous },
        Patch { mask: of_object, motion: *motion, shown: Shown::Nearer },
    ]
}

/// The samples at most `reach` away from `places`, which lie between two corners.
fn mask_around(places: impl Iterator<Item = Way>, [first, last]: [Way; 2], reach: i32) -> Mask {
    let mut mask = Mask::empty(first.map(|at| at - reach), last.map(|at| at + reach));
    places.for_each(|place| mask.add_around(place, reach));
    mask
}

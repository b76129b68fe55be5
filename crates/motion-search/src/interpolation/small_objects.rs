//! Small objects that move by more than their size: found by what the motion around them does not explain.
//!
//! A vector of a block that a small object shares with its surroundings follows the surroundings, and between two places of the
//! object both frames show what it passes: no choice of vectors by matches shows it there. So it is found as a whole, and drawn as
//! [`Patch`]es over the made frame.

use super::detail::CentredBlock;
use super::patches::{Mask, Patch, Shown};
use super::rules::{BLOCK, grid};
use crate::estimator::{FrameView, Grid, MotionVector, SetupError};
use crate::memory;
use crate::simd::{InstructionSet, Instructions, Work};

/// The difference of a block from its match, less their means, from which on it is looked at: eight levels a sample.
const LEAST_MISMATCH: u32 = 8 * (BLOCK * BLOCK) as u32;

/// A block is also looked at if its vector differs by more from one beside it: two samples, in 32nds.
const MOST_UNLIKE: u32 = 64;

/// There are small objects only where at most one block in as many is looked at. Elsewhere too much moves.
const BLOCKS_A_SUSPECT: usize = 8;

/// The motion around a block is the median of vectors up to so many blocks away on each axis, of every second one.
const AROUND: i32 = 4;

/// A sample is not explained if it differs from where the motion around it leads to by more than this and half the range of
/// the samples around.
const LEAST_DIFFERENCE: i32 = 24;

/// How far apart the samples of a region may be.
const GAP: i32 = 2;

/// The samples of a region, the largest side of one, and the most regions of a frame.
const LEAST_SAMPLES: usize = 8;
const MOST_SIDE: i32 = 64;
const MOST_REGIONS: usize = 64;

/// The most objects of a frame.
const MOST_OBJECTS: usize = 8;

/// The most patches of a frame, and the most samples of their masks.
pub(crate) const MOST_PATCHES: usize = 3 * MOST_OBJECTS;
pub(crate) const MOST_MASK_SAMPLES: usize = MOST_PATCHES * 80 * 80;

/// How far the places of regions are moved to match them, on each axis.
const REACH: i32 = 4;

/// What an object matches as another differs by at most one part of so many of what the motion around it leaves.
const BETTER: u32 = 4;

/// By how many samples regions are extended: their edges are soft.
const EDGE: i32 = 2;

/// A place or a way, in whole samples.
type Way = [i32; 2];

/// A block, and the vector of what is around it.
type FoundAround = ((usize, usize), (i16, i16));

fn add(a: Way, b: Way) -> Way {
    [a[0] + b[0], a[1] + b[1]]
}

fn subtract(a: Way, b: Way) -> Way {
    [a[0] - b[0], a[1] - b[1]]
}

/// Finds small objects, with memory for one frame after the other.
pub(super) struct SmallObjects {
    /// Of each block, whether it or one beside it is looked at, and then how what is around it moves.
    is_near: Vec<u8>,
    backgrounds: Vec<Way>,
    /// Of each sample, whether the motion around its block does not explain it.
    is_left: Vec<u8>,
}

impl SmallObjects {
    /// For search frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let blocks = grid(width, height).blocks();
        Ok(Self {
            is_near: memory::values("blocks of small objects", blocks)?,
            backgrounds: memory::values("motion around blocks", blocks)?,
            is_left: memory::values("samples of small objects", width * height)?,
        })
    }

    /// Finds those of two search frames by the field of the first in the second. The vectors of blocks that show one of them
    /// become those around it.
    pub fn find(
        &mut self,
        instructions: Instructions,
        frames: [&FrameView<'_>; 2],
        field: &mut [MotionVector],
    ) -> Vec<Patch> {
        let grid = grid(frames[0].width(), frames[0].height());
        let Some(suspects) = instructions.run(Suspects { frames, grid, field }) else { return Vec::new() };
        let search = ObjectSearch { frames, grid, field };
        let regions = search.regions(&suspects, self);
        let (patches, around) = search.patches_and_vectors(&regions);
        for ((column, row), (x, y)) in around {
            let vector = &mut field[row * grid.columns + column];
            (vector.x, vector.y) = (x, y);
        }
        patches
    }
}

/// Looks for blocks that may show small objects: whether each does, or `None` if none does, or too many.
struct Suspects<'a> {
    frames: [&'a FrameView<'a>; 2],
    grid: Grid,
    field: &'a [MotionVector],
}

impl<E: InstructionSet> Work<E, Option<Vec<(usize, usize)>>> for Suspects<'_> {
    #[inline(always)]
    fn run(self, _: E) -> Option<Vec<(usize, usize)>> {
        let Self { frames: [previous, next], grid: Grid { columns, rows }, field } = self;
        let mut suspects = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let vector = field[row * columns + column];
                let unlike = |other: MotionVector| {
                    let axis = |a: i16, b: i16| u32::from(a.abs_diff(b));
                    axis(vector.x, other.x) + axis(vector.y, other.y) > MOST_UNLIKE
                };
                let right = field[row * columns + (column + 1).min(columns - 1)];
                let below = field[(row + 1).min(rows - 1) * columns + column];
                let place = [BLOCK * column, BLOCK * row].map(|at| at as i32);
                let [x, y] = add(place, whole((vector.x, vector.y)));
                let is_suspect = unlike(right) || unlike(below) || {
                    let block = CentredBlock::load(previous, (place[0], place[1]), 0);
                    block.difference(&CentredBlock::load(next, (x, y), 0)) >= LEAST_MISMATCH
                };
                if is_suspect {
                    suspects.push((column, row));
                }
            }
            if BLOCKS_A_SUSPECT * suspects.len() > columns * rows {
                return None;
            }
        }
        (!suspects.is_empty()).then_some(suspects)
    }
}

/// A vector in whole samples.
fn whole((x, y): (i16, i16)) -> Way {
    [x, y].map(|units| (i32::from(units) + 16) >> 5)
}

/// Samples that the motion around them does not explain, by their places in the previous frame.
struct Region {
    samples: Vec<Way>,
    /// The same.
    mask: Mask,
    least: Way,
    largest: Way,
    /// How what is around it moves.
    background: Way,
    /// What that leaves of differences.
    left: u32,
}

impl Region {
    fn side(&self, axis: usize) -> i32 {
        self.largest[axis] - self.least[axis] + 1
    }
}

/// Two regions: an object moves from one to the other.
struct Object {
    from: usize,
    to: usize,
    /// From its place in the previous frame to that in the next.
    motion: Way,
    /// How well it matches.
    ratio: u32,
}

struct ObjectSearch<'a> {
    frames: [&'a FrameView<'a>; 2],
    grid: Grid,
    field: &'a [MotionVector],
}

impl ObjectSearch<'_> {
    fn sample(&self, frame: usize, [x, y]: Way) -> i32 {
        self.frames[frame].extended(x, y).into()
    }

    /// The difference between the sample of the previous frame at `place` and that of the next frame `motion` further.
    fn difference(&self, place: Way, motion: Way) -> u32 {
        self.sample(0, place).abs_diff(self.sample(1, add(place, motion)))
    }

    /// The median of the vectors around a block.
    fn vector_around(&self, (column, row): (usize, usize)) -> (i16, i16) {
        let steps = || (-AROUND..=AROUND).step_by(2);
        let near =
            |at: usize, step: i32, count: usize| (at as i32 + step).clamp(0, count as i32 - 1) as usize;
        let Grid { columns, rows } = self.grid;
        let around = || {
            steps().flat_map(|down| steps().map(move |right| (right, down))).map(|(right, down)| {
                self.field[near(row, down, rows) * columns + near(column, right, columns)]
            })
        };
        let median = |mut values: Vec<i16>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        (median(around().map(|vector| vector.x).collect()), median(around().map(|vector| vector.y).collect()))
    }

    /// The range of the samples around one.
    fn range(&self, frame: usize, place: Way) -> i32 {
        let around = (-1..=1).flat_map(|y| (-1..=1).map(move |x| self.sample(frame, add(place, [x, y]))));
        let (least, largest) =
            around.fold((255, 0), |(least, largest), sample| (sample.min(least), sample.max(largest)));
        largest - least
    }

    fn is_explained(&self, place: Way, motion: Way) -> bool {
        let difference = self.difference(place, motion) as i32;
        difference <= LEAST_DIFFERENCE
            || 2 * (difference - LEAST_DIFFERENCE)
                <= self.range(0, place).min(self.range(1, add(place, motion)))
    }

    /// The regions around blocks, in the order of their first samples.
    fn regions(&self, suspects: &[(usize, usize)], memory: &mut SmallObjects) -> Vec<Region> {
        let Grid { columns, rows } = self.grid;
        let (width, height) = self.frames[0].size();
        let SmallObjects { is_near, backgrounds, is_left } = memory;
        is_near.fill(0);
        is_left.fill(0);
        for &(column, row) in suspects {
            for row in row.saturating_sub(1)..rows.min(row + 2) {
                is_near[row * columns..][column.saturating_sub(1)..columns.min(column + 2)].fill(1);
            }
        }
        for block in (0..columns * rows).filter(|&block| is_near[block] != 0) {
            let (column, row) = (block % columns, block / columns);
            backgrounds[block] = whole(self.vector_around((column, row)));
            for y in BLOCK * row..height.min(BLOCK * (row + 1)) {
                for x in BLOCK * column..width.min(BLOCK * (column + 1)) {
                    let place = [x, y].map(|at| at as i32);
                    is_left[y * width + x] = u8::from(!self.is_explained(place, backgrounds[block]));
                }
            }
        }
        let mut regions = Vec::new();
        for at in 0..width * height {
            if is_left[at] == 0 {
                continue;
            }
            let first = [at % width, at / width].map(|at| at as i32);
            let samples = connected(is_left, (width, height), first);
            let limits = |axis: usize| {
                let at = samples.iter().map(|place| place[axis]);
                at.fold((i32::MAX, 0), |(least, largest), at| (at.min(least), at.max(largest)))
            };
            let [(left, right), (top, bottom)] = [0, 1].map(limits);
            let background = backgrounds[first[1] as usize / BLOCK * columns + first[0] as usize / BLOCK];
            let left_over = samples.iter().map(|&place| self.difference(place, background)).sum();
            let (least, largest) = ([left, top], [right, bottom]);
            if samples.len() >= LEAST_SAMPLES && (right - left).max(bottom - top) < MOST_SIDE {
                let mask = Mask::around(&samples, 0);
                regions.push(Region { samples, mask, least, largest, background, left: left_over });
            }
            if regions.len() > MOST_REGIONS {
                return Vec::new();
            }
        }
        regions
    }

    /// The pairs of regions between which objects move, the best ones first; no region is in two of them.
    fn objects(&self, regions: &[Region]) -> Vec<Object> {
        let mut all = Vec::new();
        for from in 0..regions.len() {
            for to in (0..regions.len()).filter(|&to| to != from) {
                all.extend(self.object(regions, from, to));
            }
        }
        all.sort_by_key(|object| (object.ratio, object.from, object.to));
        let mut is_used = vec![false; regions.len()];
        all.retain(|object| {
            let is_free = !is_used[object.from] && !is_used[object.to];
            if is_free {
                (is_used[object.from], is_used[object.to]) = (true, true);
            }
            is_free
        });
        all.truncate(MOST_OBJECTS);
        all
    }

    fn object(&self, regions: &[Region], from: usize, to: usize) -> Option<Object> {
        let [a, b] = [&regions[from], &regions[to]];
        let are_alike = |a: usize, b: usize| a <= 3 * b && b <= 3 * a;
        let sides = |axis| are_alike(a.side(axis) as usize + 4, b.side(axis) as usize + 4);
        if !are_alike(a.samples.len(), b.samples.len()) || !sides(0) || !sides(1) {
            return None;
        }
        // Between the places where the background is still.
        let first = subtract(add(b.least, b.largest), add(a.least, a.largest)).map(|twice| twice >> 1);
        // What matches worse is no object.
        let (mut best, mut least) = (None, a.left / BETTER + 1);
        for down in -REACH..=REACH {
            for right in -REACH..=REACH {
                let way = add(first, [right, down]);
                let mut cost = 0;
                for &place in &a.samples {
                    cost += self.difference(place, add(way, b.background));
                    if cost >= least {
                        break;
                    }
                }
                if cost < least {
                    (best, least) = (Some(way), cost);
                }
            }
        }
        let best = best?;
        let motion = add(best, b.background);
        let other: u32 = b.samples.iter().map(|&place| self.difference(subtract(place, best), motion)).sum();
        if BETTER * other > b.left {
            return None;
        }
        // Where the object is, it differs from what is around it; where it is not, the background goes on.
        let shown = self.contrast(0, a, [0; 2]) + self.contrast(1, b, b.background);
        let hidden = self.contrast(1, a, a.background) + self.contrast(0, b, [0; 2]);
        let ratio = 1024 * (least + other) / (a.left + b.left).max(1);
        (shown > hidden).then_some(Object { from, to, motion, ratio })
    }

    /// How much the samples of a region, `away` from its place, differ from those around it.
    fn contrast(&self, frame: usize, region: &Region, away: Way) -> u32 {
        let of_sample = |&place: &Way| -> u32 {
            let around = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(|step| add(place, step));
            let own = self.sample(frame, add(place, away));
            around
                .iter()
                .filter(|&&other| !region.mask.has(other))
                .map(|&other| own.abs_diff(self.sample(frame, add(other, away))))
                .sum()
        };
        region.samples.iter().map(of_sample).sum()
    }

    /// The blocks that show a region.
    fn blocks_of(&self, region: &Region) -> impl Iterator<Item = (usize, usize)> {
        let block = |at: i32, count: usize| (at.max(0) as usize / BLOCK).min(count - 1);
        let range = |axis: usize, count: usize| {
            block(region.least[axis] - EDGE, count)..=block(region.largest[axis] + EDGE, count)
        };
        let (columns, rows) = (range(0, self.grid.columns), range(1, self.grid.rows));
        rows.flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// What is drawn of all objects, and the vectors of the blocks that show one of them.
    fn patches_and_vectors(&self, regions: &[Region]) -> (Vec<Patch>, Vec<FoundAround>) {
        let (mut patches, mut vectors) = (Vec::new(), Vec::new());
        for object in &self.objects(regions) {
            let blocks =
                [object.from, object.to].into_iter().flat_map(|number| self.blocks_of(&regions[number]));
            vectors.extend(blocks.map(|block| (block, self.vector_around(block))));
            patches.extend(self.patches(regions, object));
        }
        (patches, vectors)
    }

    /// What is drawn of an object: the background where it was and where it will be, and the object.
    fn patches(&self, regions: &[Region], object: &Object) -> [Patch; 3] {
        let [a, b] = [object.from, object.to].map(|number| &regions[number]);
        let way = subtract(object.motion, b.background);
        let moved = b.samples.iter().map(|&place| subtract(place, way));
        let whole: Vec<_> = a.samples.iter().copied().chain(moved).collect();
        let mut of_object = Mask::around(&whole, EDGE);
        of_object.retain(|place| self.difference(place, object.motion) <= LEAST_DIFFERENCE as u32);
        let of_region = |region: &Region, shown| Patch {
            mask: Mask::around(&region.samples, EDGE),
            motion: region.background,
            shown,
        };
        [
            of_region(a, Shown::Next),
            of_region(b, Shown::Previous),
            Patch { mask: of_object, motion: object.motion, shown: Shown::Nearer },
        ]
    }
}

/// Takes the samples that are connected with the one at `first`.
fn connected(is_left: &mut [u8], (width, height): (usize, usize), first: Way) -> Vec<Way> {
    let mut samples = vec![first];
    is_left[first[1] as usize * width + first[0] as usize] = 0;
    let mut next = 0;
    while next < samples.len() {
        let [x, y] = samples[next];
        next += 1;
        for y in (y - GAP).max(0)..=(y + GAP).min(height as i32 - 1) {
            for x in (x - GAP).max(0)..=(x + GAP).min(width as i32 - 1) {
                if std::mem::take(&mut is_left[y as usize * width + x as usize]) != 0 {
                    samples.push([x, y]);
                }
            }
        }
    }
    samples
}

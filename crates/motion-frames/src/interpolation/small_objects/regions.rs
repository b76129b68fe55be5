//! Regions that the motion around them does not explain.

use std::borrow::Cow;
use std::ops::Range;

use super::{
    AROUND, BLOCK, BLOCKS_A_SUSPECT, FramePair, GAP, LEAST_COST, LEAST_DIFFERENCE, LEAST_SAMPLES,
    MOST_REGIONS, MOST_SIDE, MOST_UNLIKE, Way, add, grid,
};
use motion_base::memory;
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{Grid, MotionVector, SetupError};
use motion_search::scenes::BlockSamples;

/// The vectors on each axis of which the median is taken.
const SIDE: usize = AROUND as usize + 1;

/// A label of a sample that the motion around its block does not explain, before it is known of which region it is. Regions have
/// those after it.
const UNBETTER: u8 = 1;

/// Samples that the motion around them does not explain.
#[derive(Clone)]
pub(super) struct Region<'a> {
    /// Their places in the previous frame.
    samples: Cow<'a, [[i16; 2]]>,
    /// The first and the last column and row.
    pub first: Way,
    pub last: Way,
    /// How what is around it moves.
    pub background: Way,
    /// How much its samples differ from those around it, in the previous frame, and in the next one, where the background has gone on.
    pub contrast: [i32; 2],
}

impl<'a> Region<'a> {
    /// Of these samples, with what is around it: samples that are outside.
    pub fn new(
        frames: FramePair<'_>,
        samples: Cow<'a, [[i16; 2]]>,
        background: Way,
        is_outside: impl Fn(Way) -> bool,
    ) -> Self {
        let [first, last] = limits(&samples);
        let places = || samples.iter().map(|place| place.map(i32::from));
        let contrast = |frame: usize, away: Way| -> i32 {
            let of_sample = |place: Way| -> i32 {
                let own = frames.sample(frame, add(place, away));
                let around = [[1, 0], [-1, 0], [0, 1], [0, -1]].map(|step| add(place, step));
                let outside = around.into_iter().filter(|&other| is_outside(other));
                outside.map(|other| i32::from(own.abs_diff(frames.sample(frame, add(other, away))))).sum()
            };
            places().map(of_sample).sum()
        };
        let contrast = [contrast(0, [0; 2]), contrast(1, background)];
        Self { samples, first, last, background, contrast }
    }

    /// More than 0 if an object was there and is gone in the next frame, less if one will be there.
    pub fn excess(&self) -> i32 {
        self.contrast[0] - self.contrast[1]
    }

    /// Whether the contrast of what is behind the object is at most one part of `times` of the object's.
    pub fn is_background_plainer(&self, times: i32) -> bool {
        let [first, second] = self.contrast;
        times * first.min(second) <= first.max(second)
    }

    /// Where its samples are.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = Way> {
        self.samples.iter().map(|place| place.map(i32::from))
    }

    /// The number of its samples.
    pub fn count(&self) -> i32 {
        self.samples.len() as i32
    }

    pub fn side(&self, axis: usize) -> i32 {
        self.last[axis] - self.first[axis] + 1
    }
}

/// What is known of a block.
#[derive(Clone, Copy, Default)]
struct BlockState {
    /// Whether it or one beside it is looked at.
    is_near: bool,
    /// Whether samples of it are not explained.
    is_left: bool,
    /// How what is around it moves.
    background: Way,
}

/// Finds regions, with memory for one frame after the other.
pub(super) struct RegionSearch {
    blocks: Vec<BlockState>,
    /// Of each sample 0, [`UNBETTER`], or the label of its region.
    labels: Vec<u8>,
    /// The samples of one region after the other.
    samples: Vec<[i16; 2]>,
}

impl RegionSearch {
    /// For search frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        Ok(Self {
            blocks: memory::values("blocks of small objects", grid(width, height).blocks())?,
            labels: memory::values("labels of samples", width * height)?,
            samples: memory::values("samples of small objects", width * height)?,
        })
    }

    /// Those of two frames, in the order of their first samples, in the blocks that [`Self::find_near`] has marked; none if there
    /// are too many.
    pub fn find(
        &mut self,
        instructions: Instructions,
        frames: FramePair<'_>,
        field: &[MotionVector],
    ) -> Vec<Region<'_>> {
        let (width, height) = frames.frames[0].size();
        let grid = grid(width, height);
        instructions.run(Unexplained { search: self, frames, field, grid });
        let Some(found) = self.connect(grid, (width, height)) else { return Vec::new() };
        let Self { blocks, labels, samples } = self;
        let region = |(number, range): (u8, Range<usize>)| {
            let samples = &samples[range];
            let [x, y] = samples[0].map(|at| at as usize / BLOCK);
            let background = blocks[y * grid.columns + x].background;
            let is_outside = |[x, y]: Way| {
                let is_in_frame = (0..width as i32).contains(&x) && (0..height as i32).contains(&y);
                !is_in_frame || labels[y as usize * width + x as usize] != UNBETTER + 1 + number
            };
            Region::new(frames, samples.into(), background, is_outside)
        };
        (0..).zip(found).map(region).collect()
    }

    /// Marks the blocks that may show small objects, and those beside them. Returns whether there are any, and not too many.
    pub fn find_near(&mut self, (width, height): (usize, usize), field: &[MotionVector]) -> bool {
        let Grid { columns, rows } = grid(width, height);
        self.blocks.fill(BlockState::default());
        let mean = field.iter().map(|vector| u64::from(vector.cost)).sum::<u64>() / field.len().max(1) as u64;
        let is_cheap = |vector: &MotionVector| u64::from(vector.cost) < mean + u64::from(LEAST_COST);
        let mut suspects = 0;
        for (row, vectors) in field.chunks_exact(columns).enumerate() {
            let below = field[columns * (row + 1).min(rows - 1)..].iter();
            for (column, (vector, below)) in vectors.iter().zip(below).enumerate() {
                let is_unlike = |other: &MotionVector| {
                    let axis = |a: i16, b: i16| u32::from(a.abs_diff(b));
                    axis(vector.x, other.x) + axis(vector.y, other.y) > MOST_UNLIKE
                };
                let right = &vectors[(column + 1).min(columns - 1)];
                if is_cheap(vector) && !is_unlike(right) && !is_unlike(below) {
                    continue;
                }
                suspects += 1;
                for row in row.saturating_sub(1)..rows.min(row + 2) {
                    let near = column.saturating_sub(1)..columns.min(column + 2);
                    self.blocks[row * columns..][near].iter_mut().for_each(|block| block.is_near = true);
                }
            }
            if BLOCKS_A_SUSPECT * suspects > columns * rows {
                return false;
            }
        }
        suspects > 0
    }

    /// Collects the samples of regions, and labels them: which samples each has, unless there are too many regions.
    fn connect(&mut self, grid: Grid, (width, height): (usize, usize)) -> Option<Vec<Range<usize>>> {
        let (mut regions, mut used) = (Vec::new(), 0);
        for y in 0..height {
            for column in 0..grid.columns {
                if !self.blocks[y / BLOCK * grid.columns + column].is_left {
                    continue;
                }
                for x in BLOCK * column..width.min(BLOCK * (column + 1)) {
                    if self.labels[y * width + x] != UNBETTER {
                        continue;
                    }
                    let label = UNBETTER + 1 + regions.len() as u8;
                    let end = self.connect_one(label, used, [x as i16, y as i16], [width, height]);
                    let [first, last] = limits(&self.samples[used..end]);
                    let is_small = (0..2).all(|axis| last[axis] - first[axis] < MOST_SIDE);
                    if end - used < LEAST_SAMPLES || !is_small {
                        self.samples[used..end]
                            .iter()
                            .for_each(|&[x, y]| self.labels[y as usize * width + x as usize] = 0);
                        continue;
                    }
                    if regions.len() == MOST_REGIONS {
                        return None;
                    }
                    regions.push(used..end);
                    used = end;
                }
            }
        }
        Some(regions)
    }

    /// Labels the sample `first` and those that are connected with it, and collects them from number `start` on. Returns the number
    /// behind the last one.
    fn connect_one(
        &mut self,
        label: u8,
        start: usize,
        first: [i16; 2],
        [width, height]: [usize; 2],
    ) -> usize {
        let Self { labels, samples, .. } = self;
        samples[start] = first;
        labels[first[1] as usize * width + first[0] as usize] = label;
        let (mut next, mut end) = (start, start + 1);
        while next < end {
            let [x, y] = samples[next].map(i32::from);
            next += 1;
            for y in (y - GAP).max(0)..=(y + GAP).min(height as i32 - 1) {
                for x in (x - GAP).max(0)..=(x + GAP).min(width as i32 - 1) {
                    let near = &mut labels[y as usize * width + x as usize];
                    if *near == UNBETTER {
                        *near = label;
                        samples[end] = [x as i16, y as i16];
                        end += 1;
                    }
                }
            }
        }
        end
    }
}

/// The first and the last column and row of samples.
fn limits(samples: &[[i16; 2]]) -> [Way; 2] {
    let of_axis = |axis: usize| {
        let at = samples.iter().map(|place| i32::from(place[axis]));
        at.fold((i32::MAX, 0), |(least, largest), at| (least.min(at), largest.max(at)))
    };
    let [(left, right), (top, bottom)] = [0, 1].map(of_axis);
    [[left, top], [right, bottom]]
}

/// Looks for samples of near blocks that the motion around these does not explain.
struct Unexplained<'a> {
    search: &'a mut RegionSearch,
    frames: FramePair<'a>,
    field: &'a [MotionVector],
    grid: Grid,
}

impl<E: InstructionSet> Work<E> for Unexplained<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { search: RegionSearch { blocks, labels, .. }, frames, field, grid } = self;
        let [previous, next] = frames.frames;
        let (width, height) = previous.size();
        labels.fill(0);
        for (at, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.is_near) {
            let (column, row) = (at % grid.columns, at / grid.columns);
            block.background = whole(vector_around(field, grid, (column, row)));
            let [x, y] = [column, row].map(|at| (BLOCK * at) as i32);
            let [to_x, to_y] = add([x, y], block.background);
            let own = BlockSamples::load(previous, (x, y));
            let other = BlockSamples::load(next, (to_x, to_y));
            for number in own.differing(&other, LEAST_DIFFERENCE) {
                let place = add([x, y], [number % BLOCK, number / BLOCK].map(|at| at as i32));
                let [column, row] = place.map(|at| at as usize);
                if column < width && row < height && !is_explained(frames, place, block.background) {
                    labels[row * width + column] = UNBETTER;
                    block.is_left = true;
                }
            }
        }
    }
}

/// The median of the vectors around a block.
pub(super) fn vector_around(
    field: &[MotionVector],
    Grid { columns, rows }: Grid,
    (column, row): (usize, usize),
) -> (i16, i16) {
    let near = |at: usize, count: usize| -> [usize; SIDE] {
        std::array::from_fn(|step| (at + 2 * step).saturating_sub(AROUND as usize).min(count - 1))
    };
    let (near_columns, near_rows) = (near(column, columns), near(row, rows));
    let around: [(i16, i16); SIDE * SIDE] = std::array::from_fn(|at| {
        let vector = &field[near_rows[at / SIDE] * columns + near_columns[at % SIDE]];
        (vector.x, vector.y)
    });
    (median(around.map(|vector| vector.0)), median(around.map(|vector| vector.1)))
}

fn median(mut values: [i16; SIDE * SIDE]) -> i16 {
    let middle = values.len() / 2;
    // Most vectors are often equal, and their value then is the median.
    let own = values[middle];
    if values.iter().filter(|&&value| value == own).count() > middle {
        return own;
    }
    *values.select_nth_unstable(middle).1
}

/// A vector in whole samples.
fn whole((x, y): (i16, i16)) -> Way {
    [x, y].map(|units| (i32::from(units) + 16) >> 5)
}

/// Whether a sample that differs from the one to which `motion` leads is explained by the samples around both.
#[inline(always)]
fn is_explained(frames: FramePair<'_>, place: Way, motion: Way) -> bool {
    let more = u16::from(frames.difference(place, motion).saturating_sub(LEAST_DIFFERENCE));
    let [previous, next] = frames.ranges(place, motion);
    2 * more <= previous.min(next).into()
}

//! Whether two frames show different scenes.
//!
//! `docs/algorithms.md` defines it. Blocks vote at two scales: noise that hides a scene in the frames themselves is a quarter
//! as strong in frames of a quarter of their width and height, and what such small frames have in common by chance is told apart in the
//! frames themselves.

use std::ops::{Add, Range};

use super::detail::CentredBlock;
use super::rules::{BLOCK, halved};
use super::search_frame::SearchFrames;
use crate::estimator::{Frame, FrameView, MotionVector, SetupError};
use crate::memory;
use crate::simd::{InstructionSet, Instructions, Work};

/// How often frames are halved for areas.
const HALVINGS: u32 = 2;

/// The blocks on a side of an area.
const AREA: usize = 1 << HALVINGS;

/// The votes of an area: the blocks that it covers.
const AREA_VOTES: usize = AREA * AREA;

/// The most variance of noise that is believed, of blocks and of areas. Noise that neighbouring samples share is less than 16
/// times as weak in areas.
const MOST_NOISE: [i64; 2] = [256, 64];

/// Fewer areas than these match too often by chance: blocks alone tell then.
const MOST_OF_SMALL: usize = 64;

/// One area in as many has structure at least where anything can be said.
const LEAST_AREAS: usize = 6;

/// The same of blocks, where these alone tell.
const LEAST_BLOCKS: usize = 8;

/// One in as many of those has structure in both frames at least where a flat frame is no scene.
const LEAST_IN_BOTH: usize = 32;

/// How much of the votes must be against: the share of those that match badly, in percent, above which two frames show different
/// scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneCutThreshold(u32);

impl SceneCutThreshold {
    /// The share that tells scenes apart best.
    pub const DEFAULT_PERCENT: f64 = 66.0;

    /// As near to `percent` as a hundredth of a percent; `None` unless it is from 0 to 100.
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then(|| Self((100.0 * percent).round() as u32))
    }

    /// Whether so many of the votes are more than the share.
    fn is_exceeded_by(self, votes: Votes) -> bool {
        10_000 * votes.against > self.0 as usize * votes.counted
    }

    /// Whether so many of the votes are more than two thirds of the share.
    fn is_nearly_exceeded_by(self, votes: Votes) -> bool {
        30_000 * votes.against > 2 * self.0 as usize * votes.counted
    }
}

impl Default for SceneCutThreshold {
    fn default() -> Self {
        Self((100.0 * Self::DEFAULT_PERCENT) as u32)
    }
}

/// What a frame without structure is, as a black one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlatFrame {
    /// Another scene than a frame with structure: nothing can be made between the two.
    Scene,
    /// Part of the scene, as in a fade.
    PartOfScene,
}

/// The votes of blocks, and those of them that match badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Votes {
    counted: usize,
    against: usize,
}

impl Votes {
    fn of(blocks: &[Vote]) -> Self {
        let count = |what: fn(&Vote) -> bool| blocks.iter().filter(|vote| what(vote)).count();
        Self { counted: count(|vote| *vote != Vote::None), against: count(|vote| *vote == Vote::Against) }
    }
}

impl Add for Votes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { counted: self.counted + other.counted, against: self.against + other.against }
    }
}

/// What a block says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Vote {
    /// Nothing: it has no structure in either frame.
    #[default]
    None,
    /// Its match has the same structure.
    For,
    /// Its match has another structure.
    Against,
}

/// A row of blocks that lies wholly inside `current`.
struct VotingRow<'a, V> {
    current: &'a FrameView<'a>,
    reference: &'a FrameView<'a>,
    most_noise: i64,
    row: usize,
    /// That of the block in a column and row, in whole samples.
    vector: &'a V,
    votes: &'a mut [Vote],
}

impl<E: InstructionSet, V: Fn(usize, usize) -> (i32, i32)> Work<E> for VotingRow<'_, V> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { current, reference, most_noise, row, vector, votes } = self;
        for (column, vote) in votes.iter_mut().enumerate() {
            let (x, y) = ((BLOCK * column) as i32, (BLOCK * row) as i32);
            let (to_x, to_y) = vector(column, row);
            let block = CentredBlock::load(current, (x, y), most_noise);
            let matched = CentredBlock::load(reference, (x + to_x, y + to_y), most_noise);
            *vote = if !block.has_structure() && !matched.has_structure() {
                Vote::None
            } else if block.matches(&matched)
                || block.resembles(&matched)
                || block.resembles(&CentredBlock::load(reference, (x, y), most_noise))
            {
                Vote::For
            } else {
                Vote::Against
            };
        }
    }
}

/// The votes of the blocks that lie wholly inside a frame, row by row.
struct Ballot {
    columns: usize,
    rows: usize,
    votes: Vec<Vote>,
}

impl Ballot {
    fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let (columns, rows) = (width / BLOCK, height / BLOCK);
        Ok(Self { columns, rows, votes: memory::values("votes about scene cuts", columns * rows)? })
    }

    /// Lets the blocks of `current` vote, by their matches in `reference`. `vector` is that of a block, in whole samples.
    fn hold(
        &mut self,
        instructions: Instructions,
        [current, reference]: [&FrameView<'_>; 2],
        (most_noise, vector): (i64, impl Fn(usize, usize) -> (i32, i32)),
    ) {
        for row in 0..self.rows {
            let votes = &mut self.votes[row * self.columns..][..self.columns];
            instructions.run(VotingRow { current, reference, most_noise, row, vector: &vector, votes });
        }
    }

    /// The votes of the blocks in these columns and rows.
    fn votes(&self, columns: Range<usize>, rows: Range<usize>) -> Votes {
        let mut votes = Votes::default();
        for row in rows {
            votes = votes + Votes::of(&self.votes[row * self.columns..][columns.clone()]);
        }
        votes
    }

    /// The blocks of `frame` with structure.
    fn structured(&self, frame: &FrameView<'_>, most_noise: i64) -> usize {
        let has_structure = |index: &usize| {
            let at = [index % self.columns, index / self.columns].map(|at| (BLOCK * at) as i32);
            CentredBlock::load(frame, (at[0], at[1]), most_noise).has_structure()
        };
        (0..self.votes.len()).filter(has_structure).count()
    }

    /// The columns and rows without bars beside the picture and the edges of these, which all scenes have in common.
    fn inside_bars(&self) -> [Range<usize>; 2] {
        let (all_columns, all_rows) = (0..self.columns, 0..self.rows);
        let in_column = |column: usize| self.votes(column..column + 1, 0..self.rows).counted;
        let in_row = |row: usize| self.votes(0..self.columns, row..row + 1).counted;
        let columns = between_bars(all_columns.clone(), self.rows, in_column);
        let rows = between_bars(all_rows.clone(), self.columns, in_row);
        if columns.is_empty() || rows.is_empty() { [all_columns, all_rows] } else { [columns, rows] }
    }
}

/// The `lines` without a bar at either end and its edge. `counted` blocks of the `length` of a line have structure: few in a
/// bar, many in its edge.
fn between_bars(lines: Range<usize>, length: usize, counted: impl Fn(usize) -> usize) -> Range<usize> {
    let bar = |ordered: &mut dyn Iterator<Item = usize>| {
        let first = ordered.map(&counted).enumerate().find(|(_, counted)| 8 * counted >= length);
        first.filter(|(blank, counted)| *blank > 0 && 2 * counted >= length).map_or(0, |(blank, _)| blank + 1)
    };
    lines.start + bar(&mut lines.clone())..lines.end - bar(&mut lines.clone().rev())
}

/// Where the vectors of a field lead from the 8 x 8 blocks of the frames that are compared.
pub(crate) struct BlockVectors<'a> {
    pub vectors: &'a [MotionVector],
    /// The blocks of the field on each axis.
    pub grid: (usize, usize),
    /// The side of a block of the field, in samples of frames that are `halvings` times larger.
    pub block_size: usize,
    pub halvings: u32,
    /// As a power of two, units of a sample of the frames that are compared.
    pub unit: u32,
}

impl BlockVectors<'_> {
    /// The column and row of the field that hold the middle of a column and row of blocks.
    fn place(&self, column: usize, row: usize) -> (usize, usize) {
        let place = |at: usize, blocks: usize| {
            let middle = (BLOCK * at + BLOCK / 2) << self.halvings;
            (middle / self.block_size).min(blocks - 1)
        };
        (place(column, self.grid.0), place(row, self.grid.1))
    }

    /// Where the vector of a block leads, in whole samples.
    fn of_block(&self, column: usize, row: usize) -> (i32, i32) {
        let (column, row) = self.place(column, row);
        let MotionVector { x, y, .. } = self.vectors[row * self.grid.0 + column];
        (whole(x, self.unit), whole(y, self.unit))
    }

    /// Where the median of the vectors of an area leads, in whole samples of frames that are halved for areas.
    fn of_area(&self, column: usize, row: usize) -> (i32, i32) {
        let places: [_; AREA] = std::array::from_fn(|at| self.place(AREA * column + at, AREA * row + at));
        let [mut x, mut y] = [[0; AREA_VOTES]; 2];
        for (index, (x, y)) in x.iter_mut().zip(&mut y).enumerate() {
            let vector = self.vectors[places[index / AREA].1 * self.grid.0 + places[index % AREA].0];
            (*x, *y) = (vector.x, vector.y);
        }
        let median = |units: &mut [i16; AREA_VOTES]| {
            let (_, median, _) = units.select_nth_unstable(AREA_VOTES / 2);
            whole(*median, self.unit + HALVINGS)
        };
        (median(&mut x), median(&mut y))
    }
}

/// A number of units in whole samples of `1 << unit` units.
fn whole(units: i16, unit: u32) -> i32 {
    (i32::from(units) + (1 << (unit - 1))) >> unit
}

/// Tells whether frames of one size show different scenes.
pub(crate) struct SceneCuts {
    small: SearchFrames,
    blocks: Ballot,
    areas: Ballot,
}

impl SceneCuts {
    /// For frames of `size`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize)) -> Result<Self, SetupError> {
        let small = (halved(size.0, HALVINGS), halved(size.1, HALVINGS));
        Ok(Self {
            small: SearchFrames::new(size, HALVINGS)?,
            blocks: Ballot::new(size)?,
            areas: Ballot::new(small)?,
        })
    }

    /// Whether `current` and `reference` show different scenes, by the field of the one in the other.
    pub fn is_cut(
        &mut self,
        instructions: Instructions,
        frames: [&FrameView<'_>; 2],
        field: &BlockVectors<'_>,
        (threshold, flat): (SceneCutThreshold, FlatFrame),
    ) -> bool {
        let vector = |column, row| field.of_block(column, row);
        if self.areas.votes.len() < MOST_OF_SMALL {
            return self.is_cut_by_blocks(instructions, frames, vector, (threshold, flat));
        }
        let small = frames.map(|frame| self.small.make(instructions, frame));
        let [current, reference] = small.each_ref().map(Frame::view);
        let Self { blocks, areas, .. } = self;
        let of_area = |column, row| field.of_area(column, row);
        areas.hold(instructions, [&current, &reference], (MOST_NOISE[1], of_area));
        let counted = Votes::of(&areas.votes).counted;
        let [columns, rows] = areas.inside_bars();
        // Most frames match their neighbours: areas tell.
        if LEAST_AREAS * counted < areas.votes.len()
            || !threshold.is_nearly_exceeded_by(areas.votes(columns, rows))
        {
            return false;
        }
        let is_flat = |frame| LEAST_IN_BOTH * areas.structured(frame, MOST_NOISE[1]) < counted;
        if flat == FlatFrame::PartOfScene && [&current, &reference].into_iter().any(is_flat) {
            return false;
        }
        blocks.hold(instructions, frames, (MOST_NOISE[0], vector));
        let [columns, rows] = blocks.inside_bars();
        let [area_columns, area_rows] = [&columns, &rows].map(|blocks| {
            let begin = blocks.start.div_ceil(AREA);
            begin..(blocks.end / AREA).max(begin)
        });
        let Votes { counted, against } = areas.votes(area_columns, area_rows);
        let of_areas = Votes { counted: AREA_VOTES * counted, against: AREA_VOTES * against };
        threshold.is_exceeded_by(blocks.votes(columns, rows) + of_areas)
    }

    /// The same of frames with few areas.
    fn is_cut_by_blocks(
        &mut self,
        instructions: Instructions,
        frames: [&FrameView<'_>; 2],
        vector: impl Fn(usize, usize) -> (i32, i32),
        (threshold, flat): (SceneCutThreshold, FlatFrame),
    ) -> bool {
        let blocks = &mut self.blocks;
        blocks.hold(instructions, frames, (MOST_NOISE[0], vector));
        let counted = Votes::of(&blocks.votes).counted;
        let is_flat =
            |frame: &FrameView<'_>| LEAST_IN_BOTH * blocks.structured(frame, MOST_NOISE[0]) < counted;
        if LEAST_BLOCKS * counted < blocks.votes.len()
            || flat == FlatFrame::PartOfScene && frames.into_iter().any(is_flat)
        {
            return false;
        }
        let [columns, rows] = blocks.inside_bars();
        threshold.is_exceeded_by(blocks.votes(columns, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolation::oracle::halved_frame;
    use crate::simd::Level;

    /// The votes of the blocks of frames, row by row: whether each matches badly, and `None` if it does not count. `vector`
    /// is that of a block, in 32ths of a sample.
    fn defined_votes(
        [current, reference]: [&FrameView<'_>; 2],
        most_noise: i64,
        vector: impl Fn(usize, usize) -> (i32, i32),
    ) -> Vec<Vec<Option<bool>>> {
        let block = |frame: &FrameView<'_>, x: i32, y: i32| -> Vec<i64> {
            let samples = (0..64).map(|at| i64::from(frame.extended(x + at % 8, y + at / 8)));
            let mean = (samples.clone().sum::<i64>() + 32) >> 6;
            samples.map(|sample| sample - mean).collect()
        };
        let product = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
        let structure = |a: &[i64]| {
            let steps = |step: usize, is_last: fn(usize) -> bool| -> i64 {
                (0..64).filter(|at| !is_last(*at)).map(|at| (a[at] - a[at + step]).pow(2)).sum()
            };
            let noise = (9 * (steps(1, |at| at % 8 == 7) + steps(8, |at| at / 8 == 7))) >> 5;
            (product(a, a) - noise.min(64 * most_noise)).max(0)
        };
        let alike = |a: &[i64], b: &[i64]| {
            let strength = |a: &[i64]| structure(a).max(product(a, a) >> 2);
            let both = product(a, b);
            both > 0 && 100 * both * both >= 81 * strength(a) * strength(b)
        };
        let row = |row: usize| {
            let vote = |column: usize| {
                let [x, y] = [column, row].map(|at| 8 * at as i32);
                let to = |units: i32| (f64::from(units) / 32.0 + 0.5).floor() as i32;
                let (to_x, to_y) = vector(column, row);
                let own = block(current, x, y);
                let matched = block(reference, x + to(to_x), y + to(to_y));
                let counts = |a: &[i64]| structure(a) >= 400 && 2 * structure(a) >= product(a, a);
                (counts(&own) || counts(&matched)).then(|| {
                    25 * product(&own, &matched) <= 9 * (structure(&own) + structure(&matched))
                        && !alike(&own, &matched)
                        && !alike(&own, &block(reference, x, y))
                })
            };
            (0..current.width() / 8).map(vote).collect()
        };
        (0..current.height() / 8).map(row).collect()
    }

    /// How many lines are a bar and its edge.
    fn defined_bar(lines: &[Vec<Option<bool>>]) -> usize {
        let counted = |line: &Vec<Option<bool>>| line.iter().flatten().count();
        match lines.iter().position(|line| 8 * counted(line) >= line.len()) {
            Some(first) if first > 0 && 2 * counted(&lines[first]) >= lines[first].len() => first + 1,
            _ => 0,
        }
    }

    /// The first column and row inside of bars, and those after the last ones.
    fn inside_bars(votes: &[Vec<Option<bool>>]) -> [(usize, usize); 2] {
        let columns = votes.first().map_or(0, Vec::len);
        let turned: Vec<Vec<_>> = (0..columns).map(|x| votes.iter().map(|row| row[x]).collect()).collect();
        let inside = [&turned[..], votes].map(|lines| {
            let reversed: Vec<_> = lines.iter().rev().cloned().collect();
            (defined_bar(lines), lines.len().saturating_sub(defined_bar(&reversed)))
        });
        let is_empty = inside.iter().any(|(begin, end)| begin >= end);
        if is_empty { [(0, columns), (0, votes.len())] } else { inside }
    }

    /// The votes of what lies inside, of areas of so many blocks on a side.
    fn votes_inside(
        votes: &[Vec<Option<bool>>],
        [columns, rows]: [(usize, usize); 2],
        side: usize,
    ) -> Vec<Option<bool>> {
        let is_inside =
            |at: usize, (begin, end): (usize, usize)| at * side >= begin && (at + 1) * side <= end;
        let of_row = |(row, votes): (usize, &Vec<Option<bool>>)| {
            let inside = votes.iter().enumerate().filter(|(column, _)| is_inside(*column, columns));
            let inside: Vec<_> = inside.filter(|_| is_inside(row, rows)).map(|(_, vote)| *vote).collect();
            inside
        };
        votes.iter().enumerate().flat_map(of_row).collect()
    }

    /// The definition of [`SceneCuts::is_cut`] for a field of blocks of 8 in 32ths.
    fn defined(frames: [&Frame; 2], field: &[MotionVector], percent: usize) -> bool {
        let (width, height) = frames[0].view().size();
        let columns = width.div_ceil(8);
        let vector = |column: usize, row: usize| field[row * columns + column];
        let small = frames.map(|frame| halved_frame(&frame.view(), 2));
        let areas = defined_votes([&small[0].view(), &small[1].view()], 64, |column, row| {
            let median = |part: fn(MotionVector) -> i16| {
                let mut all: Vec<_> = (0..16)
                    .map(|at| {
                        let (column, row) = (4 * column + at % 4, 4 * row + at / 4);
                        part(vector(column.min(columns - 1), row.min(height.div_ceil(8) - 1)))
                    })
                    .collect();
                all.sort_unstable();
                all[8]
            };
            // 32ths of a sample are 128ths of one of small frames.
            let to = |units: i16| ((i32::from(units) + 64) >> 7) * 32;
            (to(median(|vector| vector.x)), to(median(|vector| vector.y)))
        });
        let count = |votes: &[Option<bool>]| {
            (votes.iter().flatten().count(), votes.iter().flatten().filter(|is_against| **is_against).count())
        };
        let all: Vec<_> = areas.concat();
        let inside_of_areas = inside_bars(&areas);
        let (counted, against) = count(&votes_inside(&areas, inside_of_areas, 1));
        let is_small = all.len() < 64;
        if !is_small && (6 * count(&all).0 < all.len() || 300 * against <= 2 * percent * counted) {
            return false;
        }
        let blocks = defined_votes([&frames[0].view(), &frames[1].view()], 256, |column, row| {
            let MotionVector { x, y, .. } = vector(column, row);
            (x.into(), y.into())
        });
        let inside = inside_bars(&blocks);
        let (counted, against) = count(&votes_inside(&blocks, inside, 1));
        if is_small {
            let all: Vec<_> = blocks.concat();
            return 8 * count(&all).0 >= all.len() && 100 * against > percent * counted;
        }
        let (counted_areas, against_areas) = count(&votes_inside(&areas, inside, 4));
        100 * (against + 16 * against_areas) > percent * (counted + 16 * counted_areas)
    }

    #[test]
    fn cuts_are_those_of_the_definition() {
        let mut seed = 5_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as i32
        };
        let instructions = Level::best().required().unwrap();
        let mut seen = [0; 2];
        for case in 0..400 {
            let (width, height): (usize, usize) =
                [(131, 99), (264, 259), (70, 161), (261, 262), (7, 33)][case % 5];
            let (columns, bar) = (width.div_ceil(3), if case % 3 == 0 { random() as usize % 30 } else { 0 });
            let grain = |random: &mut dyn FnMut() -> i32| -> Vec<i32> {
                (0..columns * height).map(|_| 40 + random() / 2).collect()
            };
            let scenes = [grain(&mut random), grain(&mut random)];
            // As many blocks as the limit, and some more or fewer, show the other scene; some have no structure.
            let share = 130 + random() % 100;
            let kinds: Vec<_> = (0..width.div_ceil(8) * height.div_ceil(8))
                .map(|_| (random() < share, random() < 40))
                .collect();
            let deviation = 1 + random() % 30;
            let mut frame = |is_current: bool| {
                Frame::from_fn(width, height, |x, y| {
                    let (is_other, is_flat) = kinds[y / 8 * width.div_ceil(8) + x / 8];
                    let scene = &scenes[usize::from(is_other && is_current)];
                    let is_bar = y < bar || height - y <= bar;
                    let level = if is_flat || is_bar { 90 } else { scene[y / 3 * columns + x / 3] };
                    (level + random() % deviation) as u8
                })
            };
            let frames = [&frame(true), &frame(false)];
            // Most lead nowhere else; some far outside.
            let field: Vec<_> = (0..width.div_ceil(8) * height.div_ceil(8))
                .map(|_| match random() {
                    0..4 => MotionVector { x: -4000, y: 3000, cost: 0 },
                    units => MotionVector { x: (units % 16) as i16, y: -((units / 16) as i16), cost: 0 },
                })
                .collect();
            let vectors = BlockVectors {
                vectors: &field,
                grid: (width.div_ceil(8), height.div_ceil(8)),
                block_size: 8,
                halvings: 0,
                unit: 5,
            };
            let mut cuts = SceneCuts::new((width, height)).unwrap();
            let views = frames.map(|frame| frame.view());
            for percent in [60, 75, 90] {
                let threshold = SceneCutThreshold::new(percent as f64).unwrap();
                let is_cut = cuts.is_cut(
                    instructions,
                    [&views[0], &views[1]],
                    &vectors,
                    (threshold, FlatFrame::Scene),
                );
                assert_eq!(is_cut, defined(frames, &field, percent), "case {case}, {percent} %");
                seen[usize::from(is_cut)] += 1;
            }
        }
        assert!(seen.into_iter().all(|seen| seen > 100), "{seen:?}");
    }

    #[test]
    fn fields_of_any_grid_lead_from_blocks() {
        // Blocks of 12 samples of frames of twice the size: 3 x 2 of them, of 70 x 30 samples.
        let vectors: Vec<_> = (0..6).map(|x| MotionVector { x: 100 * x, y: -x, cost: 0 }).collect();
        let field = BlockVectors { vectors: &vectors, grid: (3, 2), block_size: 24, halvings: 1, unit: 3 };
        let places = [0, 1, 2, 3, 9].map(|at| field.place(at, at));
        assert_eq!(places, [(0, 0), (1, 1), (1, 1), (2, 1), (2, 1)]);
        assert_eq!(field.of_block(1, 0), (13, 0));
        // Ten of the sixteen blocks of the area take the last two vectors of the second row.
        assert_eq!(field.of_area(0, 0), ((400 + 16) >> 5, 0));
    }
}

//! Whether two frames show different scenes.
//!
//! Frames are halved until they have few samples, in which noise is weak; areas of these frames
//! are compared with what the field leads to, and with what is at their own place.
//!
//! # The definition
//!
//! 1. Luma of both frames, eight bits of deep samples, is halved as for interpolated frames, step 1, to at most 2^19
//!    samples, and from there at least twice and to at most 2048 samples, but only as long as both sides keep 16. White
//!    noise is a quarter as strong then, or less.
//! 2. Bars beside the picture are left out. From the samples of a row of the small frames their mean is subtracted,
//!    halves up; the row is flat if the products of neighbours, summed over both frames, are less than 4 a sample. Flat
//!    rows at the top and at the bottom, and the next row, which may hold the edge, are left out, unless fewer than 8
//!    rows remain; and columns at both sides in the same way. It is no cut if less than a tenth of the samples remain:
//!    an object may have moved too far to be found.
//! 3. *Areas* are 8 x 8 samples of what remains, from its first sample on, at every fourth sample of every fourth row.
//!    The vector of an area is the median on each axis, the ninth of sixteen, of those of the blocks of the field at
//!    its samples 1, 3, 5, 7 of its rows 1, 3, 5, 7, in quarters of a sample, halves up. Beyond the last column or row
//!    of blocks the last one counts. Its match lies there in the other frame: each of its samples is the mean, halves
//!    up, of 4 x 4 samples of that frame halved twice less (once less, or whole samples, where frames are halved less
//!    than twice).
//! 4. From the samples of an area their mean, (sum + 32) >> 6, is subtracted. V is the sum of their squares, and T that
//!    of the squared differences of all samples beside and below each other in it. What neighbours have in common is
//!    *structure*: S = max(0, V - min((9T) >> 5, 4096)), where white noise has an S of 0. An area *counts* if S ≥ 144
//!    and 2S ≥ V, in it or in its match.
//! 5. The correlation of two areas is 1024C / √(RR'), toward 0, from -1024 to 1024: C is the sum of the products of
//!    their samples, R = max(S, V >> 2) of each, and the root is a whole number, down, and 1 at least. The noise of one
//!    frame is not that of the other, so that it has no part in C.
//! 6. It is no cut if less than a sixth of the areas count. It is no cut either if less than a 32nd as many areas as
//!    count have structure in one of the frames, at their own place: that frame is black, or flat. (Between such a
//!    frame and another one `motioninterpolate` makes nothing: there this does not hold.) Nor is it one if what differs
//!    is in a small part of the frame, as an object before a plain background that has moved too far to be found: if N
//!    Σd⁴ > 32 (Σd²)², with the differences d of the N samples of the small frames at the same place.
//! 7. M is the sum over the areas that count of their correlation with their matches, Z the same with what is at their
//!    own place in the other frame. It is a cut if max(M, Z, 0) is so small that more than 40 % of the structure has no
//!    match: less than 60 % of 1024 for each area that counts. `scene-cut-threshold` of `motioninterpolate` is another
//!    value than 40.
//!
//! Because means are subtracted, fades and flashes are no cuts; because a correlation is taken, strobes are none; and
//! because noise has no part in C and little in S, noise is none. The sum over areas tells more than counting those
//! that match badly: in areas of two soft pictures, one in three matches well by chance, but as many are opposite.
//! Misses and false alarms.

use std::ops::Range;

use super::block_samples::BlockSamples;
use super::detail::{CentredBlock, SAME};
use super::search_frame::SearchFrames;
use super::{BLOCK, halved, halvings_to};
use crate::estimator::{Frame, FrameView, MotionVector, SetupError};
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Frames are halved so often at least: what they have in common by chance in smaller areas is too much, and so is noise.
const LEAST_HALVINGS: u32 = 2;

/// Frames are halved until they have so many samples at most.
const MOST_SAMPLES: usize = 2048;

/// Matches lie at parts of a sample, as fine structure differs half a sample away: they are taken from frames that are halved so
/// many times less.
const FINER: u32 = 2;

/// Both sides keep so many samples at least, if they have them: areas lie beside each other in both directions.
const LEAST_SIDE: usize = 16;

/// From one area to the next one: half an area, so that small frames have enough.
const STEP: usize = BLOCK / 2;

/// An area takes the vectors at so many places on each axis.
const PLACES: usize = 4;

/// One area in as many has structure at least where anything can be said.
const LEAST_AREAS: usize = 6;

/// The picture between bars is one part of the frame in as many at least. What is smaller is an object, which may have moved too
/// far to be found.
const LEAST_PICTURE: usize = 10;

/// The most kurtosis of what differs at the same place, about no difference. It is 3 for a normal distribution, and more the fewer
/// samples have most of what differs: an object before a plain background, which has moved too far to be found.
const MOST_KURTOSIS: u64 = 32;

/// One in as many of the areas that count has structure in each frame at least where a flat frame is no scene.
const LEAST_IN_BOTH: usize = 32;

/// The least mean product of neighbours, less their mean, of a line that is no bar.
const LEAST_OF_LINE: usize = 4;

/// How much two frames must differ to show different scenes: the part of the structure, in percent, that has no match in the other
/// frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneCutThreshold(u32);

impl SceneCutThreshold {
    /// The part that tells scenes apart best.
    pub const DEFAULT_PERCENT: f64 = 40.0;

    /// As near to `percent` as a hundredth of a percent; `None` unless it is from 0 to 100.
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then(|| Self((100.0 * percent).round() as u32))
    }

    /// Whether a mean correlation of `sum` over `counted` areas is so small that more than this part has no match.
    fn is_exceeded_by(self, sum: i64, counted: usize) -> bool {
        let all = SAME * counted as i64;
        10_000 * (all - sum.max(0)) > i64::from(self.0) * all
    }
}

impl Default for SceneCutThreshold {
    fn default() -> Self {
        Self((100.0 * Self::DEFAULT_PERCENT) as u32)
    }
}

/// What a frame without structure is, as a black one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatFrame {
    /// Another scene than a frame with structure: nothing can be made between the two.
    Scene,
    /// Part of the scene, as in a fade.
    PartOfScene,
}

/// What the areas of two frames have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Comparison {
    /// The areas with structure, in the current frame or in their match.
    counted: usize,
    /// Those of all areas with structure in each frame, at their own place.
    structured: [usize; 2],
    /// The sum of the correlations of the areas that count with their matches.
    matched: i64,
    /// The same with what is at their own place in the other frame.
    still: i64,
}

/// Compares the areas that lie in these columns and rows of samples.
struct ComparedAreas<'a, V> {
    current: &'a FrameView<'a>,
    reference: &'a FrameView<'a>,
    /// The reference frame halved `finer` times less.
    fine: &'a FrameView<'a>,
    finer: u32,
    columns: Range<usize>,
    rows: Range<usize>,
    /// Where that of the area from a place on leads, in samples of `fine`.
    vector: V,
}

impl<E: InstructionSet, V: Fn(usize, usize) -> (i32, i32)> Work<E, Comparison> for ComparedAreas<'_, V> {
    #[inline(always)]
    fn run(self, _: E) -> Comparison {
        let Self { current, reference, fine, finer, columns, rows, vector } = self;
        let mut sums = Comparison::default();
        for top in starts(&rows) {
            for left in starts(&columns) {
                let (x, y) = (left as i32, top as i32);
                let (to_x, to_y) = vector(left, top);
                let area = CentredBlock::new(BlockSamples::load(current, (x, y)));
                let place = ((x << finer) + to_x, (y << finer) + to_y);
                let matched = CentredBlock::new(BlockSamples::load_halved(fine, place, finer));
                let still = CentredBlock::new(BlockSamples::load(reference, (x, y)));
                sums.structured[0] += usize::from(area.has_structure());
                sums.structured[1] += usize::from(still.has_structure());
                if area.has_structure() || matched.has_structure() {
                    sums.counted += 1;
                    sums.matched += area.correlation(&matched);
                    sums.still += area.correlation(&still);
                }
            }
        }
        sums
    }
}

/// The first samples, on an axis, of the areas that lie in a range.
fn starts(range: &Range<usize>) -> impl ExactSizeIterator<Item = usize> + use<> {
    let end = (range.end + 1).saturating_sub(BLOCK).max(range.start);
    (range.start..end).step_by(STEP)
}

/// Whether nearly all that differs between the frames is in a small part of them.
fn is_object([current, reference]: [&FrameView<'_>; 2]) -> bool {
    let (width, height) = current.size();
    let rows = (0..height).map(|y| current.row(y).iter().zip(reference.row(y)));
    let squares = rows.flatten().map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
    let (second, fourth) =
        squares.fold((0, 0), |(second, fourth), square| (second + square, fourth + square * square));
    (width * height) as u64 * fourth > MOST_KURTOSIS * second * second
}

/// The columns and rows without bars beside the picture, which all scenes have in common: those between flat ones at either end of
/// both frames; all, if too few are left for an area.
fn inside_bars(frames: [&FrameView<'_>; 2]) -> [Range<usize>; 2] {
    let (width, height) = frames[0].size();
    let column = |x: usize| is_flat(frames, height, |frame, y| frame.row(y)[x]);
    let row = |y: usize| is_flat(frames, width, |frame, x| frame.row(y)[x]);
    [between_flat(width, column), between_flat(height, row)]
}

/// The lines between flat ones, and without a line beside a bar, which may hold the edge of it.
fn between_flat(lines: usize, is_flat: impl Fn(usize) -> bool) -> Range<usize> {
    let bar = |flat: Option<usize>| flat.filter(|flat| *flat > 0).map_or(0, |flat| flat + 1);
    let begin = bar((0..lines).position(|line| !is_flat(line)));
    let end = lines.saturating_sub(bar((0..lines).rev().position(|line| !is_flat(line))));
    let range = begin..end;
    if range.len() < BLOCK { 0..lines } else { range }
}

/// Whether a line of both frames is flat but for noise, of which neighbours have nothing in common.
fn is_flat(frames: [&FrameView<'_>; 2], length: usize, sample: impl Fn(&FrameView<'_>, usize) -> u8) -> bool {
    let products = frames.into_iter().map(|frame| {
        let samples = || (0..length).map(|at| i64::from(sample(frame, at)));
        let mean = (samples().sum::<i64>() + length as i64 / 2) / length as i64;
        samples().zip(samples().skip(1)).map(|(a, b)| (a - mean) * (b - mean)).sum::<i64>()
    });
    products.sum::<i64>() < (2 * LEAST_OF_LINE * length) as i64
}

/// Where the vectors of a field lead from places in the frames that are compared.
pub struct BlockVectors<'a> {
    /// One of each block, row by row.
    pub vectors: &'a [MotionVector],
    /// The blocks of the field on each axis.
    pub grid: (usize, usize),
    /// The side of a block of the field, in samples of the frames that were searched.
    pub block_size: usize,
    /// How often these are halved for the frames that are compared.
    pub halvings: u32,
    /// As a power of two, units of a sample of the frames that are compared.
    pub unit: u32,
}

impl BlockVectors<'_> {
    /// Where the median on each axis of the vectors of an area leads, in whole samples of frames that are halved `finer` times less
    /// than those with the area, which are halved `halvings` times more. The area begins at `(x, y)`; its vectors are those at every
    /// other sample of every other row.
    fn of_area(&self, (x, y): (usize, usize), halvings: u32, finer: u32) -> (i32, i32) {
        let places = |begin: usize, blocks: usize| -> [usize; PLACES] {
            std::array::from_fn(|index| {
                let at = (begin + 2 * index + 1) << (self.halvings + halvings);
                (at / self.block_size).min(blocks - 1)
            })
        };
        let (columns, rows) = (places(x, self.grid.0), places(y, self.grid.1));
        let vectors: [MotionVector; PLACES * PLACES] = std::array::from_fn(|index| {
            self.vectors[rows[index / PLACES] * self.grid.0 + columns[index % PLACES]]
        });
        let median = |mut units: [i16; PLACES * PLACES]| {
            let (_, median, _) = units.select_nth_unstable(PLACES * PLACES / 2);
            whole(*median, self.unit + halvings - finer)
        };
        (median(vectors.map(|vector| vector.x)), median(vectors.map(|vector| vector.y)))
    }
}

/// A number of units in whole samples of `1 << unit` units.
fn whole(units: i16, unit: u32) -> i32 {
    (i32::from(units) + (1 << (unit - 1))) >> unit
}

/// Tells whether frames of one size show different scenes.
pub struct SceneCuts {
    halvings: u32,
    finer: u32,
    fine: SearchFrames,
    small: SearchFrames,
}

impl SceneCuts {
    /// For frames of `size`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize)) -> Result<Self, SetupError> {
        let wanted = halvings_to(size, MOST_SAMPLES).max(LEAST_HALVINGS);
        let keeps_sides = |halvings: &u32| halved(size.0.min(size.1), *halvings) >= LEAST_SIDE;
        let halvings = (1..=wanted).take_while(keeps_sides).count() as u32;
        let finer = FINER.min(halvings);
        let fine_size = (halved(size.0, halvings - finer), halved(size.1, halvings - finer));
        Ok(Self {
            halvings,
            finer,
            fine: SearchFrames::new(size, halvings - finer)?,
            small: SearchFrames::new(fine_size, finer)?,
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
        let Self { halvings, finer, .. } = *self;
        let fine = frames.map(|frame| self.fine.make(instructions, frame));
        let small = fine.each_ref().map(|frame| self.small.make(instructions, &frame.view()));
        let [current, reference] = small.each_ref().map(Frame::view);
        let [columns, rows] = inside_bars([&current, &reference]);
        let samples = current.width() * current.height();
        if LEAST_PICTURE * columns.len() * rows.len() < samples {
            return false;
        }
        let areas = starts(&columns).len() * starts(&rows).len();
        let vector = |x, y| field.of_area((x, y), halvings, finer);
        let [current, reference, fine] = [&current, &reference, &fine[1].view()];
        let work = ComparedAreas { current, reference, fine, finer, columns, rows, vector };
        let Comparison { counted, structured, matched, still } = instructions.run(work);
        let is_flat = |structured| LEAST_IN_BOTH * structured < counted;
        if counted == 0
            || LEAST_AREAS * counted < areas
            || is_object([current, reference])
            || flat == FlatFrame::PartOfScene && structured.into_iter().any(is_flat)
        {
            return false;
        }
        threshold.is_exceeded_by(matched.max(still), counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::oracle::halved_frame;
    use motion_base::simd::InstructionSetName;

    /// Whether lines of samples of both frames have nothing but noise.
    fn is_flat_line(lines: [Vec<i64>; 2]) -> bool {
        let length = lines[0].len() as i64;
        let products = lines.iter().map(|line| {
            let mean = (line.iter().sum::<i64>() + length / 2) / length;
            line.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<i64>()
        });
        products.sum::<i64>() < 8 * length
    }

    /// The first line inside bars and their edges, and the one after the last.
    fn defined_inside(flat: &[bool]) -> (usize, usize) {
        let (Some(first), Some(last)) =
            (flat.iter().position(|is_flat| !is_flat), flat.iter().rposition(|is_flat| !is_flat))
        else {
            return (0, flat.len());
        };
        let begin = if first == 0 { 0 } else { first + 1 };
        let end = if last + 1 == flat.len() { last + 1 } else { last };
        if begin + 8 <= end { (begin, end) } else { (0, flat.len()) }
    }

    /// The definition of [`SceneCuts::is_cut`] for a field of blocks of 8 in 32ths.
    fn defined(frames: [&Frame; 2], field: &[MotionVector], percent: i64, flat: FlatFrame) -> bool {
        let (width, height) = frames[0].view().size();
        let samples = |halvings: u32| width.div_ceil(1 << halvings) * height.div_ceil(1 << halvings);
        let side = |halvings: u32| width.min(height).div_ceil(1 << halvings);
        let is_last =
            |halvings: &u32| *halvings >= 2 && samples(*halvings) <= 2048 || side(halvings + 1) < 16;
        let halvings = (0..).find(is_last).unwrap();
        let finer = halvings.min(2);
        let small = frames.map(|frame| halved_frame(&frame.view(), halvings));
        let fine = halved_frame(&frames[1].view(), halvings - finer);
        let views = [small[0].view(), small[1].view()];
        let at = |frame: usize, x: usize, y: usize| i64::from(views[frame].extended(x as i32, y as i32));
        let (small_width, small_height) = views[0].size();
        let column = |x: usize| [0, 1].map(|frame| (0..small_height).map(|y| at(frame, x, y)).collect());
        let row = |y: usize| [0, 1].map(|frame| (0..small_width).map(|x| at(frame, x, y)).collect());
        let flat_columns: Vec<_> = (0..small_width).map(|x| is_flat_line(column(x))).collect();
        let flat_rows: Vec<_> = (0..small_height).map(|y| is_flat_line(row(y))).collect();
        let [(left, right), (top, bottom)] = [defined_inside(&flat_columns), defined_inside(&flat_rows)];
        if 10 * (right - left) * (bottom - top) < small_width * small_height {
            return false;
        }
        let centred = |samples: Vec<i64>| -> Vec<i64> {
            let mean = (samples.iter().sum::<i64>() + 32) >> 6;
            samples.iter().map(|sample| sample - mean).collect()
        };
        let area = |frame: usize, x: i32, y: i32| {
            let samples = (0..64).map(|at| i64::from(views[frame].extended(x + at % 8, y + at / 8)));
            centred(samples.collect())
        };
        let matched_area = |x: i32, y: i32| {
            let side = 1 << finer;
            let mean = |at: i32| {
                let places = (0..side * side).map(|part| (part % side, part / side));
                let samples = places.map(|(right, down)| {
                    fine.view().extended(x + side * (at % 8) + right, y + side * (at / 8) + down)
                });
                let sum: i64 = samples.map(i64::from).sum();
                (sum + i64::from(side * side / 2)) / i64::from(side * side)
            };
            centred((0..64).map(mean).collect())
        };
        let product = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
        let structure = |a: &[i64]| {
            let steps = |step: usize, is_last: fn(usize) -> bool| -> i64 {
                (0..64).filter(|at| !is_last(*at)).map(|at| (a[at] - a[at + step]).pow(2)).sum()
            };
            let noise = (9 * (steps(1, |at| at % 8 == 7) + steps(8, |at| at / 8 == 7))) >> 5;
            (product(a, a) - noise.min(64 * 64)).max(0)
        };
        let counts = |a: &[i64]| structure(a) >= 144 && 2 * structure(a) >= product(a, a);
        let correlation = |a: &[i64], b: &[i64]| {
            let strength = |a: &[i64]| structure(a).max(product(a, a) >> 2);
            let root = ((strength(a) * strength(b)) as u64).isqrt().max(1) as i64;
            (1024 * product(a, b) / root).clamp(-1024, 1024)
        };
        let (columns, rows) = (width.div_ceil(8), height.div_ceil(8));
        let vector = |x: usize, y: usize, part: fn(MotionVector) -> i16| {
            let mut all: Vec<_> = (0..16)
                .map(|index| {
                    let column = ((x + 2 * (index % 4) + 1) << halvings) / 8;
                    let row = ((y + 2 * (index / 4) + 1) << halvings) / 8;
                    part(field[row.min(rows - 1) * columns + column.min(columns - 1)])
                })
                .collect();
            all.sort_unstable();
            (f64::from(all[8]) / f64::from(32 << (halvings - finer)) + 0.5).floor() as i32
        };
        let (mut areas, mut counted, mut structured, mut sums) = (0, 0, [0; 2], [0; 2]);
        for y in (top..bottom).step_by(4).filter(|y| y + 8 <= bottom) {
            for x in (left..right).step_by(4).filter(|x| x + 8 <= right) {
                let (to_x, to_y) = (vector(x, y, |vector| vector.x), vector(x, y, |vector| vector.y));
                let (x, y) = (x as i32, y as i32);
                let matched = matched_area((x << finer) + to_x, (y << finer) + to_y);
                let [own, still] = [area(0, x, y), area(1, x, y)];
                areas += 1;
                structured[0] += usize::from(counts(&own));
                structured[1] += usize::from(counts(&still));
                if counts(&own) || counts(&matched) {
                    counted += 1;
                    sums[0] += correlation(&own, &matched);
                    sums[1] += correlation(&own, &still);
                }
            }
        }
        let is_flat = structured.iter().any(|structured| 32 * structured < counted);
        let differences = |power: u32| -> i64 {
            let places = (0..small_height).flat_map(|y| (0..small_width).map(move |x| (x, y)));
            places.map(|(x, y)| (at(0, x, y) - at(1, x, y)).pow(power)).sum()
        };
        let is_object =
            (small_width * small_height) as i64 * differences(4) > 32 * differences(2) * differences(2);
        if is_object || counted == 0 || 6 * counted < areas || is_flat && flat == FlatFrame::PartOfScene {
            return false;
        }
        let all = 1024 * counted as i64;
        100 * (all - sums[0].max(sums[1]).max(0)) > percent * all
    }

    #[test]
    fn cuts_are_those_of_the_definition() {
        let mut seed = 5_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as i32
        };
        let instructions = InstructionSetName::best().required().unwrap();
        let mut seen = [0; 2];
        for case in 0..300 {
            let (width, height): (usize, usize) =
                [(131, 99), (264, 259), (370, 81), (261, 262), (7, 33)][case % 5];
            let (columns, bar) = (width.div_ceil(17), if case % 3 == 0 { random() as usize % 30 } else { 0 });
            let coarse = |random: &mut dyn FnMut() -> i32| -> Vec<i32> {
                (0..columns * height).map(|_| 40 + random() / 2).collect()
            };
            let scenes = [coarse(&mut random), coarse(&mut random)];
            // As many parts as the limit, and some more or fewer, show the other scene; some have no structure.
            let share = 30 + random() % 200;
            let kinds: Vec<_> = (0..width.div_ceil(32) * height.div_ceil(32))
                .map(|_| (random() < share, random() < 40))
                .collect();
            let (deviation, black) = (1 + random() % 30, random() < 20);
            let mut frame = |is_current: bool| {
                Frame::from_fn(width, height, |x, y| {
                    let (is_other, is_flat) = kinds[y / 32 * width.div_ceil(32) + x / 32];
                    let scene = &scenes[usize::from(is_other && is_current)];
                    let is_bar = y < bar || height - y <= bar || black && is_current;
                    let grey = if is_flat || is_bar { 90 } else { scene[y / 17 * columns + x / 17] };
                    (grey + random() % deviation) as u8
                })
            };
            let frames = [&frame(true), &frame(false)];
            // Most lead nowhere else; some far outside.
            let field: Vec<_> = (0..width.div_ceil(8) * height.div_ceil(8))
                .map(|_| match random() {
                    0..4 => MotionVector { x: -4000, y: 3000, cost: 0 },
                    units => MotionVector { x: (units % 160) as i16, y: -((units / 16) as i16), cost: 0 },
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
            for percent in [20, 40, 60] {
                for flat in [FlatFrame::Scene, FlatFrame::PartOfScene] {
                    let threshold = SceneCutThreshold::new(percent as f64).unwrap();
                    let is_cut =
                        cuts.is_cut(instructions, [&views[0], &views[1]], &vectors, (threshold, flat));
                    assert_eq!(is_cut, defined(frames, &field, percent, flat), "case {case}, {percent} %");
                    seen[usize::from(is_cut)] += 1;
                }
            }
        }
        assert!(seen.into_iter().all(|seen| seen > 300), "{seen:?}");
    }

    #[test]
    fn fields_of_any_grid_lead_from_areas() {
        // Blocks of 24 samples of frames of twice the size: 3 x 2 of them, of 70 x 30 samples.
        let vectors: Vec<_> = (0..6).map(|x| MotionVector { x: 100 * x, y: -x, cost: 0 }).collect();
        let field = BlockVectors { vectors: &vectors, grid: (3, 2), block_size: 24, halvings: 1, unit: 3 };
        // Samples 1, 3, 5, 7 are 8, 24, 40, 56 of the larger frames: in columns 0, 1, 1, 2, and rows 0 and 1.
        assert_eq!(field.of_area((0, 0), 2, 0), ((400 + 16) >> 5, 0));
        assert_eq!(field.of_area((0, 0), 2, 2), ((400 + 4) >> 3, 0));
        // Beyond the last column and row, those count.
        assert_eq!(field.of_area((30, 30), 2, 0), ((500 + 16) >> 5, 0));
    }
}

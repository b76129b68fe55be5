//! Whether two frames show different scenes.

use super::detail::{CentredBlock, LEAST_DETAIL};
use super::rules::BLOCK;
use crate::estimator::{FrameView, MotionVector};
use crate::simd::{InstructionSet, Instructions, Work};

/// Blocks that count, and those of them that match badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Votes {
    counted: usize,
    against: usize,
}

impl Votes {
    /// Whether more than 13 of 16 blocks that count match badly.
    fn are_against(self) -> bool {
        16 * self.against > 13 * self.counted
    }

    /// With the votes of so many more blocks that all match badly.
    fn and_against(self, blocks: usize) -> Self {
        Self { counted: self.counted + blocks, against: self.against + blocks }
    }
}

/// Whether the blocks of `current` that lie wholly inside match badly what the search has found for them in `reference`.
///
/// A block matches badly if it differs from its match hardly less than both differ from their own means. Brightness does
/// not count: means are left out, so that fades and flashes are no cuts. Nor does contrast, so that strobes are none: a
/// block that resembles its match, or the block at its own place, with more or less contrast does not match badly.
fn match_badly(
    instructions: Instructions,
    [current, reference]: [&FrameView<'_>; 2],
    found: &[MotionVector],
) -> bool {
    let (columns, rows) = (current.width() / BLOCK, current.height() / BLOCK);
    let mut votes = Votes::default();
    for (row, found) in found.chunks(current.width().div_ceil(BLOCK)).enumerate().take(rows) {
        // Most frames match their neighbours: a fifth of the rows tells.
        if !votes.and_against(columns * (rows - row)).are_against() {
            return false;
        }
        let of_row = instructions.run(VotingRow { current, reference, row, found });
        votes.counted += of_row.counted;
        votes.against += of_row.against;
    }
    votes.are_against()
}

/// A row of blocks that lies wholly inside `current`.
struct VotingRow<'a> {
    current: &'a FrameView<'a>,
    reference: &'a FrameView<'a>,
    row: usize,
    found: &'a [MotionVector],
}

impl<E: InstructionSet> Work<E, Votes> for VotingRow<'_> {
    #[inline(always)]
    fn run(self, _: E) -> Votes {
        let Self { current, reference, row, found } = self;
        let mut votes = Votes::default();
        for (column, vector) in found.iter().enumerate().take(current.width() / BLOCK) {
            let (x, y) = (BLOCK * column, BLOCK * row);
            let here = (x as i32, y as i32);
            let block = CentredBlock::<E>::load(current, here);
            let matched = CentredBlock::load(reference, (whole(x, vector.x), whole(y, vector.y)));
            let details = [block.detail(), matched.detail()];
            if details[0].max(details[1]) >= LEAST_DETAIL {
                votes.counted += 1;
                let matches_badly = 8 * block.difference(&matched) >= 3 * (details[0] + details[1])
                    && !block.resembles(&matched)
                    && !block.resembles(&CentredBlock::load(reference, here));
                votes.against += usize::from(matches_badly);
            }
        }
        votes
    }
}

/// Where a vector of `units` leads from `at`, in whole samples.
#[inline(always)]
fn whole(at: usize, units: i16) -> i32 {
    at as i32 + ((i32::from(units) + 16) >> 5)
}

/// Whether there is enough detail in a frame to tell a scene by: in more than a quarter of the blocks that lie wholly inside
/// and are in columns and rows with detail, if these are an eighth of the frame. Bars beside a picture have no detail.
struct IsDetailed<'a>(&'a FrameView<'a>);

impl<E: InstructionSet> Work<E, bool> for IsDetailed<'_> {
    #[inline(always)]
    fn run(self, _: E) -> bool {
        let (columns, rows) = (self.0.width() / BLOCK, self.0.height() / BLOCK);
        let has_detail = |column: usize, row: usize| {
            let [x, y] = [column, row].map(|at| (BLOCK * at) as i32);
            CentredBlock::<E>::load(self.0, (x, y)).detail() >= LEAST_DETAIL
        };
        let in_row = |row: usize| (0..columns).filter(move |&column| has_detail(column, row));
        let detailed: usize = (0..rows).map(|row| in_row(row).count()).sum();
        let rows_used = (0..rows).filter(|&row| in_row(row).next().is_some()).count();
        let is_used = |column: usize| (0..rows).any(|row| has_detail(column, row));
        let used = rows_used * (0..columns).filter(|&column| is_used(column)).count();
        4 * detailed > used && 8 * used >= columns * rows
    }
}

/// Whether `current` and `reference` show different scenes, by the field of the one in the other: blocks match badly, and
/// there is detail in one of them at least. Both are frames that were searched.
pub(super) fn is_scene_cut(
    instructions: Instructions,
    frames: [&FrameView<'_>; 2],
    field: &[MotionVector],
) -> bool {
    match_badly(instructions, frames, field)
        && frames.into_iter().any(|frame| instructions.run(IsDetailed(frame)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Frame;
    use crate::simd::Level;

    /// The definition of [`match_badly`], one sample at a time.
    fn defined([current, reference]: [&FrameView<'_>; 2], found: &[MotionVector]) -> bool {
        let block = |frame: &FrameView<'_>, x: i32, y: i32| -> Vec<i32> {
            let samples = (0..64).map(|at| i32::from(frame.extended(x + at % 8, y + at / 8)));
            let mean = (samples.clone().sum::<i32>() + 32) >> 6;
            samples.map(|sample| sample - mean).collect()
        };
        let product = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let resembles = |a: &[i32], b: &[i32]| {
            let both = product(a, b);
            both > 0.0 && both >= 0.9 * (product(a, a) * product(b, b)).sqrt()
        };
        let detail = |a: &[i32]| a.iter().map(|sample| sample.unsigned_abs()).sum::<u32>();
        let (columns, rows) = (current.width() / 8, current.height() / 8);
        let (mut counted, mut against) = (0, 0);
        for row in 0..rows {
            for column in 0..columns {
                let vector = found[row * current.width().div_ceil(8) + column];
                let [x, y] = [column, row].map(|at| 8 * at as i32);
                let to = |units: i16| (f64::from(units) / 32.0 + 0.5).floor() as i32;
                let here = block(current, x, y);
                let matched = block(reference, x + to(vector.x), y + to(vector.y));
                let details = [detail(&here), detail(&matched)];
                if details[0].max(details[1]) >= 128 {
                    let differences = here.iter().zip(&matched).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
                    let still = block(reference, x, y);
                    counted += 1;
                    against += usize::from(
                        8 * differences >= 3 * (details[0] + details[1])
                            && !resembles(&here, &matched)
                            && !resembles(&here, &still),
                    );
                }
            }
        }
        against as f64 > 13.0 / 16.0 * counted as f64
    }

    #[test]
    fn a_cut_is_told_by_all_blocks_at_every_share_that_matches_badly() {
        let (width, height) = (77, 67);
        let (columns, rows) = (width / 8, height / 8);
        let mut seed = 5_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as i32
        };
        let instructions = Level::best().required().unwrap();
        let (mut cuts, tries) = (0, 400);
        for case in 0..tries {
            let samples: Vec<i32> = (0..width * height).map(|_| random()).collect();
            // As many blocks as the limit, and some more or fewer, have other samples; some have no detail in either frame.
            let share = 150 + random() % 100;
            let kinds: Vec<_> = (0..rows * columns).map(|_| (random() < share, random() < 40)).collect();
            let frame = |is_current: bool, noise: &mut dyn FnMut() -> i32| {
                let mut sample = |x: usize, y: usize| {
                    let (is_other, is_flat) =
                        kinds[(y / 8).min(rows - 1) * columns + (x / 8).min(columns - 1)];
                    let sample = samples[y * width + x] / 2;
                    match (is_flat, is_current, is_other) {
                        (true, ..) => 100 + noise() % 3,
                        (false, true, _) | (false, _, false) => sample + noise() % 40,
                        (false, false, true) => noise(),
                    }
                };
                let samples: Vec<u8> =
                    (0..width * height).map(|at| sample(at % width, at / width) as u8).collect();
                Frame::from_samples(samples, width, height).unwrap()
            };
            let [current, reference] = [frame(true, &mut random), frame(false, &mut random)];
            // Most lead nowhere else; some far outside.
            let found: Vec<_> = (0..width.div_ceil(8) * height.div_ceil(8))
                .map(|_| match random() {
                    0..4 => MotionVector { x: -4000, y: 3000, ..MotionVector::default() },
                    units => MotionVector { x: (units % 16) as i16, ..MotionVector::default() },
                })
                .collect();
            let frames = [&current.view(), &reference.view()];
            let is_cut = match_badly(instructions, frames, &found);
            assert_eq!(is_cut, defined(frames, &found), "case {case}");
            cuts += usize::from(is_cut);
        }
        assert!((tries / 5..4 * tries / 5).contains(&cuts), "{cuts} of {tries} are cuts");
    }
}

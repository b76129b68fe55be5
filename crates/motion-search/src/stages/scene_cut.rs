//! Whether a frame begins another scene than the frame before it shows.
//!
//! `docs/algorithms.md` defines it. Means are left out, so that fades and flashes are no cuts; and what matches badly
//! because it moves fast or is noise has detail where the frame before has it, while in a new scene flat blocks meet
//! detailed ones.

use std::ops::Add;

use rayon::prelude::*;

use super::{SearchedFrames, Stage};
use crate::estimator::{EstimateError, FrameView, MotionVector, Output, Parameters, SetupError};
use crate::interpolation::{BLOCK, CentredBlock, LEAST_DETAIL, SearchFrames, halvings};
use crate::simd::{InstructionSet, Instructions, Level, Work};

/// One cell in as many of those with detail counts at least where anything can be said.
const LEAST_COUNTED: usize = 8;

/// One cell in as many has detail at least where anything can be said.
const LEAST_DETAILED: usize = 16;

/// The offset of the reference frame that is compared.
const PREVIOUS: i64 = -1;

/// The stage that fills [`Output::is_scene_cut`] for searches in the previous frame.
pub struct SceneCut {
    parameters: Parameters,
    instructions: Instructions,
    halvings: u32,
    current: SearchFrames,
    reference: SearchFrames,
}

impl SceneCut {
    /// For searches as `parameters` say, in the instructions of `level`.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if this CPU lacks `level`; [`SetupError::Memory`] if there is too little.
    pub fn new(parameters: &Parameters, level: Level) -> Result<Self, SetupError> {
        let (width, height) = (parameters.width, parameters.height);
        let halvings = halvings(width, height);
        Ok(Self {
            parameters: parameters.clone(),
            instructions: level.required()?,
            halvings,
            current: SearchFrames::new((width, height), halvings)?,
            reference: SearchFrames::new((width, height), halvings)?,
        })
    }
}

impl Stage for SceneCut {
    fn reads_frames(&self) -> bool {
        true
    }

    fn apply(
        &mut self,
        frames: Option<SearchedFrames<'_>>,
        output: &mut Output,
    ) -> Result<(), EstimateError> {
        let SearchedFrames { current, reference, offset } = frames.ok_or(EstimateError::NoFrame)?;
        if offset != PREVIOUS {
            return Ok(());
        }
        let Self { parameters, instructions, halvings, .. } = self;
        current.check(parameters)?;
        reference.check(parameters)?;
        parameters.grid().check(&output.vectors)?;
        let current = self.current.make(*instructions, &current);
        let reference = self.reference.make(*instructions, &reference);
        let frames = [&current.view(), &reference.view()];
        let rows = (0..current.view().height() / BLOCK).into_par_iter();
        let (vectors, halvings) = (&output.vectors[..], *halvings);
        let sums = rows.map(|row| instructions.run(DetailRow { parameters, halvings, frames, row, vectors }));
        let cells = current.view().width() / BLOCK * (current.view().height() / BLOCK);
        output.is_scene_cut = Some(sums.reduce(DetailSums::default, DetailSums::add).is_cut(cells));
        Ok(())
    }
}

/// Sums over the cells that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DetailSums {
    /// The cells with detail in either frame.
    detailed: usize,
    /// Those with detail in both.
    counted: usize,
    /// Of the smaller detail of both frames.
    detail: u64,
    /// Of the differences between a cell and its match.
    mismatch: u64,
}

impl Add for DetailSums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            detailed: self.detailed + other.detailed,
            counted: self.counted + other.counted,
            detail: self.detail + other.detail,
            mismatch: self.mismatch + other.mismatch,
        }
    }
}

impl DetailSums {
    /// Whether the matches differ by more than one and a half times the detail there is. Flat areas, as bars beside a picture,
    /// have no say.
    fn is_cut(self, cells: usize) -> bool {
        LEAST_DETAILED * self.detailed >= cells
            && LEAST_COUNTED * self.counted >= self.detailed
            && 2 * self.mismatch > 3 * self.detail
    }
}

/// A row of cells, which lies wholly inside both frames.
struct DetailRow<'a> {
    parameters: &'a Parameters,
    halvings: u32,
    frames: [&'a FrameView<'a>; 2],
    row: usize,
    /// Of the field that was searched.
    vectors: &'a [MotionVector],
}

impl<E: InstructionSet> Work<E, DetailSums> for DetailRow<'_> {
    #[inline(always)]
    fn run(self, _: E) -> DetailSums {
        let Self { parameters, halvings, frames: [current, reference], row, vectors } = self;
        let grid = parameters.grid();
        let block_of = |cell: usize, blocks: usize| {
            let middle = (BLOCK * cell + BLOCK / 2) << halvings;
            (middle / parameters.block_size).min(blocks - 1)
        };
        let of_row = &vectors[block_of(row, grid.rows) * grid.columns..];
        // Units of a sample of the frames that are compared, as a power of two.
        let shift = parameters.algorithm.scale().ilog2() + halvings;
        let whole = |units: i16| (i32::from(units) + (1 << (shift - 1))) >> shift;
        let mut sums = DetailSums::default();
        for column in 0..current.width() / BLOCK {
            let (x, y) = ((BLOCK * column) as i32, (BLOCK * row) as i32);
            let vector = of_row[block_of(column, grid.columns)];
            let cell = CentredBlock::<E>::load(current, (x, y));
            let before = CentredBlock::load(reference, (x, y));
            let matched = CentredBlock::load(reference, (x + whole(vector.x), y + whole(vector.y)));
            let (detail, detail_before) = (cell.detail(), before.detail());
            sums.detailed += usize::from(detail.max(detail_before) >= LEAST_DETAIL);
            let detail = detail.min(detail_before);
            if detail >= LEAST_DETAIL {
                sums.counted += 1;
                sums.detail += u64::from(detail);
                // Another contrast alone, as in a strobe, is no mismatch.
                let is_same = cell.resembles(&before) || cell.resembles(&matched);
                let mismatch = || cell.difference(&before).min(cell.difference(&matched));
                sums.mismatch += if is_same { 0 } else { u64::from(mismatch()) };
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Frame, RecordPool, Window};

    /// The definition, one sample at a time, of frames that are not halved.
    fn defined(parameters: &Parameters, [current, reference]: [&Frame; 2], vectors: &[MotionVector]) -> bool {
        let (current, reference) = (current.view(), reference.view());
        let minus_mean = |frame: &FrameView<'_>, x: i32, y: i32| -> Vec<i32> {
            let places = (y..y + 8).flat_map(|y| (x..x + 8).map(move |x| (x, y)));
            let samples: Vec<i32> = places.map(|(x, y)| i32::from(frame.extended(x, y))).collect();
            let mean = (samples.iter().sum::<i32>() + 32) >> 6;
            samples.into_iter().map(|sample| sample - mean).collect()
        };
        let difference = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
        let resembles = |a: &[i32], b: &[i32]| {
            let sum = |a: &[i32], b: &[i32]| a.iter().zip(b).map(|(a, b)| i64::from(a * b)).sum::<i64>();
            let product = sum(a, b);
            product > 0 && 100 * product * product >= 81 * sum(a, a) * sum(b, b)
        };
        let (mut cells, mut detailed, mut counted, mut detail, mut mismatch) = (0, 0, 0, 0, 0);
        for y in (0..).step_by(8).take(current.height() / 8) {
            for x in (0..).step_by(8).take(current.width() / 8) {
                let side = parameters.block_size as i32;
                let block = (y + 4) / side * parameters.grid().columns as i32 + (x + 4) / side;
                let vector = vectors[block as usize];
                let whole = |units: i16| (f64::from(units) / 4.0 + 0.5).floor() as i32;
                let cell = minus_mean(&current, x, y);
                let before = minus_mean(&reference, x, y);
                let matched = minus_mean(&reference, x + whole(vector.x), y + whole(vector.y));
                let details = [&cell, &before].map(|cell| difference(cell, &[0; 64]));
                let least = details[0].min(details[1]);
                cells += 1;
                detailed += u32::from(details[0].max(details[1]) >= 128);
                if least >= 128 {
                    counted += 1;
                    detail += least;
                    if !resembles(&cell, &before) && !resembles(&cell, &matched) {
                        mismatch += difference(&cell, &before).min(difference(&cell, &matched));
                    }
                }
            }
        }
        16 * detailed >= cells && 8 * counted >= detailed && 2 * mismatch > 3 * detail
    }

    fn found(
        parameters: &Parameters,
        level: Level,
        [current, reference]: [&Frame; 2],
        vectors: &[MotionVector],
        offset: i64,
    ) -> Option<bool> {
        let mut output = Output::from_pool(&RecordPool::default(), vectors.len());
        output.vectors.copy_from_slice(vectors);
        let frames = SearchedFrames { current: current.view(), reference: reference.view(), offset };
        SceneCut::new(parameters, level).unwrap().apply(Some(frames), &mut output).unwrap();
        output.is_scene_cut
    }

    /// A scene of texture, which is strong in every other square of 16 samples.
    fn scene(seed: usize, (width, height): (usize, usize), shift: usize, light: usize) -> Frame {
        Frame::from_fn(width, height, |x, y| {
            let x = x + shift;
            let is_strong = (x / 16 + y / 16 + seed).is_multiple_of(2);
            let texture = (x * 7 + y * 13 + x * y + seed * 5) % 11;
            (60 + light + if is_strong { 8 * texture } else { texture }) as u8
        })
    }

    #[test]
    fn every_instruction_set_is_the_definition() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut seen = [0; 2];
        for (width, height, block_size) in
            [(64, 48, 16), (61, 47, 8), (130, 33, 12), (7, 90, 4), (40, 40, 64)]
        {
            let window = Window::symmetric(3, 3).unwrap();
            let parameters = Parameters::new(width, height, block_size, window);
            for turn in 0..8 {
                let current = scene(turn % 2, (width, height), turn, 3 * turn);
                let reference = scene(usize::from(turn > 3), (width, height), 0, 0);
                let vector =
                    |_| MotionVector { x: i16::from(next()) - 128, y: i16::from(next()) / 8 - 16, cost: 0 };
                let vectors: Vec<_> = (0..parameters.grid().blocks()).map(vector).collect();
                let expected = defined(&parameters, [&current, &reference], &vectors);
                seen[usize::from(expected)] += 1;
                for level in Level::available() {
                    let cut = found(&parameters, level, [&current, &reference], &vectors, -1);
                    assert_eq!(cut, Some(expected), "{width} x {height}, turn {turn}, {level}");
                }
            }
        }
        assert!(seen[0] > 4 && seen[1] > 4, "{seen:?}");
    }

    #[test]
    fn motion_light_and_black_are_no_cuts() {
        let size = (96, 64);
        let parameters = Parameters::new(size.0, size.1, 16, Window::symmetric(16, 16).unwrap());
        let cut = |current: &Frame, reference: &Frame, x: i16, offset| {
            let vectors = vec![MotionVector { x, y: 0, cost: 0 }; parameters.grid().blocks()];
            found(&parameters, Level::best(), [current, reference], &vectors, offset)
        };
        let (first, other) = (scene(0, size, 0, 0), scene(1, size, 0, 0));
        assert_eq!(cut(&other, &first, 0, -1), Some(true));
        assert_eq!(cut(&first, &other, 0, -1), Some(true));
        // In another frame than the previous one, nothing is said.
        assert_eq!(cut(&other, &first, 0, -2), None);
        assert_eq!(cut(&other, &first, 0, 1), None);
        assert_eq!(cut(&first, &first, 0, -1), Some(false));
        // A flash, and motion with its vectors.
        assert_eq!(cut(&scene(0, size, 0, 110), &first, 0, -1), Some(false));
        assert_eq!(cut(&scene(0, size, 5, 0), &first, 20, -1), Some(false));
        // A strobe.
        let dark = Frame::from_fn(size.0, size.1, |x, y| {
            (u32::from(first.view().sample(x as i32, y as i32)) * 35 / 100) as u8
        });
        assert_eq!([cut(&dark, &first, 0, -1), cut(&first, &dark, 0, -1)], [Some(false); 2]);
        let black = Frame::from_fn(size.0, size.1, |_, _| 16);
        assert_eq!([cut(&first, &black, 0, -1), cut(&black, &first, 0, -1)], [Some(false); 2]);
    }

    #[test]
    fn bars_beside_a_picture_hide_no_cut() {
        let size = (320, 64);
        let parameters = Parameters::new(size.0, size.1, 16, Window::symmetric(16, 16).unwrap());
        let vectors = vec![MotionVector::default(); parameters.grid().blocks()];
        for width in [32, 48, 96, 320] {
            let left = (size.0 - width) / 2;
            let barred = |seed| {
                let picture = scene(seed, size, 0, 0);
                let sample = |x, y| picture.view().sample(x as i32, y as i32);
                Frame::from_fn(size.0, size.1, |x, y| {
                    if (left..left + width).contains(&x) { sample(x, y) as u8 } else { 16 }
                })
            };
            let [first, other] = [0, 1].map(barred);
            let cut = |frames| found(&parameters, Level::best(), frames, &vectors, -1);
            assert_eq!(cut([&other, &first]), Some(true), "{width}");
            assert_eq!(cut([&first, &first]), Some(false), "{width}");
        }
    }
}

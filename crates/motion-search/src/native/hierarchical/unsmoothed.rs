//! The costs of records: differences of the frames as they are, at a vector in quarter samples.
//!
//! Each block has one such cost, at a vector that is known by then. So what lies between the samples is interpolated for
//! each square by itself: planes of half samples would have to be made of the whole frame, for this alone.

use crate::estimator::half_samples_around;
use motion_base::hierarchy::CELL;
use motion_base::memory::chunk;
use motion_base::pyramid::half_samples::{clip, six_taps, six_taps_of_sums, wide};
use motion_base::pyramid::planes::LevelFrame;
use motion_base::pyramid::quarter_samples::{load_current, load_square};
use motion_base::simd::{InstructionSet, Samples};

/// Samples that a filter reads before and after a point.
const BEFORE: usize = 2;
const AFTER: usize = 3;

/// Samples of a row that are read: those of a square and of the filters around it.
const PITCH: usize = 16;
const _: () = assert!(BEFORE + CELL + AFTER <= PITCH);

/// A square: the first [`CELL`] samples of rows of [`PITCH`], so that the filters are loops over all of it.
type Square = [u8; CELL * PITCH];

/// The sum of absolute differences of `W` × `W` samples of `current` at `at` and of `reference` at any `vector`.
#[inline(always)]
pub fn sum_of_differences<E: InstructionSet, const W: usize, const N: usize>(
    engine: E,
    current: &LevelFrame,
    reference: &LevelFrame,
    at: (i32, i32),
    vector: (i32, i32),
) -> u32 {
    let samples = load_current::<E, W, N>(engine, current, current.layout.near(at.0, at.1));
    let matched = square::<W>(reference, at, vector);
    // SAFETY: a square has at least W rows of W samples.
    let matched = unsafe { load_square::<E, W, N>(engine, matched.as_ptr(), PITCH) };
    let mut sums = Samples::zero(engine);
    for n in 0..N {
        sums = sums.plus_differences(samples[n], matched[n]);
    }
    sums.total()
}

/// The samples at `vector` from `(x, y)`, of which the first `W` rows and columns count.
#[inline(always)]
fn square<const W: usize>(frame: &LevelFrame, (x, y): (i32, i32), vector: (i32, i32)) -> Square {
    // Further outside the frame, filters read nothing but the repeated samples of its edge.
    let near = |at: i32, length: usize| at.clamp(-((CELL + AFTER) as i32), (length + BEFORE) as i32);
    let column = near(x + (vector.0 >> 2), frame.layout.width);
    let row = near(y + (vector.1 >> 2), frame.layout.height);
    let [first, second] = half_samples_around((vector.0 & 3) as usize, (vector.1 & 3) as usize);
    let mut square = half_samples::<W>(frame, (column, row), first);
    if second != first {
        let other = half_samples::<W>(frame, (column, row), second);
        for (sample, other) in square.iter_mut().zip(other) {
            *sample = ((u16::from(*sample) + u16::from(other) + 1) >> 1) as u8;
        }
    }
    square
}

/// The samples at `(right, down)` half samples, 0 to 2, from `(column, row)`.
#[inline(always)]
fn half_samples<const W: usize>(
    frame: &LevelFrame,
    (column, row): (i32, i32),
    (right, down): (usize, usize),
) -> Square {
    let (layout, mut square) = (&frame.layout, [0; CELL * PITCH]);
    let first = layout.at(column + (right / 2) as i32, row + (down / 2) as i32);
    let first = first - BEFORE * layout.pitch - BEFORE;
    // What the filters make of the last row's end does not count.
    let mut read = [0; (BEFORE + CELL + AFTER + 1) * PITCH];
    for (y, numbers) in read.as_chunks_mut::<PITCH>().0.iter_mut().enumerate().take(BEFORE + W + AFTER) {
        let samples: &[u8; PITCH] = chunk(frame.samples(), first + y * layout.pitch);
        for (number, sample) in numbers.iter_mut().zip(samples) {
            *number = wide(*sample);
        }
    }
    let samples = square[..W * PITCH].iter_mut().enumerate();
    match (right % 2, down % 2) {
        (0, 0) => {
            for (i, sample) in samples {
                *sample = read[i + BEFORE * PITCH + BEFORE] as u8;
            }
        }
        (_, 0) => {
            for (i, sample) in samples {
                *sample = clip((six_taps_at(&read, i + BEFORE * PITCH, 1) + 16) >> 5);
            }
        }
        (0, _) => {
            for (i, sample) in samples {
                *sample = clip((six_taps_at(&read, i + BEFORE, PITCH) + 16) >> 5);
            }
        }
        _ => {
            let mut sums = [0; CELL * PITCH + PITCH];
            for (i, sum) in sums[..W * PITCH].iter_mut().enumerate() {
                *sum = six_taps_at(&read, i, PITCH);
            }
            for (i, sample) in samples {
                let tap = |k: usize| sums[i + k];
                let sum = six_taps_of_sums(tap(0), tap(1), tap(2), tap(3), tap(4), tap(5));
                *sample = clip(sum.saturating_add(32) >> 6);
            }
        }
    }
    square
}

/// The filter's sum of six numbers from `at` on, which are `step` apart.
#[inline(always)]
fn six_taps_at<const N: usize>(numbers: &[i16; N], at: usize, step: usize) -> i16 {
    let tap = |k: usize| numbers[at + k * step];
    six_taps(tap(0), tap(1), tap(2), tap(3), tap(4), tap(5))
}

//! The costs of records: differences of the frames as they are, at a vector in quarter samples.
//!
//! Each block has one such cost, at a vector that is known by then. So what lies between the samples is interpolated for
//! each square by itself: planes of half samples would have to be made of the whole frame, for this alone.

use motion_base::half_samples::{InterpolatedSample, filter, half_samples_around};
use motion_base::hierarchy::CELL;
use motion_base::memory::chunk;
use motion_base::pyramid::planes::LevelFrame;
use motion_base::pyramid::quarter_samples::{load_current, load_square};
use motion_base::simd::{InstructionSet, Samples};

/// Samples that a filter reads before and after a point.
const BEFORE: usize = 2;
const AFTER: usize = 3;

/// Samples of a row that are read: those of a square and of the filters around it.
const PITCH: usize = 16;
const _: () = assert!(BEFORE + CELL + AFTER <= PITCH);

/// The largest sample.
const PEAK: u16 = 255;

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
            *sample = sample.average(other);
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
    for (y, row) in read.as_chunks_mut::<PITCH>().0.iter_mut().enumerate().take(BEFORE + W + AFTER) {
        *row = *chunk(frame.samples(), first + y * layout.pitch);
    }
    let samples = &mut square[..W * PITCH];
    match (right % 2, down % 2) {
        (0, 0) => samples.copy_from_slice(&read[BEFORE * PITCH + BEFORE..][..W * PITCH]),
        (_, 0) => {
            let tap = |k: usize| &read[BEFORE * PITCH + k..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(samples, taps, |taps| u8::half_sample(u8::six_taps(taps), PEAK));
        }
        (0, _) => {
            let tap = |k: usize| &read[BEFORE + k * PITCH..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(samples, taps, |taps| u8::half_sample(u8::six_taps(taps), PEAK));
        }
        _ => {
            let mut sums = [0; CELL * PITCH + PITCH];
            let tap = |k: usize| &read[k * PITCH..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(&mut sums[..W * PITCH], taps, u8::six_taps);
            let tap = |k: usize| &sums[k..];
            let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
            filter(samples, taps, |sums| u8::half_sample_of_sums(sums, PEAK));
        }
    }
    square
}

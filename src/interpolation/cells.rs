//! The samples of a plane that vectors lead to.

use super::rules::{BLOCK, TOLERANCE};
use crate::compensation::Sampling;
use crate::estimator::{FrameView, half_samples_around, six_taps};
use crate::native::arch::register::SampleRegister;
use crate::native::hierarchical::quarter_samples::QuarterSamples;
use crate::native::level::{InstructionSet, Instructions, Work};

/// The size of a plane in pixels, and what a vector is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneShape {
    columns: i32,
    rows: i32,
    /// Samples of a pixel.
    pub pixel: usize,
    /// Positions in a sample on each axis: 4 in luma, else 8.
    units: i32,
    /// Of a quarter luma sample across and down.
    steps: (i32, i32),
}

impl PlaneShape {
    /// The shape of `plane`.
    pub fn new(plane: &FrameView<'_>, sampling: Sampling, is_luma: bool) -> Self {
        let step = |is_halved: bool| if is_luma || is_halved { 1 } else { 2 };
        Self {
            columns: (plane.width() / sampling.pixel()) as i32,
            rows: plane.height() as i32,
            pixel: sampling.pixel(),
            units: if is_luma { 4 } else { 8 },
            steps: (step(sampling.halved_x), step(sampling.halved_y)),
        }
    }

    /// The position `way` quarter luma samples from a pixel.
    #[inline(always)]
    pub fn position(&self, (x, y): (i32, i32), way: (i32, i32)) -> (i32, i32) {
        (self.units * x + self.steps.0 * way.0, self.units * y + self.steps.1 * way.1)
    }

    /// The position some pixels further.
    #[inline(always)]
    pub fn further(&self, (x, y): (i32, i32), (right, down): (i32, i32)) -> (i32, i32) {
        (x + self.units * right, y + self.units * down)
    }

    /// Whether the frame shows something at a position.
    #[inline(always)]
    pub fn is_inside(&self, (x, y): (i32, i32)) -> bool {
        let tolerance = TOLERANCE * self.units / 4;
        let is_inside =
            |at: i32, count: i32| (-tolerance..=self.units * (count - 1) + tolerance).contains(&at);
        is_inside(x, self.columns) && is_inside(y, self.rows)
    }
}

/// Numbers that hold 64 times a sample.
pub(super) trait Weighted: Copy + Default + Send + Sync {
    /// The sum of two samples with their weights, in 64ths.
    fn weigh(samples: [u16; 2], weights: [u16; 2]) -> Self;

    /// It as a number to compute with.
    fn wide(self) -> u32;

    /// It as a sample.
    fn round(self) -> u16;

    /// Runs `work` on such samples.
    fn run<W: Work>(instructions: Instructions, work: W) -> W::Output;
}

/// Of samples of eight bits.
impl Weighted for u16 {
    #[inline(always)]
    fn weigh([a, b]: [u16; 2], [of_a, of_b]: [u16; 2]) -> Self {
        a.wrapping_mul(of_a).wrapping_add(b.wrapping_mul(of_b))
    }

    #[inline(always)]
    fn wide(self) -> u32 {
        self.into()
    }

    #[inline(always)]
    fn round(self) -> u16 {
        (self + 32) >> 6
    }

    fn run<W: Work>(instructions: Instructions, work: W) -> W::Output {
        instructions.run(work)
    }
}

/// Of deep samples.
impl Weighted for u32 {
    #[inline(always)]
    fn weigh([a, b]: [u16; 2], [of_a, of_b]: [u16; 2]) -> Self {
        u32::from(a) * u32::from(of_a) + u32::from(b) * u32::from(of_b)
    }

    #[inline(always)]
    fn wide(self) -> u32 {
        self
    }

    #[inline(always)]
    fn round(self) -> u16 {
        ((self + 32) >> 6) as u16
    }

    fn run<W: Work>(instructions: Instructions, work: W) -> W::Output {
        instructions.run_deep(work)
    }
}

/// A plane of a frame, readable between its samples in cells of `W` x `H` samples.
pub(super) trait CellSource<const W: usize, const H: usize>: Sync {
    /// The samples from a position on, which may be anywhere: outside the frame its edge samples repeat.
    fn cell<E: InstructionSet>(&self, position: (i32, i32)) -> [[u16; W]; H];
}

/// Luma of eight bits.
impl CellSource<BLOCK, BLOCK> for QuarterSamples<'_> {
    #[inline(always)]
    fn cell<E: InstructionSet>(&self, position: (i32, i32)) -> [[u16; BLOCK]; BLOCK] {
        let rows = self.load::<E, BLOCK, { BLOCK / 2 }>((0, 0), self.near((0, 0), position));
        let mut cell = [[0; BLOCK]; BLOCK];
        for (pair, rows) in rows.into_iter().enumerate() {
            let mut samples = [0; 2 * BLOCK];
            // SAFETY: an engine exists, so that the CPU has its instructions.
            unsafe { rows.store(&mut samples) };
            for x in 0..BLOCK {
                cell[2 * pair][x] = samples[x].into();
                cell[2 * pair + 1][x] = samples[BLOCK + x].into();
            }
        }
        cell
    }
}

/// Luma of more than eight bits.
pub(super) struct DeepLuma<'a>(pub FrameView<'a>);

/// The samples that six taps read around a cell, on each axis.
const AROUND: usize = BLOCK + 6;

impl CellSource<BLOCK, BLOCK> for DeepLuma<'_> {
    #[inline(always)]
    fn cell<E: InstructionSet>(&self, (x, y): (i32, i32)) -> [[u16; BLOCK]; BLOCK] {
        let mut around = [[0; AROUND]; AROUND];
        for (down, row) in around.iter_mut().enumerate() {
            self.0.read_pixels::<1>((x >> 2) - 2, (y >> 2) - 2 + down as i32, row);
        }
        let peak = self.0.format().peak().into();
        let [first, second] = half_samples_around((x & 3) as usize, (y & 3) as usize);
        let (a, b) = (points(&around, first, peak), points(&around, second, peak));
        let mut cell = a;
        for y in 0..BLOCK {
            for x in 0..BLOCK {
                cell[y][x] = ((u32::from(a[y][x]) + u32::from(b[y][x]) + 1) >> 1) as u16;
            }
        }
        cell
    }
}

/// The points `(x, y)` half samples, 0 to 2, after the samples from the third on, on each axis.
#[inline(always)]
fn points(around: &[[u16; AROUND]; AROUND], (x, y): (usize, usize), peak: i32) -> [[u16; BLOCK]; BLOCK] {
    let (left, top) = (x / 2, y / 2);
    let mut points = [[0; BLOCK]; BLOCK];
    // The sums across of all rows that are read, if the points lie between columns; else the samples.
    let mut across = [[0; BLOCK]; AROUND];
    for (across, row) in across.iter_mut().zip(around) {
        for at in 0..BLOCK {
            across[at] =
                if x % 2 == 1 { six_taps(|tap| row[at + tap].into()) } else { row[at + left + 2].into() };
        }
    }
    for (down, points) in points.iter_mut().enumerate() {
        for at in 0..BLOCK {
            let (sum, shift) = if y % 2 == 1 {
                (six_taps(|tap| across[down + tap][at]), 5 + 5 * (x % 2))
            } else {
                (across[down + top + 2][at], 5 * (x % 2))
            };
            points[at] = ((sum + ((1 << shift) >> 1)) >> shift).clamp(0, peak) as u16;
        }
    }
    points
}

/// A plane of chroma, which is interpolated linearly. A pixel has `P` samples.
pub(super) struct Chroma<'a, const P: usize>(pub FrameView<'a>);

/// Samples of a row that are read: those of a cell, the next pixel, and more, as many as instructions load at once.
const READ: usize = 16;

/// The most rows that are read.
const MOST_DOWN: usize = BLOCK + 1;

impl<const P: usize, const W: usize, const H: usize> CellSource<W, H> for Chroma<'_, P> {
    #[inline(always)]
    fn cell<E: InstructionSet>(&self, (x, y): (i32, i32)) -> [[u16; W]; H] {
        const { assert!(W + P <= READ && H < MOST_DOWN) };
        let (right, down) = ((x & 7) as u32, (y & 7) as u32);
        let mut across = [[0; W]; MOST_DOWN];
        for (row, across) in across.iter_mut().enumerate().take(H + 1) {
            let mut samples = [0; READ];
            self.0.read_pixels::<P>(x >> 3, (y >> 3) + row as i32, &mut samples);
            for x in 0..W {
                across[x] = (8 - right) * u32::from(samples[x]) + right * u32::from(samples[x + P]);
            }
        }
        let mut cell = [[0; W]; H];
        for y in 0..H {
            for x in 0..W {
                cell[y][x] = (((8 - down) * across[y][x] + down * across[y + 1][x] + 32) >> 6) as u16;
            }
        }
        cell
    }
}

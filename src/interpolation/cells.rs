//! The samples of a plane that vectors lead to.

use super::rules::{BLOCK, TOLERANCE};
use super::starts::BlockEnds;
use crate::compensation::Sampling;
use crate::estimator::{FrameView, SampleFormat, half_samples_around, six_taps};
use crate::native::arch::register::{Register, SampleRegister, WordRegister};
use crate::native::hierarchical::quarter_samples::{NarrowRegister, QuarterSamples};
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

    /// The positions that a vector leads to from a pixel.
    #[inline(always)]
    pub fn positions(&self, (x, y): (i32, i32), ends: BlockEnds) -> [(i32, i32); 2] {
        let (x, y) = (self.units * x, self.units * y);
        ends.ways().map(|way| (x + self.steps.0 * way.0, y + self.steps.1 * way.1))
    }

    /// Whether both frames show something at all `columns` x `rows` pixels from two positions on.
    #[inline(always)]
    pub fn are_inside(&self, [a, b]: [(i32, i32); 2], (columns, rows): (i32, i32)) -> bool {
        let tolerance = TOLERANCE * self.units / 4;
        let is_inside = |a: i32, b: i32, length: i32, read: i32| {
            a.min(b) >= -tolerance && a.max(b) <= self.units * (length - read) + tolerance
        };
        is_inside(a.0, b.0, self.columns, columns) && is_inside(a.1, b.1, self.rows, rows)
    }

    /// The weights of the previous frame for the `W` samples and `H` rows from positions in both frames on: `both` where
    /// both show something or neither does, else 64 or 0.
    #[cold]
    pub fn weights<const W: usize, const H: usize>(
        &self,
        [a, b]: [(i32, i32); 2],
        both: u16,
    ) -> CellNumbers<W, H> {
        let tolerance = TOLERANCE * self.units / 4;
        let is_inside = |at: i32, pixels: usize, length: i32| {
            let range = -tolerance..=self.units * (length - 1) + tolerance;
            range.contains(&(at + self.units * pixels as i32))
        };
        let mut weights = [[both; W]; H];
        for (y, row) in weights.iter_mut().enumerate() {
            let down = [a, b].map(|at| is_inside(at.1, y, self.rows));
            for (x, weight) in row.iter_mut().enumerate() {
                let across = [a, b].map(|at| is_inside(at.0, x / self.pixel, self.columns));
                match (across[0] && down[0], across[1] && down[1]) {
                    (true, false) => *weight = 64,
                    (false, true) => *weight = 0,
                    _ => {}
                }
            }
        }
        weights
    }
}

/// A plane of a frame, readable between its samples in cells of `W` x `H` samples.
pub(super) trait CellSource<const W: usize, const H: usize>: Sync {
    /// The samples of a cell, in the instructions of `E`.
    type Cell<E: InstructionSet>: PlaneCell<W, H>;

    /// The samples from a position on, which may be anywhere: outside the frame its edge samples repeat.
    fn cell<E: InstructionSet>(&self, position: (i32, i32)) -> Self::Cell<E>;

    /// Prefetches these samples, if that is worth it.
    #[inline(always)]
    fn prefetch<E: InstructionSet>(&self, _engine: E, _position: (i32, i32)) {}

    /// Runs `work` on such samples.
    fn run<T: Work>(instructions: Instructions, work: T) -> T::Output;
}

/// A sample that is written to planes.
pub(super) trait StoredSample: Copy {
    /// Writes samples in `format` to the beginning of `to`.
    fn store(format: SampleFormat, samples: &[Self], to: &mut [u8]);
}

impl StoredSample for u8 {
    #[inline(always)]
    fn store(_: SampleFormat, samples: &[u8], to: &mut [u8]) {
        to[..samples.len()].copy_from_slice(samples);
    }
}

impl StoredSample for u16 {
    #[inline(always)]
    fn store(format: SampleFormat, samples: &[u16], to: &mut [u8]) {
        to.as_chunks_mut().0.iter_mut().zip(samples).for_each(|(to, sample)| *to = format.bytes_of(*sample));
    }
}

/// A number for each sample of a cell.
pub(super) type CellNumbers<const W: usize, const H: usize> = [[u16; W]; H];

/// The samples of a cell, or 64 times them.
pub(super) trait PlaneCell<const W: usize, const H: usize>: Copy {
    /// A sample as it is written.
    type Sample: StoredSample;

    /// The windows of the four blocks around a cell.
    type Windows: Copy;

    /// Prepares windows.
    fn windows(windows: &[CellNumbers<W, H>; 4]) -> Self::Windows;

    /// 64 times the samples of two cells, weighted: `weights` are those of the first in 64ths.
    fn blend(cells: [Self; 2], weights: &CellNumbers<W, H>) -> Self;

    /// The samples, from 64 times them.
    fn round(self) -> [[Self::Sample; W]; H];

    /// The mean of four cells of 64 times the samples, weighted by their windows, whose sum is `2^(shift - 6)`.
    fn overlap(cells: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[Self::Sample; W]; H];
}

/// Samples of eight bits, in `N` registers.
#[derive(Clone, Copy)]
pub(super) struct RegisterCell<E: InstructionSet, const N: usize>([E::Words; N]);

impl<E: InstructionSet, const N: usize> RegisterCell<E, N> {
    #[inline(always)]
    fn store<const W: usize, const H: usize>(self) -> [[u8; W]; H] {
        const { assert!(16 * N == W * H) };
        let mut cell = [[0; W]; H];
        for (words, to) in self.0.into_iter().zip(cell.as_flattened_mut().as_chunks_mut().0) {
            // SAFETY: an engine exists, so that the CPU has its instructions, here and below.
            unsafe { words.narrow().store(to) };
        }
        cell
    }
}

impl<E: InstructionSet, const N: usize, const W: usize, const H: usize> PlaneCell<W, H>
    for RegisterCell<E, N>
{
    type Sample = u8;
    type Windows = [[[E::Words; 2]; 2]; N];

    #[inline(always)]
    fn windows(windows: &[CellNumbers<W, H>; 4]) -> Self::Windows {
        const { assert!(16 * N == W * H) };
        // SAFETY: as in `store`.
        unsafe {
            let mut pairs = [[[E::Words::all(0); 2]; 2]; N];
            for (n, pairs) in pairs.iter_mut().enumerate() {
                for (pair, windows) in pairs.iter_mut().zip(windows.as_chunks::<2>().0) {
                    let [first, second] = windows.each_ref().map(|window| words::<E, W, H>(window, n));
                    *pair = first.interleave(second);
                }
            }
            pairs
        }
    }

    #[inline(always)]
    fn blend([first, second]: [Self; 2], weights: &CellNumbers<W, H>) -> Self {
        let mut sum = first;
        for n in 0..N {
            // SAFETY: as in `store`.
            unsafe {
                let (first, second) = (first.0[n], second.0[n]);
                let differences = first.minus(second).times(words::<E, W, H>(weights, n));
                sum.0[n] = second.times(E::Words::all(64)).plus(differences);
            }
        }
        sum
    }

    #[inline(always)]
    fn round(self) -> [[u8; W]; H] {
        let mut rounded = self;
        for n in 0..N {
            // SAFETY: as in `store`.
            rounded.0[n] = unsafe { self.0[n].round() };
        }
        rounded.store()
    }

    #[inline(always)]
    fn overlap([a, b, c, d]: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[u8; W]; H] {
        let mut mean = *a;
        for (n, windows) in windows.iter().enumerate() {
            let cells = [a.0[n], b.0[n], c.0[n], d.0[n]];
            // SAFETY: as in `store`.
            mean.0[n] = unsafe { E::Words::weighted_mean(cells, windows, shift) };
        }
        mean.store()
    }
}

/// 16 of the numbers of a cell.
#[inline(always)]
fn words<E: InstructionSet, const W: usize, const H: usize>(
    numbers: &CellNumbers<W, H>,
    n: usize,
) -> E::Words {
    // SAFETY: an engine exists, so that the CPU has its instructions.
    unsafe { E::Words::load(&numbers.as_flattened().as_chunks().0[n]) }
}

/// Samples of more than eight bits.
#[derive(Clone, Copy)]
pub(super) struct DeepCell<const W: usize, const H: usize>([[u32; W]; H]);

impl<const W: usize, const H: usize> PlaneCell<W, H> for DeepCell<W, H> {
    type Sample = u16;
    type Windows = [CellNumbers<W, H>; 4];

    #[inline(always)]
    fn windows(windows: &[CellNumbers<W, H>; 4]) -> Self::Windows {
        *windows
    }

    #[inline(always)]
    fn blend([first, second]: [Self; 2], weights: &CellNumbers<W, H>) -> Self {
        let mut sum = first;
        for (y, weights) in weights.iter().enumerate() {
            for (x, &weight) in weights.iter().enumerate() {
                let weight = u32::from(weight);
                sum.0[y][x] = first.0[y][x] * weight + second.0[y][x] * (64 - weight);
            }
        }
        sum
    }

    #[inline(always)]
    fn round(self) -> [[u16; W]; H] {
        let mut rounded = [[0; W]; H];
        for (rounded, numbers) in rounded.iter_mut().zip(self.0) {
            for (rounded, number) in rounded.iter_mut().zip(numbers) {
                *rounded = ((number + 32) >> 6) as u16;
            }
        }
        rounded
    }

    #[inline(always)]
    fn overlap(cells: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[u16; W]; H] {
        let mut sums = [[1_u32 << (shift - 1); W]; H];
        for (cell, window) in cells.iter().zip(windows) {
            for y in 0..H {
                for x in 0..W {
                    sums[y][x] += cell.0[y][x] * u32::from(window[y][x]);
                }
            }
        }
        let mut mean = [[0; W]; H];
        for y in 0..H {
            for x in 0..W {
                mean[y][x] = (sums[y][x] >> shift) as u16;
            }
        }
        mean
    }
}

/// Luma of eight bits.
impl CellSource<BLOCK, BLOCK> for QuarterSamples<'_> {
    type Cell<E: InstructionSet> = RegisterCell<E, { BLOCK * BLOCK / 16 }>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, position: (i32, i32)) -> Self::Cell<E> {
        // SAFETY: an engine exists, so that the CPU has its instructions.
        RegisterCell(self.load_anywhere::<E, BLOCK, _>(position).map(|rows| unsafe { E::Words::widen(rows) }))
    }

    #[inline(always)]
    fn prefetch<E: InstructionSet>(&self, engine: E, position: (i32, i32)) {
        self.prefetch_anywhere::<E, BLOCK>(engine, position);
    }

    fn run<T: Work>(instructions: Instructions, work: T) -> T::Output {
        instructions.run(work)
    }
}

/// Luma of more than eight bits.
pub(super) struct DeepLuma<'a>(pub FrameView<'a>);

/// The samples that six taps read around a cell, on each axis.
const AROUND: usize = BLOCK + 6;

impl CellSource<BLOCK, BLOCK> for DeepLuma<'_> {
    type Cell<E: InstructionSet> = DeepCell<BLOCK, BLOCK>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, (x, y): (i32, i32)) -> Self::Cell<E> {
        let mut around = [[0; AROUND]; AROUND];
        for (down, row) in around.iter_mut().enumerate() {
            self.0.read_pixels::<1>((x >> 2) - 2, (y >> 2) - 2 + down as i32, row);
        }
        let peak = self.0.format().peak().into();
        let [first, second] = half_samples_around((x & 3) as usize, (y & 3) as usize);
        let (a, b) = (points(&around, first, peak), points(&around, second, peak));
        let mut cell = [[0; BLOCK]; BLOCK];
        for y in 0..BLOCK {
            for x in 0..BLOCK {
                cell[y][x] = (u32::from(a[y][x]) + u32::from(b[y][x]) + 1) >> 1;
            }
        }
        DeepCell(cell)
    }

    fn run<T: Work>(instructions: Instructions, work: T) -> T::Output {
        instructions.run_deep(work)
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

/// A plane of chroma of eight bits, which is interpolated linearly. A pixel has `P` samples, a cell fills `N` registers.
pub(super) struct Chroma<'a, const P: usize, const N: usize>(pub FrameView<'a>);

/// The most rows of chroma that are read for a cell.
const MOST_DOWN: usize = BLOCK + 1;

/// At least the samples of a row of chroma that are read for a cell.
const READ: usize = 16;

impl<const P: usize, const N: usize, const W: usize, const H: usize> CellSource<W, H> for Chroma<'_, P, N> {
    type Cell<E: InstructionSet> = RegisterCell<E, N>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, (x, y): (i32, i32)) -> Self::Cell<E> {
        const { assert!(W + P <= READ && H < MOST_DOWN && 16 * N == W * H) };
        let [right, down] = [x, y].map(|at| (at & 7) as u16);
        let copied;
        let (samples, pitch) = match self.0.inside(((x >> 3) * P as i32, y >> 3), (W + P, H + 1)) {
            Some(inside) => inside,
            None => {
                copied = copy_pixels::<P, W, H>(&self.0, (x >> 3, y >> 3));
                (copied.as_flattened(), READ)
            }
        };
        // SAFETY: an engine exists, so that the CPU has its instructions. From `samples` on there are H + 1 rows of W + P
        // samples, and a register has 16 / W rows.
        unsafe {
            let weights = [(8 - right) * (8 - down), right * (8 - down), (8 - right) * down, right * down];
            let weights = weights.map(|weight| E::Words::all(weight));
            let mut cell = [E::Words::all(0); N];
            for (n, cell) in cell.iter_mut().enumerate() {
                let above = samples.as_ptr().add(n * (16 / W) * pitch);
                let below = above.add(pitch);
                for (samples, weight) in [above, above.add(P), below, below.add(P)].into_iter().zip(weights) {
                    let samples = NarrowRegister::<E>::load_rows::<W>(samples, pitch);
                    *cell = cell.plus(E::Words::widen(samples).times(weight));
                }
                *cell = cell.round();
            }
            RegisterCell(cell)
        }
    }

    fn run<T: Work>(instructions: Instructions, work: T) -> T::Output {
        instructions.run(work)
    }
}

/// The pixels of `P` samples of eight bits that are read for a cell from `(x, y)` on. Outside the plane, its edge pixels
/// repeat.
#[cold]
fn copy_pixels<const P: usize, const W: usize, const H: usize>(
    plane: &FrameView<'_>,
    (x, y): (i32, i32),
) -> [[u8; READ]; MOST_DOWN] {
    let mut rows = [[0; READ]; MOST_DOWN];
    for (down, row) in rows.iter_mut().enumerate().take(H + 1) {
        let mut samples = [0; READ];
        plane.read_pixels::<P>(x, y + down as i32, &mut samples[..W + P]);
        for (to, sample) in row.iter_mut().zip(samples) {
            *to = sample as u8;
        }
    }
    rows
}

/// Chroma of more than eight bits.
pub(super) struct DeepChroma<'a, const P: usize>(pub FrameView<'a>);

impl<const P: usize, const W: usize, const H: usize> CellSource<W, H> for DeepChroma<'_, P> {
    type Cell<E: InstructionSet> = DeepCell<W, H>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, (x, y): (i32, i32)) -> Self::Cell<E> {
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
                cell[y][x] = ((8 - down) * across[y][x] + down * across[y + 1][x] + 32) >> 6;
            }
        }
        DeepCell(cell)
    }

    fn run<T: Work>(instructions: Instructions, work: T) -> T::Output {
        instructions.run_deep(work)
    }
}

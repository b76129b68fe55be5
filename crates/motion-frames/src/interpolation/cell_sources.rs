//! The samples of planes at any position, in cells.

use super::bilinear_rows::bilinear_rows;
use super::cells::{DeepCell, RegisterCell};
use super::mixed_cells::MixedCell;
use super::rules::{BLOCK, block_of};
use super::stored_samples::PixelPlane;
use crate::compensation::Sampling;
use motion_base::FrameView;
use motion_base::half_samples::{InterpolatedSample, filter, half_samples_around};
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::sampling::{Fraction, bilinear};
use motion_base::simd::{InstructionSet, Instructions, Words, Work, WorkForAll};

/// A plane of a frame, readable between its samples in cells of `W` x `H` samples.
pub(crate) trait CellSource<const W: usize, const H: usize>: Sync {
    /// The samples of a cell, in the instructions of `E`.
    type Cell<E: InstructionSet>: MixedCell<E, W, H>;

    /// The samples from a position on, which may be anywhere: outside the frame its edge samples repeat.
    fn cell<E: InstructionSet>(&self, engine: E, position: (i32, i32)) -> Self::Cell<E>;

    /// Prefetches these samples, if that is worth it.
    #[inline(always)]
    fn prefetch<E: InstructionSet>(&self, _engine: E, _position: (i32, i32)) {}

    /// Runs `work` on such samples.
    fn run<T: WorkForAll<()>>(instructions: Instructions, work: T);

    /// Does a part of such work. What is done with deep samples is a function of its own: it is long, and would else be
    /// compiled again wherever it is used.
    fn run_part<E: InstructionSet, R, T: Work<E, R>>(engine: E, work: T) -> R;
}

/// Registers of a block of luma.
const REGISTERS: usize = BLOCK * BLOCK / 16;

/// Luma of eight bits.
impl CellSource<BLOCK, BLOCK> for QuarterSamples<'_> {
    type Cell<E: InstructionSet> = RegisterCell<E, REGISTERS>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, engine: E, position: (i32, i32)) -> Self::Cell<E> {
        let rows = self.load_anywhere::<E, BLOCK, REGISTERS>(engine, position);
        let mut cell = [Words::all(engine, 0); REGISTERS];
        for (words, rows) in cell.iter_mut().zip(rows) {
            *words = rows.widen();
        }
        RegisterCell(cell)
    }

    #[inline(always)]
    fn prefetch<E: InstructionSet>(&self, engine: E, position: (i32, i32)) {
        self.prefetch_anywhere::<E, BLOCK>(engine, position);
    }

    fn run<T: WorkForAll<()>>(instructions: Instructions, work: T) {
        instructions.run(work)
    }

    #[inline(always)]
    fn run_part<E: InstructionSet, R, T: Work<E, R>>(engine: E, work: T) -> R {
        work.run(engine)
    }
}

/// Luma of more than eight bits.
pub(crate) struct DeepLuma<'a>(pub FrameView<'a>);

/// The samples that six taps read around a cell, on each axis.
const AROUND: usize = BLOCK + 6;

impl CellSource<BLOCK, BLOCK> for DeepLuma<'_> {
    type Cell<E: InstructionSet> = DeepCell<BLOCK, BLOCK>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, engine: E, position: (i32, i32)) -> Self::Cell<E> {
        engine.run(DeepLumaCell { plane: &self.0, position })
    }

    fn run<T: WorkForAll<()>>(instructions: Instructions, work: T) {
        instructions.run_deep(work)
    }

    #[inline(always)]
    fn run_part<E: InstructionSet, R, T: Work<E, R>>(engine: E, work: T) -> R {
        engine.run(work)
    }
}

/// Reads a cell of luma.
struct DeepLumaCell<'a> {
    plane: &'a FrameView<'a>,
    position: (i32, i32),
}

impl<E: InstructionSet> Work<E, DeepCell<BLOCK, BLOCK>> for DeepLumaCell<'_> {
    #[inline(always)]
    fn run(self, _: E) -> DeepCell<BLOCK, BLOCK> {
        let Self { plane, position: (x, y) } = self;
        let mut around = [[0; AROUND]; AROUND];
        for (down, row) in around.iter_mut().enumerate() {
            plane.read_pixels(1, ((x >> 2) - 2, (y >> 2) - 2 + down as i32), row);
        }
        let peak = plane.format().peak();
        let [first, second] = half_samples_around((x & 3) as usize, (y & 3) as usize);
        let (a, b) = (points(&around, first, peak), points(&around, second, peak));
        let mut cell = [[0; BLOCK]; BLOCK];
        for y in 0..BLOCK {
            for x in 0..BLOCK {
                cell[y][x] = a[y][x].average(b[y][x]).into();
            }
        }
        DeepCell(cell)
    }
}

/// The points `(x, y)` half samples, 0 to 2, after the samples from the third on, on each axis.
#[inline(always)]
fn points(around: &[[u16; AROUND]; AROUND], (x, y): (usize, usize), peak: u16) -> [[u16; BLOCK]; BLOCK] {
    let (left, top) = (x / 2 + 2, y / 2 + 2);
    let mut points = [[0; BLOCK]; BLOCK];
    // The sums across of all rows that are read, if the points lie between columns.
    let mut sums = [[0; BLOCK]; AROUND];
    if x % 2 == 1 {
        for (sums, row) in sums.iter_mut().zip(around) {
            let tap = |k: usize| &row[k..];
            filter(sums, [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], u16::six_taps);
        }
    }
    for (down, points) in points.iter_mut().enumerate() {
        let tap = |k: usize| &around[down + k][left..];
        let taps = [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)];
        let sum = |k: usize| &sums[down + k][..];
        let sums_down = [sum(0), sum(1), sum(2), sum(3), sum(4), sum(5)];
        match (x % 2 == 1, y % 2 == 1) {
            (false, false) => points.copy_from_slice(&around[down + top][left..][..BLOCK]),
            (false, true) => filter(points, taps, |taps| u16::half_sample(u16::six_taps(taps), peak)),
            (true, false) => {
                for (point, sum) in points.iter_mut().zip(&sums[down + top]) {
                    *point = u16::half_sample(*sum, peak);
                }
            }
            (true, true) => filter(points, sums_down, |sums| u16::half_sample_of_sums(sums, peak)),
        }
    }
    points
}

/// A plane of chroma of eight bits, which is interpolated linearly. A cell fills `N` registers.
pub(crate) struct Chroma<'a, const N: usize>(PixelPlane<'a>);

impl<'a, const N: usize> From<PixelPlane<'a>> for Chroma<'a, N> {
    fn from(plane: PixelPlane<'a>) -> Self {
        Self(plane)
    }
}

/// The most samples of a pixel.
pub(crate) const MOST_OF_PIXEL: usize = 2;

/// The most rows of chroma that are read for a cell.
const MOST_DOWN: usize = BLOCK + 1;

/// At least the samples of a row of chroma that are read for a cell of more than eight bits.
const DEEP_ROW: usize = 16;

/// At least those of a row of eight bits, whose cells may be twice as wide.
const BYTE_ROW: usize = 18;

impl<const N: usize, const W: usize, const H: usize> CellSource<W, H> for Chroma<'_, N> {
    type Cell<E: InstructionSet> = RegisterCell<E, N>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, engine: E, (x, y): (i32, i32)) -> Self::Cell<E> {
        const { assert!(W + MOST_OF_PIXEL <= BYTE_ROW && H < MOST_DOWN && 16 * N == W * H) };
        let PixelPlane { view, pixel } = &self.0;
        let fraction = Fraction::of((x, y));
        let copied;
        // At whole samples there is no need for a column or row more, which at the edges is outside.
        let needed = (W + if fraction.x > 0 { *pixel } else { 0 }, H + usize::from(fraction.y > 0));
        let (samples, pitch) = match view.inside(((x >> 3) * *pixel as i32, y >> 3), needed) {
            Some(inside) => inside,
            None => {
                copied = copy_pixels::<W, H>(&self.0, (x >> 3, y >> 3));
                (copied.as_flattened(), BYTE_ROW)
            }
        };
        let mut cell = [Words::all(engine, 0); N];
        for (n, cell) in cell.iter_mut().enumerate() {
            let samples = samples[n * (16 / W) * pitch..].as_ptr();
            // SAFETY: from the first sample on there are H rows of W samples, of which a register has 16 / W, and a row and a
            // pixel more where they have a weight.
            *cell = unsafe { bilinear_rows::<E, W>(engine, (samples, pitch), *pixel, fraction) };
        }
        RegisterCell(cell)
    }

    fn run<T: WorkForAll<()>>(instructions: Instructions, work: T) {
        instructions.run(work)
    }

    #[inline(always)]
    fn run_part<E: InstructionSet, R, T: Work<E, R>>(engine: E, work: T) -> R {
        work.run(engine)
    }
}

/// The pixels of eight bits that are read for a cell from `(x, y)` on. Outside the plane, its edge pixels repeat.
#[cold]
fn copy_pixels<const W: usize, const H: usize>(
    PixelPlane { view, pixel }: &PixelPlane<'_>,
    (x, y): (i32, i32),
) -> [[u8; BYTE_ROW]; MOST_DOWN] {
    let mut rows = [[0; BYTE_ROW]; MOST_DOWN];
    for (down, row) in rows.iter_mut().enumerate().take(H + 1) {
        let mut samples = [0; BYTE_ROW];
        view.read_pixels(*pixel, (x, y + down as i32), &mut samples[..W + pixel]);
        for (to, sample) in row.iter_mut().zip(samples) {
            *to = sample as u8;
        }
    }
    rows
}

/// Chroma of more than eight bits.
pub(crate) struct DeepChroma<'a>(PixelPlane<'a>);

impl<'a> From<PixelPlane<'a>> for DeepChroma<'a> {
    fn from(plane: PixelPlane<'a>) -> Self {
        Self(plane)
    }
}

impl<const W: usize, const H: usize> CellSource<W, H> for DeepChroma<'_> {
    type Cell<E: InstructionSet> = DeepCell<W, H>;

    #[inline(always)]
    fn cell<E: InstructionSet>(&self, engine: E, position: (i32, i32)) -> Self::Cell<E> {
        engine.run(DeepChromaCell { plane: &self.0, position })
    }

    fn run<T: WorkForAll<()>>(instructions: Instructions, work: T) {
        instructions.run_deep(work)
    }

    #[inline(always)]
    fn run_part<E: InstructionSet, R, T: Work<E, R>>(engine: E, work: T) -> R {
        engine.run(work)
    }
}

/// Reads a cell of chroma.
struct DeepChromaCell<'a> {
    plane: &'a PixelPlane<'a>,
    position: (i32, i32),
}

impl<E: InstructionSet, const W: usize, const H: usize> Work<E, DeepCell<W, H>> for DeepChromaCell<'_> {
    #[inline(always)]
    fn run(self, _: E) -> DeepCell<W, H> {
        let Self { plane, position: (x, y) } = self;
        const { assert!(W + MOST_OF_PIXEL <= DEEP_ROW && H < MOST_DOWN) };
        let PixelPlane { view, pixel } = plane;
        let weights = Fraction::of((x, y)).weights();
        let mut rows = [[0; DEEP_ROW]; MOST_DOWN];
        for (row, samples) in rows.iter_mut().enumerate().take(H + 1) {
            view.read_pixels(*pixel, (x >> 3, (y >> 3) + row as i32), samples);
        }
        let mut cell = [[0; W]; H];
        for (y, cell) in cell.iter_mut().enumerate() {
            let (upper, lower) = (&rows[y], &rows[y + 1]);
            let (right, lower_right) = (&upper[*pixel..][..W], &lower[*pixel..][..W]);
            for x in 0..W {
                let around = [upper[x], right[x], lower[x], lower_right[x]];
                cell[x] = bilinear(
                    [around[0].into(), around[1].into(), around[2].into(), around[3].into()],
                    weights,
                );
            }
        }
        DeepCell(cell)
    }
}

/// What is done with planes of chroma, whatever their samples are.
pub(crate) trait ChromaWork<'a> {
    /// Does it with sources of the type `S`; a pixel has so many samples.
    fn run<S, const W: usize, const H: usize>(self, pixel: usize)
    where
        S: CellSource<W, H> + From<PixelPlane<'a>>;
}

/// Does `work` with planes of chroma that are sampled so, of samples of `depth` bits. Interleaved ones are halved on both
/// axes.
pub(crate) fn with_chroma<'a>(sampling: Sampling, depth: u32, work: impl ChromaWork<'a>) {
    let ((width, height), pixel) = (block_of(sampling), sampling.pixel());
    match (depth, width * pixel, height) {
        (8, 4, 4) => work.run::<Chroma<'_, 1>, 4, 4>(pixel),
        (8, 4, _) => work.run::<Chroma<'_, 2>, 4, 8>(pixel),
        (8, _, 4) => work.run::<Chroma<'_, 2>, 8, 4>(pixel),
        (8, ..) => work.run::<Chroma<'_, 4>, 8, 8>(pixel),
        (_, 4, 4) => work.run::<DeepChroma<'_>, 4, 4>(pixel),
        (_, 4, _) => work.run::<DeepChroma<'_>, 4, 8>(pixel),
        (_, _, 4) => work.run::<DeepChroma<'_>, 8, 4>(pixel),
        _ => work.run::<DeepChroma<'_>, 8, 8>(pixel),
    }
}

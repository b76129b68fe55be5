//! The samples of blocks, and the errors of their predictions.

use std::marker::PhantomData;
use std::ops::{Add, Mul, Sub};

use super::errors::ReferenceErrorsMut;
use super::map::BlockNoise;
use super::noise::{Bends, ChromaBlock, ChromaError, LumaBlock, LumaError};
use super::rules::{BLOCK, NOISE_GAINS, VectorEnds, chroma_gain};
use super::stripes::{STRIPE, StripeCell, Stripes, fill_stripes};
use crate::interpolation::{
    AHEAD, CellSource, ChromaWork, MOST_OF_PIXEL, PREFETCHED, PixelPlane, PlaneCell, RegisterCell, RowSums,
};
use motion_base::FrameView;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Measures the luma of a row of blocks, from row `y` of the plane on.
pub(super) struct MeasuredLuma<'a> {
    pub plane: &'a FrameView<'a>,
    pub y: usize,
    pub blocks: &'a mut [LumaBlock],
}

impl<E: InstructionSet> Work<E> for MeasuredLuma<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { plane, y, blocks } = self;
        let (rows, pixels) = (BLOCK.min(plane.height() - y), PixelPlane { view: *plane, pixel: 1 });
        for (column, block) in blocks.iter_mut().enumerate() {
            let x = column * BLOCK;
            let columns = BLOCK.min(plane.width() - x);
            let [sum, squares, steps] = if plane.format().depth() == 8 && (columns, rows) == (BLOCK, BLOCK) {
                let cell = |x: usize| {
                    let at = (x as i32, y as i32);
                    <RegisterCell<E, 4> as PlaneCell<E, BLOCK, BLOCK>>::read(engine, &pixels, at)
                };
                cell(x).sums(engine, cell(x + 1))
            } else {
                sums_of_luma(plane, (x, y), (columns, rows))
            };
            *block = LumaBlock::new((rows * columns) as u64, sum, squares, steps);
        }
    }
}

/// The sum of the samples of a block, that of their squares, and that of the squared differences of those beside each other
/// in a row.
#[inline(always)]
fn sums_of_luma(plane: &FrameView<'_>, (x, y): (usize, usize), (columns, rows): (usize, usize)) -> [u64; 3] {
    let mut sums = [[0; BLOCK]; 3];
    for y in y..y + rows {
        // Outside the plane, edge samples repeat.
        let mut samples = [0; BLOCK];
        plane.read_pixels(1, (x as i32, y as i32), &mut samples);
        let samples = samples.map(i64::from);
        for i in 0..BLOCK {
            sums[0][i] += samples[i];
            sums[1][i] += samples[i] * samples[i];
        }
        for i in 1..BLOCK {
            sums[2][i] += (samples[i] - samples[i - 1]).pow(2);
        }
    }
    let [sum, squares, steps] = sums.map(|sums| sums[..columns].iter().sum::<i64>() as u64);
    // Of a part of a block there are no steps.
    [sum, squares, if columns == BLOCK { steps } else { 0 }]
}

/// A row of blocks of luma, and the ends of their vectors in another frame.
#[derive(Clone, Copy)]
pub(super) struct LumaRow<'a> {
    pub plane: &'a FrameView<'a>,
    pub blocks: &'a [LumaBlock],
    pub ends: &'a VectorEnds,
    pub row: usize,
}

impl LumaRow<'_> {
    /// Sets the `errors` of its prediction from `source`, the luma of the other frame. Returns how many blocks have another
    /// light in it.
    pub fn errors<S: CellSource<BLOCK, BLOCK>>(
        self,
        instructions: Instructions,
        source: &S,
        errors: ReferenceErrorsMut<'_, LumaError>,
    ) -> usize {
        let mut of_other_light = 0;
        S::run(instructions, LumaErrors { of: self, source, errors, of_other_light: &mut of_other_light });
        of_other_light
    }
}

/// The error of a block that is predicted from `position`, by the squared differences and the sum of the predicted samples.
#[inline(always)]
pub(super) fn luma_error(
    block: &LumaBlock,
    [squares, predicted]: [u64; 2],
    position: (i32, i32),
) -> LumaError {
    let (x, y) = ((position.0 & 3) as usize, (position.1 & 3) as usize);
    LumaError::new(block, squares, predicted, NOISE_GAINS[y][x])
}

/// Measures the prediction of a row of blocks of luma.
struct LumaErrors<'a, 'e, S> {
    of: LumaRow<'a>,
    source: &'a S,
    errors: ReferenceErrorsMut<'e, LumaError>,
    of_other_light: &'e mut usize,
}

impl<S: CellSource<BLOCK, BLOCK>, E: InstructionSet> Work<E> for LumaErrors<'_, '_, S> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { of: LumaRow { plane, blocks, ends, row }, source, mut errors, of_other_light } = self;
        let (y, columns) = (row * BLOCK, blocks.len());
        let (rows, pixels) = (BLOCK.min(plane.height() - y), PixelPlane { view: *plane, pixel: 1 });
        for (column, block) in blocks.iter().enumerate() {
            if column % PREFETCHED == 0 && column + AHEAD < columns {
                source.prefetch(engine, ends.position(column + AHEAD, row));
            }
            let x = column * BLOCK;
            let samples = S::Cell::<E>::read(engine, &pixels, (x as i32, y as i32));
            let inside = (BLOCK.min(plane.width() - x), rows);
            let position = ends.position(column, row);
            let error =
                luma_error(block, samples.error_and_sum(source.cell(engine, position), inside), position);
            *of_other_light += usize::from(error.is_of_other_light());
            *errors.of_column(column) = error;
        }
    }
}

/// Adds the numbers of planes of chroma to those of a row of blocks.
pub(super) struct MeasuredChroma<'a> {
    pub instructions: Instructions,
    pub planes: &'a [FrameView<'a>],
    pub row: usize,
    pub blocks: &'a mut [ChromaBlock],
}

impl<'a> ChromaWork<'a> for MeasuredChroma<'a> {
    fn run<S, const W: usize, const H: usize>(self, pixel: usize)
    where
        S: CellSource<W, H> + From<PixelPlane<'a>>,
    {
        let Self { instructions, planes, row, blocks } = self;
        for plane in planes {
            let (samples, blocks) = (ChromaRows::around(plane, pixel, row * H, H), &mut *blocks);
            match plane.format().depth() {
                8 => instructions.run(ChromaBlocks::<Eight, W>::new(samples, blocks)),
                9..=12 => instructions.run(ChromaBlocks::<Deep<i32>, W>::new(samples, blocks)),
                _ => instructions.run(ChromaBlocks::<Deep<i64>, W>::new(samples, blocks)),
            }
        }
    }
}

/// Adds the errors of the prediction of planes of chroma to those of a row of blocks.
pub(super) struct MeasuredChromaErrors<'a, 'e> {
    pub instructions: Instructions,
    pub planes: &'a [FrameView<'a>],
    /// Positions in them on each axis, for each quarter of a luma sample.
    pub steps: (i32, i32),
    /// The same planes of the other frame, and the ends of the vectors in it.
    pub others: &'a [FrameView<'a>],
    pub ends: &'a VectorEnds,
    /// The noise of the blocks, if the errors of those are wanted whose chroma has noise.
    pub noise: Option<&'a [BlockNoise]>,
    pub row: usize,
    pub errors: ReferenceErrorsMut<'e, ChromaError>,
}

impl<'a> ChromaWork<'a> for MeasuredChromaErrors<'a, '_> {
    fn run<S, const W: usize, const H: usize>(self, pixel: usize)
    where
        S: CellSource<W, H> + From<PixelPlane<'a>>,
    {
        let Self { instructions, planes, steps, others, ends, noise, row, errors } = self;
        let of_plane = |views: (&FrameView<'a>, &FrameView<'a>)| {
            let [plane, other] = [*views.0, *views.1].map(|view| PixelPlane { view, pixel });
            ChromaPlane::<S, H> { plane, source: other.into(), stripes: other.into() }
        };
        let are_filled = fill_stripes::<W>(planes[0].format().depth(), std::slice::from_ref(ends));
        let planes: Vec<_> = planes.iter().zip(others).map(of_plane).collect();
        let planes = &planes[..];
        S::run(instructions, ChromaErrors::<S, W, H> { planes, are_filled, steps, ends, noise, row, errors });
    }
}

/// Rows of chroma and those around them, with a pixel more on each side.
struct ChromaRows {
    /// Samples of a pixel.
    pixel: usize,
    rows: Vec<u16>,
    /// Samples from one row to the next: whole stripes.
    pitch: usize,
    width: usize,
}

impl ChromaRows {
    /// As many rows as `plane` has of `count` from row `y` on.
    fn around(plane: &FrameView<'_>, pixel: usize, y: usize, count: usize) -> Self {
        let (width, end) = (plane.width(), (y + count).min(plane.height()));
        let pitch = width.next_multiple_of(STRIPE) + 2 * pixel;
        let mut rows = vec![0; (end - y + 2) * pitch];
        for (row, y) in rows.chunks_exact_mut(pitch).zip(y as i32 - 1..) {
            plane.read_pixels(pixel, (0, y), &mut row[pixel..pixel + width]);
            row.copy_within(pixel..2 * pixel, 0);
            row.copy_within(width..width + pixel, width + pixel);
        }
        Self { pixel, rows, pitch, width }
    }
}

/// Measures a row of blocks of chroma `W` samples wide.
struct ChromaBlocks<'a, D, const W: usize> {
    samples: ChromaRows,
    blocks: &'a mut [ChromaBlock],
    depth: PhantomData<D>,
}

impl<'a, D, const W: usize> ChromaBlocks<'a, D, W> {
    fn new(samples: ChromaRows, blocks: &'a mut [ChromaBlock]) -> Self {
        Self { samples, blocks, depth: PhantomData }
    }
}

impl<E: InstructionSet, D: Depth, const W: usize> Work<E> for ChromaBlocks<'_, D, W> {
    #[inline(always)]
    fn run(self, engine: E) {
        let ChromaRows { pixel, rows, pitch, width } = self.samples;
        let count = rows.len() / pitch - 2;
        for (blocks, x) in self.blocks.chunks_mut(STRIPE / W).zip((0..width).step_by(STRIPE)) {
            let columns = STRIPE.min(width - x);
            let mut sums = D::Sums::<E>::new(engine, columns);
            for start in (0..count).map(|row| row * pitch + x) {
                let samples = |at: usize| -> &[u16; STRIPE] { rows[at..].first_chunk().expect("a stripe") };
                let [left, middle, right] =
                    [0, pixel, 2 * pixel].map(|column| samples(start + pitch + column));
                let [above, below] = [0, 2 * pitch].map(|row| samples(start + row + pixel));
                sums.add([left, middle, right, above, below]);
            }
            let (samples, products) = (sums.samples(), sums.products());
            for (block, start) in blocks.iter_mut().zip((0..columns).step_by(W)) {
                let pairs = start / 2..(start + W) / 2;
                let mut totals = [0; MOST_OF_PIXEL];
                for pair in &samples[pairs.clone()] {
                    totals[0] += pair[0];
                    totals[pixel - 1] += pair[1];
                }
                let [squares, along, down, both] = products
                    .each_ref()
                    .map(|sums| sums[pairs.clone()].iter().map(|&sum| sum.into()).sum::<i64>());
                let bends = Bends { along: along as u64, down: down as u64, both };
                let samples = W.min(columns - start) / pixel * count;
                block.add(samples as u64, &totals[..pixel], squares as u64, bends);
            }
        }
    }
}

/// How many bits samples have.
trait Depth {
    type Sums<E: InstructionSet>: StripeSums<E>;
}

/// Eight.
struct Eight;

/// More, with sums of the type `T`.
struct Deep<T>(PhantomData<T>);

impl Depth for Eight {
    type Sums<E: InstructionSet> = RowSums<E>;
}

impl<T> Depth for Deep<T>
where
    T: Copy + Default + From<u16> + Into<i64> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    type Sums<E: InstructionSet> = DeepSums<T>;
}

/// Sums over rows of stripes.
trait StripeSums<E> {
    /// A sum over two columns.
    type Sum: Copy + Into<i64>;

    /// Sums that are 0. The first `columns` samples of each row are then added.
    fn new(engine: E, columns: usize) -> Self;

    /// Adds samples, by those on the left, themselves, those on the right, above and below.
    fn add(&mut self, samples: [&[u16; STRIPE]; 5]);

    /// For each sample of every two neighbours the sum.
    fn samples(&self) -> [[u64; 2]; STRIPE / 2];

    /// For every two neighbours the sums of squares, of squared second differences along rows and down columns, and of the
    /// products of both.
    fn products(&self) -> [[Self::Sum; STRIPE / 2]; 4];
}

impl<E: InstructionSet> StripeSums<E> for RowSums<E> {
    type Sum = i32;

    #[inline(always)]
    fn new(engine: E, columns: usize) -> Self {
        Self::new(engine, columns)
    }

    #[inline(always)]
    fn add(&mut self, samples: [&[u16; STRIPE]; 5]) {
        self.add(samples);
    }

    #[inline(always)]
    fn samples(&self) -> [[u64; 2]; STRIPE / 2] {
        self.samples()
    }

    #[inline(always)]
    fn products(&self) -> [[i32; STRIPE / 2]; 4] {
        self.products()
    }
}

/// Of samples of more than eight bits.
struct DeepSums<T> {
    columns: usize,
    sums: [[T; STRIPE]; 5],
}

impl<E, T> StripeSums<E> for DeepSums<T>
where
    T: Copy + Default + From<u16> + Into<i64> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    type Sum = i64;

    #[inline(always)]
    fn new(_: E, columns: usize) -> Self {
        Self { columns, sums: [[T::default(); STRIPE]; 5] }
    }

    #[inline(always)]
    fn add(&mut self, samples: [&[u16; STRIPE]; 5]) {
        for column in 0..STRIPE {
            let [left, middle, right, above, below] = samples.map(|samples| T::from(samples[column]));
            let (along, down) = (left + right - middle - middle, above + below - middle - middle);
            let products = [middle, middle * middle, along * along, down * down, along * down];
            for (sums, product) in self.sums.iter_mut().zip(products) {
                sums[column] = sums[column] + product;
            }
        }
    }

    #[inline(always)]
    fn samples(&self) -> [[u64; 2]; STRIPE / 2] {
        let sum = |column: usize| if column < self.columns { self.sums[0][column].into() as u64 } else { 0 };
        std::array::from_fn(|pair| [sum(2 * pair), sum(2 * pair + 1)])
    }

    #[inline(always)]
    fn products(&self) -> [[i64; STRIPE / 2]; 4] {
        std::array::from_fn(|of| {
            let sum =
                |column: usize| if column < self.columns { self.sums[of + 1][column].into() } else { 0 };
            std::array::from_fn(|pair| sum(2 * pair) + sum(2 * pair + 1))
        })
    }
}

/// The samples of a block that are inside, of which the first one is at `(x, y)`.
fn inside<const W: usize, const H: usize>(plane: &FrameView<'_>, x: usize, y: usize) -> (usize, usize) {
    (W.min(plane.width().saturating_sub(x)), H.min(plane.height().saturating_sub(y)))
}

/// A plane of chroma, and the same of the other frame. A block has `H` rows.
struct ChromaPlane<'a, S, const H: usize> {
    plane: PixelPlane<'a>,
    source: S,
    /// As stripes.
    stripes: Stripes<'a, H>,
}

/// Measures the prediction of a row of blocks of chroma, of `W` x `H` samples.
struct ChromaErrors<'a, 'e, S, const W: usize, const H: usize> {
    planes: &'a [ChromaPlane<'a, S, H>],
    /// Whether blocks fill stripes.
    are_filled: bool,
    steps: (i32, i32),
    ends: &'a VectorEnds,
    noise: Option<&'a [BlockNoise]>,
    row: usize,
    errors: ReferenceErrorsMut<'e, ChromaError>,
}

impl<S: CellSource<W, H>, const W: usize, const H: usize> ChromaErrors<'_, '_, S, W, H> {
    /// Where the vector of a block leads to, in eighths of pixels.
    #[inline(always)]
    fn position(&self, column: usize) -> (i32, i32) {
        let (x, y) = self.ends.position(column, self.row);
        (self.steps.0 * x, self.steps.1 * y)
    }

    /// Measures a block.
    #[inline(always)]
    fn block<E: InstructionSet>(&self, engine: E, column: usize) -> u64 {
        let (x, y, position) = (column * W, self.row * H, self.position(column));
        let mut sum = 0;
        for ChromaPlane { plane, source, .. } in self.planes {
            let samples = S::Cell::<E>::read(engine, plane, ((x / plane.pixel) as i32, y as i32));
            sum += samples.squared_error(source.cell(engine, position), inside::<W, H>(&plane.view, x, y));
        }
        sum
    }

    /// Measures the blocks of a stripe, two columns each, of which the first one's vector leads to `position`; `None` at the
    /// edges of the planes.
    #[inline(always)]
    fn stripe<E: InstructionSet>(
        &self,
        engine: E,
        column: usize,
        position: (i32, i32),
    ) -> Option<[u32; STRIPE / 2]> {
        let (x, y) = ((column * W) as i32, (self.row * H) as i32);
        if !self.are_filled || self.planes[0].plane.view.inside((x, y), (STRIPE, H)).is_none() {
            return None;
        }
        let mut sums = [0; STRIPE / 2];
        for ChromaPlane { plane, stripes, .. } in self.planes {
            let predicted = CellSource::<STRIPE, H>::cell(stripes, engine, position);
            let at = (x / plane.pixel as i32, y);
            let samples = <StripeCell<E, H> as PlaneCell<E, STRIPE, H>>::read(engine, plane, at);
            let squares = samples.squares(predicted);
            sums.iter_mut().zip(squares).for_each(|(sum, squares)| *sum += squares);
        }
        Some(sums)
    }
}

impl<E: InstructionSet, S: CellSource<W, H>, const W: usize, const H: usize> Work<E>
    for ChromaErrors<'_, '_, S, W, H>
{
    #[inline(always)]
    fn run(mut self, engine: E) {
        let columns = self.errors.len();
        let together = if self.are_filled { STRIPE / W } else { 1 };
        for first in (0..columns).step_by(together) {
            let blocks = first..(first + together).min(columns);
            if self.noise.is_some_and(|noise| noise[blocks.clone()].iter().all(|noise| noise.chroma == 0)) {
                continue;
            }
            // Blocks of a stripe have the same vector: they are as far between samples.
            let position = self.position(first);
            let stripe = self.stripe(engine, first, position);
            let (gain, fraction) = (chroma_gain(position), [(position.0 & 7) as u8, (position.1 & 7) as u8]);
            for (index, column) in blocks.enumerate() {
                let squares = match &stripe {
                    Some(squares) => squares[index * W / 2..][..W / 2].iter().sum::<u32>().into(),
                    None => self.block(engine, column),
                };
                self.errors.of_column(column).add(squares, gain, fraction);
            }
        }
    }
}

//! The samples of blocks, and the errors of their predictions.

use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Mul, Sub};

use rayon::prelude::*;

use super::noise::{Bends, Block, BlockError};
use super::rules::{BLOCK, NOISE_GAINS, VectorEnds, chroma_gain};
use super::stripes::{STRIPE, StripeCell, Stripes, fill_stripes};
use crate::estimator::FrameView;
use crate::interpolation::{AHEAD, CellSource, ChromaWork, PREFETCHED, PlaneCell};
use crate::simd::{InstructionSet, Instructions, Work};

/// The samples of a row of a block, and sums of them over the rows.
type Columns<T> = [T; BLOCK];

/// Samples that blocks have.
pub(super) trait BlockSample: Copy + Default {
    /// Sums of squares over the rows of a block.
    type Squares: Copy + Default + AddAssign + Into<u64>;

    /// The samples from `(x, y)` on, which are inside `plane`.
    fn row(plane: &FrameView<'_>, x: usize, y: usize) -> Columns<Self>;

    /// The square of the difference.
    fn squared_difference(self, other: Self) -> Self::Squares;

    fn value(self) -> u32;
}

impl BlockSample for u8 {
    type Squares = u32;

    #[inline(always)]
    fn row(plane: &FrameView<'_>, x: usize, y: usize) -> Columns<Self> {
        let mut samples = [0; BLOCK];
        samples.copy_from_slice(&plane.row(y)[x..x + BLOCK]);
        samples
    }

    #[inline(always)]
    fn squared_difference(self, other: Self) -> u32 {
        let difference = i32::from(self) - i32::from(other);
        (difference * difference) as u32
    }

    #[inline(always)]
    fn value(self) -> u32 {
        self.into()
    }
}

impl BlockSample for u16 {
    type Squares = u64;

    #[inline(always)]
    fn row(plane: &FrameView<'_>, x: usize, y: usize) -> Columns<Self> {
        let mut samples = [0; BLOCK];
        plane.read_pixels::<1>(x as i32, y as i32, &mut samples);
        samples
    }

    #[inline(always)]
    fn squared_difference(self, other: Self) -> u64 {
        let difference = i64::from(self) - i64::from(other);
        (difference * difference) as u64
    }

    #[inline(always)]
    fn value(self) -> u32 {
        self.into()
    }
}

/// Measures the luma of a row of blocks, from row `y` of the plane on.
pub(super) struct MeasuredLuma<'a> {
    pub plane: &'a FrameView<'a>,
    pub y: usize,
    pub blocks: &'a mut [Block],
}

impl MeasuredLuma<'_> {
    #[inline(always)]
    fn measure<S: BlockSample>(self) {
        let Self { plane, y, blocks } = self;
        let rows = y..(y + BLOCK).min(plane.height());
        for (column, block) in blocks.iter_mut().enumerate() {
            let x = column * BLOCK;
            let (mut sum, mut squares, mut steps) = (0, 0, 0);
            if x + BLOCK <= plane.width() {
                let mut sums = Columns::<u32>::default();
                let mut of_columns = [Columns::<S::Squares>::default(); 2];
                for y in rows.clone() {
                    let samples = S::row(plane, x, y);
                    for i in 0..BLOCK {
                        sums[i] += samples[i].value();
                        of_columns[0][i] += samples[i].squared_difference(S::default());
                    }
                    for i in 1..BLOCK {
                        of_columns[1][i] += samples[i].squared_difference(samples[i - 1]);
                    }
                }
                sum = sums.into_iter().map(u64::from).sum();
                [squares, steps] = of_columns.map(|columns| columns.into_iter().map(S::Squares::into).sum());
            } else {
                for (x, y) in rows.clone().flat_map(|y| (x..plane.width()).map(move |x| (x, y))) {
                    let sample = u64::from(plane.sample(x as i32, y as i32));
                    sum += sample;
                    squares += sample * sample;
                }
            }
            let samples = (rows.len() * BLOCK.min(plane.width() - x)) as u64;
            *block = Block::of_luma(samples, sum, squares, steps);
        }
    }
}

impl<E: InstructionSet> Work<E> for MeasuredLuma<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        if self.plane.format().depth() == 8 { self.measure::<u8>() } else { self.measure::<u16>() }
    }
}

/// Measures the prediction of a row of blocks of luma.
pub(super) struct MeasuredErrors<'a, S> {
    pub plane: &'a FrameView<'a>,
    pub blocks: &'a [Block],
    /// The luma of the other frame.
    pub source: &'a S,
    pub ends: &'a VectorEnds,
    pub row: usize,
    pub errors: &'a mut [BlockError],
}

impl<S: CellSource<BLOCK, BLOCK>, E: InstructionSet> Work<E> for MeasuredErrors<'_, S> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { plane, blocks, source, ends, row, errors } = self;
        let (y, columns) = (row * BLOCK, errors.len());
        let rows = BLOCK.min(plane.height() - y);
        for (column, (error, block)) in errors.iter_mut().zip(blocks).enumerate() {
            if column % PREFETCHED == 0 && column + AHEAD < columns {
                source.prefetch(engine, ends.position(column + AHEAD, row));
            }
            let x = column * BLOCK;
            let samples = S::Cell::<E>::read::<1>(plane, (x as i32, y as i32));
            let position = ends.position(column, row);
            let inside = (BLOCK.min(plane.width() - x), rows);
            let [squares, predicted] = samples.error_and_sum(source.cell::<E>(position), inside);
            let (x, y) = ((position.0 & 3) as usize, (position.1 & 3) as usize);
            *error = BlockError::of_luma(block, squares, predicted, NOISE_GAINS[y][x]);
        }
    }
}

/// Whether the error of the block of this number is wanted.
type Wanted<'a> = &'a (dyn Fn(usize) -> bool + Sync);

/// Adds the numbers of a plane of chroma to those of blocks.
pub(super) struct MeasuredChroma<'a> {
    pub instructions: Instructions,
    pub plane: &'a FrameView<'a>,
    /// Blocks of a row.
    pub columns: usize,
    pub blocks: &'a mut [Block],
}

impl<'a> ChromaWork<'a> for MeasuredChroma<'a> {
    fn run<S, const P: usize, const W: usize, const H: usize>(self)
    where
        S: CellSource<W, H> + From<FrameView<'a>>,
    {
        let Self { instructions, plane, columns, blocks } = self;
        blocks.par_chunks_mut(columns).enumerate().for_each(|(row, blocks)| {
            let samples = ChromaRows::<P>::around(plane, row * H, H);
            if plane.format().depth() <= 12 {
                instructions.run(ChromaBlocks::<i32, P, W> { samples, blocks, sum: PhantomData });
            } else {
                instructions.run(ChromaBlocks::<i64, P, W> { samples, blocks, sum: PhantomData });
            }
        });
    }
}

/// Adds the errors of the prediction of a plane of chroma from another frame to those of blocks.
pub(super) struct MeasuredChromaErrors<'a> {
    pub instructions: Instructions,
    pub plane: &'a FrameView<'a>,
    /// Positions in it on each axis, for each quarter of a luma sample.
    pub steps: (i32, i32),
    /// Blocks of a row.
    pub columns: usize,
    /// The same plane of the other frame, and the ends of the vectors in it.
    pub other: FrameView<'a>,
    pub ends: &'a VectorEnds,
    pub wanted: Wanted<'a>,
    pub errors: &'a mut [BlockError],
}

impl<'a> ChromaWork<'a> for MeasuredChromaErrors<'a> {
    fn run<S, const P: usize, const W: usize, const H: usize>(self)
    where
        S: CellSource<W, H> + From<FrameView<'a>>,
    {
        let Self { instructions, plane, steps, columns, other, ends, wanted, errors } = self;
        let (source, stripes) = (&S::from(other), &Stripes::from(other));
        let are_filled = fill_stripes::<W>(plane.format().depth(), std::slice::from_ref(ends));
        let stripes = are_filled.then_some(stripes);
        errors.par_chunks_mut(columns).enumerate().for_each(|(row, errors)| {
            let work =
                ChromaErrors::<S, P, W, H> { plane, source, stripes, steps, ends, wanted, row, errors };
            S::run(instructions, work);
        });
    }
}

/// Rows of chroma and those around them, with a pixel more on each side.
struct ChromaRows<const P: usize> {
    rows: Vec<u16>,
    /// Samples from one row to the next: whole stripes.
    pitch: usize,
    width: usize,
}

impl<const P: usize> ChromaRows<P> {
    /// As many rows as `plane` has of `count` from row `y` on.
    fn around(plane: &FrameView<'_>, y: usize, count: usize) -> Self {
        let (width, end) = (plane.width(), (y + count).min(plane.height()));
        let pitch = width.next_multiple_of(STRIPE) + 2 * P;
        let mut rows = vec![0; (end - y + 2) * pitch];
        for (row, y) in rows.chunks_exact_mut(pitch).zip(y as i32 - 1..) {
            plane.read_pixels::<P>(0, y, &mut row[P..P + width]);
            row.copy_within(P..2 * P, 0);
            row.copy_within(width..width + P, width + P);
        }
        Self { rows, pitch, width }
    }
}

/// Measures a row of blocks of chroma `W` samples wide; a pixel has `P` samples. Sums over the rows are of the type `T`.
struct ChromaBlocks<'a, T, const P: usize, const W: usize> {
    samples: ChromaRows<P>,
    blocks: &'a mut [Block],
    sum: PhantomData<T>,
}

impl<E, T, const P: usize, const W: usize> Work<E> for ChromaBlocks<'_, T, P, W>
where
    T: Copy + Default + From<u16> + Into<i64> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    #[inline(always)]
    fn run(self, _: E) {
        let ChromaRows { rows, pitch, width } = self.samples;
        let count = rows.len() / pitch - 2;
        for (blocks, x) in self.blocks.chunks_mut(STRIPE / W).zip((0..width).step_by(STRIPE)) {
            // For each column the sums of samples, their squares, and the products of second differences.
            let mut sums = [[T::default(); STRIPE]; 5];
            for start in (0..count).map(|row| row * pitch + x) {
                let samples = |at: usize| -> &[u16; STRIPE] { rows[at..].first_chunk().expect("a stripe") };
                let [left, middle, right] = [0, P, 2 * P].map(|column| samples(start + pitch + column));
                let [above, below] = [0, 2 * pitch].map(|row| samples(start + row + P));
                for column in 0..STRIPE {
                    let [left, middle, right, above, below] =
                        [left, middle, right, above, below].map(|samples| T::from(samples[column]));
                    let (along, down) = (left + right - middle - middle, above + below - middle - middle);
                    let products = [middle, middle * middle, along * along, down * down, along * down];
                    for (sums, product) in sums.iter_mut().zip(products) {
                        sums[column] = sums[column] + product;
                    }
                }
            }
            // Behind the last column.
            sums.iter_mut().for_each(|sums| sums[STRIPE.min(width - x)..].fill(T::default()));
            for (index, block) in blocks.iter_mut().enumerate() {
                let start = index * W;
                let samples = (W.min(width - x - start) / P * count) as u64;
                for component in 0..P {
                    let mut totals = [0_i64; 5];
                    for (total, sums) in totals.iter_mut().zip(&sums) {
                        for pixel in 0..W / P {
                            *total += sums[start + pixel * P + component].into();
                        }
                    }
                    let [sum, squares, along, down, both] = totals;
                    let bends = Bends { along: along as u64, down: down as u64, both };
                    block.add_chroma(samples, sum as u64, squares as u64, bends);
                }
            }
        }
    }
}

/// The samples of a block that are inside, of which the first one is at `(x, y)`.
fn inside<const W: usize, const H: usize>(plane: &FrameView<'_>, x: usize, y: usize) -> (usize, usize) {
    (W.min(plane.width().saturating_sub(x)), H.min(plane.height().saturating_sub(y)))
}

/// Measures the prediction of a row of blocks of chroma. A pixel has `P` samples, a block `W` x `H`.
struct ChromaErrors<'a, S, const P: usize, const W: usize, const H: usize> {
    plane: &'a FrameView<'a>,
    /// The samples of the other frame.
    source: &'a S,
    /// The same, if blocks are measured in stripes.
    stripes: Option<&'a Stripes<'a, P, H>>,
    steps: (i32, i32),
    ends: &'a VectorEnds,
    wanted: Wanted<'a>,
    row: usize,
    errors: &'a mut [BlockError],
}

impl<S: CellSource<W, H>, const P: usize, const W: usize, const H: usize> ChromaErrors<'_, S, P, W, H> {
    /// Where the vector of a block leads to, in eighths of pixels.
    #[inline(always)]
    fn position(&self, column: usize) -> (i32, i32) {
        let (x, y) = self.ends.position(column, self.row);
        (self.steps.0 * x, self.steps.1 * y)
    }

    /// Measures a block.
    #[inline(always)]
    fn block<E: InstructionSet>(&self, column: usize) -> u64 {
        let (x, y) = (column * W, self.row * H);
        let pixel = ((x / P) as i32, y as i32);
        let samples = S::Cell::<E>::read::<P>(self.plane, pixel);
        let predicted = self.source.cell::<E>(self.position(column));
        samples.squared_error(predicted, inside::<W, H>(self.plane, x, y))
    }

    /// Measures the blocks of a stripe, two columns each; `None` at the edges of the plane.
    #[inline(always)]
    fn stripe<E: InstructionSet>(&self, column: usize) -> Option<[u32; STRIPE / 2]> {
        let stripes = self.stripes?;
        let (x, y) = ((column * W) as i32, (self.row * H) as i32);
        self.plane.inside((x, y), (STRIPE, H))?;
        let predicted = CellSource::<STRIPE, H>::cell::<E>(stripes, self.position(column));
        let samples = <StripeCell<E, H> as PlaneCell<STRIPE, H>>::read::<P>(self.plane, (x / P as i32, y));
        Some(samples.squares(predicted))
    }
}

impl<E: InstructionSet, S: CellSource<W, H>, const P: usize, const W: usize, const H: usize> Work<E>
    for ChromaErrors<'_, S, P, W, H>
{
    #[inline(always)]
    fn run(self, _: E) {
        let (columns, start) = (self.errors.len(), self.row * self.errors.len());
        let together = if self.stripes.is_some() { STRIPE / W } else { 1 };
        for first in (0..columns).step_by(together) {
            let blocks = first..(first + together).min(columns);
            if !blocks.clone().any(|block| (self.wanted)(start + block)) {
                continue;
            }
            let stripe = self.stripe::<E>(first);
            for (index, column) in blocks.enumerate() {
                let squares = match &stripe {
                    Some(squares) => squares[index * W / 2..][..W / 2].iter().sum::<u32>().into(),
                    None => self.block::<E>(column),
                };
                let position = self.position(column);
                let fraction = ((position.0 & 7) as u8, (position.1 & 7) as u8);
                self.errors[column].add_chroma(squares, chroma_gain(position), fraction);
            }
        }
    }
}

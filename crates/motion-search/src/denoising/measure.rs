//! The luma of blocks, and the errors of their predictions.

use std::ops::AddAssign;

use super::noise::{BlockError, BlockLuma};
use super::rules::{BLOCK, VectorEnds};
use crate::estimator::FrameView;
use crate::interpolation::{AHEAD, CellSource, PREFETCHED, PlaneCell, StoredSample};
use crate::simd::{InstructionSet, Work};

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
    pub blocks: &'a mut [BlockLuma],
}

impl MeasuredLuma<'_> {
    #[inline(always)]
    fn measure<S: BlockSample>(self) {
        let Self { plane, y, blocks } = self;
        let rows = y..(y + BLOCK).min(plane.height());
        for (column, block) in blocks.iter_mut().enumerate() {
            let x = column * BLOCK;
            *block = BlockLuma::default();
            if x + BLOCK <= plane.width() {
                let mut sums = Columns::<u32>::default();
                let mut squares = Columns::<S::Squares>::default();
                for y in rows.clone() {
                    let samples = S::row(plane, x, y);
                    for i in 0..BLOCK {
                        sums[i] += samples[i].value();
                        squares[i] += samples[i].squared_difference(S::default());
                    }
                }
                block.sum = sums.into_iter().map(u64::from).sum();
                block.squares = squares.into_iter().map(S::Squares::into).sum();
            } else {
                for (x, y) in rows.clone().flat_map(|y| (x..plane.width()).map(move |x| (x, y))) {
                    let sample = u64::from(plane.sample(x as i32, y as i32));
                    block.sum += sample;
                    block.squares += sample * sample;
                }
            }
            block.samples = (rows.len() * BLOCK.min(plane.width() - x)) as u64;
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
    /// The luma of the other frame.
    pub source: &'a S,
    pub ends: &'a VectorEnds,
    pub row: usize,
    pub errors: &'a mut [BlockError],
}

impl<S: CellSource<BLOCK, BLOCK>, E: InstructionSet> Work<E> for MeasuredErrors<'_, S> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { plane, source, ends, row, errors } = self;
        let (y, columns) = (row * BLOCK, errors.len());
        let rows = BLOCK.min(plane.height() - y);
        for (column, error) in errors.iter_mut().enumerate() {
            if column % PREFETCHED == 0 && column + AHEAD < columns {
                source.prefetch(engine, ends.position(column + AHEAD, row));
            }
            let x = column * BLOCK;
            let samples = <S::Cell<E> as PlaneCell<BLOCK, BLOCK>>::Sample::read::<1, BLOCK, BLOCK>(
                plane,
                (x as i32, y as i32),
            );
            let position = ends.position(column, row);
            error.fraction = ((position.0 & 3) as u8, (position.1 & 3) as u8);
            let inside = (BLOCK.min(plane.width() - x), rows);
            error.sum = S::Cell::<E>::of(&samples).squared_error(source.cell::<E>(position), inside);
        }
    }
}

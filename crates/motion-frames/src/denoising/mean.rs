//! The weighted mean of a plane and its predictions.

use super::errors::ReferenceErrors;
use super::noise::LumaError;
use super::rules::{BLOCK, BlockWeights, VectorEnds, WEIGHTS};
use super::spatial::plane_and_kept;
use super::stripes::{STRIPE, Stripes, fill_stripes};
use crate::compensation::{PlaneMut, Sampling};
use crate::interpolation::{
    AHEAD, BandMut, CellSource, ChromaWork, PREFETCHED, PixelPlane, PlaneCell, windows,
};
use motion_base::FrameView;
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::each_band;

/// The binary logarithm of the sum of weights.
const SHIFT: i32 = WEIGHTS.ilog2() as i32;

/// The binary logarithm of the sum of the windows of blocks, times 64.
const OVERLAP_SHIFT: u32 = 6 + (4 * BLOCK * BLOCK).ilog2();

/// The positions in a plane of chroma for each quarter of a luma sample.
pub(super) fn steps_of_chroma(sampling: Sampling) -> (i32, i32) {
    (if sampling.halved_x { 1 } else { 2 }, if sampling.halved_y { 1 } else { 2 })
}

/// How a block is averaged.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Average {
    pub weights: BlockWeights,
    /// The most by which samples change.
    pub change: u16,
    /// The noise that the mean leaves in luma; 0 if that is to stay.
    pub left: u64,
}

/// The mean of a plane and the same plane of other frames.
pub(super) struct PlaneMean<'a, 'b> {
    pub instructions: Instructions,
    pub plane: &'a FrameView<'a>,
    /// Positions in it on each axis, for each quarter of a luma sample, if it is one of chroma.
    pub steps: (i32, i32),
    pub others: Vec<FrameView<'a>>,
    /// The ends of the vectors in them.
    pub ends: &'a [VectorEnds],
    /// Of those whose light is another, the errors of their predictions.
    pub lights: Vec<Option<ReferenceErrors<'a, LumaError>>>,
    pub averages: &'a [Average],
    /// Blocks of a row.
    pub columns: usize,
    pub out: &'a mut PlaneMut<'b>,
}

impl PlaneMean<'_, '_> {
    /// Writes chroma. `sources` are the planes of the other frames, `stripes` the same in stripes if blocks fill these; a pixel
    /// has so many samples, a block `W` x `H`.
    pub fn write<S, const W: usize, const H: usize>(
        self,
        pixel: usize,
        sources: &[S],
        stripes: Option<&[Stripes<'_, H>]>,
    ) where
        S: CellSource<W, H>,
    {
        let Self { instructions, plane, steps, ends, averages, columns, out, .. } = self;
        let (format, width, stride) = (plane.format(), plane.width(), out.stride());
        each_band(out.bytes_mut(), stride * H, &|row, bytes| {
            let out = BandMut { bytes, stride, width, format };
            let averages = &averages[row * columns..][..columns];
            let plane = PixelPlane { view: *plane, pixel };
            let mean = MeanOfBlocks::<S, W, H> { plane, steps, sources, stripes, ends, averages, row };
            S::run(instructions, RowOfMeans { mean, out });
        });
    }

    /// Writes luma, whose blocks overlap. `sources` are that of the other frames.
    pub fn write_luma<S: CellSource<BLOCK, BLOCK>>(self, sources: &[S]) {
        let Self { instructions, plane, ends, lights, averages, columns, out, .. } = self;
        let (format, width, stride) = (plane.format(), plane.width(), out.stride());
        let (plane, lights) = (PixelPlane { view: *plane, pixel: 1 }, &lights[..]);
        let bytes = out.bytes_mut();
        // The first row of cells has half as many rows as the others.
        let (first, rest) = bytes.split_at_mut((BLOCK / 2 * stride).min(bytes.len()));
        let write = |row: usize, bytes: &mut [u8]| {
            let out = BandMut { bytes, stride, width, format };
            S::run(
                instructions,
                OverlappedMeans { plane, sources, ends, lights, averages, columns, row, out },
            );
        };
        write(0, first);
        each_band(rest, stride * BLOCK, &|row, bytes| write(row + 1, bytes));
    }
}

impl<'a> ChromaWork<'a> for PlaneMean<'a, '_> {
    fn run<S, const W: usize, const H: usize>(self, pixel: usize)
    where
        S: CellSource<W, H> + From<PixelPlane<'a>>,
    {
        let others = || self.others.iter().map(|&view| PixelPlane { view, pixel });
        let sources: Vec<_> = others().map(S::from).collect();
        let stripes: Vec<_> = others().map(Stripes::from).collect();
        let are_filled = fill_stripes::<W>(self.plane.format().depth(), self.ends);
        self.write::<S, W, H>(pixel, &sources, are_filled.then_some(&stripes));
    }
}

/// Averages a row of blocks of chroma, of `W` x `H` samples.
struct MeanOfBlocks<'a, S, const W: usize, const H: usize> {
    plane: PixelPlane<'a>,
    steps: (i32, i32),
    /// The samples of the other frames.
    sources: &'a [S],
    /// The same, if blocks are averaged in stripes.
    stripes: Option<&'a [Stripes<'a, H>]>,
    ends: &'a [VectorEnds],
    averages: &'a [Average],
    row: usize,
}

impl<S: CellSource<W, H>, const W: usize, const H: usize> MeanOfBlocks<'_, S, W, H> {
    /// Where the vector of a block leads to.
    #[inline(always)]
    fn position(&self, ends: &VectorEnds, column: usize) -> (i32, i32) {
        let (x, y) = ends.position(column, self.row);
        (self.steps.0 * x, self.steps.1 * y)
    }

    /// The mean of the blocks in a cell of `V` x `H` samples, from a column on.
    #[inline(always)]
    fn cell<E, T, const V: usize>(&self, engine: E, sources: &[T], column: usize) -> MeanSamples<T, E, V, H>
    where
        E: InstructionSet,
        T: CellSource<V, H>,
    {
        let origin = ((column * (W / self.plane.pixel)) as i32, (self.row * H) as i32);
        let samples = T::Cell::<E>::read(engine, &self.plane, origin);
        let averages = &self.averages[column..][..V / W];
        let mut sum =
            samples.times(of_samples::<E, T::Cell<E>, V, H>(engine, averages, |average| average.weights[0]));
        for (index, source) in sources.iter().enumerate() {
            if averages.iter().all(|average| average.weights[index + 1] == 0) {
                continue;
            }
            let predicted = source.cell(engine, self.position(&self.ends[index], column));
            let weights =
                of_samples::<E, T::Cell<E>, V, H>(engine, averages, |average| average.weights[index + 1]);
            sum = sum.plus(predicted.times(weights));
        }
        let most = |average: &Average| average.change.min(T::Cell::<E>::UNLIMITED);
        let most = of_samples::<E, T::Cell<E>, V, H>(engine, averages, most);
        sum.round::<SHIFT>().within(samples, samples, most).samples()
    }
}

/// For each sample of a cell the number of its block. The blocks are beside each other.
#[inline(always)]
fn of_samples<E, C: PlaneCell<E, V, H>, const V: usize, const H: usize>(
    engine: E,
    averages: &[Average],
    number: impl Fn(&Average) -> u16,
) -> C::Numbers {
    if let [average] = averages {
        return C::all(engine, number(average));
    }
    let mut numbers = [0; V];
    // Blocks have four samples in a row, or a multiple of that.
    for (index, numbers) in numbers.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *numbers = [number(&averages[index * 4 * averages.len() / V]); 4];
    }
    C::numbers(engine, &[numbers; H])
}

/// The samples of a block of `W` x `H`, in the instructions of `E`.
type MeanSamples<S, E, const W: usize, const H: usize> =
    [[<<S as CellSource<W, H>>::Cell<E> as PlaneCell<E, W, H>>::Sample; W]; H];

impl<E: InstructionSet, S: CellSource<W, H>, const W: usize, const H: usize> Work<E>
    for RowOfMeans<'_, S, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { mean, mut out } = self;
        let together = if mean.stripes.is_some() { STRIPE / W } else { 1 };
        for first in (0..mean.averages.len()).step_by(together) {
            let (left, top) = ((first * W) as i32, (mean.row * H) as i32);
            if let Some(stripes) = mean.stripes
                && mean.plane.view.inside((left, top), (STRIPE, H)).is_some()
            {
                out.write((left, 0), &mean.cell::<E, _, STRIPE>(engine, stripes, first));
                continue;
            }
            if first % PREFETCHED == 0 && first + AHEAD < mean.averages.len() {
                for (source, ends) in mean.sources.iter().zip(mean.ends) {
                    source.prefetch(engine, mean.position(ends, first + AHEAD));
                }
            }
            for column in first..(first + together).min(mean.averages.len()) {
                out.write(((column * W) as i32, 0), &mean.cell::<E, _, W>(engine, mean.sources, column));
            }
        }
    }
}

/// A row of cells of luma between the centres of blocks, and where their mean is written.
struct OverlappedMeans<'a, S> {
    plane: PixelPlane<'a>,
    /// The samples of the other frames.
    sources: &'a [S],
    ends: &'a [VectorEnds],
    lights: &'a [Option<ReferenceErrors<'a, LumaError>>],
    averages: &'a [Average],
    /// Blocks of a row.
    columns: usize,
    /// That of the blocks below the cells' middle.
    row: usize,
    out: BandMut<'a>,
}

impl<S: CellSource<BLOCK, BLOCK>> OverlappedMeans<'_, S> {
    /// 64 times the mean that a block makes of the `samples` of the cell whose first one is at `origin`.
    #[inline(always)]
    fn of_block<E: InstructionSet>(
        &self,
        engine: E,
        samples: S::Cell<E>,
        (column, row): (usize, usize),
        origin: (i32, i32),
    ) -> S::Cell<E> {
        let block = row * self.columns + column;
        let weights = &self.averages[block].weights;
        let beside = (origin.0 - (BLOCK * column) as i32, origin.1 - (BLOCK * row) as i32);
        let mut sum = samples.times(S::Cell::<E>::all(engine, weights[0]));
        for (index, source) in self.sources.iter().enumerate() {
            if weights[index + 1] == 0 {
                continue;
            }
            let (x, y) = self.ends[index].position(column, row);
            let mut predicted = source.cell(engine, (x + 4 * beside.0, y + 4 * beside.1));
            if let Some(errors) = self.lights[index] {
                predicted = predicted.brighter(errors.of(block).brighter, self.plane.view.format().peak());
            }
            sum = sum.plus(predicted.times(S::Cell::<E>::all(engine, weights[index + 1])));
        }
        sum.round::<{ SHIFT - 6 }>()
    }

    /// The most by which the samples of a cell between these blocks change.
    #[inline(always)]
    fn most<E: InstructionSet>(
        &self,
        engine: E,
        blocks: [usize; 4],
    ) -> <S::Cell<E> as PlaneCell<E, BLOCK, BLOCK>>::Numbers {
        let changes = blocks.map(|block| self.averages[block].change.min(S::Cell::<E>::UNLIMITED));
        if changes == [changes[0]; 4] {
            return S::Cell::<E>::all(engine, changes[0]);
        }
        let half = |at: usize| at / (BLOCK / 2);
        let numbers = std::array::from_fn(|y| std::array::from_fn(|x| changes[2 * half(y) + half(x)]));
        S::Cell::<E>::numbers(engine, &numbers)
    }
}

impl<E: InstructionSet, S: CellSource<BLOCK, BLOCK>> Work<E> for OverlappedMeans<'_, S> {
    #[inline(always)]
    fn run(mut self, engine: E) {
        let Self { plane, sources, ends, averages, columns, row, .. } = self;
        let half = (BLOCK / 2) as i32;
        let windows = S::Cell::<E>::windows(engine, &windows(1));
        let axes = S::Cell::<E>::axes(engine);
        let rows = [row.saturating_sub(1), row.min(averages.len() / columns - 1)];
        let y = (BLOCK * row) as i32 - half;
        for column in 0..=columns {
            if column % PREFETCHED == 0 && column + AHEAD < columns {
                for (source, ends) in sources.iter().zip(ends) {
                    source.prefetch(engine, ends.position(column + AHEAD, rows[1]));
                }
            }
            let x = (BLOCK * column) as i32 - half;
            let [left, right] = [column.saturating_sub(1), column.min(columns - 1)];
            let around = [(left, rows[0]), (right, rows[0]), (left, rows[1]), (right, rows[1])];
            let [above, below] = [rows[0] * columns, rows[1] * columns];
            let blocks = [above + left, above + right, below + left, below + right];
            let samples = S::Cell::<E>::read(engine, &plane, (x, y));
            let mut made = samples;
            if blocks.iter().any(|block| u32::from(averages[*block].weights[0]) != WEIGHTS) {
                // No closure: it would not have the instructions of `E`.
                let mut means = [samples; 4];
                for (mean, around) in means.iter_mut().zip(around) {
                    *mean = self.of_block(engine, samples, around, (x, y));
                }
                made = S::Cell::<E>::of(engine, &S::Cell::<E>::overlap(&means, &windows, OVERLAP_SHIFT));
            }
            let left = blocks.map(|block| averages[block].left).into_iter().fold(u64::MAX, u64::min);
            if left > 0 {
                let (of_cell, kept) = plane_and_kept(made.moments(&axes), left);
                if kept < 256 {
                    made = made.toward_plane(&axes, of_cell, kept, plane.view.format().peak());
                }
            }
            let made = made.within(samples, samples, self.most(engine, blocks));
            self.out.write((x, if row == 0 { BLOCK / 2 } else { 0 }), &made.samples());
        }
    }
}

/// A row of blocks, and where their mean is written.
struct RowOfMeans<'a, S, const W: usize, const H: usize> {
    mean: MeanOfBlocks<'a, S, W, H>,
    out: BandMut<'a>,
}

//! A plane whose samples are the weighted mean of what all vectors around a block predict.

use super::cell_sources::CellSource;
use super::cells::{CellNumbers, PlaneCell};
use super::mixed_cells::MixedCell;
use super::overlap::Overlap;
use super::rules::{AHEAD, BLOCK, COARSE_BITS, FINE, PREFETCHED, fine_window};
use super::stored_samples::BandMut;
use super::weighting::Hypotheses;
use super::weighting::{CoarseAround, Weighting};
use crate::compensation::PlaneMut;
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::each_band;

/// What a plane is made from.
pub(super) struct Mixing<'a, S> {
    pub overlap: Overlap<'a, S>,
    pub weighting: &'a Weighting,
}

impl<S> Mixing<'_, S> {
    /// Writes the plane. Its blocks have `W` samples across, those of all components, and `H` down.
    pub fn write<const W: usize, const H: usize>(&self, instructions: Instructions, plane: &mut PlaneMut<'_>)
    where
        S: CellSource<W, H>,
    {
        let (format, width, stride) = (plane.view().format(), plane.view().width(), plane.stride());
        each_band(plane.bytes_mut(), H * stride, &|row, bytes| {
            let band = BandMut { bytes, stride, width, format };
            S::run(instructions, MixedRow::<S, W, H> { mixing: self, row, band });
        });
    }
}

/// A row of blocks.
struct MixedRow<'a, S, const W: usize, const H: usize> {
    mixing: &'a Mixing<'a, S>,
    row: usize,
    band: BandMut<'a>,
}

impl<S: CellSource<W, H>, const W: usize, const H: usize, E: InstructionSet> Work<E>
    for MixedRow<'_, S, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { mixing, row, mut band } = self;
        let Mixing { overlap, weighting } = mixing;
        let side = W / overlap.shape.pixel;
        let shapes = BlockShapes::new(engine, overlap.shape.pixel);
        for column in 0..overlap.grid.columns {
            let origin = ((side * column) as i32, (H * row) as i32);
            if column % PREFETCHED == 0 && column + AHEAD < overlap.grid.columns {
                let ends = overlap.ends[row * overlap.grid.columns + column + AHEAD];
                overlap.prefetch::<E, W, H>(engine, origin, ends);
            }
            let (block, hypotheses) = ((column, row), weighting.hypotheses((column, row)));
            let cell = if hypotheses.is_single() {
                let ends = overlap.ends[row * overlap.grid.columns + column];
                overlap.predict::<E, W, H>(engine, origin, &mut None, ends).round_quarters()
            } else {
                let coarse = weighting.coarse_around(block);
                MixedBlock { mixing, block, origin, coarse }.mean::<E, W, H>(engine, hypotheses, &shapes)
            };
            band.write(((W * column) as i32, 0), &cell);
        }
    }
}

/// What the samples of every block are weighted with. The window of a block around it is one across times one down.
struct BlockShapes<E, C: PlaneCell<E, W, H>, const W: usize, const H: usize> {
    /// The sums of the windows across of every choice of three blocks in a row, each of which has a bit.
    across: [C::Numbers; 8],
    /// The windows down.
    down: [C::Numbers; 3],
    /// Ones in the samples of each of its four cells.
    cells: [C::Numbers; 4],
}

impl<E: Copy, C: MixedCell<E, W, H>, const W: usize, const H: usize> BlockShapes<E, C, W, H> {
    /// Those of blocks whose pixels have so many samples.
    #[inline(always)]
    fn new(engine: E, pixel: usize) -> Self {
        let zero = C::all(engine, 0);
        let mut shapes = Self { across: [zero; 8], down: [zero; 3], cells: [zero; 4] };
        for (blocks, sum) in shapes.across.iter_mut().enumerate() {
            let window = |x: usize, block: usize| fine_window(W / pixel, x / pixel, block as i32 - 1);
            let chosen = |block: &usize| blocks >> block & 1 != 0;
            *sum = C::numbers(
                engine,
                &numbers(|x, _| (0..3).filter(chosen).map(|block| window(x, block)).sum()),
            );
        }
        for (block, window) in shapes.down.iter_mut().enumerate() {
            *window = C::numbers(engine, &numbers(|_, y| fine_window(H, y, block as i32 - 1)));
        }
        for (number, cell) in shapes.cells.iter_mut().enumerate() {
            *cell = C::numbers(engine, &numbers(|x, y| u32::from(2 * (y / (H / 2)) + x / (W / 2) == number)));
        }
        shapes
    }
}

/// A number for each sample.
#[inline(always)]
fn numbers<const W: usize, const H: usize>(of: impl Fn(usize, usize) -> u32) -> CellNumbers<W, H> {
    let mut numbers = [[0; W]; H];
    for (y, numbers) in numbers.iter_mut().enumerate() {
        for (x, number) in numbers.iter_mut().enumerate() {
            *number = of(x, y) as u16;
        }
    }
    numbers
}

/// A block with different vectors around it.
struct MixedBlock<'a, S> {
    mixing: &'a Mixing<'a, S>,
    /// Its column and row, and its first pixel.
    block: (usize, usize),
    origin: (i32, i32),
    coarse: CoarseAround,
}

impl<S> MixedBlock<'_, S> {
    /// The weighted mean of what all vectors predict.
    #[inline(always)]
    fn mean<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        engine: E,
        hypotheses: &Hypotheses,
        shapes: &BlockShapes<E, S::Cell<E>, W, H>,
    ) -> [[<S::Cell<E> as PlaneCell<E, W, H>>::Sample; W]; H]
    where
        S: CellSource<W, H>,
    {
        let Mixing { overlap, weighting } = self.mixing;
        let (zero, bits) = (S::Cell::<E>::all(engine, 0), weighting.weight_bits());
        let lone_weights = weighting.lone_weights(self.block);
        let (_, around) = weighting.around(overlap.ends, self.block, self.coarse);
        let (mut own, mut sums, mut totals) = (None, S::Cell::<E>::no_sums(engine), zero);
        for (number, (places, of_match)) in hypotheses.all().enumerate() {
            let mut spatial = zero;
            for (row, down) in shapes.down.iter().enumerate() {
                let across = shapes.across[usize::from(places >> (3 * row) & 7)];
                spatial = S::Cell::<E>::add(spatial, S::Cell::<E>::multiply(across, *down));
            }
            let mut corners = places >> FINE;
            while corners != 0 {
                let corner = corners.trailing_zeros() as usize;
                corners &= corners - 1;
                let window = S::Cell::<E>::numbers(engine, &self.coarse_window(overlap.shape.pixel, corner));
                spatial = S::Cell::<E>::add(spatial, window);
            }
            let weights = S::Cell::<E>::weigh(spatial, of_match, bits, &shapes.cells);
            totals = S::Cell::<E>::add(totals, weights);
            let ends = around[places.trailing_zeros() as usize];
            sums = overlap.predict::<E, W, H>(engine, self.origin, &mut own, ends).add_to(sums, weights);
            let Some(lone_weights) = lone_weights else { continue };
            for (end, of_match) in lone_weights[number].into_iter().enumerate() {
                if of_match != [0; 4] {
                    let weights = S::Cell::<E>::weigh(spatial, of_match, bits, &shapes.cells);
                    totals = S::Cell::<E>::add(totals, weights);
                    sums = overlap
                        .predict_alone::<E, W, H>(engine, self.origin, ends, end)
                        .add_to(sums, weights);
                }
            }
        }
        S::Cell::<E>::mean(sums, totals)
    }

    /// The window of a coarse block around the block.
    #[inline(always)]
    fn coarse_window<const W: usize, const H: usize>(
        &self,
        pixel: usize,
        corner: usize,
    ) -> CellNumbers<W, H> {
        let step = [corner % 2, corner / 2];
        let side = self.mixing.weighting.coarse_side() as i32;
        // Twice distances, in luma samples.
        let window = |axis: usize, length: usize, at: usize| {
            let block = [self.block.0, self.block.1][axis];
            let sample = (2 * BLOCK * block + BLOCK / length * (2 * at + 1)) as i32;
            let coarse = self.coarse.first[axis] + step[axis] as i32;
            let beyond = 2 * side - (sample - side * (2 * coarse + 1)).abs();
            // The sides of blocks are powers of two.
            (beyond >> (side.ilog2() - (2 * BLOCK).ilog2())) as u32
        };
        let mut across = [0; W];
        for (x, across) in across.iter_mut().enumerate() {
            *across = 7 * self.coarse.share * window(0, W / pixel, x / pixel);
        }
        numbers(|x, y| (across[x] * window(1, H, y)) >> COARSE_BITS)
    }
}

//! A plane whose samples are the weighted mean of what all vectors around a block predict.

use rayon::prelude::*;

use super::cell_sources::CellSource;
use super::cells::{BandMut, CellNumbers, PlaneCell};
use super::mixed_cells::MixedCell;
use super::overlap::Overlap;
use super::rules::{AHEAD, BLOCK, COARSE_BITS, FINE, PREFETCHED, fine_window};
use super::weighting::{CoarseAround, Hypotheses, Weighting};
use crate::compensation::PlaneMut;
use crate::simd::{InstructionSet, Instructions, Work};

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
        plane.bytes_mut().par_chunks_mut(H * stride).enumerate().for_each(|(row, bytes)| {
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
        let windows = windows::<S::Cell<E>, W, H>(overlap.shape.pixel);
        for column in 0..overlap.grid.columns {
            let origin = ((side * column) as i32, (H * row) as i32);
            if column % PREFETCHED == 0 && column + AHEAD < overlap.grid.columns {
                let ends = overlap.ends[row * overlap.grid.columns + column + AHEAD];
                overlap.prefetch::<E, W, H>(engine, origin, ends);
            }
            let (block, hypotheses) = ((column, row), weighting.hypotheses((column, row)));
            let cell = if hypotheses.is_single() {
                let ends = overlap.ends[row * overlap.grid.columns + column];
                overlap.predict::<E, W, H>(origin, &mut None, ends).round_quarters()
            } else {
                let coarse = weighting.coarse_around(block);
                MixedBlock { mixing, block, origin, coarse }.mean::<E, W, H>(hypotheses, &windows)
            };
            band.write(((W * column) as i32, 0), &cell);
        }
    }
}

/// The windows of the nine blocks around a block.
#[inline(always)]
fn windows<C: MixedCell<W, H>, const W: usize, const H: usize>(pixel: usize) -> [C::Numbers; FINE] {
    let mut windows = [C::numbers(&[[0; W]; H]); FINE];
    for (place, window) in windows.iter_mut().enumerate() {
        let [right, down] = [place % 3, place / 3].map(|at| at as i32 - 1);
        let mut numbers = [[0; W]; H];
        for (y, numbers) in numbers.iter_mut().enumerate() {
            for (x, number) in numbers.iter_mut().enumerate() {
                let across = fine_window(W / pixel, x / pixel, right);
                *number = (across * fine_window(H, y, down)) as u16;
            }
        }
        *window = C::numbers(&numbers);
    }
    windows
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
        hypotheses: &Hypotheses,
        windows: &[<S::Cell<E> as MixedCell<W, H>>::Numbers; FINE],
    ) -> [[<S::Cell<E> as PlaneCell<W, H>>::Sample; W]; H]
    where
        S: CellSource<W, H>,
    {
        let Mixing { overlap, weighting } = self.mixing;
        let zero = S::Cell::<E>::numbers(&[[0; W]; H]);
        let (mut own, mut sums, mut totals) = (None, S::Cell::<E>::no_sums(), zero);
        for (places, of_match) in hypotheses.all() {
            let mut weights = zero;
            for (place, window) in windows.iter().enumerate() {
                if places & 1 << place != 0 {
                    weights = S::Cell::<E>::add(weights, *window);
                }
            }
            for corner in 0..4 {
                if places & 1 << (FINE + corner) != 0 {
                    let window = self.coarse_window(overlap.shape.pixel, corner);
                    weights = S::Cell::<E>::add(weights, S::Cell::<E>::numbers(&window));
                }
            }
            let mut factors = [[0; W]; H];
            for (y, factors) in factors.iter_mut().enumerate() {
                let cells = 2 * (y / (H / 2));
                factors[..W / 2].fill(of_match[cells].into());
                factors[W / 2..].fill(of_match[cells + 1].into());
            }
            let weights = S::Cell::<E>::weigh(weights, S::Cell::<E>::numbers(&factors));
            totals = S::Cell::<E>::add(totals, weights);
            let place = places.trailing_zeros() as usize;
            let ends = weighting.ends_at(overlap.ends, self.block, self.coarse, place);
            sums = overlap.predict::<E, W, H>(self.origin, &mut own, ends).add_to(sums, weights);
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
        let [right, down] = [corner % 2, corner / 2].map(|step| step as i32);
        let side = self.mixing.weighting.coarse_side() as i32;
        // Twice distances, in luma samples.
        let window = |block: usize, coarse: i32, length: usize, at: usize| {
            let finer = BLOCK / length;
            let sample = (2 * BLOCK * block + finer * (2 * at + 1)) as i32;
            let beyond = 2 * side - (sample - side * (2 * coarse + 1)).abs();
            (beyond / (side / (2 * BLOCK as i32))) as u32
        };
        let mut numbers = [[0; W]; H];
        for (y, numbers) in numbers.iter_mut().enumerate() {
            let below = window(self.block.1, self.coarse.first[1] + down, H, y);
            for (x, number) in numbers.iter_mut().enumerate() {
                let across = window(self.block.0, self.coarse.first[0] + right, W / pixel, x / pixel);
                *number = ((across * below * self.coarse.share * 7) >> COARSE_BITS) as u16;
            }
        }
        numbers
    }
}

//! The weighted mean of a plane and its predictions.

use rayon::prelude::*;

use super::noise::BlockError;
use super::rules::{BlockWeights, VectorEnds, WEIGHTS};
use super::stripes::{STRIPE, Stripe, fill_stripes};
use crate::compensation::{PlaneMut, Sampling};
use crate::estimator::FrameView;
use crate::interpolation::{AHEAD, BandMut, CellSource, ChromaWork, PREFETCHED, PlaneCell, StoredSample};
use crate::simd::{InstructionSet, Instructions, Work};

/// The binary logarithm of the sum of weights.
const SHIFT: i32 = WEIGHTS.ilog2() as i32;

/// The positions in a plane of chroma for each quarter of a luma sample.
pub(super) fn steps_of_chroma(sampling: Sampling) -> (i32, i32) {
    (if sampling.halved_x { 1 } else { 2 }, if sampling.halved_y { 1 } else { 2 })
}

/// How a block is averaged.
#[derive(Clone, Copy, Default)]
pub(super) struct Average {
    pub weights: BlockWeights,
    /// The most by which samples change.
    pub change: u16,
}

/// The mean of a plane and the same plane of other frames.
pub(super) struct PlaneMean<'a, 'b> {
    pub instructions: Instructions,
    pub plane: &'a FrameView<'a>,
    /// Positions in it on each axis, for each quarter of a luma sample.
    pub steps: (i32, i32),
    pub others: Vec<FrameView<'a>>,
    /// The ends of the vectors in them.
    pub ends: &'a [VectorEnds],
    /// Of those whose light is another, the errors of their predictions.
    pub lights: Vec<Option<&'a [BlockError]>>,
    pub averages: &'a [Average],
    /// Blocks of a row.
    pub columns: usize,
    pub out: &'a mut PlaneMut<'b>,
}

impl PlaneMean<'_, '_> {
    /// Writes it. `sources` are the planes of the other frames; a pixel has `P` samples, a block `W` x `H`.
    pub fn write<S, const P: usize, const W: usize, const H: usize>(self, sources: &[S], are_stripes: bool)
    where
        S: CellSource<W, H>,
    {
        let Self { instructions, plane, steps, others, ends, lights, averages, columns, out } = self;
        let (format, width, stride) = (plane.format(), plane.width(), out.stride());
        out.bytes_mut().par_chunks_mut(stride * H).enumerate().for_each(|(row, bytes)| {
            let out = BandMut { bytes, stride, width, format };
            let averages = &averages[row * columns..][..columns];
            let (others, lights) = (&others[..], &lights[..]);
            let mean = MeanOfBlocks::<S, P, W, H> {
                plane,
                steps,
                others,
                sources,
                ends,
                lights,
                averages,
                row,
                are_stripes,
            };
            S::run(instructions, RowOfMeans { mean, out });
        });
    }
}

impl<'a> ChromaWork<'a> for PlaneMean<'a, '_> {
    fn run<S, const P: usize, const W: usize, const H: usize>(self)
    where
        S: CellSource<W, H> + From<FrameView<'a>>,
    {
        let sources: Vec<_> = self.others.iter().map(|plane| S::from(*plane)).collect();
        let are_stripes = fill_stripes::<W>(self.plane.format().depth(), self.ends);
        self.write::<S, P, W, H>(&sources, are_stripes);
    }
}

/// Averages a row of blocks. A pixel has `P` samples, a block `W` x `H`.
struct MeanOfBlocks<'a, S, const P: usize, const W: usize, const H: usize> {
    plane: &'a FrameView<'a>,
    steps: (i32, i32),
    others: &'a [FrameView<'a>],
    /// The samples of `others`.
    sources: &'a [S],
    ends: &'a [VectorEnds],
    lights: &'a [Option<&'a [BlockError]>],
    averages: &'a [Average],
    row: usize,
    /// Whether blocks are averaged in stripes.
    are_stripes: bool,
}

impl<S: CellSource<W, H>, const P: usize, const W: usize, const H: usize> MeanOfBlocks<'_, S, P, W, H> {
    /// Where the vector of a block leads to.
    #[inline(always)]
    fn position(&self, ends: &VectorEnds, column: usize) -> (i32, i32) {
        let (x, y) = ends.position(column, self.row);
        (self.steps.0 * x, self.steps.1 * y)
    }

    /// The mean of a block.
    #[inline(always)]
    fn block<E: InstructionSet>(&self, column: usize) -> MeanSamples<S, E, W, H> {
        let pixel = ((column * W / P) as i32, (self.row * H) as i32);
        let samples = <S::Cell<E> as PlaneCell<W, H>>::Sample::read::<P, W, H>(self.plane, pixel);
        let Average { weights: [own, others @ ..], change } = &self.averages[column];
        if u32::from(*own) == WEIGHTS {
            return samples;
        }
        let mut sum = S::Cell::<E>::of(&samples).times(*own);
        let others = others.iter().zip(self.sources).zip(self.ends).zip(self.lights);
        for (((&weight, source), ends), light) in others.filter(|(((weight, _), _), _)| **weight > 0) {
            let mut cell = source.cell::<E>(self.position(ends, column));
            if let Some(errors) = light {
                let brighter = errors[self.row * self.averages.len() + column].brighter;
                cell = cell.brighter(brighter, self.plane.format().peak());
            }
            sum = sum.plus(cell.times(weight));
        }
        let mut mean = sum.round::<SHIFT>();
        let samples = samples.as_flattened().iter();
        mean.as_flattened_mut().iter_mut().zip(samples).for_each(|(mean, &sample)| {
            *mean = mean.near(sample, *change);
        });
        mean
    }

    /// The mean of the blocks of a stripe; `None` at the edges of planes.
    #[inline(always)]
    fn stripe(&self, column: usize) -> Option<[[u8; STRIPE]; H]> {
        let averages = self.averages[column..].get(..STRIPE / W)?;
        let (left, top) = (column * W, self.row * H);
        let (samples, pitch) = self.plane.inside((left as i32, top as i32), (STRIPE, H))?;
        let own = of_samples::<W>(averages, |average| average.weights[0]);
        let most = of_samples::<W>(averages, |average| average.change.min(u8::MAX.into()));
        let mut sums = [[128; STRIPE]; H];
        let rows = |y: usize| -> &[u8; STRIPE] { samples[y * pitch..].first_chunk().expect("a stripe") };
        for (y, sums) in sums.iter_mut().enumerate() {
            let samples = rows(y);
            for x in 0..STRIPE {
                sums[x] += own[x] * u16::from(samples[x]);
            }
        }
        for (index, (other, ends)) in self.others.iter().zip(self.ends).enumerate() {
            let weights = of_samples::<W>(averages, |average| average.weights[index + 1]);
            if weights == [0; STRIPE] {
                continue;
            }
            let predicted = Stripe::<P>::at(other, self.position(ends, column), H)?;
            for (y, sums) in sums.iter_mut().enumerate() {
                let predicted = predicted.row(y);
                for x in 0..STRIPE {
                    sums[x] += weights[x] * predicted[x];
                }
            }
        }
        let mut mean = [[0; STRIPE]; H];
        for (y, (mean, sums)) in mean.iter_mut().zip(&sums).enumerate() {
            let samples = rows(y);
            for x in 0..STRIPE {
                let sample = u16::from(samples[x]);
                let near = (sums[x] >> SHIFT).max(sample.saturating_sub(most[x])).min(sample + most[x]);
                mean[x] = near as u8;
            }
        }
        Some(mean)
    }
}

/// For each sample of a row of blocks `W` samples wide the number of its block.
#[inline(always)]
fn of_samples<const W: usize>(averages: &[Average], number: impl Fn(&Average) -> u16) -> [u16; STRIPE] {
    let mut numbers = [0; STRIPE];
    for (numbers, average) in numbers.chunks_exact_mut(W).zip(averages) {
        numbers.fill(number(average));
    }
    numbers
}

/// The samples of a block of `W` x `H`, in the instructions of `E`.
type MeanSamples<S, E, const W: usize, const H: usize> =
    [[<<S as CellSource<W, H>>::Cell<E> as PlaneCell<W, H>>::Sample; W]; H];

impl<E: InstructionSet, S: CellSource<W, H>, const P: usize, const W: usize, const H: usize> Work<E>
    for RowOfMeans<'_, S, P, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { mean, mut out } = self;
        let together = if mean.are_stripes { STRIPE / W } else { 1 };
        for first in (0..mean.averages.len()).step_by(together) {
            if mean.are_stripes
                && let Some(stripe) = mean.stripe(first)
            {
                out.write(((first * W) as i32, 0), &stripe);
                continue;
            }
            if first % PREFETCHED == 0 && first + AHEAD < mean.averages.len() {
                for (source, ends) in mean.sources.iter().zip(mean.ends) {
                    source.prefetch(engine, mean.position(ends, first + AHEAD));
                }
            }
            for column in first..(first + together).min(mean.averages.len()) {
                out.write(((column * W) as i32, 0), &mean.block::<E>(column));
            }
        }
    }
}

/// A row of blocks, and where their mean is written.
struct RowOfMeans<'a, S, const P: usize, const W: usize, const H: usize> {
    mean: MeanOfBlocks<'a, S, P, W, H>,
    out: BandMut<'a>,
}

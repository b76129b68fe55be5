//! The weighted mean of a plane and its predictions.

use rayon::prelude::*;

use super::rules::{BlockWeights, VectorEnds, WEIGHTS};
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

/// The mean of a plane and the same plane of other frames.
pub(super) struct PlaneMean<'a, 'b> {
    pub instructions: Instructions,
    pub plane: &'a FrameView<'a>,
    /// Positions in it on each axis, for each quarter of a luma sample.
    pub steps: (i32, i32),
    pub others: Vec<FrameView<'a>>,
    /// The ends of the vectors in them.
    pub ends: &'a [VectorEnds],
    pub weights: &'a [BlockWeights],
    /// The most by which samples change.
    pub changes: &'a [u16],
    /// Blocks of a row.
    pub columns: usize,
    pub out: &'a mut PlaneMut<'b>,
}

impl PlaneMean<'_, '_> {
    /// Writes it. `sources` are the planes of the other frames; a pixel has `P` samples, a block `W` x `H`.
    pub fn write<S, const P: usize, const W: usize, const H: usize>(self, sources: &[S])
    where
        S: CellSource<W, H>,
    {
        let Self { instructions, plane, steps, ends, weights, changes, columns, out, .. } = self;
        let (format, width, stride) = (plane.format(), plane.width(), out.stride());
        out.bytes_mut().par_chunks_mut(stride * H).enumerate().for_each(|(row, bytes)| {
            let out = BandMut { bytes, stride, width, format };
            let (weights, changes) = (&weights[row * columns..][..columns], &changes[row * columns..]);
            S::run(
                instructions,
                MeanOfBlocks::<S, P, W, H> { plane, steps, sources, ends, weights, changes, row, out },
            );
        });
    }
}

impl<'a> ChromaWork<'a> for PlaneMean<'a, '_> {
    fn run<S, const P: usize, const W: usize, const H: usize>(self)
    where
        S: CellSource<W, H> + From<FrameView<'a>>,
    {
        let sources: Vec<_> = self.others.iter().map(|plane| S::from(*plane)).collect();
        self.write::<S, P, W, H>(&sources);
    }
}

/// Averages a row of blocks. A pixel has `P` samples, a block `W` x `H`.
struct MeanOfBlocks<'a, S, const P: usize, const W: usize, const H: usize> {
    plane: &'a FrameView<'a>,
    steps: (i32, i32),
    sources: &'a [S],
    ends: &'a [VectorEnds],
    weights: &'a [BlockWeights],
    changes: &'a [u16],
    row: usize,
    out: BandMut<'a>,
}

impl<E: InstructionSet, S: CellSource<W, H>, const P: usize, const W: usize, const H: usize> Work<E>
    for MeanOfBlocks<'_, S, P, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { plane, steps, sources, ends, weights, changes, row, mut out } = self;
        let position = |ends: &VectorEnds, column| {
            let (x, y) = ends.position(column, row);
            (steps.0 * x, steps.1 * y)
        };
        for (column, [own, others @ ..]) in weights.iter().enumerate() {
            if column % PREFETCHED == 0 && column + AHEAD < weights.len() {
                for (source, ends) in sources.iter().zip(ends) {
                    source.prefetch(engine, position(ends, column + AHEAD));
                }
            }
            let pixel = ((column * W / P) as i32, (row * H) as i32);
            let samples = <S::Cell<E> as PlaneCell<W, H>>::Sample::read::<P, W, H>(plane, pixel);
            let left = (column * W) as i32;
            if u32::from(*own) == WEIGHTS {
                out.write((left, 0), &samples);
                continue;
            }
            let cell = S::Cell::<E>::of(&samples);
            let mut sum = cell.times(*own);
            for ((source, ends), &weight) in sources.iter().zip(ends).zip(others) {
                if weight > 0 {
                    sum = sum.plus(source.cell::<E>(position(ends, column)).times(weight));
                }
            }
            let mut mean = sum.round::<SHIFT>();
            let samples = samples.as_flattened().iter();
            mean.as_flattened_mut().iter_mut().zip(samples).for_each(|(mean, &sample)| {
                *mean = mean.near(sample, changes[column]);
            });
            out.write((left, 0), &mean);
        }
    }
}

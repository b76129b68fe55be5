//! The weighted mean of a plane and its predictions.

use super::rules::{BLOCK, BlockWeights, WEIGHTS};
use crate::compensation::Sampling;
use crate::estimator::FrameView;
use crate::native::level::{InstructionSet, Work};

/// What is added to a sum of weighted samples before it is divided.
const HALF: u32 = WEIGHTS / 2;

/// The binary logarithm of the sum of weights.
const SHIFT: u32 = WEIGHTS.ilog2();

/// Memory for a row of samples.
#[derive(Default)]
pub(super) struct MeanRow {
    /// The weight of each sample, first of the frame itself, then of the others.
    weights: Vec<Vec<u16>>,
    samples: Vec<u16>,
    sums: Vec<u16>,
    deep_sums: Vec<u32>,
}

/// Averages the rows of a plane that belong to a row of blocks.
pub(super) struct MeanOfRows<'a> {
    pub sampling: Sampling,
    /// The weights of the blocks.
    pub weights: &'a [BlockWeights],
    /// The first row of the plane.
    pub y: usize,
    pub plane: &'a FrameView<'a>,
    pub predictions: &'a [FrameView<'a>],
    /// The rows, and the bytes from one to the next. Their format is that of `plane`.
    pub out: &'a mut [u8],
    pub stride: usize,
    pub memory: &'a mut MeanRow,
}

impl MeanOfRows<'_> {
    /// Gives each sample of a row the weights of its block.
    #[inline(always)]
    fn spread_weights(&mut self) {
        let width = self.plane.width();
        let columns = (BLOCK >> u32::from(self.sampling.halved_x)) * self.sampling.pixel();
        let memory = &mut self.memory.weights;
        memory.resize_with(1 + self.predictions.len(), Vec::new);
        for (index, samples) in memory.iter_mut().enumerate() {
            samples.resize(width, 0);
            for (samples, weights) in samples.chunks_mut(columns).zip(self.weights) {
                samples.fill(weights[index]);
            }
        }
    }
}

impl Work for MeanOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(mut self, _: E) {
        self.spread_weights();
        let Self { y, plane, predictions, out, stride, memory, .. } = self;
        let MeanRow { weights, samples, sums, deep_sums } = memory;
        let (width, format) = (plane.width(), plane.format());
        let rows = || [plane].into_iter().chain(predictions).zip(&*weights);
        for (y, out) in (y..).zip(out.chunks_mut(stride)) {
            let out = &mut out[..plane.row_bytes()];
            if format.bytes() == 1 {
                sums.clear();
                sums.resize(width, HALF as u16);
                for (plane, weights) in rows() {
                    // The weights add up to 256, so sixteen bits hold the sum.
                    for ((sum, &weight), &sample) in sums.iter_mut().zip(weights).zip(plane.row(y)) {
                        *sum += weight * u16::from(sample);
                    }
                }
                for (out, sum) in out.iter_mut().zip(&*sums) {
                    *out = (sum >> SHIFT) as u8;
                }
            } else {
                deep_sums.clear();
                deep_sums.resize(width, HALF);
                samples.resize(width, 0);
                for (plane, weights) in rows() {
                    plane.read_row(y, samples);
                    for ((sum, &weight), &sample) in deep_sums.iter_mut().zip(weights).zip(&*samples) {
                        *sum += u32::from(weight) * u32::from(sample);
                    }
                }
                for (out, sum) in out.as_chunks_mut::<2>().0.iter_mut().zip(&*deep_sums) {
                    *out = format.bytes_of((sum >> SHIFT) as u16);
                }
            }
        }
    }
}

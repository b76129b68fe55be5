//! Predicted luma of eight bits, in registers.

use super::rules::BLOCK;
use crate::compensation::Field;
use crate::interpolation::LumaPoints;
use crate::native::arch::register::SampleRegister;
use crate::native::hierarchical::quarter_samples::NarrowRegister;
use crate::native::level::{InstructionSet, Work};

/// Samples of a register, and registers of a block.
const LANES: usize = 16;
const REGISTERS: usize = BLOCK * BLOCK / LANES;

/// Predicts a row of blocks, whose first row of samples is `y`.
pub(super) struct PredictedRow<'a> {
    /// The luma of the frame that it is predicted from.
    pub points: &'a LumaPoints,
    pub field: Field<'a>,
    pub y: usize,
    /// The rows, of `width` samples each.
    pub out: &'a mut [u8],
    pub width: usize,
}

impl Work for PredictedRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { points, field, y, out, width } = self;
        let points = points.quarter_samples();
        for x in (0..width).step_by(BLOCK) {
            let position = field.position_in_quarters(x, y);
            let registers: [NarrowRegister<E>; REGISTERS] =
                points.load_anywhere::<E, BLOCK, REGISTERS>(position);
            let mut samples = [[0; LANES]; REGISTERS];
            for (register, samples) in registers.into_iter().zip(&mut samples) {
                // SAFETY: an engine exists, so that the CPU has its instructions.
                unsafe { register.store(samples) };
            }
            let rows = samples.as_flattened().chunks_exact(BLOCK);
            let columns = BLOCK.min(width - x);
            for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                out[x..x + columns].copy_from_slice(&row[..columns]);
            }
        }
    }
}

//! Prediction on the device, from the vectors where the search left them.

use super::cl::{self, Arg, Buffer, Kernel, Queue};
use super::context::Context;
use super::device::Device;
use super::program::{self, KernelFile};
use crate::estimator::{self, Grid, Parameters, SetupError};

/// Items of a group.
const ITEMS: usize = 64;

/// The kernel that predicts.
pub(super) struct Prediction {
    kernel: Kernel,
    grid: Grid,
}

impl Prediction {
    /// What `parameters` ask for; `kernel` is named where the device's compiler refuses it.
    pub(super) fn new(
        context: &Context,
        device: &Device,
        kernel: estimator::Kernel,
        parameters: &Parameters,
    ) -> Result<Option<Self>, SetupError> {
        let source = match parameters.prediction {
            estimator::Prediction::None => return Ok(None),
            estimator::Prediction::Median => KernelFile::Prediction,
        };
        let grid = parameters.grid();
        let program = program::build(context, device, kernel, &source.source(), "")?;
        Ok(Some(Self {
            kernel: program.kernel(c"predict_median").map_err(|error| device.refused(error))?,
            grid,
        }))
    }

    /// Queues what predicts `vectors`; there must be one record a block of the grid this was made
    /// for, and room for as many `predictors`.
    pub(super) fn queue(&mut self, queue: &Queue, vectors: &Buffer, predictors: &Buffer) -> cl::Result<()> {
        let Grid { columns, rows } = self.grid;
        let args =
            [Arg::Buffer(vectors), Arg::Buffer(predictors), Arg::Int(columns as i32), Arg::Int(rows as i32)];
        let groups = [self.grid.blocks().div_ceil(ITEMS), 1];
        // SAFETY: items past the last block do nothing, the others read and write within the grid;
        // there are as many vectors and predictors as blocks, by the caller's word.
        unsafe { queue.launch(&mut self.kernel, &args, groups, [ITEMS, 1]) }
    }
}

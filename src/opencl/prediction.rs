//! Prediction on the device, from the vectors where the search left them.

use super::cl::{self, Arg, Buffer, Context, Kernel, Queue};
use super::device::Device;
use super::picture::buffer;
use super::program::{self, Source};
use crate::estimator::{self, Grid, Parameters, Predictor, SetupError};

/// Items of a group.
const ITEMS: usize = 64;

/// The kernel that predicts, and where it writes to.
pub(super) struct Prediction {
    kernel: Kernel,
    predictors: Buffer,
    grid: Grid,
    /// Whether the device holds the vectors of a search that has succeeded.
    pub(super) has_field: bool,
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
            estimator::Prediction::Median => Source::Prediction,
        };
        let grid = parameters.grid();
        let program = program::build(context, device, kernel, &source.whole(), "")?;
        Ok(Some(Self {
            kernel: program.kernel(c"predict_median").map_err(|error| device.refused(error))?,
            predictors: buffer(context, device, "the predictors", size_of::<Predictor>() * grid.blocks())?,
            grid,
            has_field: false,
        }))
    }

    /// Predicts `vectors`, one record a block of the grid this was made for, and reads the
    /// predictors, as many.
    pub(super) fn predict(
        &mut self,
        queue: &Queue,
        vectors: &Buffer,
        predictors: &mut [Predictor],
    ) -> cl::Result<()> {
        let Grid { columns, rows } = self.grid;
        let args = [
            Arg::Buffer(vectors),
            Arg::Buffer(&self.predictors),
            Arg::Int(columns as i32),
            Arg::Int(rows as i32),
        ];
        let groups = [self.grid.blocks().div_ceil(ITEMS), 1];
        // SAFETY: items past the last block do nothing, the others read and write within the grid;
        // there are as many vectors, by the caller's word, and predictors as blocks.
        unsafe { queue.launch(&mut self.kernel, &args, groups, [ITEMS, 1])? };
        queue.read(&self.predictors, bytemuck::cast_slice_mut(predictors))
    }
}

//! Full search on OpenCL devices.
//!
//! No other module names OpenCL. [`devices`] lists what is there, [`OpenCl`] searches on one of
//! them with one of the kernels in `kernels/`.

mod cache;
mod cl;
mod collaborative;
mod device;
mod launch;
mod picture;
mod prediction;
mod program;
mod recurrence;
mod reference;
mod search;
mod three_step;
mod tile;
mod tiled;
mod two_pass;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use device::{Device, DeviceKind, devices};
pub use program::try_build;
pub use recurrence::{Recurrence, RecurrenceForm};

use crate::estimator::{
    Algorithm, EstimateError, Estimator, Kernel, MotionVector, Parameters, Picture, PictureBuf, Predictor,
    SetupError, Slot, StageTimes, Tuning,
};
use cl::{Arg, Buffer, Context, Queue};
use picture::{Layout, Slots, buffer};
use prediction::Prediction;
use search::{Run, Search, Task};

/// Full or three-step search on one OpenCL device.
pub struct OpenCl {
    parameters: Parameters,
    device: Device,
    kernel: Kernel,
    layout: Layout,
    slots: Slots,
    vectors: Buffer,
    search: Box<dyn Search>,
    prediction: Option<Prediction>,
    times: StageTimes,
    queue: Queue,
    // Last: what was made in the context is released before it.
    _context: Arc<Context>,
}

impl OpenCl {
    /// An estimator on `device` with `kernel`; [`Kernel::Auto`] takes the fastest for the kind
    /// of device; tables of what was measured are [`backend::open`](crate::backend::open)'s.
    ///
    /// # Errors
    /// [`SetupError`]: parameters or tuning that are not valid, a kernel that the device cannot run
    /// or build, too little memory, or what the device reports.
    pub fn new(
        device: &Device,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Self, SetupError> {
        parameters.validate()?;
        tuning.validate()?;
        kernel.check_algorithm(parameters.algorithm, &device.name)?;
        let kernel = match (kernel, parameters.algorithm) {
            (Kernel::Auto, Algorithm::Full) => search::fastest(device),
            (Kernel::Auto, Algorithm::ThreeStep) => three_step::fastest(device),
            _ => kernel,
        };
        let context = device.context()?;
        let window = match parameters.algorithm {
            Algorithm::Full => picture::winning_window(parameters),
            Algorithm::ThreeStep => three_step::readable_window(parameters),
        };
        let layout = Layout::new(parameters, &window);
        let task = Task { device, context: &context, kernel, tuning, parameters, window: &window };
        let vector_bytes = size_of::<MotionVector>() * parameters.grid().blocks();
        Ok(Self {
            parameters: parameters.clone(),
            device: device.clone(),
            kernel,
            layout,
            search: search::search(&task)?,
            slots: Slots::new(&context, device, kernel, parameters, layout)?,
            vectors: buffer(&context, device, "the vectors", vector_bytes)?,
            prediction: Prediction::new(&context, device, kernel, parameters)?,
            times: StageTimes::default(),
            queue: context.queue(device.raw()).map_err(|error| device.refused(error))?,
            _context: context,
        })
    }

    fn failed(&self, error: cl::Error) -> EstimateError {
        EstimateError::Device { device: self.device.name.clone(), message: error.to_string() }
    }

    /// Searches `count` times, at least 1, without waiting between, and returns the time of one: the
    /// device's own, without the start of a search and the wait for it. For benchmarks.
    ///
    /// # Errors
    /// As [`Estimator::search`].
    #[doc(hidden)]
    pub fn time_searches(&mut self, current: Slot, count: u32) -> Result<Duration, EstimateError> {
        self.queue.finish().map_err(|error| self.failed(error))?;
        let start = Instant::now();
        for _ in 0..count {
            self.queue_search(current)?;
        }
        self.queue.finish().map_err(|error| self.failed(error))?;
        Ok(start.elapsed() / count.max(1))
    }

    /// Queues the kernels that find the vectors of the picture in `current`.
    fn queue_search(&mut self, current: Slot) -> Result<(), EstimateError> {
        let picture = |slot: Slot| self.slots.get(slot).ok_or(EstimateError::EmptySlot(slot));
        let run = Run {
            queue: &self.queue,
            current: picture(current)?,
            reference: picture(current.other())?,
            vectors: &self.vectors,
            geometry: Arg::Struct(bytemuck::bytes_of(&self.layout.geometry)),
        };
        self.search.queue(&run).map_err(|error| self.failed(error))
    }
}

impl Estimator for OpenCl {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        &self.device.name
    }

    fn kernel(&self) -> Kernel {
        self.kernel
    }

    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError> {
        picture.check_size(&self.parameters)?;
        let start = Instant::now();
        self.slots.load(&self.queue, slot, picture).map_err(|error| self.failed(error))?;
        // Without waiting for the extension: it runs while the host goes on, and counts as search.
        self.times.upload = start.elapsed();
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        self.slots.unload(&self.queue, slot).map_err(|error| self.failed(error))
    }

    fn search(&mut self, current: Slot, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        if let Some(prediction) = &mut self.prediction {
            prediction.has_field = false;
        }
        self.parameters.grid().check(vectors)?;
        let start = Instant::now();
        self.queue_search(current)?;
        self.queue.finish().map_err(|error| self.failed(error))?;
        self.times.search = start.elapsed();
        let start = Instant::now();
        let bytes = bytemuck::cast_slice_mut(vectors);
        self.queue.read(&self.vectors, bytes).map_err(|error| self.failed(error))?;
        self.times.download = start.elapsed();
        if let Some(prediction) = &mut self.prediction {
            prediction.has_field = true;
        }
        Ok(())
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        let start = Instant::now();
        let prediction = self.prediction.as_mut().ok_or(EstimateError::NotPredicting)?;
        if !prediction.has_field {
            return Err(EstimateError::NoField);
        }
        self.parameters.grid().check(predictors)?;
        let predicted = prediction.predict(&self.queue, &self.vectors, predictors);
        predicted.map_err(|error| self.failed(error))?;
        self.times.prediction = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }
}

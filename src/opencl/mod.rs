//! Full and three-step search on OpenCL devices, and prediction from what they find.
//!
//! No other module names OpenCL. [`devices`] lists what is there, [`OpenCl`] searches on one of
//! them with one of the kernels in `kernels/`.

mod cache;
mod cl;
mod collaborative;
mod context;
mod device;
mod elimination;
mod flight;
mod frame;
mod host;
mod launch;
mod prediction;
mod program;
mod recurrence;
mod reference;
mod search;
mod three_step;
mod tile;
mod tiled;
mod two_pass;
mod watch;

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use device::{Device, DeviceKind, devices};
pub use program::try_build;
pub use recurrence::{Recurrence, RecurrenceForm};

use crate::estimator::{
    Algorithm, EstimateError, Estimator, Flights, FrameBuf, FrameView, HostMemory, InFlight, Kernel,
    MotionVector, Parameters, Part, Predictor, SetupError, Slot, StageTimes, Tuning, Window,
};
use cl::Arg;
use context::Context;
use flight::{FramePair, Queues, Ring};
use frame::{Layout, Slots};
use host::Host;
use prediction::Prediction;
use search::{Run, Search, Task};

/// Full or three-step search on one OpenCL device.
///
/// With D = [`Tuning::depth`] searches in flight and frames of W × H samples in B blocks it keeps
/// on the device (D + 1) · (W · H + padded frame + 8 · B) bytes, 4 · B more for each of the
/// D + 1 with prediction, and what the kernel keeps for itself: at most [`Tuning::cost_bytes`] of
/// costs and a few bytes a block. A padded frame has the search range, the block and at most 128
/// samples more on each side. In the host's memory, page-locked, it keeps (D + 1) · (W · H + 8 · B)
/// bytes. All of it is taken when the estimator is made.
pub struct OpenCl {
    parameters: Parameters,
    device: Device,
    kernel: Kernel,
    layout: Layout,
    /// What the layout has room for.
    window: Window,
    flights: Flights,
    times: StageTimes,
    /// How long the search finished last kept the device from the next.
    occupied: Option<Duration>,
    // What a device that hangs may still use is never dropped.
    slots: ManuallyDrop<Slots>,
    ring: ManuallyDrop<Ring>,
    search: ManuallyDrop<Box<dyn Search>>,
    prediction: ManuallyDrop<Option<Prediction>>,
    queues: ManuallyDrop<Queues>,
    context: ManuallyDrop<Arc<Context>>,
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // What runs may write to the host's memory that goes with the estimator.
        let _ = self.wait_for_all();
        if self.context.watch().is_lost() {
            // Nothing tells when it will be done, and drivers wait in releasing: all of it stays, so that
            // neither the memory is another's when it is written to, nor anybody waits for ever.
            return;
        }
        // SAFETY: each is dropped here alone, and used no more; what was made in the context before it.
        unsafe {
            ManuallyDrop::drop(&mut self.slots);
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.search);
            ManuallyDrop::drop(&mut self.prediction);
            ManuallyDrop::drop(&mut self.queues);
            ManuallyDrop::drop(&mut self.context);
        }
    }
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
            Algorithm::Full => {
                let grid = parameters.grid();
                Window::winning(parameters, 0..=grid.columns - 1, 0..=grid.rows - 1)
            }
            Algorithm::ThreeStep => three_step::readable_window(parameters),
        };
        let layout = Layout::new(parameters, &window);
        let task = Task { device, context: &context, kernel, tuning, parameters, window: &window };
        let search = search::search(&task)?;
        let depth = tuning.depth.unwrap_or(1);
        let queues = Queues::new(&context, device, depth, search.is_stateless())?;
        let prediction = Prediction::new(&context, device, kernel, parameters)?;
        let queue = queues.search(0);
        let slots = Slots::new(&context, device, queue, kernel, parameters, layout, depth + 1)?;
        let ring = Ring::new(&context, device, queue, parameters, depth, prediction.is_some())?;
        Ok(Self {
            parameters: parameters.clone(),
            device: device.clone(),
            kernel,
            layout,
            window,
            flights: Flights::new(depth),
            times: StageTimes::default(),
            occupied: None,
            slots: ManuallyDrop::new(slots),
            ring: ManuallyDrop::new(ring),
            search: ManuallyDrop::new(search),
            prediction: ManuallyDrop::new(prediction),
            queues: ManuallyDrop::new(queues),
            context: ManuallyDrop::new(context),
        })
    }

    /// What is searched where `part` is asked for: the same, or as little more as the kernel can.
    fn searched_for(&self, part: Part) -> Part {
        let (rows, all) = (part.rows(), self.parameters.grid().rows);
        let end = (rows.start + self.search.least_rows()).clamp(rows.end, all.max(rows.end));
        let start = rows.start.min(end.saturating_sub(self.search.least_rows()));
        let whole = Part::whole(&self.parameters);
        let window = if self.search.divides_window() { part } else { whole };
        window.with_rows(start..end)
    }

    fn failed(&self, error: cl::Error) -> EstimateError {
        let message = match error {
            cl::Error::SILENT => {
                format!("no answer for {:?}", self.context.watch().lost_after().unwrap_or_default())
            }
            error => error.to_string(),
        };
        EstimateError::Device { device: self.device.name.clone(), message }
    }

    /// Waits until nothing runs any more, as long as that may take.
    fn wait_for_all(&self) -> cl::Result<()> {
        let searches = self.flights.len().max(1) as u32;
        self.queues.finish(self.context.watch(), self.ring.allowed().saturating_mul(searches))
    }

    fn load_from(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
        source: Option<Arc<host::Block>>,
    ) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        frame.check_size(&self.parameters)?;
        let last = frame.height() - 1;
        let rows = rows.start.min(last)..rows.end.clamp(rows.start.min(last) + 1, last + 1);
        let start = Instant::now();
        let allowed = self.ring.allowed();
        let loaded = self.slots.load(&self.queues.upload, allowed, slot, frame, rows, source);
        loaded.map_err(|error| self.failed(error))?;
        // Without waiting for the upload: it runs while the host goes on.
        *self.slots.upload_time(slot) = start.elapsed();
        self.flights.fill(slot);
        if self.flights.len() == 0 {
            self.times.upload = start.elapsed();
        }
        Ok(())
    }

    /// Searches `count` times, at least 1, without waiting between, and returns the time of one: the
    /// device's own, without the start of a search and the wait for it. Made for several in flight,
    /// one goes on beside the next as it does there. For benchmarks.
    ///
    /// # Errors
    /// As [`Estimator::search`].
    #[doc(hidden)]
    pub fn time_searches(&mut self, current: Slot, count: u32) -> Result<Duration, EstimateError> {
        if self.flights.len() > 0 {
            return Err(EstimateError::InFlight(self.flights.len()));
        }
        let (watch, ever) = (self.context.watch(), Duration::MAX);
        self.queues.finish(watch, ever).map_err(|error| self.failed(error))?;
        let start = Instant::now();
        for turn in 0..count as usize {
            let frame = |slot| self.slots.get(slot).ok_or(EstimateError::EmptySlot(slot));
            let run = Run {
                queue: self.queues.search(turn),
                current: frame(current)?.0,
                reference: frame(current.other())?.0,
                vectors: self.ring.room(turn),
                blocks: self.parameters.grid().blocks(),
                window: self.window,
                geometry: Arg::Struct(bytemuck::bytes_of(&self.layout.geometry)),
            };
            self.search.queue(&run).map_err(|error| self.failed(error))?;
        }
        let finished = self.queues.finish(self.context.watch(), ever);
        finished.map_err(|error| self.failed(error))?;
        Ok(start.elapsed() / count.max(1))
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

    fn depth(&self) -> usize {
        self.flights.depth()
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load_from(slot, frame, 0..frame.height(), None)
    }

    fn load_shared(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load_rows(slot, frame, 0..frame.height())
    }

    fn load_rows(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
    ) -> Result<(), EstimateError> {
        self.load_from(slot, frame, rows, self.context.block_of(frame.as_bytes()))
    }

    fn host_memory(&self) -> Option<Arc<dyn HostMemory>> {
        let (context, device, queue) =
            ((*self.context).clone(), self.device.clone(), self.queues.upload.clone());
        Some(Arc::new(Host { context, device, queue }))
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        if !self.flights.is_loaded(slot) {
            return Ok(None);
        }
        self.slots.unload(&self.queues.upload, self.ring.allowed(), slot).map_err(|error| self.failed(error))
    }

    fn keep_frames(&mut self) -> bool {
        self.slots.keep();
        true
    }

    fn needs_samples(&self, slot: Slot) -> bool {
        self.slots.is_lent(slot)
    }

    fn copy_samples(&mut self, slot: Slot) {
        self.slots.copy_lent(slot);
    }

    fn salvage(&mut self, slot: Slot) -> Option<FrameBuf> {
        self.flights.is_loaded(slot).then(|| self.slots.salvage(slot))?
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        part.check(&self.parameters)?;
        self.flights.check_begin(current, reference)?;
        let frame = |slot| self.slots.get(slot).ok_or(EstimateError::EmptySlot(slot));
        let done = self.searched_for(part);
        let window = done.window(&self.window);
        let geometry = self.layout.geometry_of(done, self.parameters.block_size, &window);
        let frames = FramePair {
            current: frame(current)?,
            reference: frame(reference)?,
            blocks: done.grid(&self.parameters).blocks(),
            skipped: (part.rows().start - done.rows().start) * self.parameters.grid().columns,
            window,
            share: done.rows().len() as f64 / self.parameters.grid().rows as f64 * window.rows() as f64
                / self.window.rows() as f64,
            is_whole: part == Part::whole(&self.parameters),
            geometry: Arg::Struct(bytemuck::bytes_of(&geometry)),
        };
        let begun = self.ring.begin(&self.queues, self.search.as_mut(), self.prediction.as_mut(), frames);
        begun.map_err(|error| {
            // Some of it may run: it must not when its room is used again.
            let _ = self.wait_for_all();
            self.failed(error)
        })?;
        self.flights.begin(current, reference, part);
        Ok(())
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        let InFlight { current, reference, part } = self.flights.oldest()?;
        part.grid(&self.parameters).check(vectors)?;
        self.flights.finish();
        let slots = &self.slots;
        let ready = || [current, reference].into_iter().filter_map(|slot| slots.get(slot)?.1.ended()).max();
        let (times, occupied) = self.ring.finish(vectors, ready).map_err(|error| self.failed(error))?;
        // One at a time, nothing goes on beside anything.
        let occupied = occupied.filter(|_| self.flights.depth() > 1);
        self.occupied = occupied.max(occupied.and(self.slots.transfer(current)));
        self.slots.release(current);
        self.times = StageTimes { upload: *self.slots.upload_time(current), ..times };
        Ok(())
    }

    fn cancel(&mut self) {
        let _ = self.wait_for_all();
        self.slots.release_all();
        self.ring.clear();
        self.flights.clear();
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        if self.prediction.is_none() {
            return Err(EstimateError::NotPredicting);
        }
        let found = self.ring.predictors().ok_or(EstimateError::NoField)?;
        self.parameters.grid().check(predictors)?;
        let start = Instant::now();
        predictors.copy_from_slice(found);
        self.times.prediction += start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }

    fn occupied(&self) -> Option<Duration> {
        self.occupied
    }
}

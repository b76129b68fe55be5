//! Full search on OpenCL devices.
//!
//! No other module names OpenCL. [`devices`] lists what is there, [`OpenCl`] searches on one of
//! them with one of the kernels in `kernels/`.

mod cache;
mod cl;
mod device;
mod picture;
mod plan;
mod program;

use std::sync::Arc;
use std::time::Instant;

pub use device::{Device, DeviceKind, devices};
pub use program::try_build;

use crate::estimator::{
    EstimateError, Estimator, Kernel, MotionVector, Parameters, Picture, PictureBuf, SetupError, Slot,
    StageTimes, Tuning, Window,
};
use cl::{Arg, Buffer, Context, Queue};
use picture::{Layout, Slots, buffer};
use plan::{Plan, REDUCE_ITEMS, Task};
use program::Source;

/// The kernels that turn costs into vectors, with what they keep between batches.
struct Reduction {
    kernel: cl::Kernel,
    costs: Buffer,
    winners: Buffer,
}

/// Full search on one OpenCL device.
pub struct OpenCl {
    parameters: Parameters,
    window: Window,
    device: Device,
    kernel: Kernel,
    plan: Plan,
    layout: Layout,
    slots: Slots,
    vectors: Buffer,
    search: cl::Kernel,
    reduction: Option<Reduction>,
    times: StageTimes,
    queue: Queue,
    // Last: what was made in the context is released before it.
    _context: Arc<Context>,
}

impl OpenCl {
    /// An estimator on `device` with `kernel`; [`Kernel::Auto`] takes the fastest for the device.
    ///
    /// # Errors
    /// [`SetupError`]: parameters or tuning that are not valid, a kernel that the device cannot run or
    /// build, too little memory, or what the device reports.
    pub fn new(
        device: &Device,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Self, SetupError> {
        parameters.validate()?;
        tuning.validate()?;
        let kernel = if kernel == Kernel::Auto { plan::fastest(device) } else { kernel };
        let refused = |error| device.refused(error);
        let context = device.context()?;
        let build = |source: Source, options: &str| {
            program::build(&context, device, kernel, &source.whole(), options)
        };

        let (source, name) = plan::entry(kernel);
        let program = build(source, &program::options(device, parameters))?;
        let search = program.kernel(name).map_err(refused)?;
        let largest_group = search.largest_group(device.raw()).map_err(refused)?.min(device.largest_group);
        let window = picture::winning_window(parameters);
        let cost_bytes = tuning.cost_bytes.unwrap_or(Tuning::COST_BYTES);
        let plan = Task { device, parameters, window: &window, largest_group, cost_bytes }.plan(kernel)?;

        let layout = Layout::new(parameters, &window);
        let blocks = parameters.grid().blocks();
        let reduction = match plan {
            Plan::CollaborativePlain { jobs, .. } | Plan::CollaborativeRows { jobs, .. } => Some(Reduction {
                kernel: build(Source::Reduce, "")?.kernel(c"reduce").map_err(refused)?,
                costs: buffer(&context, device, "the costs of all blocks", 4 * blocks * jobs)?,
                winners: buffer(&context, device, "the winners", size_of::<u64>() * blocks)?,
            }),
            Plan::ReferenceNaive { .. } | Plan::Reference { .. } => None,
        };
        Ok(Self {
            parameters: parameters.clone(),
            window,
            device: device.clone(),
            kernel,
            plan,
            layout,
            slots: Slots::new(&context, device, kernel, parameters, layout)?,
            vectors: buffer(&context, device, "the vectors", size_of::<MotionVector>() * blocks)?,
            search,
            reduction,
            times: StageTimes::default(),
            queue: context.queue(device.raw()).map_err(refused)?,
            _context: context,
        })
    }

    fn failed(&self, error: cl::Error) -> EstimateError {
        EstimateError::Device { device: self.device.name.clone(), message: error.to_string() }
    }

    /// Queues the kernels that find the vectors of the picture in `current`.
    fn queue_search(&mut self, current: Slot) -> Result<(), EstimateError> {
        let picture = |slot: Slot| self.slots.get(slot).ok_or(EstimateError::EmptySlot(slot));
        let pictures = [Arg::Buffer(picture(current)?), Arg::Buffer(picture(current.other())?)];
        let geometry = Arg::Struct(bytemuck::bytes_of(&self.layout.geometry));
        let (queue, vectors) = (&self.queue, Arg::Buffer(&self.vectors));
        let blocks = self.parameters.grid().blocks();
        let block_size = self.parameters.block_size;
        let int = |value: usize| Arg::Int(value as i32);
        let [c, r] = pictures;
        let queued = match (self.plan, &mut self.reduction) {
            (Plan::ReferenceNaive { items }, _) => {
                let args = [c, r, vectors, Arg::Local(8 * items), geometry];
                // SAFETY: a group a block and an item a candidate, as the kernel wants; the
                // layout was made for the window, and there are as many vectors as blocks.
                unsafe { queue.launch(&mut self.search, &args, [blocks, 1], [items, 1]) }
            }
            (Plan::Reference { items, tile }, _) => {
                let (keys, block, area) = (
                    Arg::Local(8 * items),
                    Arg::Local(block_size * block_size),
                    Arg::Local(tile.area_bytes()),
                );
                let (words, columns, rows) = (int(tile.area_words), int(tile.columns), int(tile.rows));
                let args = [c, r, vectors, keys, block, area, words, columns, rows, geometry];
                // SAFETY: a group a block; the area holds a tile; the layout was made for the
                // window, and there are as many vectors as blocks.
                unsafe { queue.launch(&mut self.search, &args, [blocks, 1], [items, 1]) }
            }
            (Plan::CollaborativePlain { items, jobs }, Some(reduction)) => {
                let search = &mut self.search;
                in_batches(self.window.candidates(), jobs, |first, jobs| {
                    let costs = Arg::Buffer(&reduction.costs);
                    let args = [c, r, costs, int(first), int(jobs), geometry];
                    // SAFETY: items past the last of `jobs` jobs do nothing, and the costs of so
                    // many fit; the layout was made for the window.
                    unsafe { queue.launch(search, &args, [(jobs * blocks).div_ceil(items), 1], [items, 1])? };
                    reduction.queue(queue, vectors, first, jobs, (blocks, block_size), geometry)
                })
            }
            (Plan::CollaborativeRows { items, segments, jobs }, Some(reduction)) => {
                let (search, rows) = (&mut self.search, self.parameters.grid().rows);
                let lines = Arg::Local(plan::line_bytes(items, block_size));
                in_batches(self.window.candidates(), jobs, |first, jobs| {
                    let args = [c, r, Arg::Buffer(&reduction.costs), lines, int(first), geometry];
                    // SAFETY: a group a segment of a row and job, whose costs fit; `lines` holds
                    // two lines; the layout was made for the window and a span more.
                    unsafe { queue.launch(search, &args, [jobs * rows * segments, 1], [items, 1])? };
                    reduction.queue(queue, vectors, first, jobs, (blocks, block_size), geometry)
                })
            }
            // `new` makes a reduction for these plans.
            (Plan::CollaborativePlain { .. } | Plan::CollaborativeRows { .. }, None) => Ok(()),
        };
        queued.map_err(|error| self.failed(error))
    }
}

/// Calls `queue` with the first job and the number of jobs of one batch after the other.
fn in_batches(
    jobs: usize,
    at_once: usize,
    mut queue: impl FnMut(usize, usize) -> cl::Result<()>,
) -> cl::Result<()> {
    (0..jobs).step_by(at_once).try_for_each(|first| queue(first, at_once.min(jobs - first)))
}

impl Reduction {
    /// Queues the step that folds the costs of `jobs` jobs from `first` on into the winners.
    fn queue(
        &mut self,
        queue: &Queue,
        vectors: Arg<'_>,
        first: usize,
        jobs: usize,
        (blocks, block_size): (usize, usize),
        geometry: Arg<'_>,
    ) -> cl::Result<()> {
        let args = [
            Arg::Buffer(&self.costs),
            Arg::Buffer(&self.winners),
            vectors,
            Arg::Local(8 * REDUCE_ITEMS[0] * REDUCE_ITEMS[1]),
            Arg::Int(first as i32),
            Arg::Int(jobs as i32),
            Arg::Int(block_size as i32),
            geometry,
        ];
        // SAFETY: items past the last block neither read costs nor write; there are as many
        // winners and vectors as blocks, and costs for all of `jobs`.
        unsafe { queue.launch(&mut self.kernel, &args, [blocks.div_ceil(REDUCE_ITEMS[0]), 1], REDUCE_ITEMS) }
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
        self.parameters.grid().check(vectors)?;
        let start = Instant::now();
        self.queue_search(current)?;
        self.queue.finish().map_err(|error| self.failed(error))?;
        self.times.search = start.elapsed();
        let start = Instant::now();
        let bytes = bytemuck::cast_slice_mut(vectors);
        self.queue.read(&self.vectors, bytes).map_err(|error| self.failed(error))?;
        self.times.download = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }
}

//! Three-step search (`kernels/three_step.cl`): Bonanno's groups of a block and candidate, and two
//! kernels that take all steps in one launch.

use super::cl::{self, Arg, Buffer};
use super::device::{Device, DeviceKind};
use super::program::Source;
use super::search::{Run, Search, Task};
use crate::estimator::{Kernel, Parameters, SetupError, Window};

/// Candidates a step, the centre among them.
const CANDIDATES: usize = 9;

/// The most items of a group that compares one candidate: what the paper's devices have.
const MOST_SAMPLES: usize = 1024;

/// Items of a group of `three_step_group`, unless one block alone takes more.
const GROUP_ITEMS: usize = 128;

/// Items of a group of `three_step_choose`.
const CHOICE_ITEMS: usize = 32;

/// The kernel that is fastest for `device`.
pub(super) fn fastest(device: &Device) -> Kernel {
    match device.kind {
        DeviceKind::Cpu => Kernel::ThreeStepUnaligned,
        DeviceKind::Gpu | DeviceKind::Accelerator => Kernel::ThreeStep,
    }
}

/// The window that the frames' layout needs room for: a candidate that lies further outside than
/// a block is read where it is a block outside, for the samples are the same.
pub(super) fn readable_window(parameters: &Parameters) -> Window {
    let side = parameters.block_size as i32;
    parameters.window.clipped(-side..=side, -side..=side)
}

/// What all three kernels are told: the true window, and how far the steps go.
struct Steps {
    window: Window,
    limits: [i32; 4],
}

impl Steps {
    fn new(task: &Task<'_>) -> Self {
        let window = task.parameters.window;
        let limits = [window.x0(), window.x1(), window.y0(), window.y1()];
        Self { window, limits }
    }

    fn limits(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(&self.limits))
    }

    fn first(&self) -> Arg<'static> {
        Arg::Int(self.window.steps().next().unwrap_or(0))
    }
}

/// A group a block and candidate and an item a sample; a second kernel chooses; a launch of each a
/// step.
pub(super) struct Samples {
    steps: Steps,
    compare: cl::Kernel,
    items: usize,
    choose: cl::Kernel,
    costs: Buffer,
    winners: Buffer,
}

impl Samples {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let samples = task.parameters.block_size * task.parameters.block_size;
        let most = samples.min(MOST_SAMPLES);
        let (compare, items) = task.build_for(Source::ThreeStep, c"three_step_samples", most)?;
        let blocks = task.blocks();
        Ok(Self {
            steps: Steps::new(task),
            compare,
            items,
            choose: task.build(Source::ThreeStep, c"three_step_choose")?,
            costs: task.buffer("the costs of a step", size_of::<u32>() * CANDIDATES * blocks)?,
            winners: task.buffer("the winners", size_of::<u64>() * blocks)?,
        })
    }
}

impl Search for Samples {
    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let Self { steps, items, .. } = self;
        let (costs, winners) = (Arg::Buffer(&self.costs), Arg::Buffer(&self.winners));
        // A window of the centre alone has no step: its cost is found by one of length 0.
        let only_centre = steps.window.steps().next().is_none().then_some(0);
        for (index, step) in only_centre.into_iter().chain(steps.window.steps()).enumerate() {
            let (step, is_first) = (Arg::Int(step), Arg::Int(i32::from(index == 0)));
            let args = [
                Arg::Buffer(run.current),
                Arg::Buffer(run.reference),
                winners,
                costs,
                Arg::Local(size_of::<u32>() * *items),
                steps.limits(),
                step,
                is_first,
                run.geometry,
            ];
            let groups = [CANDIDATES * run.blocks, 1];
            // SAFETY: a group a block and candidate, and as many costs; the winners are those of
            // the step before, or not read; what is read of a frame is at most a block outside,
            // within the window and so within the layout; a word of the sums an item.
            unsafe { run.queue.launch(&mut self.compare, &args, groups, [*items, 1])? };
            let args = [costs, winners, Arg::Buffer(run.vectors), step, is_first, run.geometry];
            let groups = [run.blocks.div_ceil(CHOICE_ITEMS), 1];
            // SAFETY: items past the last block do nothing; there are nine costs, a winner and a
            // vector a block.
            unsafe { run.queue.launch(&mut self.choose, &args, groups, [CHOICE_ITEMS, 1])? };
        }
        Ok(())
    }
}

/// Several items a candidate, all steps in one launch.
pub(super) struct Group {
    steps: Steps,
    kernel: cl::Kernel,
    /// Items a block.
    items: usize,
    /// Blocks a group.
    lanes: usize,
}

impl Group {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let kernel = task.build(Source::ThreeStep, c"three_step_group")?;
        let side = task.parameters.block_size;
        let items = block_items(side);
        let largest = match task.chosen_group(&kernel)? {
            Some(chosen) => chosen,
            None => task.largest_group(&kernel)?.min(GROUP_ITEMS.max(items)),
        };
        if items > largest {
            let reason = format!(
                "it needs {items} work-items for blocks of {side} and its largest work-group has {largest}"
            );
            let advice = "choose three-step-unaligned, which has no such limit".into();
            return Err(task.unsupported(reason, advice));
        }
        Ok(Self { steps: Steps::new(task), kernel, items, lanes: largest / items })
    }
}

/// `BLOCK_ITEMS` in `three_step.cl`.
fn block_items(block_size: usize) -> usize {
    if block_size <= 16 { 8 * 4 } else { 8 * 16 }
}

impl Search for Group {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let Self { ref steps, items, lanes, .. } = *self;
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            Arg::Local(2 * size_of::<u32>() * items * lanes),
            steps.limits(),
            steps.first(),
            run.geometry,
        ];
        let groups = [run.blocks.div_ceil(lanes), 1];
        // SAFETY: groups past the last block do its work again and write nothing; what is read of a
        // frame is at most a block outside, within the window and so within the layout; two words
        // of the sums an item.
        unsafe { run.queue.launch(&mut self.kernel, &args, groups, [items, lanes]) }
    }
}

/// An item a block, all steps in one launch.
pub(super) struct Item {
    steps: Steps,
    kernel: cl::Kernel,
    items: usize,
}

impl Item {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let kernel = task.build(Source::ThreeStep, c"three_step_item")?;
        let items = match task.chosen_group(&kernel)? {
            Some(items) => items,
            None => task.largest_group(&kernel)?.min(if task.is_gpu() { 64 } else { 8 }),
        };
        Ok(Self { steps: Steps::new(task), kernel, items })
    }
}

impl Search for Item {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let Self { ref steps, items, .. } = *self;
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            steps.limits(),
            steps.first(),
            run.geometry,
        ];
        let groups = [run.blocks.div_ceil(items), 1];
        // SAFETY: items past the last block do nothing; what is read of a frame is at most a
        // block outside, within the window and so within the layout.
        unsafe { run.queue.launch(&mut self.kernel, &args, groups, [items, 1]) }
    }
}

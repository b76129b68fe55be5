//! Three-step search (`kernels/three_step.cl`): Bonanno's groups of a block and candidate, and two kernels
//! that take all steps in one launch.

use super::super::cl::{self, Arg, Buffer};
use super::super::kernel_family::{BuildContext, KernelFamily, LaunchRequest};
use super::super::program::KernelFile;
use super::KEY;
use crate::estimator::{SetupError, Window};

/// Candidates a step, including the centre.
const CANDIDATES: usize = 9;

/// The most items of a group that compares one candidate: the limit of the paper's devices.
const MOST_SAMPLES: usize = 1024;

/// Items of a group of `three_step_group`, unless one block needs more.
const GROUP_ITEMS: usize = 128;

/// Items of a group of `three_step_choose`.
const CHOICE_ITEMS: usize = 32;

/// Arguments of all three kernels: the window, which may be larger than that of the geometry, and the first
/// step.
struct StepArgs {
    window: Window,
    limits: [i32; 4],
}

impl StepArgs {
    fn new(build: &BuildContext<'_>) -> Self {
        let window = build.parameters.window;
        Self { window, limits: [window.x0(), window.x1(), window.y0(), window.y1()] }
    }

    fn limits(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(&self.limits))
    }

    fn first(&self) -> Arg<'static> {
        Arg::Int(self.window.steps().next().unwrap_or(0))
    }
}

/// A group a block and candidate, and an item a sample; a second kernel chooses. Each step launches both.
pub(super) struct ThreeStepSamples {
    steps: StepArgs,
    compare: cl::KernelObject,
    items: usize,
    choose: cl::KernelObject,
    choice_items: [usize; 2],
    costs: Buffer,
    winners: Buffer,
}

impl ThreeStepSamples {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let samples = build.parameters.block_size * build.parameters.block_size;
        let most = samples.min(MOST_SAMPLES);
        let (compare, items) = build.build_for(KernelFile::ThreeStep, c"three_step_samples", most)?;
        let choose = build.build(KernelFile::ThreeStep, c"three_step_choose", "")?;
        let blocks = build.grid().blocks();
        Ok(Self {
            steps: StepArgs::new(build),
            compare,
            items,
            choice_items: build.device.group_of(&choose, [CHOICE_ITEMS, 1])?,
            choose,
            costs: build.buffer("the costs of a step", size_of::<u32>() * CANDIDATES * blocks)?,
            winners: build.buffer("the winners", KEY * blocks)?,
        })
    }
}

impl KernelFamily for ThreeStepSamples {
    fn queue_searches(&mut self, request: &LaunchRequest<'_>) -> cl::Result<()> {
        let Self { steps, items, choice_items, .. } = self;
        let ([current, reference, vectors], geometry) = (request.buffers(), request.geometry.arg());
        let (costs, winners) = (Arg::Buffer(&self.costs), Arg::Buffer(&self.winners));
        let blocks = request.geometry.blocks();
        // A window of the centre alone has no step: one of length 0 finds its cost.
        let only_centre = steps.window.steps().next().is_none().then_some(0);
        for (index, step) in only_centre.into_iter().chain(steps.window.steps()).enumerate() {
            let (step, is_first) = (Arg::Int(step), Arg::Int(i32::from(index == 0)));
            let sums = Arg::Local(size_of::<u32>() * *items);
            let args = [current, reference, winners, costs, sums, steps.limits(), step, is_first, geometry];
            let groups = [CANDIDATES * blocks, 1];
            // SAFETY: a group, and a cost, a block and candidate; the winners are those of the step before,
            // or not read; a frame is read at most a block outside, within the window and so within the
            // margins; the sums have a word an item.
            unsafe { request.queue.launch(&mut self.compare, &args, groups, [*items, 1])? };
            let args = [costs, winners, vectors, step, is_first, geometry];
            let groups = [blocks.div_ceil(choice_items[0]), 1];
            // SAFETY: items past the last block do nothing; there are nine costs, a winner and a vector a
            // block.
            unsafe { request.queue.launch(&mut self.choose, &args, groups, *choice_items)? };
        }
        Ok(())
    }
}

/// Several items a candidate, all steps in one launch.
pub(super) struct ThreeStepGroups {
    steps: StepArgs,
    kernel: cl::KernelObject,
    /// Items a block.
    items: usize,
    /// Blocks of a group.
    lanes: usize,
}

impl ThreeStepGroups {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let kernel = build.build(KernelFile::ThreeStep, c"three_step_group", "")?;
        let side = build.parameters.block_size;
        // `BLOCK_ITEMS` in the kernel.
        let items = if side <= 16 { 8 * 4 } else { 8 * 16 };
        let largest = match build.chosen_group(&kernel)? {
            Some(chosen) => chosen,
            None => build.largest_group(&kernel)?.min(GROUP_ITEMS.max(items)),
        };
        if items > largest {
            let reason = format!(
                "it needs {items} work-items for blocks of {side}, and its largest work-group has {largest}"
            );
            return Err(build.unsupported(reason, "choose three-step-unaligned, which has no such limit"));
        }
        let lanes = (largest / items).min(build.device.largest_second.max(1));
        Ok(Self { steps: StepArgs::new(build), kernel, items, lanes })
    }
}

impl KernelFamily for ThreeStepGroups {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue_searches(&mut self, request: &LaunchRequest<'_>) -> cl::Result<()> {
        let Self { ref steps, items, lanes, .. } = *self;
        let [current, reference, vectors] = request.buffers();
        let sums = Arg::Local(2 * size_of::<u32>() * items * lanes);
        let geometry = request.geometry.arg();
        let args = [current, reference, vectors, sums, steps.limits(), steps.first(), geometry];
        let groups = [request.geometry.blocks().div_ceil(lanes), 1];
        // SAFETY: blocks past the last repeat its work and write nothing; a frame is read at most a block
        // outside, within the window and so within the margins; the sums have two words an item.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [items, lanes]) }
    }
}

/// An item a block, all steps in one launch.
pub(super) struct ThreeStepItems {
    steps: StepArgs,
    kernel: cl::KernelObject,
    items: usize,
}

impl ThreeStepItems {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let kernel = build.build(KernelFile::ThreeStep, c"three_step_item", "")?;
        let items = match build.chosen_group(&kernel)? {
            Some(items) => items,
            None => build.largest_group(&kernel)?.min(if build.is_gpu() { 64 } else { 8 }),
        };
        Ok(Self { steps: StepArgs::new(build), kernel, items })
    }
}

impl KernelFamily for ThreeStepItems {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue_searches(&mut self, request: &LaunchRequest<'_>) -> cl::Result<()> {
        let Self { ref steps, items, .. } = *self;
        let [current, reference, vectors] = request.buffers();
        let args = [current, reference, vectors, steps.limits(), steps.first(), request.geometry.arg()];
        let groups = [request.geometry.blocks().div_ceil(items), 1];
        // SAFETY: items past the last block do nothing; a frame is read at most a block outside, within the
        // window and so within the margins.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [items, 1]) }
    }
}

//! Bonanno's three-step search (`kernels/papers/three_step.cl`): a group a block and candidate, a launch a step.

use crate::estimator::SetupError;
use crate::opencl::families::KEY;
use crate::opencl::families::three_step::StepArgs;
use crate::opencl::kernel_family::{BuildContext, FamilyRequest, KernelFamily};
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject};

/// Candidates a step, including the centre.
const CANDIDATES: usize = 9;

/// The most items of a group that compares one candidate: the limit of the paper's devices.
const MOST_SAMPLES: usize = 1024;

/// Items of a group of `three_step_choose`.
const CHOICE_ITEMS: usize = 32;

/// A group a block and candidate, and an item a sample; a second kernel chooses. Each step launches both.
pub(in crate::opencl::families) struct ThreeStepSamples {
    steps: StepArgs,
    compare: KernelObject,
    items: usize,
    choose: KernelObject,
    choice_items: [usize; 2],
    costs: Buffer,
    winners: Buffer,
}

impl ThreeStepSamples {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let samples = build.parameters.block_size * build.parameters.block_size;
        let most = samples.min(MOST_SAMPLES);
        let (compare, items) = build.build_for(KernelFile::ThreeStepSamples, c"three_step_samples", most)?;
        let choose = build.build(KernelFile::ThreeStepSamples, c"three_step_choose", "")?;
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
    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
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

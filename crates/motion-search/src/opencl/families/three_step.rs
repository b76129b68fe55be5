//! Three-step search (`kernels/three_step.cl`): all steps in one launch, by groups or by single work-items.

use super::super::kernel_family::{BuildContext, FamilyRequest, KernelFamily};
use crate::estimator::{SetupError, Window};
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Arg, KernelObject};

/// Items of a group of `three_step_group`, unless one block needs more.
const GROUP_ITEMS: usize = 128;

/// Arguments of all kernels of three-step search: the window, which may be larger than that of the geometry, and the
/// first step.
pub(super) struct StepArgs {
    pub(super) window: Window,
    limits: [i32; 4],
}

impl StepArgs {
    pub(super) fn new(build: &BuildContext<'_>) -> Self {
        let window = build.parameters.window;
        Self { window, limits: [window.x0(), window.x1(), window.y0(), window.y1()] }
    }

    pub(super) fn limits(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(&self.limits))
    }

    pub(super) fn first(&self) -> Arg<'static> {
        Arg::Int(self.window.steps().next().unwrap_or(0))
    }
}

/// Several items a candidate, all steps in one launch.
pub(super) struct ThreeStepGroups {
    steps: StepArgs,
    kernel: KernelObject,
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

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
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
    kernel: KernelObject,
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

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let Self { ref steps, items, .. } = *self;
        let [current, reference, vectors] = request.buffers();
        let args = [current, reference, vectors, steps.limits(), steps.first(), request.geometry.arg()];
        let groups = [request.geometry.blocks().div_ceil(items), 1];
        // SAFETY: items past the last block do nothing; a frame is read at most a block outside, within the
        // window and so within the margins.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [items, 1]) }
    }
}

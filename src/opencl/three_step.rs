//! Three-step search on an OpenCL device: how its kernels are chosen and launched.

use std::ffi::CStr;

use super::cl::{self, Arg, Buffer, Context, Queue};
use super::device::{Device, DeviceKind};
use super::picture::buffer;
use super::program::{self, Source};
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

/// The name of `kernel`, one of [`Kernel::OPENCL_THREE_STEP`], in its file.
pub(super) fn entry(kernel: Kernel) -> (Source, &'static CStr) {
    let name = match kernel {
        Kernel::ThreeStepNaive => c"three_step_samples",
        Kernel::ThreeStepUnaligned => c"three_step_item",
        _ => c"three_step_group",
    };
    (Source::ThreeStep, name)
}

/// The window that the pictures' layout needs room for: a candidate that lies further outside than
/// a block is read where it is a block outside, for the samples are the same.
pub(super) fn readable_window(parameters: &Parameters) -> Window {
    let side = parameters.block_size as i32;
    parameters.window.clipped(-side..=side, -side..=side)
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A group a block and candidate, a launch a step.
    Samples { items: usize },
    /// So many items a block, and so many blocks a group.
    Group { items: usize, blocks: usize },
    /// An item a block.
    Item { items: usize },
}

impl Shape {
    /// How `kernel` does `parameters` on `device`, where it may have `largest_group` items a group.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] where the group is too small for one block.
    pub(super) fn new(
        kernel: Kernel,
        device: &Device,
        parameters: &Parameters,
        largest_group: usize,
    ) -> Result<Self, SetupError> {
        let side = parameters.block_size;
        match kernel {
            Kernel::ThreeStepNaive => {
                Ok(Self::Samples { items: (side * side).min(MOST_SAMPLES).min(largest_group).max(1) })
            }
            Kernel::ThreeStepUnaligned => {
                let most = if device.kind == DeviceKind::Gpu { 64 } else { 8 };
                Ok(Self::Item { items: most.min(largest_group).max(1) })
            }
            _ => {
                let items = block_items(side);
                if items > largest_group {
                    return Err(SetupError::KernelUnsupported {
                        kernel,
                        device: device.name.clone(),
                        reason: format!(
                            "it needs {items} work-items for blocks of {side} and its largest work-group has \
                             {largest_group}"
                        ),
                        advice: "choose three-step-unaligned, which has no such limit".into(),
                    });
                }
                Ok(Self::Group { items, blocks: (GROUP_ITEMS.min(largest_group) / items).max(1) })
            }
        }
    }
}

/// `BLOCK_ITEMS` in `three_step.cl`.
fn block_items(block_size: usize) -> usize {
    if block_size <= 16 { 8 * 4 } else { 8 * 16 }
}

/// The second kernel of a step, and what is kept from one step to the next.
pub(super) struct Choice {
    kernel: cl::Kernel,
    costs: Buffer,
    winners: Buffer,
}

impl Choice {
    /// What `shape` needs beside the pictures, if anything.
    ///
    /// # Errors
    /// What the device reports.
    pub(super) fn new(
        (context, device): (&Context, &Device),
        shape: Shape,
        parameters: &Parameters,
    ) -> Result<Option<Self>, SetupError> {
        let Shape::Samples { .. } = shape else { return Ok(None) };
        let (kernel, blocks) = (Kernel::ThreeStepNaive, parameters.grid().blocks());
        let options = program::options(device, parameters);
        let program = program::build(context, device, kernel, &Source::ThreeStep.whole(), &options)?;
        Ok(Some(Self {
            kernel: program.kernel(c"three_step_choose").map_err(|error| device.refused(error))?,
            costs: buffer(context, device, "the costs of a step", size_of::<u32>() * CANDIDATES * blocks)?,
            winners: buffer(context, device, "the winners", size_of::<u64>() * blocks)?,
        }))
    }
}

/// Queues all steps of `parameters` over the two `pictures`, current and reference, with
/// `search`, the kernel of [`entry`]. The geometry must be that of a layout for
/// [`readable_window`], and `vectors` must have a record a block.
pub(super) fn queue(
    queue: &Queue,
    (search, choice): (&mut cl::Kernel, Option<&mut Choice>),
    shape: Shape,
    parameters: &Parameters,
    [current, reference, vectors, geometry]: [Arg<'_>; 4],
) -> cl::Result<()> {
    let limits = &parameters.window;
    let limits = [limits.x0(), limits.x1(), limits.y0(), limits.y1()];
    let window = Arg::Struct(bytemuck::bytes_of(&limits));
    let first_step = parameters.window.steps().next().unwrap_or(0);
    let blocks = parameters.grid().blocks();
    match (shape, choice) {
        (Shape::Samples { items }, Some(choice)) => {
            let Choice { kernel, costs, winners } = choice;
            let (costs, winners) = (Arg::Buffer(costs), Arg::Buffer(winners));
            // A window of the centre alone has no step: its cost is found by one of length 0.
            let only_centre = (first_step == 0).then_some(0);
            for (index, step) in only_centre.into_iter().chain(parameters.window.steps()).enumerate() {
                let (step, is_first) = (Arg::Int(step), Arg::Int(i32::from(index == 0)));
                let sums = Arg::Local(size_of::<u32>() * items);
                let args = [current, reference, winners, costs, sums, window, step, is_first, geometry];
                // SAFETY: a group a block and candidate, and as many costs; the winners are those of
                // the step before, or not read; what is read of a picture is at most a block
                // outside, within the window and so within the layout; a word of `sums` an item.
                unsafe { queue.launch(search, &args, [CANDIDATES * blocks, 1], [items, 1])? };
                let args = [costs, winners, vectors, step, is_first, geometry];
                let groups = blocks.div_ceil(CHOICE_ITEMS);
                // SAFETY: items past the last block do nothing; there are nine costs, a winner and
                // a vector a block.
                unsafe { queue.launch(kernel, &args, [groups, 1], [CHOICE_ITEMS, 1])? };
            }
            Ok(())
        }
        // `Choice::new` makes one for this shape.
        (Shape::Samples { .. }, None) => Ok(()),
        (Shape::Group { items, blocks: lanes }, _) => {
            let sums = Arg::Local(2 * size_of::<u32>() * items * lanes);
            let args = [current, reference, vectors, sums, window, Arg::Int(first_step), geometry];
            // SAFETY: groups past the last block do its work again and write nothing; what is
            // read of a picture is at most a block outside, within the window and so within the
            // layout; `sums` holds two words an item.
            unsafe { queue.launch(search, &args, [blocks.div_ceil(lanes), 1], [items, lanes]) }
        }
        (Shape::Item { items }, _) => {
            let args = [current, reference, vectors, window, Arg::Int(first_step), geometry];
            // SAFETY: items past the last block do nothing; the rest as above.
            unsafe { queue.launch(search, &args, [blocks.div_ceil(items), 1], [items, 1]) }
        }
    }
}

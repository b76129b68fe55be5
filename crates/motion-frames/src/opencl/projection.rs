//! The kernels that bring the field of a pair of frames to the time of a made frame, and their buffers.

use bytemuck::{Pod, Zeroable};

use super::groups::{GroupedKernel, LIST_GROUP};
use super::layout::{FrameShape, InterpolationLayout};
use crate::interpolation::Phase;
use motion_base::{MotionVector, SetupError};
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, Program, Queue};

/// A time in a pair of frames: field for field `Phase` in `interpolation.cl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct PhaseArg {
    numerator: i32,
    denominator: i32,
    later: i32,
}

impl PhaseArg {
    /// The time of the second frame.
    pub(super) const SECOND: Self = Self { numerator: 1, denominator: 1, later: 0 };

    /// `phase`, and so many whole intervals later.
    pub(super) fn new(phase: Phase, later: i32) -> Self {
        Self { numerator: phase.numerator() as i32, denominator: phase.denominator() as i32, later }
    }

    /// As a kernel's argument.
    pub(super) fn arg(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(self))
    }
}

/// The field of a pair of frames.
pub(super) struct DeviceField {
    /// As the search found it.
    pub(super) found: Buffer,
    /// At the time of a made frame.
    pub(super) projection: Buffer,
}

impl DeviceField {
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let found = device.buffer(context, "a field", size_of::<MotionVector>() * layout.found.blocks())?;
        Ok(Self { found, projection: Self::projection(context, device, layout)? })
    }

    /// Two numbers for each block.
    pub(super) fn projection(
        context: &Context,
        device: &OpenClDevice,
        layout: &InterpolationLayout,
    ) -> Result<Buffer, SetupError> {
        device.buffer(context, "projected vectors", 2 * size_of::<u32>() * layout.grid.blocks())
    }

    /// Both as arguments.
    pub(super) fn args(&self) -> [Arg<'_>; 2] {
        [&self.found, &self.projection].map(Arg::Buffer)
    }
}

/// The kernels.
pub(super) struct ProjectionKernels {
    clear: GroupedKernel,
    project_costs: GroupedKernel,
    project_firsts: GroupedKernel,
    blocks: usize,
}

impl ProjectionKernels {
    pub(super) fn new(
        device: &OpenClDevice,
        program: &Program,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let grouped = |name| GroupedKernel::new(device, program, name, LIST_GROUP);
        Ok(Self {
            clear: grouped(c"clear_projection")?,
            project_costs: grouped(c"project_costs")?,
            project_firsts: grouped(c"project_firsts")?,
            blocks: layout.grid.blocks(),
        })
    }

    /// Queues the projection of a field to `time`.
    pub(super) fn project(
        &mut self,
        queue: &Queue,
        field: &DeviceField,
        shape: &FrameShape,
        time: PhaseArg,
    ) -> launcher::Result<()> {
        self.project_costs(queue, [&field.found, &field.projection], shape, time)?;
        let [found, projection] = field.args();
        let args = [found, projection, shape.arg(), time.arg()];
        // SAFETY: as below.
        unsafe { self.project_firsts.launch(queue, &args, [self.blocks, 1, 1]) }
    }

    /// Queues the least costs of the vectors of `found` that go through blocks at `time`, the first half of `projection`.
    pub(super) fn project_costs(
        &mut self,
        queue: &Queue,
        [found, projection]: [&Buffer; 2],
        shape: &FrameShape,
        time: PhaseArg,
    ) -> launcher::Result<()> {
        let [found, projection] = [found, projection].map(Arg::Buffer);
        let shape = shape.arg();
        // SAFETY: it leaves out items past the last of two numbers a block, which the buffer holds.
        unsafe { self.clear.launch(queue, &[projection, shape], [2 * self.blocks, 1, 1])? };
        let args = [found, projection, shape, time.arg()];
        // SAFETY: it leaves out items past the last block, reads the field of all blocks that the search had, and writes to
        // numbers of blocks of the grid alone.
        unsafe { self.project_costs.launch(queue, &args, [self.blocks, 1, 1]) }
    }
}

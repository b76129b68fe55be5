//! The kernels that weigh vectors (`kernels/weighting.cl`), their buffers and their launches.

use super::groups::{ChoiceShape, GroupedKernel, PLANE_GROUP};
use super::layout::{FrameShape, InterpolationLayout};
use crate::interpolation::HYPOTHESES;
use motion_base::{Grid, SetupError};
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject, Program, Queue};

/// What else counts with [`FrameQuality::High`](crate::interpolation::FrameQuality::High).
pub(super) struct LoneEndBuffers<'a> {
    /// The points of the frames before and after; any, unless they count.
    pub(super) around: [&'a Buffer; 2],
    pub(super) has_neighbours: bool,
    /// The field of the previous frame in the next one, and the least cost with which it leads to each block of that.
    pub(super) found: &'a Buffer,
    pub(super) costs: &'a Buffer,
}

/// The kernels and what they write.
pub(super) struct WeightingKernels {
    compare_blocks: GroupedKernel,
    spread: GroupedKernel,
    choose_coarse: KernelObject,
    choice: ChoiceShape,
    weigh_vectors: GroupedKernel,
    grid: Grid,
    coarse_blocks: usize,
    /// What `spread` goes through before it is the badness.
    greatest: Buffer,
    badness: Buffer,
    coarse: Buffer,
    weights: Buffer,
}

impl WeightingKernels {
    /// Of `program`, in which coarse blocks are divided as `choice` says and vectors have so many `matches`.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`], [`SetupError::Memory`].
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        program: &Program,
        choice: ChoiceShape,
        matches: usize,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let grouped = |name| GroupedKernel::new(device, program, name, PLANE_GROUP);
        let (grid, blocks) = (layout.grid, layout.grid.blocks());
        let coarse_blocks = layout.coarse.blocks();
        let numbers = |what, count: usize| device.buffer(context, what, size_of::<u32>() * count);
        Ok(Self {
            compare_blocks: grouped(c"compare_blocks")?,
            spread: grouped(c"spread")?,
            choose_coarse: program.kernel(c"choose_coarse").map_err(|error| device.refused(error))?,
            choice,
            weigh_vectors: grouped(c"weigh_vectors")?,
            grid,
            coarse_blocks,
            greatest: numbers("the badness of matches", blocks)?,
            badness: numbers("the badness of matches", blocks)?,
            coarse: device.buffer(context, "vectors", size_of::<[i16; 4]>() * coarse_blocks)?,
            // Four bytes for each match of a vector: of four cells.
            weights: numbers("weights", HYPOTHESES * matches * blocks)?,
        })
    }

    /// What `mix_planes` reads beside the vectors that were chosen.
    pub(super) fn written(&self) -> [&Buffer; 3] {
        [&self.coarse, &self.badness, &self.weights]
    }

    /// Queues what weighs the vectors in `chosen`, by the `points` of both frames.
    pub(super) fn weigh(
        &mut self,
        queue: &Queue,
        points: [&Buffer; 2],
        chosen: &Buffer,
        lone_ends: Option<LoneEndBuffers<'_>>,
        shape: &FrameShape,
    ) -> launcher::Result<()> {
        let Grid { columns, rows } = self.grid;
        let [previous, next, chosen] = [points[0], points[1], chosen].map(Arg::Buffer);
        let [greatest, badness, coarse, weights] =
            [&self.greatest, &self.badness, &self.coarse, &self.weights].map(Arg::Buffer);
        let shape = shape.arg();
        let (mut neighbours, mut shown) = (Vec::new(), Vec::new());
        if let Some(LoneEndBuffers { around: [before, after], has_neighbours, found, costs }) = lone_ends {
            neighbours = vec![Arg::Buffer(before), Arg::Buffer(after), Arg::Int(i32::from(has_neighbours))];
            shown = vec![Arg::Buffer(found), Arg::Buffer(costs)];
        }
        // SAFETY: here and below, kernels leave out items past the last block, of each of which the buffers have what they
        // read and write, and limit blocks around to the grid and positions to the points.
        unsafe {
            let args = [&[previous, next, chosen, badness, shape], &*neighbours].concat();
            self.compare_blocks.launch(queue, &args, [columns, rows, 1])?;
            for (from, to, is_mean) in [(badness, greatest, 0), (greatest, badness, 1)] {
                self.spread.launch(queue, &[from, to, shape, Arg::Int(is_mean)], [columns, rows, 1])?;
            }
            let ChoiceShape { items, lanes } = self.choice;
            let args = [previous, next, chosen, badness, coarse, shape];
            let groups = [self.coarse_blocks.div_ceil(lanes)];
            queue.launch(&mut self.choose_coarse, &args, groups, [items * lanes])?;
            let args = [previous, next, chosen, coarse, badness, weights, shape];
            let args = [&args, &*neighbours, &*shown].concat();
            self.weigh_vectors.launch(queue, &args, [4 * columns, rows, 1])?;
        }
        Ok(())
    }
}

//! The kernels that make frames (`kernels/interpolation.cl`, `compensation.cl`), their buffers and their launches.

use std::ffi::CStr;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::super::cl::{self, Arg, Buffer, Event, KernelObject, Program, Queue};
use super::super::context::Context;
use super::super::device::{DeviceKind, OpenClDevice};
use super::super::program::{self, KernelFile};
use super::layout::{FrameShape, InterpolationLayout, PlanesShape};
use crate::compensation::Sampling;
use crate::estimator::{MotionVector, SetupError};
use crate::interpolation::{BLOCK, FrameFormat, Phase, block_of};

/// What an error calls these kernels.
const NAME: &str = "interpolation";

/// Items of a group of kernels without local memory, on two axes: of those that work on planes, and on lists.
const PLANE_GROUP: [usize; 2] = [32, 4];
const LIST_GROUP: [usize; 2] = [128, 1];

/// The vectors that a block chooses from: `CANDIDATES` in `interpolation.cl`.
const CANDIDATES: usize = 10;

/// Field for field `Phase` in `interpolation.cl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PhaseArg {
    numerator: i32,
    denominator: i32,
}

/// How the blocks of `choose_vectors` are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChoiceShape {
    /// Items that share a block.
    items: usize,
    /// Blocks of a group.
    lanes: usize,
}

impl ChoiceShape {
    /// The fewest items of a group: PoCL 6.0 compiles `choose_vectors` wrongly for groups of one or two.
    const LEAST_GROUP: usize = 4;

    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if the device has too little local memory, or too small groups.
    fn new(device: &OpenClDevice) -> Result<Self, SetupError> {
        let most = |wanted: usize, limit: usize| 1 << wanted.min(limit.max(1)).ilog2();
        // A CPU does the items of a group in turn, with more to do the more of them share a block.
        let items = if device.kind == DeviceKind::Cpu { 1 } else { BLOCK };
        let items = most(items, device.largest_group);
        let lanes =
            BLOCK.min(device.largest_group / items).min(device.local_memory / Self::lane_bytes(items));
        if items * lanes < Self::LEAST_GROUP {
            let least = Self::LEAST_GROUP;
            let bytes = Self::lane_bytes(items) * least.div_ceil(items);
            return Err(SetupError::DeviceUnsupported {
                wanted: device.name.clone(),
                reason: format!(
                    "to make frames it needs work-groups of {least} items and {bytes} bytes of local memory, and \
                     it has {} and {}",
                    device.largest_group, device.local_memory
                ),
            });
        }
        Ok(Self { items, lanes })
    }

    /// Local memory of a block: `BlockChoice` in the kernel.
    fn lane_bytes(items: usize) -> usize {
        let candidate = size_of::<[i16; 4]>() + size_of::<u32>() * (items + 1);
        (CANDIDATES * candidate).next_multiple_of(align_of::<u64>())
    }
}

/// A kernel, and its groups on two axes.
struct GroupedKernel {
    kernel: KernelObject,
    group: [usize; 2],
}

impl GroupedKernel {
    fn new(
        device: &OpenClDevice,
        program: &Program,
        name: &CStr,
        wanted: [usize; 2],
    ) -> Result<Self, SetupError> {
        let kernel = program.kernel(name).map_err(|error| device.refused(error))?;
        let group = device.group_of(&kernel, wanted)?;
        Ok(Self { kernel, group })
    }

    /// Queues it for at least so many items.
    ///
    /// # Safety
    /// As [`Queue::launch`].
    unsafe fn launch(&mut self, queue: &Queue, args: &[Arg<'_>], items: [usize; 3]) -> cl::Result<Event> {
        let [across, down] = self.group;
        let groups = [items[0].div_ceil(across), items[1].div_ceil(down), items[2]];
        // SAFETY: the caller guarantees it.
        unsafe { queue.launch_after(&mut self.kernel, args, groups, [across, down, 1], &[]) }
    }
}

/// What makes planes of one shape.
struct PlanesKernel {
    kernel: GroupedKernel,
    shape: PlanesShape,
    /// Cells of a row, rows, and planes.
    items: [usize; 3],
}

impl PlanesKernel {
    /// Queues it after all that it needs. `sources` are the points of luma, or the planes of the frames.
    ///
    /// # Safety
    /// `chosen` has the vectors of the blocks of `frame`, and the other buffers the points or planes of such frames.
    unsafe fn launch(
        &mut self,
        queue: &Queue,
        sources: [&Buffer; 2],
        [chosen, made]: [&Buffer; 2],
        frame: &FrameShape,
        both: i32,
    ) -> cl::Result<Event> {
        let [previous, next, chosen, made] = [sources[0], sources[1], chosen, made].map(Arg::Buffer);
        let [frame, planes] = [bytemuck::bytes_of(frame), bytemuck::bytes_of(&self.shape)].map(Arg::Struct);
        let args = [previous, next, chosen, made, frame, planes, Arg::Int(both)];
        // SAFETY: it leaves out items outside the planes, limits positions to the points and to the planes of the
        // frames, and writes rows of planes up to a multiple of their alignment.
        unsafe { self.kernel.launch(queue, &args, self.items) }
    }
}

/// A frame on the device.
pub(super) struct DeviceFrame {
    /// All planes as they came.
    pub(super) planes: Buffer,
    /// Luma at whole and half samples: its eight bits, and all bits if there are more.
    points: Buffer,
    deep_points: Option<Buffer>,
}

impl DeviceFrame {
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let points = |bytes: usize| device.buffer(context, "luma between samples", bytes * layout.points());
        let is_deep = format.samples.depth() > 8;
        Ok(Self {
            planes: device.buffer(context, "the planes of a frame", layout.bytes)?,
            points: points(1)?,
            deep_points: is_deep.then(|| points(2)).transpose()?,
        })
    }

    /// What luma is made from.
    fn luma(&self) -> &Buffer {
        self.deep_points.as_ref().unwrap_or(&self.points)
    }
}

/// The kernels and what they keep between them.
pub(super) struct InterpolationKernels {
    make_points: GroupedKernel,
    clear_projection: GroupedKernel,
    project_costs: GroupedKernel,
    project_firsts: GroupedKernel,
    choose_vectors: KernelObject,
    choice: ChoiceShape,
    compensate_luma: PlanesKernel,
    compensate_chroma: Option<PlanesKernel>,
    /// The field that the search found.
    pub(super) found: Buffer,
    projection: Buffer,
    chosen: Buffer,
    layout: Arc<InterpolationLayout>,
}

impl InterpolationKernels {
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if planes of chroma differ in their sampling, or a limit of the device does not
    /// allow it; [`SetupError::Memory`]; [`SetupError::KernelBuild`].
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        layout: Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let chroma = format.samplings.get(1).copied().unwrap_or(Sampling::LUMA);
        if format.samplings[1..].iter().any(|&sampling| sampling != chroma) {
            return Err(SetupError::DeviceUnsupported {
                wanted: device.name.clone(),
                reason: "it makes frames only if all planes of chroma are sampled alike".into(),
            });
        }
        let choice = ChoiceShape::new(device)?;
        let samples = format!("-D DEPTH={} -D SHIFT={} ", format.samples.depth(), format.samples.shift());
        let build = |file: KernelFile, options: String| {
            let options = samples.clone() + &options;
            program::build_for_four_samples(context, device, NAME, &file.source(), |four| {
                format!("-D FOUR_SAMPLES={four} {options}")
            })
        };
        let ChoiceShape { items, lanes } = choice;
        let (black, lower) = format.samples.levels();
        let options = format!("-D BLACK={black} -D LOWER={lower} -D ITEMS={items} -D LANES={lanes}");
        let interpolation = build(KernelFile::Interpolation, options)?;
        let grouped = |name, group| GroupedKernel::new(device, &interpolation, name, group);
        // Of planes that are sampled alike, from plane `first` on.
        let compensate = |first: usize, count: usize, sampling: Sampling, options: String| {
            let program = build(KernelFile::Compensation, options)?;
            let (width, height) = layout.planes[first].size;
            // Half a cell lies before the first sample.
            let cells = width.div_ceil(block_of(sampling).0 * sampling.pixel()) + 1;
            Ok::<_, SetupError>(PlanesKernel {
                kernel: GroupedKernel::new(device, &program, c"compensate", PLANE_GROUP)?,
                shape: layout.plane_shape(first, sampling.pixel()),
                items: [cells, height, count],
            })
        };
        let of_chroma = format!(
            "-D LUMA=0 -D HALVED_X={} -D HALVED_Y={} -D PIXEL={}",
            u8::from(chroma.halved_x),
            u8::from(chroma.halved_y),
            chroma.pixel()
        );
        let planes = format.samplings.len();
        let blocks = layout.grid.blocks();
        let buffer = |what, bytes| device.buffer(context, what, bytes);
        Ok(Self {
            make_points: grouped(c"make_points", PLANE_GROUP)?,
            clear_projection: grouped(c"clear_projection", LIST_GROUP)?,
            project_costs: grouped(c"project_costs", LIST_GROUP)?,
            project_firsts: grouped(c"project_firsts", LIST_GROUP)?,
            choose_vectors: interpolation.kernel(c"choose_vectors").map_err(|error| device.refused(error))?,
            choice,
            compensate_luma: compensate(0, 1, Sampling::LUMA, "-D LUMA=1".into())?,
            compensate_chroma: (planes > 1)
                .then(|| compensate(1, planes - 1, chroma, of_chroma))
                .transpose()?,
            found: buffer("a field", size_of::<MotionVector>() * layout.found.blocks())?,
            projection: buffer("projected vectors", 2 * size_of::<u32>() * blocks)?,
            chosen: buffer("vectors", size_of::<[i16; 4]>() * blocks)?,
            layout,
        })
    }

    /// Queues what is made of a frame whose planes were loaded, of samples of so many bytes.
    pub(super) fn prepare(
        &mut self,
        queue: &Queue,
        frame: &DeviceFrame,
        sample_bytes: usize,
    ) -> cl::Result<()> {
        let (width, height) = self.layout.point_size();
        let args = [
            Arg::Buffer(&frame.planes),
            Arg::Int((self.layout.planes[0].pitch / sample_bytes) as i32),
            Arg::Buffer(&frame.points),
            Arg::Buffer(frame.luma()),
            Arg::Struct(bytemuck::bytes_of(&self.layout.shape)),
        ];
        // SAFETY: it clamps what it reads to the luma plane, which is the first one, and leaves out items that are not
        // in a plane of points, of which the buffers hold four.
        unsafe { self.make_points.launch(queue, &args, [width / 4, height, 1])? };
        Ok(())
    }

    /// Queues the frame at `phase` between `previous` and `next`, with the field in `found`, whose planes are written to
    /// `made`. Returns the event of its end.
    pub(super) fn make(
        &mut self,
        queue: &Queue,
        [previous, next]: [&DeviceFrame; 2],
        phase: Phase,
        made: &Buffer,
    ) -> cl::Result<Event> {
        let blocks = self.layout.grid.blocks();
        let shape = Arg::Struct(bytemuck::bytes_of(&self.layout.shape));
        let both = phase.previous_weight() as i32;
        let phase = PhaseArg { numerator: phase.numerator() as i32, denominator: phase.denominator() as i32 };
        let phase = Arg::Struct(bytemuck::bytes_of(&phase));
        let [found, projection, chosen] = [&self.found, &self.projection, &self.chosen].map(Arg::Buffer);
        // SAFETY: it leaves out items past the last of two numbers a block, which the buffer holds.
        unsafe { self.clear_projection.launch(queue, &[projection, shape], [2 * blocks, 1, 1])? };
        let args = [found, projection, shape, phase];
        for kernel in [&mut self.project_costs, &mut self.project_firsts] {
            // SAFETY: they leave out items past the last block, read the field of all blocks that the search had, and
            // write to numbers of blocks of the grid alone.
            unsafe { kernel.launch(queue, &args, [blocks, 1, 1])? };
        }
        let ChoiceShape { items, lanes } = self.choice;
        let args = [
            Arg::Buffer(&previous.points),
            Arg::Buffer(&next.points),
            found,
            projection,
            chosen,
            shape,
            phase,
        ];
        // SAFETY: lanes past the last block repeat its work and write nothing; blocks around are limited to the grid, and
        // so are positions to the points.
        unsafe {
            queue.launch(&mut self.choose_vectors, &args, [blocks.div_ceil(lanes)], [items * lanes])?;
        }
        let (vectors, frame) = ([&self.chosen, made], &self.layout.shape);
        let luma = [previous.luma(), next.luma()];
        // SAFETY: the vectors are those of this frame shape, and so are the frames and `made`.
        let end = unsafe { self.compensate_luma.launch(queue, luma, vectors, frame, both)? };
        let Some(chroma) = &mut self.compensate_chroma else { return Ok(end) };
        let planes = [&previous.planes, &next.planes];
        // SAFETY: as above.
        unsafe { chroma.launch(queue, planes, vectors, frame, both) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_fits_the_least_local_memory() {
        assert!(BLOCK * ChoiceShape::lane_bytes(BLOCK) <= 32 << 10);
    }
}

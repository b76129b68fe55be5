//! The kernels that make frames (`kernels/interpolation.cl`, `compensation.cl`, `mixing.cl`), their buffers and their launches.

use std::sync::Arc;

use super::groups::{ChoiceShape, GroupedKernel, PLANE_GROUP, candidates};
use super::kernel_file::{self, KernelFile, points_of_item};
use super::layout::{FrameShape, InterpolationLayout, PlanesShape};
use super::patches::{DevicePatches, PatchKernel, PatchedPlanes};
use super::projection::{DeviceField, PhaseArg, ProjectionKernels};
use super::weighting::{LoneEndBuffers, WeightingKernels};
use crate::compensation::Sampling;
use crate::interpolation::{FrameFormat, FrameQuality, Patch, Phase, block_of};
use motion_base::SetupError;
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, Event, KernelObject, Queue};
use motion_gpu::program;

/// What an error calls these kernels.
pub(super) const NAME: &str = "interpolation";

/// What makes planes of one shape.
struct PlanesKernel {
    kernel: GroupedKernel,
    /// Of the first of them, if they are several.
    shape: PlanesShape,
    /// Cells of a row, rows, and planes.
    items: [usize; 3],
}

impl PlanesKernel {
    /// Queues it after all that it needs, for planes of `shape`. `sources` are the points of luma, or the planes of the frames.
    ///
    /// # Safety
    /// `vectors` are what its kernel reads of the blocks of `frame`, and the other buffers have the points or planes of such
    /// frames.
    unsafe fn launch(
        &mut self,
        queue: &Queue,
        sources: [&Buffer; 2],
        (vectors, made): (&[&Buffer], &Buffer),
        (frame, shape): (&FrameShape, &PlanesShape),
        numbers: &[i32],
    ) -> launcher::Result<()> {
        let buffers = sources.iter().chain(vectors).copied().chain([made]).map(Arg::Buffer);
        let structures = [bytemuck::bytes_of(frame), bytemuck::bytes_of(shape)].map(Arg::Struct);
        let numbers = numbers.iter().copied().map(Arg::Int);
        let args: Vec<_> = buffers.chain(structures).chain(numbers).collect();
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
    /// The same of the other planes that are predicted as luma is, of all bits alone.
    like_luma: Vec<Buffer>,
    /// Chroma that is compared.
    chroma: Option<Buffer>,
}

impl DeviceFrame {
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        quality: FrameQuality,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let points = |bytes: usize| device.buffer(context, "luma between samples", bytes * layout.points());
        let is_deep = format.samples.depth() > 8;
        let (columns, rows) = layout.chroma_size();
        let chroma = || device.buffer(context, "chroma that is compared", 2 * columns * rows);
        Ok(Self {
            planes: device.buffer(context, "the planes of a frame", layout.bytes)?,
            points: points(1)?,
            deep_points: is_deep.then(|| points(2)).transpose()?,
            like_luma: (1..layout.like_luma.len())
                .map(|_| points(if is_deep { 2 } else { 1 }))
                .collect::<Result<_, _>>()?,
            chroma: compares_chroma(format, quality).then(chroma).transpose()?,
        })
    }

    /// What luma is made from.
    fn luma(&self) -> &Buffer {
        self.deep_points.as_ref().unwrap_or(&self.points)
    }

    /// What all planes are made from that are predicted as luma is.
    fn all_luma(&self) -> impl Iterator<Item = &Buffer> {
        std::iter::once(self.luma()).chain(&self.like_luma)
    }
}

/// The pairs of frames that are kept, of each a field. A vector has as many matches.
fn fields(quality: FrameQuality) -> usize {
    if quality == FrameQuality::High { 3 } else { 1 }
}

/// The frames that are kept.
pub(super) fn kept_frames(quality: FrameQuality) -> usize {
    fields(quality) + 1
}

/// Whether vectors are chosen by chroma too.
fn compares_chroma(format: &FrameFormat, quality: FrameQuality) -> bool {
    quality != FrameQuality::Fast && format.samplings.len() > 1
}

/// The frames that a frame is made from.
pub(super) struct FramesAround<'a> {
    /// The previous frame, and the next one.
    pub(super) pair: [&'a DeviceFrame; 2],
    /// The number of their field.
    pub(super) field: usize,
    /// The frames before and after, if they count.
    pub(super) neighbours: Option<[&'a DeviceFrame; 2]>,
}

/// The kernels and what they keep between them.
pub(super) struct InterpolationKernels {
    make_points: GroupedKernel,
    points_of_item: usize,
    make_chroma: Option<GroupedKernel>,
    projection: ProjectionKernels,
    choose_vectors: KernelObject,
    choice: ChoiceShape,
    /// Unless with [`FrameQuality::Fast`].
    weighting: Option<WeightingKernels>,
    compensate_luma: PlanesKernel,
    /// Of the other planes, each for those behind each other that are sampled alike.
    compensate_chroma: Vec<PlanesKernel>,
    /// Of the pairs of frames that are kept, the newest first.
    fields: Vec<DeviceField>,
    /// With [`FrameQuality::High`], the projection of a field to its second frame.
    costs_at_next: Option<Buffer>,
    chosen: Buffer,
    draw_patch: PatchKernel,
    /// All planes, those together that follow each other and are sampled alike.
    patched: Vec<PatchedPlanes>,
    /// The newest pair first.
    patches: Vec<DevicePatches>,
    layout: Arc<InterpolationLayout>,
}

impl InterpolationKernels {
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if the first two planes of chroma differ in their sampling, or a limit of the device does not
    /// allow it; [`SetupError::Memory`]; [`SetupError::KernelBuild`].
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        quality: FrameQuality,
        layout: Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let chroma = format.samplings.get(1).copied().unwrap_or(Sampling::LUMA);
        if format.samplings[1..].iter().take(2).any(|&sampling| sampling != chroma) && !chroma.interleaved {
            return Err(SetupError::DeviceUnsupported {
                wanted: device.name.clone(),
                reason: "it makes frames only if the first two planes of chroma are sampled alike".into(),
            });
        }
        let is_high = quality == FrameQuality::High;
        let fields = fields(quality);
        let choice = ChoiceShape::new(device, fields)?;
        let samples = kernel_file::options(device, format.samples) + " ";
        let build = |file: KernelFile, options: String| {
            let options = samples.clone() + &options;
            program::build_for_four_samples(context, device, NAME, &file.source(), |four| {
                format!("-D FOUR_SAMPLES={four} {options}")
            })
        };
        let ChoiceShape { items, lanes } = choice;
        let (black, lower) = format.samples.levels();
        let high = format!("-D HIGH={}", u8::from(is_high));
        let shared = format!("-D ITEMS={items} -D LANES={lanes} {high}");
        let planes_count = format.samplings.len();
        let components =
            if compares_chroma(format, quality) { chroma.pixel().max(planes_count - 1).min(2) } else { 0 };
        let of_sampling = |sampling: Sampling| {
            format!(
                "-D HALVED_X={} -D HALVED_Y={} -D PIXEL={}",
                u8::from(sampling.halved_x),
                u8::from(sampling.halved_y),
                sampling.pixel()
            )
        };
        let of_chroma = of_sampling(chroma);
        let options =
            format!("-D BLACK={black} -D LOWER={lower} -D COMPONENTS={components} {of_chroma} {shared}");
        let interpolation = build(KernelFile::Interpolation, options)?;
        let grouped = |name| GroupedKernel::new(device, &interpolation, name, PLANE_GROUP);
        // Of planes that are sampled alike, from plane `first` on.
        let compensate = |first: usize, count: usize, sampling: Sampling, options: String| {
            let (width, height) = layout.planes[first].size;
            let blocks = width.div_ceil(block_of(sampling).0 * sampling.pixel());
            let (file, name, cells) = match quality {
                // Half a cell lies before the first sample.
                FrameQuality::Fast => (KernelFile::Compensation, c"compensate", blocks + 1),
                FrameQuality::Balanced | FrameQuality::High => (KernelFile::Mixing, c"mix_planes", blocks),
            };
            let program = build(file, options + " " + &high)?;
            Ok::<_, SetupError>(PlanesKernel {
                kernel: GroupedKernel::new(device, &program, name, PLANE_GROUP)?,
                shape: layout.plane_shape(first, sampling.pixel()),
                items: [cells, height, count],
            })
        };
        let mut compensate_chroma = Vec::new();
        let is_luma = |index: &usize| layout.like_luma.contains(index);
        let others: Vec<_> = (1..planes_count).filter(|index| !is_luma(index)).collect();
        let are_alike = |a: &usize, b: &usize| a + 1 == *b && format.samplings[*a] == format.samplings[*b];
        for alike in others.chunk_by(are_alike) {
            let sampling = format.samplings[alike[0]];
            let options = format!("-D LUMA=0 {}", of_sampling(sampling));
            compensate_chroma.push(compensate(alike[0], alike.len(), sampling, options)?);
        }
        let weighting = match quality {
            FrameQuality::Fast => None,
            FrameQuality::Balanced | FrameQuality::High => {
                let program = build(KernelFile::Weighting, shared)?;
                Some(WeightingKernels::new(context, device, &program, choice, fields, &layout)?)
            }
        };
        let all_planes: Vec<_> = (0..planes_count).collect();
        let patched = all_planes.chunk_by(are_alike).map(|alike| {
            let (sampling, (width, height)) = (format.samplings[alike[0]], layout.planes[alike[0]].size);
            let size = [width / sampling.pixel(), height, alike.len()];
            PatchedPlanes { shape: layout.plane_shape(alike[0], sampling.pixel()), sampling, size }
        });
        let blocks = layout.grid.blocks();
        let field = |_| DeviceField::new(context, device, &layout);
        let costs = || DeviceField::projection(context, device, &layout);
        Ok(Self {
            make_points: grouped(c"make_points")?,
            points_of_item: points_of_item(device),
            make_chroma: (components > 0).then(|| grouped(c"make_chroma")).transpose()?,
            projection: ProjectionKernels::new(device, &interpolation, &layout)?,
            choose_vectors: interpolation.kernel(c"choose_vectors").map_err(|error| device.refused(error))?,
            choice,
            weighting,
            compensate_luma: compensate(0, 1, Sampling::LUMA, "-D LUMA=1".into())?,
            compensate_chroma,
            draw_patch: PatchKernel::new(device, &interpolation, layout.halvings, format.samples.bytes())?,
            patched: patched.collect(),
            patches: (0..fields).map(|_| DevicePatches::new(context, device)).collect::<Result<_, _>>()?,
            fields: (0..fields).map(field).collect::<Result<_, _>>()?,
            costs_at_next: is_high.then(costs).transpose()?,
            chosen: device.buffer(context, "vectors", size_of::<[i16; 4]>() * blocks)?,
            layout,
        })
    }

    /// Queues what is made of a frame whose planes were loaded, of samples of so many bytes.
    pub(super) fn prepare(
        &mut self,
        queue: &Queue,
        frame: &DeviceFrame,
        sample_bytes: usize,
    ) -> launcher::Result<()> {
        let (width, height) = self.layout.point_size();
        // Luma comes last: the eight bits of the others are overwritten.
        let points = self.layout.like_luma.iter().zip(frame.all_luma()).collect::<Vec<_>>();
        for (&index, points) in points.into_iter().rev() {
            let plane = self.layout.plane_shape(index, 1);
            let eight_bits = if frame.deep_points.is_some() { &frame.points } else { points };
            let args = [
                Arg::Buffer(&frame.planes),
                Arg::Struct(bytemuck::bytes_of(&plane)),
                Arg::Int((self.layout.planes[index].pitch / sample_bytes) as i32),
                Arg::Buffer(eight_bits),
                Arg::Buffer(points),
                self.layout.shape.arg(),
            ];
            // SAFETY: it clamps what it reads to the plane, which has luma's size, and leaves out items that are not in a plane
            // of points, of which the buffers hold four.
            unsafe { self.make_points.launch(queue, &args, [width / self.points_of_item, height, 1])? };
        }
        if let (Some(kernel), Some(chroma), Some(planes)) =
            (&mut self.make_chroma, &frame.chroma, self.compensate_chroma.first())
        {
            let [frame_shape, shape] =
                [bytemuck::bytes_of(&self.layout.shape), bytemuck::bytes_of(&planes.shape)].map(Arg::Struct);
            let args = [Arg::Buffer(&frame.planes), Arg::Buffer(chroma), frame_shape, shape];
            let (columns, rows) = self.layout.chroma_size();
            // SAFETY: it limits what it reads to the planes of chroma, and leaves out items that are not in the buffer.
            unsafe { kernel.launch(queue, &args, [columns, rows, 1])? };
        }
        Ok(())
    }

    /// Makes the field of the newest pair that of the pair before, and the place of the oldest one free.
    pub(super) fn advance(&mut self) {
        self.fields.rotate_right(1);
        self.patches.rotate_right(1);
        self.patches[0].clear();
    }

    /// Takes the patches of the newest pair, and writes their masks to `bytes`: returns where these are uploaded to, and how many
    /// there are.
    pub(super) fn set_patches(&mut self, patches: &[Patch], bytes: &mut [u8]) -> (&Buffer, usize) {
        self.patches[0].set(patches, bytes)
    }

    /// Where the field of the newest pair is.
    pub(super) fn newest_field(&self) -> &Buffer {
        &self.fields[0].found
    }

    /// Queues the frame at `phase` between a pair of frames, whose planes are written to `made`. Returns the event of its end.
    pub(super) fn make(
        &mut self,
        queue: &Queue,
        frames: &FramesAround<'_>,
        phase: Phase,
        made: &Buffer,
    ) -> launcher::Result<Event> {
        let FramesAround { pair: [previous, next], field, neighbours } = *frames;
        let (shape, blocks) = (&self.layout.shape, self.layout.grid.blocks());
        // The fields of the pairs before and after; any, unless they count.
        let around = neighbours.map_or([field; 2], |_| [field + 1, field - 1]);
        let counted = if neighbours.is_some() { 3 } else { 1 };
        for (field, later) in [(field, 0), (around[0], 1), (around[1], -1)].into_iter().take(counted) {
            self.projection.project(queue, &self.fields[field], shape, PhaseArg::new(phase, later))?;
        }
        let mut numbers = vec![phase.previous_weight() as i32];
        let time = phase;
        let phase = PhaseArg::new(phase, 0);
        let ChoiceShape { items, lanes } = self.choice;
        let mut args = vec![Arg::Buffer(&previous.points), Arg::Buffer(&next.points)];
        args.extend(self.fields[field].args());
        args.extend([Arg::Buffer(&self.chosen), shape.arg(), phase.arg()]);
        args.push(Arg::Int(candidates(counted) as i32));
        if self.costs_at_next.is_some() {
            args.extend(around.into_iter().flat_map(|field| self.fields[field].args()));
        }
        args.extend([previous, next].into_iter().flat_map(|frame| &frame.chroma).map(Arg::Buffer));
        // SAFETY: lanes past the last block repeat its work and write nothing; blocks around are limited to the grid, and
        // so are positions to the points.
        unsafe {
            queue.launch(&mut self.choose_vectors, &args, [blocks.div_ceil(lanes)], [items * lanes])?;
        }
        let mut lone_ends = None;
        if let Some(costs) = &self.costs_at_next {
            let found = &self.fields[field].found;
            if neighbours.is_some() {
                self.projection.project_costs(queue, [found, costs], shape, PhaseArg::SECOND)?;
            }
            let around = neighbours.unwrap_or([previous, next]).map(|frame| &frame.points);
            let has_neighbours = neighbours.is_some();
            numbers.push(i32::from(has_neighbours));
            lone_ends = Some(LoneEndBuffers { around, has_neighbours, found, costs });
        }
        let mut vectors = vec![&self.chosen];
        if let Some(weighting) = &mut self.weighting {
            let points = [&previous.points, &next.points];
            weighting.weigh(queue, points, &self.chosen, lone_ends, shape)?;
            vectors.extend(weighting.written());
        }
        for (&index, luma) in self.layout.like_luma.iter().zip(previous.all_luma().zip(next.all_luma())) {
            let plane = self.layout.plane_shape(index, 1);
            let (luma, shapes) = ([luma.0, luma.1], (shape, &plane));
            // SAFETY: the vectors are those of this frame shape, and so are the frames and `made`.
            unsafe { self.compensate_luma.launch(queue, luma, (&vectors, made), shapes, &numbers)? };
        }
        for chroma in &mut self.compensate_chroma {
            let (planes, of_chroma) = ([&previous.planes, &next.planes], chroma.shape);
            let shapes = (shape, &of_chroma);
            // SAFETY: as above.
            unsafe { chroma.launch(queue, planes, (&vectors, made), shapes, &numbers)? };
        }
        let frames = [&previous.planes, &next.planes];
        for planes in &self.patched {
            self.draw_patch.draw(queue, &self.patches[field], time, frames, (planes, made))?;
        }
        queue.marker()
    }
}

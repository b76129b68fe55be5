//! The kernels that take the noise out of frames (`kernels/denoising.cl`), their buffers and their launches.

use std::mem::size_of;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::groups::{GroupedKernel, PLANE_GROUP};
use super::kernel_file::{self, KernelFile, is_cpu, points_of_item};
use super::layout::{InterpolationLayout, PlanesShape};
use crate::compensation::Sampling;
use crate::denoising::{
    Average, BlockNoise, ChromaBlock, ChromaError, LumaBlock, LumaError, MOST_REFERENCES, step_of_asked,
};
use crate::interpolation::{BLOCK, FrameFormat, block_of};
use motion_base::SetupError;
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, Program, Queue};
use motion_gpu::program;

/// What an error calls these kernels.
const NAME: &str = "denoising";

/// Bytes of `RowMoments` in `denoising.cl`.
const ROW_MOMENTS: usize = 16;

/// Field for field `Comparison` in `denoising.cl`.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct FrameComparison {
    reference: [i32; MOST_REFERENCES],
    step: i32,
    is_refined: i32,
    planes: i32,
}

impl FrameComparison {
    /// With the other frames that have these numbers.
    fn with(self, references: &[usize]) -> Self {
        let number = |at: usize| references.get(at).map_or(0, |reference| *reference as i32);
        Self { reference: std::array::from_fn(number), ..self }
    }
}

/// A frame on the device.
pub(super) struct FrameOnDevice {
    /// All planes as they came.
    pub(super) planes: Buffer,
    /// Luma at whole and half samples, of all bits.
    points: Buffer,
}

impl FrameOnDevice {
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let points = format.samples.bytes() * layout.points();
        Ok(Self {
            planes: device.buffer(context, "the planes of a frame", layout.bytes)?,
            points: device.buffer(context, "luma between samples", points)?,
        })
    }
}

/// What was measured of the blocks of a frame, and their noise.
pub(super) struct MeasuredBuffers<'a> {
    pub(super) luma_blocks: &'a Buffer,
    pub(super) luma_errors: &'a Buffer,
    pub(super) of_other_light: &'a Buffer,
    pub(super) chroma_blocks: &'a Buffer,
    pub(super) chroma_errors: &'a Buffer,
    pub(super) noise: &'a Buffer,
}

/// The kernels of chroma.
struct ChromaKernels {
    measure: GroupedKernel,
    compare: GroupedKernel,
    average: GroupedKernel,
    /// The first of its planes.
    plane: PlanesShape,
    planes: usize,
    sampling: Sampling,
    blocks: Buffer,
    errors: Buffer,
    averages: Buffer,
}

/// The kernels, and what they keep between them.
pub(super) struct DenoisingKernels {
    compare_frames: GroupedKernel,
    make_points: GroupedKernel,
    measure: GroupedKernel,
    compare: GroupedKernel,
    refine: GroupedKernel,
    weigh: GroupedKernel,
    average: GroupedKernel,
    smooth: GroupedKernel,
    chroma: Option<ChromaKernels>,
    luma: PlanesShape,
    sample_bytes: usize,
    /// Whether the device is a CPU, and points of each plane that an item makes.
    on_cpu: bool,
    points_of_item: usize,
    blocks: Buffer,
    /// In how many blocks each other frame is brighter or darker.
    of_other_light: Buffer,
    /// The vectors of the blocks of the search frame.
    pub(super) found: Buffer,
    vectors: Buffer,
    errors: Buffer,
    averages: Buffer,
    /// Of the rows of cells of luma.
    moments: Buffer,
    /// The noise of the blocks.
    pub(super) noise: Buffer,
    /// The noise is told by every so many blocks.
    step: usize,
    layout: Arc<InterpolationLayout>,
}

impl DenoisingKernels {
    /// For frames of `format` that are averaged with at most `references` others.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if planes of chroma differ in their sampling; [`SetupError::Memory`];
    /// [`SetupError::KernelBuild`].
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        references: usize,
        layout: Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let of_chroma = &format.samplings[1..];
        if of_chroma.windows(2).any(|beside| beside[0] != beside[1]) {
            return Err(SetupError::DeviceUnsupported {
                wanted: device.name.clone(),
                reason: "it takes the noise out of frames only if all planes of chroma are sampled alike"
                    .into(),
            });
        }
        let samples = format.samples;
        let build = |options: String| {
            let source = KernelFile::Denoising.source();
            let options = format!("{} {options}", kernel_file::options(device, samples));
            program::build_for_four_samples(context, device, NAME, &source, |four| {
                format!("-D FOUR_SAMPLES={four} {options}")
            })
        };
        let grouped = |program: &Program, name| GroupedKernel::new(device, program, name, PLANE_GROUP);
        let (blocks, references) = (layout.grid.blocks(), references.max(1));
        let buffer = |what, count: usize, bytes: usize| device.buffer(context, what, count * bytes);
        let luma = build("-D LUMA=1 -D ALL_BITS_ALONE=1".into())?;
        let chroma = of_chroma.first().map(|&sampling| {
            let [x, y] = [sampling.halved_x, sampling.halved_y].map(u8::from);
            let pixel = sampling.pixel();
            let program = build(format!("-D LUMA=0 -D HALVED_X={x} -D HALVED_Y={y} -D PIXEL={pixel}"))?;
            Ok::<_, SetupError>(ChromaKernels {
                measure: grouped(&program, c"measure_chroma")?,
                compare: grouped(&program, c"compare_chroma")?,
                average: grouped(&program, c"average_chroma")?,
                plane: layout.plane_shape(1, pixel),
                planes: of_chroma.len(),
                sampling,
                blocks: buffer("the blocks of chroma", blocks, size_of::<ChromaBlock>())?,
                errors: buffer("the errors of chroma", blocks * references, size_of::<ChromaError>())?,
                averages: buffer("the weights of chroma", blocks, size_of::<Average>())?,
            })
        });
        let cells = (layout.grid.columns + 1) * (layout.grid.rows + 1);
        Ok(Self {
            compare_frames: grouped(&luma, c"compare_frames")?,
            make_points: grouped(&luma, c"make_points")?,
            measure: grouped(&luma, c"measure_luma")?,
            compare: grouped(&luma, c"compare_luma")?,
            refine: grouped(&luma, c"refine")?,
            weigh: grouped(&luma, c"weigh")?,
            average: grouped(&luma, c"average_luma")?,
            smooth: grouped(&luma, c"smooth_luma")?,
            chroma: chroma.transpose()?,
            luma: layout.plane_shape(0, 1),
            sample_bytes: samples.bytes(),
            on_cpu: is_cpu(device),
            points_of_item: points_of_item(device),
            blocks: buffer("the blocks of luma", blocks, size_of::<LumaBlock>())?,
            of_other_light: buffer("numbers", MOST_REFERENCES, size_of::<u32>())?,
            found: buffer(
                "the vectors of the search",
                layout.found.blocks() * references,
                size_of::<[i32; 2]>(),
            )?,
            vectors: buffer("the vectors of blocks", blocks * references, size_of::<[i32; 2]>())?,
            errors: buffer("the errors of luma", blocks * references, size_of::<LumaError>())?,
            averages: buffer("the weights of luma", blocks, size_of::<Average>())?,
            moments: buffer("sums of cells", cells * BLOCK, ROW_MOMENTS)?,
            noise: buffer("the noise of blocks", blocks, size_of::<BlockNoise>())?,
            step: step_of_asked(blocks),
            layout,
        })
    }

    /// Queues what is made of a frame whose planes were loaded.
    pub(super) fn prepare(&mut self, queue: &Queue, frame: &FrameOnDevice) -> launcher::Result<()> {
        let (width, height) = self.layout.point_size();
        let pitch = self.layout.planes[0].pitch / self.sample_bytes;
        let points = Arg::Buffer(&frame.points);
        let luma = Arg::Struct(bytemuck::bytes_of(&self.luma));
        let planes = Arg::Buffer(&frame.planes);
        let args = [planes, luma, Arg::Int(pitch as i32), points, points, self.layout.shape.arg()];
        // SAFETY: it clamps what it reads to the plane, and leaves out items that are not in a plane of points, of which the
        // buffer holds four.
        unsafe { self.make_points.launch(queue, &args, [width / self.points_of_item, height, 1]) }
    }

    /// Queues the comparison of two frames: if they differ, `differed` becomes `number`.
    pub(super) fn compare_frames(
        &mut self,
        queue: &Queue,
        [frame, other]: [&FrameOnDevice; 2],
        number: u32,
        differed: &Buffer,
    ) -> launcher::Result<()> {
        let luma = (&self.luma, 1);
        let chroma = self.chroma.as_ref().map(|chroma| (&chroma.plane, chroma.planes));
        for (index, (plane, count)) in std::iter::once(luma).chain(chroma).enumerate() {
            let args = [
                Arg::Buffer(&frame.planes),
                Arg::Buffer(&other.planes),
                Arg::Struct(bytemuck::bytes_of(plane)),
                Arg::Int(number as i32),
                Arg::Buffer(differed),
            ];
            let place = self.layout.planes[index];
            // SAFETY: items outside the planes are left out, and rows end at multiples of eight bytes in them.
            unsafe { self.compare_frames.launch(queue, &args, [place.pitch / 8, place.size.1, count])? };
        }
        Ok(())
    }

    /// Blocks of a row, and rows.
    fn items(&self) -> [usize; 3] {
        [self.layout.grid.columns, self.layout.grid.rows, 1]
    }

    /// Of a cell with so many rows those that an item averages: `ROWS_OF_ITEM` in `denoising.cl`.
    fn rows_of_item(&self, rows: usize) -> usize {
        if self.on_cpu { rows } else { 1 }
    }

    /// Queues the measurement of the blocks of `frame`, and of their errors from those of `others` that are `beside` it, by their
    /// numbers: what tells the noise.
    pub(super) fn measure(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        beside: &[usize],
    ) -> launcher::Result<()> {
        let items = self.items();
        let args = [
            Arg::Buffer(&frame.points),
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&self.luma)),
            Arg::Buffer(&self.blocks),
            Arg::Buffer(&self.of_other_light),
        ];
        // SAFETY: items that are no blocks are left out; positions are limited to the points, and of each block the buffers
        // hold what is written.
        unsafe { self.measure.launch(queue, &args, items)? };
        if let Some(chroma) = &mut self.chroma {
            let args = [
                Arg::Buffer(&frame.planes),
                self.layout.shape.arg(),
                Arg::Struct(bytemuck::bytes_of(&chroma.plane)),
                Arg::Int(chroma.planes as i32),
                Arg::Buffer(&chroma.blocks),
            ];
            // SAFETY: as above, with positions that are limited to the planes.
            unsafe { chroma.measure.launch(queue, &args, items)? };
        }
        self.compare_luma(queue, frame, others, beside)?;
        let comparison = FrameComparison { step: self.step as i32, ..FrameComparison::default() };
        self.compare_chroma(queue, frame, others, beside, comparison)
    }

    /// Queues the errors from those of `others`, from number `first` on, that are not `beside` it.
    pub(super) fn measure_others(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        first: usize,
        beside: &[usize],
    ) -> launcher::Result<()> {
        let references = (first..others.len()).filter(|reference| !beside.contains(reference));
        self.compare_luma(queue, frame, others, &references.collect::<Vec<_>>())
    }

    /// Queues the comparison of luma with those of `others` that have these numbers.
    fn compare_luma(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        references: &[usize],
    ) -> launcher::Result<()> {
        if references.is_empty() {
            return Ok(());
        }
        let [columns, rows, _] = self.items();
        let comparison = FrameComparison::default().with(references);
        let mut args = vec![Arg::Buffer(&frame.points)];
        args.extend(of_others(frame, others, |other| &other.points));
        args.extend([
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&self.luma)),
            Arg::Struct(bytemuck::bytes_of(&comparison)),
            Arg::Buffer(&self.blocks),
            Arg::Buffer(&self.found),
            Arg::Buffer(&self.errors),
            Arg::Buffer(&self.of_other_light),
        ]);
        // SAFETY: as in `measure`; of each other frame the buffers hold vectors and errors.
        unsafe { self.compare.launch(queue, &args, [columns, rows, references.len()]) }
    }

    /// The same of chroma, if there is some.
    fn compare_chroma(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        references: &[usize],
        comparison: FrameComparison,
    ) -> launcher::Result<()> {
        let [columns, rows, _] = self.items();
        let Some(chroma) = self.chroma.as_mut().filter(|_| !references.is_empty()) else { return Ok(()) };
        let comparison = FrameComparison { planes: chroma.planes as i32, ..comparison }.with(references);
        let mut args = vec![Arg::Buffer(&frame.planes)];
        args.extend(of_others(frame, others, |other| &other.planes));
        args.extend([
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&chroma.plane)),
            Arg::Struct(bytemuck::bytes_of(&comparison)),
            Arg::Buffer(&self.found),
            Arg::Buffer(&self.vectors),
            Arg::Buffer(&self.noise),
            Arg::Buffer(&chroma.errors),
        ]);
        // SAFETY: as in `compare_luma`.
        unsafe { chroma.compare.launch(queue, &args, [columns, rows, references.len()]) }
    }

    /// What was measured of the blocks.
    pub(super) fn measured(&self) -> MeasuredBuffers<'_> {
        let chroma = self.chroma.as_ref();
        MeasuredBuffers {
            luma_blocks: &self.blocks,
            luma_errors: &self.errors,
            of_other_light: &self.of_other_light,
            // Without chroma they are not read.
            chroma_blocks: chroma.map_or(&self.blocks, |chroma| &chroma.blocks),
            chroma_errors: chroma.map_or(&self.errors, |chroma| &chroma.errors),
            noise: &self.noise,
        }
    }

    /// Queues the refinement of vectors and the weights, of what was measured and of the noise. Of that
    /// `strength` 64ths are taken out, and what time leaves, too, if `is_spatial`.
    pub(super) fn weigh(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        (strength, is_spatial): (u32, bool),
    ) -> launcher::Result<()> {
        let items = self.items();
        let mut args = vec![Arg::Buffer(&frame.points)];
        args.extend(of_others(frame, others, |other| &other.points));
        args.extend([
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&self.luma)),
            Arg::Buffer(&self.blocks),
            Arg::Buffer(&self.found),
            Arg::Buffer(&self.errors),
            Arg::Buffer(&self.of_other_light),
            Arg::Buffer(&self.noise),
            Arg::Buffer(&self.vectors),
        ]);
        // SAFETY: as in `compare_luma`; neighbours are limited to the vectors that were found.
        unsafe { self.refine.launch(queue, &args, [items[0], items[1], others.len()])? };
        let references: Vec<_> = (0..others.len()).collect();
        let comparison = FrameComparison { is_refined: 1, ..FrameComparison::default() };
        self.compare_chroma(queue, frame, others, &references, comparison)?;
        let no_chroma = PlanesShape::default();
        let (plane, halved, components, errors, averages) = match &self.chroma {
            Some(ChromaKernels { plane, planes, sampling, errors, averages, .. }) => {
                let halved = [sampling.halved_x, sampling.halved_y].map(i32::from);
                (plane, halved, planes * sampling.pixel(), errors, averages)
            }
            // Without components neither is used.
            None => (&no_chroma, [0; 2], 0, &self.errors, &self.averages),
        };
        let args = [
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(plane)),
            Arg::Int(halved[0]),
            Arg::Int(halved[1]),
            Arg::Int(components as i32),
            Arg::Int(others.len() as i32),
            Arg::Int(strength as i32),
            Arg::Int(is_spatial.into()),
            Arg::Buffer(&self.of_other_light),
            Arg::Buffer(&self.noise),
            Arg::Buffer(&self.errors),
            Arg::Buffer(errors),
            Arg::Buffer(&self.averages),
            Arg::Buffer(averages),
        ];
        // SAFETY: items that are no blocks are left out; of each block and other frame the buffers hold what is read.
        unsafe { self.weigh.launch(queue, &args, items) }
    }

    /// Queues the means, as weighed, which are written to `made`.
    pub(super) fn average(
        &mut self,
        queue: &Queue,
        frame: &FrameOnDevice,
        others: &[&FrameOnDevice],
        made: &Buffer,
    ) -> launcher::Result<()> {
        let (grid, rows) = (self.layout.grid, self.rows_of_item(BLOCK));
        let mut args = vec![Arg::Buffer(&frame.points)];
        args.extend(of_others(frame, others, |other| &other.points));
        args.extend([
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&self.luma)),
            Arg::Int(others.len() as i32),
            Arg::Buffer(&self.vectors),
            Arg::Buffer(&self.errors),
            Arg::Buffer(&self.of_other_light),
            Arg::Buffer(&self.averages),
            Arg::Buffer(&self.moments),
            Arg::Buffer(made),
        ]);
        // SAFETY: items outside the cells are left out, positions are limited to the points, and rows are written up to a
        // multiple of their alignment.
        unsafe { self.average.launch(queue, &args, [grid.columns + 1, BLOCK / rows * (grid.rows + 1), 1])? };
        let args = [
            Arg::Buffer(&frame.points),
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&self.luma)),
            Arg::Buffer(&self.averages),
            Arg::Buffer(&self.moments),
            Arg::Buffer(made),
        ];
        let height = self.layout.planes[0].size.1 + BLOCK / 2;
        // SAFETY: as above; of each cell there are moments.
        unsafe { self.smooth.launch(queue, &args, [grid.columns + 1, height.div_ceil(rows), 1])? };
        let on_cpu = self.on_cpu;
        let Some(ChromaKernels { average, plane, planes, sampling, averages, .. }) = &mut self.chroma else {
            return Ok(());
        };
        let mut args = vec![Arg::Buffer(&frame.planes)];
        args.extend(of_others(frame, others, |other| &other.planes));
        args.extend([
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(plane)),
            Arg::Int(others.len() as i32),
            Arg::Buffer(&self.vectors),
            Arg::Buffer(averages),
            Arg::Buffer(made),
        ]);
        let rows = if on_cpu { grid.rows } else { grid.rows * block_of(*sampling).1 };
        // SAFETY: as above, with positions that are limited to the planes.
        unsafe { average.launch(queue, &args, [grid.columns, rows, *planes]) }
    }
}

/// A buffer of each of `others`, as many as kernels get: behind the last one again that one, or that of `frame` if there is none.
fn of_others<'a>(
    frame: &'a FrameOnDevice,
    others: &[&'a FrameOnDevice],
    buffer: impl Fn(&'a FrameOnDevice) -> &'a Buffer,
) -> [Arg<'a>; MOST_REFERENCES] {
    let nearest = |index: usize| others.get(index).or(others.last()).copied().unwrap_or(frame);
    std::array::from_fn(|index| Arg::Buffer(buffer(nearest(index))))
}

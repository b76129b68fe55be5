//! The kernels that estimate the noise of frames (`kernels/noise.cl`), their buffers and their launches.

use std::mem::size_of;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::denoising::MeasuredBuffers;
use super::groups::{GroupedKernel, LIST_GROUP, PLANE_GROUP};
use super::kernel_file::{self, KernelFile};
use super::layout::InterpolationLayout;
use crate::denoising::{NoiseMap, SHADES, step_of_asked};
use crate::interpolation::{FrameFormat, block_of};
use motion_base::SetupError;
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject, Queue};
use motion_gpu::program;

/// What an error calls these kernels.
const NAME: &str = "noise";

/// The frames beside a frame, which tell its noise: `BESIDE` in `noise.cl`.
pub(super) const BESIDE: usize = 2;

/// Bytes of `FrameTold` in `noise.cl`.
const FRAME_TOLD: usize = size_of::<u64>() * (SHADES + 2) + 4 * size_of::<u32>();

/// The most items of a group that sums up a frame, and those of one that tells the noise of an area.
const MOST_ITEMS: usize = 256;
const AREA_ITEMS: usize = 32;

/// Field for field `AskedBlocks` in `noise.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct AskedBlocks {
    columns: i32,
    rows: i32,
    step: i32,
    references: i32,
    reference: [i32; BESIDE],
    previous: i32,
    next: i32,
    is_first: i32,
    chroma_samples: i32,
}

/// A frame beside the one whose noise is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// Its number among the frames that the device compares.
    pub(super) reference: usize,
    /// Whether it comes before.
    pub(super) is_previous: bool,
}

/// The kernels, and what they keep between them.
pub(super) struct NoiseKernels {
    tell_luma: GroupedKernel,
    sum_up_luma: KernelObject,
    tell_areas: KernelObject,
    follow_areas: GroupedKernel,
    luma_noise: GroupedKernel,
    tell_chroma: GroupedKernel,
    sum_up_chroma: KernelObject,
    chroma_noise: GroupedKernel,
    known_noise: GroupedKernel,
    /// Items of a group that sums up a frame, and those of one that tells the noise of an area.
    items: usize,
    area_items: usize,
    asked: AskedBlocks,
    told: Buffer,
    frames_told: Buffer,
    areas_told: Buffer,
    own: Buffer,
    /// The noise of areas after the last frame, and after the one before it.
    states: [Buffer; 2],
    /// Numbers of a state.
    numbers: usize,
    /// Which of them is that of the last frame.
    last: usize,
    /// Whether there is no last frame, and was none before it.
    is_first: [bool; 2],
    has_chroma: bool,
    layout: Arc<InterpolationLayout>,
}

impl NoiseKernels {
    /// For frames of `format`, whose areas are those of `noise`.
    ///
    /// # Errors
    /// [`SetupError::Memory`]; [`SetupError::KernelBuild`].
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        format: &FrameFormat,
        noise: &NoiseMap,
        layout: Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let (areas, blocks, samples) = (noise.areas(), layout.grid.blocks(), format.samples);
        // Sums are halved until one is left.
        let items = 1 << MOST_ITEMS.min(device.largest_group.max(1)).ilog2();
        let options = format!("{} -D GROUP_SIZE={items}", kernel_file::options(device, samples));
        let program = program::build(context, device, NAME, &KernelFile::Noise.source(), &options)?;
        let kernel = |name| program.kernel(name).map_err(|error| device.refused(error));
        let list = |name| GroupedKernel::new(device, &program, name, LIST_GROUP);
        let plane = |name| GroupedKernel::new(device, &program, name, PLANE_GROUP);
        let tell_areas = kernel(c"tell_areas")?;
        let area_items = AREA_ITEMS.min(device.largest_group_of(&tell_areas)?);
        let step = step_of_asked(blocks);
        let (count, of_all) = (areas.0 * areas.1, SHADES + 1);
        let buffer = |what, count: usize, bytes: usize| device.buffer(context, what, count * bytes);
        let numbers = |what, count: usize| buffer(what, count, size_of::<u64>());
        let state = 1 + 2 * count * of_all;
        let chroma_samples = format.samplings.get(1).map_or(0, |&sampling| {
            let (side, (width, height)) = (block_of(sampling), format.plane_size(1));
            side.0.min(width) * side.1.min(height) * (format.samplings.len() - 1)
        });
        Ok(Self {
            tell_luma: list(c"tell_luma")?,
            sum_up_luma: kernel(c"sum_up_luma")?,
            tell_areas,
            follow_areas: list(c"follow_areas")?,
            luma_noise: plane(c"luma_noise")?,
            tell_chroma: list(c"tell_chroma")?,
            sum_up_chroma: kernel(c"sum_up_chroma")?,
            chroma_noise: plane(c"chroma_noise")?,
            known_noise: plane(c"known_noise")?,
            items,
            area_items,
            asked: AskedBlocks {
                columns: areas.0 as i32,
                rows: areas.1 as i32,
                step: step as i32,
                chroma_samples: chroma_samples as i32,
                ..AskedBlocks::zeroed()
            },
            told: numbers("what blocks tell", 2 * BESIDE * blocks.div_ceil(step))?,
            frames_told: buffer("what frames tell", 2 * BESIDE, FRAME_TOLD)?,
            areas_told: numbers("what areas tell", BESIDE * count * of_all)?,
            own: numbers("the noise of the shades of areas", count * SHADES)?,
            states: [numbers("the noise of areas", state)?, numbers("the noise of areas", state)?],
            numbers: state,
            last: 0,
            is_first: [true; 2],
            has_chroma: chroma_samples > 0,
            layout,
        })
    }

    /// The noise of areas after the last frame, and its bytes.
    pub(super) fn state(&self) -> (&Buffer, usize) {
        (&self.states[self.last], self.numbers * size_of::<u64>())
    }

    /// Forgets the last frame: the one before it is the last one again.
    pub(super) fn go_back(&mut self) {
        self.last = 1 - self.last;
        self.is_first[0] = self.is_first[1];
    }

    /// Forgets all frames up to now.
    pub(super) fn restart(&mut self) {
        self.is_first[0] = true;
    }

    /// Begins a frame after the last one. Returns what was before it, and whether nothing was.
    fn begin(&mut self, is_followed: bool) -> (usize, bool) {
        let (before, is_first) = (self.last, self.is_first[0]);
        self.last = 1 - before;
        self.is_first = [!is_followed, is_first];
        (before, is_first)
    }

    /// Queues the noise of a frame that is `known`.
    pub(super) fn set_known(
        &mut self,
        queue: &Queue,
        known: u64,
        measured: MeasuredBuffers<'_>,
    ) -> launcher::Result<()> {
        self.begin(false);
        let args = [
            self.layout.shape.arg(),
            Arg::Struct(bytemuck::bytes_of(&known)),
            Arg::Int(self.has_chroma.into()),
            Arg::Buffer(measured.luma_blocks),
            Arg::Buffer(measured.chroma_blocks),
            Arg::Buffer(measured.noise),
        ];
        let grid = self.layout.grid;
        // SAFETY: items that are no blocks are left out; of each block the buffers hold what is read and written.
        unsafe { self.known_noise.launch(queue, &args, [grid.columns, grid.rows, 1]) }
    }

    /// Queues the estimate of the noise of a frame after the last one, by what was `measured` with the frames `beside` it.
    pub(super) fn estimate(
        &mut self,
        queue: &Queue,
        beside: &[Beside],
        measured: MeasuredBuffers<'_>,
    ) -> launcher::Result<()> {
        let (before, is_first) = self.begin(true);
        let number = |is_previous: bool| {
            let found = beside.iter().position(|beside| beside.is_previous == is_previous);
            found.map_or(-1, |number| number as i32)
        };
        let asked = AskedBlocks {
            references: beside.len() as i32,
            reference: std::array::from_fn(|at| beside.get(at).map_or(0, |beside| beside.reference as i32)),
            previous: number(true),
            next: number(false),
            is_first: is_first.into(),
            ..self.asked
        };
        let grid = self.layout.grid;
        let of_asked = [grid.blocks().div_ceil(asked.step as usize), beside.len(), 1];
        let (areas, references) = ((asked.columns * asked.rows) as usize, beside.len());
        let [shape, asked] = [self.layout.shape.arg(), Arg::Struct(bytemuck::bytes_of(&asked))];
        let MeasuredBuffers { luma_blocks, luma_errors, of_other_light, chroma_blocks, chroma_errors, noise } =
            measured;
        let [luma_blocks, luma_errors, of_other_light] =
            [luma_blocks, luma_errors, of_other_light].map(Arg::Buffer);
        let [chroma_blocks, chroma_errors, noise] = [chroma_blocks, chroma_errors, noise].map(Arg::Buffer);
        let [told, frames_told, areas_told, own] =
            [&self.told, &self.frames_told, &self.areas_told, &self.own].map(Arg::Buffer);
        let [before, after] = [&self.states[before], &self.states[1 - before]].map(Arg::Buffer);
        let (group, area_group) = ([self.items, 1], [self.area_items, 1]);
        // SAFETY: here and below, items that are no blocks or areas are left out, and of each of them, and of each frame beside, the
        // buffers hold what is read and written. An area has as many blocks at most as its group has room for.
        unsafe {
            if references > 0 {
                let args = [shape, asked, luma_blocks, luma_errors, of_other_light, told];
                self.tell_luma.launch(queue, &args, of_asked)?;
                let args = [shape, asked, luma_blocks, luma_errors, of_other_light, told, frames_told];
                queue.launch(&mut self.sum_up_luma, &args, [references, 1], group)?;
            }
            for is_chroma in [false, true] {
                if is_chroma && !self.has_chroma {
                    break;
                }
                if is_chroma && references > 0 {
                    let args = [shape, asked, luma_blocks, chroma_blocks, chroma_errors, noise, told];
                    self.tell_chroma.launch(queue, &args, of_asked)?;
                    let args = [shape, asked, luma_blocks, told, frames_told];
                    queue.launch(&mut self.sum_up_chroma, &args, [references, 1], group)?;
                }
                let which = Arg::Int(is_chroma.into());
                if references > 0 {
                    let args = [shape, asked, which, luma_blocks, luma_errors, of_other_light, told];
                    let args = [&args[..], &[frames_told, areas_told]].concat();
                    queue.launch(&mut self.tell_areas, &args, [areas, references], area_group)?;
                }
                let args = [asked, which, frames_told, areas_told, before, after, own];
                self.follow_areas.launch(queue, &args, [areas, 1, 1])?;
                let args = [shape, asked, luma_blocks, chroma_blocks, told, frames_told, own, noise];
                let items = [grid.columns, grid.rows, 1];
                if is_chroma {
                    self.chroma_noise.launch(queue, &args, items)?;
                } else {
                    let args = [&args[..3], &args[4..]].concat();
                    self.luma_noise.launch(queue, &args, items)?;
                }
            }
        }
        Ok(())
    }
}

//! The pyramid of a frame (`kernels/pyramid.cl`): where it lies in a slot, and the kernels that make it.

use std::ffi::CStr;
use std::iter;

use bytemuck::{Pod, Zeroable};

use super::super::kernel_family::BuildContext;
use crate::estimator::{SetupError, Window};
use crate::opencl::kernel_file::KernelFile;
use motion_base::hierarchy::{CELL, MOST_LEVELS, level_sizes};
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject, Queue};

/// Samples of the planes outside a level on each side: `MARGIN` in `levels.cl`.
const MARGIN: usize = 16;

/// Offsets in a slot count units of this many bytes: `UNIT` in `levels.cl`.
const UNIT: usize = 16;

/// Rows of a level, and planes, begin at multiples of so many bytes.
const ALIGNMENT: usize = 64;

/// Planes of a level: at whole samples, half a sample to the right, below, and both.
const PLANES: usize = 4;

/// Samples of the finer level that a group of `halve` takes on each axis, and how many levels it makes of them.
const HALVED: usize = 64;
const HALVINGS: usize = 3;

/// Columns and rows of the tiles of `interpolate`.
const INTERPOLATED: [usize; 2] = [128, 32];

/// Work-items of a group of `halve`, and of `interpolate`: as many as its tile has columns of a word and a cell.
const HALVING_ITEMS: usize = 256;
const INTERPOLATING_ITEMS: usize = 128;

/// The margins of a frame, as a window: those of the levels.
pub(super) fn margins() -> Window {
    let margin = MARGIN as i32;
    // It is within the limits of a window.
    Window::symmetric(margin, margin).unwrap_or_default()
}

/// Field for field `Level` in `levels.cl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct LevelArg {
    width: i32,
    height: i32,
    pub(super) columns: i32,
    pub(super) rows: i32,
    pitch: i32,
    origin: u32,
    plane: u32,
    cells: u32,
    pub(super) first_cell: i32,
    first_tile: i32,
}

impl LevelArg {
    pub(super) fn cells(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    pub(super) fn size_in_cells(&self) -> [i32; 2] {
        [self.columns, self.rows]
    }

    pub(super) fn arg(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(self))
    }
}

/// Field for field `Pyramid` in `pyramid.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct PyramidArg {
    pub(super) frame: LevelArg,
    levels: [LevelArg; MOST_LEVELS],
    count: i32,
}

/// Where everything lies in a slot.
pub(super) struct SlotPlan {
    pub(super) pyramid: PyramidArg,
    /// Cells of all levels.
    pub(super) cells: usize,
    /// Tiles of the frame and of all levels.
    tiles: usize,
    /// Bytes behind the frame.
    pub(super) prepared_bytes: usize,
}

impl SlotPlan {
    pub(super) fn new(build: &BuildContext<'_>) -> Self {
        let (parameters, layout) = (build.parameters, build.layout);
        let (width, height) = (parameters.width, parameters.height);
        let units = |bytes: usize| (bytes / UNIT) as u32;
        let frame = LevelArg {
            width: width as i32,
            height: height as i32,
            pitch: layout.pitch() as i32,
            origin: units(layout.origin()),
            plane: units(layout.bytes()),
            ..LevelArg::default()
        };
        let mut end = PLANES * layout.bytes();
        let (mut cells, mut tiles) = (0, tiles_of(width, height));
        let mut pyramid = PyramidArg { frame, levels: [LevelArg::default(); MOST_LEVELS], count: 0 };
        for (level, (width, height)) in pyramid.levels.iter_mut().zip(level_sizes(width, height)) {
            let pitch = (width + 2 * MARGIN).next_multiple_of(ALIGNMENT);
            let plane = pitch * (height + 2 * MARGIN);
            *level = LevelArg {
                width: width as i32,
                height: height as i32,
                columns: width.div_ceil(CELL) as i32,
                rows: height.div_ceil(CELL) as i32,
                pitch: pitch as i32,
                origin: units(end + MARGIN * pitch + MARGIN),
                plane: units(plane),
                cells: units(end + PLANES * plane),
                first_cell: cells as i32,
                first_tile: tiles as i32,
            };
            end += PLANES * plane + (size_of::<u32>() * level.cells()).next_multiple_of(ALIGNMENT);
            cells += level.cells();
            tiles += tiles_of(width, height);
            pyramid.count += 1;
        }
        Self { pyramid, cells, tiles, prepared_bytes: end - layout.bytes() }
    }

    /// The levels, finest first.
    pub(super) fn levels(&self) -> &[LevelArg] {
        &self.pyramid.levels[..self.pyramid.count as usize]
    }
}

/// Tiles of `interpolate` of a level of this size.
fn tiles_of(width: usize, height: usize) -> usize {
    let [columns, rows] = INTERPOLATED;
    (width + 2 * MARGIN).div_ceil(columns) * (height + 2 * MARGIN).div_ceil(rows)
}

/// A kernel and the items of its groups.
pub(super) struct Pass {
    kernel: KernelObject,
    pub(super) items: usize,
}

impl Pass {
    /// The kernel `name` of `file`, with groups of `items` unless the tuning has other ones.
    pub(super) fn new(
        build: &BuildContext<'_>,
        file: KernelFile,
        name: &CStr,
        items: usize,
        options: &str,
    ) -> Result<Self, SetupError> {
        let items = build.tuning.group_size.unwrap_or(items.min(build.device.largest_group));
        if items > build.device.largest_group {
            return Err(build.group_too_large(items, build.device.largest_group));
        }
        let kernel = build.build_with(file, name, Some(items), options)?;
        let items = items.min(build.largest_group(&kernel)?);
        Ok(Self { kernel, items })
    }

    /// Queues `groups` groups.
    ///
    /// # Safety
    /// As [`Queue::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        queue: &Queue,
        args: &[Arg<'_>],
        groups: [usize; 3],
    ) -> launcher::Result<()> {
        // SAFETY: the caller guarantees it.
        unsafe { queue.launch(&mut self.kernel, args, groups, [self.items, 1, 1]) }
    }
}

/// Makes the pyramid of a frame.
pub(super) struct PyramidMaker {
    halve: Pass,
    interpolate: Pass,
}

impl PyramidMaker {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        Ok(Self {
            halve: Pass::new(build, KernelFile::Pyramid, c"halve", HALVING_ITEMS, "")?,
            interpolate: Pass::new(build, KernelFile::Pyramid, c"interpolate", INTERPOLATING_ITEMS, "")?,
        })
    }

    /// Queues what makes the pyramid of the frame in `slot`.
    pub(super) fn queue(&mut self, plan: &SlotPlan, queue: &Queue, slot: &Buffer) -> launcher::Result<()> {
        let levels = plan.levels();
        let (slot, pyramid) = (Arg::Buffer(slot), Arg::Struct(bytemuck::bytes_of(&plan.pyramid)));
        for first in (0..levels.len().max(2) - 1).step_by(HALVINGS) {
            let [columns, rows] =
                [levels[first].width, levels[first].height].map(|side| (side as usize).div_ceil(HALVED));
            let level = |number: usize| levels.get(number).copied().unwrap_or_default();
            let (finer, finest) = match first {
                0 => (plan.pyramid.frame, level(0)),
                _ => (level(first), LevelArg::default()),
            };
            let made = [finer, finest, level(first + 1), level(first + 2), level(first + 3)];
            let args: Vec<_> = iter::once(slot).chain(made.iter().map(LevelArg::arg)).collect();
            // SAFETY: a group takes a tile of level `first`, and writes the tiles below within their levels.
            unsafe { self.halve.launch(queue, &args, [columns, rows, 1])? };
        }
        // SAFETY: a group takes a tile of a level and its margins, and writes within its planes and cells.
        unsafe { self.interpolate.launch(queue, &[slot, pyramid], [plan.tiles, 1, 1]) }
    }
}

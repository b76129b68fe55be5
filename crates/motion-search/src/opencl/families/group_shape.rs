//! How `tiled` and `elimination` divide a search into groups, tiles and runs: `kernels/groups.cl`.

use std::ffi::CStr;

use bytemuck::{Pod, Zeroable};

use super::super::frame::Geometry;
use super::super::kernel_family::BuildContext;
use crate::estimator::SetupError;
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::KernelObject;

/// Local memory that a group uses at most.
const LOCAL_MEMORY: usize = 48 << 10;

/// The shape of a group's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupShape {
    /// Side of a block in samples.
    pub(super) block: usize,
    /// Samples of a word.
    pub(super) word: usize,
    /// Candidates of a run.
    pub(super) run: usize,
    pub(super) tile_columns: usize,
    pub(super) tile_rows: usize,
    pub(super) blocks_across: usize,
    pub(super) blocks_down: usize,
    /// Work-items of the group.
    pub(super) items: usize,
}

/// Field for field `GroupShape` in `groups.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct GroupShapeArg {
    tile_columns: i32,
    tile_rows: i32,
    blocks_across: i32,
    blocks_down: i32,
    skew: i32,
}

impl GroupShape {
    /// The work-items of a group: `usual` unless the tuning has another number.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if the device has no such groups.
    pub(super) fn items(build: &BuildContext<'_>, usual: usize) -> Result<usize, SetupError> {
        let (items, largest) = (build.tuning.group_size.unwrap_or(usual), build.device.largest_group);
        if items > largest { Err(build.group_too_large(items, largest)) } else { Ok(items) }
    }

    /// Local memory that a group may use.
    pub(super) fn local_memory(device: &OpenClDevice) -> usize {
        device.local_memory.min(LOCAL_MEMORY)
    }

    /// Words of a row of a block.
    pub(super) fn block_words(&self) -> usize {
        self.block / self.word
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks_across * self.blocks_down
    }

    pub(super) fn runs(&self) -> usize {
        self.tile_rows.div_ceil(self.run)
    }

    pub(super) fn tasks(&self) -> usize {
        self.runs() * self.blocks() * self.tile_columns
    }

    /// Rows of samples that the candidates of a tile cover.
    pub(super) fn area_rows(&self) -> usize {
        self.tile_rows + self.blocks_down * self.block - 1
    }

    /// Groups across and down for a grid.
    pub(super) fn groups(&self, columns: usize, rows: usize) -> [usize; 2] {
        [columns.div_ceil(self.blocks_across), rows.div_ceil(self.blocks_down)]
    }

    /// The kernel `name` of `file` for this shape, with more `options`.
    ///
    /// On CPUs the shape is mostly an argument, because compiling takes longer than it saves. Other devices
    /// have it compiled in, with the geometry that is the same for all requests.
    pub(super) fn build(
        &self,
        build: &BuildContext<'_>,
        file: KernelFile,
        name: &CStr,
        options: &str,
    ) -> Result<KernelObject, SetupError> {
        let Self { run, tile_columns, tile_rows, blocks_across, blocks_down, items, .. } = *self;
        let mut options = format!(" -D RUN={run}{options}");
        if !build.is_cpu() {
            let g = &build.layout.geometry;
            options += &format!(
                " -D TILE_COLUMNS={tile_columns} -D TILE_ROWS={tile_rows} -D BLOCKS_ACROSS={blocks_across} \
                 -D BLOCKS_DOWN={blocks_down} -D WINDOW_COLUMNS={} -D SKEW={} -D INSIDE_ONLY={}",
                g.window_columns,
                g.x0.rem_euclid(self.word as i32),
                g.inside_only
            );
            if !build.tuning.divides_window {
                options += &format!(" -D WINDOW_ROWS={}", g.window_rows);
            }
        }
        let kernel = build.build_with(file, name, (!build.is_cpu()).then_some(items), &options)?;
        let largest = build.largest_group(&kernel)?;
        if items > largest { Err(build.group_too_large(items, largest)) } else { Ok(kernel) }
    }

    /// The shape as an argument of a kernel that gets `geometry` too.
    pub(super) fn arg(&self, geometry: &Geometry) -> GroupShapeArg {
        // All of it is less than 8191 displacements to either side.
        GroupShapeArg {
            tile_columns: self.tile_columns as i32,
            tile_rows: self.tile_rows as i32,
            blocks_across: self.blocks_across as i32,
            blocks_down: self.blocks_down as i32,
            skew: geometry.x0.rem_euclid(self.word as i32),
        }
    }
}

//! The kernel of elimination (`kernels/elimination.cl`): the sums that it needs of the reference, and
//! how it is cut to a device and a window.
//!
//! Memory on the device beside the frames and the vectors: eight bytes a sample of a padded frame,
//! for the sums, and the fields of two searches.

use std::mem;

use bytemuck::{Pod, Zeroable};

use super::cl::{self, Arg, Buffer};
use super::device::{Device, DeviceKind};
use super::frame::Layout;
use super::program::Source;
use super::search::{Run, Search, Task};
use crate::estimator::{Border, Grid, MotionVector, SetupError, Window};

/// Local memory that a group uses at most where the device has more.
const LOCAL_MEMORY_WANTED: usize = 48 << 10;

/// Candidates of a run at most: as many as an item has bits for. Fewer on CPUs, whose compilers unroll
/// for every item of a group at once.
const MOST_RUN: usize = 32;
const MOST_RUN_CPU: usize = 4;

/// Columns and runs of a tile at most. Candidates of a tile are numbered in 16 bits.
const MOST_COLUMNS: usize = 160;
const MOST_RUNS: usize = 8;

/// Classes of columns of which each suspects a candidate at first, and other first suspects of a block:
/// `FIRSTS` and `KNOWN` in the kernel.
const FIRSTS: usize = 16;
const KNOWN: usize = 6;

/// Blocks of a group at most: the lists have four bits for them.
const MOST_BLOCKS: usize = 16;

/// Samples that a group computes sums of: `SUM_COLUMNS` and `SUM_ROWS` in the kernel.
const SUMMED: [usize; 2] = [128, 16];

/// Bounds, lists, costs; and what they need.
pub(super) struct Elimination {
    sum_parts: cl::Kernel,
    kernel: cl::Kernel,
    small: Buffer,
    large: Buffer,
    /// The field found last, and room for the next.
    fields: [Buffer; 2],
    shape: Shape,
    pitch: usize,
    columns: usize,
}

impl Elimination {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let layout = Layout::new(task.parameters, task.window);
        let shape = Shape::new(task)?;
        let fixed = (task.device.kind != DeviceKind::Cpu).then_some(shape.items);
        let options = shape.options(task, layout.pitch());
        let build = |name| task.build_shaped(Source::Elimination, name, fixed, &options);
        let kernel = build(c"elimination")?;
        let largest = task.largest_group(&kernel)?;
        if shape.items > largest {
            return Err(task.group_too_large(shape.items, largest));
        }
        let samples = layout.bytes();
        let field = || {
            let bytes = vec![0; task.blocks() * size_of::<MotionVector>()];
            let buffer = task.buffer("the field found last", bytes.len())?;
            let queue = task.context.queue(task.device.raw());
            queue
                .and_then(|queue| queue.write(&buffer, &bytes))
                .map_err(|error| task.device.refused(error))?;
            Ok(buffer)
        };
        Ok(Self {
            sum_parts: build(c"sum_parts")?,
            kernel,
            small: task.buffer("pairs of sums of small parts", 4 * samples)?,
            large: task.buffer("pairs of sums of large parts", 4 * samples)?,
            fields: [field()?, field()?],
            shape,
            pitch: layout.pitch(),
            columns: task.parameters.grid().columns,
        })
    }
}

impl Search for Elimination {
    fn least_rows(&self) -> usize {
        self.shape.blocks_down
    }

    fn divides_window(&self) -> bool {
        false
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let rows = run.blocks / self.columns;
        let reached = rows * self.shape.block + run.window.rows() - 1;
        let [small, large] = [&self.small, &self.large].map(Arg::Buffer);
        let args = [Arg::Buffer(run.reference), small, large, run.geometry];
        let groups = [self.pitch.div_ceil(SUMMED[0]), reached.div_ceil(SUMMED[1])];
        // SAFETY: the kernel reads and writes rows that the search reaches, for which the layout was
        // made, and no word past their ends; there are as many words of sums as samples.
        unsafe { run.queue.launch(&mut self.sum_parts, &args, groups, [self.shape.items, 1])? };

        let shape = self.shape.arg();
        let [last, next] = &self.fields;
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            small,
            large,
            Arg::Buffer(last),
            Arg::Buffer(next),
            Arg::Buffer(run.vectors),
            Arg::Local(self.shape.local_bytes()),
            Arg::Struct(bytemuck::bytes_of(&shape)),
            run.geometry,
        ];
        let groups = [self.columns.div_ceil(self.shape.blocks_across), rows.div_ceil(self.shape.blocks_down)];
        // SAFETY: tiles are no larger than the window, groups of blocks no larger than the grid, which
        // they cover, and `local_bytes` is what such a group needs; the layout was made for the window,
        // with OVER_READ bytes more than the word read past it; fields and vectors hold all blocks.
        unsafe { run.queue.launch(&mut self.kernel, &args, groups, [self.shape.items, 1])? };
        let [last, next] = &mut self.fields;
        mem::swap(last, next);
        Ok(())
    }
}

/// Field for field `Shape` in `elimination.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct ShapeArg {
    tile_columns: i32,
    tile_rows: i32,
    blocks_across: i32,
    blocks_down: i32,
}

/// How the work is cut: what `elimination.cl` is compiled for, or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    block: usize,
    /// Candidates of a run.
    run: usize,
    tile_columns: usize,
    tile_rows: usize,
    blocks_across: usize,
    blocks_down: usize,
    items: usize,
    /// Room of each list.
    list: usize,
}

/// How a shape may be cut.
struct Cuts {
    block: usize,
    items: usize,
    /// Candidates of a run at most.
    run: usize,
    /// Runs are as long as they may be, whatever is left of the last.
    one_length: bool,
    /// Blocks of a group across and down.
    most_blocks: [usize; 2],
    /// Candidates of a tile.
    most_columns: usize,
    most_rows: usize,
}

impl Shape {
    /// The shape for `task`.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] where local memory is too small or the device allows no group
    /// as large as is asked for.
    fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let Task { device, tuning, parameters, window, .. } = *task;
        let on_cpu = device.kind == DeviceKind::Cpu;
        let items = tuning.group_size.unwrap_or(if on_cpu { 16 } else { 256 });
        if items > device.largest_group {
            return Err(task.group_too_large(items, device.largest_group));
        }
        let run = tuning.run.unwrap_or(MOST_RUN).min(if on_cpu { MOST_RUN_CPU } else { MOST_RUN });
        let usual = if on_cpu { [1, 1] } else { [2, 2] };
        let cuts = Cuts {
            block: parameters.block_size,
            items,
            run,
            // Of one length whatever the window, so that few are ever compiled for.
            one_length: on_cpu || tuning.run.is_some(),
            most_blocks: [tuning.blocks_across.unwrap_or(usual[0]), tuning.blocks_down.unwrap_or(usual[1])],
            most_columns: MOST_COLUMNS,
            most_rows: MOST_RUNS * run,
        };
        let limit = local_memory(device);
        let cut = Self::cut(cuts, &parameters.grid(), window, limit);
        cut.ok_or_else(|| {
            task.unsupported(
                format!("its local memory of {limit} bytes is too small for its lists"),
                "choose collaborative-unaligned, which uses none".into(),
            )
        })
    }

    /// As much of everything as `limit` bytes of local memory hold: at most so many blocks, columns and
    /// rows. `None` where they hold nothing.
    fn cut(cuts: Cuts, grid: &Grid, window: &Window, limit: usize) -> Option<Self> {
        let Cuts { block, items, run, one_length, mut most_blocks, mut most_columns, mut most_rows } = cuts;
        // In equal parts of `most` at most.
        let part = |all: usize, most: usize| all.div_ceil(all.div_ceil(most));
        loop {
            let tile_columns = part(window.columns(), most_columns);
            let tile_rows = part(window.rows(), most_rows);
            let run = if one_length { run.min(tile_rows) } else { part(tile_rows, run) };
            let blocks_across = most_blocks[0].min(grid.columns).min(MOST_BLOCKS);
            let blocks_down = most_blocks[1].min(grid.rows).min(MOST_BLOCKS / blocks_across);
            let list = (4 * items).max(blocks_across * blocks_down * (FIRSTS + KNOWN)).next_multiple_of(64);
            let shape = Self { block, run, tile_columns, tile_rows, blocks_across, blocks_down, items, list };
            if shape.local_bytes() <= limit {
                return Some(shape);
            }
            match (blocks_across, blocks_down, tile_columns, tile_rows) {
                (1, 1, 1, 1) => return None,
                (1, 1, columns, rows) if rows >= columns => most_rows = rows / 2,
                (1, 1, columns, _) => most_columns = columns / 2,
                (across, down, ..) if down >= across => most_blocks = [across, down / 2],
                (across, down, ..) => most_blocks = [across / 2, down],
            }
        }
    }

    fn blocks(&self) -> usize {
        self.blocks_across * self.blocks_down
    }

    /// Local memory of a group, array by array as in the kernel.
    fn local_bytes(&self) -> usize {
        let tasks = self.blocks() * self.tile_columns * self.tile_rows.div_ceil(self.run);
        let words = self.blocks() * (self.block * self.block / 4 + 16 + 4 + FIRSTS + 3) + 3 * self.list + 3;
        let area_words = ((self.tile_columns + self.blocks_across * self.block + 2) / 4 + 1) | 1;
        let area_rows = self.tile_rows + self.blocks_down * self.block - 1;
        4 * (words + area_words * area_rows) + 2 * 2 * tasks
    }

    /// The `-D` options for this shape, beside those of every kernel. On a CPU it is mostly told, for
    /// compiling takes longer there than it saves.
    fn options(&self, task: &Task<'_>, pitch: usize) -> String {
        let Self { run, list, tile_columns, tile_rows, blocks_across, blocks_down, .. } = self;
        let common = format!(" -D RUN={run} -D LIST={list} -D FIRSTS={FIRSTS}");
        if task.device.kind == DeviceKind::Cpu {
            return common;
        }
        let inside_only = u8::from(task.parameters.border == Border::Restrict);
        format!(
            "{common} -D PITCH={pitch} -D INSIDE_ONLY={inside_only} -D TILE_COLUMNS={tile_columns} \
             -D TILE_ROWS={tile_rows} -D BLOCKS_ACROSS={blocks_across} -D BLOCKS_DOWN={blocks_down}"
        )
    }

    fn arg(&self) -> ShapeArg {
        // All of it is less than 8191 displacements to either side.
        ShapeArg {
            tile_columns: self.tile_columns as i32,
            tile_rows: self.tile_rows as i32,
            blocks_across: self.blocks_across as i32,
            blocks_down: self.blocks_down as i32,
        }
    }
}

/// Local memory that a group may use.
fn local_memory(device: &Device) -> usize {
    device.local_memory.min(LOCAL_MEMORY_WANTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Parameters;

    fn cuts(block: usize, items: usize, run: usize) -> Cuts {
        Cuts {
            block,
            items,
            run,
            one_length: false,
            most_blocks: [2, 2],
            most_columns: MOST_COLUMNS,
            most_rows: MOST_RUNS * run,
        }
    }

    #[test]
    fn shapes_fit_and_what_they_number_does() {
        for block in (4..=64).step_by(4) {
            for (x, y) in [(0, 0), (1, 0), (16, 16), (64, 64), (500, 1), (2000, 2000), (8191, 8191)] {
                let window = Window::symmetric(x, y).unwrap();
                let grid = Parameters::new(320, 200, block, window).grid();
                for (items, run, limit) in [(16, MOST_RUN_CPU, 32 << 10), (256, MOST_RUN, 48 << 10)] {
                    let shape = Shape::cut(cuts(block, items, run), &grid, &window, limit).unwrap();
                    assert!(shape.local_bytes() <= limit, "{shape:?} in {limit}");
                    assert!(shape.run <= shape.tile_rows.min(MOST_RUN), "{shape:?}");
                    assert!(shape.tile_rows <= window.rows() && shape.tile_columns <= window.columns());
                    assert!(shape.tile_rows * shape.tile_columns <= 1 << 16, "{shape:?}");
                    assert!(shape.blocks() <= MOST_BLOCKS && shape.blocks_across <= grid.columns);
                    assert!(shape.blocks() * (FIRSTS + KNOWN) <= shape.list, "{shape:?}");
                }
            }
        }
        let window = Window::symmetric(1, 1).unwrap();
        let grid = Parameters::new(320, 200, 64, window).grid();
        assert!(Shape::cut(cuts(64, 16, 4), &grid, &window, 8 << 10).is_none());
    }
}

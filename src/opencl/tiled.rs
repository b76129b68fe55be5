//! The tiled kernel (`kernels/tiled.cl`): how it is cut to a device, a window and a grid.

use bytemuck::{Pod, Zeroable};

use super::cl::{self, Arg};
use super::device::{Device, DeviceKind};
use super::program::Source;
use super::search::{Run, Search, Task};
use crate::estimator::{Border, Grid, Metric, Parameters, SetupError};

/// Local memory that a group uses at most where the device has more.
const LOCAL_MEMORY_WANTED: usize = 48 << 10;

/// Bytes of a vector of four words, in which the kernel counts local memory.
const VECTOR: usize = 16;

/// Items that run in step on a GPU: 32 on NVIDIA's, 64 on some others, where it costs little.
const STEP: usize = 32;

/// Rows of a strip and candidates of a run: as many as registers hold beside each other.
const MOST_PART: usize = 16;
const MOST_ROWS: usize = 33;

/// The same on CPUs, whose compilers unroll for every item of a group at once.
const MOST_PART_CPU: usize = 4;
const MOST_ROWS_CPU: usize = 4;

/// Several blocks a group, and a run of their candidates an item.
pub(super) struct Tiled {
    kernel: cl::Kernel,
    shape: ShapeArg,
    groups: [usize; 2],
    items: usize,
}

impl Tiled {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let shape = Shape::new(task)?;
        let kernel = task.build_shaped(Source::Tiled, c"tiled", &shape.options(task.device))?;
        let largest = task.largest_group(&kernel)?;
        if shape.items > largest {
            return Err(group_too_large(task, shape.items, largest));
        }
        let groups = shape.groups(&task.parameters.grid());
        Ok(Self { kernel, shape: shape.arg(), groups, items: shape.items })
    }
}

impl Search for Tiled {
    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            Arg::Struct(bytemuck::bytes_of(&self.shape)),
            run.geometry,
        ];
        // SAFETY: tiles are no larger than the window, groups of blocks no larger than the grid,
        // which they cover, and `local_bytes` is what such a group needs; the layout was made for
        // the window, with OVER_READ bytes more than the two words read past it; there are as many
        // vectors as blocks.
        unsafe { run.queue.launch(&mut self.kernel, &args, self.groups, [self.items, 1]) }
    }
}

fn group_too_large(task: &Task<'_>, items: usize, largest: usize) -> SetupError {
    task.unsupported(
        format!("a work-group of {items} work-items is asked for and its largest has {largest}"),
        format!("choose a tuning group-size of {largest} or less"),
    )
}

/// Field for field `Shape` in `tiled.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct ShapeArg {
    tile_columns: i32,
    tile_rows: i32,
    blocks_across: i32,
    blocks_down: i32,
    skew: i32,
}

/// How the work is cut: what `tiled.cl` is compiled for, or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    block: usize,
    window_columns: usize,
    window_rows: usize,
    skew: usize,
    inside_only: bool,
    rows: usize,
    part: usize,
    tile_columns: usize,
    tile_rows: usize,
    blocks_across: usize,
    blocks_down: usize,
    items: usize,
}

impl Shape {
    /// The shape for `task`.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] where local memory holds no search area or the device
    /// allows no group as large as is asked for.
    fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let Task { device, tuning, parameters, window, .. } = *task;
        let on_cpu = device.kind == DeviceKind::Cpu;
        let items = tuning.group_size.unwrap_or(if on_cpu { 16 } else { 4 * STEP });
        if items > device.largest_group {
            return Err(group_too_large(task, items, device.largest_group));
        }
        let (most_part, most_rows) =
            if on_cpu { (MOST_PART_CPU, MOST_ROWS_CPU) } else { (MOST_PART, MOST_ROWS) };
        let (block, grid) = (parameters.block_size, parameters.grid());
        let mut shape = Self {
            block,
            window_columns: window.columns(),
            window_rows: window.rows(),
            skew: window.x0().rem_euclid(4) as usize,
            inside_only: parameters.border == Border::Restrict,
            rows: match tuning.run {
                // Of one length whatever the window, so that few are ever compiled for.
                None if on_cpu && window.rows() >= most_rows => most_rows,
                run => run_rows(window.rows(), run.unwrap_or(most_rows), parameters),
            },
            part: (1..=most_part).rev().find(|part| block.is_multiple_of(*part)).unwrap_or(1),
            tile_columns: window.columns(),
            tile_rows: window.rows(),
            blocks_across: tuning.blocks_across.unwrap_or(1).min(grid.columns).min(items),
            blocks_down: 1,
            items,
        };
        shape.blocks_down = tuning.blocks_down.unwrap_or(1).min(grid.rows).min(items / shape.blocks_across);
        let limit = local_memory(device);
        if !shape.cut_tile(limit) {
            return Err(task.unsupported(
                format!("its local memory of {limit} bytes holds no search area for such blocks"),
                "choose fewer blocks a work-group by the tuning, or collaborative-unaligned, which uses none"
                    .into(),
            ));
        }
        if tuning.blocks_across.is_none() && tuning.blocks_down.is_none() && !on_cpu {
            shape.choose_blocks(&grid, device.compute_units, limit);
        }
        Ok(shape)
    }

    /// Makes the tile as large as `limit` bytes of local memory allow: whole rows of candidates if a
    /// run of them fits, else part of a row. Whether anything fits.
    fn cut_tile(&mut self, limit: usize) -> bool {
        let fits = |shape: &Self| shape.local_bytes() <= limit;
        let down = (1..=self.window_rows.div_ceil(self.rows))
            .map(|tiles| Self { tile_rows: self.window_rows.div_ceil(tiles).max(self.rows), ..*self })
            .find(fits);
        if let Some(shape) = down {
            *self = shape;
            return true;
        }
        self.tile_rows = self.rows;
        // Tiles start 4 columns apart or a multiple of it, the last too, and leave no gap.
        let across = (1..=self.window_columns)
            .rev()
            .filter(|columns| *columns >= 4 && (self.window_columns - columns).is_multiple_of(4))
            .map(|tile_columns| Self { tile_columns, ..*self })
            .find(fits);
        match across {
            Some(shape) => *self = shape,
            None if self.rows > 1 => {
                self.rows /= 2;
                return self.cut_tile(limit);
            }
            None => return false,
        }
        true
    }

    /// Takes as many blocks into a group as makes the whole grid cheapest.
    fn choose_blocks(&mut self, grid: &Grid, compute_units: usize, limit: usize) {
        const MOST: usize = 8;
        let shape = *self;
        let shapes = (1..=MOST.min(grid.rows)).flat_map(|blocks_down| {
            (1..=MOST.min(grid.columns)).map(move |blocks_across| Self {
                blocks_across,
                blocks_down,
                ..shape
            })
        });
        if let Some(best) = shapes
            .filter(|s| s.local_bytes() <= limit && s.blocks() <= s.items)
            .min_by_key(|s| s.cost(grid, compute_units))
        {
            *self = best;
        }
        self.items = self.items.min(self.tasks().next_multiple_of(STEP));
    }

    /// Instructions, roughly, that the busiest compute unit issues for a picture: of a group, a four-
    /// sample comparison each, what a candidate and a task cost beside, a word of the area and a row
    /// of a block copied, and what an item does once.
    fn cost(&self, grid: &Grid, compute_units: usize) -> usize {
        let steps = self.tasks().next_multiple_of(STEP);
        let task = self.rows * self.block * self.block / 4 + self.rows + 80;
        let group = steps * task
            + 8 * self.area_words() * self.area_rows()
            + 30 * self.blocks() * self.block
            + 100 * self.items;
        let groups = self.groups(grid);
        group * (groups[0] * groups[1]).div_ceil(compute_units)
    }

    fn blocks(&self) -> usize {
        self.blocks_across * self.blocks_down
    }

    fn runs(&self) -> usize {
        self.tile_rows.div_ceil(self.rows)
    }

    fn tasks(&self) -> usize {
        self.runs() * self.blocks() * self.tile_columns
    }

    fn area_rows(&self) -> usize {
        self.tile_rows + self.blocks_down * self.block - 1
    }

    fn area_words(&self) -> usize {
        (self.tile_columns - 1 + (self.blocks_across - 1) * self.block) / 4 + self.block / 4
    }

    /// Local memory of a group, array by array as in the kernel.
    fn local_bytes(&self) -> usize {
        let strips = self.blocks() * self.block / self.part * (self.block / 4) * self.part.div_ceil(4);
        let ranks = self.runs() * self.rows.div_ceil(4);
        let copy_words = (self.area_rows() * self.area_words() + 23) / 32 * 32 + 8;
        let y_ties = self.runs() * self.rows.next_power_of_two().max(2);
        let words = 4 * copy_words + y_ties + 2 * self.tasks() + 2 * self.blocks();
        VECTOR * (strips + ranks + words.div_ceil(4))
    }

    /// The `-D` options for this shape, beside those of every kernel. On a CPU it is mostly told, for
    /// compiling takes longer there than it saves.
    fn options(&self, device: &Device) -> String {
        let Self { rows, part, window_columns, window_rows, skew, inside_only, .. } = self;
        let Self { tile_columns, tile_rows, blocks_across, blocks_down, items, .. } = self;
        if device.kind == DeviceKind::Cpu {
            let vectors = local_memory(device) / VECTOR;
            return format!(" -D ROWS={rows} -D PART={part} -D LOCAL_VECTORS={vectors}");
        }
        format!(
            " -D ROWS={rows} -D PART={part} -D LOCAL_VECTORS={} -D WINDOW_COLUMNS={window_columns} \
             -D WINDOW_ROWS={window_rows} -D SKEW={skew} -D INSIDE_ONLY={} -D TILE_COLUMNS={tile_columns} \
             -D TILE_ROWS={tile_rows} -D BLOCKS_ACROSS={blocks_across} -D BLOCKS_DOWN={blocks_down} \
             -D ITEMS={items}",
            self.local_bytes() / VECTOR,
            u8::from(*inside_only)
        )
    }

    fn arg(&self) -> ShapeArg {
        // All of it is less than 8191 displacements to either side.
        ShapeArg {
            tile_columns: self.tile_columns as i32,
            tile_rows: self.tile_rows as i32,
            blocks_across: self.blocks_across as i32,
            blocks_down: self.blocks_down as i32,
            skew: self.skew as i32,
        }
    }

    /// Groups across and down.
    fn groups(&self, grid: &Grid) -> [usize; 2] {
        [grid.columns.div_ceil(self.blocks_across), grid.rows.div_ceil(self.blocks_down)]
    }
}

/// Local memory that a group may use.
fn local_memory(device: &Device) -> usize {
    device.local_memory.min(LOCAL_MEMORY_WANTED)
}

/// Candidates of a run: `most` at most, runs of one length, and so few that a cost and a place in
/// the run fit 32 bits.
fn run_rows(window_rows: usize, most: usize, parameters: &Parameters) -> usize {
    let samples = (parameters.block_size * parameters.block_size) as u32;
    let largest = match parameters.metric {
        Metric::Sad => samples * 255,
        Metric::Ssd => samples * 255 * 255,
    };
    let most = most.min(1 << largest.leading_zeros().min(7)).max(1);
    window_rows.div_ceil(window_rows.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;

    fn shapes(window: &Window, block: usize, metric: Metric, limit: usize) -> Option<Shape> {
        let parameters = Parameters { metric, ..Parameters::new(320, 200, block, *window) };
        let rows = run_rows(window.rows(), MOST_ROWS, &parameters);
        let mut shape = Shape {
            block,
            window_columns: window.columns(),
            window_rows: window.rows(),
            skew: 0,
            inside_only: false,
            rows,
            part: 4,
            tile_columns: window.columns(),
            tile_rows: window.rows(),
            blocks_across: 1,
            blocks_down: 1,
            items: 128,
        };
        shape.cut_tile(limit).then(|| {
            shape.choose_blocks(&parameters.grid(), 132, limit);
            shape
        })
    }

    #[test]
    fn shapes_fit_and_cover_every_window() {
        for block in (4..=64).step_by(4) {
            for (x, y) in [(0, 0), (1, 0), (16, 16), (64, 64), (500, 1), (2000, 2000), (8191, 8191)] {
                let window = Window::symmetric(x, y).unwrap();
                for metric in [Metric::Sad, Metric::Ssd] {
                    for limit in [32 << 10, 48 << 10] {
                        let shape = shapes(&window, block, metric, limit).unwrap();
                        assert!(shape.local_bytes() <= limit, "{shape:?} in {limit}");
                        assert!(1 <= shape.tile_columns && shape.tile_columns <= window.columns());
                        let all = shape.tile_columns == window.columns();
                        let step = shape.tile_columns >= 4
                            && (window.columns() - shape.tile_columns).is_multiple_of(4);
                        assert!(all || step, "{shape:?}");
                        assert!(shape.rows <= shape.tile_rows && shape.tile_rows <= window.rows());
                        assert!(shape.blocks_across <= 320_usize.div_ceil(block));
                        assert!(shape.blocks_down <= 200_usize.div_ceil(block));
                    }
                }
            }
        }
        assert!(shapes(&Window::symmetric(1, 1).unwrap(), 64, Metric::Sad, 8 << 10).is_none());
    }

    #[test]
    fn cost_and_place_fit_32_bits() {
        for block in (4..=64_usize).step_by(4) {
            for (metric, largest) in [(Metric::Sad, 255_u64), (Metric::Ssd, 255 * 255)] {
                let window = Window::symmetric(100, 100).unwrap();
                let parameters = Parameters { metric, ..Parameters::new(320, 200, block, window) };
                let rows = run_rows(201, 128, &parameters);
                let ranks = rows.next_power_of_two().max(2) as u64;
                // One more than the largest is left, for candidates that do not count.
                assert!(
                    ((block * block) as u64 * largest + 1) * ranks <= 1 << 32,
                    "{block} {metric:?} {rows}"
                );
            }
        }
    }
}

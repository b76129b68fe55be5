//! The tiled kernel (`kernels/tiled.cl`): how it is cut to a device, a window and a grid.

use std::iter::successors;
use std::ops::RangeInclusive;

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

/// Candidates of a run for which a tile is cut narrower than the window, rather than lower.
const SHORT_RUN: usize = 16;

/// Items that share a task at most.
const MOST_SLICES: usize = 4;

/// Blocks of a group across and down at most.
const MOST_BLOCKS: usize = 8;

/// Several blocks a group, and a run of their candidates an item.
pub(super) struct Tiled {
    kernel: cl::Kernel,
    shape: ShapeArg,
    columns: usize,
    groups_across: usize,
    items: usize,
}

impl Tiled {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let shape = Shape::new(task)?;
        let fixed = (task.device.kind != DeviceKind::Cpu).then_some(shape.items);
        let kernel = task.build_shaped(Source::Tiled, c"tiled", fixed, &shape.options(task.device))?;
        let largest = task.largest_group(&kernel)?;
        if shape.items > largest {
            return Err(task.group_too_large(shape.items, largest));
        }
        let grid = task.parameters.grid();
        let [groups_across, _] = shape.groups(&grid);
        Ok(Self { kernel, shape: shape.arg(), columns: grid.columns, groups_across, items: shape.items })
    }
}

impl Search for Tiled {
    fn least_rows(&self) -> usize {
        self.shape.blocks_down as usize
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn divides_window(&self) -> bool {
        false
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            Arg::Struct(bytemuck::bytes_of(&self.shape)),
            run.geometry,
        ];
        let rows = run.blocks / self.columns;
        let groups = [self.groups_across, rows.div_ceil(self.shape.blocks_down as usize)];
        // SAFETY: tiles are no larger than the window, groups of blocks no larger than the grid,
        // which they cover, and `local_bytes` is what such a group needs; the layout was made for
        // the window, with OVER_READ bytes more than the two words read past it; there are as many
        // vectors as blocks.
        unsafe { run.queue.launch(&mut self.kernel, &args, groups, [self.items, 1]) }
    }
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
    ssd: bool,
    window_columns: usize,
    window_rows: usize,
    skew: usize,
    inside_only: bool,
    rows: usize,
    part: usize,
    slices: usize,
    tile_columns: usize,
    tile_rows: usize,
    blocks_across: usize,
    blocks_down: usize,
    items: usize,
}

/// How a shape may be cut.
struct Cuts {
    /// Candidates of a run at most.
    rows: usize,
    /// Runs are as long as they may be, whatever is left of the last.
    one_length: bool,
    /// Blocks of a group.
    across: RangeInclusive<usize>,
    down: RangeInclusive<usize>,
    /// Items that share a task at most.
    slices: usize,
    /// Whether searches in flight run beside each other.
    is_overlapped: bool,
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
            return Err(task.group_too_large(items, device.largest_group));
        }
        let (part, rows) = if on_cpu { (MOST_PART_CPU, MOST_ROWS_CPU) } else { (MOST_PART, MOST_ROWS) };
        let most = if on_cpu { 1 } else { MOST_BLOCKS };
        let cuts = Cuts {
            rows: tuning.run.unwrap_or(rows).min(rows_that_fit(parameters)),
            // Of one length whatever the window, so that few are ever compiled for.
            one_length: on_cpu || tuning.run.is_some(),
            across: tuning.blocks_across.map_or(1..=most, |n| n..=n),
            down: tuning.blocks_down.map_or(1..=most, |n| n..=n),
            slices: if on_cpu { 1 } else { MOST_SLICES },
            is_overlapped: tuning.depth.is_some_and(|depth| depth > 1),
        };
        let block = parameters.block_size;
        let smallest = Self {
            block,
            ssd: parameters.metric == Metric::Ssd,
            window_columns: window.columns(),
            window_rows: window.rows(),
            skew: window.x0().rem_euclid(4) as usize,
            inside_only: parameters.border == Border::Restrict,
            rows: 1,
            part: (1..=part).rev().find(|part| block.is_multiple_of(*part)).unwrap_or(1),
            slices: 1,
            tile_columns: window.columns(),
            tile_rows: 1,
            blocks_across: 1,
            blocks_down: 1,
            items,
        };
        let limit = local_memory(device);
        smallest.best(&cuts, &parameters.grid(), device.compute_units, limit).ok_or_else(|| {
            task.unsupported(
                format!("its local memory of {limit} bytes holds no search area for such blocks"),
                "choose fewer blocks a work-group by the tuning, or collaborative-unaligned, which uses none"
                    .into(),
            )
        })
    }

    /// The cheapest cut of this shape whose group needs `limit` bytes of local memory at most.
    fn best(self, cuts: &Cuts, grid: &Grid, compute_units: usize, limit: usize) -> Option<Self> {
        let fits = |shape: &Self| shape.local_bytes() <= limit;
        // As wide as leaves room for a short run; tiles start 4 columns apart or a multiple of it, the
        // last too, and leave no gap.
        let short = cuts.rows.min(self.window_rows).min(SHORT_RUN);
        let column =
            successors(Some(short), |rows| Some(rows / 2)).take_while(|rows| *rows > 0).find_map(|rows| {
                (1..=self.window_columns).rev().find_map(|tile_columns| {
                    let cut = self.window_columns - tile_columns;
                    let shape = Self { tile_columns, rows, tile_rows: rows, ..self };
                    ((cut == 0 || (tile_columns >= 4 && cut.is_multiple_of(4))) && fits(&shape))
                        .then_some(shape)
                })
            })?;
        let with_rows = |tiles: usize, more_runs: usize| {
            let tile_rows = self.window_rows.div_ceil(tiles);
            let runs = (tile_rows.div_ceil(cuts.rows) + more_runs).min(tile_rows);
            let rows = if cuts.one_length { cuts.rows.min(tile_rows) } else { tile_rows.div_ceil(runs) };
            Self { tile_rows, rows, ..column }
        };
        let fewest = (1..=self.window_rows).find(|tiles| fits(&with_rows(*tiles, 0)))?;
        let more_runs = if cuts.one_length { 0 } else { 3 };
        let mut best: Option<(usize, Self)> = None;
        for tiles in fewest..=(fewest + 3).min(self.window_rows) {
            for rows in (0..=more_runs).map(|more| with_rows(tiles, more)) {
                for down in cuts.down.clone() {
                    for across in cuts.across.clone() {
                        let blocks_across = across.min(grid.columns).min(self.items);
                        let blocks_down = down.min(grid.rows).min(self.items / blocks_across);
                        let parts = self.block / self.part;
                        for slices in (1..=cuts.slices).filter(|slices| parts.is_multiple_of(*slices)) {
                            let shape = Self { blocks_across, blocks_down, slices, ..rows };
                            let cost = shape.cost(grid, compute_units, cuts.is_overlapped);
                            if fits(&shape) && best.is_none_or(|(least, _)| cost < least) {
                                best = Some((cost, shape));
                            }
                        }
                    }
                }
            }
        }
        best.map(|(_, shape)| shape)
    }

    /// Instructions, roughly, that the busiest compute unit issues for two frames. What it prefers was
    /// held against the times of some 300 shapes: `benches/RESULTS.md`.
    fn cost(&self, grid: &Grid, compute_units: usize, is_overlapped: bool) -> usize {
        // Comparisons, reads of the area (a strip at a time), and what a task needs beside.
        let strips = self.block * self.block / 4 / self.part;
        let loop_cost = if self.is_unrolled() { 0 } else { 12 };
        let strip = self.rows * self.part + (self.rows + self.part - 1) + loop_cost;
        // With several slices what each has found goes to local memory and back.
        let shared = if self.slices > 1 { 4 * self.rows } else { 0 };
        let share = strips / self.slices * strip + shared + self.rows + 60;
        // A word of the area copied, a row of a block, and what an item does once.
        // Items without a task idle where others in step have one, and cost a little where not.
        let shares = self.slices * self.tasks();
        let (steps, rounds) = (shares.next_multiple_of(STEP), shares.next_multiple_of(self.items));
        let shares = (15 * steps.max(self.items) + rounds) / 16;
        let group = shares * share + 8 * self.area_words() * self.area_rows() + 100 * self.items;
        let step = (self.tile_columns / 4 * 4).max(4);
        let across = 1 + (self.window_columns - self.tile_columns).div_ceil(step);
        let tiles = across * self.window_rows.div_ceil(self.tile_rows);
        let group = tiles * group + 30 * self.blocks() * self.block;
        let groups: usize = self.groups(grid).iter().product();
        if is_overlapped {
            // The next search fills the units that the last groups leave; but few groups fill none.
            return 2 * group * groups.max(3 * compute_units) / compute_units;
        }
        // Half a group more, for at the end not all have work.
        group * (2 * groups.div_ceil(compute_units) + 1)
    }

    /// Whether a whole row of strips is unrolled: as long as the instruction cache likes the loop.
    fn is_unrolled(&self) -> bool {
        self.rows * self.part * self.block / 4 <= if self.ssd { 704 } else { 2048 }
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
        let sums = if self.slices > 1 { self.tasks() * self.rows } else { 0 };
        let words = 4 * copy_words + y_ties + self.tasks() + 2 * self.blocks() + sums;
        VECTOR * (strips + ranks + words.div_ceil(4))
    }

    /// The `-D` options for this shape, beside those of every kernel. On a CPU it is mostly told, for
    /// compiling takes longer there than it saves.
    fn options(&self, device: &Device) -> String {
        let Self { rows, part, slices, window_columns, window_rows, skew, inside_only, .. } = self;
        let Self { tile_columns, tile_rows, blocks_across, blocks_down, .. } = self;
        if device.kind == DeviceKind::Cpu {
            let vectors = local_memory(device) / VECTOR;
            return format!(" -D ROWS={rows} -D PART={part} -D LOCAL_VECTORS={vectors}");
        }
        format!(
            " -D ROWS={rows} -D PART={part} -D LOCAL_VECTORS={} -D WINDOW_COLUMNS={window_columns} \
             -D WINDOW_ROWS={window_rows} -D SKEW={skew} -D INSIDE_ONLY={} -D TILE_COLUMNS={tile_columns} \
             -D TILE_ROWS={tile_rows} -D BLOCKS_ACROSS={blocks_across} -D BLOCKS_DOWN={blocks_down} \
             -D SLICES={slices} -D UNROLL_WORDS={}",
            self.local_bytes() / VECTOR,
            u8::from(*inside_only),
            if self.is_unrolled() && device.four_samples() > 0 { self.block / 4 } else { 1 }
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

/// Candidates of a run at most, so that a cost and a place in the run fit 32 bits.
fn rows_that_fit(parameters: &Parameters) -> usize {
    let samples = (parameters.block_size * parameters.block_size) as u32;
    let largest = match parameters.metric {
        Metric::Sad => samples * 255,
        Metric::Ssd => samples * 255 * 255,
    };
    1 << largest.leading_zeros().min(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;

    fn best(
        window: &Window,
        block: usize,
        metric: Metric,
        limit: usize,
        is_overlapped: bool,
    ) -> Option<Shape> {
        let parameters = Parameters { metric, ..Parameters::new(320, 200, block, *window) };
        let rows = MOST_ROWS.min(rows_that_fit(&parameters));
        let cuts = Cuts {
            rows,
            one_length: false,
            across: 1..=MOST_BLOCKS,
            down: 1..=MOST_BLOCKS,
            slices: MOST_SLICES,
            is_overlapped,
        };
        let smallest = Shape {
            block,
            ssd: metric == Metric::Ssd,
            window_columns: window.columns(),
            window_rows: window.rows(),
            skew: 0,
            inside_only: false,
            rows: 1,
            part: 4,
            slices: 1,
            tile_columns: window.columns(),
            tile_rows: 1,
            blocks_across: 1,
            blocks_down: 1,
            items: 128,
        };
        smallest.best(&cuts, &parameters.grid(), 132, limit)
    }

    #[test]
    fn shapes_fit_and_cover_every_window() {
        for block in (4..=64).step_by(4) {
            for (x, y) in [(0, 0), (1, 0), (16, 16), (64, 64), (500, 1), (2000, 2000), (8191, 8191)] {
                let window = Window::symmetric(x, y).unwrap();
                for metric in [Metric::Sad, Metric::Ssd] {
                    for (limit, is_overlapped) in [(32 << 10, false), (48 << 10, false), (48 << 10, true)] {
                        let shape = best(&window, block, metric, limit, is_overlapped).unwrap();
                        assert!(shape.local_bytes() <= limit, "{shape:?} in {limit}");
                        assert!(1 <= shape.tile_columns && shape.tile_columns <= window.columns());
                        let all = shape.tile_columns == window.columns();
                        let step = shape.tile_columns >= 4
                            && (window.columns() - shape.tile_columns).is_multiple_of(4);
                        assert!(all || step, "{shape:?}");
                        assert!(shape.rows <= shape.tile_rows && shape.tile_rows <= window.rows());
                        assert!(shape.blocks_across <= 320_usize.div_ceil(block));
                        assert!(shape.blocks_down <= 200_usize.div_ceil(block));
                        assert!((block / shape.part).is_multiple_of(shape.slices));
                    }
                }
            }
        }
        assert!(best(&Window::symmetric(1, 1).unwrap(), 64, Metric::Sad, 8 << 10, false).is_none());
    }

    #[test]
    fn tasks_of_large_blocks_are_shared() {
        let window = Window::symmetric(16, 16).unwrap();
        let slices = |block| best(&window, block, Metric::Sad, 48 << 10, false).unwrap().slices;
        assert_eq!([8, 16].map(slices), [1, 1]);
        assert!(slices(64) > 1);
    }

    #[test]
    fn cost_and_place_fit_32_bits() {
        for block in (4..=64_usize).step_by(4) {
            for (metric, largest) in [(Metric::Sad, 255_u64), (Metric::Ssd, 255 * 255)] {
                let window = Window::symmetric(100, 100).unwrap();
                let parameters = Parameters { metric, ..Parameters::new(320, 200, block, window) };
                let rows = rows_that_fit(&parameters).min(128);
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

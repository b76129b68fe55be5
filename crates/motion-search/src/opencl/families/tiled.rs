//! The tiled kernel (`kernels/tiled.cl`): how it is divided for a device, a window and a grid.

use std::iter::successors;
use std::ops::RangeInclusive;

use super::super::frame::sample_bytes;
use super::super::kernel_family::{BuildContext, FamilyRequest, KernelFamily};
use super::group_shape::GroupShape;
use crate::estimator::{Grid, Metric, Parameters, SetupError};
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Arg, KernelObject};

/// Bytes of a vector of four words, the kernel's unit of local memory.
const VECTOR: usize = 16;

/// Items that run in step on a GPU: 32 on NVIDIA's, 64 on some others, where it costs little.
const STEP: usize = 32;

/// Rows of a strip and candidates of a run: as many as registers hold together.
const MOST_PART: usize = 16;
const MOST_RUN: usize = 33;

/// The same on CPUs, whose compilers unroll for all items of a group at once.
const MOST_PART_CPU: usize = 4;
const MOST_RUN_CPU: usize = 4;

/// A tile whose runs have this many candidates is made narrower than the window rather than lower.
const SHORT_RUN: usize = 16;

/// Items that share a task at most.
const MOST_SLICES: usize = 4;

/// Tiles, one below the other, of a window that is divided over several devices: enough to divide it, and few
/// enough to be fast.
const WINDOW_PARTS: usize = 4;

/// Blocks of a group across and down at most.
const MOST_BLOCKS: usize = 8;

/// The kernel, and the groups that it is launched in.
pub(super) struct TiledFamily {
    kernel: KernelObject,
    group: GroupShape,
    divides_window: bool,
}

impl TiledFamily {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let shape = TiledShape::new(build)?;
        let kernel = shape.group.build(build, KernelFile::Tiled, c"tiled", &shape.options(build))?;
        Ok(Self { kernel, group: shape.group, divides_window: build.tuning.divides_window })
    }
}

impl KernelFamily for TiledFamily {
    fn least_rows(&self) -> usize {
        self.group.blocks_down
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn least_window_rows(&self) -> Option<usize> {
        self.divides_window.then_some(self.group.tile_rows)
    }

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let ([current, reference, vectors], shape) = (request.buffers(), self.group.arg(request.geometry));
        let shape = Arg::Struct(bytemuck::bytes_of(&shape));
        let args = [current, reference, vectors, shape, request.geometry.arg()];
        let groups = self.group.groups(request.geometry.columns as usize, request.geometry.rows as usize);
        // SAFETY: tiles are no larger than the window, and groups of blocks no larger than the grid, which
        // they cover; `local_bytes` is what such a group needs; the frames have margins for the window and
        // OVER_READ bytes, which include the two words that are read past it; there is a vector a block.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [self.group.items, 1]) }
    }
}

/// How the work is divided: what `tiled.cl` is compiled for, or gets as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TiledShape {
    group: GroupShape,
    /// Columns and rows of candidates.
    window: [usize; 2],
    /// Rows of a strip.
    part: usize,
    /// Items that share a task.
    slices: usize,
    /// Comparisons in a loop body at most, so that it fits the instruction cache.
    most_unrolled: usize,
}

/// The shapes that are allowed.
struct TiledChoices {
    /// Candidates of a run at most.
    run: usize,
    /// All runs have the most candidates, whatever remains for the last.
    one_length: bool,
    /// Blocks of a group.
    across: RangeInclusive<usize>,
    down: RangeInclusive<usize>,
    /// Rows of a tile at most.
    tile_rows: usize,
    /// Items that share a task at most.
    slices: usize,
    /// Whether searches in flight overlap.
    is_overlapped: bool,
}

impl TiledShape {
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if local memory holds no search area, or the device has no groups of
    /// the size in the tuning.
    fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let BuildContext { device, tuning, parameters, layout, .. } = *build;
        let Some(longest_run) = longest_run(parameters) else {
            return Err(build.unsupported(
                format!(
                    "a cost of {0} x {0} samples of {1} bits leaves no room for a rank in 32 bits",
                    parameters.block_size, parameters.bit_depth
                ),
                "choose kernel reference, or smaller blocks",
            ));
        };
        let on_cpu = build.is_cpu();
        let items = GroupShape::items(build, if on_cpu { 16 } else { 4 * STEP })?;
        let (part, run) = if on_cpu { (MOST_PART_CPU, MOST_RUN_CPU) } else { (MOST_PART, MOST_RUN) };
        let most = if on_cpu { 1 } else { MOST_BLOCKS };
        let window = [layout.geometry.window_columns as usize, layout.geometry.window_rows as usize];
        let window_rows = window[1];
        let choices = TiledChoices {
            run: tuning.run.unwrap_or(run).min(longest_run),
            // One length for all windows means that few programs are compiled.
            one_length: on_cpu || tuning.run.is_some(),
            across: tuning.blocks_across.map_or(1..=most, |n| n..=n),
            down: tuning.blocks_down.map_or(1..=most, |n| n..=n),
            tile_rows: if tuning.divides_window { window_rows.div_ceil(WINDOW_PARTS) } else { window_rows },
            slices: if on_cpu { 1 } else { MOST_SLICES },
            is_overlapped: build.searches() > 1,
        };
        let smallest = Self::smallest(parameters, window, part, items);
        let limit = GroupShape::local_memory(device);
        smallest.best(&choices, &parameters.grid(), device.compute_units, limit).ok_or_else(|| {
            build.unsupported(
                format!("its local memory of {limit} bytes holds no search area for such blocks"),
                "choose fewer blocks a work-group by the tuning, or collaborative-unaligned, which needs none",
            )
        })
    }

    /// One block and one row of candidates. `part`: rows of a strip at most.
    fn smallest(parameters: &Parameters, window: [usize; 2], part: usize, items: usize) -> Self {
        let block = parameters.block_size;
        let group = GroupShape {
            block,
            word: 4 / sample_bytes(parameters),
            run: 1,
            tile_columns: window[0],
            tile_rows: 1,
            blocks_across: 1,
            blocks_down: 1,
            items,
        };
        let part = (1..=part).rev().find(|part| block.is_multiple_of(*part)).unwrap_or(1);
        let most_unrolled = most_unrolled(parameters);
        Self { group, window, part, slices: 1, most_unrolled }
    }

    /// The cheapest of the allowed shapes whose group needs at most `limit` bytes of local memory.
    fn best(self, choices: &TiledChoices, grid: &Grid, compute_units: usize, limit: usize) -> Option<Self> {
        let [window_columns, window_rows] = self.window;
        let with_group = |group| Self { group, ..self };
        let fits = |shape: &Self| shape.local_bytes() <= limit;
        // As wide as leaves room for a short run. Tiles begin a multiple of 4 columns apart, also the last,
        // and leave no gap.
        let short = choices.run.min(window_rows).min(SHORT_RUN);
        let column =
            successors(Some(short), |run| Some(run / 2)).take_while(|run| *run > 0).find_map(|run| {
                (1..=window_columns).rev().find_map(|tile_columns| {
                    let cut = window_columns - tile_columns;
                    let group = GroupShape { tile_columns, run, tile_rows: run, ..self.group };
                    ((cut == 0 || (tile_columns >= 4 && cut.is_multiple_of(4))) && fits(&with_group(group)))
                        .then_some(group)
                })
            })?;
        let with_rows = |tiles: usize, more_runs: usize| {
            let tile_rows = window_rows.div_ceil(tiles);
            let runs = (tile_rows.div_ceil(choices.run) + more_runs).min(tile_rows);
            let run = if choices.one_length { choices.run.min(tile_rows) } else { tile_rows.div_ceil(runs) };
            GroupShape { tile_rows, run, ..column }
        };
        let fewest = window_rows.div_ceil(choices.tile_rows);
        let fewest = (fewest..=window_rows).find(|tiles| fits(&with_group(with_rows(*tiles, 0))))?;
        let more_runs = if choices.one_length { 0 } else { 3 };
        let parts = self.group.block / self.part;
        let mut best: Option<(usize, Self)> = None;
        for tiles in fewest..=(fewest + 3).min(window_rows) {
            for rows in (0..=more_runs).map(|more| with_rows(tiles, more)) {
                for down in choices.down.clone() {
                    for across in choices.across.clone() {
                        let blocks_across = across.min(grid.columns).min(rows.items);
                        let blocks_down = down.min(grid.rows).min(rows.items / blocks_across);
                        let group = GroupShape { blocks_across, blocks_down, ..rows };
                        for slices in (1..=choices.slices).filter(|slices| parts.is_multiple_of(*slices)) {
                            let shape = Self { group, slices, ..self };
                            let cost = shape.cost(grid, compute_units, choices.is_overlapped);
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

    /// Instructions, roughly, that the busiest compute unit issues for two frames. The formula was compared
    /// with the times of some 300 shapes: `benches/RESULTS.md`.
    fn cost(&self, grid: &Grid, compute_units: usize, is_overlapped: bool) -> usize {
        let GroupShape { block, run, tile_columns, tile_rows, items, .. } = self.group;
        // Comparisons, reads of the area (a strip at a time), and what a task needs besides.
        let strips = block * self.group.block_words() / self.part;
        let loop_cost = if self.is_unrolled() { 0 } else { 12 };
        let strip = run * self.part + (run + self.part - 1) + loop_cost;
        // Several slices add up their costs in local memory.
        let shared = if self.slices > 1 { 4 * run } else { 0 };
        let share = strips / self.slices * strip + shared + run + 60;
        // An item without a task is idle if others in step have one; if not, it costs little.
        let shares = self.slices * self.group.tasks();
        let (steps, rounds) = (shares.next_multiple_of(STEP), shares.next_multiple_of(items));
        let shares = (15 * steps.max(items) + rounds) / 16;
        // Also each word of the area that is copied, each row of a block, and what an item does once.
        let group = shares * share + 8 * self.area_words() * self.group.area_rows() + 100 * items;
        let step = (tile_columns / 4 * 4).max(4);
        let across = 1 + (self.window[0] - tile_columns).div_ceil(step);
        let tiles = across * self.window[1].div_ceil(tile_rows);
        let group = tiles * group + 30 * self.group.blocks() * block;
        let groups: usize = self.group.groups(grid.columns, grid.rows).iter().product();
        if is_overlapped {
            // The next search uses the units that the last groups leave idle; but few groups use none fully.
            return 2 * group * groups.max(3 * compute_units) / compute_units;
        }
        // Half a group more, because at the end not all units have work.
        group * (2 * groups.div_ceil(compute_units) + 1)
    }

    /// Whether a whole row of strips is unrolled.
    fn is_unrolled(&self) -> bool {
        self.group.run * self.part * self.group.block_words() <= self.most_unrolled
    }

    /// `AREA_WORDS` in `tiled.cl`.
    fn area_words(&self) -> usize {
        let GroupShape { block, word, tile_columns, blocks_across, .. } = self.group;
        (tile_columns - 1 + (blocks_across - 1) * block) / word + self.group.block_words()
    }

    /// Local memory of a group, array by array as in the kernel.
    fn local_bytes(&self) -> usize {
        let (group, block, run) = (&self.group, self.group.block, self.group.run);
        let strips = group.blocks() * block / self.part * group.block_words() * self.part.div_ceil(4);
        let ranks = group.runs() * run.div_ceil(4);
        let copy_words = (group.area_rows() * self.area_words() + 23) / 32 * 32 + 8;
        let y_ties = group.runs() * run.next_power_of_two().max(2);
        let sums = if self.slices > 1 { group.tasks() * run } else { 0 };
        let words = group.word * copy_words + y_ties + group.tasks() + 2 * group.blocks() + sums;
        VECTOR * (strips + ranks + words.div_ceil(4))
    }

    /// The `-D` options of `tiled.cl` besides those of the group. On CPUs all shapes have the same.
    fn options(&self, build: &BuildContext<'_>) -> String {
        let Self { part, slices, .. } = self;
        if build.is_cpu() {
            let vectors = GroupShape::local_memory(build.device) / VECTOR;
            return format!(" -D PART={part} -D LOCAL_VECTORS={vectors}");
        }
        let is_unrolled = self.is_unrolled() && build.four_samples() > 0;
        let unrolled = if is_unrolled { self.group.block_words() } else { 1 };
        let vectors = self.local_bytes() / VECTOR;
        format!(" -D PART={part} -D LOCAL_VECTORS={vectors} -D SLICES={slices} -D UNROLL_WORDS={unrolled}")
    }
}

/// The comparisons of words in a loop body that the instruction cache holds, and that a compiler takes in seconds: those of
/// samples of two bytes are several instructions, of which NVIDIA's compiler took 50 s for 2048 comparisons.
fn most_unrolled(parameters: &Parameters) -> usize {
    match (parameters.bit_depth > 8, parameters.metric) {
        (false, Metric::Sad) => 2048,
        (false, Metric::Ssd) => 704,
        (true, _) => 512,
    }
}

/// Candidates of a run at most, so that a cost and a rank in the run fit 32 bits. `None` if not even the ranks of one
/// candidate do, of which there are two.
fn longest_run(parameters: &Parameters) -> Option<usize> {
    let samples = (parameters.block_size * parameters.block_size) as u32;
    let largest = samples * parameters.metric.term(u16::MAX >> (16 - parameters.bit_depth));
    let free = largest.leading_zeros().min(7);
    (free > 0).then_some(1 << free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;

    /// The best shape whose tiles divide the window's rows by at least `parts`.
    fn best_of(parts: usize, window: [usize; 2]) -> TiledShape {
        let parameters = Parameters::new(320, 200, 16, Window::default());
        let choices =
            TiledChoices { tile_rows: window[1].div_ceil(parts), ..choices(&parameters, window, false) };
        let smallest = TiledShape::smallest(&parameters, window, 4, 128);
        smallest.best(&choices, &parameters.grid(), 132, 48 << 10).unwrap()
    }

    fn choices(parameters: &Parameters, window: [usize; 2], is_overlapped: bool) -> TiledChoices {
        TiledChoices {
            run: MOST_RUN.min(longest_run(parameters).unwrap()),
            one_length: false,
            across: 1..=MOST_BLOCKS,
            down: 1..=MOST_BLOCKS,
            tile_rows: window[1],
            slices: MOST_SLICES,
            is_overlapped,
        }
    }

    fn best(
        window: [usize; 2],
        block: usize,
        metric: Metric,
        limit: usize,
        is_overlapped: bool,
    ) -> Option<TiledShape> {
        let parameters = Parameters { metric, ..Parameters::new(320, 200, block, Window::default()) };
        let choices = choices(&parameters, window, is_overlapped);
        TiledShape::smallest(&parameters, window, 4, 128).best(&choices, &parameters.grid(), 132, limit)
    }

    #[test]
    fn shapes_fit_and_cover_every_window() {
        for block in (4..=64).step_by(4) {
            for window in [[1, 1], [3, 1], [33, 33], [129, 129], [1001, 3], [4001, 4001], [16383, 16383]] {
                for metric in [Metric::Sad, Metric::Ssd] {
                    for (limit, is_overlapped) in [(32 << 10, false), (48 << 10, false), (48 << 10, true)] {
                        let shape = best(window, block, metric, limit, is_overlapped).unwrap();
                        assert!(shape.local_bytes() <= limit, "{shape:?} in {limit}");
                        let TiledShape { group, part, slices, .. } = shape;
                        assert!((1..=window[0]).contains(&group.tile_columns));
                        let all = group.tile_columns == window[0];
                        let step =
                            group.tile_columns >= 4 && (window[0] - group.tile_columns).is_multiple_of(4);
                        assert!(all || step, "{shape:?}");
                        assert!(group.run <= group.tile_rows && group.tile_rows <= window[1]);
                        assert!(group.blocks_across <= 320_usize.div_ceil(block));
                        assert!(group.blocks_down <= 200_usize.div_ceil(block));
                        assert!((block / part).is_multiple_of(slices));
                    }
                }
            }
        }
        assert!(best([3, 3], 64, Metric::Sad, 8 << 10, false).is_none());
    }

    #[test]
    fn tiles_are_low_where_the_window_is_divided() {
        for rows in [1, 3, 33, 47, 129, 1001] {
            for parts in [1, 2, 4] {
                assert!(best_of(parts, [33, rows]).group.tile_rows <= rows.div_ceil(parts), "{rows} {parts}");
            }
        }
        assert_eq!(best_of(1, [33, 33]).group.tile_rows, 33);
    }

    #[test]
    fn tasks_of_large_blocks_are_shared() {
        let slices = |block| best([33, 33], block, Metric::Sad, 48 << 10, false).unwrap().slices;
        assert_eq!([8, 16].map(slices), [1, 1]);
        assert!(slices(64) > 1);
    }

    #[test]
    fn cost_and_rank_fit_32_bits() {
        for block in (4..=64_usize).step_by(4) {
            for (metric, largest) in [(Metric::Sad, 255_u64), (Metric::Ssd, 255 * 255)] {
                let window = Window::symmetric(100, 100).unwrap();
                let parameters = Parameters { metric, ..Parameters::new(320, 200, block, window) };
                let run = longest_run(&parameters).unwrap();
                let ranks = run.next_power_of_two().max(2) as u64;
                // The largest number is kept for candidates that do not count.
                assert!(
                    ((block * block) as u64 * largest + 1) * ranks <= 1 << 32,
                    "{block} {metric:?} {run}"
                );
            }
        }
    }
}

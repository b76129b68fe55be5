//! Elimination on a device (`kernels/elimination.cl`): the sums of the reference, and how the search is
//! divided for a device and a window.
//!
//! Memory on the device besides the frames and the vectors: eight bytes a sample of a frame with its
//! margins, for the sums, a field for each offset of the references, and one more.

use std::mem;

use crate::estimator::{Grid, MotionVector, SetupError};
use crate::opencl::families::equal_part;
use crate::opencl::families::group_shape::GroupShape;
use crate::opencl::frame::sample_bytes;
use crate::opencl::kernel_family::{BuildContext, FamilyRequest, KernelFamily};
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject, QueueKind};

/// Candidates of a run at most: as many as an item has bits for. Fewer on CPUs, whose compilers unroll for
/// all items of a group at once.
const MOST_RUN: usize = 32;
const MOST_RUN_CPU: usize = 4;

/// Columns and runs of a tile at most. The candidates of a tile are numbered in 16 bits.
const MOST_COLUMNS: usize = 160;
const MOST_RUNS: usize = 8;

/// `FIRSTS` and `KNOWN` in the kernel: first suspects of a block.
const FIRSTS: usize = 16;
const KNOWN: usize = 6;

/// Blocks of a group at most: the entries of the lists have four bits for them.
const MOST_BLOCKS: usize = 16;

/// `SUM_COLUMNS` and `SUM_ROWS` in the kernel: samples for which a group computes sums.
const SUMMED: [usize; 2] = [128, 16];

/// The two kernels, the sums and the fields.
pub(in crate::opencl::families) struct EliminationFamily {
    sum_parts: KernelObject,
    eliminate: KernelObject,
    small: Buffer,
    large: Buffer,
    /// The field found last at each offset of the references.
    last: Vec<Buffer>,
    /// Space for the next field.
    next: Buffer,
    shape: EliminationShape,
}

impl EliminationFamily {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let shape = EliminationShape::new(build)?;
        let options = shape.options(build);
        let kernel = |name| shape.group.build(build, KernelFile::Elimination, name, &options);
        let samples = build.layout.bytes() / sample_bytes(build.parameters);
        let field = || {
            let bytes = vec![0; build.grid().blocks() * size_of::<MotionVector>()];
            let buffer = build.buffer("the field found last", bytes.len())?;
            let queue = build.context.queue(QueueKind::Ordered);
            queue
                .and_then(|queue| queue.write(&buffer, &bytes))
                .map_err(|error| build.device.refused(error))?;
            Ok(buffer)
        };
        Ok(Self {
            eliminate: kernel(c"elimination")?,
            sum_parts: kernel(c"sum_parts")?,
            small: build.buffer("pairs of sums of small parts", 4 * samples)?,
            large: build.buffer("pairs of sums of large parts", 4 * samples)?,
            last: (0..build.parameters.references.count()).map(|_| field()).collect::<Result<_, _>>()?,
            next: field()?,
            shape,
        })
    }
}

impl KernelFamily for EliminationFamily {
    fn least_rows(&self) -> usize {
        self.shape.group.blocks_down
    }

    fn least_window_rows(&self) -> Option<usize> {
        None
    }

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let (group, geometry) = (&self.shape.group, request.geometry);
        let (columns, rows) = (geometry.columns as usize, geometry.rows as usize);
        let reached = rows * group.block + geometry.window_rows as usize - 1;
        let [current, reference, vectors] = request.buffers();
        let [small, large] = [&self.small, &self.large].map(Arg::Buffer);
        let args = [reference, small, large, geometry.arg()];
        let samples = geometry.pitch as usize / 4 * group.word;
        let groups = [samples.div_ceil(SUMMED[0]), reached.div_ceil(SUMMED[1])];
        // SAFETY: the kernel reads and writes the rows that the search reaches, for which the frames have
        // margins, and no word past their ends; there are as many words of sums as samples.
        unsafe { request.queue.launch(&mut self.sum_parts, &args, groups, [group.items, 1])? };

        let shape = group.arg(geometry);
        let last = &mut self.last[request.buffers.history];
        let args = [
            current,
            reference,
            small,
            large,
            Arg::Buffer(last),
            Arg::Buffer(&self.next),
            vectors,
            Arg::Local(self.shape.local_bytes()),
            Arg::Struct(bytemuck::bytes_of(&shape)),
            geometry.arg(),
        ];
        let groups = group.groups(columns, rows);
        // SAFETY: tiles are no larger than the window, and groups of blocks no larger than the grid, which
        // they cover; `local_bytes` is what such a group needs; the frames have margins for the window and
        // OVER_READ bytes, which include the word that is read past it; fields and vectors hold all blocks.
        unsafe { request.queue.launch(&mut self.eliminate, &args, groups, [group.items, 1])? };
        mem::swap(last, &mut self.next);
        Ok(())
    }
}

/// How the work is divided: what `elimination.cl` is compiled for, or gets as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EliminationShape {
    group: GroupShape,
    /// Entries that each list has room for.
    list: usize,
}

/// The largest shape that is allowed.
struct EliminationLimits {
    block: usize,
    /// Samples of a word.
    word: usize,
    items: usize,
    /// Candidates of a run.
    run: usize,
    /// All runs have the most candidates, whatever remains for the last.
    one_length: bool,
    /// Blocks of a group across and down.
    blocks: [usize; 2],
    /// Candidates of a tile across and down.
    tile: [usize; 2],
}

impl EliminationShape {
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if local memory is too small, or the device has no groups of the
    /// size in the tuning.
    fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let (tuning, geometry, on_cpu) = (build.tuning, &build.layout.geometry, build.is_cpu());
        let run = tuning.run.unwrap_or(MOST_RUN).min(if on_cpu { MOST_RUN_CPU } else { MOST_RUN });
        let usual = if on_cpu { 1 } else { 2 };
        let limits = EliminationLimits {
            block: build.parameters.block_size,
            word: build.word_samples(),
            items: GroupShape::items(build, if on_cpu { 16 } else { 256 })?,
            run,
            // One length for all windows means that few programs are compiled.
            one_length: on_cpu || tuning.run.is_some(),
            blocks: [tuning.blocks_across.unwrap_or(usual), tuning.blocks_down.unwrap_or(usual)],
            tile: [MOST_COLUMNS, MOST_RUNS * run],
        };
        let window = [geometry.window_columns as usize, geometry.window_rows as usize];
        let bytes = GroupShape::local_memory(build.device);
        Self::largest(limits, &build.grid(), window, bytes).ok_or_else(|| {
            build.unsupported(
                format!("its local memory of {bytes} bytes is too small for its lists"),
                "choose collaborative-unaligned, which needs none",
            )
        })
    }

    /// The largest shape for a window of `[columns, rows]` whose group needs at most `bytes` of local memory.
    /// `None` if no shape does.
    fn largest(limits: EliminationLimits, grid: &Grid, window: [usize; 2], bytes: usize) -> Option<Self> {
        let EliminationLimits { block, word, items, run, one_length, mut blocks, mut tile } = limits;
        loop {
            let [tile_columns, tile_rows] = [0, 1].map(|axis| equal_part(window[axis], tile[axis]));
            let run = if one_length { run.min(tile_rows) } else { equal_part(tile_rows, run) };
            let blocks_across = blocks[0].min(grid.columns).min(MOST_BLOCKS);
            let blocks_down = blocks[1].min(grid.rows).min(MOST_BLOCKS / blocks_across);
            let list = (4 * items).max(blocks_across * blocks_down * (FIRSTS + KNOWN)).next_multiple_of(64);
            let group =
                GroupShape { block, word, run, tile_columns, tile_rows, blocks_across, blocks_down, items };
            let shape = Self { group, list };
            if shape.local_bytes() <= bytes {
                return Some(shape);
            }
            match (blocks_across, blocks_down, tile_columns, tile_rows) {
                (1, 1, 1, 1) => return None,
                (1, 1, columns, rows) if rows >= columns => tile[1] = rows / 2,
                (1, 1, columns, _) => tile[0] = columns / 2,
                (across, down, ..) if down >= across => blocks = [across, down / 2],
                (across, down, ..) => blocks = [across / 2, down],
            }
        }
    }

    /// Local memory of a group, array by array as in the kernel.
    fn local_bytes(&self) -> usize {
        let Self { group, list } = self;
        let GroupShape { block, word, tile_columns, blocks_across, .. } = *group;
        let words = group.blocks() * (block * group.block_words() + 16 + 4 + FIRSTS + 3) + 3 * list + 3;
        let area_words = ((tile_columns + blocks_across * block + word - 2) / word + 1) | 1;
        4 * (words + area_words * group.area_rows()) + 2 * 2 * group.tasks()
    }

    /// The `-D` options of `elimination.cl` besides those of the group.
    fn options(&self, build: &BuildContext<'_>) -> String {
        let depth = build.parameters.bit_depth;
        let options = format!(" -D LIST={} -D FIRSTS={FIRSTS} -D DEPTH={depth}", self.list);
        if build.is_cpu() { options } else { format!("{options} -D PITCH={}", build.layout.pitch()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Parameters, Window};

    fn limits((block, word): (usize, usize), items: usize, run: usize) -> EliminationLimits {
        let tile = [MOST_COLUMNS, MOST_RUNS * run];
        EliminationLimits { block, word, items, run, one_length: false, blocks: [2, 2], tile }
    }

    #[test]
    fn shapes_fit_and_can_be_numbered() {
        for (block, word) in (4..=64).step_by(4).flat_map(|side| [(side, 4), (side, 2)]) {
            let grid = Parameters::new(320, 200, block, Window::default()).grid();
            for window in [[1, 1], [3, 1], [33, 33], [129, 129], [1001, 3], [4001, 4001], [16383, 16383]] {
                for (items, run, bytes) in [(16, MOST_RUN_CPU, 32 << 10), (256, MOST_RUN, 48 << 10)] {
                    let limits = limits((block, word), items, run);
                    let shape = EliminationShape::largest(limits, &grid, window, bytes).unwrap();
                    assert!(shape.local_bytes() <= bytes, "{shape:?} in {bytes}");
                    let group = shape.group;
                    assert!(group.run <= group.tile_rows.min(MOST_RUN), "{shape:?}");
                    assert!(group.tile_columns <= window[0] && group.tile_rows <= window[1], "{shape:?}");
                    assert!(group.tile_rows * group.tile_columns <= 1 << 16, "{shape:?}");
                    assert!(group.blocks() <= MOST_BLOCKS && group.blocks_across <= grid.columns);
                    assert!(group.blocks() * (FIRSTS + KNOWN) <= shape.list, "{shape:?}");
                }
            }
        }
        let grid = Parameters::new(320, 200, 64, Window::default()).grid();
        assert!(EliminationShape::largest(limits((64, 4), 16, 4), &grid, [3, 3], 8 << 10).is_none());
    }
}

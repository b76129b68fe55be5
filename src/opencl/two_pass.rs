//! Zhang's two kernels (`kernels/two_pass.cl`): all costs of a band of blocks, then the best of each
//! block.
//!
//! Memory on the device beside the frames and the vectors: `4 · blocks · candidates` bytes of
//! costs, or `4 · columns · candidates` times as many rows of blocks as
//! [`Tuning::cost_bytes`](crate::estimator::Tuning::cost_bytes) and the device's largest buffer
//! allow. Where not one row fits, a part of a row is taken at a time.

use super::cl::{self, Arg, Buffer};
use super::device::DeviceKind;
use super::program::Source;
use super::search::{KEY, LOCAL_MEMORY_WANTED, Run, Search, Task, int};
use super::tile::Tile;
use crate::estimator::SetupError;

/// Work-items of a group in the paper.
const ITEMS: usize = 256;

/// The same on a CPU, which is faster with fewer: 324 ms and 423 ms at 1080p on PoCL.
const CPU_ITEMS: usize = 64;

/// Candidates of a work-item in the paper.
const CANDIDATES_AN_ITEM: usize = 4;

/// The two kernels and the costs between them.
pub(super) struct TwoPass {
    compute: cl::Kernel,
    compute_items: usize,
    tile: Tile,
    compare: cl::Kernel,
    compare_items: usize,
    costs: Buffer,
    blocks_at_once: usize,
    block_size: usize,
}

impl TwoPass {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let compute = task.build(Source::TwoPass, c"two_pass_compute")?;
        let compare = task.build(Source::TwoPass, c"two_pass_compare")?;
        let (block_size, local_memory) = (task.parameters.block_size, task.device.local_memory);
        let usual = if task.device.kind == DeviceKind::Cpu { CPU_ITEMS } else { ITEMS };
        let group = |kernel: &cl::Kernel| match task.chosen_group(kernel)? {
            Some(items) => Ok(items),
            None => task.largest_group(kernel).map(|largest| largest.min(usual)),
        };
        let (compute_items, mut compare_items) = (group(&compute)?, group(&compare)?);
        let keys = local_memory / KEY;
        if task.tuning.group_size.is_some() && compare_items > keys {
            return Err(task.local_memory_short(compare_items, KEY * compare_items, keys));
        }
        compare_items = compare_items.min(keys);

        let candidates = CANDIDATES_AN_ITEM * compute_items;
        let block_bytes = block_size * block_size;
        let tile = [LOCAL_MEMORY_WANTED, local_memory].into_iter().find_map(|bytes| {
            let bytes = bytes.min(local_memory).checked_sub(block_bytes)?;
            Tile::largest(task.window, block_size, bytes, candidates)
        });
        let needed = block_bytes + Tile::least_bytes(block_size);
        let tile = tile.ok_or_else(|| task.local_memory_short(compute_items, needed, 0))?;

        let (grid, candidates) = (task.parameters.grid(), task.window.candidates());
        let block_costs = 4 * candidates as u64;
        let fit = task.costs_at_once("the costs of a block", block_costs, grid.blocks())?;
        // Whole rows where one fits, and bands of one size: the last is not left with few blocks.
        let band = |parts: usize, fit: usize| parts.div_ceil(parts.div_ceil(fit));
        let blocks_at_once = match fit / grid.columns {
            0 => band(grid.columns, fit),
            rows => grid.columns * band(grid.rows, rows),
        };
        Ok(Self {
            compute,
            compute_items,
            tile,
            compare,
            compare_items,
            costs: task.buffer("the costs of all blocks", 4 * candidates * blocks_at_once)?,
            blocks_at_once,
            block_size,
        })
    }
}

impl Search for TwoPass {
    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let tile = self.tile;
        for first in (0..run.blocks).step_by(self.blocks_at_once) {
            let blocks = self.blocks_at_once.min(run.blocks - first);
            let costs = Arg::Buffer(&self.costs);
            let args = [
                Arg::Buffer(run.current),
                Arg::Buffer(run.reference),
                costs,
                Arg::Local(self.block_size * self.block_size),
                Arg::Local(tile.area_bytes()),
                int(tile.area_words),
                int(tile.columns),
                int(tile.rows),
                int(first),
                run.geometry,
            ];
            let (groups, items) = ([tile.count(&run.window), blocks], [self.compute_items, 1]);
            // SAFETY: a group a tile and block of the band, whose costs fit; the area holds a tile;
            // the layout was made for the window.
            unsafe { run.queue.launch(&mut self.compute, &args, groups, items)? };

            let keys = Arg::Local(KEY * self.compare_items);
            let args = [costs, Arg::Buffer(run.vectors), keys, int(first), run.geometry];
            let (groups, items) = ([blocks, 1], [self.compare_items, 1]);
            // SAFETY: a group a block of the band, with a key an item; there are as many vectors as
            // blocks.
            unsafe { run.queue.launch(&mut self.compare, &args, groups, items)? };
        }
        Ok(())
    }
}

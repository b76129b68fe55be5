//! The Reference Method (`kernels/reference.cl`): a group a block.

use super::cl::{self, Arg};
use super::program::Source;
use super::search::{KEY, LOCAL_MEMORY_WANTED, Run, Search, Task, int};
use super::tile::Tile;
use crate::estimator::SetupError;

/// Everything from global memory; the group has an item a candidate, or as many as are chosen.
pub(super) struct Naive {
    kernel: cl::Kernel,
    items: usize,
}

impl Naive {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let candidates = task.window.candidates();
        let most = candidates.min(task.device.largest_group);
        let (kernel, items) = task.build_for(Source::Reference, c"reference_naive", most)?;
        let keys = task.device.local_memory / KEY;
        if task.tuning.group_size.is_some() {
            if items > keys {
                return Err(task.local_memory_short(items, KEY * items, keys));
            }
        } else if candidates > items.min(keys) {
            let limit = items.min(keys);
            let what =
                if keys < items { "local memory holds the costs of" } else { "its largest work-group has" };
            let reason =
                format!("it needs a work-item for each of {candidates} candidates and {what} {limit}");
            let advice = format!(
                "choose a tuning group-size of {limit} or less, whose work-items take several; reference, \
                 collaborative-naive, collaborative or collaborative-unaligned, which have no such limit; or \
                 a smaller search range"
            );
            return Err(task.unsupported(reason, advice));
        }
        Ok(Self { kernel, items })
    }
}

impl Search for Naive {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            Arg::Local(KEY * self.items),
            run.geometry,
        ];
        // SAFETY: a group a block, with a key an item; the layout was made for the window, and
        // there are as many vectors as blocks.
        unsafe { run.queue.launch(&mut self.kernel, &args, [run.blocks, 1], [self.items, 1]) }
    }
}

/// Block and search area in local memory; the items share the candidates of one tile after the
/// other.
pub(super) struct Staged {
    kernel: cl::Kernel,
    block_size: usize,
    items: usize,
    tile: Tile,
}

impl Staged {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let kernel = task.build(Source::Reference, c"reference_staged")?;
        let (block_size, local_memory) = (task.parameters.block_size, task.device.local_memory);
        let items = match task.chosen_group(&kernel)? {
            Some(items) => items,
            // An item a candidate where that is possible; a CPU runs a group's items one after the
            // other and gains nothing from many.
            None => {
                let most = task.largest_group(&kernel)?.min(if task.is_gpu() { 256 } else { 16 });
                task.window.candidates().next_power_of_two().min(1 << most.ilog2())
            }
        };
        let fixed = KEY * items + block_size * block_size;
        let tile = [LOCAL_MEMORY_WANTED, local_memory].into_iter().find_map(|bytes| {
            let bytes = bytes.min(local_memory).checked_sub(fixed)?;
            Tile::largest(task.window, block_size, bytes, usize::MAX)
        });
        let Some(tile) = tile else {
            let without_keys = block_size * block_size + Tile::least_bytes(block_size);
            let most = local_memory.saturating_sub(without_keys) / KEY;
            return Err(task.local_memory_short(items, without_keys + KEY * items, most));
        };
        Ok(Self { kernel, block_size, items, tile })
    }
}

impl Search for Staged {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let Self { block_size, items, tile, .. } = *self;
        let args = [
            Arg::Buffer(run.current),
            Arg::Buffer(run.reference),
            Arg::Buffer(run.vectors),
            Arg::Local(KEY * items),
            Arg::Local(block_size * block_size),
            Arg::Local(tile.area_bytes()),
            int(tile.area_words),
            int(tile.columns),
            int(tile.rows),
            run.geometry,
        ];
        // SAFETY: a group a block, with a key an item; the area holds a tile; the layout was made
        // for the window, and there are as many vectors as blocks.
        unsafe { run.queue.launch(&mut self.kernel, &args, [run.blocks, 1], [items, 1]) }
    }
}

//! Zhang's two kernels (`kernels/papers/two_pass.cl`): all costs of a band of blocks, then the best of each
//! block.
//!
//! Memory on the device besides the frames and the vectors: `4 · blocks · candidates` bytes of costs, or
//! those of as many rows of blocks as [`Tuning::cost_bytes`](crate::tuning::Tuning::cost_bytes) and the
//! device's largest buffer allow. If not even one row fits, a part of a row is taken at a time.

use super::tile::{TileBlock, WindowTile};
use crate::estimator::SetupError;
use crate::opencl::families::{KEY, equal_part};
use crate::opencl::kernel_family::{BuildContext, FamilyRequest, KernelFamily, int};
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject};

/// Work-items of a group in the paper.
const ITEMS: usize = 256;

/// The same on a CPU, which is faster with fewer: 324 ms instead of 423 ms at 1080p on PoCL.
const CPU_ITEMS: usize = 64;

/// Candidates of a work-item in the paper.
const CANDIDATES_AN_ITEM: usize = 4;

/// The two kernels and the costs between them.
pub(in crate::opencl::families) struct TwoPassFamily {
    compute: KernelObject,
    compute_items: usize,
    tile: WindowTile,
    compare: KernelObject,
    compare_items: usize,
    costs: Buffer,
    blocks_at_once: usize,
    /// Bytes of a block.
    block_bytes: usize,
}

impl TwoPassFamily {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let compute = build.build(KernelFile::TwoPass, c"two_pass_compute", "")?;
        let compare = build.build(KernelFile::TwoPass, c"two_pass_compare", "")?;
        let usual = if build.is_cpu() { CPU_ITEMS } else { ITEMS };
        let group = |kernel: &KernelObject| match build.chosen_group(kernel)? {
            Some(items) => Ok(items),
            None => build.largest_group(kernel).map(|largest| largest.min(usual)),
        };
        let (compute_items, mut compare_items) = (group(&compute)?, group(&compare)?);
        let keys = build.device.local_memory / KEY;
        if build.tuning.group_size.is_some() && compare_items > keys {
            return Err(build.local_memory_short(compare_items, KEY * compare_items, keys));
        }
        compare_items = compare_items.min(keys);

        let block = TileBlock::of(build);
        let block_bytes = block.bytes();
        let tile = WindowTile::for_group(build, block, block_bytes, CANDIDATES_AN_ITEM * compute_items);
        let needed = block_bytes + WindowTile::least_bytes(block);
        let tile = tile.ok_or_else(|| build.local_memory_short(compute_items, needed, 0))?;

        let (grid, candidates) = (build.grid(), build.candidates());
        let fit = build.costs_at_once("the costs of a block", 4 * candidates as u64, grid.blocks())?;
        // Whole rows if one fits, and equal bands, so that the last has not just a few blocks.
        let blocks_at_once = match fit / grid.columns {
            0 => equal_part(grid.columns, fit),
            rows => grid.columns * equal_part(grid.rows, rows),
        };
        Ok(Self {
            compute,
            compute_items,
            tile,
            compare,
            compare_items,
            costs: build.buffer("the costs of all blocks", 4 * candidates * blocks_at_once)?,
            blocks_at_once,
            block_bytes,
        })
    }
}

impl KernelFamily for TwoPassFamily {
    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let (tile, all) = (self.tile, request.geometry.blocks());
        let ([current, reference, vectors], geometry) = (request.buffers(), request.geometry.arg());
        for first in (0..all).step_by(self.blocks_at_once) {
            let blocks = self.blocks_at_once.min(all - first);
            let costs = Arg::Buffer(&self.costs);
            let args = [
                current,
                reference,
                costs,
                Arg::Local(self.block_bytes),
                Arg::Local(tile.area_bytes()),
                int(tile.area_words),
                int(tile.columns),
                int(tile.rows),
                int(first),
                geometry,
            ];
            let (groups, items) = ([tile.count(request.geometry), blocks], [self.compute_items, 1]);
            // SAFETY: a group a tile and block of the band, whose costs fit; the area holds a tile; the
            // frames have margins for the window.
            unsafe { request.queue.launch(&mut self.compute, &args, groups, items)? };

            let keys = Arg::Local(KEY * self.compare_items);
            let args = [costs, vectors, keys, int(first), geometry];
            let (groups, items) = ([blocks, 1], [self.compare_items, 1]);
            // SAFETY: a group a block of the band, with a key an item; there is a vector a block.
            unsafe { request.queue.launch(&mut self.compare, &args, groups, items)? };
        }
        Ok(())
    }
}

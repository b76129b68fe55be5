//! The Reference Method (`kernels/papers/reference.cl`): a group a block.

use super::tile::{TileBlock, WindowTile};
use crate::estimator::SetupError;
use crate::opencl::families::KEY;
use crate::opencl::kernel_family::{BuildContext, FamilyRequest, KernelFamily, int};
use crate::opencl::kernel_file::KernelFile;
use crate::tuning::Kernel;
use motion_gpu::launcher::{self, Arg, KernelObject};

/// Reads everything from global memory; the group has an item a candidate, unless the tuning has another
/// size.
pub(in crate::opencl::families) struct ReferenceNaive {
    kernel: KernelObject,
    items: usize,
}

impl ReferenceNaive {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let candidates = build.candidates();
        let most = candidates.min(build.device.largest_group);
        let (kernel, items) = build.build_for(KernelFile::Reference, c"reference_naive", most)?;
        let keys = build.device.local_memory / KEY;
        if build.tuning.group_size.is_some() {
            if items > keys {
                return Err(build.local_memory_short(items, KEY * items, keys));
            }
        } else if candidates > items.min(keys) {
            let limit = items.min(keys);
            let what =
                if keys < items { "local memory holds the costs of" } else { "its largest work-group has" };
            let reason =
                format!("it needs a work-item for each of {candidates} candidates, and {what} {limit}");
            let advice = format!(
                "choose a tuning group-size of {limit} or less, whose work-items take several; reference, \
                 collaborative-naive, collaborative or collaborative-unaligned, which have no such limit; or a \
                 smaller search range"
            );
            return Err(build.unsupported(reason, advice));
        }
        Ok(Self { kernel, items })
    }
}

impl KernelFamily for ReferenceNaive {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let [current, reference, vectors] = request.buffers();
        let args = [current, reference, vectors, Arg::Local(KEY * self.items), request.geometry.arg()];
        let (groups, items) = ([request.geometry.blocks(), 1], [self.items, 1]);
        // SAFETY: a group a block, with a key an item; the frames have margins for the window, and there is a
        // vector a block.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, items) }
    }
}

/// Block and search area in local memory, as words, single samples or ints; the items share the candidates of one tile
/// after another.
pub(in crate::opencl::families) struct ReferenceStaged {
    kernel: KernelObject,
    /// Bytes of a block.
    block_bytes: usize,
    items: usize,
    tile: WindowTile,
}

impl ReferenceStaged {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let form = match build.kernel {
            Kernel::ReferenceSamples => " -D SINGLE_SAMPLES",
            Kernel::ReferenceInts => " -D SINGLE_SAMPLES -D STAGED_INTS",
            _ => "",
        };
        let mut block = TileBlock::of(build);
        if build.kernel == Kernel::ReferenceInts {
            block.word_bytes *= block.word_samples;
        }
        let kernel = build.build(KernelFile::Reference, c"reference_staged", form)?;
        let items = match build.chosen_group(&kernel)? {
            Some(items) => items,
            // An item a candidate if that is possible; a CPU runs a group's items one after another, and
            // gains nothing from many.
            None => {
                let most = build.largest_group(&kernel)?.min(if build.is_gpu() { 256 } else { 16 });
                build.candidates().next_power_of_two().min(1 << most.ilog2())
            }
        };
        let block_bytes = block.bytes();
        let fixed = KEY * items + block_bytes;
        let Some(tile) = WindowTile::for_group(build, block, fixed, usize::MAX) else {
            let without_keys = block_bytes + WindowTile::least_bytes(block);
            let most = build.device.local_memory.saturating_sub(without_keys) / KEY;
            return Err(build.local_memory_short(items, without_keys + KEY * items, most));
        };
        Ok(Self { kernel, block_bytes, items, tile })
    }
}

impl KernelFamily for ReferenceStaged {
    fn is_stateless(&self) -> bool {
        true
    }

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let Self { block_bytes, items, tile, .. } = *self;
        let [current, reference, vectors] = request.buffers();
        let args = [
            current,
            reference,
            vectors,
            Arg::Local(KEY * items),
            Arg::Local(block_bytes),
            Arg::Local(tile.area_bytes()),
            int(tile.area_words),
            int(tile.columns),
            int(tile.rows),
            request.geometry.arg(),
        ];
        let groups = [request.geometry.blocks(), 1];
        // SAFETY: a group a block, with a key an item; the area holds a tile; the frames have margins for the
        // window, and there is a vector a block.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [items, 1]) }
    }
}

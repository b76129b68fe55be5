//! Sub-sample refinement of what another family has found (`kernels/sub_sample.cl`).

use super::super::kernel_family::{BuildContext, FamilyRequest, KernelFamily};
use crate::estimator::SetupError;
use crate::opencl::kernel_file::KernelFile;
use motion_gpu::launcher::{self, Buffer, KernelObject, Queue};

/// Items of a group: smaller groups leave more of a GPU idle.
const GROUP_ITEMS: usize = 128;

/// Work-items add the costs of so many of them at a time: `AROUND` in the kernel.
const AROUND: usize = 8;

/// A family, and the refinement after it.
pub(super) struct RefinedFamily {
    search: Box<dyn KernelFamily>,
    kernel: KernelObject,
    shape: RefinementShape,
}

/// How the work is divided: what the kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RefinementShape {
    /// Items that share a block.
    items: usize,
    /// Blocks of a group.
    lanes: usize,
    /// Rows of a block that are interpolated at a time.
    tile_rows: usize,
}

impl RefinementShape {
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if the device has no such groups, or too little local memory.
    fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let side = build.parameters.block_size;
        let wanted = match side {
            _ if build.is_cpu() => AROUND,
            ..=16 => 32,
            _ => GROUP_ITEMS,
        };
        let advice = "search whole samples, or choose device native";
        let largest = build.device.largest_group;
        let items = wanted.min(largest / AROUND * AROUND);
        if items == 0 {
            let reason =
                format!("sub-sample needs {AROUND} work-items, and its largest work-group has {largest}");
            return Err(build.unsupported(reason, advice));
        }
        let has = build.device.local_memory;
        let bytes = |rows: usize| (rows, Self::bytes_of_tile(side, rows, build.word_samples(), items));
        // Tiles of half a block are interpolated once for each step.
        let [whole, half] = [side, side / 2].map(bytes);
        let (tile_rows, needed) = if whole.1 <= has { whole } else { half };
        if needed > has {
            let reason = format!("sub-sample needs {needed} bytes of local memory, and it has {has}");
            return Err(build.unsupported(reason, advice));
        }
        let most = if build.is_cpu() { 1 } else { GROUP_ITEMS.min(largest) / items };
        Ok(Self { items, lanes: most.min(has / needed), tile_rows })
    }

    /// Local memory for a tile of `rows` rows, `side` samples each: `Shared` in the kernel.
    fn bytes_of_tile(side: usize, rows: usize, word_samples: usize, items: usize) -> usize {
        let (words, rows) = (side / word_samples + 1, rows + 6);
        let after = if word_samples == 4 { 1 } else { 2 };
        let scratch = (8 * rows * words).max(4 * AROUND * items);
        (4 * 4 * rows * (1 + words + after) + scratch + 4 * items).next_multiple_of(8) + 8 * AROUND
    }
}

impl RefinedFamily {
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if a limit of the device does not allow it.
    pub(super) fn new(build: &BuildContext<'_>, search: Box<dyn KernelFamily>) -> Result<Self, SetupError> {
        let shape = RefinementShape::new(build)?;
        let RefinementShape { items, lanes, tile_rows } = shape;
        let last = build.parameters.sub_sample.steps().last().copied().unwrap_or_default();
        let depth = build.parameters.bit_depth;
        let options = format!(
            " -D ITEMS={items} -D LANES={lanes} -D TILE_ROWS={tile_rows} -D LAST_STEP={last} -D DEPTH={depth}"
        );
        let group = Some(items * lanes);
        let kernel = build.build_with(KernelFile::SubSample, c"refine_sub_sample", group, &options)?;
        Ok(Self { search, kernel, shape })
    }
}

impl KernelFamily for RefinedFamily {
    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        self.search.queue_search(request)?;
        let RefinementShape { items, lanes, .. } = self.shape;
        let ([current, reference, vectors], geometry) = (request.buffers(), request.geometry.arg());
        let groups = [request.geometry.blocks().div_ceil(lanes), 1];
        let args = [current, reference, vectors, geometry];
        // SAFETY: lanes past the last block repeat its work and write nothing; there is a vector a block, and it is
        // read and written by one lane; a frame is read at most `Layout::REFINED` rows outside the window's samples,
        // and at most OVER_READ bytes.
        unsafe { request.queue.launch(&mut self.kernel, &args, groups, [items * lanes, 1]) }
    }

    fn prepared_bytes(&self) -> usize {
        self.search.prepared_bytes()
    }

    fn prepare_frame(&mut self, queue: &Queue, slot: &Buffer) -> launcher::Result<()> {
        self.search.prepare_frame(queue, slot)
    }

    fn least_rows(&self) -> usize {
        self.search.least_rows()
    }

    fn is_stateless(&self) -> bool {
        self.search.is_stateless()
    }

    fn least_window_rows(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 KiB is the least that a device with all of OpenCL has.
    #[test]
    fn every_block_fits_the_least_local_memory() {
        for side in (4..=64).step_by(4) {
            for (word_samples, rows) in [(4, side), (2, if side > 44 { side / 2 } else { side })] {
                let bytes = RefinementShape::bytes_of_tile(side, rows, word_samples, GROUP_ITEMS);
                assert!(bytes <= 32 << 10, "{side}, words of {word_samples}: {bytes}");
            }
        }
    }
}

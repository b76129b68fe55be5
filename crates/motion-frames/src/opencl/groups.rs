//! Kernels in groups of work-items, and how groups are chosen.

use std::ffi::CStr;

use crate::interpolation::BLOCK;
use motion_base::SetupError;
use motion_gpu::device::{DeviceKind, OpenClDevice};
use motion_gpu::launcher::{self, Arg, KernelObject, Program, Queue};

/// Items of a group of kernels without local memory, on two axes: of those that work on planes, and on lists.
pub(super) const PLANE_GROUP: [usize; 2] = [32, 4];
pub(super) const LIST_GROUP: [usize; 2] = [128, 1];

/// The vectors that a block chooses from, of so many fields: its own and those around it in each, and zero.
pub(super) fn candidates(fields: usize) -> usize {
    9 * fields + 1
}

/// How the blocks of `choose_vectors` and `choose_coarse` are divided. Of these the first needs more local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChoiceShape {
    /// Items that share a block.
    pub(super) items: usize,
    /// Blocks of a group.
    pub(super) lanes: usize,
}

impl ChoiceShape {
    /// The fewest items of a group: PoCL 6.0 compiles `choose_vectors` wrongly for groups of one or two.
    const LEAST_GROUP: usize = 4;

    /// For the candidates of so many fields.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] if the device has too little local memory, or too small groups.
    pub(super) fn new(device: &OpenClDevice, fields: usize) -> Result<Self, SetupError> {
        let most = |wanted: usize, limit: usize| 1 << wanted.min(limit.max(1)).ilog2();
        // A CPU does the items of a group in turn, with more to do the more of them share a block.
        let items = if device.kind == DeviceKind::Cpu { 1 } else { BLOCK };
        let items = most(items, device.largest_group);
        let lanes = BLOCK
            .min(device.largest_group / items)
            .min(device.local_memory / Self::lane_bytes(items, fields));
        if items * lanes < Self::LEAST_GROUP {
            let least = Self::LEAST_GROUP;
            let bytes = Self::lane_bytes(items, fields) * least.div_ceil(items);
            return Err(SetupError::DeviceUnsupported {
                wanted: device.name.clone(),
                reason: format!(
                    "to make frames it needs work-groups of {least} items and {bytes} bytes of local memory, and \
                     it has {} and {}",
                    device.largest_group, device.local_memory
                ),
            });
        }
        Ok(Self { items, lanes })
    }

    /// Local memory of a block: `BlockChoice` in the kernel.
    fn lane_bytes(items: usize, fields: usize) -> usize {
        let candidate = size_of::<[i16; 4]>() + size_of::<u32>() * (items + 1);
        (candidates(fields) * candidate).next_multiple_of(align_of::<u64>())
    }
}

/// A kernel, and its groups on two axes.
pub(super) struct GroupedKernel {
    kernel: KernelObject,
    group: [usize; 2],
}

impl GroupedKernel {
    pub(super) fn new(
        device: &OpenClDevice,
        program: &Program,
        name: &CStr,
        wanted: [usize; 2],
    ) -> Result<Self, SetupError> {
        let kernel = program.kernel(name).map_err(|error| device.refused(error))?;
        let group = device.group_of(&kernel, wanted)?;
        Ok(Self { kernel, group })
    }

    /// Queues it for at least so many items.
    ///
    /// # Safety
    /// As [`Queue::launch`].
    pub(super) unsafe fn launch(
        &mut self,
        queue: &Queue,
        args: &[Arg<'_>],
        items: [usize; 3],
    ) -> launcher::Result<()> {
        let [across, down] = self.group;
        let groups = [items[0].div_ceil(across), items[1].div_ceil(down), items[2]];
        // SAFETY: the caller guarantees it.
        unsafe { queue.launch(&mut self.kernel, args, groups, [across, down, 1]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_fits_the_least_local_memory() {
        assert!(BLOCK * ChoiceShape::lane_bytes(BLOCK, 3) <= 32 << 10);
    }
}

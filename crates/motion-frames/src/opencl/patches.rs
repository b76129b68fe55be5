//! Patches that are drawn over made frames (`draw_patch` of `kernels/interpolation.cl`).

use bytemuck::{Pod, Zeroable};

use super::groups::{GroupedKernel, PLANE_GROUP};
use super::layout::PlanesShape;
use crate::compensation::Sampling;
use crate::interpolation::{MOST_PATCHES, Patch, PatchCopy, Phase};
use motion_base::SetupError;
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::launcher::{self, Arg, Buffer, Queue};

/// The most samples of the masks of a pair of frames.
pub(super) const MOST_MASK_SAMPLES: usize = MOST_PATCHES * 80 * 80;

/// The patches of a pair of frames.
pub(super) struct DevicePatches {
    patches: Vec<Patch>,
    /// Their masks, one after the other.
    masks: Buffer,
}

impl DevicePatches {
    /// Room for those of a pair.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub(super) fn new(context: &Context, device: &OpenClDevice) -> Result<Self, SetupError> {
        Ok(Self { patches: Vec::new(), masks: device.buffer(context, "masks", MOST_MASK_SAMPLES)? })
    }

    pub(super) fn clear(&mut self) {
        self.patches.clear();
    }

    /// Takes `patches`, and writes their masks to `bytes`: returns where these are uploaded to, and how many there are.
    pub(super) fn set(&mut self, patches: &[Patch], bytes: &mut [u8]) -> (&Buffer, usize) {
        self.patches.clear();
        self.patches.extend(patches.iter().take(MOST_PATCHES).cloned());
        let mut used = 0;
        for patch in &self.patches {
            let mask = &patch.mask.samples;
            bytes[used..][..mask.len()].copy_from_slice(mask);
            used += mask.len();
        }
        (&self.masks, used)
    }
}

/// Field for field `PatchShape` in `interpolation.cl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PatchShape {
    first: [i32; 2],
    size: [i32; 2],
    to: [i32; 2],
    away: [i32; 2],
    start: [i32; 2],
    end: [i32; 2],
    halved: [i32; 2],
    halvings: i32,
    mask: i32,
    pixel: i32,
    padding: i32,
}

/// Planes that are sampled alike.
pub(super) struct PatchedPlanes {
    pub(super) shape: PlanesShape,
    pub(super) sampling: Sampling,
    /// Pixels of a row, rows, and planes.
    pub(super) size: [usize; 3],
}

/// The kernel that draws them.
pub(super) struct PatchKernel {
    kernel: GroupedKernel,
    halvings: u32,
    sample_bytes: usize,
}

impl PatchKernel {
    /// # Errors
    /// [`SetupError::DeviceUnsupported`].
    pub(super) fn new(
        device: &OpenClDevice,
        program: &motion_gpu::launcher::Program,
        halvings: u32,
        sample_bytes: usize,
    ) -> Result<Self, SetupError> {
        let kernel = GroupedKernel::new(device, program, c"draw_patch", PLANE_GROUP)?;
        Ok(Self { kernel, halvings, sample_bytes })
    }

    /// Queues what draws the `patches` over some planes of the frame at `phase`. `frames` have all planes of the previous and
    /// of the next frame.
    pub(super) fn draw(
        &mut self,
        queue: &Queue,
        patches: &DevicePatches,
        phase: Phase,
        frames: [&Buffer; 2],
        (planes, made): (&PatchedPlanes, &Buffer),
    ) -> launcher::Result<()> {
        let PatchedPlanes { shape, sampling, size } = planes;
        let halved = [sampling.halved_x, sampling.halved_y].map(i32::from);
        let mut used = 0;
        for patch in &patches.patches {
            let PatchCopy { frame, from, to } = patch.copy(phase, self.halvings);
            let (first, of_mask) = (patch.mask.first, patch.mask.size.map(|length| length as i32));
            let (mut start, mut end) = ([0; 2], [0; 2]);
            for axis in 0..2 {
                let range = patch.range(axis, to, self.halvings, halved[axis], size[axis]);
                (start[axis], end[axis]) = (range.start, range.end);
            }
            let away = [0, 1].map(|axis| (from[axis] - to[axis]) >> halved[axis]);
            let mask = used as i32;
            used += patch.mask.samples.len();
            if start[0] >= end[0] || start[1] >= end[1] {
                continue;
            }
            let shape_of_patch = PatchShape {
                first,
                size: of_mask,
                to,
                away,
                start,
                end,
                halved,
                halvings: self.halvings as i32,
                mask,
                pixel: (sampling.pixel() * self.sample_bytes) as i32,
                padding: 0,
            };
            let args = [
                Arg::Buffer(frames[frame]),
                Arg::Buffer(&patches.masks),
                Arg::Buffer(made),
                Arg::Struct(bytemuck::bytes_of(shape)),
                Arg::Struct(bytemuck::bytes_of(&shape_of_patch)),
            ];
            let items = [(end[0] - start[0]) as usize, (end[1] - start[1]) as usize, size[2]];
            // SAFETY: it leaves out items outside the range, which lies in the plane, reads the mask within its size, and
            // limits what it reads of the frame to the plane.
            unsafe { self.kernel.launch(queue, &args, items)? };
        }
        Ok(())
    }
}

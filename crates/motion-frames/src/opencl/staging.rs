//! Page-locked memory from which the device reads.

use std::mem;
use std::time::Duration;

use super::layout::InterpolationLayout;
use motion_base::{FrameView, PlaneCopy, copy_planes};
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Buffer, Event, Queue};
use motion_gpu::watch::Watch;

/// Page-locked memory from which the device reads.
pub(super) struct StagedBlock {
    host: PinnedBlock,
    /// Done when the device has read what was written last.
    pub(super) read: Option<Event>,
}

impl StagedBlock {
    pub(super) fn new(host: PinnedBlock) -> Self {
        Self { host, read: None }
    }

    /// Waits until the device has read what was written last.
    pub(super) fn wait(&mut self, watch: &Watch, allowed: Duration) -> launcher::Result<()> {
        self.read.take().map_or(Ok(()), |read| watch.wait(&read, allowed))
    }

    /// All of it, to be written.
    ///
    /// # Safety
    /// The device has read what was there before. The slice is not used after the next call.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn bytes(&self) -> &mut [u8] {
        // SAFETY: the caller guarantees it.
        unsafe { self.host.as_mut_slice() }
    }

    /// Begins to copy its first `count` bytes to `buffer`.
    ///
    /// # Safety
    /// The memory is neither dropped nor written until the device has read it.
    pub(super) unsafe fn begin_write(
        &mut self,
        queue: &Queue,
        buffer: &Buffer,
        count: usize,
    ) -> launcher::Result<()> {
        // SAFETY: the host's bytes are there, and the caller guarantees the rest.
        self.read = Some(unsafe { queue.begin_write(buffer, 0, &self.host.as_slice()[..count])? });
        Ok(())
    }

    /// Copies `planes` of a frame of `layout` here, and begins to copy them to `buffer`.
    ///
    /// # Safety
    /// As [`Self::bytes`] and [`Self::begin_write`].
    pub(super) unsafe fn begin_upload(
        &mut self,
        queue: &Queue,
        buffer: &Buffer,
        layout: &InterpolationLayout,
        planes: &[FrameView<'_>],
    ) -> launcher::Result<()> {
        // SAFETY: the caller guarantees it.
        let (mut rest, mut end) = (unsafe { self.bytes() }, 0);
        let mut copies = Vec::with_capacity(planes.len());
        for (&from, place) in planes.iter().zip(&layout.planes) {
            let range = place.range();
            let (to, behind) = mem::take(&mut rest)[range.start - end..].split_at_mut(range.len());
            (rest, end) = (behind, range.end);
            copies.push(PlaneCopy { from, to, pitch: place.pitch });
        }
        copy_planes(copies);
        // SAFETY: the caller guarantees it.
        unsafe { self.begin_write(queue, buffer, layout.bytes) }
    }
}

//! The frames that are loaded to a device to be denoised.

use std::sync::Arc;
use std::time::Duration;

use super::denoising::{DenoisingKernels, FrameOnDevice};
use super::layout::InterpolationLayout;
use super::search_frames::DeviceSearchFrames;
use super::staging::StagedBlock;
use crate::denoising::LumaSlot;
use crate::interpolation::FrameFormat;
use motion_base::{Frame, SetupError};
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Buffer, DevicePlane, Event, Queue, QueueKind};

/// Frames that are uploaded at once.
const UPLOADS: usize = 2;

/// Loads frames, each to the slot of the one that was loaded first.
pub(super) struct FrameLoader {
    /// By their slots.
    pub(super) frames: Vec<LoadedOnDevice>,
    /// The slot of the next frame, and what its copy is done at if it has begun.
    next: usize,
    copied: Option<Event>,
    /// The number of comparisons of frames, that of the last one in which they differed, and where the host reads that.
    compared: u32,
    differed: Buffer,
    differed_on_host: PinnedBlock,
    /// From which frames are uploaded in turn.
    staging: Vec<StagedBlock>,
    search_frames: DeviceSearchFrames,
    sample_bytes: usize,
    layout: Arc<InterpolationLayout>,
    /// Frames are loaded in its order.
    pub(super) queue: Arc<Queue>,
    context: Arc<Context>,
}

/// A frame that was loaded.
pub(super) struct LoadedOnDevice {
    pub(super) device: FrameOnDevice,
    /// Done when it is loaded.
    pub(super) loaded: Option<Event>,
    /// Done when what was queued last has read it.
    pub(super) used: Option<Event>,
    /// Whether it came from memory of the device.
    pub(super) is_of_device: bool,
}

impl FrameLoader {
    /// For `slots` frames of `format`.
    ///
    /// # Errors
    /// [`SetupError`]: too little memory, kernels that do not build, what the device reports.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        format: &FrameFormat,
        slots: usize,
        layout: &Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let queue = Arc::new(context.queue(QueueKind::Ordered).map_err(|error| device.refused(error))?);
        let host = |bytes| PinnedBlock::new(context, device, &queue, bytes);
        let frame = |_| {
            let device = FrameOnDevice::new(context, device, format, layout)?;
            Ok::<_, SetupError>(LoadedOnDevice { device, loaded: None, used: None, is_of_device: false })
        };
        let differed = device.buffer(context, "a number", size_of::<u32>())?;
        queue.write(&differed, &[0; size_of::<u32>()]).map_err(|error| device.refused(error))?;
        Ok(Self {
            frames: (0..slots).map(frame).collect::<Result<_, _>>()?,
            next: 0,
            copied: None,
            compared: 0,
            differed,
            differed_on_host: host(size_of::<u32>())?,
            staging: (0..UPLOADS)
                .map(|_| host(layout.bytes).map(StagedBlock::new))
                .collect::<Result<_, _>>()?,
            search_frames: DeviceSearchFrames::new(context, device, format, layout)?,
            sample_bytes: format.samples.bytes(),
            layout: layout.clone(),
            queue,
            context: context.clone(),
        })
    }

    /// Loads `planes`. Returns the frame that is searched in their place, and the slot.
    pub(super) fn load(
        &mut self,
        kernels: &mut DenoisingKernels,
        planes: &[Frame],
        allowed: Duration,
    ) -> launcher::Result<(Frame, LumaSlot)> {
        let copied = match self.copied.take() {
            Some(copied) => Ok(copied),
            None => {
                let found = self.found(planes);
                self.begin_load(kernels, planes, found.as_deref(), allowed)
            }
        };
        let slot = self.next;
        let loaded = copied.and_then(|copied| {
            let made =
                self.search_frames.make_of_loaded(&self.frames[slot].device.planes, &copied, allowed)?;
            // A search frame may be there although what it was made of has failed.
            copied.check().map(|()| made)
        });
        let search_frame = self.settled(planes, loaded, allowed)?;
        self.next = (slot + 1) % self.frames.len();
        Ok((search_frame, LumaSlot(slot)))
    }

    /// Whether `planes`, if they are in memory of the device, have the samples of the frame that was loaded last; it is not known
    /// of others. If not they are loaded next.
    pub(super) fn is_repeat(
        &mut self,
        kernels: &mut DenoisingKernels,
        planes: &[Frame],
        allowed: Duration,
    ) -> launcher::Result<Option<bool>> {
        let last = self.last();
        let Some(found) = self.found(planes).filter(|_| last != self.next) else { return Ok(None) };
        if self.frames[last].loaded.is_none() {
            return Ok(None);
        }
        let compared = self.load_and_compare(kernels, planes, Some(&found), allowed);
        self.settled(planes, compared, allowed).map(Some)
    }

    /// Forgets the frame whose copy has begun.
    pub(super) fn restart(&mut self) {
        self.copied = None;
    }

    /// Goes on with the first slot.
    pub(super) fn begin_again(&mut self) {
        self.restart();
        self.next = 0;
    }

    /// The slot of the frame that was loaded last.
    fn last(&self) -> usize {
        (self.next + self.frames.len() - 1) % self.frames.len()
    }

    /// Where `planes` are, if they are in memory of the device.
    fn found(&self, planes: &[Frame]) -> Option<Vec<DevicePlane>> {
        planes.iter().map(|plane| self.context.plane_of(plane)).collect()
    }

    /// Begins to copy `planes`, which are on the device where `found` says so, to the next slot, and queues what is made of them.
    /// Returns an event that is done when they are copied.
    fn begin_load(
        &mut self,
        kernels: &mut DenoisingKernels,
        planes: &[Frame],
        found: Option<&[DevicePlane]>,
        allowed: Duration,
    ) -> launcher::Result<Event> {
        let watch = self.context.watch();
        watch.check()?;
        let (frame, queue) = (&mut self.frames[self.next], &self.queue);
        frame.is_of_device = found.is_some();
        if let Some(used) = frame.used.take() {
            queue.barrier(&[&used])?;
        }
        let copied = match found {
            Some(found) => {
                for (place, found) in self.layout.planes.iter().zip(found) {
                    let rows = place.rows(self.sample_bytes);
                    // SAFETY: the caller keeps the planes until they are copied; they have all rows of their size.
                    unsafe { queue.begin_copy_rows(&frame.device.planes, rows, found, 0)? };
                }
                queue.marker()?
            }
            None => {
                let staging = &mut self.staging[self.next % UPLOADS];
                staging.wait(watch, allowed)?;
                let planes: Vec<_> = planes.iter().map(Frame::view).collect();
                // SAFETY: the device has read what was there before, and waits for its queues before it drops the memory.
                unsafe { staging.begin_upload(queue, &frame.device.planes, &self.layout, &planes)? };
                staging.read.clone().map_or_else(|| queue.marker(), Ok)?
            }
        };
        queue.flush()?;
        kernels.prepare(queue, &frame.device)?;
        frame.loaded = Some(queue.marker()?);
        queue.flush()?;
        Ok(copied)
    }

    /// Loads `planes`, which are on the device where `found` says so, to the next slot. Returns whether they have the samples of the
    /// frame that was loaded last.
    fn load_and_compare(
        &mut self,
        kernels: &mut DenoisingKernels,
        planes: &[Frame],
        found: Option<&[DevicePlane]>,
        allowed: Duration,
    ) -> launcher::Result<bool> {
        let copied = self.begin_load(kernels, planes, found, allowed)?;
        let both = [self.next, self.last()].map(|slot| &self.frames[slot].device);
        self.compared = self.compared.wrapping_add(1).max(1);
        let (from, to) = (&self.differed, &self.differed_on_host);
        kernels.compare_frames(&self.queue, both, self.compared, from)?;
        let compared = self.queue.marker()?;
        // SAFETY: the host's block has as many bytes. It lives as long as the device, which waits for its queues, and it is not
        // read before the event is done.
        let read = unsafe { self.queue.begin_read(from, to.target(), to.bytes(), &compared)? };
        self.queue.flush()?;
        self.context.watch().wait(&read, allowed)?;
        copied.check()?;
        // SAFETY: it is read.
        let is_equal = unsafe { to.as_slice() } != self.compared.to_ne_bytes();
        self.copied = (!is_equal).then_some(copied);
        Ok(is_equal)
    }

    /// Ends what has begun with `planes` if `done` is an error: they are read no more then.
    fn settled<T>(
        &self,
        planes: &[Frame],
        done: launcher::Result<T>,
        allowed: Duration,
    ) -> launcher::Result<T> {
        if done.is_err() {
            let watch = self.context.watch();
            let _ = watch.wait_for_queue(&self.queue, allowed);
            if watch.is_lost() {
                std::mem::forget(planes.to_vec());
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compensation::Sampling;
    use motion_base::SampleFormat;
    use motion_gpu::devices;

    /// Frames that differ in one byte, which may be any, also of rows that end in the middle of eight.
    #[test]
    fn frames_that_repeat_others_are_told_from_those_that_do_not() {
        let halved = Sampling { halved_x: true, halved_y: true, interleaved: false };
        let allowed = Duration::from_secs(60);
        for device in devices() {
            for (chroma, samples, size) in [
                (vec![halved; 2], SampleFormat::EIGHT_BITS, (37, 9)),
                (vec![Sampling { interleaved: true, ..halved }], SampleFormat::new(10, 6).unwrap(), (33, 10)),
                (vec![], SampleFormat::EIGHT_BITS, (8, 3)),
            ] {
                let format =
                    FrameFormat { size, samplings: [&[Sampling::LUMA], &chroma[..]].concat(), samples };
                let planes = |changed: Option<(usize, usize)>| -> Vec<Frame> {
                    let plane = |index: usize| {
                        let size = format.plane_size(index);
                        let stride = size.0 * samples.bytes();
                        let mut bytes = vec![77_u8; stride * size.1];
                        if let Some((_, byte)) = changed.filter(|(plane, _)| *plane == index) {
                            bytes[byte % (stride * size.1)] ^= 1;
                        }
                        Frame::with_format(Arc::new(bytes), size, stride, samples).unwrap()
                    };
                    (0..format.samplings.len()).map(plane).collect()
                };
                let layout = Arc::new(InterpolationLayout::new(&format));
                let open = |context: &Arc<Context>| {
                    let loader = FrameLoader::new(context, &device, &format, 3, &layout)?;
                    Ok((loader, DenoisingKernels::new(context, &device, &format, 1, layout.clone())?))
                };
                let ((mut loader, mut kernels), _) = device.open(None, open).unwrap();
                // What is behind the rows is another in each slot.
                for (frame, fill) in loader.frames.iter().zip([1, 2]) {
                    loader.queue.write(&frame.device.planes, &vec![fill; layout.bytes]).unwrap();
                }
                loader.load(&mut kernels, &planes(None), allowed).unwrap();
                let mut repeats = |planes: &[Frame]| {
                    let compared = loader.load_and_compare(&mut kernels, planes, None, allowed).unwrap();
                    loader.restart();
                    compared
                };
                assert!(repeats(&planes(None)), "{}", device.name);
                for changed in (0..format.samplings.len())
                    .flat_map(|plane| [0, 1, 7, 8, 31, 32, 36, 37, usize::MAX / 2].map(|byte| (plane, byte)))
                {
                    assert!(!repeats(&planes(Some(changed))), "{changed:?} on {}", device.name);
                }
            }
        }
    }
}

//! Frames without noise, made on an OpenCL device: each frame is uploaded once, and only what is made is downloaded. The host
//! is told the noise of the blocks, and whether there is any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::denoising::{DenoisingKernels, FrameOnDevice};
use super::layout::InterpolationLayout;
use super::noise::{BESIDE, Beside, NoiseKernels};
use super::search_frames::DeviceSearchFrames;
use super::staging::StagedBlock;
use crate::compensation::PlaneMut;
use crate::denoising::{
    BlockNoise, DenoisingError, FrameDenoiser, LoadedFrame, LumaSlot, MOST_REFERENCES, NoiseHistory,
    NoiseLevel, NoiseMap, ReferenceFrame, Strength, checked_halvings, quarters,
};
use crate::interpolation::FrameFormat;
use motion_base::pace::{PATIENCE, Pace};
use motion_base::{BlockHandle, Frame, FrameView, Launching, SetupError};
use motion_gpu::context::{Context, MadeIn};
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Buffer, DevicePlane, Event, Queue, QueueKind};

/// The samples that are compared and predicted for each of a frame, at most and about: how long it may take follows from it.
const WORK: usize = 64;

/// Frames that are uploaded at once.
const UPLOADS: usize = 2;

/// Takes the noise out of frames on one OpenCL device.
///
/// For planes of S bytes in all and W × H luma samples it allocates on the device, for each loaded frame, S bytes and 4 · W · H
/// for luma between samples (8 · W · H with samples of more than eight bits), and besides S bytes, 5.5 · W · H, and for each frame
/// that others are averaged with 0.75 · W · H; in page-locked memory 3 · S bytes and 2.5 · W · H. All of it is allocated when
/// it is opened.
pub struct OpenClDenoiser {
    name: String,
    launching: Option<Launching>,
    format: FrameFormat,
    layout: Arc<InterpolationLayout>,
    references: usize,
    /// The noise of the last frame that was measured, and what that of the frame begun last follows.
    noise: NoiseMap,
    history: NoiseHistory,
    level: NoiseLevel,
    is_spatial: bool,
    /// The frame that the device measures while the host does other things.
    ahead: Option<Ahead>,
    /// Where the next frame is loaded to, and what its copy is done at if it has begun.
    next: usize,
    copied: Option<Event>,
    /// The number of comparisons of frames.
    compared: u32,
    /// What has become of the frame that was measured last.
    measured: Measured,
    /// Whether a frame has been measured.
    has_measured: bool,
    pace: Pace,
    objects: MadeIn<DenoiserObjects>,
    context: Arc<Context>,
}

/// What has become of a frame that was measured.
#[derive(Default)]
struct Measured {
    /// Done when it is made on the device; `None` if nothing changes.
    made: Option<Event>,
    /// Done when it is on the host.
    read: Option<Event>,
    /// Whether it came from memory of the device, so that it stays there.
    stays_on_device: bool,
}

/// What the device was told to measure of a frame.
struct Ahead {
    frame: LumaSlot,
    /// The frames that it compares.
    references: Vec<(LumaSlot, isize)>,
    level: NoiseLevel,
    /// Done when the noise of its areas, and that of its blocks, is on the host.
    told: [Event; 2],
}

/// What was made in the context.
struct DenoiserObjects {
    kernels: DenoisingKernels,
    noise: NoiseKernels,
    frames: Vec<LoadedOnDevice>,
    /// From which frames are uploaded in turn.
    staging: Vec<StagedBlock>,
    found: StagedBlock,
    /// Where the host reads the noise of blocks, that of areas, and whether frames differ.
    noise_of_blocks: PinnedBlock,
    noise_of_areas: PinnedBlock,
    differs: PinnedBlock,
    /// The frame that is made, and where it arrives on the host.
    made: Buffer,
    made_on_host: PinnedBlock,
    search_frames: DeviceSearchFrames,
    /// For frames that are loaded, in this order.
    loading: Arc<Queue>,
    /// For what is measured and averaged.
    work: Arc<Queue>,
    download: Arc<Queue>,
}

/// A frame that was loaded.
struct LoadedOnDevice {
    device: FrameOnDevice,
    /// Done when it is loaded.
    loaded: Option<Event>,
    /// Done when what was queued last has read it.
    used: Option<Event>,
    is_of_device: bool,
}

impl Drop for OpenClDenoiser {
    fn drop(&mut self) {
        // Commands in flight may use host memory that is freed then.
        let _ = self.wait_for_all();
    }
}

impl OpenClDenoiser {
    /// Opens `device` for frames of `format`, each to be averaged with at most `references` of the `loaded` frames that were
    /// loaded last.
    ///
    /// # Errors
    /// [`SetupError`]: frames that are too large, too little memory, kernels that do not build, what the device does not
    /// support or reports.
    ///
    /// # Panics
    /// If `references` is more than [`MOST_REFERENCES`], or `loaded` is 0.
    pub fn new(
        device: &OpenClDevice,
        format: &FrameFormat,
        references: usize,
        loaded: usize,
    ) -> Result<Self, SetupError> {
        assert!(references <= MOST_REFERENCES && loaded > 0, "{references} of {loaded} frames");
        let halvings = checked_halvings(format, &device.name)?;
        let layout = Arc::new(InterpolationLayout::with_halvings(format, halvings));
        let open = |context: &_| Self::with_context(context, device, format, (references, loaded), &layout);
        let (mut opened, launching) = device.open(None, open)?;
        opened.launching = Some(launching);
        Ok(opened)
    }

    /// As [`Self::new`], launched by `context`.
    fn with_context(
        context: &Arc<Context>,
        device: &OpenClDevice,
        format: &FrameFormat,
        (references, loaded): (usize, usize),
        layout: &Arc<InterpolationLayout>,
    ) -> Result<Self, SetupError> {
        let queue = || -> Result<Arc<Queue>, SetupError> {
            context.queue(QueueKind::Ordered).map(Arc::new).map_err(|error| device.refused(error))
        };
        let (loading, work, download) = (queue()?, queue()?, queue()?);
        let host = |bytes| PinnedBlock::new(context, device, &work, bytes);
        let staged = |bytes| Ok::<_, SetupError>(StagedBlock::new(host(bytes)?));
        let kernels = DenoisingKernels::new(context, device, format, references, layout.clone())?;
        work.write(&kernels.differs, &[0; size_of::<u32>()]).map_err(|error| device.refused(error))?;
        let frame = |_| {
            let device = FrameOnDevice::new(context, device, format, layout)?;
            Ok::<_, SetupError>(LoadedOnDevice { device, loaded: None, used: None, is_of_device: false })
        };
        let noise = NoiseMap::new(format.size, format.samples.depth())?;
        let noise_kernels = NoiseKernels::new(context, device, format, &noise, layout.clone())?;
        let found_bytes = size_of::<[i32; 2]>() * layout.found.blocks() * references.max(1);
        let objects = DenoiserObjects {
            frames: (0..loaded).map(frame).collect::<Result<_, _>>()?,
            staging: (0..UPLOADS).map(|_| staged(layout.bytes)).collect::<Result<_, _>>()?,
            found: staged(found_bytes)?,
            noise_of_blocks: host(size_of::<BlockNoise>() * layout.grid.blocks())?,
            noise_of_areas: host(noise_kernels.state().1)?,
            noise: noise_kernels,
            differs: host(size_of::<u32>())?,
            made: device.buffer(context, "a frame without noise", layout.bytes)?,
            made_on_host: host(layout.bytes)?,
            search_frames: DeviceSearchFrames::new(context, device, format, layout)?,
            kernels,
            loading,
            work,
            download,
        };
        Ok(Self {
            name: device.name.clone(),
            launching: None,
            format: format.clone(),
            layout: layout.clone(),
            references,
            noise,
            history: NoiseHistory::default(),
            level: NoiseLevel::MEASURED,
            is_spatial: true,
            ahead: None,
            next: 0,
            copied: None,
            compared: 0,
            measured: Measured::default(),
            has_measured: false,
            pace: Pace::default(),
            objects: MadeIn::new(context, objects),
            context: context.clone(),
        })
    }

    /// How long a command may take from now on.
    fn allowed(&self) -> Duration {
        let (width, height) = self.format.size;
        self.pace.allowed(PATIENCE, (WORK * width * height) as f64)
    }

    /// Waits until no command runs any more.
    fn wait_for_all(&self) -> launcher::Result<()> {
        let (watch, limit) = (self.context.watch(), self.allowed());
        let DenoiserObjects { loading, work, download, .. } = &*self.objects;
        [loading, work, download].into_iter().try_for_each(|queue| watch.wait_for_queue(queue, limit))
    }

    fn failed(&self, error: launcher::Error) -> DenoisingError {
        self.context.watch().failure(&self.name, error).into()
    }

    /// Begins to copy `planes`, which are on the device where `found` says so, to slot `slot`, and queues what is made of them.
    /// Returns an event that is done when they are copied.
    fn begin_load(
        &mut self,
        slot: usize,
        planes: &[Frame],
        found: Option<&[DevicePlane]>,
    ) -> launcher::Result<Event> {
        let (allowed, watch) = (self.allowed(), self.context.watch());
        watch.check()?;
        let DenoiserObjects { kernels, frames, staging, loading, .. } = &mut *self.objects;
        let frame = &mut frames[slot];
        frame.is_of_device = found.is_some();
        if let Some(used) = frame.used.take() {
            loading.barrier(&[&used])?;
        }
        let copied = match found {
            Some(found) => {
                for (place, found) in self.layout.planes.iter().zip(found) {
                    let rows = place.rows(self.format.samples.bytes());
                    // SAFETY: the caller keeps the planes until they are copied; they have all rows of their size.
                    unsafe { loading.begin_copy_rows(&frame.device.planes, rows, found, 0)? };
                }
                loading.marker()?
            }
            None => {
                let staging = &mut staging[slot % UPLOADS];
                staging.wait(watch, allowed)?;
                let planes: Vec<_> = planes.iter().map(Frame::view).collect();
                // SAFETY: the device has read what was there before, and waits for its queues before it drops the memory.
                unsafe { staging.begin_upload(loading, &frame.device.planes, &self.layout, &planes)? };
                staging.read.clone().map_or_else(|| loading.marker(), Ok)?
            }
        };
        loading.flush()?;
        kernels.prepare(loading, &frame.device)?;
        frame.loaded = Some(loading.marker()?);
        loading.flush()?;
        Ok(copied)
    }

    /// Loads `planes` to slot `slot`, and returns the frame that is searched in their place.
    fn load_to(
        &mut self,
        slot: usize,
        planes: &[Frame],
        found: Option<&[DevicePlane]>,
    ) -> launcher::Result<Frame> {
        let copied = match self.copied.take() {
            Some(copied) => copied,
            None => self.begin_load(slot, planes, found)?,
        };
        let allowed = self.allowed();
        let DenoiserObjects { frames, search_frames, .. } = &mut *self.objects;
        let made = search_frames.make_of_loaded(&frames[slot].device.planes, &copied, allowed)?;
        // A search frame may be there although what it was made of has failed.
        copied.check()?;
        Ok(made)
    }

    /// Loads `planes`, which are on the device where `found` says so, to slot `slot`. Returns whether they have the samples of the
    /// frame in slot `other`.
    fn load_and_compare(
        &mut self,
        slot: usize,
        planes: &[Frame],
        found: Option<&[DevicePlane]>,
        other: usize,
    ) -> launcher::Result<bool> {
        let copied = self.begin_load(slot, planes, found)?;
        let allowed = self.allowed();
        let DenoiserObjects { kernels, frames, differs, loading, .. } = &mut *self.objects;
        self.compared = self.compared.wrapping_add(1).max(1);
        kernels.compare_frames(loading, [&frames[slot].device, &frames[other].device], self.compared)?;
        let compared = loading.marker()?;
        // SAFETY: the host's block has as many bytes. It lives as long as the device, which waits for its queues, and it is not
        // read before the event is done.
        let read =
            unsafe { loading.begin_read(&kernels.differs, differs.target(), differs.bytes(), &compared)? };
        loading.flush()?;
        self.context.watch().wait(&read, allowed)?;
        copied.check()?;
        // SAFETY: it is read.
        let is_equal = unsafe { differs.as_slice() } != self.compared.to_ne_bytes();
        self.copied = (!is_equal).then_some(copied);
        Ok(is_equal)
    }

    /// Ends what has begun with `planes` if `done` is an error: they are read no more then.
    fn settled<T>(&self, planes: &[Frame], done: launcher::Result<T>) -> Result<T, DenoisingError> {
        if done.is_err() {
            let watch = self.context.watch();
            let _ = watch.wait_for_queue(&self.objects.loading, self.allowed());
            if watch.is_lost() {
                std::mem::forget(planes.to_vec());
            }
        }
        done.map_err(|error| self.failed(error))
    }

    /// Where `planes` are, if they are in memory of the device.
    fn found(&self, planes: &[Frame]) -> Option<Vec<DevicePlane>> {
        planes.iter().map(|plane| self.context.plane_of(plane)).collect()
    }

    /// Begins to measure the frame in slot `frame`, with `references`, and to estimate its noise.
    fn begin_measure(
        &mut self,
        frame: LumaSlot,
        references: &[ReferenceFrame<'_>],
    ) -> Result<Ahead, DenoisingError> {
        self.noise.note(&mut self.history);
        self.stage_vectors(references)?;
        let queued = self.queue_measure(frame, references);
        queued.map_err(|error| self.failed(error))
    }

    fn queue_measure(
        &mut self,
        frame: LumaSlot,
        references: &[ReferenceFrame<'_>],
    ) -> launcher::Result<Ahead> {
        let (beside, level) = (beside(references), self.level);
        let numbers: Vec<_> = beside.iter().map(|beside| beside.reference).collect();
        self.begin_upload(frame, references)?;
        let DenoiserObjects {
            kernels, noise, frames, noise_of_blocks, noise_of_areas, work, download, ..
        } = &mut *self.objects;
        let (device, others) = (&frames[frame.0].device, frames_of(references, frames));
        kernels.measure(work, device, &others, &numbers)?;
        match level.of_samples(self.format.samples.depth()) {
            Some(known) => {
                noise.set_known(work, if beside.is_empty() { 0 } else { known }, kernels.measured())?;
            }
            None => noise.estimate(work, &beside, kernels.measured())?,
        }
        let estimated = work.marker()?;
        work.flush()?;
        let (of_areas, bytes) = noise.state();
        // SAFETY: the host's blocks have as many bytes. They live as long as the device, which waits for its queues, and they
        // are not read before the last event is done.
        let told = unsafe {
            let blocks = (noise_of_blocks.target(), noise_of_blocks.bytes());
            [
                download.begin_read(of_areas, noise_of_areas.target(), bytes, &estimated)?,
                download.begin_read(&kernels.noise, blocks.0, blocks.1, &estimated)?,
            ]
        };
        download.flush()?;
        kernels.measure_others(work, device, &others, 0, &numbers)?;
        work.flush()?;
        let references =
            references.iter().map(|reference| (reference.frame.slot, reference.offset)).collect();
        Ok(Ahead { frame, references, level, told })
    }

    /// Queues the comparison of the frame that `ahead` began to measure with those of `references` that have come since, whose vectors
    /// are staged.
    fn queue_later(&mut self, ahead: &Ahead, references: &[ReferenceFrame<'_>]) -> launcher::Result<()> {
        self.begin_upload(ahead.frame, references)?;
        let numbers: Vec<_> = beside(references).iter().map(|beside| beside.reference).collect();
        let DenoiserObjects { kernels, frames, work, .. } = &mut *self.objects;
        let (device, others) = (&frames[ahead.frame.0].device, frames_of(references, frames));
        kernels.measure_others(work, device, &others, ahead.references.len(), &numbers)
    }

    /// Waits until the noise of the frame that `ahead` began to measure is estimated.
    fn finish_measure(&mut self, ahead: &Ahead, references: &[ReferenceFrame<'_>]) -> launcher::Result<()> {
        ahead.told.iter().try_for_each(|told| self.context.watch().wait(told, self.allowed()))?;
        let DenoiserObjects { frames, found, noise_of_blocks, noise_of_areas, .. } = &*self.objects;
        // SAFETY: the device has written them, and writes them again only for a frame that is begun later.
        let (blocks, state) = unsafe { (noise_of_blocks.as_slice(), noise_of_areas.as_slice()) };
        let is_measured = ahead.level == NoiseLevel::MEASURED;
        let state = is_measured.then(|| bytemuck::cast_slice(state));
        self.noise.set_measured(bytemuck::cast_slice(blocks), state);
        let slots = references.iter().map(|reference| reference.frame.slot).chain([ahead.frame]);
        slots.filter_map(|slot| frames[slot.0].loaded.as_ref()).try_for_each(Event::check)?;
        found.read.iter().try_for_each(Event::check)
    }

    /// Queues the upload of the vectors of `references`, and lets what is queued then wait until they and the frame in slot `frame` are
    /// loaded.
    fn begin_upload(&mut self, frame: LumaSlot, references: &[ReferenceFrame<'_>]) -> launcher::Result<()> {
        let DenoiserObjects { kernels, frames, found, work, .. } = &mut *self.objects;
        let bytes = size_of::<[i32; 2]>() * self.layout.found.blocks() * references.len();
        if bytes > 0 {
            // SAFETY: the device has read what was there before, and waits for its queues before it drops the memory.
            unsafe { found.begin_write(work, &kernels.found, bytes)? };
        }
        let slots = references.iter().map(|reference| reference.frame.slot).chain([frame]);
        let loaded: Vec<_> = slots.filter_map(|slot| frames[slot.0].loaded.as_ref()).collect();
        work.barrier(&loaded).map(drop)
    }

    /// Writes the vectors of `references` to where they are uploaded from.
    fn stage_vectors(&mut self, references: &[ReferenceFrame<'_>]) -> Result<(), DenoisingError> {
        let (allowed, watch) = (self.allowed(), self.context.watch());
        let waited = watch.check().and_then(|()| self.objects.found.wait(watch, allowed));
        waited.map_err(|error| self.failed(error))?;
        // SAFETY: the device has read what was there before.
        let places: &mut [[i32; 2]] = bytemuck::cast_slice_mut(unsafe { self.objects.found.bytes() });
        let of_references = places.chunks_exact_mut(self.layout.found.blocks());
        for (places, reference) in of_references.zip(references) {
            let vectors = quarters(self.format.size, reference.vectors)?;
            places.iter_mut().zip(vectors).for_each(|(place, (x, y))| *place = [x, y]);
        }
        Ok(())
    }

    /// What the device has begun to measure of the frame in slot `frame`, if it is of use with these `references`.
    fn take_ahead(&mut self, frame: LumaSlot, references: &[ReferenceFrame<'_>]) -> Option<Ahead> {
        let ahead = self.ahead.take()?;
        let known = references.iter().map(|reference| (reference.frame.slot, reference.offset));
        let is_of_use = ahead.frame == frame
            && ahead.level == self.level
            && beside(references).iter().all(|beside| beside.reference < ahead.references.len())
            && known.take(ahead.references.len()).eq(ahead.references.iter().copied());
        if !is_of_use {
            self.objects.noise.go_back();
        }
        is_of_use.then_some(ahead)
    }

    /// Forgets what the device has begun to measure.
    fn discard_ahead(&mut self) {
        if self.ahead.take().is_some() {
            self.objects.noise.go_back();
        }
    }

    /// Queues the means of the frame that was measured.
    fn begin_average(
        &mut self,
        frame: LumaSlot,
        references: &[ReferenceFrame<'_>],
        strength: Strength,
    ) -> launcher::Result<()> {
        let DenoiserObjects { kernels, frames, made, work, .. } = &mut *self.objects;
        let (device, others) = (&frames[frame.0].device, frames_of(references, frames));
        kernels.weigh(work, device, &others, (strength.0, self.is_spatial))?;
        kernels.average(work, device, &others, made)?;
        let done = work.marker()?;
        work.flush()?;
        for slot in references.iter().map(|reference| reference.frame.slot).chain([frame]) {
            frames[slot.0].used = Some(done.clone());
        }
        self.measured.made = Some(done);
        if !self.measured.stays_on_device {
            self.begin_read()?;
        }
        Ok(())
    }

    /// Begins to download the frame that is made, unless it has begun.
    fn begin_read(&mut self) -> launcher::Result<()> {
        let DenoiserObjects { made, made_on_host, download, .. } = &*self.objects;
        if let (Some(done), None) = (&self.measured.made, &self.measured.read) {
            // SAFETY: the host's block has as many bytes. It lives as long as the device, which waits for its queues, and it
            // is not read before the event is done.
            let read =
                unsafe { download.begin_read(made, made_on_host.target(), made_on_host.bytes(), done)? };
            self.measured.read = Some(read);
            download.flush()?;
        }
        Ok(())
    }

    /// Waits until the frame that is made is on the host, if there is one. Returns whether there is.
    fn finish_read(&mut self) -> launcher::Result<bool> {
        self.begin_read()?;
        let Some(read) = &self.measured.read else { return Ok(false) };
        self.context.watch().wait(read, self.allowed())?;
        Ok(true)
    }

    /// Copies the frame that is made to `planes`.
    fn copy_out(&self, made: &Event, planes: &[DevicePlane]) -> launcher::Result<()> {
        let DenoiserObjects { made: device, work, .. } = &*self.objects;
        let mut copied = made.clone();
        for (place, plane) in self.layout.planes.iter().zip(planes) {
            let rows = place.rows(self.format.samples.bytes());
            // SAFETY: the plane is writable, so that it has all rows of its size and nobody else uses them.
            copied = unsafe { work.begin_copy_out_rows(device, rows, plane)? };
        }
        work.flush()?;
        self.context.watch().wait(&copied, self.allowed())
    }
}

impl FrameDenoiser for OpenClDenoiser {
    fn device(&self) -> &str {
        &self.name
    }

    fn launching(&self) -> Option<&Launching> {
        self.launching.as_ref()
    }

    fn rehearse(&mut self) -> Result<(), DenoisingError> {
        let (format, references) = (self.format.clone(), self.references.min(self.objects.frames.len() - 1));
        let planes: Vec<_> = (0..format.samplings.len())
            .map(|index| {
                let (size, samples) = (format.plane_size(index), format.samples);
                let stride = size.0 * samples.bytes();
                // Frames that are all alike have nothing to be averaged.
                let texture = (0..stride * size.1).map(|at| (at % 97) as u8).collect::<Vec<_>>();
                Frame::with_format(Arc::new(texture), size, stride, samples)
                    .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"))
            })
            .collect();
        let field = vec![Default::default(); self.layout.found.blocks()];
        let mut load =
            || Ok::<_, DenoisingError>(LoadedFrame { slot: self.load(&planes)?.1, planes: &planes });
        let frame = load()?;
        let others = (0..references).map(|_| load()).collect::<Result<Vec<_>, _>>()?;
        let others: Vec<_> = others
            .into_iter()
            .zip([-1, 1].into_iter().chain(2..))
            .map(|(frame, offset)| ReferenceFrame { frame, vectors: &field, offset })
            .collect();
        self.set_noise_level(NoiseLevel::ONE);
        self.measure(frame, &others, Strength::ONE)?;
        self.finish_read().map_err(|error| self.failed(error))?;
        self.set_noise_level(NoiseLevel::MEASURED);
        self.restart();
        self.next = 0;
        Ok(())
    }

    fn is_repeat(&mut self, planes: &[Frame]) -> Result<Option<bool>, DenoisingError> {
        self.format.check_frames(planes)?;
        let (slot, slots) = (self.next, self.objects.frames.len());
        let last = (slot + slots - 1) % slots;
        let Some(found) = self.found(planes).filter(|_| last != slot) else { return Ok(None) };
        if self.objects.frames[last].loaded.is_none() {
            return Ok(None);
        }
        let compared = self.load_and_compare(slot, planes, Some(&found), last);
        self.settled(planes, compared).map(Some)
    }

    fn load(&mut self, planes: &[Frame]) -> Result<(Frame, LumaSlot), DenoisingError> {
        self.format.check_frames(planes)?;
        let (slot, found) = (self.next, self.found(planes));
        let loaded = self.load_to(slot, planes, found.as_deref());
        let search_frame = self.settled(planes, loaded)?;
        self.next = (slot + 1) % self.objects.frames.len();
        Ok((search_frame, LumaSlot(slot)))
    }

    fn restart(&mut self) {
        self.discard_ahead();
        self.noise.restart();
        self.objects.noise.restart();
        self.copied = None;
    }

    fn set_noise_level(&mut self, level: NoiseLevel) {
        self.level = level;
    }

    fn set_spatial(&mut self, is_spatial: bool) {
        self.is_spatial = is_spatial;
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn look_ahead(&mut self, frame: LoadedFrame<'_>, references: &[ReferenceFrame<'_>]) {
        self.discard_ahead();
        // If it fails, it fails again when the frame is measured.
        self.ahead = self.begin_measure(frame.slot, references).ok();
    }

    fn measure(
        &mut self,
        frame: LoadedFrame<'_>,
        references: &[ReferenceFrame<'_>],
        strength: Strength,
    ) -> Result<&NoiseMap, DenoisingError> {
        assert!(references.len() <= self.references, "{} of {} frames", references.len(), self.references);
        self.format.check_frames(frame.planes)?;
        references.iter().try_for_each(|reference| self.format.check_frames(reference.frame.planes))?;
        let ahead = self.take_ahead(frame.slot, references);
        let stays_on_device = self.objects.frames[frame.slot.0].is_of_device;
        self.measured = Measured { stays_on_device, ..Measured::default() };
        let begun = Instant::now();
        let was_begun = ahead.is_some();
        let ahead = match ahead {
            Some(ahead) => ahead,
            None => self.begin_measure(frame.slot, references)?,
        };
        if ahead.references.len() < references.len() {
            self.stage_vectors(references)?;
            self.queue_later(&ahead, references).map_err(|error| self.failed(error))?;
        }
        // A frame has mostly noise if the one before it has, and what is then queued at once does not wait for the host.
        let has_others = !references.is_empty() && !strength.is_none();
        let is_expected = has_others && !self.noise.is_none();
        let queued = if is_expected { self.begin_average(frame.slot, references, strength) } else { Ok(()) };
        let finished = queued.and_then(|()| self.finish_measure(&ahead, references));
        finished.map_err(|error| self.failed(error))?;
        if !was_begun && std::mem::replace(&mut self.has_measured, true) {
            self.pace.count(1.0, begun.elapsed());
        }
        if self.noise.is_none() {
            // What is made of it is not read.
            self.measured = Measured { stays_on_device, ..Measured::default() };
        } else if has_others && !is_expected {
            let begun = self.begin_average(frame.slot, references, strength);
            begun.map_err(|error| self.failed(error))?;
        }
        Ok(&self.noise)
    }

    fn write_plane(
        &mut self,
        index: usize,
        frame: LoadedFrame<'_>,
        _references: &[ReferenceFrame<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), DenoisingError> {
        self.format.check(index, &out.view())?;
        if !self.finish_read().map_err(|error| self.failed(error))? {
            return Ok(out.copy_from(&frame.planes[index].view())?);
        }
        // SAFETY: the download is done, and the device writes here again only for a frame that is measured later.
        let bytes = unsafe { self.objects.made_on_host.as_slice() };
        let place = self.layout.planes[index];
        let made =
            FrameView::with_format(&bytes[place.range()], place.size, place.pitch, self.format.samples)
                .unwrap_or_else(|error| unreachable!("the layout has room for it: {error}"));
        Ok(out.copy_from(&made)?)
    }

    fn copy_to_blocks(&mut self, planes: &[(BlockHandle, usize)]) -> Result<bool, DenoisingError> {
        let Measured { made: Some(made), stays_on_device: true, .. } = &self.measured else {
            return Ok(false);
        };
        let plane = |(block, stride): &(BlockHandle, usize)| {
            self.context.plane_in(block, *stride).filter(|plane| plane.is_writable)
        };
        let found: Option<Vec<_>> = planes.iter().map(plane).collect();
        let found = found.filter(|found| found.len() == self.layout.planes.len());
        let copied = found.ok_or(launcher::Error::UNSUPPORTED).and_then(|found| self.copy_out(made, &found));
        copied.map(|()| true).map_err(|error| self.failed(error))
    }

    fn noise_to_go_on(&mut self, is_measured_again: bool) -> Option<NoiseMap> {
        self.discard_ahead();
        if is_measured_again {
            self.noise.go_back(&self.history);
        }
        Some(self.noise.clone())
    }
}

/// Where the frames of `references` were loaded to.
fn frames_of<'a>(references: &[ReferenceFrame<'_>], frames: &'a [LoadedOnDevice]) -> Vec<&'a FrameOnDevice> {
    references.iter().map(|reference| &frames[reference.frame.slot.0].device).collect()
}

/// Those of `references` that tell the noise of the frame, as they are beside it.
fn beside(references: &[ReferenceFrame<'_>]) -> Vec<Beside> {
    let beside = references.iter().enumerate().filter(|(_, reference)| reference.offset.abs() == 1);
    let beside = beside.map(|(number, found)| Beside { reference: number, is_previous: found.offset < 0 });
    beside.take(BESIDE).collect()
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
                let mut denoiser = OpenClDenoiser::new(&device, &format, 1, 3).unwrap();
                // What is behind the rows is another in each slot.
                for (slot, fill) in [1, 2].into_iter().enumerate() {
                    let DenoiserObjects { frames, work, .. } = &*denoiser.objects;
                    work.write(&frames[slot].device.planes, &vec![fill; denoiser.layout.bytes]).unwrap();
                }
                denoiser.load_to(0, &planes(None), None).unwrap();
                assert!(denoiser.load_and_compare(1, &planes(None), None, 0).unwrap());
                for changed in (0..format.samplings.len())
                    .flat_map(|plane| [0, 1, 7, 8, 31, 32, 36, 37, usize::MAX / 2].map(|byte| (plane, byte)))
                {
                    let differ = planes(Some(changed));
                    let is_equal = denoiser.load_and_compare(1, &differ, None, 0).unwrap();
                    assert!(!is_equal, "{changed:?} on {}", device.name);
                    denoiser.copied = None;
                }
            }
        }
    }
}

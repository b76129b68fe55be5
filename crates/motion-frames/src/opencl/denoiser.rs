//! Frames without noise, made on an OpenCL device: each frame is uploaded once, and only what is made is downloaded. The host
//! is told the noise of the blocks, and whether there is any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::denoising::{DenoisingKernels, FrameOnDevice};
use super::frame_loader::FrameLoader;
use super::layout::InterpolationLayout;
use super::noise::{BESIDE, Beside, NoiseKernels};
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
    /// What has become of the frame that was measured last.
    measured: Measured,
    /// Done when the host has what was downloaded last, unless it has waited for that.
    unread: Option<Event>,
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
    loader: FrameLoader,
    found: StagedBlock,
    /// Where the host reads the noise of blocks, and that of areas.
    noise_of_blocks: PinnedBlock,
    noise_of_areas: PinnedBlock,
    /// The frame that is made, and where it arrives on the host.
    made: Buffer,
    made_on_host: PinnedBlock,
    /// For what is measured and averaged.
    work: Arc<Queue>,
    download: Arc<Queue>,
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
        let (work, download) = (queue()?, queue()?);
        let host = |bytes| PinnedBlock::new(context, device, &work, bytes);
        let kernels = DenoisingKernels::new(context, device, format, references, layout.clone())?;
        let noise = NoiseMap::new(format.size, format.samples.depth())?;
        let noise_kernels = NoiseKernels::new(context, device, format, &noise, layout.clone())?;
        let found_bytes = size_of::<[i32; 2]>() * layout.found.blocks() * references.max(1);
        let objects = DenoiserObjects {
            loader: FrameLoader::new(context, device, format, loaded, layout)?,
            found: StagedBlock::new(host(found_bytes)?),
            noise_of_blocks: host(size_of::<BlockNoise>() * layout.grid.blocks())?,
            noise_of_areas: host(noise_kernels.state().1)?,
            noise: noise_kernels,
            made: device.buffer(context, "a frame without noise", layout.bytes)?,
            made_on_host: host(layout.bytes)?,
            kernels,
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
            measured: Measured::default(),
            unread: None,
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
        let DenoiserObjects { loader, work, download, .. } = &*self.objects;
        [&loader.queue, work, download].into_iter().try_for_each(|queue| watch.wait_for_queue(queue, limit))
    }

    fn failed(&self, error: launcher::Error) -> DenoisingError {
        self.context.watch().failure(&self.name, error).into()
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
            kernels, noise, loader, noise_of_blocks, noise_of_areas, work, download, ..
        } = &mut *self.objects;
        let (device, others) = (&loader.frames[frame.0].device, frames_of(references, loader));
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
        let DenoiserObjects { kernels, loader, work, .. } = &mut *self.objects;
        let (device, others) = (&loader.frames[ahead.frame.0].device, frames_of(references, loader));
        kernels.measure_others(work, device, &others, ahead.references.len(), &numbers)
    }

    /// Waits until the noise of the frame that `ahead` began to measure is estimated.
    fn finish_measure(&mut self, ahead: &Ahead, references: &[ReferenceFrame<'_>]) -> launcher::Result<()> {
        ahead.told.iter().try_for_each(|told| self.context.watch().wait(told, self.allowed()))?;
        let DenoiserObjects { loader, found, noise_of_blocks, noise_of_areas, .. } = &*self.objects;
        // SAFETY: the device has written them, and writes them again only for a frame that is begun later.
        let (blocks, state) = unsafe { (noise_of_blocks.as_slice(), noise_of_areas.as_slice()) };
        let is_measured = ahead.level == NoiseLevel::MEASURED;
        let state = is_measured.then(|| bytemuck::cast_slice(state));
        self.noise.set_measured(bytemuck::cast_slice(blocks), state);
        let slots = references.iter().map(|reference| reference.frame.slot).chain([ahead.frame]);
        slots.filter_map(|slot| loader.frames[slot.0].loaded.as_ref()).try_for_each(Event::check)?;
        found.read.iter().try_for_each(Event::check)
    }

    /// Queues the upload of the vectors of `references`, and lets what is queued then wait until they and the frame in slot `frame` are
    /// loaded.
    fn begin_upload(&mut self, frame: LumaSlot, references: &[ReferenceFrame<'_>]) -> launcher::Result<()> {
        let DenoiserObjects { kernels, loader, found, work, .. } = &mut *self.objects;
        let bytes = size_of::<[i32; 2]>() * self.layout.found.blocks() * references.len();
        if bytes > 0 {
            // SAFETY: the device has read what was there before, and waits for its queues before it drops the memory.
            unsafe { found.begin_write(work, &kernels.found, bytes)? };
        }
        let slots = references.iter().map(|reference| reference.frame.slot).chain([frame]);
        let loaded: Vec<_> = slots.filter_map(|slot| loader.frames[slot.0].loaded.as_ref()).collect();
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
        let DenoiserObjects { kernels, loader, made, work, .. } = &mut *self.objects;
        let (device, others) = (&loader.frames[frame.0].device, frames_of(references, loader));
        kernels.weigh(work, device, &others, (strength.0, self.is_spatial))?;
        if let Some(unread) = self.unread.take() {
            // A mean that nobody wanted may still be read from there.
            work.barrier(&[&unread])?;
        }
        kernels.average(work, device, &others, made)?;
        let done = work.marker()?;
        work.flush()?;
        for slot in references.iter().map(|reference| reference.frame.slot).chain([frame]) {
            loader.frames[slot.0].used = Some(done.clone());
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
            self.unread = Some(read.clone());
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
        self.unread = None;
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
        let (format, references) =
            (self.format.clone(), self.references.min(self.objects.loader.frames.len() - 1));
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
        self.objects.loader.begin_again();
        Ok(())
    }

    fn is_repeat(&mut self, planes: &[Frame]) -> Result<Option<bool>, DenoisingError> {
        self.format.check_frames(planes)?;
        let allowed = self.allowed();
        let DenoiserObjects { kernels, loader, .. } = &mut *self.objects;
        let compared = loader.is_repeat(kernels, planes, allowed);
        compared.map_err(|error| self.failed(error))
    }

    fn load(&mut self, planes: &[Frame]) -> Result<(Frame, LumaSlot), DenoisingError> {
        self.format.check_frames(planes)?;
        let allowed = self.allowed();
        let DenoiserObjects { kernels, loader, .. } = &mut *self.objects;
        let loaded = loader.load(kernels, planes, allowed);
        loaded.map_err(|error| self.failed(error))
    }

    fn restart(&mut self) {
        self.discard_ahead();
        self.noise.restart();
        self.objects.noise.restart();
        self.objects.loader.restart();
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
        let stays_on_device = self.objects.loader.frames[frame.slot.0].is_of_device;
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
fn frames_of<'a>(references: &[ReferenceFrame<'_>], loader: &'a FrameLoader) -> Vec<&'a FrameOnDevice> {
    references.iter().map(|reference| &loader.frames[reference.frame.slot.0].device).collect()
}

/// Those of `references` that tell the noise of the frame, as they are beside it.
fn beside(references: &[ReferenceFrame<'_>]) -> Vec<Beside> {
    let beside = references.iter().enumerate().filter(|(_, reference)| reference.offset.abs() == 1);
    let beside = beside.map(|(number, found)| Beside { reference: number, is_previous: found.offset < 0 });
    beside.take(BESIDE).collect()
}

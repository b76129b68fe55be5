//! Frames made on an OpenCL device: each frame is uploaded once, and only what is made is downloaded.

mod denoiser;
mod denoising;
mod frame_loader;
mod groups;
mod kernel_file;
mod kernels;
mod layout;
mod noise;
mod patches;
mod projection;
mod search_frames;
mod staging;
mod weighting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::compensation::{CompensationError, PlaneMut};
use crate::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, InterpolationError, LoadedPair, Patch, Phase, check_field,
};
pub use denoiser::OpenClDenoiser;
use kernels::{DeviceFrame, FramesAround, InterpolationKernels, kept_frames};
use layout::InterpolationLayout;
use motion_base::pace::{PATIENCE, Pace};
use motion_base::{BlockHandle, EstimateError, Frame, FrameView, Launching, MotionVector, SetupError};
use motion_gpu::context::{Context, MadeIn};
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Buffer, DevicePlane, Event, Queue, QueueKind};
use search_frames::DeviceSearchFrames;
use staging::StagedBlock;

/// The most frames that have begun: while one is downloaded, the next one is made.
const DEPTH: usize = 2;

/// The samples that a made frame compares and predicts for each of its own, at most and about: how long it may take
/// follows from it.
const WORK: usize = 64;

/// Makes frames on one OpenCL device.
///
/// For planes of S bytes in all and W × H luma samples it allocates on the device 4 · S bytes, 8 · W · H for luma between
/// samples (24 · W · H with samples of more than eight bits), and for vectors 0.4 · W · H, with [`FrameQuality::Balanced`]
/// 1.4 · W · H; in page-locked memory 4 · S bytes. [`FrameQuality::High`] keeps two frames more: 6 · S bytes in each memory,
/// twice as much for luma, and 3.6 · W · H for vectors. All of it is allocated when it is opened.
pub struct OpenClInterpolator {
    name: String,
    launching: Option<Launching>,
    format: FrameFormat,
    layout: Arc<InterpolationLayout>,
    /// The pair between which frames are made.
    pair: LoadedPair,
    /// Those that are not finished.
    begun: VecDeque<BegunFrame>,
    /// The room of the next frame that begins, and that of the one that was finished last.
    room: usize,
    finished: usize,
    /// Whether a frame has been finished.
    has_made: bool,
    /// Whether the frame that was loaded last came from memory of the device, so that made ones stay there.
    stays_on_device: bool,
    pace: Pace,
    objects: MadeIn<Objects>,
    context: Arc<Context>,
}

/// A frame that has begun.
struct BegunFrame {
    room: usize,
    /// Done when the frame is where it is wanted: on the host, or on the device.
    made: Event,
    begun: Instant,
}

/// What was made in the context.
struct Objects {
    kernels: InterpolationKernels,
    /// The newest frame first.
    frames: Vec<UploadedFrame>,
    field: StagedBlock,
    masks: StagedBlock,
    rooms: Vec<MadeRoom>,
    /// For frames in memory of the device, with a place for luma.
    search_frames: Option<(DeviceSearchFrames, Buffer)>,
    /// Uploads and kernels, in this order for each frame.
    work: Arc<Queue>,
    download: Arc<Queue>,
}

/// A frame on the device, and the memory from which it gets there.
struct UploadedFrame {
    device: DeviceFrame,
    staging: StagedBlock,
    /// Planes in memory of the device that are copied.
    sources: Vec<Frame>,
}

/// Where a made frame is: on the device, and where it arrives on the host.
struct MadeRoom {
    device: Buffer,
    host: PinnedBlock,
}

impl Drop for OpenClInterpolator {
    fn drop(&mut self) {
        // Commands in flight may use host memory that is freed then.
        let _ = self.wait_for_all();
    }
}

impl OpenClInterpolator {
    /// Opens `device` for frames of `format`, which are made in `quality`.
    ///
    /// # Errors
    /// [`SetupError`]: too little memory, kernels that do not build, what the device does not support or reports.
    pub fn new(
        device: &OpenClDevice,
        format: &FrameFormat,
        quality: FrameQuality,
    ) -> Result<Self, SetupError> {
        format.validate(&device.name)?;
        let open = |context: &_| Self::with_context(context, device, format, quality);
        let (mut opened, launching) = device.open(None, open)?;
        opened.launching = Some(launching);
        Ok(opened)
    }

    /// As [`Self::new`], launched by `context`.
    fn with_context(
        context: &Arc<Context>,
        device: &OpenClDevice,
        format: &FrameFormat,
        quality: FrameQuality,
    ) -> Result<Self, SetupError> {
        let queue = || -> Result<Arc<Queue>, SetupError> {
            context.queue(QueueKind::Ordered).map(Arc::new).map_err(|error| device.refused(error))
        };
        let (work, download) = (queue()?, queue()?);
        let layout = Arc::new(InterpolationLayout::new(format));
        let host = |bytes| PinnedBlock::new(context, device, &work, bytes);
        let staged = |bytes| Ok::<_, SetupError>(StagedBlock::new(host(bytes)?));
        let frame = |_| {
            Ok::<_, SetupError>(UploadedFrame {
                device: DeviceFrame::new(context, device, format, quality, &layout)?,
                staging: staged(layout.bytes)?,
                sources: Vec::new(),
            })
        };
        let room = |_| {
            let made = device.buffer(context, "a made frame", layout.bytes)?;
            Ok(MadeRoom { device: made, host: host(layout.bytes)? })
        };
        let search_frames = || -> Result<_, SetupError> {
            let luma = device.buffer(context, "a plane of luma", layout.luma_bytes())?;
            Ok((DeviceSearchFrames::new(context, device, format, &layout)?, luma))
        };
        let search_frames = device.foreign_context().map(|_| search_frames()).transpose()?;
        let objects = Objects {
            kernels: InterpolationKernels::new(context, device, format, quality, layout.clone())?,
            frames: (0..kept_frames(quality)).map(frame).collect::<Result<_, _>>()?,
            field: staged(size_of::<MotionVector>() * layout.found.blocks())?,
            masks: staged(patches::MOST_MASK_SAMPLES)?,
            rooms: (0..DEPTH).map(room).collect::<Result<_, SetupError>>()?,
            search_frames,
            work,
            download,
        };
        Ok(Self {
            name: device.name.clone(),
            launching: None,
            format: format.clone(),
            layout,
            pair: LoadedPair::Newest,
            begun: VecDeque::with_capacity(DEPTH),
            room: 0,
            finished: 0,
            has_made: false,
            stays_on_device: false,
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
        let (watch, limit) = (self.context.watch(), self.allowed().saturating_mul(DEPTH as u32));
        let worked = watch.wait_for_queue(&self.objects.work, limit);
        worked.and(watch.wait_for_queue(&self.objects.download, limit))
    }

    /// Checks that no upload has failed.
    fn check_uploads(&self) -> launcher::Result<()> {
        let Objects { frames, field, masks, .. } = &*self.objects;
        let staged = frames.iter().map(|frame| &frame.staging).chain([field, masks]);
        staged.flat_map(|block| &block.read).try_for_each(Event::check)
    }

    fn failed(&self, error: launcher::Error) -> InterpolationError {
        self.context.watch().failure(&self.name, error).into()
    }

    /// Makes the next frame the previous one, and the place of that free for another frame.
    fn advance(&mut self) -> launcher::Result<()> {
        let (allowed, watch) = (self.allowed(), self.context.watch());
        watch.check()?;
        self.pair = LoadedPair::Newest;
        let Objects { kernels, frames, .. } = &mut *self.objects;
        kernels.advance();
        frames.rotate_right(1);
        frames[0].staging.wait(watch, allowed)
    }

    /// Begins to upload the planes of a frame, and queues what is made of them.
    fn upload(&mut self, planes: &[FrameView<'_>]) -> launcher::Result<()> {
        self.advance()?;
        self.stays_on_device = false;
        let Objects { kernels, frames, work, .. } = &mut *self.objects;
        let UploadedFrame { device, staging, .. } = &mut frames[0];
        // SAFETY: the device has read what was there before, and waits for its queues before it drops the memory.
        unsafe { staging.begin_upload(work, &device.planes, &self.layout, planes)? };
        kernels.prepare(work, device, self.format.samples.bytes())?;
        work.flush()
    }

    /// As [`Self::upload`], of planes that are on the device: `found` says where.
    fn copy_in(&mut self, planes: &[Frame], found: &[DevicePlane]) -> launcher::Result<()> {
        self.advance()?;
        self.stays_on_device = true;
        let Objects { kernels, frames, work, .. } = &mut *self.objects;
        let UploadedFrame { device, staging, sources } = &mut frames[0];
        for ((plane, found), place) in planes.iter().zip(found).zip(&self.layout.planes) {
            sources.push(plane.clone());
            let rows = place.rows(self.format.samples.bytes());
            // SAFETY: `sources` keeps the plane until the event is done; it has all rows of its size.
            staging.read = Some(unsafe { work.begin_copy_rows(&device.planes, rows, found, 0)? });
        }
        kernels.prepare(work, device, self.format.samples.bytes())?;
        work.flush()
    }

    /// Drops the planes that were copied on the device.
    fn release_sources(&mut self) -> launcher::Result<()> {
        let (allowed, watch) = (self.allowed(), self.context.watch());
        for UploadedFrame { staging, sources, .. } in &mut self.objects.frames {
            if let (false, Some(read)) = (sources.is_empty(), &staging.read) {
                watch.wait(read, allowed)?;
            }
            sources.clear();
        }
        Ok(())
    }

    /// Copies the frame that was finished last to `planes`.
    fn copy_out(&self, planes: &[DevicePlane]) -> launcher::Result<()> {
        let watch = self.context.watch();
        let Objects { rooms, download, .. } = &*self.objects;
        let device = &rooms[self.finished].device;
        let mut copied = None;
        for (place, plane) in self.layout.planes.iter().zip(planes) {
            let rows = place.rows(self.format.samples.bytes());
            // SAFETY: the plane is writable, so that it has all rows of its size and nobody else uses them.
            copied = Some(unsafe { download.begin_copy_out_rows(device, rows, plane)? });
        }
        download.flush()?;
        copied.map_or(Ok(()), |copied| watch.wait(&copied, self.allowed()))
    }

    /// Begins to upload `field`.
    fn upload_field(&mut self, field: &[MotionVector]) -> launcher::Result<()> {
        self.release_sources()?;
        let (allowed, watch) = (self.allowed(), self.context.watch());
        watch.check()?;
        let Objects { kernels, field: staging, work, .. } = &mut *self.objects;
        staging.wait(watch, allowed)?;
        // SAFETY: as in `upload`.
        unsafe {
            let bytes = staging.bytes();
            bytes.copy_from_slice(bytemuck::cast_slice(field));
            staging.begin_write(work, kernels.newest_field(), bytes.len())?;
        }
        work.flush()
    }

    /// Begins to upload the masks of `patches`.
    fn upload_patches(&mut self, patches: &[Patch]) -> launcher::Result<()> {
        let (allowed, watch) = (self.allowed(), self.context.watch());
        watch.check()?;
        let Objects { kernels, masks: staging, work, .. } = &mut *self.objects;
        staging.wait(watch, allowed)?;
        // SAFETY: as in `upload`.
        unsafe {
            let (masks, used) = kernels.set_patches(patches, staging.bytes());
            staging.begin_write(work, masks, used)?;
        }
        work.flush()
    }

    fn queue_frame(&mut self, phase: Phase) -> launcher::Result<()> {
        self.context.watch().check()?;
        let begun = Instant::now();
        let Objects { kernels, frames, rooms, work, download, .. } = &mut *self.objects;
        let MadeRoom { device, host } = &mut rooms[self.room];
        let (next, has_neighbours) = match self.pair {
            LoadedPair::Newest => (0, false),
            LoadedPair::BeforeNewest { has_neighbours } => (1, has_neighbours),
        };
        let frame = |number: usize| &frames[number].device;
        let around = FramesAround {
            pair: [frame(next + 1), frame(next)],
            field: next,
            neighbours: has_neighbours.then(|| [frame(next + 2), frame(next - 1)]),
        };
        let made = kernels.make(work, &around, phase, device)?;
        work.flush()?;
        let made = match self.stays_on_device {
            true => made,
            // SAFETY: the host's block has as many bytes. It lives as long as the device, which waits for its queues, and it
            // is not read before the event is done.
            false => unsafe { download.begin_read(device, host.target(), host.bytes(), &made)? },
        };
        download.flush()?;
        self.begun.push_back(BegunFrame { room: self.room, made, begun });
        self.room = (self.room + 1) % DEPTH;
        Ok(())
    }
}

impl FrameMaker for OpenClInterpolator {
    fn device(&self) -> &str {
        &self.name
    }

    fn launching(&self) -> Option<&Launching> {
        self.launching.as_ref()
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn load_frame(&mut self, planes: &[FrameView<'_>]) -> Result<(), InterpolationError> {
        self.format.check_all(planes)?;
        self.upload(planes).map_err(|error| self.failed(error))
    }

    fn load_planes(&mut self, planes: &[Frame]) -> Result<(), InterpolationError> {
        let found: Option<Vec<_>> = planes.iter().map(|plane| self.context.plane_of(plane)).collect();
        let Some(found) = found else {
            let planes: Vec<_> = planes.iter().map(Frame::view).collect();
            return self.load_frame(&planes);
        };
        self.format.check_frames(planes)?;
        self.copy_in(planes, &found).map_err(|error| self.failed(error))
    }

    fn search_frame(&mut self, luma: &Frame) -> Result<Option<Frame>, InterpolationError> {
        let allowed = self.allowed();
        let (Some(_), Some((search_frames, buffer))) =
            (self.context.plane_of(luma), &mut self.objects.search_frames)
        else {
            return Ok(None);
        };
        self.format.check_frame(0, luma)?;
        let made = search_frames.copy_and_make(luma, buffer, allowed);
        made.map(Some).map_err(|error| self.failed(error))
    }

    fn set_motion(&mut self, field: &[MotionVector]) -> Result<(), InterpolationError> {
        check_field(self.format.size, field)?;
        self.upload_field(field).map_err(|error| self.failed(error))
    }

    fn set_patches(&mut self, patches: &[Patch]) -> Result<(), InterpolationError> {
        // Most pairs have none.
        if patches.is_empty() {
            return Ok(());
        }
        self.upload_patches(patches).map_err(|error| self.failed(error))
    }

    fn select(&mut self, pair: LoadedPair) -> Result<(), InterpolationError> {
        if pair != LoadedPair::Newest && self.objects.frames.len() < 4 {
            return Err(InterpolationError::Pair);
        }
        self.pair = pair;
        Ok(())
    }

    fn start_frame(&mut self, phase: Phase) -> Result<(), InterpolationError> {
        if self.begun.len() == DEPTH {
            return Err(EstimateError::InFlight(DEPTH).into());
        }
        self.queue_frame(phase).map_err(|error| self.failed(error))
    }

    fn finish_frame(&mut self) -> Result<(), InterpolationError> {
        let allowed = self.allowed();
        let BegunFrame { room, made, begun } =
            self.begun.pop_front().ok_or(EstimateError::NothingInFlight)?;
        let finished = self.context.watch().wait(&made, allowed).and_then(|()| self.check_uploads());
        finished.map_err(|error| self.failed(error))?;
        // Some drivers compile kernels at the first launch: the first frame says nothing of the others.
        if std::mem::replace(&mut self.has_made, true) {
            self.pace.count(1.0, begun.elapsed());
        }
        self.finished = room;
        Ok(())
    }

    fn write_plane(
        &self,
        index: usize,
        _sources: [&FrameView<'_>; 2],
        plane: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        self.format.check(index, &plane.view())?;
        // SAFETY: the download is done, and the device writes here again only for a frame that begins later.
        let bytes = unsafe { self.objects.rooms[self.finished].host.as_slice() };
        let place = self.layout.planes[index];
        let made =
            FrameView::with_format(&bytes[place.range()], place.size, place.pitch, self.format.samples)
                .unwrap_or_else(|error| unreachable!("the layout has room for it: {error}"));
        plane.copy_from(&made)
    }

    fn copy_to_blocks(&self, planes: &[(BlockHandle, usize)]) -> Result<bool, InterpolationError> {
        if !self.stays_on_device {
            return Ok(false);
        }
        let plane = |(block, stride): &(BlockHandle, usize)| {
            self.context.plane_in(block, *stride).filter(|plane| plane.is_writable)
        };
        let found: Option<Vec<_>> = planes.iter().map(plane).collect();
        let found = found.filter(|found| found.len() == self.layout.planes.len());
        let copied = found.ok_or(launcher::Error::UNSUPPORTED).and_then(|found| self.copy_out(&found));
        copied.map(|()| true).map_err(|error| self.failed(error))
    }

    fn cancel(&mut self) {
        let _ = self.wait_for_all();
        self.begun.clear();
    }
}

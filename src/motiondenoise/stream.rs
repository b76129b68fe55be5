//! The frames of a stream from one caps to the next: what waits, its motion, and what leaves.

use std::cmp::Ordering;
use std::collections::VecDeque;

use gst_video::VideoInfo;

use super::settings::{DenoiseSettings, Removal};
use crate::settings::{MotionEstimateOnDeviceFailure, StreamError};
use crate::video::frame::{self, FrameLayout, PlaneError};
use crate::video::pool::{self, HeldBuffers};
use crate::video::sequence::Leave;
use crate::video::waiting::{Item, Waiting};
use motion_frames::backend::{DenoisedStream, native_denoiser};
use motion_frames::denoising::{
    DenoisingError, FrameDenoiser, LoadedFrame, LumaSlot, ReferenceFrame, search_parameters,
};
use motion_search::backend::Choice;
use motion_search::estimator::{EstimateError, Frame, Launching, Notice, Output, References, SetupError};
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};

/// The field of a frame, by its number, in the frame so many after it.
#[derive(Default)]
struct FieldPlace {
    frame: u64,
    offset: isize,
}

/// A frame of the sequence.
struct WindowFrame {
    buffer: gst::Buffer,
    /// Whether it has the same samples as the one before it. Then it has no fields, is averaged with the same frames as that
    /// one, and no other is averaged with it: its noise is no other noise.
    is_repeat: bool,
    slot: FrameSlot,
    luma: LumaSlot,
    /// Its fields, and how many frames after it those are in which they were found.
    fields: Vec<(isize, Output)>,
    /// Its searches in flight.
    in_flight: usize,
    /// Whether no later frames of the sequence come.
    is_last: bool,
}

/// How many times as many frames wait as would without repeats, at most: a still that repeats without end must not hold up
/// the stream. Animation of 12 frames a second in 60 has five repeats of each.
const MOST_REPEATS: usize = 6;

/// The buffer of a frame with the samples of `earlier`: the metadata of `buffer` and the memory of `earlier`, so that the
/// memory of `buffer` is free while the frame waits. If its planes are elsewhere in the memory, it keeps its own.
fn sharing(buffer: gst::Buffer, earlier: &gst::Buffer) -> gst::Buffer {
    let planes = |buffer: &gst::BufferRef| {
        let meta = buffer.meta::<gst_video::VideoMeta>();
        meta.map(|meta| (meta.offset().to_vec(), meta.stride().to_vec()))
    };
    if planes(&buffer) != planes(earlier) || buffer.size() != earlier.size() {
        return buffer.copy_deep().unwrap_or(buffer);
    }
    let mut shared = gst::Buffer::new();
    let target = shared.make_mut();
    if buffer.copy_into(target, gst::BUFFER_COPY_METADATA, ..).is_err() {
        return buffer;
    }
    earlier.iter_memories_owned().for_each(|memory| target.append_memory(memory));
    shared
}

/// What is averaged for frames of `layout`.
fn denoised(layout: &FrameLayout, settings: &DenoiseSettings, references: References) -> DenoisedStream {
    let (format, loaded) = (layout.format().clone(), settings.loaded());
    DenoisedStream { format, references: references.count(), loaded }
}

/// The error of what takes the noise out, if `error` is one.
fn device_error(error: StreamError) -> Result<DenoisingError, StreamError> {
    match error {
        StreamError::Denoise(error) => Ok(error),
        other => Err(other),
    }
}

/// Whether a frame does not repeat the one before it.
fn is_new(frame: &&WindowFrame) -> bool {
    !frame.is_repeat
}

/// What holds from one caps, and from one `past` and `future`, to the next.
pub struct DenoiseStream {
    layout: FrameLayout,
    /// With which it was opened.
    settings: DenoiseSettings,
    references: References,
    session: Session<FieldPlace>,
    denoiser: Box<dyn FrameDenoiser>,
    /// What has happened to `denoiser`.
    notices: Vec<Notice>,
    /// Frames that have left and later ones are averaged with, oldest first. While repeats of the last one may come, it is
    /// one more.
    past: VecDeque<WindowFrame>,
    /// The frames of the sequence after those.
    waiting: Waiting<WindowFrame>,
    /// The number of frames of the sequence before `past`, without repeats.
    first: u64,
    /// What is taken out of the frame that was measured last.
    removal: Removal,
    /// Whether that frame is to change, and the mean standard deviation of its noise.
    measured: (bool, f64),
    /// How many repeats of the last frame have come.
    repeats: usize,
}

/// How the devices of a [`DenoiseStream`] were chosen.
pub struct DenoiseChoice {
    /// Those that search.
    pub search: Choice,
    /// Why frames are not averaged where it was asked for.
    pub denoiser: Option<SetupError>,
}

/// What kind of frame has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A new one, or one more of a still.
    New,
    /// It has the samples of the one before it.
    Repeat,
    /// So have so many that earlier frames no longer wait for another one: a still begins.
    Still,
}

impl DenoiseStream {
    /// Opens the devices that `settings` ask for.
    ///
    /// # Errors
    /// [`SetupError`] of the devices, or if there is too little memory.
    pub fn open(
        info: &VideoInfo,
        settings: &DenoiseSettings,
        references: References,
    ) -> Result<(Self, DenoiseChoice), SetupError> {
        let layout = FrameLayout::new(info.clone()).with_significant_bits(settings.significant_bits);
        let layout = layout.with_levels(settings.levels.get());
        let format = layout.format();
        let parameters = search_parameters(format.size.0, format.size.1, references)?;
        let (denoiser, fallback) =
            settings.devices.open_denoiser(&denoised(&layout, settings, references))?;
        let (session, search) = settings.devices.open(Kernel::Auto, Tuning::default(), &parameters)?;
        let mut stream = Self {
            layout,
            settings: settings.clone(),
            references,
            session,
            denoiser,
            notices: Vec::new(),
            past: VecDeque::new(),
            waiting: Waiting::default(),
            first: 0,
            removal: settings.removal(),
            measured: (false, 0.0),
            repeats: 0,
        };
        if let Err(error) = stream.denoiser.rehearse() {
            stream.fall_back(error, false).map_err(|error| SetupError::Device {
                device: settings.devices.device.clone(),
                message: error.to_string(),
            })?;
        }
        Ok((stream, DenoiseChoice { search, denoiser: fallback }))
    }

    /// Whether `settings` need no other stream: their strength, noise level and spatial part may be others.
    fn serves(&self, settings: &DenoiseSettings) -> bool {
        let DenoiseSettings { strength, noise_level, spatial, .. } = *settings;
        *settings == DenoiseSettings { strength, noise_level, spatial, ..self.settings.clone() }
    }

    /// The names of the devices that search.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// The name of the device that averages.
    pub fn denoiser(&self) -> &str {
        self.denoiser.device()
    }

    /// What launches the kernels of the devices that search, and of the one that averages, where they have kernels.
    pub fn launching(&self) -> [Option<&Launching>; 2] {
        [self.session.launching(), self.denoiser.launching()]
    }

    pub fn info(&self) -> &VideoInfo {
        self.layout.info()
    }

    /// Checks that `buffer` holds a frame.
    ///
    /// # Errors
    /// As [`FrameLayout::check`].
    pub fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        frame::check(&self.layout, buffer)
    }

    /// What has happened to the devices since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = self.session.take_notices();
        notices.append(&mut self.notices);
        notices
    }

    /// Takes `buffer` as the next frame of the sequence, and searches between it and those before it.
    ///
    /// # Errors
    /// [`StreamError`] if the buffer does not hold the frame its caps promise, or the last device fails.
    pub fn take_input(&mut self, buffer: gst::Buffer) -> Result<Taken, StreamError> {
        self.look_ahead()?;
        let previous = self.waiting.frames().next_back().or(self.past.back());
        let previous = previous.map(|frame| (frame.slot, frame.luma, frame.buffer.clone()));
        if let Some((slot, luma, previous)) = previous
            && self.is_repeat(&buffer, &previous)?
        {
            let (fields, is_repeat, buffer) = (Vec::new(), true, sharing(buffer, &previous));
            let frame = WindowFrame { buffer, is_repeat, slot, luma, fields, in_flight: 0, is_last: false };
            self.waiting.push(frame);
            self.repeats += 1;
            return Ok(match self.repeats.cmp(&MOST_REPEATS) {
                Ordering::Less => Taken::Repeat,
                Ordering::Equal => Taken::Still,
                Ordering::Greater => Taken::New,
            });
        }
        self.repeats = 0;
        // Searches of this frame may begin.
        while self.session.in_flight() + self.references.count() > self.session.depth() {
            self.finish_search()?;
        }
        let (search_frame, luma) = self.load(&frame::planes(&self.layout, &buffer)?)?;
        let slot = self.session.add_frame(search_frame)?;
        let number = self.first + (self.past.len() + self.waiting.frames().filter(is_new).count()) as u64;
        let References { backward, forward } = self.references;
        let (fields, is_repeat) = (Vec::new(), false);
        let mut frame = WindowFrame { buffer, is_repeat, slot, luma, fields, in_flight: 0, is_last: false };
        let past = self.past.iter_mut().rev().map(|frame| (frame, false));
        let waiting = self.waiting.frames_mut().rev().filter(|frame| !frame.is_repeat);
        let waiting = waiting.map(|frame| (frame, true));
        for (distance, (earlier, is_waiting)) in (1..).zip(waiting.chain(past)) {
            if distance <= backward {
                let place = FieldPlace { frame: number, offset: -(distance as isize) };
                self.session.start_search(slot, earlier.slot, place)?;
                frame.in_flight += 1;
            }
            if distance <= forward && is_waiting {
                let place = FieldPlace { frame: number - distance as u64, offset: distance as isize };
                self.session.start_search(earlier.slot, slot, place)?;
                earlier.in_flight += 1;
            }
            if distance == self.references.reach() {
                // Later frames are too far from it to be searched together with it.
                self.session.release_frame(earlier.slot);
            }
        }
        self.waiting.push(frame);
        self.drop_past();
        Ok(Taken::New)
    }

    /// Whether `buffer` has the samples of `previous`, the frame before it.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    fn is_repeat(&mut self, buffer: &gst::Buffer, previous: &gst::Buffer) -> Result<bool, StreamError> {
        let planes = frame::planes(&self.layout, buffer)?;
        // If the device fails, it tells so when the frame is loaded.
        match self.denoiser.is_repeat(&planes).unwrap_or_default() {
            Some(is_repeat) => Ok(is_repeat),
            None => Ok(self.layout.is_equal(buffer, previous)?),
        }
    }

    /// Loads the frame with these `planes`, by the CPU if the device fails.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    fn load(&mut self, planes: &[Frame]) -> Result<(Frame, LumaSlot), StreamError> {
        match self.denoiser.load(planes) {
            Err(error) => {
                let is_first_measured = self.waiting.first().is_some_and(|first| first.is_repeat);
                self.fall_back(error, is_first_measured)?;
                if is_first_measured {
                    self.measure_first()?;
                }
                Ok(self.denoiser.load(planes)?)
            }
            loaded => Ok(loaded?),
        }
    }

    /// Lets the CPU take over after the device has failed with `error`: it loads the frames that are held. `is_measured_again`: the
    /// frame that was measured last is the next one that is measured.
    ///
    /// # Errors
    /// `error` if no device has failed, or the CPU is not to take over.
    fn fall_back(&mut self, error: DenoisingError, is_measured_again: bool) -> Result<(), StreamError> {
        let DenoisingError::Device(EstimateError::Device { device, message }) = &error else {
            return Err(error.into());
        };
        let Self { layout, settings, references, denoiser, notices, past, waiting, .. } = self;
        if settings.devices.on_device_failure == MotionEstimateOnDeviceFailure::Error {
            return Err(error.into());
        }
        let stream = denoised(layout, settings, *references);
        let (threads, noise) =
            (settings.devices.threads as usize, denoiser.noise_to_go_on(is_measured_again));
        let Ok(native) = native_denoiser(&stream, threads, noise) else { return Err(error.into()) };
        notices.push(Notice::Failure(format!(
            "{device} failed to denoise frames ({message}); continuing on {}",
            native.device()
        )));
        *denoiser = native;
        let mut slot = LumaSlot::default();
        for frame in past.iter_mut().chain(waiting.frames_mut()) {
            if !frame.is_repeat {
                slot = denoiser.load(&frame::planes(layout, &frame.buffer)?)?.1;
            }
            frame.luma = slot;
        }
        Ok(())
    }

    /// Drops the frames that no later one is averaged with, once the next one is no repeat.
    fn drop_past(&mut self) {
        if self.waiting.first().is_none_or(|frame| frame.is_repeat) {
            return;
        }
        // Only the frame itself is averaged along them.
        self.past.iter_mut().for_each(|frame| frame.fields.clear());
        while self.past.len() > self.references.backward {
            self.past.pop_front();
            self.first += 1;
        }
    }

    /// Waits for the search that began first.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    fn finish_search(&mut self) -> Result<(), StreamError> {
        let (FieldPlace { frame, offset }, output) = self.session.finish_search()?;
        // A frame leaves when its searches are over, so it still waits.
        let index = (frame - self.first) as usize - self.past.len();
        if let Some(frame) = self.waiting.frames_mut().filter(|frame| !frame.is_repeat).nth(index) {
            frame.in_flight -= 1;
            frame.fields.push((offset, output));
        }
        Ok(())
    }

    /// Takes `event`, which leaves behind the frames that wait; gives it back if none waits.
    pub fn hold(&mut self, event: gst::Event) -> Option<gst::Event> {
        self.waiting.hold(event)
    }

    /// The event that leaves next, if no frame is before it.
    pub fn pop_event(&mut self) -> Option<gst::Event> {
        self.waiting.pop_event()
    }

    /// Lets the frames that wait leave without those that do not come any more.
    pub fn expect_no_more(&mut self) {
        self.waiting.frames_mut().for_each(|frame| frame.is_last = true);
    }

    /// Drops the frames that wait, and makes the next one the first of a sequence. Sticky events still leave.
    pub fn forget(&mut self) {
        self.session.cancel();
        self.session.release_frames();
        self.denoiser.restart();
        (self.first, self.repeats) = (0, 0);
        self.past.clear();
        self.waiting.discard();
    }

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        let frames = self.past.iter_mut().chain(self.waiting.frames_mut());
        frames.for_each(|frame| pool::release(&mut frame.buffer));
    }

    /// The frame that leaves next, if it is one of those that `leave` names. In a live stream, whose frames are late after
    /// `latency`, repeats hold up none for longer than that.
    pub fn leaving(&self, leave: Leave, latency: Option<gst::ClockTime>) -> Option<&gst::Buffer> {
        let behind = match leave {
            Leave::Surplus => self.settings.delay(),
            Leave::Complete => self.references.forward,
        };
        let first = self.waiting.first()?;
        let later = || self.waiting.frames().skip(1);
        let is_late = || {
            let newest = self.waiting.frames().next_back()?.buffer.pts()?;
            Some(newest.checked_sub(first.buffer.pts()?)? >= latency?)
        };
        let is_leaving = first.is_last
            || later().filter(is_new).count() >= behind
            || later().count() >= behind * MOST_REPEATS
            || later().count() >= behind && is_late() == Some(true);
        is_leaving.then_some(&first.buffer)
    }

    /// Measures the frame that leaves next. Returns whether it is to change, and the mean standard deviation of its noise.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    pub fn measure(&mut self, removal: Removal) -> Result<(bool, f64), StreamError> {
        while self.waiting.first().is_some_and(|frame| frame.in_flight > 0) {
            self.finish_search()?;
        }
        if self.waiting.first().is_some_and(|frame| !frame.is_repeat) {
            self.removal = removal;
            if let Err(error) = self.measure_first() {
                self.fall_back(device_error(error)?, true)?;
                self.measure_first()?;
            }
        }
        Ok(self.measured)
    }

    /// Measures the frame that leaves next, or the one that it repeats.
    fn measure_first(&mut self) -> Result<(), StreamError> {
        let Removal { level, strength, is_spatial } = self.removal;
        self.denoiser.set_noise_level(level);
        self.denoiser.set_spatial(is_spatial);
        self.measured = self.with_planes(|denoiser, frame, references| {
            let noise = denoiser.measure(frame, references, strength)?;
            let is_noisy = !references.is_empty() && !noise.is_none() && !strength.is_none();
            Ok((is_noisy, noise.mean_deviation()))
        })?;
        Ok(())
    }

    /// Writes the frame that was measured without its noise.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn write(&mut self, out: &mut gst::BufferRef) -> Result<(), StreamError> {
        if let Err(error) = self.write_first(out) {
            self.fall_back(device_error(error)?, true)?;
            self.measure_first()?;
            self.write_first(out)?;
        }
        Ok(())
    }

    fn write_first(&mut self, out: &mut gst::BufferRef) -> Result<(), StreamError> {
        let layout = self.layout.clone();
        if let Some(target) = frame::write_on_gpu(&layout, out)
            && self.denoiser.copy_to_blocks(&target)?
        {
            return Ok(());
        }
        let mut out = layout.write(out)?;
        self.with_planes(|denoiser, frame, references| {
            for index in 0..frame.planes.len() {
                denoiser.write_plane(index, frame, references, &mut out.plane_mut(index)?)?;
            }
            Ok(())
        })
    }

    /// Counts the frame that leaves next as one that has left.
    pub fn leave(&mut self) {
        let Some(Item::Frame(frame)) = self.waiting.pop() else { return };
        if !frame.is_repeat {
            self.past.push_back(frame);
        }
        self.drop_past();
    }

    /// Lets the device go on with the frame that leaves next while another one is loaded and searched, if it may.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    fn look_ahead(&mut self) -> Result<(), StreamError> {
        if !self.denoiser.looks_ahead() || self.waiting.frames().filter(is_new).count() < 2 {
            return Ok(());
        }
        let beside = 1 + usize::from(!self.past.is_empty() && self.references.backward > 0);
        let is_searched = |frame: &WindowFrame| {
            frame.fields.iter().filter(|(offset, _)| offset.abs() == 1).count() >= beside
        };
        while self.waiting.first().is_some_and(|first| first.in_flight > 0 && !is_searched(first)) {
            self.finish_search()?;
        }
        if self.waiting.first().is_none_or(|first| first.is_repeat || !is_searched(first)) {
            return Ok(());
        }
        self.with_planes(|denoiser, frame, references| {
            denoiser.look_ahead(frame, references);
            Ok(())
        })
    }

    /// Calls `work` with the planes of the frame that leaves next and those that it is averaged with.
    fn with_planes<T: Default>(
        &mut self,
        work: impl FnOnce(
            &mut dyn FrameDenoiser,
            LoadedFrame<'_>,
            &[ReferenceFrame<'_>],
        ) -> Result<T, StreamError>,
    ) -> Result<T, StreamError> {
        let Self { layout, denoiser, past, waiting, .. } = self;
        let Some(first) = waiting.first() else { return Ok(T::default()) };
        // The frames before it, or before the one that it repeats.
        let before = past.len() - usize::from(first.is_repeat);
        let frame = if first.is_repeat { &past[before] } else { first };
        let at = |offset: isize| match usize::try_from(offset) {
            Ok(later) => waiting.frames().filter(is_new).nth(later - usize::from(first.is_repeat)),
            Err(_) => before.checked_add_signed(offset).and_then(|index| past.get(index)),
        };
        // A field is there as long as the frame in which it was found.
        let fields = frame.fields.iter().filter_map(|(offset, field)| Some((*offset, at(*offset)?, field)));
        let fields: Vec<_> = fields.collect();
        let others = fields.iter().map(|(_, frame, _)| frame::planes(layout, &frame.buffer));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let mut references = Vec::with_capacity(others.len());
        for (planes, (offset, frame, field)) in others.iter().zip(&fields) {
            let frame = LoadedFrame { slot: frame.luma, planes };
            references.push(ReferenceFrame { frame, vectors: &field.vectors, offset: *offset });
        }
        let planes = frame::planes(layout, &frame.buffer)?;
        work(&mut **denoiser, LoadedFrame { slot: frame.luma, planes: &planes }, &references)
    }
}

/// What is done from start to stop.
#[derive(Default)]
pub struct DenoiseState {
    pub info: Option<VideoInfo>,
    /// Those that held for the frame before.
    pub settings: Option<DenoiseSettings>,
    /// While frames may change.
    pub stream: Option<DenoiseStream>,
    pub held: HeldBuffers,
}

impl DenoiseState {
    /// Whether the stream, or that there is none, is right for `settings`.
    pub fn serves(&self, settings: &DenoiseSettings) -> bool {
        match (&self.stream, settings.references()) {
            (Some(stream), Some(_)) => stream.serves(settings),
            (None, None) => true,
            _ => false,
        }
    }
}

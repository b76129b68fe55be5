//! The frames of a stream from one caps to the next: what waits, its motion, and what leaves.

use std::collections::VecDeque;

use gst_video::VideoInfo;

use super::settings::DenoiseSettings;
use crate::video::frame::{PlaneError, frame_format, map_readable, map_writable, plane, plane_mut, planes};
use crate::video::pool::PoolLimit;
use motion_search::backend::Choice;
use motion_search::compensation::{CompensationError, Sampling};
use motion_search::denoising::{Denoiser, LumaSlot, NoiseLevels, Reference, Strength, search_parameters};
use motion_search::estimator::{EstimateError, FrameView, Notice, Output, References, SetupError};
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};

/// Why a frame cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DenoiseError {
    /// A buffer cannot be mapped as a frame of its caps.
    #[error("no frame that can be mapped")]
    Mapping(#[from] glib::BoolError),
    /// A plane of a buffer cannot be used.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Planes or fields do not fit together.
    #[error(transparent)]
    Planes(#[from] CompensationError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
}

/// The field of a frame, by its number, in the frame so many after it.
struct FieldPlace {
    frame: u64,
    offset: isize,
}

/// A frame of the sequence.
struct WindowFrame {
    buffer: gst::Buffer,
    slot: FrameSlot,
    luma: LumaSlot,
    /// Its fields, and how many frames after it those are in which they were found.
    fields: Vec<(isize, Output)>,
    /// Its searches in flight.
    in_flight: usize,
    /// The events behind it.
    events: Vec<gst::Event>,
}

/// What becomes of the frame that leaves next.
pub enum NextFrame {
    /// It leaves as it came.
    Untouched(gst::Buffer),
    /// It has noise: [`DenoiseStream::write`] writes it without.
    Noisy,
}

/// What holds from one caps, and from one `past` and `future`, to the next.
pub struct DenoiseStream {
    info: VideoInfo,
    samplings: Vec<Sampling>,
    /// With which it was opened.
    settings: DenoiseSettings,
    references: References,
    session: Session<FieldPlace>,
    denoiser: Denoiser,
    /// Oldest first: those that have left and later ones are averaged with, then those that wait.
    sequence: VecDeque<WindowFrame>,
    /// The number of the first frame of `sequence`.
    first: u64,
    /// How many of them have left.
    left: usize,
    pool: PoolLimit,
    /// Whether no more frames of the sequence come.
    is_ended: bool,
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
    ) -> Result<(Self, Choice), SetupError> {
        let format = frame_format(info);
        let parameters = search_parameters(format.size.0, format.size.1, references)?;
        let (session, choice) = settings.devices.open(Kernel::Auto, Tuning::default(), &parameters)?;
        let threads = settings.devices.threads as usize;
        let denoiser = Denoiser::new(&format, references.count(), settings.held(), threads)?;
        let stream = Self {
            info: info.clone(),
            samplings: format.samplings,
            settings: settings.clone(),
            references,
            session,
            denoiser,
            sequence: VecDeque::new(),
            first: 0,
            left: 0,
            pool: PoolLimit::default(),
            is_ended: false,
        };
        Ok((stream, choice))
    }

    /// Whether `settings` need no other stream: their strength may be another.
    pub fn serves(&self, settings: &DenoiseSettings) -> bool {
        let DenoiseSettings { strength: _, past, future, devices } = settings;
        (past, future, devices) == (&self.settings.past, &self.settings.future, &self.settings.devices)
    }

    /// The names of the devices that search.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// What has happened to the devices since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// Takes `buffer` as the next frame of the sequence, and searches between it and those before it.
    ///
    /// # Errors
    /// [`DenoiseError`] if the buffer does not hold the frame its caps promise, or the last device fails.
    pub fn take_input(&mut self, mut buffer: gst::Buffer) -> Result<(), DenoiseError> {
        self.pool.note(&buffer, 1);
        if self.pool.may_wait() < self.settings.held() - 1
            && let Ok(copy) = buffer.copy_deep()
        {
            buffer = copy;
        }
        // Searches of this frame may begin.
        while self.session.in_flight() + self.references.count() > self.session.depth() {
            self.finish_search()?;
        }
        let (search_frame, luma) = {
            let frame = map_readable(&buffer, &self.info)?;
            let luma = plane(&frame, &self.info, 0, self.samplings[0])?;
            self.denoiser.load(&luma)?
        };
        let slot = self.session.add_frame(search_frame)?;
        let (current, number) = (self.sequence.len(), self.first + self.sequence.len() as u64);
        let References { backward, forward } = self.references;
        let mut frame =
            WindowFrame { buffer, slot, luma, fields: Vec::new(), in_flight: 0, events: Vec::new() };
        for (distance, index) in (1..).zip((0..current).rev()) {
            let earlier = &mut self.sequence[index];
            if distance <= backward {
                let place = FieldPlace { frame: number, offset: -(distance as isize) };
                self.session.start_search(slot, earlier.slot, place)?;
                frame.in_flight += 1;
            }
            if distance <= forward && index >= self.left {
                let place = FieldPlace { frame: self.first + index as u64, offset: distance as isize };
                self.session.start_search(earlier.slot, slot, place)?;
                earlier.in_flight += 1;
            }
        }
        self.sequence.push_back(frame);
        // Later frames are too far from it to be searched together with it.
        if let Some(index) = current.checked_sub(self.references.reach()) {
            self.session.release_frame(self.sequence[index].slot);
        }
        Ok(())
    }

    /// Waits for the search that began first.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    fn finish_search(&mut self) -> Result<(), DenoiseError> {
        let (FieldPlace { frame, offset }, output) = self.session.finish_search()?;
        // A frame leaves when its searches are over.
        let frame = &mut self.sequence[(frame - self.first) as usize];
        frame.in_flight -= 1;
        frame.fields.push((offset, output));
        Ok(())
    }

    /// Takes `event`, which leaves behind the frames that wait; gives it back if none waits.
    pub fn hold(&mut self, event: gst::Event) -> Option<gst::Event> {
        match self.sequence.range_mut(self.left..).next_back() {
            Some(frame) => frame.events.push(event),
            None => return Some(event),
        }
        None
    }

    /// Lets the frames that wait leave without those that do not come any more.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Makes the next frame the first of a sequence. Returns the sticky events that were behind frames.
    pub fn forget(&mut self) -> Vec<gst::Event> {
        self.session.cancel();
        self.session.release_frames();
        (self.first, self.left, self.is_ended) = (0, 0, false);
        let events = self.sequence.drain(..).flat_map(|frame| frame.events);
        events.filter(|event| event.is_sticky()).collect()
    }

    /// Replaces the buffers that are held by copies, because upstream needs them back.
    pub fn release_buffers(&mut self) {
        for frame in &mut self.sequence {
            if let Ok(copy) = frame.buffer.copy_deep() {
                frame.buffer = copy;
            }
        }
    }

    /// The frame that leaves next, if as many wait behind it as may.
    pub fn leaving(&self) -> Option<&gst::Buffer> {
        let waiting = self.sequence.len() - self.left;
        let is_ready = waiting > self.settings.delay() || self.is_ended && waiting > 0;
        is_ready.then(|| &self.sequence[self.left].buffer)
    }

    /// Measures the frame that leaves next. Returns what becomes of it, and its noise.
    ///
    /// # Errors
    /// As [`Self::take_input`].
    pub fn measure(&mut self, strength: Strength) -> Result<(NextFrame, NoiseLevels), DenoiseError> {
        while self.sequence[self.left].in_flight > 0 {
            self.finish_search()?;
        }
        let noise = self.with_planes(|denoiser, planes, references| {
            Ok(denoiser.measure(&planes[0], references, strength)?)
        })?;
        let leaving = if noise.is_none() || strength.is_none() {
            // The copy shares the memory.
            NextFrame::Untouched(self.sequence[self.left].buffer.copy())
        } else {
            NextFrame::Noisy
        };
        Ok((leaving, noise))
    }

    /// Writes the frame that was measured.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn write(&mut self, out: &mut gst::BufferRef) -> Result<(), DenoiseError> {
        let (info, samplings) = (self.info.clone(), self.samplings.clone());
        self.with_planes(|denoiser, planes, references| {
            let mut out = map_writable(out, &info)?;
            for (index, source) in planes.iter().enumerate() {
                let mut out = plane_mut(&mut out, &info, index, samplings[index])?;
                denoiser.write_plane(index, source, references, &mut out)?;
            }
            Ok(())
        })
    }

    /// Counts the frame that leaves next as one that has left. Returns the events behind it.
    pub fn leave(&mut self) -> Vec<gst::Event> {
        let events = std::mem::take(&mut self.sequence[self.left].events);
        self.left += 1;
        // Fields of frames that have left serve nobody.
        self.sequence[self.left - 1].fields.clear();
        if self.left > self.references.backward {
            self.sequence.pop_front();
            self.left -= 1;
            self.first += 1;
        }
        events
    }

    /// Calls `work` with the planes of the frame that leaves next and those that it is averaged with.
    fn with_planes<T>(
        &mut self,
        work: impl FnOnce(&mut Denoiser, &[FrameView<'_>], &[Reference<'_>]) -> Result<T, DenoiseError>,
    ) -> Result<T, DenoiseError> {
        let Self { info, samplings, denoiser, sequence, left, .. } = self;
        let frame = &sequence[*left];
        let at = |offset| &sequence[left.saturating_add_signed(offset)];
        let map = |buffer| map_readable(buffer, info);
        let mapped = map(&frame.buffer)?;
        let others = frame.fields.iter().map(|(offset, _)| map(&at(*offset).buffer));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let planes_of = |frame| planes(frame, info, samplings);
        let others = others.iter().map(planes_of).collect::<Result<Vec<_>, _>>()?;
        let mut references = Vec::with_capacity(others.len());
        for (planes, (offset, field)) in others.iter().zip(&frame.fields) {
            let (slot, is_beside) = (at(*offset).luma, offset.abs() == 1);
            references.push(Reference { slot, planes, vectors: &field.vectors, is_beside });
        }
        work(denoiser, &planes_of(&mapped)?, &references)
    }
}

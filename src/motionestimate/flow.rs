//! How frames go through `motionestimate`: what the base class's methods do with its state.

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_video::VideoInfo;

use super::MotionEstimateSceneCut;
use super::imp::{CAT, MotionEstimate};
use super::messages::Times;
use super::settings::Settings;
use super::state::EstimateState;
use super::stream::{FieldKey, OpenedSession, ReadyFrame, Sessions, Stream};
use crate::settings::{OpenError, refuse, statistics, tell_notices};
use crate::video::frame::PlaneError;
use crate::video::interrupt::Later;
use crate::video::sequence::{Holding, HoldsFrames, Leave, Leaving};
use crate::video::waiting::Item;
use crate::{meta, video};
use motion_search::session::Session;

impl MotionEstimate {
    /// Opens the session for `settings`, and says what searches. If the driver of the device that is wanted may compile while
    /// the CPU searches, also begins to open the session on that device.
    fn open(&self, settings: &Settings, info: &VideoInfo) -> Result<Sessions, OpenError> {
        let (chosen, size, depth) =
            (settings.clone(), (info.width(), info.height()), video::sample_format(info).depth());
        let open = move || chosen.open(size, depth);
        if let Some(devices) = settings.devices.until_open(settings.kernel.into())
            && let Ok(opening) = Later::begin(open.clone())
        {
            let opened = Settings { devices, ..settings.clone() }.open(size, depth)?;
            return Ok((self.tell(opened), Some(opening)));
        }
        let waiting = (&*self.obj(), &self.holding.interrupt);
        let opened = settings.devices.open_apart(waiting, open)?;
        Ok((self.tell(opened), None))
    }

    /// Says what searches.
    fn tell(&self, (session, choice): OpenedSession) -> Session<FieldKey> {
        self.warnings.lock().choice((&*self.obj(), *CAT), session.device(), &choice);
        gst::info!(
            CAT,
            imp = self,
            "{} with kernel {} searches {:?}, as {} says",
            session.device(),
            session.kernel(),
            session.parameters(),
            choice.source
        );
        if let Some(launching) = session.launching() {
            gst::info!(CAT, imp = self, "Kernels are {launching}");
        }
        self.statistics.lock().set_session(&session);
        session
    }

    /// Goes on with the device that was opened while the CPU searched, once it is open.
    fn change_device(&self) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Ok(()) };
        match stream.take_opened() {
            None => return Ok(()),
            Some(Err(error)) => {
                let (element, device) = (self.obj(), stream.session().device());
                self.warnings.lock().fallback((&*element, *CAT), "Searching", device, &error);
                return Ok(());
            }
            Some(Ok(opened)) => {
                let changed = stream.change_device(self.tell(opened), &mut self.statistics.lock());
                let changed = changed.map_err(|error| error.message(stream.info()));
                changed.map_err(|message| self.fail(state, message))?;
            }
        }
        // The device may have memory for buffers.
        self.obj().reconfigure_sink();
        Ok(())
    }

    /// Takes frames of `info` from now on.
    ///
    /// # Errors
    /// If the devices cannot be opened.
    pub fn set_info(&self, info: VideoInfo) -> Result<(), OpenError> {
        let state = &mut *self.state.lock();
        // Nothing of the stream before may be taken for this one's, not even after an error.
        (state.stream, state.info, state.is_watching) = (None, None, false);
        if info.is_interlaced() && self.warnings.lock().is_new("interlaced") {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("Interlaced frames are searched as whole frames: deinterlace before for true vectors"),
                ["{info:?}"]
            );
        }
        let opened = self.open_stream(state, &info);
        if !matches!(opened, Err(OpenError::Setup(_))) {
            state.info = Some(info);
        }
        opened
    }

    /// Opens the devices for frames of `info`.
    fn open_stream(&self, state: &mut EstimateState, info: &VideoInfo) -> Result<(), OpenError> {
        let settings = self.settings.lock().clone();
        let opened = self.open(&settings, info)?;
        state.stream = Some(Stream::new(info.clone(), settings, opened));
        self.update_latency(state);
        Ok(())
    }

    /// Lets the settings hold from the next frame on, where they have been changed. The buffers
    /// that wait leave before, with the fields that they have.
    pub fn apply_settings(&self) -> Result<(), gst::FlowError> {
        self.change_device()?;
        let settings = self.settings.lock().clone();
        {
            let state = &mut *self.state.lock();
            match (&state.stream, state.info.clone()) {
                (Some(stream), _) if *stream.settings() != settings => (),
                // A flush has interrupted it.
                (None, Some(info)) => {
                    let opened = self.open_stream(state, &info);
                    return opened.map_err(|error| error.into_flow(|message| self.fail(state, message)));
                }
                _ => return Ok(()),
            }
        }
        let Some(opened) = self.reopen(&settings)? else { return Ok(()) };
        self.expect_no_more(None);
        self.send(Leave::Complete)?;
        gst::info!(CAT, imp = self, "New settings: {settings:?}");
        let state = &mut *self.state.lock();
        let Some(stream) = state.stream.take() else { return Ok(()) };
        let moved = stream.with_session(settings, opened).map_err(|error| {
            gst::error_msg!(gst::LibraryError::Failed, ("The reference is lost: {error}"), ["{error:?}"])
        });
        state.stream = Some(moved.map_err(|message| self.fail(state, message))?);
        self.update_latency(state);
        Ok(())
    }

    /// The session for other settings than those of the stream. If they cannot hold, warns and goes back to those.
    fn reopen(&self, settings: &Settings) -> Result<Option<Sessions>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &state.stream else { return Ok(None) };
        let error = match self.open(settings, stream.info()) {
            Ok(opened) => return Ok(Some(opened)),
            Err(OpenError::Interrupted) => return Err(gst::FlowError::Flushing),
            Err(OpenError::Setup(error)) => error,
        };
        let element = self.obj();
        refuse((&*element, *CAT), &self.settings, [settings, stream.settings()], &error);
        Ok(None)
    }

    /// Posts `message`; the next frame is the first of a sequence.
    fn fail(&self, state: &mut EstimateState, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.forget();
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// Takes `buffer`: its searches begin.
    pub fn take_input(&self, buffer: gst::Buffer) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Err(self.fail(state, video::no_caps_message())) };
        let taken = stream.take_input(buffer, &mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        if let Some(depth) = stream.take_seeming_depth() {
            self.warn_of_depth(depth);
        }
        let taken = taken.map_err(|error| error.message(stream.info()));
        taken.map_err(|message| self.fail(state, message))
    }

    /// Warns, once, that samples of 16 bits seem to have `depth` bits.
    fn warn_of_depth(&self, depth: u32) {
        if !self.warnings.lock().is_new("depth") {
            return;
        }
        let white = (1 << depth) - 1;
        gst::element_imp_warning!(
            self,
            gst::StreamError::Format,
            ("The samples of 16 bits seem to have {depth}: algorithm=hierarchical sees the upper eight of 16, which \
                 are almost always 0. Set white-level={white}, or the levels that the frames have"),
            ["no sample has been above {white}"]
        );
    }

    /// Takes what leaves next. Returns it with the times of the frame, if that begins another scene.
    fn advance(&self, leave: Leave) -> Result<(Option<Leaving>, Option<Times>), gst::FlowError> {
        let state = &mut *self.state.lock();
        if let Some(buffer) = state.key_unit.take() {
            return Ok((Some(Leaving::Buffer(buffer)), None));
        }
        let Some(stream) = &mut state.stream else { return Ok((None, None)) };
        let next = stream.pop_output(leave, &mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        let next = next.map_err(|error| error.message(stream.info()));
        let ReadyFrame { buffer, is_scene_cut } = match next.map_err(|message| self.fail(state, message))? {
            None => return Ok((None, None)),
            Some(Item::Event(event)) => return Ok((Some(Leaving::Event(event)), None)),
            Some(Item::Frame(frame)) => frame,
        };
        if !meta::is_attached(&buffer) {
            gst::debug!(CAT, imp = self, "No reference for the frame at {:?}", buffer.pts());
        } else if let (Some(started), Some(stream)) = (state.started.take(), &state.stream) {
            let (passed, device) = (started.elapsed(), stream.session().device());
            gst::info!(CAT, imp = self, "First vectors {passed:?} after start, by {device}");
        }
        if !state.is_watching && meta::is_attached(&buffer) {
            state.is_watching = true;
            state.watched.watch(self.obj().src_pad());
        }
        if !is_scene_cut {
            return Ok((Some(Leaving::Buffer(buffer)), None));
        }
        let times = Times::of(&buffer, &self.obj().segment());
        let wants_key_unit = |stream: &Stream| stream.settings().scene_cut == MotionEstimateSceneCut::KeyUnit;
        if !state.stream.as_ref().is_some_and(wants_key_unit) {
            return Ok((Some(Leaving::Buffer(buffer)), Some(times)));
        }
        state.key_unit = Some(buffer);
        state.key_units += 1;
        Ok((Some(Leaving::Event(times.key_unit(state.key_units - 1))), Some(times)))
    }

    /// Notes how long buffers wait for others.
    fn update_latency(&self, state: &EstimateState) {
        let delay =
            |stream: &Stream| (video::duration_of_frames(stream.info(), stream.delay()), stream.delay());
        let (latency, frames) = state.stream.as_ref().map_or((gst::ClockTime::ZERO, 0), delay);
        self.holding.latency.set_frames(&*self.obj(), latency, frames);
    }

    /// Posts the statistics.
    pub fn post_statistics(&self) {
        let structure = self.statistics.lock().structure();
        statistics::post(&*self.obj(), *CAT, structure);
    }
}

impl HoldsFrames for MotionEstimate {
    fn holding(&self) -> &Holding {
        &self.holding
    }

    fn pop_output(&self, leave: Leave) -> Result<Option<Leaving>, gst::FlowError> {
        let (leaving, scene_cut) = self.advance(leave)?;
        if let Some(times) = scene_cut {
            gst::debug!(CAT, imp = self, "Scene cut: {times:?}");
            self.post_message(gst::message::Element::builder(times.structure()).src(&*self.obj()).build());
        }
        Ok(leaving)
    }

    fn expect_no_more(&self, _event: Option<&gst::EventRef>) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.expect_no_more();
        }
    }

    fn forget(&self) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.forget();
        }
    }

    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        self.state.lock().stream.as_ref().map_or(Ok(()), |stream| stream.check_frame(buffer))
    }

    fn discard(&self) {
        let state = &mut *self.state.lock();
        state.key_unit = None;
        if let Some(stream) = &mut state.stream {
            stream.discard();
        }
    }

    fn hold(&self, event: gst::Event) -> Option<gst::Event> {
        match &mut self.state.lock().stream {
            Some(stream) => stream.hold(event),
            None => Some(event),
        }
    }

    fn release_buffers(&self) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Ok(()) };
        let released = stream.release_buffers(&mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        let released = released.map_err(|error| error.message(stream.info()));
        released.map_err(|message| self.fail(state, message))
    }
}

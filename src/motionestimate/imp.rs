//! Properties, caps, events and buffers of `motionestimate`. What is found, and by whom, is
//! decided elsewhere.

use std::sync::LazyLock;
use std::time::Instant;

use glib::prelude::*;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::MotionEstimateSceneCut;
use super::messages::{Times, stream_message};
use super::settings::Settings;
use super::statistics::Statistics;
use super::stream::{FieldKey, Leaving, Stream};
use crate::settings::{setup_message, tell_notices, warn_of_fallback, warn_of_tuning};
use crate::{meta, video};
use motion_search::estimator::SetupError;
use motion_search::session::Session;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionestimate",
        gst::DebugColorFlags::empty(),
        Some("Finds the motion between frames"),
    )
});

/// What is done from start to stop.
#[derive(Default)]
struct State {
    stream: Option<Stream>,
    /// The session that was opened at start, to check the settings. It shares what takes long to set up with
    /// the session of the stream, so it is kept until that one is open.
    probe: Option<Session<FieldKey>>,
    /// When the element was started; until the first vectors are there.
    started: Option<Instant>,
    /// What became of buffers that had to leave before an event, for upstream to be told.
    failed: Option<gst::FlowError>,
    /// Events for key units so far.
    key_units: u32,
    warned_interlaced: bool,
    warned_fallback: bool,
    warned_tuning: bool,
}

/// The implementation of [`super::MotionEstimate`].
///
/// Locks are taken in the order of the fields; `state` alone is held during a search, and none
/// while a buffer is pushed.
#[derive(Default)]
pub struct MotionEstimate {
    state: Mutex<State>,
    settings: Mutex<Settings>,
    statistics: Mutex<Statistics>,
    /// How long buffers wait for others.
    latency: Mutex<gst::ClockTime>,
}

impl MotionEstimate {
    /// Opens the session for `settings`, and logs its device.
    fn open(
        &self,
        state: &mut State,
        settings: &Settings,
        info: &gst_video::VideoInfo,
    ) -> Result<Session<FieldKey>, SetupError> {
        let (session, choice) =
            settings.open((info.width(), info.height()), video::sample_format(info).depth())?;
        if let Some(reason) = choice.fallback {
            gst::warning!(CAT, imp = self, "Falling back to {}: {reason}", session.device());
            if !std::mem::replace(&mut state.warned_fallback, true) {
                warn_of_fallback(&*self.obj(), "Searching", session.device(), &reason);
            }
        }
        for warning in choice.warnings {
            gst::warning!(CAT, imp = self, "{warning}");
            if !std::mem::replace(&mut state.warned_tuning, true) {
                warn_of_tuning(&*self.obj(), &warning);
            }
        }
        gst::info!(
            CAT,
            imp = self,
            "{} with kernel {} searches {:?}, as {} says",
            session.device(),
            session.kernel(),
            session.parameters(),
            choice.source
        );
        self.statistics.lock().set_session(&session);
        Ok(session)
    }

    /// Lets the settings hold from the next frame on, where they have been changed. The buffers
    /// that wait leave before, with the fields that they have.
    fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let settings = match (&self.state.lock().stream, self.settings.lock()) {
            (Some(stream), settings) if *stream.settings() != *settings => settings.clone(),
            _ => return Ok(()),
        };
        self.expect_no_more();
        self.send(0)?;
        gst::info!(CAT, imp = self, "New settings: {settings:?}");
        let state = &mut *self.state.lock();
        let Some(info) = state.stream.as_ref().map(|stream| stream.info().clone()) else { return Ok(()) };
        let opened = self.open(state, &settings, &info).map_err(|error| setup_message(&error));
        let moved = opened.and_then(|session| match state.stream.take() {
            None => Ok(None),
            Some(stream) => stream.with_session(settings, session).map(Some).map_err(|error| {
                gst::error_msg!(gst::LibraryError::Failed, ("The reference is lost: {error}"), ["{error:?}"])
            }),
        });
        state.stream = moved.map_err(|message| self.fail(state, message))?;
        self.update_latency(state);
        Ok(())
    }

    /// Posts `message`; the next frame is the first of a sequence.
    fn fail(&self, state: &mut State, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.forget();
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// Makes the next frame the first of a sequence.
    fn forget_reference(&self, reason: &str) {
        if let Some(stream) = &mut self.state.lock().stream {
            gst::debug!(CAT, imp = self, "Reference forgotten: {reason}");
            stream.forget();
        }
    }

    /// Lets the buffers that wait leave with the fields that they have.
    fn expect_no_more(&self) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.expect_no_more();
        }
    }

    /// Takes `buffer`: its searches begin.
    fn take_input(&self, buffer: gst::Buffer) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else {
            let message = gst::error_msg!(gst::CoreError::Negotiation, ["A buffer came before its caps"]);
            return Err(self.fail(state, message));
        };
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            gst::debug!(CAT, imp = self, "Reference forgotten: discontinuity at {:?}", buffer.pts());
            stream.forget();
        }
        let submitted = stream.take_input(buffer, &mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        let submitted = submitted.map_err(|error| stream_message(&error, stream));
        submitted.map_err(|message| self.fail(state, message))
    }

    /// What goes downstream next, where more than `keep` buffers wait.
    fn pop_output(&self, keep: usize) -> Result<Option<Leaving>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Ok(None) };
        let next = stream.pop_output(keep, &mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        let next = next.map_err(|error| stream_message(&error, stream));
        let next = next.map_err(|message| self.fail(state, message))?;
        if let Some(Leaving::Buffer { buffer, .. }) = &next {
            if !meta::is_attached(buffer) {
                gst::debug!(CAT, imp = self, "No reference for the frame at {:?}", buffer.pts());
            } else if let (Some(started), Some(stream)) = (state.started.take(), &state.stream) {
                let (passed, device) = (started.elapsed(), stream.session().device());
                gst::info!(CAT, imp = self, "First vectors {passed:?} after start, by {device}");
            }
        }
        Ok(next)
    }

    /// Sends on what need not wait, in order, each buffer with its vectors: as long as more than `keep` buffers wait,
    /// but none that waits for a later frame.
    fn send(&self, keep: usize) -> Result<(), gst::FlowError> {
        while let Some(next) = self.pop_output(keep)? {
            match next {
                Leaving::Event(event) => drop(self.obj().src_pad().push_event(event)),
                Leaving::Buffer { buffer, is_scene_cut } => {
                    if is_scene_cut {
                        self.tell_scene_cut(&buffer);
                    }
                    if let Err(error) = self.obj().src_pad().push(buffer) {
                        gst::debug!(CAT, imp = self, "Waiting buffers dropped: {error}");
                        self.discard();
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells of `buffer`, which goes downstream next, that it begins another scene.
    fn tell_scene_cut(&self, buffer: &gst::BufferRef) {
        let segment = self.obj().segment();
        let segment = segment.downcast_ref::<gst::ClockTime>();
        let times = Times {
            timestamp: buffer.pts(),
            stream_time: segment.and_then(|segment| segment.to_stream_time(buffer.pts())),
            running_time: segment.and_then(|segment| segment.to_running_time(buffer.pts())),
            duration: buffer.duration(),
        };
        gst::debug!(CAT, imp = self, "Scene cut: {times:?}");
        self.post_message(gst::message::Element::builder(times.structure()).src(&*self.obj()).build());
        let mut state = self.state.lock();
        let wants_key_unit = |stream: &Stream| stream.settings().scene_cut == MotionEstimateSceneCut::KeyUnit;
        if state.stream.as_ref().is_some_and(wants_key_unit) {
            let event = times.key_unit(state.key_units);
            state.key_units += 1;
            drop(state);
            self.obj().src_pad().push_event(event);
        }
    }

    /// Sends on all that waits for no later frame; an error is told upstream with the next buffer.
    fn drain_before(&self, what: &str) {
        if let Err(error) = self.send(0) {
            gst::debug!(CAT, imp = self, "Drained for {what}: {error}");
            self.state.lock().failed = Some(error);
        }
    }

    /// Holds no buffer of upstream's any more; an error is told upstream with the next buffer.
    fn release_buffers(&self) {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return };
        let released = stream.release_buffers(&mut self.statistics.lock());
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        if let Err(message) = released.map_err(|error| stream_message(&error, stream)) {
            state.failed = Some(self.fail(state, message));
        }
    }

    /// Drops all buffers that wait.
    fn discard(&self) {
        let state = &mut *self.state.lock();
        state.failed = None;
        if let Some(stream) = &mut state.stream {
            stream.discard();
        }
    }

    /// Notes how long buffers wait for others, and tells the pipeline where that has changed.
    fn update_latency(&self, state: &State) {
        let latency = state
            .stream
            .as_ref()
            .map_or(gst::ClockTime::ZERO, |stream| video::duration_of_frames(stream.info(), stream.delay()));
        if std::mem::replace(&mut *self.latency.lock(), latency) != latency {
            gst::debug!(CAT, imp = self, "Latency {latency}");
            self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
        }
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionEstimate {
    const NAME: &'static str = "GstMotionEstimate";
    type Type = super::MotionEstimate;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionEstimate {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .nick("Statistics")
                .blurb("Frames, mean times in ns, effective rate, mean cost a sample, device and kernel")
                .read_only()
                .build();
            let mut properties = Settings::param_specs();
            properties.push(stats);
            properties
        });
        PROPERTIES.as_ref()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = self.settings.lock();
        settings.set(pspec.name(), value);
        gst::debug!(CAT, imp = self, "{} set: {settings:?}", pspec.name());
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.statistics.lock().structure().to_value(),
            name => self.settings.lock().value(name),
        }
    }
}

impl GstObjectImpl for MotionEstimate {}

impl ElementImpl for MotionEstimate {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion estimator",
                "Filter/Analyzer/Video",
                "Finds a motion vector for every block of a frame, on a GPU or the CPU, and attaches the \
                 vectors to the buffer as MotionVectorMeta",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&*METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = video::caps();
            video::pad_templates(&caps, &caps)
        });
        TEMPLATES.as_ref()
    }
}

impl BaseTransformImpl for MotionEstimate {
    // In place, and not passing through: the base class then hands over each buffer with writable
    // metadata, a copy that shares the memory where somebody else holds the buffer too.
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let started = Some(Instant::now());
        *self.state.lock() = State::default();
        *self.statistics.lock() = Statistics::default();
        *self.latency.lock() = gst::ClockTime::ZERO;
        // What no frame can make right is told now and not with the first caps: wrong settings,
        // a device that is missing, a kernel it cannot run.
        let settings = self.settings.lock().clone();
        let opened = settings.open((settings.block_size, settings.block_size), 8);
        let probe = Some(opened.map_err(|error| setup_message(&error))?.0);
        *self.state.lock() = State { probe, started, ..State::default() };
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = gst_video::VideoInfo::from_caps(incaps)
            .map_err(|_| gst::loggable_error!(CAT, "Not raw video: {incaps}"))?;
        // An event brings new caps, which nothing waits behind any more; not so where the base class
        // negotiates anew.
        self.expect_no_more();
        self.drain_before("caps");
        let state = &mut *self.state.lock();
        // Nothing of the stream before may be taken for this one's, not even after an error.
        state.stream = None;
        let settings = self.settings.lock().clone();
        let session = self.open(state, &settings, &info).map_err(|error| {
            self.post_error_message(setup_message(&error));
            gst::loggable_error!(CAT, "{error}")
        })?;
        state.probe = None;
        if info.is_interlaced() && !std::mem::replace(&mut state.warned_interlaced, true) {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("Interlaced frames are searched as whole frames: deinterlace before for true vectors"),
                ["{incaps}"]
            );
        }
        state.stream = Some(Stream::new(info, settings, session));
        self.update_latency(state);
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if direction == gst::PadDirection::Sink && query.is_serialized() {
            self.drain_before("a query");
            self.release_buffers();
        }
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        if direction == gst::PadDirection::Src
            && is_answered
            && let gst::QueryViewMut::Latency(query) = query.view_mut()
        {
            video::add_latency(query, *self.latency.lock());
        }
        is_answered
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // The very same memory goes downstream, so downstream is asked first.
        let downstream = self.parent_propose_allocation(decide_query, query);
        let mut state = self.state.lock();
        // A query for other caps than those that were set is none of this stream's.
        let caps = query.get_owned().0.and_then(|caps| gst_video::VideoInfo::from_caps(&caps).ok());
        let stream = state.stream.as_mut().filter(|stream| caps.as_ref() == Some(stream.info()));
        let is_answered = stream.is_some_and(|stream| stream.propose_allocation(query));
        if is_answered { Ok(()) } else { downstream }
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::FlushStop => self.discard(),
            kind if event.is_serialized() => {
                use gst::EventType::{Caps, Eos, Gap, Segment, StreamStart};
                if matches!(kind, StreamStart | Caps | Segment | Gap | Eos) {
                    self.expect_no_more();
                }
                self.drain_before(kind.name());
            }
            _ => (),
        }
        match event.type_() {
            gst::EventType::StreamStart
            | gst::EventType::Segment
            | gst::EventType::FlushStop
            | gst::EventType::Gap => self.forget_reference(event.type_().name()),
            gst::EventType::Eos => {
                let structure = self.statistics.lock().structure();
                gst::info!(CAT, imp = self, "{structure}");
                let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
                self.post_message(message);
            }
            _ => (),
        }
        // Whatever comes after a buffer leaves after it.
        let is_behind = event.is_serialized() && event.type_() != gst::EventType::FlushStop;
        let event = match &mut self.state.lock().stream {
            Some(stream) if is_behind => stream.hold(event),
            _ => Some(event),
        };
        event.is_none_or(|event| self.parent_sink_event(event))
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        if let Some(error) = self.state.lock().failed.take() {
            return Err(error);
        }
        // It begins a sequence, so none of those that wait gets a field from it.
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            self.expect_no_more();
            self.send(0)?;
        }
        self.apply_settings()?;
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    // The base class gets no buffer to send: it marks the next one that it sends as a discontinuity when one comes in,
    // also if that one was sent before an event.
    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        if let Some(Err(error)) = self.take_queued_buffer().map(|buffer| self.take_input(buffer)) {
            // Earlier frames are unaffected.
            self.send(0)?;
            return Err(error);
        }
        let keep = self.state.lock().stream.as_ref().map_or(0, Stream::may_wait);
        self.send(keep).map(|()| GenerateOutputSuccess::NoOutput)
    }
}

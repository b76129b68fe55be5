//! Properties, caps, events and buffers of `motiondenoise`.

use std::sync::LazyLock;
use std::time::Instant;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;
use parking_lot::Mutex;

use super::settings::DenoiseSettings;
use super::stall::StallTimer;
use super::statistics::DenoiseStatistics;
use super::stream::{DenoiseError, DenoiseStream, NextFrame};
use crate::settings::{setup_message, tell_notices, warn_of_fallback, warn_of_tuning};
use crate::video::{self, pool};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motiondenoise",
        gst::DebugColorFlags::empty(),
        Some("Takes noise out of frames along the motion between them"),
    )
});

/// A live source has stalled if no frame comes for twice the latency, and for at least this long.
const LEAST_STALL: gst::ClockTime = gst::ClockTime::from_mseconds(500);

/// State from start to stop.
#[derive(Default)]
struct State {
    info: Option<VideoInfo>,
    /// While frames may change.
    stream: Option<DenoiseStream>,
    /// What became of frames that had to leave before an event, for upstream to be told.
    failed: Option<gst::FlowError>,
}

/// The implementation of [`super::MotionDenoise`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionDenoise {
    state: Mutex<State>,
    settings: Mutex<DenoiseSettings>,
    statistics: Mutex<DenoiseStatistics>,
    /// How long frames wait for later ones.
    latency: Mutex<gst::ClockTime>,
    /// Whether the source is live.
    is_live: Mutex<bool>,
    stall: Mutex<StallTimer>,
    /// Whether downstream accepts any offsets and strides of planes.
    takes_video_meta: Mutex<bool>,
}

impl MotionDenoise {
    /// Posts `message`; the next frame is the first of a sequence.
    fn fail(&self, state: &mut State, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.forget();
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// Lets the settings hold from the next frame on. Where they need another stream, the frames that wait leave before.
    fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let settings = self.settings.lock().clone();
        let references = settings.references();
        let is_served = {
            let state = self.state.lock();
            match (&state.stream, references) {
                (Some(stream), Some(_)) => stream.serves(&settings),
                (None, None) => true,
                _ => false,
            }
        };
        if is_served {
            return Ok(());
        }
        self.end_sequence()?;
        let state = &mut *self.state.lock();
        state.stream = None;
        if let (Some(info), Some(references)) = (&state.info, references) {
            let opened = DenoiseStream::open(info, &settings, references);
            let (stream, choice) = opened.map_err(|error| self.fail(state, setup_message(&error)))?;
            if let Some(reason) = choice.fallback {
                warn_of_fallback(&*self.obj(), "Searching", stream.device(), &reason);
            }
            for warning in &choice.warnings {
                warn_of_tuning(&*self.obj(), warning);
            }
            gst::info!(CAT, imp = self, "{} searches", stream.device());
            self.statistics.lock().device = stream.device().into();
            state.stream = Some(stream);
        }
        self.update_latency(state);
        Ok(())
    }

    /// Takes `buffer`, and searches its motion. Gives it back if nothing is to change.
    fn take_input(&self, buffer: gst::Buffer) -> Result<Option<gst::Buffer>, gst::FlowError> {
        self.apply_settings()?;
        let state = &mut *self.state.lock();
        let Some(info) = &state.info else {
            let message = gst::error_msg!(gst::CoreError::Negotiation, ["A buffer came before its caps"]);
            return Err(self.fail(state, message));
        };
        self.statistics.lock().frames_in += 1;
        let Some(stream) = &mut state.stream else {
            self.statistics.lock().untouched += 1;
            return Ok(Some(buffer));
        };
        let began = Instant::now();
        let submitted = stream.take_input(buffer).map_err(|error| denoise_message(&error, info));
        self.statistics.lock().loading += began.elapsed();
        tell_notices(&*self.obj(), *CAT, stream.take_notices());
        submitted.map(|()| None).map_err(|message| self.fail(state, message))
    }

    /// The frame that leaves next, and the events behind it.
    fn pop_output(&self) -> Result<Option<(gst::Buffer, Vec<gst::Event>)>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let (Some(stream), Some(info)) = (&mut state.stream, &state.info) else { return Ok(None) };
        let Some(original) = stream.leaving().cloned() else { return Ok(None) };
        let strength = self.settings.lock().strength();
        let began = Instant::now();
        let made = match stream.measure(strength) {
            Ok((leaving, noise)) => {
                let statistics = &mut *self.statistics.lock();
                statistics.noise += noise.mean_deviation();
                statistics.measured += 1;
                match leaving {
                    NextFrame::Untouched(buffer) => {
                        statistics.untouched += 1;
                        Ok(buffer)
                    }
                    NextFrame::Noisy => {
                        statistics.denoised += 1;
                        let mut buffer = self.acquire()?;
                        let out = buffer.make_mut();
                        self.parent_copy_metadata(&original, out).map_err(|_| gst::FlowError::Error)?;
                        stream.write(out).map(|()| buffer)
                    }
                }
            }
            Err(error) => Err(error),
        };
        let made = made.map_err(|error| denoise_message(&error, info));
        let buffer = made.map_err(|message| self.fail(state, message))?;
        self.statistics.lock().denoising += began.elapsed();
        let Some(stream) = &mut state.stream else { return Ok(None) };
        Ok(Some((buffer, stream.leave())))
    }

    /// Sends on the frames that wait for no later one, each with the events behind it.
    fn send(&self) -> Result<(), gst::FlowError> {
        while let Some((buffer, events)) = self.pop_output()? {
            if let Err(error) = self.obj().src_pad().push(buffer) {
                gst::debug!(CAT, imp = self, "Waiting frames dropped: {error}");
                self.discard();
                return Err(error);
            }
            for event in events {
                self.obj().src_pad().push_event(event);
            }
        }
        Ok(())
    }

    /// Sends on all frames that wait; the next one is the first of a sequence.
    fn end_sequence(&self) -> Result<(), gst::FlowError> {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.end();
        }
        self.send()?;
        if let Some(stream) = &mut self.state.lock().stream {
            stream.forget();
        }
        Ok(())
    }

    /// Lets the frames that wait leave if the source is live and stalls.
    fn watch_for_stall(&self) {
        if !*self.is_live.lock() || self.settings.lock().delay() == 0 {
            return;
        }
        let wait = self.latency.lock().saturating_mul(2).max(LEAST_STALL);
        let frames = self.statistics.lock().frames_in;
        let element = self.obj().downgrade();
        self.stall.lock().start(wait, move || {
            let Some(element) = element.upgrade() else { return };
            // The clock's thread must not wait for downstream.
            element.call_async(move |element| {
                let pad = element.sink_pad();
                let _streaming = pad.stream_lock();
                let this = element.imp();
                if this.statistics.lock().frames_in == frames {
                    gst::debug!(CAT, imp = this, "No frame for {wait}: those that wait leave");
                    this.end_sequence_before("a stall");
                }
            });
        });
    }

    /// As [`Self::end_sequence`], before an event; an error is told upstream with the next buffer.
    fn end_sequence_before(&self, what: &str) {
        if let Err(error) = self.end_sequence() {
            gst::debug!(CAT, imp = self, "Sequence ended for {what}: {error}");
            self.state.lock().failed = Some(error);
        }
    }

    /// Drops the frames that wait. Sticky events behind them still leave.
    fn discard(&self) {
        let events = {
            let state = &mut *self.state.lock();
            state.failed = None;
            state.stream.as_mut().map(DenoiseStream::forget).unwrap_or_default()
        };
        for event in events {
            self.obj().src_pad().push_event(event);
        }
    }

    /// A buffer for a frame.
    fn acquire(&self) -> Result<gst::Buffer, gst::FlowError> {
        let pool = self.obj().buffer_pool().ok_or(gst::FlowError::NotNegotiated)?;
        pool::acquire(&*self.obj(), &pool)
    }

    /// Notes how long frames wait, and tells the pipeline if that has changed.
    fn update_latency(&self, state: &State) {
        let latency = match &state.info {
            Some(info) if state.stream.is_some() => {
                video::duration_of_frames(info, self.settings.lock().delay())
            }
            _ => gst::ClockTime::ZERO,
        };
        if std::mem::replace(&mut *self.latency.lock(), latency) != latency {
            gst::debug!(CAT, imp = self, "Latency {latency}");
            self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
        }
    }
}

/// The error message for the bus about a frame of `info` that cannot be used.
fn denoise_message(error: &DenoiseError, info: &VideoInfo) -> gst::ErrorMessage {
    match error {
        DenoiseError::Search(error) => {
            gst::error_msg!(gst::LibraryError::Failed, ("The search failed: {error}"), ["{error:?}"])
        }
        _ => gst::error_msg!(
            gst::StreamError::Format,
            ("A buffer does not hold the frame its caps promise"),
            ["{error}; {info:?}"]
        ),
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionDenoise {
    const NAME: &'static str = "GstMotionDenoise";
    type Type = super::MotionDenoise;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionDenoise {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .nick("Statistics")
                .blurb("Frames that came, were denoised or untouched, their mean noise, device, and mean times in ns")
                .read_only()
                .build();
            let mut properties = DenoiseSettings::param_specs();
            properties.push(stats);
            properties
        });
        PROPERTIES.as_ref()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.settings.lock().set(pspec.name(), value);
        gst::debug!(CAT, imp = self, "{} set: {:?}", pspec.name(), self.settings.lock());
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.statistics.lock().structure().to_value(),
            name => self.settings.lock().value(name),
        }
    }
}

impl GstObjectImpl for MotionDenoise {}

impl ElementImpl for MotionDenoise {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion-compensated denoiser",
                "Filter/Effect/Video",
                "Takes noise out of frames along the motion between them, as much as is measured: before an encoder, \
                 for example",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = video::caps();
            video::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for MotionDenoise {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        *self.statistics.lock() = DenoiseStatistics::default();
        *self.latency.lock() = gst::ClockTime::ZERO;
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.stall.lock().stop();
        *self.state.lock() = State::default();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info =
            VideoInfo::from_caps(incaps).map_err(|_| gst::loggable_error!(CAT, "Not raw video: {incaps}"))?;
        self.end_sequence_before("caps");
        let mut latency = gst::query::Latency::new();
        *self.is_live.lock() = self.obj().sink_pad().peer_query(&mut latency) && latency.result().0;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        (state.stream, state.info) = (None, None);
        if info.is_interlaced() {
            self.post_error_message(gst::error_msg!(
                gst::StreamError::Format,
                ("Interlaced frames show two moments each and cannot be averaged along motion: put deinterlace before"),
                ["{info:?}"]
            ));
            return Err(gst::loggable_error!(CAT, "Interlaced: {info:?}"));
        }
        state.info = Some(info);
        drop(guard);
        self.apply_settings().map_err(|error| gst::loggable_error!(CAT, "No stream of {incaps}: {error}"))
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let takes_video_meta = pool::decide(query).map_err(|error| gst::loggable_error!(CAT, "{error}"))?;
        *self.takes_video_meta.lock() = takes_video_meta;
        self.parent_decide_allocation(query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        let held = {
            let settings = self.settings.lock();
            settings.references().map_or(0, |_| settings.held() as u32)
        };
        if let Some(decided) = decide_query {
            pool::propose(decided, *self.takes_video_meta.lock(), held, query);
        }
        Ok(())
    }

    // The output has the same size and shows the same frame: all metas stay valid.
    fn transform_meta<'a>(
        &self,
        _out: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        true
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if direction == gst::PadDirection::Sink
            && query.is_serialized()
            && let Some(stream) = &mut self.state.lock().stream
        {
            stream.release_buffers();
        }
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        if is_answered
            && direction == gst::PadDirection::Src
            && let gst::QueryViewMut::Latency(query) = query.view_mut()
        {
            video::add_latency(query, *self.latency.lock());
        }
        is_answered
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::FlushStop => self.discard(),
            kind @ (gst::EventType::StreamStart
            | gst::EventType::Caps
            | gst::EventType::Segment
            | gst::EventType::SegmentDone
            | gst::EventType::Gap
            | gst::EventType::Eos) => {
                self.end_sequence_before(kind.name());
                if kind == gst::EventType::Eos {
                    let structure = self.statistics.lock().structure();
                    gst::info!(CAT, imp = self, "{structure}");
                    self.post_message(gst::message::Element::builder(structure).src(&*self.obj()).build());
                }
            }
            _ => (),
        }
        // Whatever comes after a frame leaves after it.
        let event = match &mut self.state.lock().stream {
            Some(stream) if event.is_serialized() => stream.hold(event),
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
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            self.end_sequence()?;
        }
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        if let Some(buffer) = self.take_queued_buffer()
            && let Some(untouched) = self.take_input(buffer)?
        {
            return Ok(GenerateOutputSuccess::Buffer(untouched));
        }
        // The base class gets no buffer to send: it marks the next one that it sends as a discontinuity when one comes in,
        // also if that one was sent before an event.
        self.send()?;
        self.watch_for_stall();
        Ok(GenerateOutputSuccess::NoOutput)
    }
}

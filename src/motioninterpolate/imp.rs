//! Properties, caps, events and buffers of `motioninterpolate`.

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

use super::maker::MakeError;
use super::motion::{MotionChoice, MotionError, MotionSearch};
use super::settings::InterpolationSettings;
use super::statistics::InterpolationStatistics;
use super::stream::{InterpolateStream, Shown};
use super::timeline::{FramePlace, OutputFrame, Ratio, Retiming};
use super::{caps, retime};
use crate::settings::{setup_message, tell_notices, warn_of_fallback, warn_of_tuning};
use crate::video::{self, pool};
use motion_search::interpolation::InterpolationError;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motioninterpolate",
        gst::DebugColorFlags::empty(),
        Some("Makes frames between frames"),
    )
});

/// State from start to stop.
struct State {
    stream: Option<InterpolateStream>,
    /// The segment of the output.
    segment: gst::FormattedSegment<gst::ClockTime>,
    /// The segment of the input, in nanoseconds.
    start: u64,
    stop: Option<u64>,
    retiming: Retiming,
    /// What became of frames that had to leave before an event, for upstream to be told.
    failed: Option<gst::FlowError>,
    warned_order: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            stream: None,
            segment: gst::FormattedSegment::new(),
            start: 0,
            stop: None,
            retiming: Retiming::new(Ratio::ONE),
            failed: None,
            warned_order: false,
        }
    }
}

/// The implementation of [`super::MotionInterpolate`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionInterpolate {
    state: Mutex<State>,
    settings: Mutex<InterpolationSettings>,
    statistics: Mutex<InterpolationStatistics>,
    /// How long frames wait for the next one.
    latency: Mutex<gst::ClockTime>,
    /// Frames before this running time are too late.
    earliest: Mutex<Option<gst::ClockTime>>,
    /// Whether downstream accepts any offsets and strides of planes.
    takes_video_meta: Mutex<bool>,
}

impl MotionInterpolate {
    fn speed(&self) -> Ratio {
        self.settings.lock().speed()
    }

    /// Posts `message`; the next frame is the first of a sequence.
    fn fail(&self, state: &mut State, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.forget(true);
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// Sends on the last frame of the sequence until it or the segment ends, at most until `limit`, in nanoseconds of the
    /// input; the next frame begins another sequence. `is_discont`: time is missing before it.
    fn end_sequence(&self, limit: Option<u64>, is_discont: bool) -> Result<(), gst::FlowError> {
        let limits = {
            let state = self.state.lock();
            [state.stream.as_ref().and_then(InterpolateStream::end), state.stop, limit]
        };
        let mut sent = Ok(());
        let end = limits[0].and(limits.into_iter().flatten().min());
        while sent.is_ok()
            && let Some(buffer) = self.pop_output(0, end)?
        {
            sent = self.obj().src_pad().push(buffer).map(|_| ());
        }
        if let Some(stream) = &mut self.state.lock().stream {
            stream.forget(is_discont);
        }
        sent
    }

    /// As [`Self::end_sequence`], before an event; an error is told upstream with the next buffer.
    fn end_sequence_before(&self, what: &str, limit: Option<u64>, is_discont: bool) {
        if let Err(error) = self.end_sequence(limit, is_discont) {
            gst::debug!(CAT, imp = self, "Sequence ended for {what}: {error}");
            self.state.lock().failed = Some(error);
        }
    }

    /// Lets no frame wait any more: sends what is up to the newest one.
    fn drain(&self) -> Result<(), gst::FlowError> {
        while let Some(buffer) = self.pop_output(0, None)? {
            self.obj().src_pad().push(buffer)?;
        }
        Ok(())
    }

    /// As [`Self::drain`], before an event or query; an error is told upstream with the next buffer.
    fn drain_before(&self, what: &str) {
        if let Err(error) = self.drain() {
            gst::debug!(CAT, imp = self, "Frames sent before {what}: {error}");
            self.state.lock().failed = Some(error);
        }
    }

    /// Drops what has not left.
    fn discard(&self) {
        let state = &mut *self.state.lock();
        state.failed = None;
        if let Some(stream) = &mut state.stream {
            stream.take_passing();
            stream.forget(false);
        }
        *self.earliest.lock() = None;
    }

    /// Takes `buffer`, from which on output frames follow.
    fn take_input(&self, buffer: gst::Buffer) -> Result<(), gst::FlowError> {
        let speed = self.speed();
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Some(stream) = &mut state.stream else {
            let message = gst::error_msg!(gst::CoreError::Negotiation, ["A buffer came before its caps"]);
            return Err(self.fail(state, message));
        };
        self.statistics.lock().frames_in += 1;
        // Backwards each frame would be between two that have not come yet.
        let interpolates = stream.interpolates(speed) && state.segment.rate() > 0.0;
        let time = match stream.time_of(&buffer, state.start) {
            Ok(time) => time,
            Err(_) if !interpolates => state.start,
            Err(error) => {
                let message = gst::error_msg!(gst::StreamError::Format, ("{error}"), ["{:?}", stream.info()]);
                return Err(self.fail(state, message));
            }
        };
        let is_discont = buffer.flags().contains(gst::BufferFlags::DISCONT);
        let newest = stream.newest();
        if newest.is_some_and(|newest| time <= newest) && !is_discont && interpolates {
            self.refuse(state, time, newest);
            return Ok(());
        }
        let is_changed = state.retiming.speed() != speed;
        let is_far = newest.is_some_and(|newest| time > newest) && stream.is_too_far(time);
        if newest.is_some() && (is_discont || is_far || is_changed || !interpolates) {
            drop(guard);
            self.end_sequence(Some(time), is_far)?;
            guard = self.state.lock();
        }
        let State { stream: Some(stream), retiming, .. } = &mut *guard else { return Ok(()) };
        if is_changed {
            *retiming = retiming.changed(speed, time);
        }
        if !interpolates {
            stream.pass(buffer, retiming);
            return Ok(());
        }
        let settings = self.settings.lock().clone();
        if stream.waiting() > 0 && !stream.maker.is_prepared(settings.mode, &settings.devices) {
            // Those that wait are searched by what was chosen before.
            drop(guard);
            self.drain()?;
            guard = self.state.lock();
        }
        let Some(stream) = &mut guard.stream else { return Ok(()) };
        match stream.maker.prepare(settings.mode, &settings.devices) {
            Ok(Some((motion, choice))) => self.tell_choice(motion, choice),
            Ok(None) => (),
            Err(error) => return Err(self.fail(&mut guard, setup_message(&error))),
        }
        let began = Instant::now();
        let begun = stream.take_input(buffer, time);
        self.statistics.lock().loading += began.elapsed();
        self.tell_notices(stream);
        if let Err(error) = begun {
            let message = make_message(&error, stream);
            return Err(self.fail(&mut guard, message));
        }
        Ok(())
    }

    /// Says which devices search and make frames, and why not those that were asked for.
    fn tell_choice(&self, motion: &MotionSearch, choice: MotionChoice) {
        let (device, maker) = (motion.device(), motion.maker());
        // One reason is enough.
        if let Some(reason) = choice.search.fallback {
            warn_of_fallback(&*self.obj(), "Searching", device, &reason);
        } else if let Some(reason) = choice.maker {
            warn_of_fallback(&*self.obj(), "Making frames", maker, &reason);
        }
        for warning in &choice.search.warnings {
            warn_of_tuning(&*self.obj(), warning);
        }
        gst::info!(CAT, imp = self, "{device} searches, {maker} makes frames");
        self.statistics.lock().set_devices(device, maker);
    }

    /// Says what has happened to the devices.
    fn tell_notices(&self, stream: &mut InterpolateStream) {
        let Some(motion) = stream.maker.motion() else { return };
        let notices = motion.take_notices();
        if !notices.is_empty() {
            self.statistics.lock().set_devices(motion.device(), motion.maker());
            tell_notices(&*self.obj(), *CAT, notices);
        }
    }

    /// Counts a frame at `time` that is dropped, because it is not after the one before.
    fn refuse(&self, state: &mut State, time: u64, newest: Option<u64>) {
        gst::warning!(CAT, imp = self, "Frame at {time} ns dropped: the one before is at {newest:?} ns");
        self.statistics.lock().out_of_order += 1;
        if !std::mem::replace(&mut state.warned_order, true) {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("A frame is dropped because its timestamp is not after that of the frame before"),
                ["{time} ns after {newest:?} ns; this warning is posted once"]
            );
        }
    }

    /// The frame that leaves next, with at most `keep` frames that wait; after the last one, with `end`, those that show it
    /// until then.
    fn pop_output(&self, keep: usize, end: Option<u64>) -> Result<Option<gst::Buffer>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let (mode, scene_cut) = {
            let settings = self.settings.lock();
            (settings.mode, settings.scene_cut)
        };
        let Some(stream) = &mut state.stream else { return Ok(None) };
        if let Some(buffer) = stream.take_passing() {
            let statistics = &mut *self.statistics.lock();
            statistics.frames_out += 1;
            statistics.passed += 1;
            return Ok(Some(buffer));
        }
        loop {
            let mut is_end = false;
            let frame = match stream.pop(None) {
                Some(frame) => frame,
                None if stream.waiting() > keep.min(stream.may_wait()) => {
                    let began = Instant::now();
                    let loaded = stream.advance(&state.retiming);
                    self.statistics.lock().loading += began.elapsed();
                    self.tell_notices(stream);
                    if let Err(error) = loaded {
                        let message = make_message(&error, stream);
                        return Err(self.fail(state, message));
                    }
                    continue;
                }
                None => {
                    is_end = true;
                    let Some(frame) = end.and_then(|end| stream.pop(Some(end))) else { return Ok(None) };
                    frame
                }
            };
            let Some(shown) = stream.shown(&frame, mode, scene_cut) else { return Ok(None) };
            let mut buffer = match shown {
                Shown::Input(buffer) => {
                    let statistics = &mut *self.statistics.lock();
                    *if is_end { &mut statistics.repeated } else { &mut statistics.passed } += 1;
                    buffer
                }
                Shown::Repeated { buffer, is_cut } => {
                    let statistics = &mut *self.statistics.lock();
                    *if is_cut { &mut statistics.scene_cuts } else { &mut statistics.repeated } += 1;
                    buffer
                }
                Shown::ToMake if self.is_late(&state.segment, &frame) => continue,
                Shown::ToMake => match self.make(stream, &frame)? {
                    Ok(buffer) => buffer,
                    Err(error) => {
                        let message = make_message(&error, stream);
                        return Err(self.fail(state, message));
                    }
                },
            };
            stream.stamp(buffer.make_mut(), &frame);
            self.statistics.lock().frames_out += 1;
            return Ok(Some(buffer));
        }
    }

    /// Makes `frame` in a buffer of the pool.
    fn make(
        &self,
        stream: &mut InterpolateStream,
        frame: &OutputFrame,
    ) -> Result<Result<gst::Buffer, MakeError>, gst::FlowError> {
        let FramePlace::Between(phase) = frame.place else { return Err(gst::FlowError::Error) };
        let mut buffer = self.acquire(stream.info())?;
        let began = Instant::now();
        let made = stream.make(phase, buffer.make_mut());
        self.tell_notices(stream);
        let statistics = &mut *self.statistics.lock();
        statistics.making += began.elapsed();
        statistics.made += u64::from(made.is_ok());
        Ok(made.map(|()| buffer))
    }

    /// A buffer for a frame.
    fn acquire(&self, info: &VideoInfo) -> Result<gst::Buffer, gst::FlowError> {
        let Some(pool) = self.obj().buffer_pool() else {
            // The speed has been changed since the pads were negotiated; they are about to be again.
            return gst::Buffer::with_size(info.size()).map_err(|_| gst::FlowError::Error);
        };
        pool::acquire(&*self.obj(), &pool)
    }

    /// Whether `frame` would be too late for downstream; it is counted then.
    fn is_late(&self, segment: &gst::FormattedSegment<gst::ClockTime>, frame: &OutputFrame) -> bool {
        let time = video::time(frame.time);
        let running_time = segment.to_running_time(time);
        let earliest = *self.earliest.lock();
        let (Some(running_time), Some(earliest)) = (running_time, earliest) else { return false };
        if running_time > earliest || !self.obj().is_qos() {
            return false;
        }
        let statistics = &mut *self.statistics.lock();
        statistics.late += 1;
        gst::debug!(CAT, imp = self, "Frame at {time} not made: downstream is at {earliest}");
        let jitter = i64::try_from((earliest - running_time).nseconds()).unwrap_or(i64::MAX);
        let message = gst::message::Qos::builder(false)
            .running_time(running_time)
            .stream_time(segment.to_stream_time(time))
            .timestamp(time)
            .duration(video::time(frame.duration))
            .values(jitter, 1.0, 1_000_000)
            .stats(
                gst::format::Buffers::from_u64(statistics.made),
                gst::format::Buffers::from_u64(statistics.late),
            )
            .src(&*self.obj())
            .build();
        self.post_message(message);
        true
    }

    /// Lets buffers pass through the base class, or frames be made in a pool's, as frame rates and speed ask for.
    fn configure(&self) -> Result<(), gst::LoggableError> {
        let speed = self.speed();
        let interpolates = {
            let state = &mut *self.state.lock();
            let stream = state
                .stream
                .take_if(|stream| stream.interpolates(speed) && stream.incoming().is_interlaced());
            if let Some(stream) = stream {
                self.post_error_message(gst::error_msg!(
                    gst::StreamError::Format,
                    ("Interlaced frames show two moments each and cannot be interpolated: put deinterlace before"),
                    ["{:?}", stream.incoming()]
                ));
                return Err(gst::loggable_error!(CAT, "Interlaced: {:?}", stream.incoming()));
            }
            state.stream.as_ref().is_some_and(|stream| stream.interpolates(speed))
        };
        self.obj().set_passthrough(!interpolates);
        self.update_latency();
        Ok(())
    }

    /// Notes how long frames wait, and tells the pipeline if that has changed.
    fn update_latency(&self) {
        let (speed, delay) = (self.speed(), self.settings.lock().delay());
        let latency = match &self.state.lock().stream {
            Some(stream) if stream.interpolates(speed) => {
                retime::divided(video::duration_of_frames(stream.incoming(), 1 + delay), speed)
            }
            _ => gst::ClockTime::ZERO,
        };
        if std::mem::replace(&mut *self.latency.lock(), latency) != latency {
            gst::debug!(CAT, imp = self, "Latency {latency}");
            self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
        }
    }
}

/// The error message for the bus about a frame that cannot be loaded or made.
fn make_message(error: &MakeError, stream: &InterpolateStream) -> gst::ErrorMessage {
    match error {
        MakeError::Motion(MotionError::Search(error)) => {
            gst::error_msg!(gst::LibraryError::Failed, ("The search failed: {error}"), ["{error:?}"])
        }
        MakeError::Motion(MotionError::Make(error @ InterpolationError::Device(_))) => {
            gst::error_msg!(gst::LibraryError::Failed, ("No frame can be made: {error}"), ["{error:?}"])
        }
        _ => gst::error_msg!(
            gst::StreamError::Format,
            ("A buffer does not hold the frame its caps promise"),
            ["{error}; {:?}", stream.incoming()]
        ),
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionInterpolate {
    const NAME: &'static str = "GstMotionInterpolate";
    type Type = super::MotionInterpolate;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionInterpolate {
    fn constructed(&self) {
        self.parent_constructed();
        self.obj().set_qos(true);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .nick("Statistics")
                .blurb("Frames that came, passed, were made, repeated or too late, devices, and mean times in ns")
                .read_only()
                .build();
            let mut properties = InterpolationSettings::param_specs();
            properties.push(stats);
            properties
        });
        PROPERTIES.as_ref()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.settings.lock().set(pspec.name(), value);
        gst::debug!(CAT, imp = self, "{} set: {:?}", pspec.name(), self.settings.lock());
        if pspec.name() == "rate" {
            // Whether buffers pass through, or are made of a pool's, may change.
            self.obj().reconfigure_src();
            self.post_message(gst::message::DurationChanged::builder().src(&*self.obj()).build());
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.statistics.lock().structure().to_value(),
            name => self.settings.lock().value(name),
        }
    }
}

impl GstObjectImpl for MotionInterpolate {}

impl ElementImpl for MotionInterpolate {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion interpolator",
                "Filter/Effect/Video",
                "Makes frames between frames, for a higher frame rate or slow motion",
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

impl BaseTransformImpl for MotionInterpolate {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        *self.statistics.lock() = InterpolationStatistics::default();
        *self.latency.lock() = gst::ClockTime::ZERO;
        *self.earliest.lock() = None;
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        Some(caps::transformed(direction, caps, filter))
    }

    fn fixate_caps(
        &self,
        _direction: gst::PadDirection,
        caps: &gst::Caps,
        othercaps: gst::Caps,
    ) -> gst::Caps {
        caps::fixated(caps, othercaps)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info =
            |caps| VideoInfo::from_caps(caps).map_err(|_| gst::loggable_error!(CAT, "Not raw video: {caps}"));
        let (incoming, outgoing) = (info(incaps)?, info(outcaps)?);
        let is_known = |stream: &InterpolateStream| stream.is_of(&incoming, &outgoing);
        if !self.state.lock().stream.as_ref().is_some_and(is_known) {
            self.end_sequence_before("caps", None, false);
            self.state.lock().stream = Some(InterpolateStream::new(incoming, outgoing));
        }
        gst::info!(CAT, imp = self, "From {incaps} to {outcaps}");
        self.configure()
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
        // Where nothing is made, downstream has answered.
        let Some(decided) = decide_query else { return Ok(()) };
        // The newest frame is held until the next one has come, and others wait.
        let held = 1 + self.settings.lock().delay() as u32;
        let needed = pool::propose(decided, *self.takes_video_meta.lock(), held, query);
        if let Some(stream) = &mut self.state.lock().stream {
            stream.needed_downstream = needed as usize;
        }
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if direction == gst::PadDirection::Sink && query.is_serialized() {
            self.drain_before("a query");
        }
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        if is_answered && direction == gst::PadDirection::Src {
            match query.view_mut() {
                gst::QueryViewMut::Latency(query) => video::add_latency(query, *self.latency.lock()),
                view => retime::answer(view, self.speed()),
            }
        }
        is_answered
    }

    fn src_event(&self, event: gst::Event) -> bool {
        if let gst::EventView::Qos(qos) = event.view() {
            let (_, _, late, timestamp) = qos.get();
            *self.earliest.lock() =
                timestamp.map(|time| video::time(time.nseconds().saturating_add_signed(late)));
        }
        self.parent_src_event(retime::upstream(event, self.speed()))
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        use gst::EventView;
        let mut event = event;
        match event.view() {
            EventView::FlushStop(_) => self.discard(),
            EventView::StreamStart(_) => self.end_sequence_before("another stream", None, false),
            EventView::SegmentDone(_) => {
                self.end_sequence_before("the end of a segment", None, false);
                event = retime::downstream(event, &self.state.lock().retiming);
            }
            EventView::Gap(gap) => {
                let limit = gap.get().0.nseconds();
                self.end_sequence_before("a gap", Some(limit), true);
                event = retime::downstream(event, &self.state.lock().retiming);
            }
            EventView::Segment(segment) => {
                let Some(segment) = segment.segment().downcast_ref::<gst::ClockTime>().cloned() else {
                    self.post_error_message(gst::error_msg!(
                        gst::StreamError::Format,
                        ("A segment in {:?} came: motioninterpolate needs times", segment.segment().format())
                    ));
                    return false;
                };
                self.end_sequence_before("a segment", None, false);
                let speed = self.speed();
                let state = &mut *self.state.lock();
                state.start = segment.start().map_or(0, gst::ClockTime::nseconds);
                state.stop = segment.stop().map(gst::ClockTime::nseconds);
                state.retiming = Retiming::new(speed);
                state.segment = retime::segment(&segment, speed);
                *self.earliest.lock() = None;
                if speed != Ratio::ONE {
                    let seqnum = event.seqnum();
                    event = gst::event::Segment::builder(&state.segment).seqnum(seqnum).build();
                }
            }
            EventView::Eos(_) => {
                self.end_sequence_before("EOS", None, false);
                let structure = self.statistics.lock().structure();
                gst::info!(CAT, imp = self, "{structure}");
                self.post_message(gst::message::Element::builder(structure).src(&*self.obj()).build());
            }
            _ if event.is_serialized() => self.drain_before("an event"),
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn submit_input_buffer(
        &self,
        _is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        if let Some(error) = self.state.lock().failed.take() {
            return Err(error);
        }
        // Where caps stay, the base class does not set them again.
        if self.speed() != self.state.lock().retiming.speed() && self.configure().is_err() {
            return Err(gst::FlowError::NotNegotiated);
        }
        // The base class would also drop input frames that are late for downstream, by times of the output.
        if !self.obj().reconfigure() {
            let is_flushing = self.obj().src_pad().pad_flags().contains(gst::PadFlags::FLUSHING);
            return Err(if is_flushing { gst::FlowError::Flushing } else { gst::FlowError::NotNegotiated });
        }
        self.update_latency();
        self.take_input(buffer).map(|()| gst::FlowSuccess::Ok)
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        let keep = self.settings.lock().delay();
        self.pop_output(keep, None)
            .map(|buffer| buffer.map_or(GenerateOutputSuccess::NoOutput, GenerateOutputSuccess::Buffer))
    }
}

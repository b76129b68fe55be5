//! Properties, caps, events and buffers of `motioncompensate`.

use std::collections::VecDeque;
use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;
use gst_video::subclass::prelude::*;
use parking_lot::Mutex;

use super::quality::{PredictionQuality, Totals};
use super::stream::{CompensateStream, Failure, FieldAndReference, Target, map};
use super::{MotionCompensateMeasure, MotionCompensateMode};
use crate::meta;
use crate::video::{self, frame::map_writable};
use motion_search::compensation::Compensated;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motioncompensate",
        gst::DebugColorFlags::empty(),
        Some("Predicts frames from their motion vectors"),
    )
});

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Settings {
    mode: MotionCompensateMode,
    measure: MotionCompensateMeasure,
    reference_offset: i32,
}

impl Settings {
    /// Frames from each frame to the one that it is predicted from: by default -1.
    fn offset(&self) -> i32 {
        if self.reference_offset == 0 { -1 } else { self.reference_offset }
    }

    /// The frames that wait for a later reference frame.
    fn delay(&self) -> usize {
        self.reference_offset.max(0) as usize
    }
}

/// What waits for a later reference frame.
enum Waiting {
    Frame {
        buffer: gst::Buffer,
        /// What the base class says of it.
        is_discont: bool,
    },
    /// An event behind a frame that waits.
    Event(gst::Event),
}

/// The frames among what waits.
fn frames(waiting: &VecDeque<Waiting>) -> impl Iterator<Item = &gst::Buffer> {
    waiting.iter().filter_map(|waiting| match waiting {
        Waiting::Frame { buffer, .. } => Some(buffer),
        Waiting::Event(_) => None,
    })
}

/// State from start to stop.
#[derive(Default)]
struct State {
    stream: Option<CompensateStream>,
    /// The settings that hold for the current buffer.
    settings: Settings,
    totals: Totals,
    /// What waits for a later reference frame, oldest first.
    waiting: VecDeque<Waiting>,
    /// What became of buffers that had to leave before an event, for upstream to be told.
    failed: Option<gst::FlowError>,
    warned_unusable: bool,
}

/// The implementation of [`super::MotionCompensate`].
#[derive(Default)]
pub struct MotionCompensate {
    settings: Mutex<Settings>,
    state: Mutex<State>,
    /// How long buffers wait for later ones.
    latency: Mutex<gst::ClockTime>,
}

impl MotionCompensate {
    /// What predicts `buffer`; `None` if nothing does. If a field cannot be used, posts a warning once and returns
    /// `None`.
    fn field(
        &self,
        state: &mut State,
        buffer: &gst::BufferRef,
    ) -> Result<Option<FieldAndReference>, Failure> {
        let (offset, is_default) = (state.settings.offset(), state.settings.reference_offset == 0);
        let later = state.settings.delay().checked_sub(1).and_then(|index| frames(&state.waiting).nth(index));
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        if buffer.flags().contains(gst::BufferFlags::DISCONT) && !stream.earlier.is_empty() {
            gst::debug!(CAT, imp = self, "Reference dropped: discontinuity at {:?}", buffer.pts());
            stream.earlier.clear();
        }
        stream.field(buffer, (offset, later), is_default).map(|field| {
            field.unwrap_or_else(|obstacle| {
                gst::warning!(CAT, imp = self, "Frame at {:?} not predicted: {obstacle}", buffer.pts());
                if !std::mem::replace(&mut state.warned_unusable, true) {
                    gst::element_imp_warning!(
                        self,
                        gst::StreamError::Format,
                        ("A frame cannot be predicted from its vectors: {obstacle}. Put motioncompensate \
                             right behind motionestimate, so that no frame is dropped or gets a new \
                             timestamp between them"),
                        ["Frame at {:?}; this warning is posted once", buffer.pts()]
                    );
                }
                None
            })
        })
    }

    /// Counts a frame, attaches its measures and returns the message about them.
    fn report(
        &self,
        state: &mut State,
        buffer: &mut gst::BufferRef,
        quality: Option<PredictionQuality>,
    ) -> Result<Option<gst::Structure>, Failure> {
        let quality = quality.filter(|_| state.settings.measure == MotionCompensateMeasure::Psnr);
        state.totals.add(quality);
        let Some(quality) = quality else { return Ok(None) };
        quality.attach(buffer).map_err(Failure::Attach)?;
        Ok(Some(quality.message(buffer.pts())))
    }

    /// Writes the prediction or residual of `input` to `out`. Returns the message about its quality,
    /// if there is one.
    fn replace(
        &self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<Option<gst::Structure>, Failure> {
        let state = &mut *self.state.lock();
        let field = self.field(state, input)?;
        let settings = state.settings;
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        let output = match settings.mode {
            MotionCompensateMode::Residual => Compensated::Residual,
            _ => Compensated::Prediction,
        };
        let wanted = (output, settings.measure == MotionCompensateMeasure::Psnr);
        let quality = {
            let current = map(input, &stream.info)?;
            let mut frame = map_writable(out, &stream.info).map_err(Failure::Buffer)?;
            match field {
                Some(field) => Some(stream.compensate(field, &current, wanted, Target::Frame(&mut frame))?),
                None => {
                    stream.copy(&current, &mut frame)?;
                    None
                }
            }
        };
        stream.keep(input.clone(), settings.offset());
        self.report(state, out, quality)
    }

    /// Measures the prediction of `buffer` and leaves its samples unchanged.
    fn look_at(&self, buffer: &mut gst::BufferRef) -> Result<Option<gst::Structure>, Failure> {
        let state = &mut *self.state.lock();
        let field = self.field(state, buffer)?;
        let settings = state.settings;
        let measured = settings.measure == MotionCompensateMeasure::Psnr;
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        let quality = match field.filter(|_| measured) {
            Some(field) => {
                let current = map(buffer, &stream.info)?;
                Some(stream.compensate(field, &current, (Compensated::Prediction, true), Target::Scratch)?)
            }
            None => None,
        };
        let message = self.report(state, buffer, quality)?;
        // The copy shares the memory and needs no vectors. From GStreamer 1.24 on it may hold the buffer, which then cannot be
        // written to any more.
        let mut reference = buffer.copy();
        meta::remove(reference.make_mut());
        if let Some(stream) = &mut state.stream {
            stream.keep(reference, settings.offset());
        }
        Ok(message)
    }

    /// Ends the work on a buffer: posts its message or error.
    fn finish(
        &self,
        result: Result<Option<gst::Structure>, Failure>,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match result {
            Ok(None) => Ok(gst::FlowSuccess::Ok),
            Ok(Some(structure)) => {
                self.post(structure);
                Ok(gst::FlowSuccess::Ok)
            }
            Err(failure) => {
                self.forget_reference("error");
                self.post_error_message(failure.message());
                Err(gst::FlowError::Error)
            }
        }
    }

    fn post(&self, structure: gst::Structure) {
        self.post_message(gst::message::Element::builder(structure).src(&*self.obj()).build());
    }

    /// Drops the reference, so that the next frame is the first of a sequence.
    fn forget_reference(&self, reason: &str) {
        if let Some(stream) = &mut self.state.lock().stream {
            gst::debug!(CAT, imp = self, "Reference dropped: {reason}");
            stream.earlier.clear();
        }
    }

    /// Takes what waited longest, if more than `keep` frames wait, or if it is an event.
    fn take_waiting(&self, keep: usize) -> Option<Waiting> {
        let waiting = &mut self.state.lock().waiting;
        let is_event = matches!(waiting.front(), Some(Waiting::Event(_)));
        if is_event || frames(waiting).count() > keep { waiting.pop_front() } else { None }
    }

    /// Sends on what waited longest, as long as more than `keep` frames wait.
    fn send(&self, keep: usize) -> Result<(), gst::FlowError> {
        while let Some(waiting) = self.take_waiting(keep) {
            match waiting {
                Waiting::Event(event) => drop(self.obj().src_pad().push_event(event)),
                Waiting::Frame { buffer, is_discont } => {
                    self.parent_submit_input_buffer(is_discont, buffer)?;
                    if let GenerateOutputSuccess::Buffer(buffer) = self.parent_generate_output()? {
                        self.obj().src_pad().push(buffer)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends on all that waits; after an error it is dropped, and the next buffer tells upstream.
    fn drain_before(&self, event: &gst::Event) {
        if let Err(error) = self.send(0) {
            gst::debug!(CAT, imp = self, "Drained for {}: {error}", event.type_().name());
            self.discard();
            self.state.lock().failed = Some(error);
        }
    }

    /// Drops the frames that wait. Sticky events still leave.
    fn discard(&self) {
        let state = &mut *self.state.lock();
        state.failed = None;
        state.waiting.retain(|waiting| matches!(waiting, Waiting::Event(event) if event.is_sticky()));
    }

    /// Notes how long buffers wait for later ones, and tells the pipeline if that has changed.
    fn update_latency(&self) {
        let state = self.state.lock();
        let latency = state.stream.as_ref().map_or(gst::ClockTime::ZERO, |stream| {
            video::duration_of_frames(&stream.info, state.settings.delay())
        });
        drop(state);
        if std::mem::replace(&mut *self.latency.lock(), latency) != latency {
            gst::debug!(CAT, imp = self, "Latency {latency}");
            self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
        }
    }

    /// Applies the settings to the next buffer. Returns whether the pads must be renegotiated.
    fn apply_settings(&self) -> bool {
        let settings = *self.settings.lock();
        let was = std::mem::replace(&mut self.state.lock().settings, settings);
        let in_place = |settings: Settings| settings.mode == MotionCompensateMode::Original;
        self.obj().set_in_place(in_place(settings));
        in_place(was) != in_place(settings)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionCompensate {
    const NAME: &'static str = "GstMotionCompensate";
    type Type = super::MotionCompensate;
    type ParentType = gst_video::VideoFilter;
}

impl ObjectImpl for MotionCompensate {
    fn constructed(&self) {
        self.parent_constructed();
        // A late frame must not be dropped: it is the reference of the next one.
        self.obj().set_qos(false);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let default = Settings::default();
            vec![
                glib::ParamSpecEnum::builder_with_default("mode", default.mode)
                    .nick("Mode")
                    .blurb("What to send downstream")
                    .mutable_playing()
                    .build(),
                glib::ParamSpecEnum::builder_with_default("measure", default.measure)
                    .nick("Measure")
                    .blurb(
                        "What to measure of each prediction; the result is attached to the buffer and posted on the bus",
                    )
                    .mutable_playing()
                    .build(),
                meta::offset_property(
                    "Frames from each frame to the one that it is predicted from: -1 is the previous frame, +1 the next one \
                     (0 = the first field, which must be for the previous frame); each later frame adds one frame of latency",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = self.settings.lock();
        match pspec.name() {
            "mode" => settings.mode = value.get().expect("type checked upstream"),
            "measure" => settings.measure = value.get().expect("type checked upstream"),
            "reference-offset" => settings.reference_offset = value.get().expect("type checked upstream"),
            name => unreachable!("no property {name}"),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = self.settings.lock();
        match pspec.name() {
            "mode" => settings.mode.to_value(),
            "measure" => settings.measure.to_value(),
            "reference-offset" => settings.reference_offset.to_value(),
            name => unreachable!("no property {name}"),
        }
    }
}

impl GstObjectImpl for MotionCompensate {}

impl ElementImpl for MotionCompensate {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion compensator",
                "Filter/Effect/Video",
                "Predicts each frame from another one and its motion vectors, and measures the prediction",
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

impl BaseTransformImpl for MotionCompensate {
    const MODE: BaseTransformMode = BaseTransformMode::Both;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        *self.latency.lock() = gst::ClockTime::ZERO;
        self.apply_settings();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
        Ok(())
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        // The reference frame is held, and all between it and the current frame.
        let held = self.settings.lock().offset().unsigned_abs();
        let pools: Vec<_> = query.allocation_pools().map(|pool| pool.to_owned()).collect();
        for (index, (pool, size, least, most)) in pools.iter().enumerate() {
            let most = if *most == 0 { 0 } else { most.saturating_add(held) };
            let least = least.saturating_add(held);
            query.set_nth_allocation_pool(index as u32, pool.as_ref(), *size, least, most);
        }
        if pools.is_empty() {
            let size = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
            if let Some(size) = size.and_then(|info| u32::try_from(info.size()).ok()) {
                query.add_allocation_pool(None::<&gst::BufferPool>, size, held, 0);
            }
        }
        Ok(())
    }

    // The output has the same size and shows the same frame in every mode: all metas stay valid.
    fn transform_meta<'a>(
        &self,
        _out: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        true
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        if direction == gst::PadDirection::Src
            && is_answered
            && let gst::QueryViewMut::Latency(query) = query.view_mut()
        {
            video::add_latency(query, *self.latency.lock());
        }
        is_answered
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::FlushStop => self.discard(),
            gst::EventType::StreamStart
            | gst::EventType::Caps
            | gst::EventType::Segment
            | gst::EventType::Gap
            | gst::EventType::Eos => self.drain_before(&event),
            _ if event.is_serialized() => {
                // Whatever comes after a buffer leaves after it.
                let waiting = &mut self.state.lock().waiting;
                if !waiting.is_empty() {
                    waiting.push_back(Waiting::Event(event));
                    return true;
                }
            }
            _ => (),
        }
        match event.type_() {
            gst::EventType::StreamStart
            | gst::EventType::Segment
            | gst::EventType::FlushStop
            | gst::EventType::Gap => self.forget_reference(event.type_().name()),
            gst::EventType::Eos if self.settings.lock().measure == MotionCompensateMeasure::Psnr => {
                let structure = self.state.lock().totals.message();
                gst::info!(CAT, imp = self, "{structure}");
                self.post(structure);
            }
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        if let Some(error) = self.state.lock().failed.take() {
            return Err(error);
        }
        let is_changed = *self.settings.lock() != self.state.lock().settings;
        if is_changed || buffer.flags().contains(gst::BufferFlags::DISCONT) {
            self.send(0)?;
        }
        if is_changed {
            // Between two buffers, so that the mode never changes within one.
            if self.apply_settings() {
                self.obj().reconfigure_src();
                self.obj().reconfigure_sink();
            }
            self.update_latency();
        }
        let delay = self.state.lock().settings.delay();
        if delay == 0 {
            return self.parent_submit_input_buffer(is_discont, buffer);
        }
        self.state.lock().waiting.push_back(Waiting::Frame { buffer, is_discont });
        self.send(delay).map(|()| gst::FlowSuccess::Ok)
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.finish(self.replace(input, out))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.finish(self.look_at(buffer))
    }
}

impl VideoFilterImpl for MotionCompensate {
    fn set_info(
        &self,
        _incaps: &gst::Caps,
        info: &VideoInfo,
        _outcaps: &gst::Caps,
        _out_info: &VideoInfo,
    ) -> Result<(), gst::LoggableError> {
        self.state.lock().stream = Some(CompensateStream::new(info));
        self.update_latency();
        Ok(())
    }
}

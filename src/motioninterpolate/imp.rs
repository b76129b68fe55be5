//! The virtual methods of `motioninterpolate`.

use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;
use parking_lot::Mutex;

use super::ratio::Ratio;
use super::settings::InterpolationSettings;
use super::state::InterpolateState;
use super::statistics::InterpolationStatistics;
use super::{caps, retime};
use crate::settings::PostedWarnings;
use crate::settings::statistics::stats_property;
use crate::video;
use crate::video::pool::{OutputBuffers, refuse_cropping};
use crate::video::sequence::{Holding, HoldsFrames};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motioninterpolate",
        gst::DebugColorFlags::empty(),
        Some("Makes frames between frames"),
    )
});

/// The implementation of [`super::MotionInterpolate`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionInterpolate {
    pub(super) state: Mutex<InterpolateState>,
    pub(super) settings: Mutex<InterpolationSettings>,
    pub(super) statistics: Mutex<InterpolationStatistics>,
    pub(super) warnings: Mutex<PostedWarnings>,
    /// Frames before this running time are too late.
    pub(super) earliest: Mutex<Option<gst::ClockTime>>,
    /// The segment of the output, whose position is the end of what has left.
    pub(super) shown: Mutex<gst::FormattedSegment<gst::ClockTime>>,
    pub(super) holding: Holding,
    pub(super) output: OutputBuffers,
    #[cfg(feature = "cuda")]
    pub(super) cuda: video::cuda::ElementContext,
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
            let mut properties = InterpolationSettings::param_specs();
            properties.push(stats_property(
                "Frames that came, passed, were made, repeated or too late, devices, and mean times in ns",
            ));
            properties
        });
        PROPERTIES.as_ref()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let speed = || self.settings.lock().speed();
        let before = speed();
        self.settings.lock().set(pspec.name(), value);
        gst::debug!(CAT, imp = self, "{} set: {:?}", pspec.name(), self.settings.lock());
        let now = speed();
        if now != before {
            if (now == Ratio::ONE) != (before == Ratio::ONE) {
                // Whether buffers pass through, or are made of a pool's, may change.
                self.obj().reconfigure_src();
            }
            self.post_message(gst::message::DurationChanged::builder().src(&*self.obj()).build());
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.statistics.lock().structure().to_value(),
            _ => self.settings.lock().value(pspec),
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
            let caps = caps::accepted();
            video::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }

    #[cfg(feature = "cuda")]
    fn set_context(&self, context: &gst::Context) {
        self.cuda.set(&*self.obj(), context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        self.holding.interrupt.before_transition(transition);
        self.parent_change_state(transition)
    }
}

impl BaseTransformImpl for MotionInterpolate {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = InterpolateState::default();
        *self.statistics.lock() = InterpolationStatistics::default();
        *self.warnings.lock() = PostedWarnings::default();
        *self.earliest.lock() = None;
        *self.shown.lock() = gst::FormattedSegment::new();
        self.holding.reset();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.holding.stop();
        *self.state.lock() = InterpolateState::default();
        #[cfg(feature = "cuda")]
        self.cuda.forget();
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

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, othercaps: gst::Caps) -> gst::Caps {
        // Frames can be made at the times of a frame rate alone.
        let needs_rate = direction == gst::PadDirection::Sink && self.settings.lock().speed() != Ratio::ONE;
        caps::fixated(caps, othercaps, needs_rate)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        #[cfg(feature = "cuda")]
        {
            let context = self.cuda.context_for(&*self.obj(), incaps);
            self.settings.lock().devices.memory = context;
        }
        self.set_infos(video::info_of(incaps, *CAT)?, video::info_of(outcaps, *CAT)?);
        gst::info!(CAT, imp = self, "From {incaps} to {outcaps}");
        self.configure()
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let info = query.get().0.and_then(|caps| VideoInfo::from_caps(caps).ok());
        if info.is_some_and(|info| !caps::is_raw(&info)) {
            // Nothing is written.
            return self.parent_decide_allocation(query);
        }
        #[cfg(feature = "cuda")]
        let pool = self.cuda.pool_for(query);
        #[cfg(not(feature = "cuda"))]
        let pool = None;
        self.output.decide(query, pool).map_err(|error| gst::loggable_error!(CAT, "{error}"))?;
        self.parent_decide_allocation(query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        refuse_cropping(query);
        // Where nothing is made, downstream has answered.
        let Some(decided) = decide_query else { return Ok(()) };
        // The newest frame is held until the next one has come, and others wait.
        let settings = self.settings.lock().clone();
        let held = 1 + settings.delay() + usize::from(settings.looks_ahead());
        let needed = self.output.propose(decided, held, query);
        if let Some(stream) = &mut self.state.lock().stream {
            stream.held.set_needed_downstream(needed);
        }
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        #[cfg(feature = "cuda")]
        if self.cuda.answer(&*self.obj(), query) {
            return true;
        }
        if direction == gst::PadDirection::Src
            && retime::answer_of_segment(query.view_mut(), &self.shown.lock())
        {
            return true;
        }
        let is_answered = self.answer_query(direction, query);
        if is_answered && direction == gst::PadDirection::Src {
            retime::answer(query.view_mut(), self.settings.lock().speed());
        }
        is_answered
    }

    fn src_event(&self, event: gst::Event) -> bool {
        if let gst::EventView::Qos(qos) = event.view() {
            let (_, _, late, timestamp) = qos.get();
            *self.earliest.lock() =
                timestamp.map(|time| video::time(time.nseconds().saturating_add_signed(late)));
        }
        let speed = self.settings.lock().speed();
        self.parent_src_event(retime::upstream(event, speed))
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if event.is_serialized() && event.type_() != gst::EventType::FlushStop {
            let settled = self.settle_doubt(None);
            self.holding.keep(settled);
        }
        if let gst::EventView::Gap(gap) = event.view()
            && let Some(is_filled) = self.take_gap(gap)
        {
            // What is filled is no gap of the output.
            return is_filled || self.retimed(event).is_some_and(|event| self.parent_sink_event(event));
        }
        let meaning = self.before_event(&event);
        if event.type_() == gst::EventType::Eos {
            self.post_statistics();
        }
        self.retimed(event).is_some_and(|event| self.forward_event(event, meaning))
    }

    fn submit_input_buffer(
        &self,
        _is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.holding.check()?;
        let time = self.state.lock().input_segment.to_stream_time(buffer.pts());
        if let (Some(time), true) = (time, self.obj().has_active_control_bindings()) {
            // It fails where a control source has no value for this time.
            let _ = self.obj().sync_values(time);
        }
        self.apply_settings()?;
        self.take_input(buffer).map(|()| gst::FlowSuccess::Ok)
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        // The base class gets no buffer to send: it would mark it as a discontinuity where one comes in.
        self.after_frame()?;
        Ok(GenerateOutputSuccess::NoOutput)
    }
}

//! The virtual methods of `motiondenoise`.

use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::settings::DenoiseSettings;
use super::statistics::DenoiseStatistics;
use super::stream::DenoiseState;
use crate::settings::PostedWarnings;
use crate::settings::statistics::stats_property;
use crate::video;
use crate::video::pool::{OutputBuffers, refuse_cropping};
use crate::video::sequence::{Holding, HoldsFrames};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motiondenoise",
        gst::DebugColorFlags::empty(),
        Some("Takes noise out of frames along the motion between them"),
    )
});

/// The implementation of [`super::MotionDenoise`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionDenoise {
    pub(super) state: Mutex<DenoiseState>,
    pub(super) settings: Mutex<DenoiseSettings>,
    pub(super) statistics: Mutex<DenoiseStatistics>,
    pub(super) warnings: Mutex<PostedWarnings>,
    pub(super) holding: Holding,
    pub(super) output: OutputBuffers,
    #[cfg(feature = "cuda")]
    pub(super) cuda: video::cuda::ElementContext,
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
            let mut properties = DenoiseSettings::param_specs();
            properties.push(stats_property(
                "Frames that came, were denoised or untouched, their mean noise, devices, and mean times in ns",
            ));
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
            _ => self.settings.lock().value(pspec),
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
            #[cfg(feature = "cuda")]
            let caps = video::cuda::with_cuda(caps);
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

impl BaseTransformImpl for MotionDenoise {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = DenoiseState::default();
        *self.statistics.lock() = DenoiseStatistics::default();
        *self.warnings.lock() = PostedWarnings::default();
        self.holding.reset();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.holding.stop();
        *self.state.lock() = DenoiseState::default();
        #[cfg(feature = "cuda")]
        self.cuda.forget();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = video::info_of(incaps, *CAT)?;
        self.end_sequence_between_buffers(None);
        if let Some(obstacle) = video::obstacle(&info) {
            *self.state.lock() = DenoiseState::default();
            self.post_error_message(gst::error_msg!(gst::StreamError::Format, ("{obstacle}"), ["{info:?}"]));
            return Err(gst::loggable_error!(CAT, "{obstacle}: {info:?}"));
        }
        #[cfg(feature = "cuda")]
        {
            let context = self.cuda.context_for(&*self.obj(), incaps);
            self.settings.lock().devices.memory = context;
        }
        match self.set_info(info) {
            // The next frame opens the devices, if one comes.
            Ok(()) | Err(gst::FlowError::Flushing) => Ok(()),
            Err(error) => Err(gst::loggable_error!(CAT, "No stream of {incaps}: {error}")),
        }
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
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
        if let Some(decided) = decide_query {
            let settings = self.settings.lock().clone();
            let held = settings.references().map_or(0, |_| settings.held());
            let needed = self.output.propose(decided, held, query);
            self.state.lock().held.set_needed_downstream(needed);
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
        #[cfg(feature = "cuda")]
        if self.cuda.answer(&*self.obj(), query) {
            return true;
        }
        self.answer_query(direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let meaning = self.before_event(&event);
        if event.type_() == gst::EventType::Eos {
            self.post_statistics();
        }
        self.forward_event(event, meaning)
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.before_frame(&buffer)?;
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
        self.after_frame()?;
        Ok(GenerateOutputSuccess::NoOutput)
    }
}

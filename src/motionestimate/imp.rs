//! The virtual methods of `motionestimate`.

use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::settings::Settings;
use super::state::EstimateState;
use super::statistics::Statistics;
use crate::settings::statistics::stats_property;
use crate::settings::{OpenError, PostedWarnings, setup_message};
use crate::video::sequence::{Holding, HoldsFrames, Leave};
use crate::video::{self, pool};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionestimate",
        gst::DebugColorFlags::empty(),
        Some("Finds the motion between frames"),
    )
});

/// The implementation of [`super::MotionEstimate`].
///
/// Locks are taken in the order of the fields. Only the streaming thread locks `state`, which alone is held during a search;
/// no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionEstimate {
    pub(super) state: Mutex<EstimateState>,
    pub(super) settings: Mutex<Settings>,
    pub(super) statistics: Mutex<Statistics>,
    pub(super) warnings: Mutex<PostedWarnings>,
    pub(super) holding: Holding,
    /// The context of frames in memory of CUDA.
    #[cfg(feature = "cuda")]
    pub(super) cuda: video::cuda::ElementContext,
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
            let mut properties = Settings::param_specs();
            properties.push(stats_property(
                "Frames, mean times in ns, effective rate, mean cost a sample, device and kernel",
            ));
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
            _ => self.settings.lock().value(pspec),
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
            #[cfg(feature = "cuda")]
            let caps = video::cuda::with_cuda(caps);
            video::pad_templates(&caps, &caps)
        });
        TEMPLATES.as_ref()
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

impl BaseTransformImpl for MotionEstimate {
    // In place, and not passing through: the base class then hands over each buffer with writable
    // metadata, a copy that shares the memory where somebody else holds the buffer too.
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = EstimateState::start();
        *self.statistics.lock() = Statistics::default();
        *self.warnings.lock() = PostedWarnings::default();
        self.holding.reset();
        // What no frame can make right is told now and not with the first caps.
        let settings = self.settings.lock().clone();
        settings.check().map_err(|error| setup_message(&error))
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.holding.stop();
        *self.state.lock() = EstimateState::default();
        #[cfg(feature = "cuda")]
        self.cuda.forget();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = video::info_of(incaps, *CAT)?;
        #[cfg(feature = "cuda")]
        {
            let context = self.cuda.context_for(&*self.obj(), incaps);
            self.settings.lock().devices.memory = context;
        }
        // An event brings new caps, behind which nothing waits any more; not so where the base class negotiates anew.
        self.end_sequence_between_buffers(None);
        match self.set_info(info) {
            Err(OpenError::Setup(error)) => {
                self.post_error_message(setup_message(&error));
                Err(gst::loggable_error!(CAT, "{error}"))
            }
            // The next frame opens the devices, if one comes.
            Ok(()) | Err(OpenError::Interrupted) => Ok(()),
        }
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        #[cfg(feature = "cuda")]
        if self.cuda.answer(&*self.obj(), query) {
            return true;
        }
        self.answer_query(direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // The very same memory goes downstream, so downstream is asked first.
        let downstream = self.parent_propose_allocation(decide_query, query);
        pool::refuse_cropping(query);
        let mut state = self.state.lock();
        // A query for other caps than those that were set is none of this stream's.
        let caps = query.get_owned().0.and_then(|caps| gst_video::VideoInfo::from_caps(&caps).ok());
        let stream = state.stream.as_mut().filter(|stream| caps.as_ref() == Some(stream.info()));
        let is_answered = stream.is_some_and(|stream| stream.propose_allocation(query));
        if is_answered { Ok(()) } else { downstream }
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
        self.apply_settings()?;
        if self.leaves_out(&buffer)? {
            return Ok(gst::FlowSuccess::Ok);
        }
        self.holding.latency.note(&*self.obj(), buffer.pts());
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    // The base class gets no buffer to send: it marks the next one that it sends as a discontinuity when one comes in,
    // also if that one was sent before an event.
    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        if let Some(Err(error)) = self.take_queued_buffer().map(|buffer| self.take_input(buffer)) {
            // Earlier frames are unaffected.
            self.send(Leave::Complete)?;
            return Err(error);
        }
        self.after_frame()?;
        Ok(GenerateOutputSuccess::NoOutput)
    }
}

//! The virtual methods of `motiondetect`.

use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::settings::DetectSettings;
use super::statistics::DetectStatistics;
use super::stream::{DetectSetupError, DetectState};
use crate::settings::statistics::stats_property;
use crate::video;
use crate::video::pool::refuse_cropping;
use crate::video::sequence::{Holding, HoldsFrames};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motiondetect",
        gst::DebugColorFlags::empty(),
        Some("Finds what moves in front of a camera"),
    )
});

/// The implementation of [`super::MotionDetect`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionDetect {
    pub(super) state: Mutex<DetectState>,
    pub(super) settings: Mutex<DetectSettings>,
    pub(super) statistics: Mutex<DetectStatistics>,
    pub(super) holding: Holding,
}

#[glib::object_subclass]
impl ObjectSubclass for MotionDetect {
    const NAME: &'static str = "GstMotionDetect";
    type Type = super::MotionDetect;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionDetect {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut properties = DetectSettings::param_specs();
            properties.push(stats_property(
                "Frames that came, were dropped or showed motion, regions, noise, and the mean time in ns",
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

impl GstObjectImpl for MotionDetect {}

impl ElementImpl for MotionDetect {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion detector",
                "Filter/Analyzer/Video",
                "Finds what moves in front of a still or moving camera, follows it and tells of it by messages and regions of \
                 interest",
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
        TEMPLATES.as_ref()
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        self.holding.interrupt.before_transition(transition);
        self.parent_change_state(transition)
    }
}

impl BaseTransformImpl for MotionDetect {
    // In place, and not passing through: metas are attached.
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = DetectState::default();
        *self.statistics.lock() = DetectStatistics::default();
        self.holding.reset();
        // What no frame can make right is told now and not with the first caps.
        let settings = self.settings.lock().clone();
        settings.detector().map(drop).map_err(|error| DetectSetupError::from(error).message())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.holding.stop();
        *self.state.lock() = DetectState::default();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", self.statistics.lock());
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = video::info_of(incaps, *CAT)?;
        self.set_info(info).map_err(|message| {
            self.post_error_message(message);
            gst::loggable_error!(CAT, "Not detected in {incaps}")
        })
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        self.answer_query(direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // The very same memory goes downstream, so downstream is asked.
        self.parent_propose_allocation(decide_query, query)?;
        refuse_cropping(query);
        Ok(())
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
        if !self.prepare(&buffer)? {
            return Ok(gst::FlowSuccess::Ok);
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
        self.after_frame()?;
        Ok(GenerateOutputSuccess::NoOutput)
    }
}

//! The virtual methods of `motioncompensate`.

use std::sync::LazyLock;

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;
use gst_video::subclass::prelude::*;
use parking_lot::Mutex;

use super::settings::CompensateSettings;
use super::stream::CompensateState;
use crate::settings::{MissingFields, PostedWarnings};
use crate::video::pool::{ask_for, refuse_cropping};
use crate::video::sequence::{Holding, HoldsFrames};
use crate::{meta, video};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motioncompensate",
        gst::DebugColorFlags::empty(),
        Some("Predicts frames from their motion vectors"),
    )
});

/// The implementation of [`super::MotionCompensate`].
///
/// Only the streaming thread locks `state`; no lock is held while a buffer is pushed.
#[derive(Default)]
pub struct MotionCompensate {
    pub(super) settings: Mutex<CompensateSettings>,
    pub(super) state: Mutex<CompensateState>,
    pub(super) warnings: Mutex<PostedWarnings>,
    pub(super) missing: Mutex<MissingFields>,
    pub(super) holding: Holding,
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
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(CompensateSettings::param_specs);
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.settings.lock().set(pspec.name(), value);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        self.settings.lock().value(pspec)
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
        let settings = self.settings.lock().clone();
        self.obj().set_in_place(settings.is_in_place());
        *self.state.lock() = CompensateState::new(settings);
        *self.warnings.lock() = PostedWarnings::default();
        *self.missing.lock() = MissingFields::default();
        self.holding.reset();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.holding.stop();
        *self.state.lock() = CompensateState::default();
        Ok(())
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        refuse_cropping(query);
        let needed = ask_for(query, self.settings.lock().held());
        self.state.lock().held.set_needed_downstream(needed);
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
        self.answer_query(direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let meaning = self.before_event(&event);
        if event.type_() == gst::EventType::Eos {
            self.post_totals();
        }
        self.forward_event(event, meaning)
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.before_frame(&buffer)?;
        self.missing.lock().note((&*self.obj(), *CAT), meta::is_attached(&buffer), &buffer);
        self.apply_settings()?;
        if self.leaves_out(&buffer)? {
            return Ok(gst::FlowSuccess::Ok);
        }
        self.holding.latency.note(&*self.obj(), buffer.pts());
        let passing = self.state.lock().take_input(buffer, is_discont);
        match passing {
            Some(buffer) => self.parent_submit_input_buffer(is_discont, buffer),
            None => self.after_frame().map(|()| gst::FlowSuccess::Ok),
        }
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let replaced = self.state.lock().replace(input, out);
        self.finish(replaced, input.pts())
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let measured = self.state.lock().look_at(buffer);
        self.finish(measured, buffer.pts())
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
        self.state.lock().set_info(info);
        self.update_latency();
        Ok(())
    }
}

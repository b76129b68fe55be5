//! Properties, caps and frames of `motionoverlay`.

use std::sync::LazyLock;

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use parking_lot::Mutex;

use super::MotionOverlayStyle;
use super::settings::OverlaySettings;
use super::stream::OverlayStream;
use crate::meta::MotionVectorMeta;
use crate::settings::MissingFields;
use crate::video;
use crate::video::memory;
use crate::video::pool::refuse_cropping;
use crate::video::sequence::is_gap_without_segment;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionoverlay",
        gst::DebugColorFlags::empty(),
        Some("Draws motion vectors into the frame"),
    )
});

/// Formats that can be drawn into.
const FORMATS: [VideoFormat; 27] = [
    VideoFormat::I420,
    VideoFormat::Nv12,
    VideoFormat::Yv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
    VideoFormat::Gray8,
    VideoFormat::Rgba,
    VideoFormat::Bgra,
    VideoFormat::Argb,
    VideoFormat::Abgr,
    VideoFormat::Rgbx,
    VideoFormat::Bgrx,
    VideoFormat::Xrgb,
    VideoFormat::Xbgr,
    VideoFormat::Rgb,
    VideoFormat::Bgr,
    VideoFormat::Gbr,
    VideoFormat::A420,
    VideoFormat::I42010le,
    VideoFormat::P01010le,
    VideoFormat::I42210le,
    VideoFormat::Y44410le,
    VideoFormat::I42012le,
    VideoFormat::I42212le,
    VideoFormat::Y44412le,
    VideoFormat::Gray16Le,
];

/// The implementation of [`super::MotionOverlay`].
#[derive(Default)]
pub struct MotionOverlay {
    settings: Mutex<OverlaySettings>,
    /// What holds from one caps to the next.
    stream: Mutex<Option<OverlayStream>>,
    missing: Mutex<MissingFields>,
}

#[glib::object_subclass]
impl ObjectSubclass for MotionOverlay {
    const NAME: &'static str = "GstMotionOverlay";
    type Type = super::MotionOverlay;
    type ParentType = gst_video::VideoFilter;
}

impl ObjectImpl for MotionOverlay {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(OverlaySettings::param_specs);
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.settings.lock().set(pspec.name(), value);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        self.settings.lock().value(pspec)
    }
}

impl GstObjectImpl for MotionOverlay {}

impl ElementImpl for MotionOverlay {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion vector overlay",
                "Filter/Effect/Video",
                "Draws the motion vectors attached to video frames into the frames",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = gst_video::VideoCapsBuilder::new()
                .format_list(FORMATS)
                .width_range(video::SIDES)
                .height_range(video::SIDES)
                .build();
            video::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for MotionOverlay {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.missing.lock() = MissingFields::default();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.stream.lock() = None;
        Ok(())
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        refuse_cropping(query);
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        is_gap_without_segment(self.obj().sink_pad(), &event) || self.parent_sink_event(event)
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        memory::tell_if_refused(&*self.obj(), direction, query);
        is_answered
    }

    // Not of the video filter, which maps every buffer, and one whose video meta is of another frame with a critical warning.
    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let settings = self.settings.lock().clone();
        let mut stream = self.stream.lock();
        let stream = stream.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let field = MotionVectorMeta::at_offset(buffer, settings.reference_offset);
        let field = field.map(|field| field?.of_frame(stream.size())).transpose().unwrap_or_else(|error| {
            gst::warning!(CAT, imp = self, "Motion field ignored: {error}");
            None
        });
        let needs_field = settings.style != MotionOverlayStyle::Regions;
        self.missing.lock().note((&*self.obj(), *CAT), field.is_some() || !needs_field, buffer);
        stream.draw(buffer, field.as_ref(), &settings).map_err(|error| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ["Cannot draw the vectors: {error}"]);
            gst::FlowError::Error
        })?;
        Ok(gst::FlowSuccess::Ok)
    }
}

impl VideoFilterImpl for MotionOverlay {
    fn set_info(
        &self,
        _incaps: &gst::Caps,
        info: &VideoInfo,
        _outcaps: &gst::Caps,
        _out_info: &VideoInfo,
    ) -> Result<(), gst::LoggableError> {
        *self.stream.lock() = Some(OverlayStream::new(info.clone()));
        Ok(())
    }
}

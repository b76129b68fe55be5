//! Caps and buffers of `motionserialize`.

use std::sync::LazyLock;

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::flo::MOST_SAMPLES;
use super::format::Format;
use super::settings::SerializeSettings;
use super::stream::{SerializeError, SerializeStream};
use crate::settings::MissingFields;
use crate::video;
use crate::video::sequence::is_gap_without_segment;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionserialize",
        gst::DebugColorFlags::empty(),
        Some("Writes motion vectors as NDJSON, CSV, binary or .flo"),
    )
});

/// The implementation of [`super::MotionSerialize`].
#[derive(Default)]
pub struct MotionSerialize {
    settings: Mutex<SerializeSettings>,
    stream: Mutex<SerializeStream>,
    missing: Mutex<MissingFields>,
}

#[glib::object_subclass]
impl ObjectSubclass for MotionSerialize {
    const NAME: &'static str = "GstMotionSerialize";
    type Type = super::MotionSerialize;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionSerialize {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(SerializeSettings::param_specs);
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.settings.lock().set(pspec.name(), value);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        self.settings.lock().value(pspec)
    }
}

impl GstObjectImpl for MotionSerialize {}

impl ElementImpl for MotionSerialize {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion vector serializer",
                "Converter/Video",
                "Writes the motion vectors attached to video frames as NDJSON, CSV, packed binary or .flo files; with \
                 motionestimate's default direction, backward, vectors in .flo lead to the previous frame",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let sink = gst::Caps::builder("video/x-raw").any_features().build();
            video::pad_templates(&sink, &text_caps())
        });
        &TEMPLATES
    }
}

/// The output formats, the preferred one first.
fn text_caps() -> gst::Caps {
    Format::ALL.map(|format| gst::Structure::new_empty(format.media_type())).into_iter().collect()
}

impl BaseTransformImpl for MotionSerialize {
    const MODE: BaseTransformMode = BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *self.missing.lock() = MissingFields::default();
        *self.stream.lock() = SerializeStream::default();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.stream.lock() = SerializeStream::default();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        _caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let caps = match direction {
            gst::PadDirection::Sink => text_caps(),
            _ => gst::Caps::builder("video/x-raw").any_features().build(),
        };
        Some(match filter {
            Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
            None => caps,
        })
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let size = || {
            let structure = incaps.structure(0)?;
            let side = |name| structure.get::<i32>(name).ok().and_then(|side| u32::try_from(side).ok());
            Some((side("width")?, side("height")?))
        };
        let (width, height) = size().ok_or_else(|| gst::loggable_error!(CAT, "No frame size in {incaps}"))?;
        let format = outcaps
            .structure(0)
            .and_then(|structure| Format::of_media_type(structure.name()))
            .ok_or_else(|| gst::loggable_error!(CAT, "No known format in {outcaps}"))?;
        if format == Format::Flo && u64::from(width) * u64::from(height) > MOST_SAMPLES {
            gst::element_imp_error!(
                self,
                gst::StreamError::Format,
                ("Frames of {width} x {height} samples are too large for .flo files: {MOST_SAMPLES} samples are the most")
            );
            return Err(gst::loggable_error!(CAT, "Too large for .flo: {incaps}"));
        }
        gst::debug!(CAT, imp = self, "{width} x {height} to {format:?}");
        self.stream.lock().negotiate(format, (width, height));
        Ok(())
    }

    fn propose_allocation(
        &self,
        _decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // Pixels are not read, so any layout is accepted without a copy.
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        is_gap_without_segment(self.obj().sink_pad(), &event) || self.parent_sink_event(event)
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        let Some(buffer) = self.take_queued_buffer() else {
            return Ok(GenerateOutputSuccess::NoOutput);
        };
        let offset = self.settings.lock().reference_offset;
        let mut tell = |error| gst::warning!(CAT, imp = self, "Motion field ignored: {error}");
        let written = self.stream.lock().serialize(&buffer, offset, &mut tell);
        match written {
            Ok((output, fields)) => {
                self.missing.lock().note((&*self.obj(), *CAT), fields > 0, &buffer);
                Ok(GenerateOutputSuccess::Buffer(output))
            }
            Err(SerializeError::NotNegotiated) => Err(gst::FlowError::NotNegotiated),
            Err(SerializeError::Write(error)) => {
                gst::element_imp_error!(
                    self,
                    gst::StreamError::Encode,
                    ["Cannot write the vectors: {error}"]
                );
                Err(gst::FlowError::Error)
            }
        }
    }
}

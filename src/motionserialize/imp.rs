//! Caps and buffers of `motionserialize`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::flo::MOST_SAMPLES;
use super::format::{Format, FrameFacts};
use crate::meta::{self, MotionVectorMeta};
use crate::video;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionserialize",
        gst::DebugColorFlags::empty(),
        Some("Writes motion vectors as NDJSON, CSV, binary or .flo"),
    )
});

#[derive(Default)]
struct State {
    /// The negotiated format, and the width and height of the frames.
    negotiated: Option<(Format, u32, u32)>,
    /// The format whose header was sent.
    begun: Option<Format>,
    /// Frames so far.
    frames: u64,
    /// Bytes of the last output: an estimate for the next one.
    bytes: usize,
}

#[derive(Default)]
pub struct MotionSerialize {
    /// The property `reference-offset`.
    reference_offset: AtomicI32,
    state: Mutex<State>,
}

impl MotionSerialize {
    /// Writes the fields of `buffer` as one output buffer.
    fn serialize(&self, buffer: &gst::BufferRef) -> Result<gst::Buffer, gst::FlowError> {
        let mut state = self.state.lock();
        let (format, width, height) = state.negotiated.ok_or(gst::FlowError::NotNegotiated)?;
        let frame = FrameFacts {
            frame: state.frames,
            pts: buffer.pts().map(gst::ClockTime::nseconds),
            duration: buffer.duration().map(gst::ClockTime::nseconds),
            width,
            height,
        };
        let mut out = Vec::with_capacity(state.bytes + state.bytes / 8);
        if state.begun != Some(format) {
            format.write_header(&mut out);
            state.begun = Some(format);
        }
        let fields = MotionVectorMeta::all_of(buffer).filter_map(|field| {
            field.inspect_err(|error| gst::warning!(CAT, imp = self, "Motion field ignored: {error}")).ok()
        });
        let offset = self.reference_offset.load(Ordering::Relaxed);
        let fields = fields.filter(|field| offset == 0 || field.description().reference_offset == offset);
        let mut written = Ok(());
        let mut count = 0;
        for field in fields.take(if format.holds_all_fields() { usize::MAX } else { 1 }) {
            written = written.and_then(|()| format.write_field(&frame, Some(&field), &mut out));
            count += 1;
        }
        if count == 0 {
            written = format.write_field(&frame, None, &mut out);
        }
        written.map_err(|error| {
            gst::element_imp_error!(self, gst::StreamError::Encode, ["Cannot write the vectors: {error}"]);
            gst::FlowError::Error
        })?;

        state.frames += 1;
        state.bytes = out.len();
        let mut output = gst::Buffer::from_mut_slice(out);
        let target = output.make_mut();
        target.set_pts(buffer.pts());
        target.set_duration(buffer.duration());
        target.set_offset(frame.frame);
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            target.set_flags(gst::BufferFlags::DISCONT);
        }
        Ok(output)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionSerialize {
    const NAME: &'static str = "GstMotionSerialize";
    type Type = super::MotionSerialize;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionSerialize {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<[glib::ParamSpec; 1]> = LazyLock::new(|| {
            [meta::offset_property(
                "Frames from the current frame to the reference frame of the field to write: -1 is the previous frame, +1 \
                 the next one (0 = every field; in a .flo file, which has room for one, the first)",
            )]
        });
        &*PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, _pspec: &glib::ParamSpec) {
        self.reference_offset.store(value.get().expect("type checked upstream"), Ordering::Relaxed);
    }

    fn property(&self, _id: usize, _pspec: &glib::ParamSpec) -> glib::Value {
        self.reference_offset.load(Ordering::Relaxed).to_value()
    }
}

impl GstObjectImpl for MotionSerialize {}

impl ElementImpl for MotionSerialize {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion vector serializer",
                "Converter/Video",
                "Writes the motion vectors attached to video frames as NDJSON, CSV, packed binary or .flo files",
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
        *self.state.lock() = State::default();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *self.state.lock() = State::default();
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
        self.state.lock().negotiated = Some((format, width, height));
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

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        let Some(buffer) = self.take_queued_buffer() else {
            return Ok(GenerateOutputSuccess::NoOutput);
        };
        self.serialize(&buffer).map(GenerateOutputSuccess::Buffer)
    }
}

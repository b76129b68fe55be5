//! Properties, caps and frames of `motionx264enc`.

use std::sync::LazyLock;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::{VideoCodecFrame, VideoCodecFrameFlags, VideoCodecState, video_codec_state};
use parking_lot::Mutex;

use gst_motion_fields::missing::MissingFields;

use super::caps::{self, Target};
use super::settings::Settings;
use super::stream::{EncoderStream, Incoming};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Encodes H.264 with x264, guided by motion");
    gst::DebugCategory::new("motionx264enc", gst::DebugColorFlags::empty(), about)
});

/// As `x264enc`: so much is added to timestamps that no decoding time is before zero.
const FIRST_PTS: gst::ClockTime = gst::ClockTime::from_seconds(60 * 60 * 1000);

/// The implementation of [`super::MotionX264Enc`].
#[derive(Default)]
pub struct MotionX264Enc {
    pub(super) settings: Mutex<Settings>,
    pub(super) state: Mutex<State>,
}

/// What changes between frames.
#[derive(Default)]
pub(super) struct State {
    pub stream: Option<EncoderStream>,
    pub target: Target,
    /// Whether a property has changed that the encoder has to know.
    pub is_changed: bool,
    pub missing: MissingFields,
    /// Whether it was told that offsets have no effect.
    pub is_fixed_told: bool,
}

#[glib::object_subclass]
impl ObjectSubclass for MotionX264Enc {
    const NAME: &'static str = "GstMotionX264Enc";
    type Type = super::MotionX264Enc;
    type ParentType = gst_video::VideoEncoder;
    type Interfaces = (gst::Preset,);
}

impl PresetImpl for MotionX264Enc {}

impl ObjectImpl for MotionX264Enc {
    fn properties() -> &'static [glib::ParamSpec] {
        static SPECS: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(Settings::param_specs);
        &SPECS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        let is_mutable = spec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING);
        if !is_mutable && self.obj().current_state() > gst::State::Ready {
            gst::warning!(CAT, imp = self, "{} does not change while frames are encoded", spec.name());
            return;
        }
        self.settings.lock().set(spec.name(), value);
        self.state.lock().is_changed |= is_mutable;
    }

    fn property(&self, _id: usize, spec: &glib::ParamSpec) -> glib::Value {
        self.settings.lock().value(spec)
    }
}

impl GstObjectImpl for MotionX264Enc {}

impl ElementImpl for MotionX264Enc {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "H.264 encoder guided by motion",
                "Codec/Encoder/Video",
                "Encodes H.264 with x264; motion fields and regions of interest choose where its bits go",
                env!("CARGO_PKG_AUTHORS"),
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let template = |name, direction, caps: gst::Caps| {
                let template = gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps);
                template.unwrap_or_else(|error| unreachable!("{error}"))
            };
            vec![
                template("sink", gst::PadDirection::Sink, caps::sink_caps()),
                template("src", gst::PadDirection::Src, caps::source_caps()),
            ]
        });
        &TEMPLATES
    }
}

impl VideoEncoderImpl for MotionX264Enc {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        self.obj().set_min_pts(FIRST_PTS);
        *self.state.lock() = State { missing: MissingFields::with_costs(), ..State::default() };
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.state.lock().stream = None;
        Ok(())
    }

    fn set_format(
        &self,
        state: &VideoCodecState<'static, video_codec_state::Readable>,
    ) -> Result<(), gst::LoggableError> {
        let info = state.info();
        if self.state.lock().stream.as_ref().is_some_and(|stream| stream.info() == info) {
            return Ok(());
        }
        // What it holds back is of the caps before. If downstream refuses it, the next frame tells upstream.
        let _ = self.drain();
        let byte_stream = self.settings.lock().byte_stream;
        let target = Target::of_peer(self.obj().src_pad(), byte_stream);
        self.state.lock().target =
            target.ok_or_else(|| gst::loggable_error!(CAT, "Downstream takes no caps of H.264"))?;
        self.open(info)?;
        self.announce(state)
    }

    fn handle_frame(&self, frame: VideoCodecFrame) -> Result<gst::FlowSuccess, gst::FlowError> {
        let Some(buffer) = frame.input_buffer_owned() else { return Err(gst::FlowError::Error) };
        let incoming = Incoming {
            buffer: &buffer,
            pts: frame.pts(),
            number: frame.system_frame_number(),
            is_key_unit: frame.flags().contains(VideoCodecFrameFlags::FORCE_KEYFRAME),
            strength: self.settings.lock().motion_strength as f32,
        };
        let is_other_latency = self.change_if_asked();
        if is_other_latency {
            self.tell_latency();
        }
        let result = match &mut self.state.lock().stream {
            Some(stream) => stream.encode(&incoming),
            None => return Err(gst::FlowError::NotNegotiated),
        };
        match result {
            Ok((encoded, remarks)) => {
                // The base class keeps it until it comes out.
                drop(frame);
                self.tell(&buffer, remarks);
                encoded.map_or(Ok(gst::FlowSuccess::Ok), |encoded| self.push(encoded))
            }
            Err(error) => {
                self.post(&error);
                // Without a buffer: it is dropped.
                let _ = self.obj().finish_frame(frame);
                Err(gst::FlowError::Error)
            }
        }
    }

    fn finish(&self) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.drain()
    }

    fn flush(&self) -> bool {
        let info = self.state.lock().stream.take().map(|stream| stream.info().clone());
        info.is_none_or(|info| self.open(&info).is_ok())
    }

    fn caps(&self, filter: Option<&gst::Caps>) -> gst::Caps {
        let of_pad = self.obj().sink_pad().pad_template_caps();
        caps::acceptable(&of_pad, self.obj().src_pad().allowed_caps().as_ref(), filter)
    }

    fn sink_query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::AcceptCaps(query) = query.view_mut() {
            // Also while downstream is not ready for them: the stream then begins anew.
            let is_accepted = query.caps().is_subset(&self.obj().sink_pad().pad_template_caps());
            query.set_result(is_accepted);
            return true;
        }
        self.parent_sink_query(query)
    }

    fn propose_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        if let Some(stream) = &mut self.state.lock().stream {
            // The frame before is kept for a comparison.
            let buffers = stream.most_delayed() + 2;
            query.add_allocation_pool(None::<&gst::BufferPool>, stream.info().size() as u32, buffers, 0);
        }
        self.parent_propose_allocation(query)
    }
}

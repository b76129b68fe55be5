/*!
 * `motionx264enc`: encodes H.264 with x264, guided by motion fields and regions of interest.
 *
 * It has the properties, caps and behaviour of GStreamer's `x264enc`: in a pipeline, replace the name.
 * `docs/elements/motionx264enc.md` is its reference.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 pattern=ball ! motionestimate sub-sample=quarter costs=zero+intra+satd ! motionx264enc tune=zerolatency speed-preset=veryfast bitrate=500 ! h264parse ! mp4mux ! filesink location=out/ball.mp4
 * ```
 */
mod caps;
mod captions;
mod constant;
mod flow;
mod imp;
mod settings;
mod setup;
mod stream;
mod values;

use gst::glib;
use gst::prelude::*;

pub use values::*;

glib::wrapper! {
    /// The element `motionx264enc`.
    pub struct MotionX264Enc(ObjectSubclass<imp::MotionX264Enc>)
        @extends gst_video::VideoEncoder, gst::Element, gst::Object,
        @implements gst::Preset;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst_motion_fields::properties::mark_choices(&settings::Settings::param_specs());
    gst::Element::register(Some(plugin), "motionx264enc", gst::Rank::NONE, MotionX264Enc::static_type())
}

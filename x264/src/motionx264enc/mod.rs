/*!
 * `motionx264enc`: encodes H.264 with x264, guided by motion fields and regions of interest.
 *
 * It has the properties, caps and behaviour of GStreamer's `x264enc`: in a pipeline, replace the name. Beside that it reads
 * from buffers:
 *
 * - The motion field of `motionestimate sub-sample=quarter costs=zero+intra+satd`, of any blocks: macroblocks that later
 *   frames will likely be predicted from get more bits. It is for encoding without lookahead, `tune=zerolatency`;
 *   where x264 looks ahead itself (`mb-tree`), fields are not used. `motion-strength` scales it; 0 leaves x264 as it is.
 *   Blocks in which nothing changes are skipped without a search, and where x264 does not look for scene cuts, those
 *   that the field tells of begin a key unit.
 * - `GstVideoRegionOfInterestMeta` with a structure `roi/motionx264enc` or `roi/x264enc`, whose `delta-qp` is added
 *   to the quantisers of the region: below zero it gets more bits. Where regions overlap, the smallest counts.
 *
 * Both need x264's adaptive quantiser, which `pass=quant` and `ultrafast` turn off; the element then warns once.
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

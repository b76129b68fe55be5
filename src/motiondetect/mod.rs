/*!
 * `motiondetect`: finds what moves in front of a camera, which may move too.
 *
 * It compares each frame with a model of the scene, in frames that are halved to at most 2^17 samples of luma, and follows what
 * differs from frame to frame. Pixels pass untouched. `docs/elements/motiondetect.md` is its reference, with messages and
 * metas; `docs/how/motion-detection.md` says how it works, `docs/jobs/what-moves.md` has recipes.
 *
 * ```text
 * gst-launch-1.0 -m filesrc location=video.mp4 ! decodebin ! videoconvert ! motiondetect ! fakesink
 * gst-launch-1.0 v4l2src ! videoconvert ! motiondetect ! motionoverlay style=regions ! videoconvert ! autovideosink
 * ```
 */
use gst::prelude::*;

mod analytics;
mod flow;
mod imp;
mod messages;
mod settings;
mod statistics;
mod stream;

/// Which frames are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionDetectDrop")]
#[non_exhaustive]
#[repr(i32)]
pub enum DetectDrop {
    /// None.
    #[default]
    #[enum_value(name = "None: all frames pass", nick = "none")]
    None = 0,
    /// Those in which nothing moves.
    #[enum_value(name = "Frames in which nothing moves", nick = "still")]
    Still = 1,
}

glib::wrapper! {
    /// The element `motiondetect`.
    pub struct MotionDetect(ObjectSubclass<imp::MotionDetect>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::DetectSettings::param_specs());
    gst::Element::register(Some(plugin), "motiondetect", gst::Rank::NONE, MotionDetect::static_type())
}

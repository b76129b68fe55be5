/*!
 * `motiondenoise`: takes noise out of frames along the motion between them.
 *
 * Each frame is averaged with up to `past` frames before and `future` frames after it. No more is taken out than the noise that
 * is measured. `docs/elements/motiondenoise.md` is its reference, `docs/how/denoising.md` says how noise and weights are
 * computed.
 *
 * The element holds `past + future + pipeline-depth + 1` input buffers and asks for as many more in the answer to the
 * ALLOCATION query; buffers of a pool that cannot give so many are copied. As untouched frames go downstream in their own
 * memory, `GstVideoMeta` is only announced upstream if downstream accepts it.
 *
 * ```text
 * gst-launch-1.0 v4l2src ! videoconvert ! motiondenoise future=0 ! x264enc tune=zerolatency ! fakesink
 * ```
 */
use gst::prelude::*;

mod flow;
mod imp;
mod settings;
mod statistics;
mod stream;

/// Whether noise is taken out inside frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionDenoiseSpatial")]
#[non_exhaustive]
#[repr(i32)]
pub enum DenoiseSpatial {
    /// Where luma shows nothing but noise and a slope.
    #[default]
    #[enum_value(name = "Where luma shows nothing but noise and a slope", nick = "auto")]
    Auto = 0,
    /// Nowhere.
    #[enum_value(name = "Nowhere: frames are only averaged with others", nick = "off")]
    Off = 1,
}

glib::wrapper! {
    /// The element `motiondenoise`.
    pub struct MotionDenoise(ObjectSubclass<imp::MotionDenoise>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::DenoiseSettings::param_specs());
    gst::Element::register(Some(plugin), "motiondenoise", gst::Rank::NONE, MotionDenoise::static_type())
}

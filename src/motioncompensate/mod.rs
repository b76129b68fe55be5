/*!
 * `motioncompensate`: predicts each frame from another one and its motion field.
 *
 * It keeps the previous original frame, or as many as `reference-offset` asks for, and builds the prediction of each frame from
 * it and the vectors on the buffer, as [`motion_frames::compensation`] defines it. `docs/elements/motioncompensate.md` is its
 * reference.
 *
 * One buffer, the previous frame, is held and not copied, with another `reference-offset` as many as frames lie between; the
 * ALLOCATION query asks upstream pools for as many more. In `mode=original` that query is forwarded downstream, because the
 * same memory is sent on. `qos` is off by default, because a dropped late frame would be missing as the reference of the next.
 *
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 pattern=ball ! motionestimate ! motioncompensate mode=original measure=psnr ! fakesink
 * ```
 */
use gst::prelude::*;

mod flow;
mod imp;
mod quality;
mod settings;
mod stream;

pub use quality::NAME as QUALITY_META_NAME;

/// What to send downstream: the `mode` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionCompensateMode")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionCompensateMode {
    /// The prediction.
    #[default]
    #[enum_value(name = "The prediction of each frame", nick = "prediction")]
    Prediction = 0,
    /// The residual.
    #[enum_value(name = "The frame minus its prediction, plus 128", nick = "residual")]
    Residual = 1,
    /// The frame itself.
    #[enum_value(name = "The frame itself, unchanged", nick = "original")]
    Original = 2,
}

/// What to measure: the `measure` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionCompensateMeasure")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionCompensateMeasure {
    /// Nothing.
    #[default]
    #[enum_value(name = "Nothing", nick = "none")]
    None = 0,
    /// PSNR and MSE.
    #[enum_value(name = "PSNR and mean squared error of the prediction", nick = "psnr")]
    Psnr = 1,
}

glib::wrapper! {
    /// The element `motioncompensate`.
    pub struct MotionCompensate(ObjectSubclass<imp::MotionCompensate>)
        @extends gst_video::VideoFilter, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::CompensateSettings::param_specs());
    quality::register();
    let element = MotionCompensate::static_type();
    gst::Element::register(Some(plugin), "motioncompensate", gst::Rank::NONE, element)
}

//! `motioncompensate`: predicts each frame from the one before and its motion field.
/**
 * element-motioncompensate:
 * @short_description: Predicts frames from their motion vectors, and measures how well
 *
 * `motioncompensate` keeps the frame before, and builds the prediction of each frame from it and
 * from the vectors of the `MotionVectorMeta` that comes with the buffer, for luma and chroma. It
 * stands right behind `motionestimate`, or wherever the same frames arrive in the same order with
 * the same timestamps.
 *
 * The reference is the *original* frame before, the one that was searched, and no prediction made
 * here: errors do not add up from frame to frame.
 *
 * ## Modes
 *
 * - `mode=prediction`: the prediction is sent on in the place of the frame.
 * - `mode=residual`: what the prediction leaves to be coded, `frame - prediction + 128`, cut off at
 *   0 and 255, in luma and chroma alike: grey is where the prediction is right.
 * - `mode=original`: the frame passes as it is, neither copied nor changed. With `measure` the
 *   prediction is made and measured all the same.
 *
 * A frame without vectors, as is the first of a stream, passes unchanged in every mode and is not
 * measured: there is nothing to predict it from. Timestamps, vectors and other metadata stay on the
 * buffers in every mode.
 *
 * A sample takes the vector of the block that holds its luma sample, the top left one of chroma that
 * is subsampled; chroma moves by the same distance in the frame, and so may come to lie between
 * samples: it is interpolated as in H.264, 8.4.2.2.2. [`crate::compensation`] says exactly what is
 * computed.
 *
 * ## Measures
 *
 * With `measure=psnr` each predicted frame is compared with the prediction. The result is attached
 * to the buffer as a custom meta named `MotionQualityMeta` and posted on the bus as an element
 * message named `motion-quality`; both have these fields:
 *
 * | field | type | value |
 * |---|---|---|
 * | `mse-y`, `psnr-y` | gdouble | mean squared error, and peak signal-to-noise ratio in dB, of luma |
 * | `mse`, `psnr` | gdouble | the same over all samples of all planes |
 * | `pts` | guint64 | the frame's timestamp, or `GST_CLOCK_TIME_NONE` (in the message only) |
 *
 * Where the prediction is equal to the frame the MSE is 0 and the PSNR infinite. At EOS the message
 * `motion-quality-total` gives the same four fields over all squared errors since the element was
 * started (left out where nothing was predicted), and how many `frames` came and how many were
 * `predicted` and measured, guint64 both.
 *
 * ## What cannot be compensated
 *
 * The reference is forgotten at a discontinuity, a gap, a flush, a new segment or new caps, as
 * `motionestimate` forgets it. Where a field refers to a frame that is not here — another offset
 * than -1, or another timestamp than that of the frame before, because buffers were dropped or
 * stamped anew in between — the frame passes as it is, and a warning on the bus says so once.
 *
 * A field that is malformed or for another frame size is an error.
 *
 * ## Buffers
 *
 * One buffer, the frame before, is held back and not copied: the ALLOCATION query asks for one
 * more buffer in pools upstream. In `mode=original` the query is answered by the element downstream,
 * whom the very same memory reaches; an element there that writes into the frame works on a copy.
 * Late frames are not dropped here (`qos` is off at first): the next one could not be predicted.
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate ! motioncompensate ! videoconvert ! autovideosink
 * ```
 * Shows frames made of the blocks of the frames before.
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 pattern=ball ! motionestimate ! motioncompensate mode=original measure=psnr ! fakesink
 * ```
 * Prints how good the prediction of each frame is, and of all together.
 *
 * Since: plugins-motionestimate-0.1.0
 */
use gst::prelude::*;

mod imp;
mod quality;
mod stream;

pub use quality::NAME as QUALITY_META_NAME;

/// What is sent on: the `mode` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionCompensateMode")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionCompensateMode {
    /// The prediction.
    #[default]
    #[enum_value(name = "The prediction of each frame", nick = "prediction")]
    Prediction = 0,
    /// What the prediction leaves.
    #[enum_value(name = "The frame less its prediction, plus 128", nick = "residual")]
    Residual = 1,
    /// The frame.
    #[enum_value(name = "The frame itself", nick = "original")]
    Original = 2,
}

/// What is measured: the `measure` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionCompensateMeasure")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionCompensateMeasure {
    /// Nothing.
    #[default]
    #[enum_value(name = "Nothing", nick = "none")]
    None = 0,
    /// How far the prediction is from the frame.
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
/// Where GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    quality::register();
    MotionCompensateMode::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    MotionCompensateMeasure::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    let element = MotionCompensate::static_type();
    gst::Element::register(Some(plugin), "motioncompensate", gst::Rank::NONE, element)
}

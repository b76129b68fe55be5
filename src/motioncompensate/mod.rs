/*!
 * `motioncompensate`: predicts each frame from another one and its motion field.
 *
 * `motioncompensate` keeps the previous frame. It builds the prediction of each frame, luma and
 * chroma, from that frame and the vectors of the `MotionVectorMeta` on the buffer. Place it right
 * behind `motionestimate`, or where the same frames arrive in the same order with the same
 * timestamps.
 *
 * The reference is the previous *original* frame, the one that was searched, not a prediction:
 * errors do not accumulate from frame to frame.
 *
 * ## References
 *
 * By default the reference is the previous frame. `reference-offset` chooses the field and the frame: -2
 * for the frame before the previous one, +1 for the next one, and so on, as far as `motionestimate
 * references` goes. A frame without a field at this offset passes unchanged, for example the first ones
 * with -2. With a positive offset each frame waits until its reference has arrived: as many frame
 * durations of latency, which the LATENCY query tells. What ends a sequence, EOS among it, lets the
 * frames that wait pass unchanged; a flush drops them.
 *
 * ## Modes
 *
 * - `mode=prediction`: sends the prediction instead of the frame.
 * - `mode=residual`: sends `frame - prediction + 128`, clipped to 0 … 255, for luma and chroma:
 *   what an encoder would have to code. Grey means that the prediction is exact. Samples of d bits
 *   have 2^(d - 1) and 2^d - 1 in place of 128 and 255.
 * - `mode=original`: sends the frame itself, neither copied nor changed. With `measure` the
 *   prediction is still built and measured.
 *
 * A frame without vectors, such as the first of a stream, passes unchanged in every mode and is not
 * measured. Timestamps, vectors and other metadata stay on the buffers in every mode.
 *
 * A sample uses the vector of the block that holds its luma sample; for subsampled chroma that is
 * the top left of its luma samples. Chroma moves by the same distance within the frame, so a chroma
 * vector may point between samples; chroma is then interpolated as in H.264, 8.4.2.2.2.
 * [`motion_frames::compensation`] has the exact definition.
 *
 * ## Measures
 *
 * With `measure=psnr` each predicted frame is compared with its prediction. The result is attached
 * to the buffer as a custom meta named `MotionQualityMeta` and posted on the bus as an element
 * message named `motion-quality`; both have these fields:
 *
 * | field | type | value |
 * |---|---|---|
 * | `mse-y`, `psnr-y` | gdouble | mean squared error, and peak signal-to-noise ratio in dB, of luma |
 * | `mse`, `psnr` | gdouble | the same over all samples of all planes |
 * | `pts` | guint64 | the frame's timestamp, or `GST_CLOCK_TIME_NONE` (in the message only) |
 *
 * If the prediction equals the frame, the MSE is 0 and the PSNR infinite. At EOS the message
 * `motion-quality-total` has the same four fields over all frames since start (absent if no frame
 * was predicted), the number of `frames` and the number of `predicted` frames, both guint64.
 *
 * ## Frames that are not predicted
 *
 * The reference is dropped where a sequence of `motionestimate` ends. A field may refer to a frame that this element does
 * not have: its timestamp is not that of the reference frame, because buffers were dropped or got new timestamps in between,
 * or all fields of a frame have other offsets than -1 and `reference-offset` is not set. Such a frame passes unchanged, and a
 * warning is posted once.
 *
 * Where a field is malformed, or for another frame size, the frame passes as it is, with a warning. A buffer that is too short for
 * its caps is dropped with one warning; the frames that wait leave before, and the next one begins a sequence. With
 * `mode=original measure=none` nothing is read.
 *
 * ## Buffers
 *
 * One buffer, the previous frame, is held and not copied, with another `reference-offset` as many as
 * frames lie between; the ALLOCATION query asks upstream pools for as many more. If a pool has too few, buffers are copied,
 * and what is held is copied for a serialized query. In `mode=original` the query is forwarded downstream, because the same
 * memory is sent on; a downstream writer triggers copy-on-write. `qos` is off by default, because a dropped late frame would
 * be missing as the reference of the next one.
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate ! motioncompensate ! videoconvert ! autovideosink
 * ```
 * Shows each frame predicted from the blocks of the previous one.
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 pattern=ball ! motionestimate ! motioncompensate mode=original measure=psnr ! fakesink
 * ```
 * Prints the quality of each frame's prediction and the total.
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

/*!
 * `motiondenoise`: takes noise out of frames along the motion between them.
 *
 * `motiondenoise` averages each frame with up to `past` frames before and `future` frames after it, along the motion
 * between them. An encoder behind it needs fewer bits for the same picture: noise is what it cannot predict. How much
 * noise there is is measured in each frame, by brightness, in areas whose noise differs from that of the frame, and for
 * chroma separately. No more than that is taken out: frames without noise pass untouched. A frame that repeats the one
 * before it is denoised as that one. What the other frames leave of the noise is taken out inside luma where that shows nothing but noise
 * and a slope, unless `spatial=off`. `noise-level` sets the noise instead, for those who know it; `strength` is a factor of
 * its square then.
 *
 * What is meant to be removed is the noise of sensors and film: white, or blurred by up to one and a half samples. Coding
 * artefacts, coarser noise, salt and pepper, scratches, and noise that whole rows share are not, or only in part. docs/denoising.md says how noise and weights are computed, and what encoders gain.
 *
 * The result is the same on every device, bit for bit.
 *
 * ## Sequences
 *
 * A sequence is a run of frames without an interruption. It ends where a sequence of `motionestimate` does, and at a change
 * of any property but `strength`, `noise-level` and `spatial`. No frame is averaged with one of another sequence:
 * at its ends there are fewer frames, or none. A flush drops what waits; otherwise each frame leaves once, in order, and
 * events leave between the same frames as they came. Before a serialized event or query all frames leave that wait for no
 * later one; before a query the buffers that are still held are copied.
 *
 * Scene cuts need no setting: frames that do not match have no weight.
 *
 * ## Latency
 *
 * Each frame waits for `future` + `pipeline-depth` - 1 later frames that do not repeat the one before, as the LATENCY query
 * says; of a live source that is slower than its caps, or repeats frames, the median distance of the last five counts. A
 * frame does not wait for more than six times as many, repeats included, nor in a live pipeline for longer than that
 * latency. Repeats that wait share the memory of the frame that they repeat. With `future=0` less noise is taken
 * out. With `strength=0`, or without past and future frames, all frames pass at once.
 *
 * ## Devices
 *
 * `device`, `split`, `balance`, `pipeline-depth`, `on-device-failure` and `threads` are those of `motionestimate`, for the search. Frames
 * are averaged on the same device; of several ones on the first OpenCL GPU, else on the CPU. If that device fails, the CPU goes on
 * with the same frames, and a warning says so. With `device=auto` and a GPU of NVIDIA frames in memory of CUDA stay on the GPU.
 *
 * ## Buffers and metadata
 *
 * The element holds `past + future + pipeline-depth + 1` input buffers and asks for as many more in the answer to the ALLOCATION query;
 * buffers of a pool that cannot give so many are copied. Frames that change are written to buffers of downstream's pool,
 * or of one of the element's, and keep their metadata. As untouched frames go downstream in their own memory,
 * `GstVideoMeta` is only announced upstream if downstream accepts it.
 *
 * ## Unusual input
 *
 * | input | what happens |
 * |---|---|
 * | GRAY16 with fewer significant bits, as of Mono12 cameras | set `significant-bits` |
 * | deep samples that vary in a small part of their range | set `black-level` and `white-level`, between which the search sees them |
 * | a device that cannot be opened, set while playing | a warning, and the earlier settings hold |
 * | a buffer that is too short for its caps | it is dropped with one warning; the frames that wait leave before, and the next one begins a sequence |
 * | interlaced frames, stereo frame by frame | an error: put `deinterlace` or `glviewconvert` before |
 * | `qos=true` while frames wait for later ones | a warning, and `qos` is off again: input that is dropped would let them wait longer |
 * | frames without timestamps | they pass as they are: only their order counts |
 * | a live source that stalls | the frames that wait leave after twice the latency, at least half a second; the next one begins anew |
 *
 * ## Statistics
 *
 * The `stats` property is a structure named `denoise-stats`. At EOS it is also posted on the bus, as an element message
 * of that name.
 *
 * | field | type | value |
 * |---|---|---|
 * | `frames-in` | guint64 | input frames since start |
 * | `denoised` | guint64 | frames that have changed |
 * | `untouched` | guint64 | frames that have left as they came |
 * | `noise` | gdouble | mean standard deviation of the noise that was measured in luma, in levels of the samples |
 * | `device` | string | names of the devices that search; empty before they are opened |
 * | `launcher` | string | what launches their kernels: `opencl`, or `cuda` on a GPU of NVIDIA; NULL for the CPU |
 * | `denoise-device` | string | the name of the device that averages; empty before it is opened |
 * | `denoise-launcher` | string | what launches its kernels, as `launcher` |
 * | `load-time` | guint64 | mean time to take a frame, with its search, ns |
 * | `denoise-time` | guint64 | mean time to measure and average a frame, ns |
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! motiondenoise ! x264enc ! mp4mux ! filesink location=out.mp4
 * ```
 * Encodes a video without its noise.
 * ```text
 * gst-launch-1.0 v4l2src ! videoconvert ! motiondenoise future=0 ! x264enc tune=zerolatency ! fakesink
 * ```
 * The same without delay.
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

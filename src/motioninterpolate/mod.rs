/*!
 * `motioninterpolate`: makes frames between frames, for a higher frame rate or slow motion.
 *
 * `motioninterpolate` changes the frame rate as `videorate` does, but makes the frames that are missing instead of
 * repeating others. Caps downstream choose the frame rate: `motioninterpolate ! video/x-raw,framerate=60/1`. Without
 * such caps it stays, and only frames that are missing in the input are made. `rate=0.5` is slow motion: everything takes
 * twice as long, and twice as many frames of the same frame rate are sent.
 *
 * ## Times of frames
 *
 * Output frame k of a segment is at `start + k · d/n`, for the frame rate n/d of the output and the time at which the segment
 * starts, without gap or overlap, whatever is missing in the input. Timestamps of the output are rounded down to
 * nanoseconds. A segment that goes on in running time where the one before has ended, or has the running times of the one
 * before, and frames with other caps, go on with the same grid of times; another output frame rate begins where the one
 * before has ended. Behind frames that have passed at their own times, because there was no output frame rate or no frame
 * could be made, frame 0 is where the last of them ends, or at the next one if that is earlier or the duration is unknown.
 * Output frames never go back in time unless the source does.
 *
 * An input frame at the time of an output frame passes: a copy of the buffer that shares its memory, or at the same frame
 * rate the buffer itself. An output frame between two input frames is made, at the exact phase: from 24 to 60 frames a second
 * 0, 2/5, 4/5, 1/5, 3/5. Input frames at other times are not sent themselves.
 *
 * Where the input has a frame rate and timestamps are those of frames of this rate, rounded to up to a
 * millisecond as containers do, frames count and not timestamps. Otherwise nanoseconds do, and phases are rounded to
 * 1/1024 of the interval. If the first frame is not a whole number of input frames after the segment's start, it is shown at
 * the nearest output frame, and the others are counted from there: at most half an output frame early or late. If the frame
 * rate stays the same, frames up to a quarter of a frame beside their times pass too, as cameras send them.
 *
 * | where | the output shows |
 * |---|---|
 * | before the first frame of a segment | that frame; nothing if it comes more than a minute late |
 * | between two frames | what is made of both |
 * | between two frames with a DISCONT flag or GAP event where at least half an input frame is missing | the frame before |
 * | in a pause of more than a second and four frames of the input's rate | the frame before; nothing is searched |
 * | before the first frame with other caps | that frame |
 * | after the last frame | that frame, until it ends or, at EOS, until the segment stops |
 * | at the stop of the segment and later | nothing |
 *
 * A frame ends after the duration of its buffer, else of the frame rate, else of the
 * interval before it. A duration of more than a second and four frames is not believed. 24 frames of 24 a second become 60
 * frames of 60 a second. Each output frame lasts until the next one, also where the input pauses. The last one ends where the
 * input ends, except that a frame that passes lasts a whole output frame where the segment has no stop: whether it is the
 * last one is not known yet. A GAP event that is filled does not go downstream, except before the first frame, and neither
 * does one before the first segment. A flush drops what has not left.
 *
 * With `drop-lossy-duplicates` up to three frames in a row that differ from the frame before by coding noise alone are
 * dropped, as if they were missing. The noise is measured in frames that have passed: no frame waits for it.
 *
 * ## Modes
 *
 * - `mode=motion`: frames are made of both frames along the motion between them. At a scene cut the nearer frame is
 *   repeated, unless `scene-cut=off`. Noise, fades and flashes are no scene cuts. `scene-cut-threshold` is the percentage of
 *   the structure of the picture that must have no match in the next frame, 40 by default: less finds more scene cuts, 100
 *   none. (`scd_threshold` of FFmpeg's `minterpolate`, 10 by default, is another percentage: of the mean difference of
 *   samples, and of how that changes.) `quality=balanced`, the default, takes longer than `quality=fast` and leaves fewer
 *   seams at the edges of what moves; the latency is the same. `quality=high` takes longer still: the input frames before
 *   and after the two show what only one of both does. It waits for one input frame more. Where the frame before or after
 *   is missing, of another scene or at another distance, the made frame is that of `quality=balanced`.
 * - `mode=blend`: the weighted mean of both frames, `(w · P + (64 - w) · N + 32) >> 6` for each sample of the previous
 *   frame P and the next frame N, with `w = (64 (d - n) + d/2) / d` at the phase n/d.
 * - `mode=repeat`: the nearer frame is repeated, by reference; half way the next one.
 *
 * `device`, `split`, `balance`, `on-device-failure`, `pipeline-depth` and `threads` are those of `motionestimate`, for the
 * search of `mode=motion`; the other modes search nothing. The same device makes the frames; with a list of devices its first
 * OpenCL GPU, else the CPU. If it fails, `on-device-failure` decides whether the CPU goes on. Every device makes the same
 * frames.
 *
 * ## Speed
 *
 * `rate` divides every time: timestamps, durations, segments with their running times, gaps, positions and durations
 * that are asked for; seeks are multiplied. It may be changed while playing, by a control source too. The change holds from
 * the next frame on; time goes on without a jump, and the grid of output times stays. A segment follows whose base is the
 * running time of the change, and whose stop is that of the input at the new speed. Its stream times, as the answers to
 * SEGMENT, POSITION, DURATION and SEEKING queries, are those of the input divided by the new speed.
 *
 * Input without a frame rate gets the nearest to its `max-framerate`, else 30/1, where downstream takes any.
 *
 * ## Unusual input
 *
 * | input | what happens |
 * |---|---|
 * | frame rate 0/1 or none | output frames at the times of the output's rate, between the timestamps that come |
 * | output frame rate 0/1 | every frame passes; with another `rate` than 1 a warning says that none are made |
 * | a timestamp that is not after that of the frame before | the frame is dropped; one warning is posted. Three such frames that follow each other, or one behind a segment, are a source that begins anew: output frames go back with them |
 * | a timestamp more than a second and four frames ahead, of the first frame after the segment's start | the frame waits for the next one; if that is earlier again, it is dropped |
 * | deep samples that vary in a small part of their range | set `black-level` and `white-level`, between which the search sees them |
 * | a device that cannot be opened, set while playing | a warning; the earlier device goes on, or without one the CPU |
 * | no timestamp | the frame follows the one before; an error if neither durations nor a frame rate tell when |
 * | interlaced frames | they pass at the same frame rate; otherwise they are repeated or dropped as with `mode=repeat`, and one warning is posted: put `deinterlace` before |
 * | stereo frame by frame | they pass at the same frame rate; otherwise an error: put `glviewconvert` before |
 * | a buffer that is too short for its caps | it is dropped with one warning, unless frames only pass or are repeated; the frames that wait leave before, and none is made across it |
 * | a segment that is not in time | an error |
 * | backwards playback | the same from the stop of the segment down to its start, in the order in which frames come; a change of `rate` holds from the next segment on. Without a stop every frame passes |
 *
 * ## Formats
 *
 * Frames are made in planar and packed YUV, with interleaved chroma, and in RGB, also with alpha; the pad templates list the
 * formats. Components that are not in planes of their own are copied to such planes, and what is made of them back. Alpha and the
 * colours of RGB are predicted as luma is. RGB is searched by luma of its colours, `(77 R + 150 G + 29 B + 128) >> 8`. Bytes of
 * pixels that have no meaning are 255 in frames that are made.
 *
 * `image/jpeg`, `image/png` and `video/x-bayer` pass at the same frame rate. At another `rate` their frames are repeated or
 * dropped, and one warning is posted.
 *
 * ## Latency and late frames
 *
 * A frame can be made when the next input frame has come: the LATENCY query gets one frame duration of the input more
 * (none if the caps have no frame rate, or the frame rate stays). With `pipeline-depth=1` input frames wait for no other
 * ones. With a larger value `pipeline-depth - 1` of them wait with `mode=motion`, which adds as many frame durations: a device
 * searches them while the frames before them are made. With `quality=high` one more waits, where the frame rate changes. They leave before a serialized event or query, and before a query the buffers that are
 * still held are copied; a flush drops them. If a live source pauses, the newest frame is repeated as soon as the latency and
 * one frame more have passed. With `qos`, frames that would be too late for downstream are not made, and a
 * QOS message is posted for each; input frames pass all the same. Two frames between which all would be too late are not
 * searched, and where a search takes too long, the next ones are left out for up to 64 intervals.
 *
 * ## Buffers and metadata
 *
 * One input buffer is held, the newest one, and those that wait; the answer to the ALLOCATION query asks for them. Where
 * upstream has a pool of fewer buffers, fewer wait. Frames are made in buffers
 * of downstream's pool, or of one of the element's; frames in memory of CUDA, which are taken where the pad templates name
 * them, on the GPU that has them, in buffers of the element's own pool. As input frames go downstream in their own memory,
 * `GstVideoMeta` is only announced upstream if downstream accepts it.
 *
 * Each output frame has metadata of input frames:
 *
 * | metadata | is on |
 * |---|---|
 * | crop rectangle, affine transformation, AFD, bars, overlay composition | every output frame; one that is made has that of the nearer input frame |
 * | captions, time codes, regions of interest, custom and all others | one output frame: the first at the time of the input frame or after it; of a frame dropped as a duplicate, of the next input frame |
 * | `MotionVectorMeta` | frames that pass at the same frame rate; elsewhere the frames beside them are others |
 * | what describes memory | frames in the same memory |
 *
 * Metadata of input frames that are dropped because of their time, or later than the last output frame, is lost.
 *
 * ## Statistics
 *
 * The `stats` property is a structure named `interpolation-stats`. At EOS it is also posted on the bus, as an element
 * message of that name. Output frames are counted as `made`, `passed`, `repeated` or `scene-cuts`.
 *
 * | field | type | value |
 * |---|---|---|
 * | `frames-in`, `frames-out` | guint64 | input and output frames since start |
 * | `made` | guint64 | frames that were made |
 * | `passed` | guint64 | input frames that were sent at their time |
 * | `repeated` | guint64 | input frames that were sent at another time: by `mode=repeat`, and where nothing can be made |
 * | `scene-cuts` | guint64 | the same, because of a scene cut |
 * | `late` | guint64 | frames that were not made because they would have been too late |
 * | `out-of-order` | guint64 | input frames that were dropped because of their timestamps |
 * | `frames-dropped` | guint64 | input frames that were dropped because they repeat the one before |
 * | `search-device` | string | names of the devices that search; empty before they are opened |
 * | `make-device` | string | name of the device that makes frames; empty before it is opened |
 * | `search-launcher`, `make-launcher` | string | what launches their kernels: `opencl`, or `cuda` on a GPU of NVIDIA; NULL for the CPU |
 * | `load-time` | guint64 | mean time to take an input frame, with its search, ns |
 * | `make-time` | guint64 | mean time to make a frame, ns |
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=48 pattern=ball ! video/x-raw,framerate=24/1 ! motioninterpolate ! video/x-raw,framerate=60/1 ! videoconvert ! autovideosink
 * ```
 * From 24 to 60 frames a second.
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=60 pattern=ball ! motioninterpolate rate=0.25 ! videoconvert ! autovideosink
 * ```
 * A quarter of the speed.
 */
use gst::prelude::*;
use motion_frames::interpolation::FrameQuality;

use crate::settings::conversions;

mod caps;
mod flow;
mod holding;
mod imp;
mod input_clock;
mod load;
mod maker;
mod messages;
mod metas;
mod motion;
mod order;
mod packing;
mod plan;
mod planes;
mod preparing;
mod ratio;
mod repeats;
mod retime;
mod settings;
mod state;
mod statistics;
mod stream;
mod timeline;

/// What a frame between two input frames is made of: the `mode` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionInterpolateMode")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionInterpolateMode {
    /// Both frames, along the motion between them.
    #[default]
    #[enum_value(name = "Both frames, along the motion between them", nick = "motion")]
    Motion = 0,
    /// The weighted mean of both frames.
    #[enum_value(name = "The weighted mean of both frames", nick = "blend")]
    Blend = 1,
    /// The nearer frame.
    #[enum_value(name = "The nearer frame is repeated", nick = "repeat")]
    Repeat = 2,
}

/// How much is done for the frames that are made: the `quality` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionInterpolateQuality")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionInterpolateQuality {
    /// See [`FrameQuality::Fast`].
    #[enum_value(name = "Samples are predicted by the four nearest vectors", nick = "fast")]
    Fast = 0,
    /// See [`FrameQuality::Balanced`].
    #[default]
    #[enum_value(
        name = "Samples are predicted by all vectors around, those that match well count more",
        nick = "balanced"
    )]
    Balanced = 1,
    /// See [`FrameQuality::High`].
    #[enum_value(
        name = "The same with the frames before and after, which adds a frame of latency",
        nick = "high"
    )]
    High = 2,
}

conversions! {
    MotionInterpolateQuality => FrameQuality { Fast, Balanced, High }
}

/// What happens between two scenes: the `scene-cut` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionInterpolateSceneCut")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionInterpolateSceneCut {
    /// At a scene cut the nearer frame is repeated.
    #[default]
    #[enum_value(name = "The nearer frame is repeated", nick = "auto")]
    Auto = 0,
    /// Frames are made between any two frames.
    #[enum_value(name = "Scene cuts are not looked for", nick = "off")]
    Off = 1,
}

glib::wrapper! {
    /// The element `motioninterpolate`.
    pub struct MotionInterpolate(ObjectSubclass<imp::MotionInterpolate>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::InterpolationSettings::param_specs());
    let element = MotionInterpolate::static_type();
    gst::Element::register(Some(plugin), "motioninterpolate", gst::Rank::NONE, element)
}

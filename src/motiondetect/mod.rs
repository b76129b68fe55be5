/*!
 * `motiondetect`: finds what moves in front of a camera.
 *
 * `motiondetect` compares each frame with a model of the scene, in frames that are halved to at most 2^17 samples of luma, and follows
 * what differs from frame to frame. It works with a still and with a moving camera. Pixels pass untouched; what is found is told by
 * messages on the bus and by metas on the buffers. docs/motion-detection.md says how it works, what it cannot do, and has recipes
 * for cameras.
 *
 * Vectors are those of a `MotionVectorMeta` of the previous frame, where `motionestimate` is upstream. Without one the element searches
 * itself, by hierarchical search on one thread of the CPU.
 *
 * ## Messages
 *
 * With each region that begins and ends comes an element message, `motion-begin` or `motion-end`, unless `messages=false`. All regions
 * end at EOS, at a flush, and with other caps.
 *
 * | field | type | value |
 * |---|---|---|
 * | `id` | guint64 | the number of the region, of no other region of the element |
 * | `x`, `y`, `width`, `height` | guint | its box in the frame, in samples; in `motion-end` the last one |
 * | `velocity-x`, `velocity-y` | gdouble | its motion in samples a second, right and down, without the camera's |
 * | `confidence` | gdouble | how sure it is, 0 to 1 |
 * | `begin`, `last` | guint64 | timestamps of the frames in which it was first and last seen |
 * | `timestamp`, `stream-time`, `running-time`, `duration` | GstClockTime | of the frame with which it begins or ends |
 *
 * ## Metas
 *
 * Each frame has a `MotionCameraMeta`: how the camera has moved, and the ids of regions that begin and end with the frame. Each region
 * that is seen is a `GstVideoRegionOfInterestMeta` of the type `motion`. [`camera`](crate::camera) has their fields. With
 * `delta-qp` the region asks encoders for another quality, as `x264enc` and `motionx264enc` read it.
 *
 * `motionoverlay style=regions` draws the regions, and `motionserialize` writes them as NDJSON.
 *
 * ## Recording
 *
 * With `drop=still` frames pass only while a region is open, from `pre-roll` before until `post-roll` after it. In place of each
 * other frame a GAP event goes downstream. With `pre-roll` all frames are later by it, as the LATENCY query says, and as many
 * buffers wait; those of a pool that has too few are copied.
 *
 * ## Unusual input
 *
 * | input | what happens |
 * |---|---|
 * | frames without timestamps | they count as evenly spaced, as the caps say, or 30 a second |
 * | frames of fewer than 32 samples on a side once they are halved | they pass untouched, with a warning |
 * | deep samples that vary in a small part of their range | set `black-level` and `white-level` |
 * | a mask that cannot be read, set while playing | a warning, and the earlier one holds |
 * | a buffer that is too short for its caps | it is dropped with one warning |
 * | a discontinuity, a GAP | the scene and the regions go on |
 * | another scene | nothing begins in the first `settle` unless it travels |
 * | stereo frame by frame | an error: put `glviewconvert` before |
 *
 * ## Statistics
 *
 * The `stats` property is a structure named `detect-stats`. At EOS it is also posted on the bus, as an element message
 * of that name.
 *
 * | field | type | value |
 * |---|---|---|
 * | `frames-in` | guint64 | input frames since start |
 * | `dropped` | guint64 | frames that were dropped because nothing moved |
 * | `in-motion` | guint64 | frames with regions |
 * | `settling` | guint64 | frames while the light settled |
 * | `camera-moved` | guint64 | frames in which the camera moved |
 * | `begun`, `ended` | guint64 | regions |
 * | `noise` | gdouble | standard deviation of the noise that was measured last, in halved frames, in levels of 8 bits |
 * | `time` | guint64 | mean time for a frame, ns |
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 -m filesrc location=video.mp4 ! decodebin ! videoconvert ! motiondetect ! fakesink
 * ```
 * Prints what begins and ends to move.
 * ```text
 * gst-launch-1.0 v4l2src ! videoconvert ! motiondetect ! motionoverlay style=regions ! videoconvert ! autovideosink
 * ```
 * Shows what moves in front of a camera.
 */
use gst::prelude::*;

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

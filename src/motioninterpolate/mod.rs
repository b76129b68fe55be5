/*!
 * `motioninterpolate`: makes frames between frames, for a higher frame rate or slow motion.
 *
 * It changes the frame rate as `videorate` does, but makes the frames that are missing instead of repeating others.
 * `docs/elements/motioninterpolate.md` is its reference: times of frames, unusual input, metadata, statistics.
 *
 * One input buffer is held, the newest one, and those that wait; the answer to the ALLOCATION query asks for them. Frames are
 * made in buffers of downstream's pool, or of one of the element's. As input frames go downstream in their own memory,
 * `GstVideoMeta` is only announced upstream if downstream accepts it.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=48 pattern=ball ! video/x-raw,framerate=24/1 ! motioninterpolate ! video/x-raw,framerate=60/1 ! videoconvert ! autovideosink
 * ```
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

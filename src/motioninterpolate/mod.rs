//! `motioninterpolate`: makes frames between frames.
use gst::prelude::*;

mod imp;
mod maker;
mod retime;
mod settings;
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
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    MotionInterpolateMode::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    MotionInterpolateSceneCut::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    let element = MotionInterpolate::static_type();
    gst::Element::register(Some(plugin), "motioninterpolate", gst::Rank::NONE, element)
}

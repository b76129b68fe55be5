/*!
 * `motionoverlay`: draws the motion field that is attached to a frame into the frame.
 *
 * `docs/elements/motionoverlay.md` is its reference.
 *
 * ```text
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate ! motionoverlay ! videoconvert ! autovideosink
 * ```
 */
mod arrows;
mod canvas;
mod color;
mod drawing;
mod imp;
mod settings;
mod stream;

use gst::glib;
use gst::prelude::*;

/// How the motion field is drawn: the `style` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(u32)]
#[enum_type(name = "GstMotionOverlayStyle")]
#[non_exhaustive]
pub enum MotionOverlayStyle {
    /// One arrow per block.
    #[default]
    #[enum_value(name = "An arrow per block, from its old to its new position", nick = "arrows")]
    Arrows = 0,
    /// One tint per block.
    #[enum_value(name = "A tint per block: hue is direction, brightness is length", nick = "color")]
    Color = 1,
    /// One tint per row of blocks.
    #[enum_value(name = "A tint per row of blocks: the device that searched it", nick = "devices")]
    Devices = 2,
    /// One tint per macroblock.
    #[enum_value(
        name = "A tint per macroblock: green gets more bits of motionx264enc, red gets fewer",
        nick = "quantizer"
    )]
    Quantizer = 3,
    /// A frame around each region of motion.
    #[enum_value(name = "A frame around each region of motion that motiondetect has found", nick = "regions")]
    Regions = 4,
}

glib::wrapper! {
    /// The element `motionoverlay`.
    pub struct MotionOverlay(ObjectSubclass<imp::MotionOverlay>)
        @extends gst_video::VideoFilter, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::OverlaySettings::param_specs());
    gst::Element::register(Some(plugin), "motionoverlay", gst::Rank::NONE, MotionOverlay::static_type())
}

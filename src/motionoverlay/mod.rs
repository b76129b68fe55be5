/*!
 * `motionoverlay`: draws the motion field that is attached to a frame into the frame.
 *
 * Draws the motion field attached to a frame into the frame. Frames without vectors pass unchanged.
 *
 * ```text
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate ! motionoverlay ! videoconvert ! autovideosink
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate ! motionoverlay style=color ! videoconvert ! autovideosink
 * ```
 *
 * ```text
 * gst-launch-1.0 videotestsrc pattern=ball ! motionestimate device=all ! motionoverlay style=devices ! videoconvert ! autovideosink
 * ```
 *
 * The first two styles show *movement*, the direction in which objects move over time: for a vector
 * `(x, y)` into an earlier frame that is `(-x, -y)`.
 *
 * - `style=arrows`: with an earlier reference frame, an arrow goes from the block's position there
 *   to the middle of the block. With a later one it goes from the middle of the block to its
 *   position there. `scale` multiplies the length; the end in the middle of the block is fixed.
 * - `style=color`: every block is tinted. The hue is the direction (right red, down green, left cyan,
 *   up violet), the brightness grows with the square root of the length and is full at
 *   16 samples / `scale`. Blocks without movement are darkened. `legend=true` draws a disc of these
 *   colours at the bottom right, whose rim stands for movements of 16 samples / `scale`.
 * - `style=devices`: every row of blocks is tinted by the device that searched it, if
 *   `motionestimate` runs on several devices with `split=rows` or `split=frames`. The colours, in
 *   the order of the device list, are orange, light blue, green, yellow, blue, red, pink and grey,
 *   then again from the start. A frame that one device searched alone is not tinted.
 * - `style=regions`: a frame around each region that `motiondetect` has found, in a colour of its own while it lasts.
 * - `style=quantizer`: every macroblock is tinted by the quantiser offset that `motionx264enc` adds there, for a field with
 *   the costs `intra` and `satd` and for regions of interest: green gets more bits, red gets fewer, in full at 6 steps.
 *
 * If a frame was searched in several frames, `reference-offset` chooses the field: -1 for the previous frame, +1 for the
 * next one, and so on. By default the first field is drawn.
 *
 * A vector shorter than `threshold` samples is not drawn and counts as no movement.
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

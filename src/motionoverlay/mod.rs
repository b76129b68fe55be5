/*!
 * element-motionoverlay:
 *
 * Draws the motion field that comes with a frame into the frame. Frames without vectors pass
 * unchanged.
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
 * The first two styles show *movement*, the way things go as time passes: for a vector `(x, y)` into an
 * earlier frame that is `(-x, -y)`.
 *
 * - `style=arrows`: where the reference is earlier, the tail lies where the block was and the head
 *   in the middle of the block; where it is later, the tail lies in the middle of the block and the
 *   head where it will be. `scale` multiplies their length about the middle of the block.
 * - `style=color`: every block is tinted. The hue is the direction (right red, down green, left cyan,
 *   up violet, as on a wheel in steps of 90°), the brightness grows with the square root of the
 *   length and is full at 16 samples divided by `scale`. Blocks at rest are darkened.
 * - `style=devices`: every row of blocks is tinted by the device that searched it, where
 *   `motionestimate` shares a frame among several by rows, or gives each whole frames. The
 *   colours, in the order of the list of devices: orange, light blue, green, yellow, blue, red,
 *   pink, grey, and from the first again. Where one device searched all, the frame stays as it is.
 *
 * A vector shorter than `threshold` samples is not drawn, and counts as at rest.
 */
mod arrows;
mod canvas;
mod color;
mod imp;

use gst::glib;
use gst::prelude::*;

/// How the motion field is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(u32)]
#[enum_type(name = "GstMotionOverlayStyle")]
#[non_exhaustive]
pub enum MotionOverlayStyle {
    /// An arrow a block.
    #[default]
    #[enum_value(name = "Arrows: from where each block was to where it is", nick = "arrows")]
    Arrows = 0,
    /// A tint a block.
    #[enum_value(name = "Color: direction as hue, length as brightness", nick = "color")]
    Color = 1,
    /// A tint a row of blocks.
    #[enum_value(name = "Devices: each row of blocks in the colour of who searched it", nick = "devices")]
    Devices = 2,
}

glib::wrapper! {
    /// The element `motionoverlay`.
    pub struct MotionOverlay(ObjectSubclass<imp::MotionOverlay>)
        @extends gst_video::VideoFilter, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// Where GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    MotionOverlayStyle::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    gst::Element::register(Some(plugin), "motionoverlay", gst::Rank::NONE, MotionOverlay::static_type())
}

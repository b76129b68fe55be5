//! The frames of a stream from one caps to the next.

use super::MotionOverlayStyle;
use super::drawing::Drawing;
use super::settings::OverlaySettings;
use crate::meta::MotionVectorMeta;
use crate::video::frame::FrameLayout;

/// What holds from one caps to the next.
pub struct OverlayStream {
    layout: FrameLayout,
    drawing: Drawing,
}

impl OverlayStream {
    pub fn new(info: gst_video::VideoInfo) -> Self {
        Self { drawing: Drawing::new(&info), layout: FrameLayout::new(info) }
    }

    /// The width and height of its frames.
    pub fn size(&self) -> (u32, u32) {
        (self.layout.info().width(), self.layout.info().height())
    }

    /// Draws `field` into the frame in `buffer`.
    ///
    /// # Errors
    /// If the buffer does not hold a frame, or the frame is too large.
    pub fn draw(
        &mut self,
        buffer: &mut gst::BufferRef,
        field: &MotionVectorMeta,
        settings: &OverlaySettings,
    ) -> Result<(), glib::BoolError> {
        let Self { layout, drawing } = self;
        let frame = layout.write(buffer).map_err(|error| glib::bool_error!("the frame has {error}"));
        let frame = &mut frame?;
        match settings.style {
            MotionOverlayStyle::Arrows => drawing.draw_arrows(frame, field, settings),
            MotionOverlayStyle::Color => drawing.draw_tints(frame, field, settings),
            MotionOverlayStyle::Devices => drawing.draw_devices(frame, field),
        }
    }
}

//! The frames of a stream from one caps to the next.

use super::MotionOverlayStyle;
use super::drawing::Drawing;
use super::settings::OverlaySettings;
use crate::camera::RegionMotion;
use crate::meta::MotionVectorMeta;
use crate::quantizer::{QuantizerOffsets, Rule};
use crate::video::frame::FrameLayout;

/// What holds from one caps to the next.
pub struct OverlayStream {
    layout: FrameLayout,
    drawing: Drawing,
    /// Made when offsets are first drawn.
    quantizer: Option<QuantizerOffsets>,
}

impl OverlayStream {
    pub fn new(info: gst_video::VideoInfo) -> Self {
        Self { drawing: Drawing::new(&info), quantizer: None, layout: FrameLayout::new(info) }
    }

    /// The width and height of its frames.
    pub fn size(&self) -> (u32, u32) {
        (self.layout.info().width(), self.layout.info().height())
    }

    /// Draws `field`, if there is one, into the frame in `buffer`.
    ///
    /// # Errors
    /// If the buffer does not hold a frame, or the frame is too large.
    pub fn draw(
        &mut self,
        buffer: &mut gst::BufferRef,
        field: Option<&MotionVectorMeta>,
        settings: &OverlaySettings,
    ) -> Result<(), glib::BoolError> {
        let size = self.size();
        let Self { layout, drawing, quantizer } = self;
        if settings.style == MotionOverlayStyle::Regions {
            let regions: Vec<_> = RegionMotion::all_of(buffer).collect();
            if regions.is_empty() {
                return Ok(());
            }
            let frame = layout.write(buffer).map_err(|error| glib::bool_error!("the frame has {error}"));
            return drawing.draw_regions(&mut frame?, &regions);
        }
        if settings.style == MotionOverlayStyle::Quantizer {
            let quantizer = quantizer.get_or_insert_with(|| QuantizerOffsets::new(size));
            // Regions of interest have offsets too.
            if !quantizer.next(buffer, field, (1.0, Rule::default())).any() {
                return Ok(());
            }
        } else if field.is_none() {
            return Ok(());
        }
        let frame = layout.write(buffer).map_err(|error| glib::bool_error!("the frame has {error}"));
        let frame = &mut frame?;
        match (settings.style, field, quantizer) {
            (MotionOverlayStyle::Arrows, Some(field), _) => drawing.draw_arrows(frame, field, settings),
            (MotionOverlayStyle::Color, Some(field), _) => drawing.draw_tints(frame, field, settings),
            (MotionOverlayStyle::Devices, Some(field), _) => drawing.draw_devices(frame, field),
            (MotionOverlayStyle::Quantizer, _, Some(quantizer)) => {
                drawing.draw_offsets(frame, (quantizer.offsets(), quantizer.grid().0))
            }
            _ => Ok(()),
        }
    }
}

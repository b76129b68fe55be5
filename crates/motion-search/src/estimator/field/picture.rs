//! A field as an image.

use image::{Rgb, RgbImage};

use super::{FieldError, MotionField, motion_color};

#[cfg_attr(docsrs, doc(cfg(feature = "image")))]
impl MotionField {
    /// A picture of the motion, with a pixel for each sample of the frame, in the colours of [`motion_color`]: the longest
    /// motion of the field has the brightest. A field without motion is black.
    ///
    /// ```
    /// use motion_search::image::GrayImage;
    /// use motion_search::{Frame, MotionSearch};
    ///
    /// let picture = |moved| GrayImage::from_fn(64, 48, |x, y| [((x + moved) * (x + moved) + 5 * y * y) as u8].into());
    /// let (current, reference) = (Frame::try_from(&picture(2))?, Frame::try_from(&picture(0))?);
    /// let field = MotionSearch::builder(64, 48).build()?.search(&current, &reference)?;
    /// // What is here is further to the right in the reference frame.
    /// assert_eq!(field.to_image()?.get_pixel(20, 20).0, [255, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FieldError`] as [`Self::check`]; [`FieldError::Grid`] for a frame whose pixels do not fit in memory that can be
    /// addressed.
    pub fn to_image(&self) -> Result<RgbImage, FieldError> {
        self.check()?;
        let (width, height) = self.size;
        let lengths = self.vectors.iter().map(|&vector| {
            let (right, down) = self.samples(vector);
            right.hypot(down)
        });
        let longest = lengths.fold(f32::MIN_POSITIVE, f32::max);
        let side = |samples: usize| u32::try_from(samples).ok();
        let has_room = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(3)).is_some();
        let (Some(across), Some(down), true) = (side(width), side(height), has_room) else {
            let Self { block_size, grid, .. } = *self;
            return Err(FieldError::Grid {
                width,
                height,
                block_size,
                columns: grid.columns,
                rows: grid.rows,
            });
        };
        Ok(RgbImage::from_fn(across, down, |x, y| {
            let motion = self.motion_at(x as usize, y as usize).unwrap_or_default();
            Rgb(motion_color(motion, longest).map(|part| (255.0 * part).round() as u8))
        }))
    }
}

//! Frames from images of the crate `image`.

use image::GrayImage;

use crate::{Frame, FrameError};

/// The samples of `image` as they are. Colours become luma by `image::DynamicImage::to_luma8`.
fn frame_of(image: GrayImage) -> Result<Frame, FrameError> {
    let (width, height) = image.dimensions();
    Frame::from_samples(image.into_raw(), width as usize, height as usize)
}

#[cfg_attr(docsrs, doc(cfg(feature = "image")))]
impl TryFrom<GrayImage> for Frame {
    type Error = FrameError;

    /// The image's samples, which are not copied.
    ///
    /// # Errors
    /// [`FrameError::Empty`] for an image without samples.
    fn try_from(image: GrayImage) -> Result<Self, FrameError> {
        frame_of(image)
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "image")))]
impl TryFrom<&GrayImage> for Frame {
    type Error = FrameError;

    /// A copy of the image's samples.
    ///
    /// # Errors
    /// [`FrameError::Empty`] for an image without samples.
    fn try_from(image: &GrayImage) -> Result<Self, FrameError> {
        frame_of(image.clone())
    }
}

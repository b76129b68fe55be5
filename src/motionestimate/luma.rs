//! The luma plane of a video frame, wherever it lies.

use gst_video::prelude::*;
use gst_video::video_frame::IsVideoFrame;

use crate::estimator::{Picture, PictureError};

/// Why a frame's luma plane cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LumaError {
    /// Rows that go up in memory, or none at all.
    #[error("rows {0} bytes apart cannot be read")]
    Stride(i32),
    /// The frame says that its plane starts outside the memory that was mapped for it.
    #[error("the luma plane starts outside the mapped memory")]
    Offset,
    /// The memory ends before the plane does, or rows overlap.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

/// The luma plane of `frame`: the first plane of every format this plugin takes.
///
/// Frames are not taken at their word: a `GstVideoMeta` may announce more than its buffer has.
///
/// # Errors
/// [`LumaError`] where the plane does not lie in the mapped memory.
pub fn luma<'a>(frame: &'a gst_video::VideoFrameRef<&gst::BufferRef>) -> Result<Picture<'a>, LumaError> {
    let (width, height) = (frame.width() as usize, frame.height() as usize);
    let stride = frame.plane_stride()[0];
    let stride = usize::try_from(stride).ok().filter(|&s| s > 0).ok_or(LumaError::Stride(stride))?;

    // Whether the buffer has a GstVideoMeta or not, the memory of the first plane is the first
    // that was mapped.
    let raw = frame.as_raw();
    let (map, plane) = (&raw.map[0], raw.data[0].cast_const().cast::<u8>());
    let offset = (plane as usize).checked_sub(map.data as usize).ok_or(LumaError::Offset)?;
    let present = map.size.checked_sub(offset).ok_or(LumaError::Offset)?;
    if plane.is_null() {
        return Err(LumaError::Offset);
    }
    // SAFETY: `plane` is not null and lies `offset` bytes into a mapping of `map.size` bytes, of
    // which `present` are left. The mapping is for reading and lasts as long as `frame`, which
    // the slice borrows.
    let samples = unsafe { std::slice::from_raw_parts(plane, present) };
    Ok(Picture::new(samples, width, height, stride)?)
}

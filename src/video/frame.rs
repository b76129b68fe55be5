//! Planes of buffers as frames of a search, also on a GPU.

use std::ops::Deref;
use std::sync::Arc;

use gst_video::VideoFrame;
use gst_video::video_frame::Readable;

#[cfg(feature = "cuda")]
use super::cuda::{ReadableCudaFrame, WritableCudaFrame};
#[cfg(feature = "cuda")]
use gst_motion_fields::frame::check_meta;
use gst_motion_fields::frame::samples;
pub use gst_motion_fields::frame::{FrameLayout, PlaneError, WritableFrame, frame_message};
use motion_frames::duplicates::DuplicateFinder;
use motion_search::estimator::{BlockHandle, Frame, FrameSource};

/// A plane of a mapped buffer.
struct MappedPlane {
    frame: Arc<VideoFrame<Readable>>,
    index: usize,
    block: Option<BlockHandle>,
}

impl FrameSource for MappedPlane {
    fn bytes(&self) -> &[u8] {
        samples(&*self.frame, self.index).map_or(&[], |(samples, _)| samples)
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.block.as_ref()
    }
}

/// A buffer that is mapped as long as frames are read from it.
enum Mapped {
    OnHost(Arc<VideoFrame<Readable>>),
    #[cfg(feature = "cuda")]
    OnGpu(Arc<ReadableCudaFrame>),
}

/// Whether two buffers hold the same frame but for coding noise, as `finder` tells.
///
/// # Errors
/// As [`FrameLayout::is_equal`].
pub fn is_duplicate(
    layout: &FrameLayout,
    [previous, next]: [&gst::BufferRef; 2],
    finder: &mut DuplicateFinder,
) -> Result<bool, PlaneError> {
    let (previous, next) = (layout.read(previous)?, layout.read(next)?);
    let found = finder.is_duplicate(&previous.planes()?, &next.planes()?, &layout.format().samplings);
    Ok(found.unwrap_or_else(|error| unreachable!("frames of one size: {error}")))
}

/// The luma plane of `buffer`: the first plane of every format that [`super::caps`] names, also on a GPU. It keeps the
/// buffer mapped; `block` is the block of a device's memory that holds it, if there is one.
///
/// # Errors
/// [`PlaneError`] if the buffer cannot be mapped, or the plane is not in the mapped memory.
pub fn luma(
    layout: &FrameLayout,
    buffer: &gst::Buffer,
    block: Option<BlockHandle>,
) -> Result<Frame, PlaneError> {
    plane(layout, &map(layout, buffer)?, 0, block)
}

/// All planes of `buffer`, which may be on a GPU. They keep the buffer mapped.
///
/// # Errors
/// As [`luma`].
pub fn planes(layout: &FrameLayout, buffer: &gst::Buffer) -> Result<Vec<Frame>, PlaneError> {
    let mapped = map(layout, buffer)?;
    (0..layout.format().samplings.len()).map(|index| plane(layout, &mapped, index, None)).collect()
}

/// Checks that `buffer` holds a frame with all its planes.
///
/// # Errors
/// As [`luma`].
pub fn check(layout: &FrameLayout, buffer: &gst::Buffer) -> Result<(), PlaneError> {
    planes(layout, buffer).map(drop)
}

fn map(layout: &FrameLayout, buffer: &gst::Buffer) -> Result<Mapped, PlaneError> {
    #[cfg(feature = "cuda")]
    {
        check_meta(buffer, layout.info())?;
        if let Some(frame) = ReadableCudaFrame::new(buffer, layout.info(), layout.format()) {
            return Ok(Mapped::OnGpu(frame));
        }
    }
    Ok(Mapped::OnHost(Arc::new(layout.map(buffer)?)))
}

/// Plane `index`.
fn plane(
    layout: &FrameLayout,
    mapped: &Mapped,
    index: usize,
    block: Option<BlockHandle>,
) -> Result<Frame, PlaneError> {
    let size = layout.format().plane_size(index);
    let (source, stride): (Arc<dyn FrameSource>, _) = match mapped {
        Mapped::OnHost(frame) => {
            let (_, stride) = samples(&**frame, index)?;
            (Arc::new(MappedPlane { frame: frame.clone(), index, block }), stride)
        }
        #[cfg(feature = "cuda")]
        Mapped::OnGpu(frame) => (Arc::new(frame.plane(index, size.1)), frame.stride(index)),
    };
    Frame::with_format(source, size, stride, layout.format().samples)
        .map_err(|error| PlaneError::Samples(index, error))
}

/// Maps `buffer` to be written on the GPU whose memory it is in, if it is: each plane, and the bytes from one row to the next.
pub fn write_on_gpu(
    layout: &FrameLayout,
    buffer: &mut gst::BufferRef,
) -> Option<impl Deref<Target = [(BlockHandle, usize)]>> {
    #[cfg(feature = "cuda")]
    let mapped = WritableCudaFrame::new(buffer, layout.info(), layout.format());
    #[cfg(not(feature = "cuda"))]
    let mapped = {
        let _ = (layout, buffer);
        None::<Vec<_>>
    };
    mapped
}

//! Checked access to the planes of a mapped video frame.

use std::sync::Arc;

use gst_video::prelude::*;
use gst_video::video_frame::{IsVideoFrame, Readable};
use gst_video::{VideoFrame, VideoFrameRef, VideoInfo, VideoMeta};

use super::sample_format;
use motion_search::compensation::{PlaneMut, Sampling};
use motion_search::estimator::{BlockHandle, Frame, FrameError, FrameSource, FrameView};
use motion_search::interpolation::FrameFormat;

/// Why a plane of a frame cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaneError {
    /// The buffer cannot be mapped as a frame of its caps.
    #[error("no frame that can be mapped")]
    Unmapped,
    /// The size of the frame differs from its caps.
    #[error("a frame of {0} x {1} samples")]
    Size(u32, u32),
    /// The stride is zero or negative.
    #[error("a stride of {1} bytes in plane {0}")]
    Stride(usize, i32),
    /// The plane starts outside its mapped memory.
    #[error("plane {0} starting outside the mapped memory")]
    Offset(usize),
    /// The mapped memory ends before the plane, or rows overlap.
    #[error("plane {0}: {1}")]
    Samples(usize, FrameError),
}

/// The sampling of each plane of `info` relative to luma.
pub fn samplings(info: &VideoInfo) -> Vec<Sampling> {
    let format = info.format_info();
    let components = format.plane().iter().take(info.n_components() as usize);
    let first_of = |plane| components.clone().position(|&of| of == plane);
    let sampling = |component: usize| Sampling {
        halved_x: format.w_sub()[component] == 1,
        halved_y: format.h_sub()[component] == 1,
        interleaved: format.pixel_stride()[component] as usize == 2 * sample_format(info).bytes(),
    };
    (0..info.n_planes()).filter_map(first_of).map(sampling).collect()
}

/// What frames of `info` are.
pub fn frame_format(info: &VideoInfo) -> FrameFormat {
    FrameFormat {
        size: (info.width() as usize, info.height() as usize),
        samplings: samplings(info),
        samples: sample_format(info),
    }
}

/// Checks that the `GstVideoMeta` of `buffer`, if it has one, is of a frame of `info`: mapping one of another format or of
/// fewer samples is a critical warning of GStreamer's, and a mapped frame has any size that the meta says.
fn check_meta(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<(), glib::BoolError> {
    let is_of_frame = |meta: &VideoMeta| {
        (meta.format(), meta.n_planes()) == (info.format(), info.n_planes())
            && (meta.width(), meta.height()) == (info.width(), info.height())
    };
    let meta = buffer.iter_meta::<VideoMeta>().min_by_key(|meta| meta.id());
    match meta {
        Some(meta) if !is_of_frame(&meta) => {
            Err(glib::bool_error!("a video meta of another frame: {meta:?}"))
        }
        _ => Ok(()),
    }
}

/// Maps `buffer` as a frame of `info`, to read.
///
/// # Errors
/// If it does not hold such a frame.
pub fn map_readable<'a>(
    buffer: &'a gst::BufferRef,
    info: &VideoInfo,
) -> Result<VideoFrameRef<&'a gst::BufferRef>, glib::BoolError> {
    check_meta(buffer, info)?;
    VideoFrameRef::from_buffer_ref_readable(buffer, info)
}

/// Maps `buffer` as a frame of `info`, to write.
///
/// # Errors
/// If it does not hold such a frame.
pub fn map_writable<'a>(
    buffer: &'a mut gst::BufferRef,
    info: &VideoInfo,
) -> Result<VideoFrameRef<&'a mut gst::BufferRef>, glib::BoolError> {
    check_meta(buffer, info)?;
    VideoFrameRef::from_buffer_ref_writable(buffer, info)
}

/// Plane `index`: its first byte, the number of bytes mapped from there on, and the stride.
///
/// Everything is checked, because a `GstVideoMeta` may describe more memory than its buffer has.
fn locate(frame: &impl IsVideoFrame, index: usize) -> Result<(*mut u8, usize, usize), PlaneError> {
    let stride = frame.plane_stride()[index];
    let stride = usize::try_from(stride).ok().filter(|&s| s > 0).ok_or(PlaneError::Stride(index, stride))?;
    let raw = frame.as_raw();
    // With a GstVideoMeta every plane has a mapping of its own, without one all share the first.
    let map = if raw.meta.is_null() { &raw.map[0] } else { &raw.map[index] };
    let plane = raw.data[index].cast::<u8>();
    let offset = (plane as usize).checked_sub(map.data as usize).ok_or(PlaneError::Offset(index))?;
    let present = map.size.checked_sub(offset).ok_or(PlaneError::Offset(index))?;
    if plane.is_null() {
        return Err(PlaneError::Offset(index));
    }
    Ok((plane, present, stride))
}

/// The size of a plane, in samples per row and rows, after checking that the frame has the size of `info`.
fn size(
    frame: &impl IsVideoFrame,
    info: &VideoInfo,
    sampling: Sampling,
) -> Result<(usize, usize), PlaneError> {
    if (frame.width(), frame.height()) != (info.width(), info.height()) {
        return Err(PlaneError::Size(frame.width(), frame.height()));
    }
    Ok(sampling.plane_size(info.width() as usize, info.height() as usize))
}

/// The mapped bytes from the start of plane `index` on, and the stride.
fn samples(frame: &impl IsVideoFrame, index: usize) -> Result<(&[u8], usize), PlaneError> {
    let (start, present, stride) = locate(frame, index)?;
    // SAFETY: `locate` has checked that `start` is not null and that `present` bytes are mapped from
    // it on for reading; they stay mapped as long as `frame`, which the slice borrows.
    Ok((unsafe { std::slice::from_raw_parts(start, present) }, stride))
}

/// A mapped buffer, as the source of its luma plane.
struct MappedBuffer {
    frame: VideoFrame<Readable>,
    block: Option<BlockHandle>,
}

impl FrameSource for MappedBuffer {
    fn bytes(&self) -> &[u8] {
        samples(&self.frame, 0).map_or(&[], |(samples, _)| samples)
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.block.as_ref()
    }
}

/// The luma plane of `buffer`: the first plane of every format that [`super::caps`] names. It keeps the
/// buffer mapped; `block` is the block of a device's memory that holds it, if there is one.
///
/// # Errors
/// [`PlaneError`] if the buffer cannot be mapped, or the plane is not in the mapped memory.
pub fn luma(buffer: &gst::Buffer, info: &VideoInfo, block: Option<BlockHandle>) -> Result<Frame, PlaneError> {
    check_meta(buffer, info).map_err(|_| PlaneError::Unmapped)?;
    let mapped = VideoFrame::from_buffer_readable(buffer.clone(), info);
    let frame = mapped.map_err(|_| PlaneError::Unmapped)?;
    let (width, height) = (frame.width() as usize, frame.height() as usize);
    let (_, stride) = samples(&frame, 0)?;
    let format = sample_format(info);
    Frame::with_format(Arc::new(MappedBuffer { frame, block }), (width, height), stride, format)
        .map_err(|error| PlaneError::Samples(0, error))
}

/// Plane `index` of `frame`, to read.
///
/// # Errors
/// [`PlaneError`] if the plane is not inside the mapped memory.
pub fn plane<'a>(
    frame: &'a VideoFrameRef<&gst::BufferRef>,
    info: &VideoInfo,
    index: usize,
    sampling: Sampling,
) -> Result<FrameView<'a>, PlaneError> {
    let (width, height) = size(frame, info, sampling)?;
    let (samples, stride) = samples(frame, index)?;
    FrameView::with_format(samples, (width, height), stride, sample_format(info))
        .map_err(|error| PlaneError::Samples(index, error))
}

/// All planes of `frame`, to read, sampled as [`samplings`] says.
///
/// # Errors
/// As [`plane`].
pub fn planes<'a>(
    frame: &'a VideoFrameRef<&gst::BufferRef>,
    info: &VideoInfo,
    samplings: &[Sampling],
) -> Result<Vec<FrameView<'a>>, PlaneError> {
    let samplings = samplings.iter().enumerate();
    samplings.map(|(index, &sampling)| plane(frame, info, index, sampling)).collect()
}

/// Plane `index` of `frame`, to write.
///
/// # Errors
/// [`PlaneError`] if the plane is not inside the mapped memory.
pub fn plane_mut<'a>(
    frame: &'a mut VideoFrameRef<&mut gst::BufferRef>,
    info: &VideoInfo,
    index: usize,
    sampling: Sampling,
) -> Result<PlaneMut<'a>, PlaneError> {
    let (width, height) = size(frame, info, sampling)?;
    let (samples, stride) = samples_mut(frame, index)?;
    PlaneMut::with_format(samples, (width, height), stride, sample_format(info))
        .map_err(|error| PlaneError::Samples(index, error))
}

/// The mapped bytes from the start of plane `index` on, to write, and the stride. The plane may be longer.
///
/// # Errors
/// [`PlaneError`] if the plane does not begin inside the mapped memory.
pub fn samples_mut<'a>(
    frame: &'a mut VideoFrameRef<&mut gst::BufferRef>,
    index: usize,
) -> Result<(&'a mut [u8], usize), PlaneError> {
    let (start, present, stride) = locate(frame, index)?;
    // SAFETY: `locate` has checked that `start` is not null and that `present` bytes are mapped from
    // it on for reading and writing; they stay mapped as long as `frame`, which the slice borrows
    // exclusively.
    Ok((unsafe { std::slice::from_raw_parts_mut(start, present) }, stride))
}

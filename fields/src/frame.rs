//! Checked access to the planes of a mapped video frame.

use gst_video::prelude::*;
use gst_video::video_frame::{IsVideoFrame, Readable};
use gst_video::{VideoFrame, VideoFrameRef, VideoInfo, VideoMeta};

use motion_base::sampling::{FrameFormat, PlaneMut, Sampling};
use motion_base::{FrameError, FrameView, SampleFormat};

/// Why the frame in a buffer cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaneError {
    /// The buffer cannot be mapped as a frame of its caps.
    #[error("no frame that can be mapped: {0}")]
    Unmapped(String),
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

impl PlaneError {
    /// The error message for the bus about a buffer that was to hold a frame of `info`.
    pub fn message(&self, info: &VideoInfo) -> gst::ErrorMessage {
        frame_message(&self, info)
    }
}

/// The error message for the bus about a buffer that does not hold a frame of `info`, because of `error`.
pub fn frame_message(error: &dyn std::fmt::Display, info: &VideoInfo) -> gst::ErrorMessage {
    gst::error_msg!(
        gst::StreamError::Format,
        ("A buffer does not hold the frame its caps promise"),
        ["{error}; {info:?}"]
    )
}

/// How the samples of frames with these caps lie in memory.
pub fn sample_format(info: &VideoInfo) -> SampleFormat {
    let format = info.format_info();
    let of_luma = format.depth().first().zip(format.shift().first());
    of_luma
        .and_then(|(&depth, &shift)| SampleFormat::new(depth, shift).ok())
        .unwrap_or(SampleFormat::EIGHT_BITS)
}

/// The sampling of each plane of `info` relative to luma.
fn samplings(info: &VideoInfo) -> Vec<Sampling> {
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

/// Checks that the `GstVideoMeta` of `buffer`, if it has one, is of a frame of `info`: mapping one of another format or of
/// fewer samples is a critical warning of GStreamer's, and a mapped frame has any size that the meta says.
///
/// # Errors
/// [`PlaneError::Unmapped`] with the meta.
pub fn check_meta(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<(), PlaneError> {
    let is_of_frame = |meta: &VideoMeta| {
        (meta.format(), meta.n_planes()) == (info.format(), info.n_planes())
            && (meta.width(), meta.height()) == (info.width(), info.height())
    };
    let meta = buffer.iter_meta::<VideoMeta>().min_by_key(|meta| meta.id());
    match meta {
        Some(meta) if !is_of_frame(&meta) => {
            Err(PlaneError::Unmapped(format!("a video meta of another frame: {meta:?}")))
        }
        _ => Ok(()),
    }
}

/// Checks that a mapped frame has the size that `info` says: a `GstVideoMeta` may say another.
fn check_size(frame: &impl IsVideoFrame, info: &VideoInfo) -> Result<(), PlaneError> {
    let size = (frame.width(), frame.height());
    let is_of_size = size == (info.width(), info.height());
    if is_of_size { Ok(()) } else { Err(PlaneError::Size(size.0, size.1)) }
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

/// The mapped bytes from the start of plane `index` on, and the stride.
///
/// # Errors
/// [`PlaneError`] if the plane does not begin inside the mapped memory.
pub fn samples(frame: &impl IsVideoFrame, index: usize) -> Result<(&[u8], usize), PlaneError> {
    let (start, present, stride) = locate(frame, index)?;
    // SAFETY: `locate` has checked that `start` is not null and that `present` bytes are mapped from
    // it on for reading; they stay mapped as long as `frame`, which the slice borrows.
    Ok((unsafe { std::slice::from_raw_parts(start, present) }, stride))
}

/// What the frames of a stream are, and access to them in buffers.
#[derive(Clone)]
pub struct FrameLayout {
    info: VideoInfo,
    format: FrameFormat,
}

impl FrameLayout {
    /// Of frames of `info`, of raw video with luma in the first plane.
    pub fn new(info: VideoInfo) -> Self {
        let format = FrameFormat {
            size: (info.width() as usize, info.height() as usize),
            samplings: samplings(&info),
            samples: sample_format(&info),
        };
        Self { info, format }
    }

    /// Whether two buffers hold the same frame.
    ///
    /// # Errors
    /// As [`Self::read`], and [`PlaneError`] if a plane is not in its buffer.
    pub fn is_equal(&self, a: &gst::BufferRef, b: &gst::BufferRef) -> Result<bool, PlaneError> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        let (a, b) = (a.planes()?, b.planes()?);
        Ok(a.iter().zip(&b).all(|(a, b)| (0..a.height()).all(|y| a.row(y) == b.row(y))))
    }

    /// The same frames, where of samples of 16 bits only the lower `bits` count, 9 to 16.
    pub fn with_significant_bits(mut self, bits: u32) -> Self {
        if let (16, Ok(samples)) = (self.format.samples.depth(), SampleFormat::new(bits, 0)) {
            self.format.samples = samples;
        }
        self
    }

    /// The same frames, of whose deep samples eight bits from `black` to `white` are searched where not all bits are.
    pub fn with_levels(mut self, [black, white]: [u16; 2]) -> Self {
        self.format.samples = self.format.samples.with_levels(black, white);
        self
    }

    /// Whether [`Self::with_levels`] changes nothing.
    pub fn has_levels(&self, [black, white]: [u16; 2]) -> bool {
        self.format.samples == self.format.samples.with_levels(black, white)
    }

    /// What the caps say of its frames.
    pub fn info(&self) -> &VideoInfo {
        &self.info
    }

    /// What the search is told of its frames.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Maps `buffer` to read, and keeps it mapped.
    ///
    /// # Errors
    /// [`PlaneError`] if it does not hold a frame.
    pub fn map(&self, buffer: &gst::Buffer) -> Result<VideoFrame<Readable>, PlaneError> {
        check_meta(buffer, &self.info)?;
        let mapped = VideoFrame::from_buffer_readable(buffer.clone(), &self.info);
        let mapped = mapped.map_err(|_| PlaneError::Unmapped("too small or not readable".into()))?;
        check_size(&mapped, &self.info)?;
        Ok(mapped)
    }

    /// Maps `buffer` to read.
    ///
    /// # Errors
    /// [`PlaneError`] if it does not hold a frame.
    pub fn read<'a>(&'a self, buffer: &'a gst::BufferRef) -> Result<ReadableFrame<'a>, PlaneError> {
        check_meta(buffer, &self.info)?;
        MappedFrame::new(self, VideoFrameRef::from_buffer_ref_readable(buffer, &self.info))
    }

    /// Maps `buffer` to write.
    ///
    /// # Errors
    /// [`PlaneError`] if it does not hold a frame.
    pub fn write<'a>(&'a self, buffer: &'a mut gst::BufferRef) -> Result<WritableFrame<'a>, PlaneError> {
        check_meta(buffer, &self.info)?;
        MappedFrame::new(self, VideoFrameRef::from_buffer_ref_writable(buffer, &self.info))
    }
}

/// A frame in a buffer that is mapped, to read or to write.
pub struct MappedFrame<'a, B> {
    layout: &'a FrameLayout,
    frame: VideoFrameRef<B>,
}

/// A frame that is mapped to read.
pub type ReadableFrame<'a> = MappedFrame<'a, &'a gst::BufferRef>;

/// A frame that is mapped to write.
pub type WritableFrame<'a> = MappedFrame<'a, &'a mut gst::BufferRef>;

impl<'a, B> MappedFrame<'a, B>
where
    VideoFrameRef<B>: IsVideoFrame,
{
    fn new(
        layout: &'a FrameLayout,
        mapped: Result<VideoFrameRef<B>, glib::BoolError>,
    ) -> Result<Self, PlaneError> {
        let frame = mapped.map_err(|error| PlaneError::Unmapped(error.to_string()))?;
        check_size(&frame, &layout.info)?;
        Ok(Self { layout, frame })
    }
}

impl MappedFrame<'_, &gst::BufferRef> {
    /// The mapped bytes from the start of plane `index` on, and the stride. The plane may be longer.
    ///
    /// # Errors
    /// [`PlaneError`] if the plane does not begin inside the mapped memory.
    pub fn samples(&self, index: usize) -> Result<(&[u8], usize), PlaneError> {
        samples(&self.frame, index)
    }

    /// Plane `index`.
    ///
    /// # Errors
    /// [`PlaneError`] if the plane is not inside the mapped memory.
    pub fn plane(&self, index: usize) -> Result<FrameView<'_>, PlaneError> {
        let (samples, stride) = samples(&self.frame, index)?;
        let FrameLayout { format, .. } = self.layout;
        FrameView::with_format(samples, format.plane_size(index), stride, format.samples)
            .map_err(|error| PlaneError::Samples(index, error))
    }

    /// All planes.
    ///
    /// # Errors
    /// As [`Self::plane`].
    pub fn planes(&self) -> Result<Vec<FrameView<'_>>, PlaneError> {
        (0..self.layout.format.samplings.len()).map(|index| self.plane(index)).collect()
    }
}

impl MappedFrame<'_, &mut gst::BufferRef> {
    /// Plane `index`.
    ///
    /// # Errors
    /// [`PlaneError`] if the plane is not inside the mapped memory.
    pub fn plane_mut(&mut self, index: usize) -> Result<PlaneMut<'_>, PlaneError> {
        let FrameLayout { format, .. } = self.layout;
        let (size, format) = (format.plane_size(index), format.samples);
        let (samples, stride) = self.samples_mut(index)?;
        PlaneMut::with_format(samples, size, stride, format)
            .map_err(|error| PlaneError::Samples(index, error))
    }

    /// The mapped bytes from the start of plane `index` on, and the stride. The plane may be longer.
    ///
    /// # Errors
    /// [`PlaneError`] if the plane does not begin inside the mapped memory.
    pub fn samples_mut(&mut self, index: usize) -> Result<(&mut [u8], usize), PlaneError> {
        let (start, present, stride) = locate(&self.frame, index)?;
        // SAFETY: `locate` has checked that `start` is not null and that `present` bytes are mapped from it on for reading
        // and writing; they stay mapped as long as the frame, which the slice borrows exclusively.
        Ok((unsafe { std::slice::from_raw_parts_mut(start, present) }, stride))
    }

    /// What the caps say of its frames.
    pub fn info(&self) -> &VideoInfo {
        &self.layout.info
    }
}

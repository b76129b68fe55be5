//! The planes of frames that come and of frames that are made, as the library reads and writes them.

use std::cell::OnceCell;
use std::sync::Arc;

use gst_video::VideoInfo;

use super::packing::{Packing, UnpackedFrame, UnpackedPlane};
use crate::settings::StreamError;
use crate::video::frame::{self, FrameLayout, PlaneError};
use crate::video::pool;
use motion_frames::compensation::{CompensationError, PlaneMut};
use motion_frames::duplicates::DuplicateFinder;
use motion_frames::interpolation::FrameFormat;
use motion_search::estimator::{BlockHandle, Frame, FrameView, SampleFormat};

/// A frame that has come.
pub struct InputFrame {
    pub buffer: gst::Buffer,
    /// Its planes, once they are needed, unless the library reads those of the buffer.
    unpacked: OnceCell<Arc<UnpackedFrame>>,
}

impl InputFrame {
    pub fn new(buffer: gst::Buffer) -> Self {
        Self { buffer, unpacked: OnceCell::new() }
    }

    /// Replaces the buffer by a copy, because upstream needs it back.
    pub fn release_buffer(&mut self) {
        pool::release(&mut self.buffer);
    }
}

/// Access to the planes of frames of a stream.
pub struct Planes {
    layout: FrameLayout,
    /// If the library cannot read the planes of buffers.
    packing: Option<Packing>,
    /// Planes of frames that have come. Those that nobody reads any more are used again.
    rooms: Vec<Arc<UnpackedFrame>>,
    /// Those of the frame that is made.
    made: Option<UnpackedFrame>,
}

impl Planes {
    pub fn new(info: &VideoInfo) -> Self {
        let packing = Packing::new(info);
        let made = packing.as_ref().map(Packing::room);
        Self { layout: FrameLayout::new(info.clone()), packing, rooms: Vec::new(), made }
    }

    /// What the library is told of the frames, of whose deep samples eight bits from `levels[0]` to `levels[1]` are searched where
    /// not all bits are.
    pub fn format_with_levels(&self, levels: [u16; 2]) -> FrameFormat {
        match &self.packing {
            Some(packing) => packing.format().clone(),
            None => self.layout.clone().with_levels(levels).format().clone(),
        }
    }

    /// Lets `levels` hold from now on.
    pub fn set_levels(&mut self, levels: [u16; 2]) {
        self.layout = self.layout.clone().with_levels(levels);
    }

    /// Whether [`Self::set_levels`] changes nothing.
    pub fn has_levels(&self, levels: [u16; 2]) -> bool {
        self.packing.is_some() || self.layout.has_levels(levels)
    }

    /// Checks that `buffer` holds a frame with all its planes.
    ///
    /// # Errors
    /// As [`Self::luma`].
    pub fn check(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        let Some(packing) = &self.packing else { return frame::check(&self.layout, buffer) };
        let buffer = self.layout.read(buffer)?;
        (0..packing.planes()).try_for_each(|plane| {
            let (samples, stride) = buffer.samples(plane)?;
            packing.check(plane, samples, stride).map_err(|error| PlaneError::Samples(plane, error))
        })
    }

    /// The luma plane of `frame`, also on a GPU.
    ///
    /// # Errors
    /// [`PlaneError`] if the buffer does not hold the frame its caps promise.
    pub fn luma(&mut self, frame: &InputFrame) -> Result<Frame, PlaneError> {
        match self.unpacked(frame)? {
            Some(unpacked) => self.plane(unpacked, 0),
            None => frame::luma(&self.layout, &frame.buffer, None),
        }
    }

    /// All planes of `frame`, which may be on a GPU.
    ///
    /// # Errors
    /// As [`Self::luma`].
    pub fn frames(&mut self, frame: &InputFrame) -> Result<Vec<Frame>, PlaneError> {
        match self.unpacked(frame)? {
            Some(unpacked) => {
                let planes = 0..self.layout_format().samplings.len();
                planes.map(|index| self.plane(unpacked, index)).collect()
            }
            None => frame::planes(&self.layout, &frame.buffer),
        }
    }

    /// Whether two frames are the same but for coding noise, as `finder` tells.
    ///
    /// # Errors
    /// As [`Self::luma`].
    pub fn is_duplicate(
        &mut self,
        previous: &InputFrame,
        next: &InputFrame,
        finder: &mut DuplicateFinder,
    ) -> Result<bool, PlaneError> {
        let (previous, next) = (self.frames(previous)?, self.frames(next)?);
        let found = finder.is_duplicate(&views(&previous), &views(&next), &self.layout_format().samplings);
        Ok(found.unwrap_or_else(|error| unreachable!("frames of one size: {error}")))
    }

    /// Maps `buffer` to be written on the GPU whose memory it is in, if it is: each plane, and the bytes from one row to the next.
    pub fn write_on_gpu(
        &self,
        buffer: &mut gst::BufferRef,
    ) -> Option<impl std::ops::Deref<Target = [(BlockHandle, usize)]>> {
        frame::write_on_gpu(&self.layout, buffer)
    }

    /// Writes a frame to `buffer`; `write` gets each plane that the frame has, and its number.
    ///
    /// # Errors
    /// As [`Self::luma`], and of `write`.
    pub fn write(
        &mut self,
        buffer: &mut gst::BufferRef,
        mut write: impl FnMut(usize, &mut PlaneMut<'_>) -> Result<(), CompensationError>,
    ) -> Result<(), StreamError> {
        let mut out = self.layout.write(buffer)?;
        let (Some(packing), Some(made)) = (&self.packing, &mut self.made) else {
            for index in 0..self.layout.format().samplings.len() {
                write(index, &mut out.plane_mut(index)?)?;
            }
            return Ok(());
        };
        for index in (0..packing.format().samplings.len()).filter(|&index| packing.is_made(index)) {
            let plane = made.view_mut(index, packing.format());
            write(index, &mut plane.map_err(|error| PlaneError::Samples(index, error))?)?;
        }
        for plane in 0..packing.planes() {
            let (samples, stride) = out.samples_mut(plane)?;
            packing.check(plane, samples, stride).map_err(|error| PlaneError::Samples(plane, error))?;
            packing.pack(made, plane, samples, stride);
        }
        Ok(())
    }

    /// What the library is told of the frames.
    fn layout_format(&self) -> &FrameFormat {
        self.packing.as_ref().map_or(self.layout.format(), Packing::format)
    }

    /// The planes of `frame`, if the library cannot read those of its buffer.
    fn unpacked<'a>(&mut self, frame: &'a InputFrame) -> Result<Option<&'a Arc<UnpackedFrame>>, PlaneError> {
        let Some(packing) = &self.packing else { return Ok(None) };
        if let Some(unpacked) = frame.unpacked.get() {
            return Ok(Some(unpacked));
        }
        let buffer = self.layout.read(&frame.buffer)?;
        let free = self.rooms.iter_mut().position(|room| Arc::get_mut(room).is_some());
        let number = free.unwrap_or_else(|| {
            self.rooms.push(Arc::new(packing.room()));
            self.rooms.len() - 1
        });
        let room = &mut self.rooms[number];
        if let Some(planes) = Arc::get_mut(room) {
            for plane in 0..packing.planes() {
                let (samples, stride) = buffer.samples(plane)?;
                packing.check(plane, samples, stride).map_err(|error| PlaneError::Samples(plane, error))?;
                packing.unpack(plane, samples, stride, planes);
            }
            packing.make_of_colours(planes);
        }
        Ok(Some(frame.unpacked.get_or_init(|| room.clone())))
    }

    /// Plane `index` of an unpacked frame.
    fn plane(&self, frame: &Arc<UnpackedFrame>, index: usize) -> Result<Frame, PlaneError> {
        let size = self.layout_format().plane_size(index);
        let source = Arc::new(UnpackedPlane { frame: frame.clone(), index });
        Frame::with_format(source, size, size.0, SampleFormat::EIGHT_BITS)
            .map_err(|error| PlaneError::Samples(index, error))
    }
}

fn views(planes: &[Frame]) -> Vec<FrameView<'_>> {
    planes.iter().map(Frame::view).collect()
}

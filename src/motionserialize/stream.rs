//! The frames of a stream in one of the formats.

use super::format::{Detected, Format, FrameFacts, WriteError};
use crate::meta::{MetaError, MotionVectorMeta};

/// Why a frame is not written.
pub enum SerializeError {
    NotNegotiated,
    Write(WriteError),
}

/// What holds from start to stop.
#[derive(Default)]
pub struct SerializeStream {
    /// The negotiated format, and the width and height of the frames.
    negotiated: Option<(Format, (u32, u32))>,
    /// The format whose header was sent.
    begun: Option<Format>,
    /// Frames so far.
    frames: u64,
    /// Bytes of the last output: an estimate for the next one.
    bytes: usize,
}

impl SerializeStream {
    /// Writes frames of `size`, width and height, in `format` from now on.
    pub fn negotiate(&mut self, format: Format, size: (u32, u32)) {
        self.negotiated = Some((format, size));
    }

    /// Writes the fields of `buffer` as one output buffer: that at `offset`, or all if it is 0. Returns it and their
    /// number, to which what was detected counts as one. Calls `tell` with the error of each field that is not valid or not of this frame, which is left out.
    ///
    /// # Errors
    /// [`SerializeError`] if caps are missing, or a field cannot be written.
    pub fn serialize(
        &mut self,
        buffer: &gst::BufferRef,
        offset: i32,
        tell: &mut dyn FnMut(MetaError),
    ) -> Result<(gst::Buffer, usize), SerializeError> {
        let (format, (width, height)) = self.negotiated.ok_or(SerializeError::NotNegotiated)?;
        let frame = FrameFacts {
            frame: self.frames,
            pts: buffer.pts().map(gst::ClockTime::nseconds),
            duration: buffer.duration().map(gst::ClockTime::nseconds),
            width,
            height,
        };
        let mut out = Vec::with_capacity(self.bytes + self.bytes / 8);
        if self.begun != Some(format) {
            format.write_header(&mut out);
            self.begun = Some(format);
        }
        let detected = match format {
            Format::Ndjson => Detected::of(buffer, (width, height), tell),
            _ => None,
        };
        let mut detected = detected.as_ref();
        let is_detected = detected.is_some();
        let fields = MotionVectorMeta::all_of(buffer).map(|field| field?.of_frame((width, height)));
        let fields = fields.filter_map(|field| field.map_err(&mut *tell).ok());
        let fields = fields.filter(|field| offset == 0 || field.description().reference_offset == offset);
        let mut count = 0;
        for field in fields.take(if format.holds_all_fields() { usize::MAX } else { 1 }) {
            format
                .write_field(&frame, Some(&field), detected.take(), &mut out)
                .map_err(SerializeError::Write)?;
            count += 1;
        }
        if count == 0 {
            format.write_field(&frame, None, detected.take(), &mut out).map_err(SerializeError::Write)?;
        }
        self.frames += 1;
        self.bytes = out.len();
        let mut output = gst::Buffer::from_mut_slice(out);
        let target = output.make_mut();
        target.set_pts(buffer.pts());
        target.set_duration(buffer.duration());
        target.set_offset(frame.frame);
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            target.set_flags(gst::BufferFlags::DISCONT);
        }
        Ok((output, count + usize::from(is_detected)))
    }
}

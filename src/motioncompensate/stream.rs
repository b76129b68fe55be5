//! The frames of a stream: those that wait, those that may be references, and the compensation of each plane.

use std::collections::VecDeque;

use gst_video::VideoInfo;

use super::MotionCompensateMode;
use super::quality::{PredictionQuality, Totals};
use super::settings::CompensateSettings;
use crate::meta::{self, MotionVectorMeta};
use crate::video::frame::{self, FrameLayout, PlaneError};
use crate::video::pool::{self, HeldBuffers};
use crate::video::waiting::{Item, Waiting};
use motion_frames::compensation::{Compensated, CompensationError, Field, PlaneMut, compensate};

/// A field and its reference frame.
type FieldAndReference = (MotionVectorMeta, gst::Buffer);

/// What holds from one caps to the next.
pub struct CompensateStream {
    layout: FrameLayout,
    /// Earlier frames that may be references, oldest first.
    earlier: VecDeque<gst::Buffer>,
    /// One plane of a prediction that is measured but not sent; allocated on first use.
    scratch: Vec<u8>,
}

/// Why a frame could not be compensated.
#[derive(Debug, thiserror::Error)]
pub enum CompensateError {
    #[error("a buffer came before its caps")]
    NotNegotiated,
    #[error("a buffer does not hold the frame its caps promise: it has {0}")]
    Plane(#[from] PlaneError),
    #[error(transparent)]
    Compensation(#[from] CompensationError),
    #[error("cannot attach the measure: {0}")]
    Attach(#[source] glib::BoolError),
}

impl CompensateError {
    /// The error message for the bus.
    pub fn message(&self) -> gst::ErrorMessage {
        match self {
            CompensateError::NotNegotiated => gst::error_msg!(gst::CoreError::Negotiation, ("{self}")),
            CompensateError::Plane(_) => {
                gst::error_msg!(gst::StreamError::Format, ("{self}"), ["{self:?}"])
            }
            CompensateError::Compensation(_) | CompensateError::Attach(_) => {
                gst::error_msg!(gst::LibraryError::Failed, ("{self}"), ["{self:?}"])
            }
        }
    }
}

impl CompensateStream {
    fn new(info: &VideoInfo) -> Self {
        Self { layout: FrameLayout::new(info.clone()), earlier: VecDeque::new(), scratch: Vec::new() }
    }

    /// Keeps `frame` as a reference of the next frames, if `offset` names an earlier frame.
    fn keep(&mut self, frame: gst::Buffer, offset: i32) {
        self.earlier.push_back(frame);
        let count = offset.min(0).unsigned_abs() as usize;
        self.earlier.drain(..self.earlier.len().saturating_sub(count));
    }

    /// The field that predicts the frame in `buffer` from the frame at `offset`, which is `later` if it is a later one.
    /// `Err` says why it cannot be used. With `is_default`, that the frame has fields for other reference frames only is such
    /// a reason.
    fn field(
        &self,
        buffer: &gst::BufferRef,
        (offset, later): (i32, Option<&gst::Buffer>),
        is_default: bool,
    ) -> Result<Option<FieldAndReference>, String> {
        let reference = match offset {
            0.. => later,
            _ => self.earlier.iter().nth_back(offset.unsigned_abs() as usize - 1),
        };
        // The first frame of a sequence has fields for later frames only.
        let is_obstacle = is_default && reference.is_some();
        let size = (self.layout.info().width(), self.layout.info().height());
        let mut usable = Ok(None);
        for field in MotionVectorMeta::all_of(buffer) {
            let field = field.and_then(|field| field.of_frame(size)).map_err(|error| error.to_string())?;
            let description = field.description();
            let is_other = description.reference_offset != offset && !is_obstacle;
            if is_other || matches!(usable, Ok(Some(_))) {
                continue;
            }
            usable =
                checked(reference, description, offset).map(|reference| Some((field, reference.clone())));
        }
        usable
    }

    /// Predicts the frame in `current` by a field and its reference frame, and writes the wanted output to `out`, or to the
    /// scratch plane if it is only measured.
    fn compensate(
        &mut self,
        (field, reference): FieldAndReference,
        current: &gst::BufferRef,
        wanted: (Compensated, bool),
        out: Option<&mut gst::BufferRef>,
    ) -> Result<PredictionQuality, CompensateError> {
        let Self { layout, scratch, .. } = self;
        let (current, reference) = (layout.read(current)?, layout.read(&reference)?);
        let mut target = out.map(|out| layout.write(out)).transpose()?;
        let description = field.description();
        let size = (description.width as usize, description.height as usize);
        let block = (description.block_width as usize, description.block_height as usize);
        let vectors = Field::new(size, block, field.vectors())?.with_scale(description.scale);
        let format = layout.format().samples;
        let mut quality = PredictionQuality::of_samples_to(format.peak());
        for (index, &sampling) in layout.format().samplings.iter().enumerate() {
            let planes = (&current.plane(index)?, &reference.plane(index)?);
            let mut out = match &mut target {
                Some(frame) => frame.plane_mut(index)?,
                None => {
                    let (width, height) = sampling.plane_size(size.0, size.1);
                    let row = width * format.bytes();
                    if scratch.len() < row * height {
                        scratch.resize(row * height, 0);
                    }
                    PlaneMut::with_format(scratch, (width, height), row, format)
                        .map_err(|error| PlaneError::Samples(index, error))?
                }
            };
            quality.add(index, compensate(&vectors, sampling, planes, wanted, &mut out)?);
        }
        Ok(quality)
    }

    /// Copies the frame in `current` to `out`.
    fn copy(&self, current: &gst::BufferRef, out: &mut gst::BufferRef) -> Result<(), CompensateError> {
        let (current, mut out) = (self.layout.read(current)?, self.layout.write(out)?);
        for (index, plane) in current.planes()?.iter().enumerate() {
            out.plane_mut(index)?.copy_from(plane)?;
        }
        Ok(())
    }
}

/// `reference`, the frame at `offset`, if a field refers to it; else why it does not.
fn checked<'a>(
    reference: Option<&'a gst::Buffer>,
    description: &meta::FieldDescription,
    offset: i32,
) -> Result<&'a gst::Buffer, String> {
    if description.reference_offset != offset {
        return Err(format!(
            "they refer to the frame at offset {}, and the frame at offset {offset} is kept; reference-offset chooses another",
            description.reference_offset
        ));
    }
    const ADVICE: &str = "put motioncompensate right behind motionestimate, so that no frame is dropped or gets a new \
                          timestamp between them";
    let reference =
        reference.ok_or_else(|| format!("the frame they refer to did not come here; {ADVICE}"))?;
    match (description.reference_pts, reference.pts()) {
        (Some(wanted), Some(kept)) if wanted != kept => Err(format!(
            "they refer to the frame at {wanted}, and the frame at offset {offset} is at {kept}; {ADVICE}"
        )),
        _ => Ok(reference),
    }
}

/// A frame that waits for a later one, its reference.
pub struct WaitingFrame {
    pub buffer: gst::Buffer,
    /// What the base class says of it.
    pub is_discont: bool,
    /// Whether no later frames of its sequence come.
    is_last: bool,
}

/// What has become of a frame.
pub struct Compensation {
    /// The message about its quality, if that is measured.
    pub quality: Option<gst::Structure>,
    /// Why its field could not be used.
    pub obstacle: Option<String>,
}

/// What is done from start to stop.
#[derive(Default)]
pub struct CompensateState {
    stream: Option<CompensateStream>,
    /// The settings that hold for the current buffer.
    pub settings: CompensateSettings,
    pub totals: Totals,
    /// What waits for a later reference frame, oldest first.
    pub waiting: Waiting<WaitingFrame>,
    pub held: HeldBuffers,
}

impl CompensateState {
    /// Begins with `settings`.
    pub fn new(settings: CompensateSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Frames of `info` come from now on.
    pub fn set_info(&mut self, info: &VideoInfo) {
        self.stream = Some(CompensateStream::new(info));
    }

    /// How long frames wait, and for how many.
    pub fn latency(&self) -> (gst::ClockTime, usize) {
        let delay = self.settings.delay();
        self.stream.as_ref().map_or((gst::ClockTime::ZERO, 0), |stream| {
            (crate::video::duration_of_frames(stream.layout.info(), delay), delay)
        })
    }

    /// Takes a buffer of upstream's; gives it back if it need not wait.
    pub fn take_input(&mut self, buffer: gst::Buffer, is_discont: bool) -> Option<gst::Buffer> {
        self.held.note(&buffer, self.settings.held());
        let buffer = self.held.own_if_scarce(buffer, self.settings.held());
        if self.settings.delay() == 0 {
            return Some(buffer);
        }
        self.waiting.push(WaitingFrame { buffer, is_discont, is_last: false });
        None
    }

    /// Checks that `buffer` holds a frame, if frames are read.
    ///
    /// # Errors
    /// As [`FrameLayout::check`].
    pub fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        let reads = !self.settings.is_in_place() || self.settings.is_measured();
        self.stream.as_ref().filter(|_| reads).map_or(Ok(()), |stream| frame::check(&stream.layout, buffer))
    }

    /// What waited longest, unless it is a frame whose reference may still come.
    pub fn pop(&mut self) -> Option<Item<WaitingFrame>> {
        match self.waiting.first() {
            Some(frame) if !frame.is_last && self.waiting.len() <= self.settings.delay() => None,
            _ => self.waiting.pop(),
        }
    }

    /// No later frames come for those that wait.
    pub fn expect_no_more(&mut self) {
        self.waiting.frames_mut().for_each(|frame| frame.is_last = true);
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.earlier.clear();
        }
    }

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        self.waiting.frames_mut().for_each(|frame| pool::release(&mut frame.buffer));
        self.stream.iter_mut().flat_map(|stream| &mut stream.earlier).for_each(pool::release);
    }

    /// What predicts `buffer`; or why its field cannot be used.
    fn field(
        &self,
        buffer: &gst::BufferRef,
    ) -> Result<Result<Option<FieldAndReference>, String>, CompensateError> {
        let (offset, is_default) = (self.settings.offset(), self.settings.reference_offset == 0);
        let later = self.settings.delay().checked_sub(1).and_then(|index| self.waiting.frames().nth(index));
        let stream = self.stream.as_ref().ok_or(CompensateError::NotNegotiated)?;
        Ok(stream.field(buffer, (offset, later.map(|frame| &frame.buffer)), is_default))
    }

    /// Counts a frame, and attaches its measures.
    fn report(
        &mut self,
        buffer: &mut gst::BufferRef,
        quality: Option<PredictionQuality>,
        obstacle: Option<String>,
    ) -> Result<Compensation, CompensateError> {
        let quality = quality.filter(|_| self.settings.is_measured());
        self.totals.add(quality);
        if let Some(quality) = &quality {
            quality.attach(buffer).map_err(CompensateError::Attach)?;
        }
        Ok(Compensation { quality: quality.map(|quality| quality.message(buffer.pts())), obstacle })
    }

    /// Writes the prediction or residual of `input` to `out`.
    ///
    /// # Errors
    /// [`CompensateError`].
    pub fn replace(
        &mut self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<Compensation, CompensateError> {
        let (field, obstacle) = divided(self.field(input)?);
        let stream = self.stream.as_mut().ok_or(CompensateError::NotNegotiated)?;
        let output = match self.settings.mode {
            MotionCompensateMode::Residual => Compensated::Residual,
            _ => Compensated::Prediction,
        };
        let quality = match field {
            Some(field) => {
                let wanted = (output, self.settings.is_measured());
                Some(stream.compensate(field, input, wanted, Some(out))?)
            }
            None => {
                stream.copy(input, out)?;
                None
            }
        };
        stream.keep(input.clone(), self.settings.offset());
        self.report(out, quality, obstacle)
    }

    /// Measures the prediction of `buffer` and leaves its samples unchanged.
    ///
    /// # Errors
    /// [`CompensateError`].
    pub fn look_at(&mut self, buffer: &mut gst::BufferRef) -> Result<Compensation, CompensateError> {
        let (field, obstacle) = divided(self.field(buffer)?);
        let stream = self.stream.as_mut().ok_or(CompensateError::NotNegotiated)?;
        let quality = match field.filter(|_| self.settings.is_measured()) {
            Some(field) => {
                let wanted = (Compensated::Prediction, true);
                Some(stream.compensate(field, buffer, wanted, None)?)
            }
            None => None,
        };
        let reported = self.report(buffer, quality, obstacle)?;
        // The copy shares the memory and needs no vectors. From GStreamer 1.24 on it may hold the buffer, which then cannot be
        // written to any more.
        let mut reference = buffer.copy();
        meta::remove(reference.make_mut());
        if let Some(stream) = &mut self.stream {
            stream.keep(reference, self.settings.offset());
        }
        Ok(reported)
    }
}

/// A field, and why there is none.
fn divided(field: Result<Option<FieldAndReference>, String>) -> (Option<FieldAndReference>, Option<String>) {
    match field {
        Ok(field) => (field, None),
        Err(obstacle) => (None, Some(obstacle)),
    }
}

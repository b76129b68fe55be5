//! The reference frames of a stream, and the compensation of each plane.

use std::collections::VecDeque;

use gst_video::{VideoFrameRef, VideoInfo};

use super::quality::PredictionQuality;
use crate::meta::{self, MotionVectorMeta};
use crate::video::frame::{PlaneError, map_readable, plane, plane_mut, samplings};
use crate::video::sample_format;
use motion_search::compensation::{Compensated, CompensationError, Field, PlaneMut, Sampling, compensate};

/// A field and its reference frame.
pub type FieldAndReference = (MotionVectorMeta, gst::Buffer);

/// State that is valid until the next caps.
pub struct CompensateStream {
    pub info: VideoInfo,
    /// One per plane.
    pub samplings: Vec<Sampling>,
    /// Earlier frames that may be references, oldest first.
    pub earlier: VecDeque<gst::Buffer>,
    /// One plane of a prediction that is measured but not sent; allocated on first use.
    scratch: Vec<u8>,
}

/// Why a frame could not be compensated.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("a buffer came before its caps")]
    NotNegotiated,
    #[error("a buffer does not hold the frame its caps promise")]
    Buffer(#[source] glib::BoolError),
    #[error("a buffer does not hold the frame its caps promise: it has {0}")]
    Plane(#[from] PlaneError),
    #[error("the motion field of a frame cannot be read: {0}")]
    Meta(#[from] meta::MetaError),
    #[error("a motion field for frames of {0} x {1} samples came with a frame of {2} x {3} samples")]
    FieldSize(u32, u32, u32, u32),
    #[error(transparent)]
    Compensation(#[from] CompensationError),
    #[error("cannot attach the measure: {0}")]
    Attach(#[source] glib::BoolError),
}

impl Failure {
    /// The error message for the bus.
    pub fn message(&self) -> gst::ErrorMessage {
        match self {
            Failure::NotNegotiated => gst::error_msg!(gst::CoreError::Negotiation, ("{self}")),
            Failure::Buffer(_) | Failure::Plane(_) | Failure::Meta(_) | Failure::FieldSize(..) => {
                gst::error_msg!(gst::StreamError::Format, ("{self}"), ["{self:?}"])
            }
            Failure::Compensation(_) | Failure::Attach(_) => {
                gst::error_msg!(gst::LibraryError::Failed, ("{self}"), ["{self:?}"])
            }
        }
    }
}

/// Where the result is written.
pub enum Target<'a, 'b> {
    Frame(&'a mut VideoFrameRef<&'b mut gst::BufferRef>),
    /// The scratch plane: the prediction is only measured.
    Scratch,
}

/// Maps `buffer` for reading as a frame described by `info`.
///
/// # Errors
/// [`Failure::Buffer`] if the buffer does not hold such a frame.
pub fn map<'a>(
    buffer: &'a gst::BufferRef,
    info: &VideoInfo,
) -> Result<VideoFrameRef<&'a gst::BufferRef>, Failure> {
    map_readable(buffer, info).map_err(Failure::Buffer)
}

impl CompensateStream {
    pub fn new(info: &VideoInfo) -> Self {
        let samplings = samplings(info);
        Self { info: info.clone(), samplings, earlier: VecDeque::new(), scratch: Vec::new() }
    }

    /// Keeps `frame` as a reference of the next frames, if `offset` names an earlier frame.
    pub fn keep(&mut self, frame: gst::Buffer, offset: i32) {
        self.earlier.push_back(frame);
        let count = offset.min(0).unsigned_abs() as usize;
        self.earlier.drain(..self.earlier.len().saturating_sub(count));
    }

    /// The field that predicts the frame in `buffer` from the frame at `offset`, which is `later` if it is a later one.
    /// `Err` in the inner result says why it cannot be used. With `is_default`, that the frame has fields for other
    /// reference frames only is such a reason.
    pub fn field(
        &self,
        buffer: &gst::BufferRef,
        (offset, later): (i32, Option<&gst::Buffer>),
        is_default: bool,
    ) -> Result<Result<Option<FieldAndReference>, String>, Failure> {
        let reference = match offset {
            0.. => later,
            _ => self.earlier.iter().nth_back(offset.unsigned_abs() as usize - 1),
        };
        // The first frame of a sequence has fields for later frames only.
        let is_obstacle = is_default && reference.is_some();
        let mut usable = Ok(None);
        for field in MotionVectorMeta::all_of(buffer) {
            let field = field?;
            let description = field.description();
            let (width, height) = (self.info.width(), self.info.height());
            if (description.width, description.height) != (width, height) {
                return Err(Failure::FieldSize(description.width, description.height, width, height));
            }
            let is_other = description.reference_offset != offset && !is_obstacle;
            if is_other || matches!(usable, Ok(Some(_))) {
                continue;
            }
            usable =
                checked(reference, description, offset).map(|reference| Some((field, reference.clone())));
        }
        Ok(usable)
    }

    /// Predicts the frame in `current` by a field and its reference frame, and writes the wanted output to `target`.
    pub fn compensate(
        &mut self,
        (field, reference): FieldAndReference,
        current: &VideoFrameRef<&gst::BufferRef>,
        wanted: (Compensated, bool),
        mut target: Target<'_, '_>,
    ) -> Result<PredictionQuality, Failure> {
        let Self { info, samplings, scratch, .. } = self;
        let reference = map(&reference, info)?;
        let description = field.description();
        let size = (description.width as usize, description.height as usize);
        let block = (description.block_width as usize, description.block_height as usize);
        let vectors = Field::new(size, block, field.vectors())?.with_scale(description.scale);
        let format = sample_format(info);
        let mut quality = PredictionQuality::of_samples_to(format.peak());
        for (index, &sampling) in samplings.iter().enumerate() {
            let planes =
                (&plane(current, info, index, sampling)?, &plane(&reference, info, index, sampling)?);
            let mut out = match &mut target {
                Target::Frame(frame) => plane_mut(frame, info, index, sampling)?,
                Target::Scratch => {
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
    pub fn copy(
        &self,
        current: &VideoFrameRef<&gst::BufferRef>,
        out: &mut VideoFrameRef<&mut gst::BufferRef>,
    ) -> Result<(), Failure> {
        for (index, &sampling) in self.samplings.iter().enumerate() {
            let from = plane(current, &self.info, index, sampling)?;
            plane_mut(out, &self.info, index, sampling)?.copy_from(&from)?;
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
    let reference = reference.ok_or("the frame they refer to did not come here")?;
    match (description.reference_pts, reference.pts()) {
        (Some(wanted), Some(kept)) if wanted != kept => {
            Err(format!("they refer to the frame at {wanted}, and the frame at offset {offset} is at {kept}"))
        }
        _ => Ok(reference),
    }
}

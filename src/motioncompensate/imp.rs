//! Properties, caps, events and buffers of `motioncompensate`.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::BaseTransformMode;
use gst_base::subclass::prelude::*;
use gst_video::subclass::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};

use super::planes::{PlaneError, plane, plane_mut, samplings};
use super::quality::{Quality, Totals};
use super::{MotionCompensateMeasure, MotionCompensateMode};
use crate::compensation::{CompensationError, Field, Output, PlaneMut, Sampling, compensate};
use crate::meta::{self, MotionVectorMeta};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motioncompensate",
        gst::DebugColorFlags::empty(),
        Some("Predicts pictures from their motion vectors"),
    )
});

/// The formats that `motionestimate` takes.
const FORMATS: [VideoFormat; 7] = [
    VideoFormat::Gray8,
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
];

#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    mode: MotionCompensateMode,
    measure: MotionCompensateMeasure,
}

/// What holds from one caps to the next.
struct Stream {
    info: VideoInfo,
    /// One a plane.
    samplings: Vec<Sampling>,
    /// The picture before.
    reference: Option<gst::Buffer>,
    /// Room for a plane of the prediction where it is only measured; made when it is first needed.
    scratch: Vec<u8>,
}

/// What is done from start to stop.
#[derive(Default)]
struct State {
    stream: Option<Stream>,
    /// What the buffer in hand was negotiated for.
    settings: Settings,
    totals: Totals,
    warned_elsewhere: bool,
}

/// The implementation of [`super::MotionCompensate`].
#[derive(Default)]
pub struct MotionCompensate {
    settings: Mutex<Settings>,
    state: Mutex<State>,
}

/// A panic elsewhere leaves none of the locked values half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a picture could not be compensated.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("a buffer came before its caps")]
    NotNegotiated,
    #[error("a buffer does not hold the picture its caps promise")]
    Buffer(#[source] glib::BoolError),
    #[error("a buffer does not hold the picture its caps promise: it has {0}")]
    Plane(#[from] PlaneError),
    #[error("the motion field of a picture cannot be read: {0}")]
    Meta(#[from] meta::MetaError),
    #[error("a motion field for pictures of {0} x {1} samples came with a picture of {2} x {3}")]
    FieldSize(u32, u32, u32, u32),
    #[error(transparent)]
    Compensation(#[from] CompensationError),
    #[error("the measure cannot be attached: {0}")]
    Attach(#[source] glib::BoolError),
}

impl Failure {
    /// The failure as it is posted on the bus.
    fn message(&self) -> gst::ErrorMessage {
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

/// Where the result goes.
enum Target<'a, 'b> {
    Frame(&'a mut VideoFrameRef<&'b mut gst::BufferRef>),
    /// Nowhere: it is only measured.
    Scratch,
}

fn map<'a>(
    buffer: &'a gst::BufferRef,
    info: &VideoInfo,
) -> Result<VideoFrameRef<&'a gst::BufferRef>, Failure> {
    VideoFrameRef::from_buffer_ref_readable(buffer, info).map_err(Failure::Buffer)
}

impl Stream {
    fn new(info: &VideoInfo) -> Self {
        let samplings = samplings(info);
        Self { info: info.clone(), samplings, reference: None, scratch: Vec::new() }
    }

    /// The field by which the picture in `buffer` is predicted from the one before; the error says
    /// what is in the way where there are fields, but none of this kind.
    fn field(&self, buffer: &gst::BufferRef) -> Result<Result<Option<MotionVectorMeta>, String>, Failure> {
        let mut usable = Ok(None);
        for field in MotionVectorMeta::all_of(buffer) {
            let field = field?;
            let description = field.description();
            let (width, height) = (self.info.width(), self.info.height());
            if (description.width, description.height) != (width, height) {
                return Err(Failure::FieldSize(description.width, description.height, width, height));
            }
            match (self.obstacle(description), &usable) {
                (_, Ok(Some(_))) => (),
                (None, _) => usable = Ok(Some(field)),
                (Some(obstacle), _) => usable = Err(obstacle),
            }
        }
        Ok(usable)
    }

    /// Why the reference of a field is not the picture that is kept.
    fn obstacle(&self, description: &meta::FieldDescription) -> Option<String> {
        if description.reference_offset != -1 {
            return Some(format!(
                "they refer to the picture at offset {}, and only the one before (-1) is kept",
                description.reference_offset
            ));
        }
        let Some(reference) = &self.reference else {
            return Some("the picture they refer to did not come here".into());
        };
        match (description.reference_pts, reference.pts()) {
            (Some(wanted), Some(kept)) if wanted != kept => {
                Some(format!("they refer to the picture at {wanted}, and the one before this was at {kept}"))
            }
            _ => None,
        }
    }

    /// Predicts the picture in `current` by `field` and writes what is wanted to `target`.
    fn compensate(
        &mut self,
        field: &MotionVectorMeta,
        current: &VideoFrameRef<&gst::BufferRef>,
        wanted: (Output, bool),
        mut target: Target<'_, '_>,
    ) -> Result<Quality, Failure> {
        let Self { info, samplings, reference, scratch } = self;
        let reference = map(reference.as_ref().ok_or(Failure::NotNegotiated)?, info)?;
        let description = field.description();
        let size = (description.width as usize, description.height as usize);
        let block = (description.block_width as usize, description.block_height as usize);
        let vectors = Field::new(size, block, field.vectors())?;
        let mut quality = Quality::default();
        for (index, &sampling) in samplings.iter().enumerate() {
            let planes =
                (&plane(current, info, index, sampling)?, &plane(&reference, info, index, sampling)?);
            let mut out = match &mut target {
                Target::Frame(frame) => plane_mut(frame, info, index, sampling)?,
                Target::Scratch => {
                    let (width, height) = sampling.plane_size(size.0, size.1);
                    if scratch.len() < width * height {
                        scratch.resize(width * height, 0);
                    }
                    PlaneMut::new(scratch, width, height, width)
                        .map_err(|error| PlaneError::Picture(index, error))?
                }
            };
            quality.add(index, compensate(&vectors, sampling, planes, wanted, &mut out)?);
        }
        Ok(quality)
    }

    /// Writes the picture in `current` to `out` as it is.
    fn copy(
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

impl MotionCompensate {
    /// The field by which `buffer` is to be predicted; `None` where there is none, or none that can
    /// be used, and then a warning says why.
    fn field(&self, state: &mut State, buffer: &gst::BufferRef) -> Result<Option<MotionVectorMeta>, Failure> {
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        if buffer.flags().contains(gst::BufferFlags::DISCONT) && stream.reference.take().is_some() {
            gst::debug!(CAT, imp = self, "Reference forgotten: discontinuity at {:?}", buffer.pts());
        }
        stream.field(buffer).map(|field| {
            field.unwrap_or_else(|obstacle| {
                gst::warning!(CAT, imp = self, "Picture at {:?} not predicted: {obstacle}", buffer.pts());
                if !std::mem::replace(&mut state.warned_elsewhere, true) {
                    gst::element_imp_warning!(
                        self,
                        gst::StreamError::Format,
                        ("A picture is not predicted from its vectors: {obstacle}. Put motioncompensate \
                             right behind motionestimate, so that no picture is dropped or stamped anew \
                             between them"),
                        ["Picture at {:?}; told once", buffer.pts()]
                    );
                }
                None
            })
        })
    }

    /// Counts a picture and tells what was measured of it.
    fn report(
        &self,
        state: &mut State,
        buffer: &mut gst::BufferRef,
        quality: Option<Quality>,
    ) -> Result<Option<gst::Structure>, Failure> {
        let quality = quality.filter(|_| state.settings.measure == MotionCompensateMeasure::Psnr);
        state.totals.add(quality);
        let Some(quality) = quality else { return Ok(None) };
        quality.attach(buffer).map_err(Failure::Attach)?;
        Ok(Some(quality.message(buffer.pts())))
    }

    /// Makes `out` of `input`; the message about it, if there is one.
    fn replace(
        &self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<Option<gst::Structure>, Failure> {
        let state = &mut *lock(&self.state);
        let field = self.field(state, input)?;
        let settings = state.settings;
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        let output = match settings.mode {
            MotionCompensateMode::Residual => Output::Residual,
            _ => Output::Prediction,
        };
        let wanted = (output, settings.measure == MotionCompensateMeasure::Psnr);
        let quality = {
            let current = map(input, &stream.info)?;
            let mut frame =
                VideoFrameRef::from_buffer_ref_writable(out, &stream.info).map_err(Failure::Buffer)?;
            match field {
                Some(field) => {
                    Some(stream.compensate(&field, &current, wanted, Target::Frame(&mut frame))?)
                }
                None => {
                    stream.copy(&current, &mut frame)?;
                    None
                }
            }
        };
        stream.reference = Some(input.clone());
        self.report(state, out, quality)
    }

    /// Measures the prediction of `buffer`, whose samples stay as they are.
    fn look_at(&self, buffer: &mut gst::BufferRef) -> Result<Option<gst::Structure>, Failure> {
        let state = &mut *lock(&self.state);
        let field = self.field(state, buffer)?;
        let measured = state.settings.measure == MotionCompensateMeasure::Psnr;
        let stream = state.stream.as_mut().ok_or(Failure::NotNegotiated)?;
        let quality = match field.filter(|_| measured) {
            Some(field) => {
                let current = map(buffer, &stream.info)?;
                Some(stream.compensate(&field, &current, (Output::Prediction, true), Target::Scratch)?)
            }
            None => None,
        };
        // It shares the memory; the vectors it needs no more.
        let mut reference = buffer.copy();
        meta::remove(reference.make_mut());
        stream.reference = Some(reference);
        self.report(state, buffer, quality)
    }

    /// Ends the work on a buffer: posts what there is to tell.
    fn finish(
        &self,
        result: Result<Option<gst::Structure>, Failure>,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match result {
            Ok(None) => Ok(gst::FlowSuccess::Ok),
            Ok(Some(structure)) => {
                self.post(structure);
                Ok(gst::FlowSuccess::Ok)
            }
            Err(failure) => {
                self.forget_reference("error");
                self.post_error_message(failure.message());
                Err(gst::FlowError::Error)
            }
        }
    }

    fn post(&self, structure: gst::Structure) {
        self.post_message(gst::message::Element::builder(structure).src(&*self.obj()).build());
    }

    /// Makes the next picture the first of a sequence.
    fn forget_reference(&self, reason: &str) {
        if let Some(stream) = &mut lock(&self.state).stream {
            gst::debug!(CAT, imp = self, "Reference forgotten: {reason}");
            stream.reference = None;
        }
    }

    /// Lets the settings hold from the next buffer on; whether other buffers are needed for it.
    fn apply_settings(&self) -> bool {
        let settings = *lock(&self.settings);
        let was = std::mem::replace(&mut lock(&self.state).settings, settings);
        let in_place = |settings: Settings| settings.mode == MotionCompensateMode::Original;
        self.obj().set_in_place(in_place(settings));
        in_place(was) != in_place(settings)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionCompensate {
    const NAME: &'static str = "GstMotionCompensate";
    type Type = super::MotionCompensate;
    type ParentType = gst_video::VideoFilter;
}

impl ObjectImpl for MotionCompensate {
    fn constructed(&self) {
        self.parent_constructed();
        // What is dropped for being late is missed as reference.
        self.obj().set_qos(false);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let default = Settings::default();
            vec![
                glib::ParamSpecEnum::builder_with_default("mode", default.mode)
                    .nick("Mode")
                    .blurb("What is sent on")
                    .mutable_playing()
                    .build(),
                glib::ParamSpecEnum::builder_with_default("measure", default.measure)
                    .nick("Measure")
                    .blurb(
                        "What is measured of each prediction, attached to its buffer and posted on the bus",
                    )
                    .mutable_playing()
                    .build(),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "mode" => settings.mode = value.get().expect("type checked upstream"),
            "measure" => settings.measure = value.get().expect("type checked upstream"),
            name => unreachable!("no property {name}"),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        match pspec.name() {
            "mode" => settings.mode.to_value(),
            "measure" => settings.measure.to_value(),
            name => unreachable!("no property {name}"),
        }
    }
}

impl GstObjectImpl for MotionCompensate {}

impl ElementImpl for MotionCompensate {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion compensator",
                "Filter/Effect/Video",
                "Predicts pictures from the one before and the motion vectors that come with them, and \
                 measures how well",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            // As in motionestimate, nothing but format and size is restricted.
            let caps = gst_video::VideoCapsBuilder::for_encoding("video/x-raw")
                .format_list(FORMATS)
                .width_range(1..)
                .height_range(1..)
                .build();
            [("sink", gst::PadDirection::Sink), ("src", gst::PadDirection::Src)]
                .map(|(name, direction)| {
                    gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps)
                        .expect("names and caps of the templates are valid")
                })
                .into()
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for MotionCompensate {
    const MODE: BaseTransformMode = BaseTransformMode::Both;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = State::default();
        self.apply_settings();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = State::default();
        Ok(())
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        // One buffer more, for the reference.
        let pools: Vec<_> = query.allocation_pools().map(|pool| pool.to_owned()).collect();
        for (index, (pool, size, least, most)) in pools.iter().enumerate() {
            let most = if *most == 0 { 0 } else { most.saturating_add(1) };
            let least = least.saturating_add(1);
            query.set_nth_allocation_pool(index as u32, pool.as_ref(), *size, least, most);
        }
        if pools.is_empty() {
            let size = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
            if let Some(size) = size.and_then(|info| u32::try_from(info.size()).ok()) {
                query.add_allocation_pool(None::<&gst::BufferPool>, size, 1, 0);
            }
        }
        Ok(())
    }

    // The picture is of the same size and in its place whatever is sent on: everything that is
    // said about it holds.
    fn transform_meta<'a>(
        &self,
        _out: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        true
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::StreamStart
            | gst::EventType::Segment
            | gst::EventType::FlushStop
            | gst::EventType::Gap => self.forget_reference(event.type_().name()),
            gst::EventType::Eos if lock(&self.settings).measure == MotionCompensateMeasure::Psnr => {
                let structure = lock(&self.state).totals.message();
                gst::info!(CAT, imp = self, "{structure}");
                self.post(structure);
            }
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        // Between two buffers, so that none is begun in one mode and ended in another.
        if self.apply_settings() {
            self.obj().reconfigure_src();
            self.obj().reconfigure_sink();
        }
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        out: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.finish(self.replace(input, out))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.finish(self.look_at(buffer))
    }
}

impl VideoFilterImpl for MotionCompensate {
    fn set_info(
        &self,
        _incaps: &gst::Caps,
        info: &VideoInfo,
        _outcaps: &gst::Caps,
        _out_info: &VideoInfo,
    ) -> Result<(), gst::LoggableError> {
        lock(&self.state).stream = Some(Stream::new(info));
        Ok(())
    }
}

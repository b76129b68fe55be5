//! Properties, caps, events and buffers of `motionestimate`. What is found, and by whom, is
//! decided elsewhere.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use glib::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;
use gst_video::VideoFormat;

use super::luma::luma;
use super::settings::Settings;
use super::statistics::Statistics;
use super::tracker::{Found, Tracker};
use crate::estimator::{Estimator, SetupError};
use crate::meta::{self, FieldDescription};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motionestimate",
        gst::DebugColorFlags::empty(),
        Some("Finds the motion between pictures"),
    )
});

/// Formats with 8-bit luma in their first plane.
const FORMATS: [VideoFormat; 7] = [
    VideoFormat::Gray8,
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
];

/// What holds from one caps to the next.
struct Stream {
    info: gst_video::VideoInfo,
    /// The settings by which `tracker` was made.
    settings: Settings,
    tracker: Tracker,
    /// Timestamp of the reference picture.
    reference_pts: Option<gst::ClockTime>,
}

/// What is done from start to stop.
#[derive(Default)]
struct State {
    stream: Option<Stream>,
    warned_interlaced: bool,
    warned_fallback: bool,
    warned_tuning: bool,
}

/// The implementation of [`super::MotionEstimate`].
///
/// Locks are taken in the order of the fields; `state` alone is held during a search.
#[derive(Default)]
pub struct MotionEstimate {
    state: Mutex<State>,
    settings: Mutex<Settings>,
    statistics: Mutex<Statistics>,
}

/// A panic elsewhere leaves none of the locked values half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a developer wants to know of the error: the compiler's words, if it was one.
fn setup_debug(error: &SetupError) -> String {
    match error {
        SetupError::KernelBuild { log, .. } => log.clone(),
        _ => format!("{error:?}"),
    }
}

/// The error as it is posted on the bus.
fn setup_message(error: &SetupError) -> gst::ErrorMessage {
    let debug = setup_debug(error);
    match error {
        SetupError::NoSuchDevice { .. } => {
            gst::error_msg!(gst::ResourceError::NotFound, ("{error}"), ["{debug}"])
        }
        SetupError::Memory { .. } => {
            gst::error_msg!(gst::ResourceError::NoSpaceLeft, ("{error}"), ["{debug}"])
        }
        SetupError::Device { .. } => gst::error_msg!(gst::ResourceError::Failed, ("{error}"), ["{debug}"]),
        SetupError::KernelBuild { .. } => gst::error_msg!(gst::LibraryError::Init, ("{error}"), ["{debug}"]),
        _ => gst::error_msg!(gst::LibraryError::Settings, ("{error}"), ["{debug}"]),
    }
}

impl MotionEstimate {
    /// Opens the estimator for `settings`, and tells who it is.
    fn open(
        &self,
        state: &mut State,
        settings: &Settings,
        info: &gst_video::VideoInfo,
    ) -> Result<Box<dyn Estimator>, SetupError> {
        let opened = settings.open(info.width(), info.height())?;
        let estimator = opened.estimator;
        if let Some(reason) = opened.fallback {
            gst::warning!(CAT, imp = self, "Falling back to {}: {reason}", estimator.device());
            if !std::mem::replace(&mut state.warned_fallback, true) {
                gst::element_imp_warning!(
                    self,
                    gst::ResourceError::Failed,
                    ("Searching on {} instead: {reason}", estimator.device()),
                    ["{}", setup_debug(&reason)]
                );
            }
        }
        for warning in opened.warnings {
            gst::warning!(CAT, imp = self, "{warning}");
            if !std::mem::replace(&mut state.warned_tuning, true) {
                gst::element_imp_warning!(
                    self,
                    gst::LibraryError::Settings,
                    ("Tuning: {warning}"),
                    ["{warning:?}"]
                );
            }
        }
        gst::info!(
            CAT,
            imp = self,
            "{} with kernel {} searches {:?}, as {} says",
            estimator.device(),
            estimator.kernel(),
            estimator.parameters(),
            opened.source
        );
        lock(&self.statistics).set_estimator(estimator.as_ref());
        Ok(estimator)
    }

    /// Lets the settings hold from this picture on, where they have been changed.
    fn apply_settings(&self, state: &mut State) -> Result<(), gst::ErrorMessage> {
        let Some(stream) = &state.stream else { return Ok(()) };
        let settings = match lock(&self.settings) {
            settings if *settings == stream.settings => return Ok(()),
            settings => settings.clone(),
        };
        gst::info!(CAT, imp = self, "New settings: {settings:?}");
        let info = stream.info.clone();
        let estimator = self.open(state, &settings, &info).map_err(|error| setup_message(&error))?;
        let Some(stream) = state.stream.take() else { return Ok(()) };
        let tracker = stream.tracker.with_estimator(estimator).map_err(|error| {
            gst::error_msg!(gst::LibraryError::Failed, ("The reference is lost: {error}"), ["{error:?}"])
        })?;
        state.stream = Some(Stream { settings, tracker, ..stream });
        Ok(())
    }

    /// Makes the next picture the first of a sequence.
    fn forget_reference(&self, reason: &str) {
        if let Some(stream) = &mut lock(&self.state).stream {
            gst::debug!(CAT, imp = self, "Reference forgotten: {reason}");
            stream.tracker.forget();
        }
    }

    /// Searches the picture in `buffer` and attaches what is found.
    fn describe(&self, buffer: &mut gst::BufferRef) -> Result<(), gst::ErrorMessage> {
        let state = &mut *lock(&self.state);
        self.apply_settings(state)?;
        let stream = state
            .stream
            .as_mut()
            .ok_or_else(|| gst::error_msg!(gst::CoreError::Negotiation, ["A buffer came before its caps"]))?;
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            gst::debug!(CAT, imp = self, "Reference forgotten: discontinuity at {:?}", buffer.pts());
            stream.tracker.forget();
        }

        let short = |reason: &dyn std::fmt::Display| {
            gst::error_msg!(
                gst::StreamError::Format,
                ("A buffer does not hold the picture its caps promise"),
                ["{reason}; {} bytes for {:?}", buffer.size(), stream.info]
            )
        };
        let found = {
            let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &stream.info)
                .map_err(|error| short(&error))?;
            let picture = luma(&frame).map_err(|error| short(&error))?;
            stream.tracker.track(&picture).map_err(|error| {
                gst::error_msg!(gst::LibraryError::Failed, ("The search failed: {error}"), ["{error:?}"])
            })?
        };
        let reference_pts = std::mem::replace(&mut stream.reference_pts, buffer.pts());
        let estimator = stream.tracker.estimator();
        lock(&self.statistics).add(estimator, found.as_ref().map(|found| &found.vectors[..]));
        gst::trace!(CAT, imp = self, "{:?} took {:?}", buffer.pts(), estimator.stage_times());

        meta::remove(buffer);
        let Some(Found { vectors, predictors }) = found else {
            gst::debug!(CAT, imp = self, "No reference for the picture at {:?}", buffer.pts());
            return Ok(());
        };
        let parameters = estimator.parameters();
        let grid = parameters.grid();
        let description = FieldDescription {
            width: parameters.width as u32,
            height: parameters.height as u32,
            block_width: parameters.block_size as u32,
            block_height: parameters.block_size as u32,
            columns: grid.columns as u32,
            rows: grid.rows as u32,
            reference_offset: -1,
            reference_pts,
            metric: parameters.metric,
        };
        let vectors = glib::Bytes::from_owned(vectors);
        let predictors = predictors.map(glib::Bytes::from_owned);
        meta::attach_predicted(buffer, &description, vectors, predictors).map_err(|error| {
            gst::error_msg!(gst::LibraryError::Failed, ("Vectors cannot be attached: {error}"), ["{error:?}"])
        })
    }
}

#[glib::object_subclass]
impl ObjectSubclass for MotionEstimate {
    const NAME: &'static str = "GstMotionEstimate";
    type Type = super::MotionEstimate;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for MotionEstimate {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let stats = glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .nick("Statistics")
                .blurb("Pictures, mean times in ns, effective rate, mean cost a sample, device and kernel")
                .read_only()
                .build();
            let mut properties = Settings::param_specs();
            properties.push(stats);
            properties
        });
        PROPERTIES.as_ref()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        settings.set(pspec.name(), value);
        gst::debug!(CAT, imp = self, "{} set: {settings:?}", pspec.name());
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => lock(&self.statistics).structure().to_value(),
            name => lock(&self.settings).value(name),
        }
    }
}

impl GstObjectImpl for MotionEstimate {}

impl ElementImpl for MotionEstimate {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Motion estimator",
                "Filter/Analyzer/Video",
                "Finds a motion vector for every block of a picture, on a GPU or the CPU, and attaches the \
                 vectors to the buffer as MotionVectorMeta",
                "The gst-plugin-motionestimate authors",
            )
        });
        Some(&*METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            // Neither the frame rate nor the interlacing is restricted: named here, they would be
            // added to caps that leave them out. Fields in buffers of their own are no plain system
            // memory but have a caps feature, and do not match.
            let caps = gst_video::VideoCapsBuilder::for_encoding("video/x-raw")
                .format_list(FORMATS)
                .width_range(1..)
                .height_range(1..)
                .build();
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps)
                    .expect("a template needs a name and caps alone")
            };
            vec![template("sink", gst::PadDirection::Sink), template("src", gst::PadDirection::Src)]
        });
        TEMPLATES.as_ref()
    }
}

impl BaseTransformImpl for MotionEstimate {
    // In place, and not passing through: the base class then hands over each buffer with writable
    // metadata, a copy that shares the memory where somebody else holds the buffer too. That, and
    // that it passes the ALLOCATION query on, is all that is needed here.
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = State::default();
        *lock(&self.statistics) = Statistics::default();
        // What no picture can make right is told now and not with the first caps: wrong settings,
        // a device that is missing, a kernel it cannot run.
        let settings = lock(&self.settings).clone();
        settings.open(settings.block_size, settings.block_size).map_err(|error| setup_message(&error))?;
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = State::default();
        gst::debug!(CAT, imp = self, "Stopped: {:?}", lock(&self.statistics));
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = gst_video::VideoInfo::from_caps(incaps)
            .map_err(|_| gst::loggable_error!(CAT, "Not raw video: {incaps}"))?;
        let state = &mut *lock(&self.state);
        // Nothing of the stream before may be taken for this one's, not even after an error.
        state.stream = None;
        let settings = lock(&self.settings).clone();
        let estimator = self.open(state, &settings, &info).map_err(|error| {
            self.post_error_message(setup_message(&error));
            gst::loggable_error!(CAT, "{error}")
        })?;
        if info.is_interlaced() && !std::mem::replace(&mut state.warned_interlaced, true) {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("Interlaced pictures are searched as whole frames: deinterlace before for true vectors"),
                ["{incaps}"]
            );
        }
        state.stream = Some(Stream { info, settings, tracker: Tracker::new(estimator), reference_pts: None });
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::StreamStart
            | gst::EventType::Segment
            | gst::EventType::FlushStop
            | gst::EventType::Gap => self.forget_reference(event.type_().name()),
            gst::EventType::Eos => {
                let structure = lock(&self.statistics).structure();
                gst::info!(CAT, imp = self, "{structure}");
                let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
                self.post_message(message);
            }
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.describe(buffer).map(|()| gst::FlowSuccess::Ok).map_err(|message| {
            self.forget_reference("error");
            self.post_error_message(message);
            gst::FlowError::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Kernel;

    #[test]
    fn a_failed_build_shows_the_compilers_log_as_debug_text() {
        let log = "line 3: undeclared name".to_owned();
        let error =
            SetupError::KernelBuild { kernel: Kernel::Reference, device: "a GPU".into(), log: log.clone() };
        assert_eq!(setup_debug(&error), log);
        let message = format!("{:?}", setup_message(&error));
        assert!(message.contains(&log) && message.contains("reference does not build on a GPU"), "{message}");
    }
}

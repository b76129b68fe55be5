//! How frames go through `motiondetect`: what the base class's methods do with its state.

use std::time::Instant;

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_video::{VideoInfo, VideoMultiviewMode};

use super::DetectDrop;
use super::imp::{CAT, MotionDetect};
use super::messages;
use super::settings::DetectSettings;
use super::stream::{DetectSetupError, DetectState, DetectStream, Popped};
use crate::camera::{self, CameraMotion, RegionMotion};
use crate::settings::statistics;
use crate::video::frame::PlaneError;
use crate::video::sequence::{Holding, HoldsFrames, Leave, Leaving};
use crate::video::times::Times;
use crate::video::{duration_of_frames, no_caps_message, time};
use motion_detect::{Camera, Region};

/// The most frames that wait: of more, the first leave.
const MOST_WAITING: usize = 4096;

impl MotionDetect {
    /// Takes frames of `info` from now on.
    ///
    /// # Errors
    /// The message for the bus.
    pub fn set_info(&self, info: VideoInfo) -> Result<(), gst::ErrorMessage> {
        if info.multiview_mode() == VideoMultiviewMode::FrameByFrame {
            return Err(gst::error_msg!(
                gst::StreamError::Format,
                ("Frames of the left and the right eye in turn show motion where there is none: pack them side by side before, \
                     for example by glviewconvert")
            ));
        }
        let settings = self.settings.lock().clone();
        *self.state.lock() = DetectState { info: Some(info.clone()), ..DetectState::default() };
        match DetectStream::open(&info, &settings) {
            Ok(stream) => self.state.lock().stream = Some(stream),
            Err(DetectSetupError::Detection(error)) => {
                gst::element_imp_warning!(self, gst::StreamError::Format, ("Frames pass untouched: {error}"));
            }
            Err(error) => return Err(error.message()),
        }
        self.update_latency(&settings);
        self.state.lock().settings = Some(settings);
        Ok(())
    }

    fn update_latency(&self, settings: &DetectSettings) {
        // Without a stream frames pass at once.
        let (wait, frames) = match &self.state.lock().stream {
            Some(stream) => (settings.wait(), frames_in(settings.wait(), stream.info())),
            None => (gst::ClockTime::ZERO, 0),
        };
        self.holding.latency.set_frames(&*self.obj(), wait, frames);
    }

    /// Lets the settings hold from the next frame on. Those that cannot hold are told of, and the earlier ones come back.
    fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let earlier = match &self.state.lock().settings {
            Some(earlier) if *earlier != *self.settings.lock() => earlier.clone(),
            _ => return Ok(()),
        };
        let settings = self.settings.lock().clone();
        let has_levels = self.state.lock().stream.as_ref().is_none_or(|stream| stream.has_levels(&settings));
        if !has_levels {
            self.end_sequence(None)?;
            self.finish();
            let info = self.state.lock().info.clone();
            if let Some(info) = info {
                return self.set_info(info).map_err(|message| {
                    self.post_error_message(message);
                    gst::FlowError::NotNegotiated
                });
            }
        }
        if !settings.detects_as(&earlier) {
            let applied = self.state.lock().stream.as_mut().map_or(Ok(()), |stream| stream.apply(&settings));
            if let Err(error) = applied {
                gst::warning!(CAT, imp = self, "{error}");
                gst::element_imp_warning!(
                    self,
                    gst::LibraryError::Settings,
                    ("{error}; the earlier settings hold")
                );
                *self.settings.lock() = earlier;
                return Ok(());
            }
        }
        if settings.drop == DetectDrop::None && earlier.drop == DetectDrop::Still {
            // What waits leaves as if nothing else came.
            self.end_sequence(None)?;
        }
        self.update_latency(&settings);
        self.state.lock().settings = Some(settings);
        Ok(())
    }

    /// Posts messages about regions, if they are wanted.
    fn post_regions(&self, name: &str, regions: &[Region], times: &Times) {
        let is_wanted = self.settings.lock().messages;
        for region in regions {
            let structure = messages::structure(name, region, times);
            gst::debug!(CAT, imp = self, "{structure}");
            if is_wanted {
                // It fails where the element has no bus.
                let message = gst::message::Element::builder(structure).src(&*self.obj()).build();
                let _ = self.obj().post_message(message);
            }
        }
    }

    /// Ends all regions: what comes next has nothing to do with the frames so far.
    fn finish(&self) {
        let finished = self.state.lock().stream.as_mut().map(DetectStream::finish);
        let Some((last, regions)) = finished else { return };
        let times = Times::at(last.map(time), &self.obj().segment());
        self.statistics.lock().ended += regions.len() as u64;
        self.post_regions("motion-end", &regions, &times);
    }

    /// Looks at `buffer`, attaches what is seen and tells of it.
    /// Gives it back if frames are too small to be looked at.
    pub fn take_input(&self, mut buffer: gst::Buffer) -> Result<Option<gst::Buffer>, gst::FlowError> {
        self.holding.latency.note(&*self.obj(), buffer.pts());
        self.statistics.lock().frames_in += 1;
        let times = Times::of(&buffer, &self.obj().segment());
        let began = Instant::now();
        let state = &mut *self.state.lock();
        if state.info.is_none() {
            self.post_error_message(no_caps_message());
            return Err(gst::FlowError::NotNegotiated);
        }
        let (Some(settings), Some(stream)) = (&state.settings, &mut state.stream) else {
            return Ok(Some(buffer));
        };
        let mut tell = |error| gst::warning!(CAT, imp = self, "Motion field ignored: {error}");
        if let Err(error) = stream.observe(&buffer, &mut tell) {
            stream.forget_search();
            self.post_error_message(error.message(stream.info()));
            return Err(gst::FlowError::Error);
        }
        let observation = stream.observation();
        let size = (stream.info().width(), stream.info().height());
        let target = buffer.make_mut();
        // Those of another detector upstream.
        camera::remove(target);
        let ids = |regions: &[Region]| regions.iter().map(|region| region.id).collect();
        let Camera { matrix, following, confidence } = observation.camera;
        let (width, height) = size;
        let (begun, ended) = (ids(&observation.begun), ids(&observation.ended));
        let is_settling = observation.is_settling;
        let camera = CameraMotion { width, height, matrix, following, confidence, is_settling, begun, ended };
        if let Err(error) = camera.attach(target) {
            gst::warning!(CAT, imp = self, "The camera's motion is not attached: {error}");
        }
        for region in &observation.regions {
            let Region { id, x, y, width, height, velocity, begin, last, confidence } = *region;
            let rect = (x, y, width, height);
            RegionMotion { id, rect, begin, last, velocity, confidence }.attach(target, settings.delta_qp);
        }
        if let Err(error) = super::analytics::attach(target, &observation.regions, &observation.ended) {
            gst::warning!(CAT, imp = self, "Regions are not attached as metadata of analytics: {error}");
        }
        {
            let statistics = &mut *self.statistics.lock();
            statistics.time += began.elapsed();
            statistics.in_motion += u64::from(!observation.regions.is_empty());
            statistics.settling += u64::from(is_settling);
            statistics.camera_moved += u64::from(matrix != Camera::default().matrix);
            statistics.begun += observation.begun.len() as u64;
            statistics.ended += observation.ended.len() as u64;
            statistics.noise = stream.noise();
        }
        let buffer = match settings.drop {
            DetectDrop::None => buffer,
            DetectDrop::Still => {
                let waiting = frames_in(settings.wait(), stream.info());
                stream.held.note(&buffer, waiting);
                if waiting > 0 { stream.held.own_if_scarce(buffer, waiting) } else { buffer }
            }
        };
        let is_motion = settings.drop == DetectDrop::None || !stream.observation().regions.is_empty();
        stream.push(buffer, is_motion, settings);
        let observation = stream.observation();
        self.post_regions("motion-end", &observation.ended, &times);
        self.post_regions("motion-begin", &observation.begun, &times);
        Ok(None)
    }

    /// Posts the statistics.
    pub fn post_statistics(&self) {
        let structure = self.statistics.lock().structure();
        statistics::post(&*self.obj(), *CAT, structure);
    }
}

/// How many frames of `info` come in the time `wait`, as the caps say.
fn frames_in(wait: gst::ClockTime, info: &VideoInfo) -> usize {
    let frame = duration_of_frames(info, 1);
    let frame = if frame.is_zero() { gst::ClockTime::from_mseconds(33) } else { frame };
    let frames = wait.nseconds().div_ceil(frame.nseconds());
    usize::try_from(frames).unwrap_or(MOST_WAITING).min(MOST_WAITING)
}

/// Whether the scene goes on behind `event`.
fn ends_scene(event: &gst::EventRef) -> bool {
    use gst::EventType;
    matches!(
        event.type_(),
        EventType::StreamStart
            | EventType::Caps
            | EventType::Segment
            | EventType::SegmentDone
            | EventType::Eos
    )
}

impl HoldsFrames for MotionDetect {
    fn holding(&self) -> &Holding {
        &self.holding
    }

    // What is to be dropped waits for what may keep it, whatever comes behind it.
    fn pop_output(&self, _leave: Leave) -> Result<Option<Leaving>, gst::FlowError> {
        let wait = self.settings.lock().wait();
        loop {
            let popped = match &mut self.state.lock().stream {
                Some(stream) => stream.pop(wait, MOST_WAITING),
                None => None,
            };
            match popped {
                Some(Popped::Leaving(leaving)) => return Ok(Some(leaving)),
                Some(Popped::Gap(event)) => {
                    self.statistics.lock().dropped += 1;
                    if let Some(event) = event {
                        return Ok(Some(Leaving::Event(event)));
                    }
                }
                None => return Ok(None),
            }
        }
    }

    fn expect_no_more(&self, event: Option<&gst::EventRef>) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.expect_no_more();
        }
        if event.is_some_and(ends_scene) {
            self.finish();
        }
    }

    // A discontinuity is mostly a lost packet: the scene goes on.
    fn forget(&self) {}

    fn goes_on_behind(&self, event: &gst::EventRef) -> bool {
        !ends_scene(event)
    }

    fn discard(&self) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.discard();
        }
        self.finish();
    }

    fn hold(&self, event: gst::Event) -> Option<gst::Event> {
        match &mut self.state.lock().stream {
            Some(stream) => stream.hold(event),
            None => Some(event),
        }
    }

    fn release_buffers(&self) -> Result<(), gst::FlowError> {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.release_buffers();
        }
        Ok(())
    }

    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        self.state.lock().stream.as_ref().map_or(Ok(()), |stream| stream.check_frame(buffer))
    }
}

impl MotionDetect {
    /// What holds before a frame: the settings, and that it is one.
    ///
    /// # Errors
    /// As [`HoldsFrames::before_frame`].
    pub fn prepare(&self, buffer: &gst::Buffer) -> Result<bool, gst::FlowError> {
        self.before_frame(buffer)?;
        self.apply_settings()?;
        Ok(!self.leaves_out(buffer)?)
    }
}

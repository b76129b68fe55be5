//! How frames go through `motiondenoise`: what the base class's methods do with its state.

use std::time::Instant;

use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;

use super::imp::{CAT, MotionDenoise};
use super::settings::DenoiseSettings;
use super::stream::{DenoiseChoice, DenoiseState, DenoiseStream, Taken};
use crate::settings::{OpenError, refuse, statistics, tell_notices};
use crate::video::frame::PlaneError;
use crate::video::sequence::{Holding, HoldsFrames, Leave, Leaving};
use crate::video::{duration_of_frames, no_caps_message};

impl MotionDenoise {
    /// Posts `message`; the next frame is the first of a sequence.
    fn fail(&self, state: &mut DenoiseState, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.forget();
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// Takes frames of `info` from now on.
    ///
    /// # Errors
    /// If the devices cannot be opened; [`gst::FlowError::Flushing`] if they are not open yet, because of a flush.
    pub fn set_info(&self, info: VideoInfo) -> Result<(), gst::FlowError> {
        *self.state.lock() = DenoiseState { info: Some(info), ..DenoiseState::default() };
        self.apply_settings()
    }

    /// Lets the settings hold from the next frame on. Where they need another stream, the frames that wait leave before.
    fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let settings = self.settings.lock().clone();
        if !self.state.lock().serves(&settings) {
            let Some(stream) = self.open(&settings)? else { return Ok(()) };
            self.end_sequence(None)?;
            let state = &mut *self.state.lock();
            state.stream = stream;
            let latency = state.stream.as_ref().map_or((gst::ClockTime::ZERO, 0), |stream| {
                (duration_of_frames(stream.info(), settings.delay()), settings.delay())
            });
            self.holding.latency.set_frames(&*self.obj(), latency.0, latency.1);
        }
        self.state.lock().settings = Some(settings);
        Ok(())
    }

    /// The stream for other settings, if frames are to change. If the settings cannot hold, warns and goes back to those that
    /// held for the frame before.
    fn open(&self, settings: &DenoiseSettings) -> Result<Option<Option<DenoiseStream>>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let (Some(info), Some(references)) = (&state.info, settings.references()) else {
            return Ok(Some(None));
        };
        let (element, info, chosen) = (self.obj(), info.clone(), settings.clone());
        let open = move || DenoiseStream::open(&info, &chosen, references);
        match (settings.devices.open_apart((&*element, &self.holding.interrupt), open), &state.settings) {
            (Ok((stream, choice)), _) => {
                self.tell_choice(&stream, choice);
                Ok(Some(Some(stream)))
            }
            (Err(OpenError::Setup(error)), Some(current)) => {
                refuse((&*element, *CAT), &self.settings, [settings, current], &error);
                Ok(None)
            }
            (Err(error), _) => Err(error.into_flow(|message| self.fail(state, message))),
        }
    }

    /// Says which devices were chosen for `stream`.
    fn tell_choice(&self, stream: &DenoiseStream, choice: DenoiseChoice) {
        let (device, denoiser) = (stream.device(), stream.denoiser());
        let warnings = &mut *self.warnings.lock();
        warnings.choice((&*self.obj(), *CAT), device, &choice.search);
        // One reason is enough.
        if let (Some(reason), None) = (choice.denoiser, choice.search.fallback) {
            warnings.fallback((&*self.obj(), *CAT), "Denoising", denoiser, &reason);
        }
        gst::info!(CAT, imp = self, "{device} searches, {denoiser} denoises");
        for launching in stream.launching().into_iter().flatten() {
            gst::info!(CAT, imp = self, "Kernels are {launching}");
        }
        self.statistics.lock().set_devices(stream);
    }

    /// Says what has happened to the devices, of which others may search from now on.
    fn tell_what_happened(&self, stream: &mut DenoiseStream) {
        let notices = stream.take_notices();
        if !notices.is_empty() {
            self.statistics.lock().set_devices(stream);
            tell_notices(&*self.obj(), *CAT, notices);
        }
    }

    /// Takes `buffer`, and searches its motion. Gives it back if nothing is to change.
    pub fn take_input(&self, buffer: gst::Buffer) -> Result<Option<gst::Buffer>, gst::FlowError> {
        self.apply_settings()?;
        if self.leaves_out(&buffer)? {
            return Ok(None);
        }
        let pts = buffer.pts();
        let held = self.settings.lock().held();
        let state = &mut *self.state.lock();
        if state.info.is_none() {
            return Err(self.fail(state, no_caps_message()));
        }
        self.statistics.lock().frames_in += 1;
        let Some(stream) = &mut state.stream else {
            self.statistics.lock().untouched += 1;
            return Ok(Some(buffer));
        };
        state.held.note(&buffer, held - 1);
        let buffer = state.held.own_if_scarce(buffer, held - 1);
        let began = Instant::now();
        let taken = stream.take_input(buffer).map_err(|error| error.message(stream.info()));
        self.statistics.lock().loading += began.elapsed();
        self.tell_what_happened(stream);
        match taken.map_err(|message| self.fail(state, message))? {
            Taken::New => self.holding.latency.note(&*self.obj(), pts),
            Taken::Repeat => (),
            // The distance from the last new frame is none that is waited for.
            Taken::Still => {
                self.holding.latency.pause();
                self.holding.latency.note(&*self.obj(), pts);
            }
        }
        Ok(None)
    }

    /// `original`, which leaves next, without its noise.
    fn denoised(
        &self,
        stream: &mut DenoiseStream,
        original: &gst::Buffer,
    ) -> Result<Result<gst::Buffer, gst::ErrorMessage>, gst::FlowError> {
        let removal = self.settings.lock().removal();
        let began = Instant::now();
        let (is_noisy, noise) = match stream.measure(removal) {
            Ok(measured) => measured,
            Err(error) => return Ok(Err(error.message(stream.info()))),
        };
        let mut buffer = if is_noisy { self.output.acquire(&*self.obj())? } else { original.copy() };
        if is_noisy {
            let out = buffer.make_mut();
            self.parent_copy_metadata(original, out).map_err(|_| gst::FlowError::Error)?;
            if let Err(error) = stream.write(out) {
                return Ok(Err(error.message(stream.info())));
            }
        }
        self.statistics.lock().add(is_noisy, noise, began.elapsed());
        Ok(Ok(buffer))
    }

    /// Posts the statistics.
    pub fn post_statistics(&self) {
        let structure = self.statistics.lock().structure();
        statistics::post(&*self.obj(), *CAT, structure);
    }
}

impl HoldsFrames for MotionDenoise {
    fn holding(&self) -> &Holding {
        &self.holding
    }

    fn pop_output(&self, leave: Leave) -> Result<Option<Leaving>, gst::FlowError> {
        let latency = self.holding.latency.of_live();
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Ok(None) };
        if let Some(event) = stream.pop_event() {
            return Ok(Some(Leaving::Event(event)));
        }
        let Some(original) = stream.leaving(leave, latency).cloned() else { return Ok(None) };
        let denoised = self.denoised(stream, &original)?;
        self.tell_what_happened(stream);
        stream.leave();
        denoised.map(|buffer| Some(Leaving::Buffer(buffer))).map_err(|message| self.fail(state, message))
    }

    fn expect_no_more(&self, _event: Option<&gst::EventRef>) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.expect_no_more();
        }
    }

    fn forget(&self) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.forget();
        }
    }

    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        self.state.lock().stream.as_ref().map_or(Ok(()), |stream| stream.check_frame(buffer))
    }

    fn discard(&self) {
        self.forget();
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
}

//! Encoders, encoded frames, and what users are told.

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoCodecFrameFlags, VideoCodecState, VideoInfo, video_codec_state};

use super::imp::{CAT, MotionX264Enc, State};
use super::stream::{EncodeError, EncoderStream, Outgoing, Remarks};
use super::{caps, setup};
use crate::encoder::Encoder;
use crate::ffi;

impl MotionX264Enc {
    /// Opens an encoder for frames of `info`.
    pub(super) fn open(&self, info: &VideoInfo) -> Result<(), gst::LoggableError> {
        let settings = self.settings.lock().clone();
        let mut state = self.state.lock();
        state.stream = None;
        let parameters = setup::parameters(&settings, info, &state.target, &self.obj().name());
        let encoder = parameters
            .map_err(|error| error.to_string())
            .and_then(|parameters| Encoder::open(parameters).map_err(|error| error.to_string()));
        match encoder {
            Ok(encoder) => {
                state.stream = Some(EncoderStream::new(encoder, info));
                state.is_changed = false;
                Ok(())
            }
            Err(error) => {
                drop(state);
                gst::element_imp_error!(
                    self,
                    gst::LibraryError::Settings,
                    ("The encoder cannot be opened: {error}"),
                    ["{info:?}"]
                );
                Err(gst::loggable_error!(CAT, "No encoder: {error}"))
            }
        }
    }

    /// Sends caps, latency and tags downstream.
    pub(super) fn announce(
        &self,
        input: &VideoCodecState<'static, video_codec_state::Readable>,
    ) -> Result<(), gst::LoggableError> {
        let allowed = self.obj().src_pad().allowed_caps();
        let output = {
            let State { stream, target, .. } = &mut *self.state.lock();
            let stream = stream.as_mut().ok_or_else(|| gst::loggable_error!(CAT, "No encoder"))?;
            let headers =
                stream.headers().map_err(|error| gst::loggable_error!(CAT, "No headers: {error}"))?;
            caps::of_stream(&headers, target, input.info(), allowed)
                .ok_or_else(|| gst::loggable_error!(CAT, "x264 has given no parameter sets"))?
        };
        let (packing, bitrate) = {
            let settings = self.settings.lock();
            (settings.frame_packing, settings.bitrate)
        };
        gst::debug!(CAT, imp = self, "Output caps {output}");
        let instance = self.obj();
        let state = instance.set_output_state(output, Some(input));
        let mut state = state.map_err(|_| gst::loggable_error!(CAT, "The caps are refused"))?;
        if let Some(mode) = packing.multiview_mode() {
            // The property is stronger than what comes in.
            let mut raw = input.info().to_caps()?;
            raw.make_mut().set("multiview-mode", mode);
            state.set_info(VideoInfo::from_caps(&raw)?);
        }
        instance.negotiate(state).map_err(|_| gst::loggable_error!(CAT, "The caps are not negotiated"))?;
        self.tell_latency();
        let mut tags = gst::TagList::new();
        let list = tags.make_mut();
        list.add::<gst::tags::Encoder>(&"x264", gst::TagMergeMode::Replace);
        list.add::<gst::tags::EncoderVersion>(&ffi::X264_BUILD, gst::TagMergeMode::Replace);
        list.add::<gst::tags::MaximumBitrate>(&(bitrate * 1024), gst::TagMergeMode::Replace);
        list.add::<gst::tags::NominalBitrate>(&(bitrate * 1024), gst::TagMergeMode::Replace);
        instance.merge_tags(Some(&tags), gst::TagMergeMode::Replace);
        Ok(())
    }

    /// Gives the encoder the properties that have changed. Returns whether its latency may be another one.
    pub(super) fn change_if_asked(&self) -> bool {
        let settings = self.settings.lock().clone();
        let mut state = self.state.lock();
        let is_changed = std::mem::take(&mut state.is_changed);
        let Some(stream) = state.stream.as_mut().filter(|_| is_changed) else { return false };
        if !stream.change(|raw| setup::set_rate_control(raw, &settings)) {
            gst::warning!(CAT, imp = self, "x264 does not take the changed properties");
        }
        true
    }

    pub(super) fn tell_latency(&self) {
        let latency = match &mut self.state.lock().stream {
            Some(stream) => {
                let frames = u64::from(stream.most_delayed());
                let (numerator, denominator) = (stream.info().fps().numer(), stream.info().fps().denom());
                // Without a frame rate, some latency is nearer to the truth than none.
                let (numerator, denominator) = if numerator > 0 { (numerator, denominator) } else { (25, 1) };
                let one = gst::ClockTime::SECOND * denominator as u64;
                one.mul_div_ceil(frames, numerator as u64).unwrap_or(gst::ClockTime::ZERO)
            }
            None => return,
        };
        gst::info!(CAT, imp = self, "Latency {latency}");
        self.obj().set_latency(latency, latency);
    }

    /// Sends all frames that are held back.
    pub(super) fn drain(&self) -> Result<gst::FlowSuccess, gst::FlowError> {
        loop {
            let drained = match &mut self.state.lock().stream {
                Some(stream) => stream.drain(),
                None => return Ok(gst::FlowSuccess::Ok),
            };
            match drained {
                Ok(Some(encoded)) => self.push(encoded)?,
                Ok(None) => return Ok(gst::FlowSuccess::Ok),
                Err(error) => {
                    self.post(&error.into());
                    return Err(gst::FlowError::Error);
                }
            };
        }
    }

    /// Sends an encoded frame.
    pub(super) fn push(&self, encoded: Outgoing) -> Result<gst::FlowSuccess, gst::FlowError> {
        let instance = self.obj();
        // It is gone after a flush.
        let Some(mut frame) = instance.frame(encoded.number as i32) else { return Ok(gst::FlowSuccess::Ok) };
        frame.set_output_buffer(encoded.buffer);
        frame.set_dts(encoded.dts);
        if encoded.is_key {
            frame.set_flags(VideoCodecFrameFlags::SYNC_POINT);
        }
        instance.finish_frame(frame)
    }

    pub(super) fn post(&self, error: &EncodeError) {
        // Not while the state is locked: the application may answer at once.
        let info = self.state.lock().stream.as_ref().map(|stream| stream.info().clone());
        match (error, info) {
            (EncodeError::Frame(error), Some(info)) => self.post_error_message(error.message(&info)),
            _ => gst::element_imp_error!(self, gst::StreamError::Encode, ["{error}"]),
        }
    }

    /// Tells what users should know of a frame, each once.
    pub(super) fn tell(&self, buffer: &gst::Buffer, remarks: Remarks) {
        if let Some(error) = &remarks.field_error {
            gst::warning!(CAT, imp = self, "Motion field ignored: {error}");
        }
        let mut state = self.state.lock();
        if remarks.wants_motion {
            state.missing.note((&*self.obj(), *CAT), remarks.origins.motion, buffer);
        }
        if remarks.is_quantizer_fixed && !std::mem::replace(&mut state.is_fixed_told, true) {
            drop(state);
            gst::element_imp_warning!(
                self,
                gst::LibraryError::Settings,
                ("Motion and regions of interest have no effect, because x264's adaptive quantiser is off"),
                [
                    "pass=quant and speed-preset=ultrafast turn it off; option-string=aq-mode=1 turns it on for the latter"
                ]
            );
        }
    }
}

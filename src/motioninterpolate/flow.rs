//! How frames go through `motioninterpolate`: what the base class's methods do with its state.

use std::time::Instant;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_video::VideoInfo;

use super::imp::{CAT, MotionInterpolate};
use super::order::Verdict;
use super::plan::{Before, Due, Planned, Shown};
use super::ratio::Ratio;
use super::settings::InterpolationSettings;
use super::state::InterpolateState;
use super::statistics::{Counts, OutputKind};
use super::stream::InterpolateStream;
use super::timeline::{Interval, OutputFrame};
use super::{caps, retime};
use crate::settings::StreamError;
use crate::settings::tell_notices;
use crate::video;
use crate::video::sequence::{HoldsFrames, Leave, Leaving};
use motion_frames::interpolation::Phase;

/// A buffer that has come, and what is to be done before it is taken.
struct Arrival {
    buffer: gst::Buffer,
    time: u64,
    before: Before,
    /// Whether output frames are at the times of a constant rate; else it passes.
    is_interpolated: bool,
    /// Whether the sequence before it ends.
    ends_sequence: bool,
}

/// Why a frame does not leave.
pub enum NoFrame {
    Make(StreamError),
    Flow(gst::FlowError),
}

impl From<StreamError> for NoFrame {
    fn from(error: StreamError) -> Self {
        Self::Make(error)
    }
}

impl From<gst::FlowError> for NoFrame {
    fn from(error: gst::FlowError) -> Self {
        Self::Flow(error)
    }
}

impl MotionInterpolate {
    /// Posts `message`; the next frame is the first of a sequence.
    pub fn fail(&self, state: &mut InterpolateState, message: gst::ErrorMessage) -> gst::FlowError {
        if let Some(stream) = &mut state.stream {
            stream.fail();
        }
        self.post_error_message(message);
        gst::FlowError::Error
    }

    /// The frames of these caps come and leave from now on.
    pub fn set_infos(&self, incoming: VideoInfo, outgoing: VideoInfo) {
        let speed = self.settings.lock().speed();
        let mut stream = {
            let state = &mut *self.state.lock();
            if state.stream.as_ref().is_some_and(|stream| stream.is_of(&incoming, &outgoing)) {
                return;
            }
            let stream = InterpolateStream::new(incoming, outgoing);
            if let Some(before) = &mut state.stream {
                before.expect_no_more_behind(state.stop, !stream.is_constant(speed));
            }
            stream
        };
        let sent = self.send(Leave::Complete);
        self.holding.keep(sent);
        self.forget();
        let state = &mut *self.state.lock();
        if let Some(before) = state.stream.take() {
            stream.follow(before);
        }
        state.stream = Some(stream);
    }

    /// Lets buffers pass through the base class, or frames be made in a pool's, as frame rates and speed ask for.
    pub fn configure(&self) -> Result<(), gst::LoggableError> {
        let state = &mut *self.state.lock();
        let settings = self.settings_for(state);
        let is_constant = |stream: &InterpolateStream| stream.is_constant(settings.speed());
        let stream = state.stream.as_ref().filter(|stream| is_constant(stream));
        let obstacle = stream.and_then(InterpolateStream::obstacle);
        if let (Some(obstacle), Some(stream)) = (obstacle, stream) {
            if caps::are_eyes_in_turn(stream.incoming()) {
                let details = format!("{:?}", stream.incoming());
                state.stream = None;
                self.post_error_message(gst::error_msg!(
                    gst::StreamError::Format,
                    ("{obstacle}"),
                    ["{details}"]
                ));
                return Err(gst::loggable_error!(CAT, "{obstacle}: {details}"));
            }
            self.warn_of_repeating(obstacle);
        }
        if settings.speed() != Ratio::ONE && state.stream.as_ref().is_some_and(|stream| !is_constant(stream))
        {
            self.warn_of_stretching();
        }
        self.obj().set_passthrough(!state.stream.as_ref().is_some_and(is_constant));
        self.update_latency(state, &settings);
        Ok(())
    }

    /// Lets the settings hold for the next frame.
    ///
    /// # Errors
    /// If the pads cannot be negotiated for them.
    pub fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let speed = self.settings.lock().speed();
        let is_of_speed = self.state.lock().retiming.speed() == speed;
        // Where caps stay, the base class does not set them again.
        if !is_of_speed && self.configure().is_err() {
            return Err(gst::FlowError::NotNegotiated);
        }
        // The base class would also drop input frames that are late for downstream, by times of the output.
        if !self.obj().reconfigure() {
            let is_flushing = self.obj().src_pad().pad_flags().contains(gst::PadFlags::FLUSHING);
            return Err(if is_flushing { gst::FlowError::Flushing } else { gst::FlowError::NotNegotiated });
        }
        let state = &mut *self.state.lock();
        let settings = self.settings_for(state);
        self.update_latency(state, &settings);
        state.settings = settings;
        Ok(())
    }

    /// The settings for the frames that come.
    fn settings_for(&self, state: &InterpolateState) -> InterpolationSettings {
        let settings = self.settings.lock().clone();
        let obstacle = state.stream.as_ref().and_then(InterpolateStream::obstacle);
        if obstacle.is_some() { settings.repeating() } else { settings }
    }

    /// Notes how long frames wait.
    fn update_latency(&self, state: &InterpolateState, settings: &InterpolationSettings) {
        let speed = settings.speed();
        let waits = |stream: &&InterpolateStream| {
            stream.is_constant(speed) && (stream.changes_rate(speed) || settings.drop_lossy_duplicates)
        };
        let (latency, frames) = match state.stream.as_ref().filter(waits) {
            Some(stream) => {
                let frames = 1 + stream.delay(settings);
                let latency = retime::divided(video::duration_of_frames(stream.incoming(), frames), speed);
                // At another speed the output is not in real time.
                (latency, if speed == Ratio::ONE { frames } else { 0 })
            }
            None => (gst::ClockTime::ZERO, 0),
        };
        self.holding.latency.set_frames(&*self.obj(), latency, frames);
    }

    /// Takes `buffer`, from which on output frames follow.
    pub fn take_input(&self, buffer: gst::Buffer) -> Result<(), gst::FlowError> {
        self.settle_doubt(Some(&buffer))?;
        if self.leaves_out(&buffer)? {
            return Ok(());
        }
        self.take_frame(buffer, false)
    }

    /// Takes the frame that is held back because it is far ahead, unless `next`, the frame after it, is before it.
    pub fn settle_doubt(&self, next: Option<&gst::BufferRef>) -> Result<(), gst::FlowError> {
        let (buffer, time, last) = {
            let state = &mut *self.state.lock();
            let Some(stream) = &mut state.stream else { return Ok(()) };
            let Some((buffer, time)) = stream.clock.take_doubtful() else { return Ok(()) };
            let pts = next.and_then(|next| next.pts()).map(gst::ClockTime::nseconds);
            let is_before = pts.is_some_and(|pts| state.input_time(pts, 0) <= time);
            state.counts.out_of_order += u64::from(is_before);
            if !is_before {
                (buffer, None, None)
            } else {
                (buffer, Some(time), state.stream.as_ref().and_then(|stream| stream.clock.last()))
            }
        };
        match time {
            Some(time) => self.warn_of_order(time, last),
            None => self.take_frame(buffer, true)?,
        }
        Ok(())
    }

    /// Takes `buffer`; `is_sure`: even if it is far ahead.
    fn take_frame(&self, buffer: gst::Buffer, is_sure: bool) -> Result<(), gst::FlowError> {
        let Some(arrival) = self.admit(buffer, is_sure)? else { return Ok(()) };
        self.holding.latency.note(&*self.obj(), arrival.buffer.pts());
        if arrival.ends_sequence {
            let sent = self.send(Leave::Complete);
            self.forget();
            sent?;
        }
        let Some((buffer, planned)) = self.plan(arrival) else { return Ok(()) };
        if !self.is_prepared(&planned.interval) {
            // Those that wait are searched by what was chosen before.
            self.send(Leave::Complete)?;
            self.prepare()?;
        }
        self.start(buffer, planned)
    }

    /// Decides what is to be done with `buffer`; `None` if it is dropped because of its time or as a duplicate, or held back.
    fn admit(&self, buffer: gst::Buffer, is_sure: bool) -> Result<Option<Arrival>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let is_interpolated = state.is_interpolated();
        let Some(stream) = &state.stream else { return Err(self.fail(state, video::no_caps_message())) };
        state.counts.frames_in += u64::from(!is_sure);
        // Backwards some sources begin with the frame behind the segment.
        if state.mirror.is_some_and(|end| buffer.pts().is_some_and(|pts| pts.nseconds() >= end)) {
            return Ok(None);
        }
        let duration = buffer.duration().map_or(stream.clock.usual_duration(), gst::ClockTime::nseconds);
        let time = match stream.clock.time_of(&buffer, state.start) {
            Ok(time) if buffer.pts().is_some() => state.input_time(time, duration),
            Ok(time) => time,
            Err(_) if !is_interpolated => state.start,
            Err(error) => {
                let message = gst::error_msg!(gst::StreamError::Format, ("{error}"), ["{:?}", stream.info()]);
                return Err(self.fail(state, message));
            }
        };
        let is_discont = buffer.flags().contains(gst::BufferFlags::DISCONT);
        let start = state.start;
        let Some(stream) = &mut state.stream else { return Ok(None) };
        let (before, newest, last) =
            (stream.clock.before(time, is_discont), stream.clock.newest(), stream.clock.last());
        // What the first frame would break with is unknown.
        if is_interpolated && !(is_discont && last.is_some()) && !is_sure {
            match stream.clock.judge(time, start) {
                Verdict::Next => (),
                Verdict::Doubtful => {
                    stream.clock.doubt(buffer, time);
                    return Ok(None);
                }
                Verdict::Dropped => {
                    state.counts.out_of_order += 1;
                    self.publish(state);
                    self.warn_of_order(time, last);
                    return Ok(None);
                }
                Verdict::Anew => gst::warning!(CAT, imp = self, "Timestamps begin anew at {time} ns"),
            }
        }
        let may_repeat = is_interpolated && before == Before::Frame && !is_discont;
        if may_repeat && state.settings.drop_lossy_duplicates && stream.is_repeat(&buffer, time) {
            state.counts.dropped += 1;
            self.publish(state);
            return Ok(None);
        }
        let ends_sequence = newest.is_some() && (before == Before::Jump || !is_interpolated);
        if let (Some(stream), true) = (&mut state.stream, ends_sequence) {
            stream.expect_no_more_behind(state.stop, true);
        }
        Ok(Some(Arrival { buffer, time, before, is_interpolated, ends_sequence }))
    }

    /// Lets a buffer that was admitted pass, or plans the output frames up to it.
    fn plan(&self, arrival: Arrival) -> Option<(gst::Buffer, Planned)> {
        let state = &mut *self.state.lock();
        let (speed, time) = (state.settings.speed(), arrival.time);
        if !arrival.is_interpolated {
            let segment = state.change_speed(speed, time);
            if let Some(stream) = &mut state.stream
                && !stream.pass(segment, (arrival.buffer, time), &state.retiming)
            {
                state.counts.out_of_order += 1;
            }
            return None;
        }
        let InterpolateState { stream: Some(stream), start, retiming, .. } = state else { return None };
        let length = stream.clock.newest().map_or(0, |newest| time.saturating_sub(newest));
        let interval = stream.plan(&arrival.buffer, (time, arrival.before), *start, retiming)?;
        let is_late = self.would_be_late(state, &interval);
        let segment = state.change_speed(speed, time);
        Some((arrival.buffer, Planned { interval, length, is_late, segment }))
    }

    /// Whether the frames between the two input frames of `interval` would come too late, or the machine is too slow for
    /// them.
    fn would_be_late(&self, state: &mut InterpolateState, interval: &Interval) -> bool {
        let Some(earliest) = self.earliest.lock().filter(|_| self.obj().is_qos()) else { return false };
        let Some(last) = interval.last_between() else { return false };
        let time = state.segment.to_running_time(state.timestamp(&last));
        !state.load.allows(time.is_some_and(|time| time <= earliest))
    }

    /// Takes a buffer behind the output frames that are planned: its search starts.
    fn start(&self, buffer: gst::Buffer, planned: Planned) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let Some(stream) = &mut state.stream else { return Ok(()) };
        let began = Instant::now();
        let looks_ahead = stream.looks_ahead(&state.settings);
        stream.held.note(&buffer, 1 + stream.delay(&state.settings));
        // The newest frame is always held.
        let buffer = stream.held.own_if_scarce(buffer, 1 + usize::from(looks_ahead));
        let taken = stream.take_input(buffer, planned, looks_ahead);
        state.counts.loading += began.elapsed();
        let taken = taken.map_err(|error| error.message(stream.incoming()));
        self.publish(state);
        taken.map_err(|message| self.fail(state, message))
    }

    /// Shows the counts in the statistics, and says what has happened to the devices.
    pub fn publish(&self, state: &mut InterpolateState) {
        self.statistics.lock().counts = state.counts;
        let Some(motion) = state.stream.as_mut().and_then(|stream| stream.maker.motion()) else { return };
        let notices = motion.take_notices();
        if !notices.is_empty() {
            self.statistics.lock().set_devices(motion);
            tell_notices(&*self.obj(), *CAT, notices);
        }
    }

    /// The frame that leaves next of what `leave` names.
    pub fn next_frame(&self, state: &mut InterpolateState, leave: Leave) -> Result<Option<Leaving>, NoFrame> {
        let Some(stream) = &mut state.stream else { return Ok(None) };
        if let Some(leaving) = stream.take_passing() {
            if matches!(leaving, Leaving::Buffer(_)) {
                state.counts.add(OutputKind::Passed);
            }
            return Ok(Some(leaving));
        }
        let looks_ahead = stream.looks_ahead(&state.settings);
        let keep = if leave == Leave::Complete { 0 } else { stream.delay(&state.settings) };
        loop {
            let Some(stream) = &mut state.stream else { return Ok(None) };
            let frame = match stream.due(keep, looks_ahead, &mut state.counts)? {
                None => return Ok(None),
                Some(Due::Segment(event)) => return Ok(Some(Leaving::Event(event))),
                Some(Due::Frame(frame)) => frame,
            };
            let Some(frame) = state.clipped(frame) else { continue };
            let pts = state.timestamp(&frame);
            let InterpolateState { stream: Some(stream), settings, counts, segment, .. } = &mut *state else {
                return Ok(None);
            };
            let (mut buffer, kind) = match stream.shown(&frame, pts, settings) {
                None => return Ok(None),
                Some(Shown::Untouched(buffer)) => {
                    counts.add(OutputKind::Passed);
                    stream.note_sent(&frame);
                    return Ok(Some(Leaving::Buffer(buffer)));
                }
                Some(Shown::Input(buffer, kind)) => (buffer, kind),
                Some(Shown::Between(_)) if self.is_late(segment, &frame, pts, counts) => continue,
                Some(Shown::Between(_)) if stream.is_late() => {
                    counts.late += 1;
                    continue;
                }
                Some(Shown::Between(phase)) => (self.make(stream, phase, counts)?, OutputKind::Made),
            };
            stream.stamp(buffer.make_mut(), &frame, pts);
            counts.add(kind);
            return Ok(Some(Leaving::Buffer(buffer)));
        }
    }

    /// Makes the frame at `phase` in a buffer of the pool.
    fn make(
        &self,
        stream: &mut InterpolateStream,
        phase: Phase,
        counts: &mut Counts,
    ) -> Result<gst::Buffer, NoFrame> {
        let element = self.obj();
        let mut buffer = if element.buffer_pool().is_some() {
            self.output.acquire(&*element)?
        } else {
            // The speed has been changed since the pads were negotiated; they are about to be again.
            gst::Buffer::with_size(stream.info().size()).map_err(|_| gst::FlowError::Error)?
        };
        let began = Instant::now();
        let made = stream.make(phase, buffer.make_mut());
        counts.making += began.elapsed();
        made?;
        Ok(buffer)
    }

    /// Whether `frame` at `time` would be too late for downstream; it is counted then.
    fn is_late(
        &self,
        segment: &gst::FormattedSegment<gst::ClockTime>,
        frame: &OutputFrame,
        time: gst::ClockTime,
        counts: &mut Counts,
    ) -> bool {
        let running_time = segment.to_running_time(time);
        let earliest = *self.earliest.lock();
        let (Some(running_time), Some(earliest)) = (running_time, earliest) else { return false };
        if running_time > earliest || !self.obj().is_qos() {
            return false;
        }
        counts.late += 1;
        gst::debug!(CAT, imp = self, "Frame at {time} not made: downstream is at {earliest}");
        let jitter = i64::try_from((earliest - running_time).nseconds()).unwrap_or(i64::MAX);
        let message = gst::message::Qos::builder(false)
            .running_time(running_time)
            .stream_time(segment.to_stream_time(time))
            .timestamp(time)
            .duration(video::time(frame.duration))
            .values(jitter, 1.0, 1_000_000)
            .stats(gst::format::Buffers::from_u64(counts.made()), gst::format::Buffers::from_u64(counts.late))
            .src(&*self.obj())
            .build();
        self.post_message(message);
        true
    }

    /// `event` with times of the output; `None` if its segment cannot be used.
    pub fn retimed(&self, event: gst::Event) -> Option<gst::Event> {
        let gst::EventView::Segment(view) = event.view() else {
            return Some(retime::downstream(event, &self.state.lock().retiming));
        };
        let Some(segment) = view.segment().downcast_ref::<gst::ClockTime>().cloned() else {
            self.post_error_message(gst::error_msg!(
                gst::StreamError::Format,
                ("A segment in {:?} came: motioninterpolate needs times", view.segment().format())
            ));
            return None;
        };
        let speed = self.settings.lock().speed();
        *self.earliest.lock() = None;
        let state = &mut *self.state.lock();
        state.seqnum = Some(event.seqnum());
        if state.goes_on_in(&segment) {
            self.show_segment(state.go_on(segment));
        } else {
            let retimed = retime::segment(&segment, speed);
            *self.shown.lock() = retimed.clone();
            state.begin_segment(segment, retimed, speed);
        }
        if state.retiming.is_identity() {
            return Some(event);
        }
        Some(gst::event::Segment::builder(&state.segment).seqnum(event.seqnum()).build())
    }

    /// Takes a GAP event behind a frame where output frames are at the times of a constant rate. Returns whether they fill it;
    /// `None` elsewhere.
    pub fn take_gap(&self, gap: &gst::event::Gap) -> Option<bool> {
        let (time, duration) = gap.get();
        let is_filled = {
            let state = &mut *self.state.lock();
            let speed = state.retiming.speed();
            let (stop, is_backwards) = (state.stop, state.mirror.is_some());
            let stream = state.stream.as_mut().filter(|stream| stream.is_constant(speed))?;
            stream.clock.newest()?;
            let end =
                duration.filter(|_| !is_backwards).map(|duration| time.saturating_add(duration).nseconds());
            stream.take_gap(end.filter(|&end| stop.is_none_or(|stop| end <= stop)))
        };
        let sent = self.send(Leave::Complete);
        self.holding.keep(sent);
        Some(is_filled)
    }
}

//! What `motioninterpolate` knows from start to stop: its segments, and the stream between two changes of caps.

use super::load::Load;
use super::ratio::{Ratio, Retiming};
use super::retime;
use super::settings::InterpolationSettings;
use super::statistics::Counts;
use super::stream::InterpolateStream;
use super::timeline::OutputFrame;
use crate::video;

/// What is done from start to stop.
pub struct InterpolateState {
    pub stream: Option<InterpolateStream>,
    /// The settings that hold for the current buffer.
    pub settings: InterpolationSettings,
    pub counts: Counts,
    pub load: Load,
    /// The segment of the output, that of output frames that wait, and that of the input.
    pub segment: gst::FormattedSegment<gst::ClockTime>,
    pub planned_segment: gst::FormattedSegment<gst::ClockTime>,
    pub input_segment: gst::FormattedSegment<gst::ClockTime>,
    pub seqnum: Option<gst::Seqnum>,
    /// The input's in nanoseconds.
    pub start: u64,
    pub stop: Option<u64>,
    pub retiming: Retiming,
    /// Backwards all times are counted from the end, so that they grow. It is the time, in nanoseconds, of which they are
    /// subtracted.
    pub mirror: Option<u64>,
}

impl Default for InterpolateState {
    fn default() -> Self {
        Self {
            stream: None,
            settings: InterpolationSettings::default(),
            counts: Counts::default(),
            load: Load::default(),
            segment: gst::FormattedSegment::new(),
            planned_segment: gst::FormattedSegment::new(),
            input_segment: gst::FormattedSegment::new(),
            seqnum: None,
            mirror: None,
            start: 0,
            stop: None,
            retiming: Retiming::new(Ratio::ONE),
        }
    }
}

impl InterpolateState {
    /// Takes the segment of what follows, the `segment` of the output for `input`, in which `speed` holds.
    pub fn begin_segment(
        &mut self,
        input: gst::FormattedSegment<gst::ClockTime>,
        segment: gst::FormattedSegment<gst::ClockTime>,
        speed: Ratio,
    ) {
        let end = self.stream.as_ref().and_then(|stream| stream.clock.end());
        let shift = end.and_then(|end| self.continuation(&segment, end));
        let [start, stop] = [input.start(), input.stop()].map(|time| time.map(gst::ClockTime::nseconds));
        let start = start.unwrap_or(0);
        self.mirror = stop.filter(|_| input.rate() < 0.0);
        (self.start, self.stop) = match self.mirror {
            Some(stop) => (0, Some(stop.saturating_sub(start))),
            None => (start, stop),
        };
        self.retiming = Retiming::new(speed);
        if let Some(stream) = &mut self.stream {
            stream.begin_segment(self.start, shift, &self.retiming);
        }
        (self.segment, self.planned_segment, self.input_segment) = (segment.clone(), segment, input);
    }

    /// Lets `speed` hold from `time` on, in nanoseconds of the input. Returns the segment of what follows.
    pub fn change_speed(&mut self, speed: Ratio, time: u64) -> Option<gst::Event> {
        // Backwards the next segment brings it.
        if speed == self.retiming.speed() || self.mirror.is_some() {
            return None;
        }
        if let Some(stream) = &mut self.stream {
            stream.set_speed(speed);
        }
        self.retiming = self.retiming.changed(speed, time);
        let segments = [&self.planned_segment, &self.input_segment];
        self.planned_segment = retime::continued_segment(segments, time, &self.retiming);
        let event = gst::event::Segment::builder(&self.planned_segment);
        Some(event.seqnum_if_some(self.seqnum).build())
    }

    /// Whether output frames are at the times of a constant rate; otherwise all frames pass.
    pub fn is_interpolated(&self) -> bool {
        let speed = self.settings.speed();
        self.stream.as_ref().is_some_and(|stream| stream.is_constant(speed))
            && (self.segment.rate() > 0.0 || self.mirror.is_some())
    }

    /// Whether the output is as fast as the input, so that it can be late.
    pub fn is_in_real_time(&self) -> bool {
        self.retiming.speed() == Ratio::ONE && self.mirror.is_none()
    }

    /// The time of an input frame that starts at `time` and lasts `duration`, in nanoseconds.
    pub fn input_time(&self, time: u64, duration: u64) -> u64 {
        self.mirror.map_or(time, |end| end.saturating_sub(time.saturating_add(duration)))
    }

    /// The timestamp of an output frame.
    pub fn timestamp(&self, frame: &OutputFrame) -> gst::ClockTime {
        let end = self.mirror.map(|end| self.retiming.speed().divide(end));
        video::time(
            end.map_or(frame.time, |end| end.saturating_sub(frame.time.saturating_add(frame.duration))),
        )
    }

    /// `frame` up to the stop of the segment; `None` if it would begin there or later.
    pub fn clipped(&self, frame: OutputFrame) -> Option<OutputFrame> {
        let stop = match self.mirror {
            Some(_) => self.stop.map(|stop| self.retiming.speed().divide(stop)),
            None => self.segment.stop().map(gst::ClockTime::nseconds),
        };
        let left = stop.map_or(u64::MAX, |stop| stop.saturating_sub(frame.time));
        (left > 0).then(|| OutputFrame { duration: frame.duration.min(left), ..frame })
    }

    /// Whether frames go on in the segment `input`, because its running times are those of the segment before: nothing ends.
    pub fn goes_on_in(&self, input: &gst::FormattedSegment<gst::ClockTime>) -> bool {
        let (old, last) = (&self.input_segment, self.stream.as_ref().and_then(|stream| stream.clock.last()));
        let is_started = input.start().zip(last).is_some_and(|(start, last)| start.nseconds() <= last);
        is_started && input.rate() > 0.0 && input.rate() == old.rate() && zero_of(input) == zero_of(old)
    }

    /// Takes a segment in which frames go on. Returns that of the output.
    pub fn go_on(
        &mut self,
        input: gst::FormattedSegment<gst::ClockTime>,
    ) -> gst::FormattedSegment<gst::ClockTime> {
        let last = self.stream.as_ref().and_then(|stream| stream.clock.last());
        self.segment = match last.filter(|_| !self.retiming.is_identity()) {
            Some(last) => retime::continued_segment([&self.segment, &input], last, &self.retiming),
            None => input.clone(),
        };
        self.stop = input.stop().map(gst::ClockTime::nseconds);
        if let Some(stream) = &mut self.stream {
            stream.clock.note_segment();
        }
        (self.planned_segment, self.input_segment) = (self.segment.clone(), input);
        self.segment.clone()
    }

    /// How much larger times are in `segment` than in the segment before, for the same running time, if that goes on: it begins
    /// where the last frame of the one before ends, at `end` in nanoseconds of the input, less than half an output frame beside,
    /// or both have the same times.
    pub fn continuation(&self, segment: &gst::FormattedSegment<gst::ClockTime>, end: u64) -> Option<i128> {
        let (old, rate) = (&self.segment, segment.rate());
        let stream = self.stream.as_ref()?;
        let end = video::time(self.retiming.output(end));
        let [end, start] = [old.to_running_time(end)?, segment.base()?];
        let beside = end.nseconds().abs_diff(start.nseconds());
        let shift = zero_of(segment) - zero_of(old);
        let is_next = beside <= stream.frame_duration()? / 2 || (shift == 0 && start <= end);
        (is_next && rate > 0.0 && rate == old.rate()).then_some(shift)
    }
}

/// The time at which running time is 0 in a segment that is played forwards, in nanoseconds.
fn zero_of(segment: &gst::FormattedSegment<gst::ClockTime>) -> i128 {
    let [start, base, offset] = [segment.start(), segment.base(), segment.offset()]
        .map(|time| i128::from(time.map_or(0, gst::ClockTime::nseconds)));
    let rate = segment.rate();
    start + offset - if rate == 1.0 { base } else { (base as f64 * rate) as i128 }
}

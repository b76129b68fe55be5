//! The frames of a stream from one caps to the next: when output frames are, and what they show.

mod shown;

use std::collections::VecDeque;
use std::time::Instant;

use gst_video::VideoInfo;

use super::caps;
use super::input_clock::InputClock;
use super::maker::Maker;
use super::metas::MomentMetas;
use super::plan::earlier;
use super::plan::{Before, Due, Planned, QueuedFrame, SentFrame};
use super::planes::InputFrame;
use super::ratio::{Ratio, Retiming};
use super::repeats::Repeats;
use super::retime;
use super::settings::InterpolationSettings;
use super::statistics::Counts;
use super::timeline::{FramePlace, Interval, Timeline};
use crate::settings::StreamError;
use crate::video::pool::HeldBuffers;
use crate::video::sequence::Leaving;

/// What holds from one caps to the next.
pub struct InterpolateStream {
    incoming: VideoInfo,
    outgoing: VideoInfo,
    input: Option<Ratio>,
    output: Option<Ratio>,
    pub maker: Maker,
    /// The frames that wait; the last one is the newest. Those before them are in `maker`, which may have loaded the first.
    waiting: VecDeque<QueuedFrame>,
    /// When output frames are, up to the newest frame and the end of `filling`.
    timeline: Option<Timeline>,
    /// The output frames between the two frames in `maker`.
    due: Option<Planned>,
    /// Those behind all frames.
    filling: Option<Interval>,
    /// Metadata that has not left.
    metas: MomentMetas,
    /// Whether the output frame that leaves next is at the time of the frame in `maker` or later.
    is_reached: bool,
    pub held: HeldBuffers,
    pub clock: InputClock,
    /// What left last.
    last_sent: Option<SentFrame>,
    repeats: Repeats,
    /// A segment, and a frame that goes downstream as it is but for its time.
    passing: VecDeque<Leaving>,
    /// Whether the next frame that leaves is a discontinuity.
    is_discont: bool,
    /// The number of frames that have left.
    sent: u64,
}

impl InterpolateStream {
    pub fn new(incoming: VideoInfo, outgoing: VideoInfo) -> Self {
        let rate = |info: &VideoInfo| Ratio::new(info.fps().numer(), info.fps().denom());
        Self {
            input: rate(&incoming),
            output: rate(&outgoing),
            clock: InputClock::new(rate(&incoming)),
            maker: Maker::new(&incoming),
            incoming,
            outgoing,
            waiting: VecDeque::new(),
            timeline: None,
            due: None,
            filling: None,
            metas: MomentMetas::default(),
            is_reached: false,
            held: HeldBuffers::default(),
            last_sent: None,
            repeats: Repeats::default(),
            passing: VecDeque::new(),
            is_discont: false,
            sent: 0,
        }
    }

    /// Output frames follow those of `before`.
    pub fn follow(&mut self, before: Self) {
        self.metas = before.metas;
        self.clock.follow(&before.clock);
        (self.last_sent, self.sent) = (before.last_sent, before.sent);
        let (Some(timeline), Some(output)) = (before.timeline, self.output) else { return };
        let is_of_rate = timeline.output_rate() == output;
        let timeline = if is_of_rate { timeline } else { timeline.with_output(output) };
        self.timeline = Some(timeline.with_input(self.input));
    }

    /// Whether this is the stream from frames of `incoming` to frames of `outgoing`.
    pub fn is_of(&self, incoming: &VideoInfo, outgoing: &VideoInfo) -> bool {
        (&self.incoming, &self.outgoing) == (incoming, outgoing)
    }

    /// The frames that go downstream.
    pub fn info(&self) -> &VideoInfo {
        &self.outgoing
    }

    /// The frames that come.
    pub fn incoming(&self) -> &VideoInfo {
        &self.incoming
    }

    /// Why none can be made between the frames that come, if that is so.
    pub fn obstacle(&self) -> Option<&'static str> {
        caps::obstacle(&self.incoming)
    }

    /// Whether output frames are at the times of a constant rate; otherwise all frames pass.
    pub fn is_constant(&self, speed: Ratio) -> bool {
        // Other frames pass where nothing needs to be made.
        self.output.is_some() && (self.changes_rate(speed) || self.obstacle().is_none())
    }

    /// Whether the output has another frame rate at this speed.
    pub fn changes_rate(&self, speed: Ratio) -> bool {
        self.input != self.output || speed != Ratio::ONE
    }

    /// Whether the frame in `buffer` at `time` repeats the newest one but for coding noise. It is dropped then, and that one
    /// lasts longer.
    pub fn is_repeat(&mut self, buffer: &gst::Buffer, time: u64) -> bool {
        let (newest, planes) = self.maker.newest(self.waiting.back().map(|frame| &frame.frame));
        let is_one = newest.is_some_and(|newest| self.repeats.take(newest, buffer, planes));
        if is_one {
            self.clock.repeat(buffer, time);
        }
        is_one
    }

    /// The output frames up to the frame in `buffer` at `time`, which is the newest one from now on. The segment starts at
    /// `start`.
    pub fn plan(
        &mut self,
        buffer: &gst::BufferRef,
        (time, before): (u64, Before),
        start: u64,
        retiming: &Retiming,
    ) -> Option<Interval> {
        let (input, output) = (self.input, self.output?);
        self.is_discont |=
            self.clock.newest().is_none() && buffer.flags().contains(gst::BufferFlags::DISCONT);
        self.clock.advance(buffer, time);
        // Behind frames that have passed the output goes on.
        let passed = self.last_sent.filter(|_| before != Before::Jump);
        let timeline = self.timeline.get_or_insert_with(|| {
            let timeline = Timeline::new(input, output, retiming, start);
            let origin = passed.map(|passed| passed.end_before(retiming.output(time)));
            match origin {
                Some(origin) => timeline.beginning_at(origin.into()),
                None => timeline,
            }
        });
        if before == Before::Jump {
            self.is_discont = true;
            timeline.jump(time);
        }
        Some(timeline.advance(time, before == Before::Hole))
    }

    /// How many frames wait after the one that is shown: those that are searched, and one whose motion the frames before it need.
    pub fn delay(&self, settings: &InterpolationSettings) -> usize {
        settings.delay() + usize::from(self.looks_ahead(settings))
    }

    /// Whether frames are made with the motion before and after them. At the same frame rate only single frames are made, of which
    /// no neighbours are searched. A quality that has just been set holds when its devices are open.
    pub fn looks_ahead(&self, settings: &InterpolationSettings) -> bool {
        settings.looks_ahead() && self.changes_rate(settings.speed()) && self.maker.can_look_ahead()
    }

    /// Takes `buffer`, behind the output frames that are planned. It waits then. `looks_ahead`: its motion is wanted for the frames
    /// beside it too.
    ///
    /// # Errors
    /// As [`Maker::start_search`].
    pub fn take_input(
        &mut self,
        buffer: gst::Buffer,
        planned: Planned,
        looks_ahead: bool,
    ) -> Result<(), StreamError> {
        let interval = &planned.interval;
        let is_wanted = interval.is_any_between() || (looks_ahead && interval.is_between());
        let is_wanted = is_wanted && !planned.is_late;
        let frame = InputFrame::new(buffer);
        let previous = self.waiting.back().map(|frame| &frame.frame);
        let is_searched = self.maker.start_search(previous, &frame, is_wanted)?;
        let dropped = self.repeats.take_metas();
        self.waiting.push_back(QueuedFrame { frame, planned, is_searched, dropped });
        Ok(())
    }

    /// Lets `speed` hold from the newest frame on.
    pub fn set_speed(&mut self, speed: Ratio) {
        if let Some(timeline) = &mut self.timeline {
            timeline.set_speed(speed);
        }
    }

    /// A GAP event came, of a gap up to `end` in nanoseconds of the input. If time is missing there, the newest frame is shown
    /// until then. Returns whether it is.
    pub fn take_gap(&mut self, end: Option<u64>) -> bool {
        self.clock.note_gap();
        let Some(end) = end.filter(|&end| self.clock.before(end, true) == Before::Hole) else { return false };
        self.clock.last_until(end);
        self.fill(end, false);
        true
    }

    /// When an output frame should follow the newest input frame, in nanoseconds of the output, and how much later than it the
    /// next input frame may be.
    pub fn next_output(&self) -> Option<(u64, u64)> {
        self.clock.newest()?;
        let output = self.output?.frames(1);
        Some((self.timeline.as_ref()?.next_time(), output.max(self.clock.usual_duration())))
    }

    /// The newest frame is shown up to `end`, in nanoseconds of the input, because the next one is late.
    pub fn wait_no_longer(&mut self, end: u64) {
        self.clock.note_gap();
        self.fill(end, false);
    }

    fn fill(&mut self, end: u64, is_last: bool) {
        self.filling = self.timeline.as_mut().and_then(|timeline| timeline.fill(end, is_last));
    }

    /// Loads the first frame that waits.
    ///
    /// # Errors
    /// As [`Maker::load_ahead`].
    fn load_ahead(&mut self) -> Result<(), StreamError> {
        let Some(frame) = self.waiting.front() else { return Ok(()) };
        let Planned { interval, length, is_late, .. } = &frame.planned;
        let first = interval.upcoming().filter(|_| !is_late);
        self.maker.load_ahead(&frame.frame, frame.is_searched, *length, first)
    }

    /// Goes on to the first frame that waits.
    ///
    /// # Errors
    /// As [`Maker::load_ahead`].
    fn advance(&mut self) -> Result<(), StreamError> {
        self.load_ahead()?;
        let Some(frame) = self.waiting.pop_front() else { return Ok(()) };
        self.metas.take(frame.dropped, &frame.frame.buffer);
        self.maker.go_on(frame.frame);
        self.due = Some(frame.planned);
        Ok(())
    }

    /// Lets `buffer` at `time` go downstream as it is but for its time, behind `segment`. Returns whether it does: a frame is
    /// dropped that follows frames which have been shown later than they came, but not later than it.
    pub fn pass(
        &mut self,
        segment: Option<gst::Event>,
        (mut buffer, time): (gst::Buffer, u64),
        retiming: &Retiming,
    ) -> bool {
        self.passing.extend(segment.map(Leaving::Event));
        // Behind it another grid begins.
        self.timeline = None;
        if buffer.pts().is_some() {
            let follows = self.clock.last().is_some_and(|last| last < time);
            let shown = retiming.output(time);
            self.clock.pass(&buffer, time);
            if follows && self.last_sent.is_some_and(|sent| shown < sent.time) {
                return false;
            }
            self.last_sent =
                Some(SentFrame { time: shown, end: self.clock.end().map(|end| retiming.output(end)) });
        }
        if !retiming.is_identity() {
            let time = |time| retime::output(time, retiming);
            let (pts, dts, duration) = (buffer.pts(), buffer.dts(), buffer.duration());
            let buffer = buffer.make_mut();
            buffer.set_pts(pts.map(time));
            buffer.set_dts(dts.map(time));
            buffer.set_duration(duration.map(|duration| retime::divided(duration, retiming.speed())));
        }
        self.passing.push_back(Leaving::Buffer(buffer));
        true
    }

    pub fn take_passing(&mut self) -> Option<Leaving> {
        self.passing.pop_front()
    }

    /// No more frames of the sequence come: its last one is shown until `end`, in nanoseconds of the input. `is_last`: no others
    /// follow it in the same grid.
    pub fn expect_no_more(&mut self, end: u64, is_last: bool) {
        if self.clock.newest().is_some() {
            self.clock.last_until(end);
            self.fill(end, is_last);
        }
    }

    /// As [`Self::expect_no_more`], until the last frame ends or the segment stops, at `stop` in nanoseconds of the input.
    pub fn expect_no_more_behind(&mut self, stop: Option<u64>, is_last: bool) {
        if let Some(end) = self.clock.end() {
            self.expect_no_more(earlier(end, stop), is_last);
        }
    }

    /// The next output frame, if it is not later than the newest frame that need not wait: at most `keep` wait, fewer if
    /// upstream lacks buffers. With `looks_ahead` the first of them is loaded before frames are made, else after that. After the
    /// last one those that show it until it ends, if that is known.
    ///
    /// # Errors
    /// As [`Maker::load_ahead`].
    pub fn due(
        &mut self,
        keep: usize,
        looks_ahead: bool,
        counts: &mut Counts,
    ) -> Result<Option<Due>, StreamError> {
        // The frame before those that wait is held too.
        let allowed = self.held.most().saturating_sub(1).max(usize::from(looks_ahead));
        let keep = keep.min(allowed);
        loop {
            if let Some(planned) = &mut self.due {
                let next = planned.interval.next();
                self.is_reached = next.as_ref().is_some_and(|frame| frame.place == FramePlace::Next);
                let next = next.map(Due::Frame);
                if let Some(next) = next.or_else(|| planned.segment.take().map(Due::Segment)) {
                    return Ok(Some(next));
                }
            }
            self.maker.release();
            let began = Instant::now();
            let advances = self.waiting.len() > keep;
            let mut done = if advances { self.advance() } else { Ok(()) };
            // Where no more may wait, so that the next search can begin. Where two or more do, the search of the first hardly needs
            // to be waited for, and a device makes the first frame while the next input frame comes.
            let begins_next = !advances && keep > 1;
            if (looks_ahead || begins_next) && self.waiting.len() >= keep {
                done = done.and_then(|()| self.load_ahead());
            }
            counts.loading += began.elapsed();
            done?;
            if !advances {
                break;
            }
        }
        if !self.waiting.is_empty() {
            return Ok(None);
        }
        self.is_reached = true;
        let next = self.filling.as_mut().and_then(Interval::next);
        if next.is_some() {
            self.metas.finish(self.repeats.take_metas());
        }
        Ok(next.map(Due::Frame))
    }

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        self.clock.release_buffer();
        self.waiting.iter_mut().for_each(|frame| frame.frame.release_buffer());
        self.maker.release_buffers();
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.waiting.clear();
        (self.due, self.filling) = (None, None);
        self.clock.forget();
        self.repeats.forget();
        if let Some(timeline) = &mut self.timeline {
            timeline.forget();
        }
        self.maker.forget();
    }

    /// Drops what has not left, and makes the next frame the first of a sequence and segment.
    pub fn discard(&mut self) {
        self.passing.clear();
        self.metas = MomentMetas::default();
        self.forget();
        self.clock.begin_segment();
        (self.timeline, self.last_sent) = (None, None);
    }

    /// As [`Self::forget`], after an error: time is missing.
    pub fn fail(&mut self) {
        self.is_discont = true;
        self.forget();
    }

    /// The duration of an output frame, if the output has a frame rate.
    pub fn frame_duration(&self) -> Option<u64> {
        self.output.map(|output| output.frames(1))
    }

    /// A segment begins that starts at `start` in the input. `shift`: the output frames of the one before go on in it, with
    /// times that are so many nanoseconds larger.
    pub fn begin_segment(&mut self, start: u64, shift: Option<i128>, retiming: &Retiming) {
        let timeline = self.timeline.take();
        self.timeline =
            timeline.zip(shift).map(|(timeline, shift)| timeline.continued(shift, retiming, start));
        self.last_sent = self.last_sent.zip(shift).map(|(sent, shift)| sent.shifted(shift));
        self.clock.begin_segment();
    }
}

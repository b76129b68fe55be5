//! The times of input frames: when each is, whether that is believed, and what is missing before it.

use super::order::{Order, Verdict, believed, farthest};
use super::plan::{Before, LONGEST_PAUSE, TimeError};
use super::ratio::Ratio;
use super::timeline::Timeline;
use crate::video::pool;

/// What is known of the times of input frames, in nanoseconds of the input.
#[derive(Default)]
pub struct InputClock {
    /// The frame rate, if the caps have one.
    rate: Option<Ratio>,
    /// The time of the newest frame, unless the next one is the first of a sequence.
    newest: Option<u64>,
    /// The time of the last frame of the segment, of any sequence, which may have passed.
    last: Option<u64>,
    /// When that ends, if it is known.
    end: Option<u64>,
    /// The usual distance of frames, if it is known.
    distance: Option<u64>,
    /// Whether a GAP event came after the newest frame, or it was repeated because the next one was late.
    is_gap: bool,
    /// Whether a segment came after the newest frame.
    is_new_segment: bool,
    order: Order,
    /// A frame that is so far ahead that its timestamp may be wrong, and its time.
    doubtful: Option<(gst::Buffer, u64)>,
}

impl InputClock {
    /// Of frames at this rate, if it is known.
    pub fn new(rate: Option<Ratio>) -> Self {
        Self { rate, ..Self::default() }
    }

    /// Frames follow those of `before` in the same segment, with other caps.
    pub fn follow(&mut self, before: &Self) {
        (self.last, self.end) = (before.last, before.end);
    }

    /// The time of the newest frame, unless the next one is the first of a sequence.
    pub fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// The time of the last frame of the segment, of any sequence.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// When the last frame of the segment ends, if that is known.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// The time of the frame in `buffer`: its timestamp, else the end of the frame before, which for the first is
    /// `start`.
    ///
    /// # Errors
    /// [`TimeError::Unknown`] if neither is known.
    pub fn time_of(&self, buffer: &gst::BufferRef, start: u64) -> Result<u64, TimeError> {
        let first = || self.last.is_none().then_some(start);
        let time = buffer.pts().map(gst::ClockTime::nseconds).or(self.end).or_else(first);
        time.ok_or(TimeError::Unknown)
    }

    /// How long a frame lasts that has no duration itself, if that is known.
    pub fn usual_duration(&self) -> u64 {
        self.distance.or(self.rate.map(|rate| rate.frames(1))).unwrap_or(0)
    }

    /// What becomes of a frame at `time`, by its time. The segment starts at `start`.
    pub fn judge(&mut self, time: u64, start: u64) -> Verdict {
        let is_new_segment = std::mem::take(&mut self.is_new_segment);
        match self.last {
            None if time.saturating_sub(start) > farthest(self.usual_duration()) => Verdict::Doubtful,
            None => Verdict::Next,
            Some(last) if is_new_segment && time < last => Verdict::Anew,
            Some(last) => self.order.judge(time, last, self.distance),
        }
    }

    /// Holds back a frame whose timestamp may be wrong.
    pub fn doubt(&mut self, mut buffer: gst::Buffer, time: u64) {
        pool::release(&mut buffer);
        self.doubtful = Some((buffer, time));
    }

    /// The frame that is held back because its timestamp may be wrong, and its time.
    pub fn take_doubtful(&mut self) -> Option<(gst::Buffer, u64)> {
        self.doubtful.take()
    }

    /// Replaces the buffer that is held back by a copy.
    pub fn release_buffer(&mut self) {
        self.doubtful.iter_mut().for_each(|(buffer, _)| pool::release(buffer));
    }

    /// What comes before a frame at `time`, which is a discontinuity or not.
    pub fn before(&self, time: u64, is_discont: bool) -> Before {
        let Some(last) = self.last else { return Before::Frame };
        let interval = time.saturating_sub(last);
        let is_missing = match (self.end, self.distance) {
            (Some(end), Some(distance)) => time.saturating_sub(end) >= distance / 2,
            _ => true,
        };
        if time <= last || interval > LONGEST_PAUSE {
            Before::Jump
        } else if (is_discont || self.is_gap) && is_missing || Timeline::is_pause(self.rate, interval) {
            Before::Hole
        } else {
            Before::Frame
        }
    }

    /// The frame in `buffer` at `time` is the newest one of the sequence from now on.
    pub fn advance(&mut self, buffer: &gst::BufferRef, time: u64) {
        self.pass(buffer, time);
        (self.newest, self.is_gap) = (Some(time), false);
    }

    /// The frame in `buffer` at `time` is the last one of the segment, but of no sequence. It is shown, if no other comes, for its
    /// own duration, else that of the frame rate, else as long as the frame before.
    pub fn pass(&mut self, buffer: &gst::BufferRef, time: u64) {
        let interval = self.newest.map(|newest| time.saturating_sub(newest)).filter(|&interval| interval > 0);
        let usual = self.rate.map(|rate| rate.frames(1)).or(interval).or(self.distance);
        self.distance = usual.or(buffer.duration().map(gst::ClockTime::nseconds));
        self.end = believed(buffer, usual).map(|duration| time.saturating_add(duration));
        self.last = Some(time);
    }

    /// The newest frame lasts as long as the one in `buffer` at `time`, which repeats it.
    pub fn repeat(&mut self, buffer: &gst::BufferRef, time: u64) {
        let duration = believed(buffer, self.distance);
        self.end = duration.map(|duration| time.saturating_add(duration)).or(self.end);
    }

    /// The newest frame lasts until `end`.
    pub fn last_until(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// Content is missing behind the newest frame.
    pub fn note_gap(&mut self) {
        self.is_gap = true;
    }

    /// A segment came in which frames go on.
    pub fn note_segment(&mut self) {
        self.is_new_segment = true;
    }

    /// The next frame is the first of a segment.
    pub fn begin_segment(&mut self) {
        (self.last, self.end) = (None, None);
    }

    /// The next frame is the first of a sequence.
    pub fn forget(&mut self) {
        (self.newest, self.is_gap, self.doubtful) = (None, false, None);
        self.is_new_segment = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A buffer at a time and of a duration in milliseconds.
    fn buffer(pts: Option<u64>, duration: Option<u64>) -> gst::Buffer {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let target = buffer.make_mut();
        target.set_pts(pts.map(gst::ClockTime::from_mseconds));
        target.set_duration(duration.map(gst::ClockTime::from_mseconds));
        buffer
    }

    /// The clock behind frames at these times in milliseconds, without durations.
    fn behind(rate: Option<Ratio>, times: impl IntoIterator<Item = u64>) -> InputClock {
        let mut clock = InputClock::new(rate);
        times.into_iter().for_each(|time| clock.advance(&buffer(Some(time), None), time * MS));
        clock
    }

    #[test]
    fn a_frame_without_a_timestamp_is_behind_the_one_before() {
        let rate = Ratio::new(25, 1);
        let time = |clock: &InputClock| clock.time_of(&buffer(None, None), 7 * MS);
        assert_eq!(time(&InputClock::new(None)), Ok(7 * MS), "the start of the segment");
        assert_eq!(time(&behind(rate, [80])), Ok(120 * MS));
        assert_eq!(time(&behind(None, [0, 30])), Ok(60 * MS), "as far as the one before");
        assert_eq!(time(&behind(None, [0])), Err(TimeError::Unknown));
        let mut clock = InputClock::new(None);
        clock.advance(&buffer(Some(0), Some(50)), 0);
        assert_eq!(time(&clock), Ok(50 * MS), "its own duration");
        assert_eq!(clock.time_of(&buffer(Some(10), None), 0), Ok(10 * MS));
    }

    #[test]
    fn a_duration_that_is_too_long_is_not_believed() {
        let mut clock = behind(Ratio::new(25, 1), [0]);
        clock.advance(&buffer(Some(40), Some(3_600_000)), 40 * MS);
        assert_eq!(clock.end(), Some(80 * MS));
        clock.repeat(&buffer(Some(80), Some(3_600_000)), 80 * MS);
        assert_eq!(clock.end(), Some(120 * MS));
    }

    #[test]
    fn holes_and_jumps() {
        let mut clock = behind(Ratio::new(25, 1), [0, 40]);
        assert_eq!(InputClock::new(None).before(40 * MS, true), Before::Frame, "nothing is before it");
        assert_eq!(clock.before(80 * MS, false), Before::Frame);
        assert_eq!(clock.before(80 * MS, true), Before::Frame, "nothing is missing");
        assert_eq!(clock.before(99 * MS, true), Before::Frame);
        assert_eq!(clock.before(100 * MS, true), Before::Hole, "half a frame is");
        assert_eq!(
            clock.before(400 * MS, false),
            Before::Frame,
            "frames may be missing without a word of it"
        );
        assert_eq!(clock.before(40 * MS, false), Before::Jump);
        assert_eq!(clock.before(41 * MS + LONGEST_PAUSE, false), Before::Jump);
        clock.note_gap();
        assert_eq!(clock.before(400 * MS, false), Before::Hole);
        clock.last_until(390 * MS);
        assert_eq!(clock.before(400 * MS, false), Before::Frame, "the newest has been shown up to there");
        clock.advance(&buffer(Some(400), None), 400 * MS);
        assert_eq!(clock.before(800 * MS, false), Before::Frame, "the gap is over");
    }

    #[test]
    fn a_sequence_ends_and_the_segment_goes_on() {
        let mut clock = behind(Ratio::new(25, 1), [0, 40]);
        clock.doubt(buffer(Some(9_000), None), 9_000 * MS);
        clock.forget();
        assert_eq!((clock.newest(), clock.last(), clock.end()), (None, Some(40 * MS), Some(80 * MS)));
        assert!(clock.take_doubtful().is_none());
        clock.pass(&buffer(Some(80), None), 80 * MS);
        assert_eq!((clock.newest(), clock.last(), clock.end()), (None, Some(80 * MS), Some(120 * MS)));
        let mut other = InputClock::new(None);
        other.follow(&clock);
        assert_eq!((other.newest(), other.last(), other.end()), (None, Some(80 * MS), Some(120 * MS)));
        clock.begin_segment();
        assert_eq!((clock.last(), clock.end()), (None, None));
    }

    #[test]
    fn times_that_are_judged() {
        let rate = Ratio::new(25, 1);
        let mut clock = InputClock::new(rate);
        assert_eq!(clock.judge(1_000 * MS, 0), Verdict::Next);
        assert_eq!(clock.judge(1_001 * MS, 0), Verdict::Doubtful, "the first is a second late");
        assert_eq!(clock.judge(1_001 * MS, MS), Verdict::Next);
        let mut clock = behind(rate, [0, 40]);
        assert_eq!(clock.judge(80 * MS, 0), Verdict::Next);
        assert_eq!(clock.judge(40 * MS, 0), Verdict::Dropped);
        clock.note_segment();
        assert_eq!(clock.judge(20 * MS, 0), Verdict::Anew, "a new segment may begin earlier");
        assert_eq!(clock.judge(20 * MS, 0), Verdict::Dropped, "once");
        assert_eq!(clock.judge(5_000 * MS, 0), Verdict::Doubtful);
    }
}

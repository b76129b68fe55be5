//! Which decoded frames are searched: those of a range, and those around it in which they are searched.

use std::collections::VecDeque;

use crate::error::Error;
use crate::range::{Range, Seconds};

/// By how much a frame may end too early, in nanoseconds: some containers have timestamps in milliseconds.
const ROUNDING: u64 = 1_000_000;

/// What happens to a buffer.
#[derive(Debug)]
pub enum Step {
    /// It is searched.
    Pass,
    /// It is not.
    Drop,
    /// These are searched, and then it.
    Release(Vec<gst::Buffer>),
    /// There are all that are needed. It is not searched.
    End,
    /// It is the first of the range, but there are too few frames before it, or damaged ones: decoding must begin earlier.
    Earlier,
}

/// Lets the frames of a range pass, and as many before and after it as the search needs.
pub struct Gate {
    range: Range,
    /// How many before and after.
    around: (usize, usize),
    /// Whether the frames that come are those from the beginning of a sequence, so that there may be fewer before.
    is_beginning: bool,
    /// Whether nothing of the video was skipped, so that damage is its own. Where decoding begins in an open group of
    /// pictures, some of its frames are damaged, with FFmpeg 7 all of them.
    is_complete: bool,
    /// The frames before the range that would be searched if it came next.
    held: VecDeque<gst::Buffer>,
    has_begun: bool,
    /// The frames after the range so far.
    after: usize,
    frames: u64,
    last: Option<Times>,
}

/// When a frame begins and ends, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    start: u64,
    end: u64,
}

impl Gate {
    /// A gate for `range` and the frames `around` it, whose first frame is the first of the video, or is not.
    pub fn new(range: Range, around: (usize, usize), is_beginning: bool) -> Self {
        Self {
            range,
            around,
            is_beginning,
            is_complete: is_beginning,
            held: VecDeque::new(),
            has_begun: false,
            after: 0,
            frames: 0,
            last: None,
        }
    }

    /// Decides about the next frame.
    ///
    /// # Errors
    /// [`Error::Video`] if its timestamp does not say whether it belongs to the range.
    pub fn take(&mut self, buffer: &gst::Buffer) -> Result<Step, Error> {
        let number = self.frames;
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            self.interrupt();
        }
        self.frames += 1;
        let Some(time) = buffer.pts().map(gst::ClockTime::nseconds) else {
            if self.range.is_all() {
                return Ok(Step::Pass);
            }
            return Err(Error::Video(format!(
                "frame {number} has no timestamp, which a range needs: search all of it without --range, or put the \
                 video into MP4 or Matroska"
            )));
        };
        // A frame without duration takes as long as the one before.
        let duration = buffer.duration().map(gst::ClockTime::nseconds);
        let interval = self.last.map_or(0, |before| time.saturating_sub(before.start));
        let times = Times { start: time, end: time.saturating_add(duration.unwrap_or(interval)) };
        if let Some(before) = self.last.replace(times).filter(|before| before.start > time)
            && !self.range.is_all()
        {
            return Err(Error::Video(format!(
                "timestamps go back, from {} to {}, so that ranges cannot be told apart: search all of it without \
                 --range",
                Seconds(before.start),
                Seconds(time)
            )));
        }
        if self.range.start.is_some_and(|start| time < start) {
            self.held.push_back(buffer.clone());
            if self.held.len() > self.around.0 {
                self.held.pop_front();
            }
            return Ok(Step::Drop);
        }
        if self.range.end.is_some_and(|end| end <= time) {
            self.after += 1;
            return Ok(if self.has_begun && self.after <= self.around.1 { Step::Pass } else { Step::End });
        }
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(Step::Pass);
        }
        let is_damaged = |buffer: &gst::Buffer| buffer.flags().contains(gst::BufferFlags::CORRUPTED);
        let are_missing = self.held.len() < self.around.0 && !self.is_beginning;
        let are_damaged = self.held.iter().chain([buffer]).any(is_damaged) && !self.is_complete;
        if are_missing || are_damaged {
            return Ok(Step::Earlier);
        }
        Ok(Step::Release(self.held.drain(..).collect()))
    }

    /// The next frame is the first of the video.
    pub fn begin(&mut self) {
        self.is_beginning = true;
        self.is_complete = true;
    }

    /// A sequence ends here: the next frame is not searched in those before it.
    pub fn interrupt(&mut self) {
        if self.frames > 0 {
            self.held.clear();
            self.is_beginning = true;
        }
    }

    /// When the video has ended, the part of the range that it lacks, with what it has.
    pub fn lacking(&self) -> Option<String> {
        let needed = self.range.end.or(self.range.start)?;
        let Some(Times { end, .. }) = self.last else { return Some("the video has no frames there".into()) };
        let is_there = self.after > 0 || self.has_begun && end + ROUNDING >= needed;
        (!is_there).then(|| {
            format!(
                "the video ends at {}, before the range {} does: it is cut off, or the range is too long",
                Seconds(end),
                self.range
            )
        })
    }

    /// Where the last frame ends, in nanoseconds.
    pub fn end(&self) -> Option<u64> {
        self.last.map(|times| times.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of 1 s at `times` that are searched.
    fn passed(gate: &mut Gate, times: impl IntoIterator<Item = u64>) -> Vec<u64> {
        gst::init().unwrap();
        let seconds = |buffer: &gst::Buffer| buffer.pts().unwrap().seconds();
        let mut passed = Vec::new();
        for time in times {
            let mut buffer = gst::Buffer::new();
            let writable = buffer.make_mut();
            writable.set_pts(gst::ClockTime::from_seconds(time));
            writable.set_duration(gst::ClockTime::from_seconds(1));
            match gate.take(&buffer).unwrap() {
                Step::Pass => passed.push(time),
                Step::Drop => (),
                Step::Release(held) => passed.extend(held.iter().map(seconds).chain([time])),
                Step::End => break,
                Step::Earlier => panic!("too few frames before {time}"),
            }
        }
        passed
    }

    #[test]
    fn frames_around_a_range_are_searched_too() {
        let range: Range = "5:8".parse().unwrap();
        for (around, expected) in [((0, 0), 5..=7), ((1, 0), 4..=7), ((0, 1), 5..=8), ((3, 2), 2..=9)] {
            let mut gate = Gate::new(range, around, false);
            assert_eq!(passed(&mut gate, 0..20), expected.collect::<Vec<_>>(), "{around:?}");
            assert_eq!(gate.lacking(), None);
        }
        assert_eq!(passed(&mut Gate::new(range, (4, 4), true), 3..20), Vec::from_iter(3..=11));
    }

    #[test]
    fn a_sequence_that_begins_before_a_range_has_fewer_frames() {
        let mut gate = Gate::new("5:8".parse().unwrap(), (3, 0), false);
        assert!(passed(&mut gate, 0..4).is_empty());
        gate.interrupt();
        assert_eq!(passed(&mut gate, 4..20), [4, 5, 6, 7]);
        // An interruption before the first frame says nothing.
        let mut gate = Gate::new("5:8".parse().unwrap(), (3, 0), false);
        gate.interrupt();
        let mut first = gst::Buffer::new();
        first.get_mut().unwrap().set_pts(gst::ClockTime::from_seconds(6));
        assert!(matches!(gate.take(&first), Ok(Step::Earlier)));
    }

    #[test]
    fn frames_that_are_damaged_by_a_seek_are_decoded_from_earlier_on() {
        gst::init().unwrap();
        let frame = |time: u64, flags| {
            let mut buffer = gst::Buffer::new();
            let writable = buffer.get_mut().unwrap();
            writable.set_pts(gst::ClockTime::from_seconds(time));
            writable.set_flags(flags);
            buffer
        };
        let (intact, damaged) = (gst::BufferFlags::empty(), gst::BufferFlags::CORRUPTED);
        // The flags of frames 3, 4 and 5, of which 4 and 5 are needed.
        for (flags, is_earlier) in [
            ([intact, intact, intact], false),
            ([damaged, intact, intact], false),
            ([intact, damaged, intact], true),
            ([intact, intact, damaged], true),
        ] {
            for is_beginning in [false, true] {
                let mut gate = Gate::new("5:8".parse().unwrap(), (1, 0), is_beginning);
                let steps = (3..).zip(flags).map(|(time, flags)| gate.take(&frame(time, flags)).unwrap());
                let last = steps.last().unwrap();
                assert_eq!(matches!(last, Step::Earlier), is_earlier && !is_beginning, "{flags:?} {last:?}");
            }
        }
    }

    #[test]
    fn a_range_that_the_video_lacks_is_told() {
        for (range, last, is_there) in [
            ("5:8", 7, true),
            ("5:8", 8, true),
            ("5:9", 6, false),
            ("5:8", 3, false),
            ("5:", 3, false),
            ("5:", 5, true),
        ] {
            let mut gate = Gate::new(range.parse().unwrap(), (1, 0), true);
            passed(&mut gate, 0..=last);
            assert_eq!(
                gate.lacking().is_none(),
                is_there,
                "{range} of frames to {last}: {:?}",
                gate.lacking()
            );
        }
    }
}

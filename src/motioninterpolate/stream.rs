//! The frames of a stream from one caps to the next: when output frames are, and what they show.

use std::collections::VecDeque;

use gst_video::VideoInfo;

use super::maker::{Decision, MakeError, Maker};
use super::retime;
use super::timeline::{FramePlace, OutputFrame, Ratio, Retiming, Timeline};
use super::{MotionInterpolateMode, MotionInterpolateSceneCut};
use crate::video::pool::PoolLimit;
use crate::{meta, video};
use motion_search::interpolation::Phase;

/// Why a buffer cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Nothing says when the frame is.
    #[error(
        "A frame has no timestamp, and neither a frame rate nor durations tell its time: set the frame rate, for \
         example by a capsfilter before motioninterpolate"
    )]
    Unknown,
}

/// What becomes of an output frame.
pub enum Shown {
    /// The input frame that is at this time.
    Input(gst::Buffer),
    /// An input frame of another time. `is_cut`: because of a scene cut.
    Repeated { buffer: gst::Buffer, is_cut: bool },
    /// A frame that is to be made.
    ToMake,
}

/// What holds from one caps to the next.
pub struct InterpolateStream {
    incoming: VideoInfo,
    outgoing: VideoInfo,
    input: Option<Ratio>,
    output: Option<Ratio>,
    pub maker: Maker,
    /// The frames of the sequence that are searched ahead, each with its time; the last one is the newest.
    waiting: VecDeque<(gst::Buffer, u64)>,
    /// The frames of the sequence before them, which are interpolated between; none before its first.
    timeline: Option<Timeline>,
    pool: PoolLimit,
    /// The buffers that downstream needs of upstream's pool.
    pub needed_downstream: usize,
    /// The duration of the newest frame.
    duration: Option<u64>,
    /// A frame that goes downstream as it is, but for its time.
    passing: Option<gst::Buffer>,
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
            maker: Maker::new(&incoming),
            incoming,
            outgoing,
            waiting: VecDeque::new(),
            pool: PoolLimit::default(),
            needed_downstream: 0,
            timeline: None,
            duration: None,
            passing: None,
            is_discont: false,
            sent: 0,
        }
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

    /// Whether frames are made at `speed`: the frame rate changes to another constant one.
    pub fn interpolates(&self, speed: Ratio) -> bool {
        self.output.is_some() && (self.input != self.output || speed != Ratio::ONE)
    }

    /// The time of the frame in `buffer`: its timestamp, else the end of the frame before, which for the first is
    /// `start`.
    ///
    /// # Errors
    /// [`TimeError::Unknown`] if neither is known.
    pub fn time_of(&self, buffer: &gst::BufferRef, start: u64) -> Result<u64, TimeError> {
        match (buffer.pts(), self.newest()) {
            (Some(pts), _) => Ok(pts.nseconds()),
            (None, None) => Ok(start),
            (None, Some(_)) => self.end().ok_or(TimeError::Unknown),
        }
    }

    /// The time of the newest frame of the sequence.
    pub fn newest(&self) -> Option<u64> {
        let last = self.waiting.back().map(|&(_, time)| time);
        last.or(self.timeline.as_ref().map(Timeline::newest))
    }

    /// The number of frames of the sequence that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many may wait: upstream may lack buffers otherwise.
    pub fn may_wait(&self) -> usize {
        self.pool.may_wait()
    }

    /// Whether a frame at `time` begins another sequence because it is too far from the frame before.
    pub fn is_too_far(&self, time: u64) -> bool {
        self.newest().is_some_and(|newest| Timeline::is_too_far(self.input, time.saturating_sub(newest)))
    }

    /// When the newest frame of the sequence ends, if that is known.
    pub fn end(&self) -> Option<u64> {
        Some(self.newest()?.saturating_add(self.duration?))
    }

    /// Takes `buffer` as the next frame of the sequence, at `time`, which is later than [`Self::newest`]. It waits then.
    ///
    /// # Errors
    /// As [`Maker::start_search`].
    pub fn take_input(&mut self, buffer: gst::Buffer, time: u64) -> Result<(), MakeError> {
        self.is_discont |= buffer.flags().contains(gst::BufferFlags::DISCONT);
        let own = buffer.duration().map(gst::ClockTime::nseconds);
        let interval = self.newest().map(|newest| time - newest);
        self.duration = own.or(self.input.map(|input| input.frames(1))).or(interval);
        // The frame before those that wait is held too.
        self.pool.note(&buffer, 1 + self.needed_downstream.max(1));
        self.maker.start_search(&buffer)?;
        self.waiting.push_back((buffer, time));
        Ok(())
    }

    /// Goes on to the first frame that waits.
    ///
    /// # Errors
    /// As [`Maker::load_frame`].
    pub fn advance(&mut self, retiming: &Retiming) -> Result<(), MakeError> {
        let (Some(output), Some((buffer, time))) = (self.output, self.waiting.pop_front()) else {
            return Ok(());
        };
        self.maker.load_frame(buffer)?;
        match &mut self.timeline {
            Some(timeline) => timeline.advance(time),
            None => self.timeline = Some(Timeline::new(self.input, output, retiming, time)),
        }
        Ok(())
    }

    /// Lets `buffer` go downstream as it is, but for its time.
    pub fn pass(&mut self, mut buffer: gst::Buffer, retiming: &Retiming) {
        if !retiming.is_identity() {
            let time = |time| retime::output(time, retiming);
            let (pts, dts, duration) = (buffer.pts(), buffer.dts(), buffer.duration());
            let buffer = buffer.make_mut();
            buffer.set_pts(pts.map(time));
            buffer.set_dts(dts.map(time));
            buffer.set_duration(duration.map(|duration| retime::divided(duration, retiming.speed())));
        }
        self.passing = Some(buffer);
    }

    pub fn take_passing(&mut self) -> Option<gst::Buffer> {
        self.passing.take()
    }

    /// The next output frame that is not later than the newest frame that does not wait; or, with `end`, that the last frame
    /// of the sequence is shown in until it ends.
    pub fn pop(&mut self, end: Option<u64>) -> Option<OutputFrame> {
        let timeline = self.timeline.as_mut()?;
        let frame = match end {
            None => timeline.pop(),
            Some(end) => timeline.pop_before(end),
        };
        if frame.is_none() {
            self.maker.release();
        }
        frame
    }

    /// Makes the frame at `phase` between the two newest frames in `out`.
    ///
    /// # Errors
    /// As [`Maker::make`].
    pub fn make(&mut self, phase: Phase, out: &mut gst::BufferRef) -> Result<(), MakeError> {
        let upcoming = self.timeline.as_ref().and_then(Timeline::upcoming);
        self.maker.make(phase, upcoming, out)
    }

    /// What `frame` shows.
    pub fn shown(
        &self,
        frame: &OutputFrame,
        mode: MotionInterpolateMode,
        scene_cut: MotionInterpolateSceneCut,
    ) -> Option<Shown> {
        let (buffer, repeated) = match frame.place {
            FramePlace::Previous => (self.maker.previous(), Some(false)),
            FramePlace::Next => (self.maker.next(), None),
            FramePlace::Between(phase) => match self.maker.decide(mode, scene_cut, phase) {
                (Decision::Make, _) => return Some(Shown::ToMake),
                (Decision::RepeatPrevious, is_cut) => (self.maker.previous(), Some(is_cut)),
                (Decision::RepeatNext, is_cut) => (self.maker.next(), Some(is_cut)),
            },
        };
        // The copy shares the memory.
        let mut buffer = buffer?.copy();
        // Its neighbours are others now.
        if meta::is_attached(&buffer) {
            meta::remove(buffer.make_mut());
        }
        Some(match repeated {
            None => Shown::Input(buffer),
            Some(is_cut) => Shown::Repeated { buffer, is_cut },
        })
    }

    /// Gives `buffer` the time of `frame`.
    pub fn stamp(&mut self, buffer: &mut gst::BufferRef, frame: &OutputFrame) {
        buffer.set_pts(video::time(frame.time));
        buffer.set_dts(gst::ClockTime::NONE);
        buffer.set_duration(video::time(frame.duration));
        buffer.set_offset(self.sent);
        self.sent += 1;
        buffer.set_offset_end(self.sent);
        if std::mem::take(&mut self.is_discont) {
            buffer.set_flags(gst::BufferFlags::DISCONT);
        } else {
            buffer.unset_flags(gst::BufferFlags::DISCONT);
        }
    }

    /// Makes the next frame the first of a sequence. `is_discont`: time is missing before it.
    pub fn forget(&mut self, is_discont: bool) {
        self.is_discont |= is_discont;
        self.waiting.clear();
        self.timeline = None;
        self.duration = None;
        self.maker.forget();
    }
}

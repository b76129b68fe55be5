//! The frames of a stream from one caps to the next: when output frames are, and what they show.

use std::collections::VecDeque;
use std::time::Instant;

use gst_video::VideoInfo;

use super::maker::{Decision, MakeError, Maker};
use super::retime;
use super::settings::InterpolationSettings;
use super::statistics::{Counts, OutputKind};
use super::timeline::{FramePlace, OutputFrame, Ratio, Retiming, Timeline};
use crate::video::pool::{self, HeldBuffers};
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

/// What an output frame shows.
pub enum Shown {
    /// An input frame.
    Input(gst::Buffer, OutputKind),
    /// The moment at a phase between two: a frame that is to be made.
    Between(Phase),
}

/// How a sequence ends.
#[derive(Clone, Copy)]
struct Ending {
    /// Until when its last frame is shown, in nanoseconds of the input, if that is known.
    end: Option<u64>,
    /// Whether time is missing before the next frame.
    is_discont: bool,
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
    pub held: HeldBuffers,
    /// The duration of the newest frame.
    duration: Option<u64>,
    /// Once no more frames of the sequence come.
    ending: Option<Ending>,
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
            held: HeldBuffers::default(),
            timeline: None,
            duration: None,
            ending: None,
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

    /// Whether a frame at `time` begins another sequence because it is too far from the frame before.
    pub fn is_too_far(&self, time: u64) -> bool {
        self.newest().is_some_and(|newest| Timeline::is_too_far(self.input, time.saturating_sub(newest)))
    }

    /// When the newest frame of the sequence ends, if that is known.
    fn end(&self) -> Option<u64> {
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
        self.held.note(&buffer);
        self.maker.start_search(&buffer)?;
        self.waiting.push_back((buffer, time));
        Ok(())
    }

    /// Goes on to the first frame that waits.
    ///
    /// # Errors
    /// As [`Maker::load_frame`].
    fn advance(&mut self, retiming: &Retiming) -> Result<(), MakeError> {
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

    /// No more frames of the sequence come: its last one is shown until it ends, at most until `limits`, in nanoseconds of
    /// the input. `is_discont`: time is missing behind it.
    pub fn expect_no_more(&mut self, limits: [Option<u64>; 2], is_discont: bool) {
        let end = self.end().map(|end| limits.into_iter().flatten().fold(end, u64::min));
        self.ending = Some(Ending { end, is_discont });
    }

    /// The next output frame, if it is not later than the newest frame that need not wait: at most `keep` wait, fewer if
    /// upstream lacks buffers. After the last one, once no more frames come, those that show the last input frame until it
    /// ends; `true` for them.
    ///
    /// # Errors
    /// As [`Maker::load_frame`].
    pub fn due(
        &mut self,
        keep: usize,
        retiming: &Retiming,
        counts: &mut Counts,
    ) -> Result<Option<(OutputFrame, bool)>, MakeError> {
        loop {
            if let Some(frame) = self.timeline.as_mut().and_then(Timeline::pop) {
                return Ok(Some((frame, false)));
            }
            self.maker.release();
            // The frame before those that wait is held too.
            if self.waiting.len() <= keep.min(self.held.most().saturating_sub(1)) {
                break;
            }
            let began = Instant::now();
            let advanced = self.advance(retiming);
            counts.loading += began.elapsed();
            advanced?;
        }
        let (Some(Ending { end: Some(end), .. }), Some(timeline)) = (self.ending, &mut self.timeline) else {
            return Ok(None);
        };
        Ok(timeline.pop_before(end).map(|frame| (frame, true)))
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
    pub fn shown(&self, frame: &OutputFrame, settings: &InterpolationSettings) -> Option<Shown> {
        let repeated = |is_cut| if is_cut { OutputKind::SceneCut } else { OutputKind::Repeated };
        let (buffer, kind) = match frame.place {
            FramePlace::Previous => (self.maker.previous(), OutputKind::Repeated),
            FramePlace::Next => (self.maker.next(), OutputKind::Passed),
            FramePlace::Between(phase) => match self.maker.decide(settings.mode, settings.scene_cut, phase) {
                (Decision::Make, _) => return Some(Shown::Between(phase)),
                (Decision::RepeatPrevious, is_cut) => (self.maker.previous(), repeated(is_cut)),
                (Decision::RepeatNext, is_cut) => (self.maker.next(), repeated(is_cut)),
            },
        };
        // The copy shares the memory.
        let mut buffer = buffer?.copy();
        // Its neighbours are others now.
        if meta::is_attached(&buffer) {
            meta::remove(buffer.make_mut());
        }
        Some(Shown::Input(buffer, kind))
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

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        self.waiting.iter_mut().for_each(|(buffer, _)| pool::release(buffer));
        self.maker.release_buffers();
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.is_discont |= self.ending.take().is_some_and(|ending| ending.is_discont);
        self.waiting.clear();
        self.timeline = None;
        self.duration = None;
        self.maker.forget();
    }

    /// Drops what has not left, and makes the next frame the first of a sequence.
    pub fn discard(&mut self) {
        self.passing = None;
        self.ending = None;
        self.forget();
    }

    /// As [`Self::discard`], after an error: time is missing.
    pub fn fail(&mut self) {
        self.is_discont = true;
        self.forget();
    }
}

/// What is done from start to stop.
pub struct InterpolateState {
    pub stream: Option<InterpolateStream>,
    /// The settings that hold for the current buffer.
    pub settings: InterpolationSettings,
    pub counts: Counts,
    /// The segment of the output.
    pub segment: gst::FormattedSegment<gst::ClockTime>,
    /// The segment of the input, in nanoseconds.
    pub start: u64,
    pub stop: Option<u64>,
    pub retiming: Retiming,
}

impl Default for InterpolateState {
    fn default() -> Self {
        Self {
            stream: None,
            settings: InterpolationSettings::default(),
            counts: Counts::default(),
            segment: gst::FormattedSegment::new(),
            start: 0,
            stop: None,
            retiming: Retiming::new(Ratio::ONE),
        }
    }
}

//! What is decided about input frames and output frames.

use super::planes::InputFrame;
use super::statistics::OutputKind;
use super::timeline::{Interval, OutputFrame};
use motion_frames::interpolation::Phase;

/// Longer pauses than this, in nanoseconds, are not filled.
pub const LONGEST_PAUSE: u64 = 3_600_000_000_000;

/// The earlier of two times, of which the second may be unknown.
pub fn earlier(time: u64, other: Option<u64>) -> u64 {
    other.map_or(time, |other| time.min(other))
}

/// What an output frame shows.
pub enum Shown {
    /// An input frame at its time.
    Untouched(gst::Buffer),
    /// An input frame, whose times are to be set.
    Input(gst::Buffer, OutputKind),
    /// The moment at a phase between two: a frame that is to be made.
    Between(Phase),
}

/// What comes before a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The frame before it, without an interruption, or none.
    Frame,
    /// The frame before it, but content is missing between the two.
    Hole,
    /// Frames at other times: it is not after the one before, or longer after it than any pause that is filled.
    Jump,
}

/// A frame that has left, in nanoseconds of the output.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    pub time: u64,
    /// When it ends, if that is known.
    pub end: Option<u64>,
}

impl SentFrame {
    /// When it ends, if the next one is at `next`.
    pub fn end_before(&self, next: u64) -> u64 {
        self.end.filter(|&end| end > self.time).map_or(next, |end| end.min(next))
    }

    /// The same with times that are `shift` nanoseconds larger.
    pub fn shifted(&self, shift: i128) -> Self {
        let shifted = |time: u64| u64::try_from((i128::from(time) + shift).max(0)).unwrap_or(u64::MAX);
        Self { time: shifted(self.time), end: self.end.map(shifted) }
    }
}

/// The output frames up to an input frame, and the segment of those that follow if it is another one.
pub struct Planned {
    pub interval: Interval,
    /// Nanoseconds of the input from the frame before.
    pub length: u64,
    /// Whether nothing is made, because it would be too late.
    pub is_late: bool,
    pub segment: Option<gst::Event>,
}

/// A frame that is searched ahead.
pub struct QueuedFrame {
    pub frame: InputFrame,
    pub planned: Planned,
    /// Whether the motion between the frame before and this one is searched.
    pub is_searched: bool,
    /// The metadata of frames between the two that were dropped.
    pub dropped: Vec<gst::Buffer>,
}

/// Why a buffer cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Nothing says when the frame is.
    #[error(
        "A frame has no timestamp, and neither a frame rate nor durations tell its time: set the frame rate before \
         motioninterpolate, for example by capssetter caps=video/x-raw,framerate=25/1"
    )]
    Unknown,
}

/// What leaves next.
pub enum Due {
    Frame(OutputFrame),
    Segment(gst::Event),
}

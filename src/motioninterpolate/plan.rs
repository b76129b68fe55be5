//! What is decided about input frames and output frames.

use super::statistics::OutputKind;
use super::timeline::{Interval, OutputFrame};
use motion_search::interpolation::Phase;

/// Longer pauses than this, in nanoseconds, are not filled.
pub const LONGEST_PAUSE: u64 = 3_600_000_000_000;

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
    pub buffer: gst::Buffer,
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

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
    /// Whether nothing is made, because it would be too late.
    pub is_late: bool,
    pub segment: Option<gst::Event>,
}

/// What leaves next.
pub enum Due {
    Frame(OutputFrame),
    Segment(gst::Event),
}

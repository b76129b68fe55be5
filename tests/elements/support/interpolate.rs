//! Frames to push, and what comes out.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

pub use super::{
    ElementBus, Rate, address, bytes, end, error_text, pull, push, samples, samples_of, video_at as video,
};
pub(crate) use crate::init;

pub const SIZE: (u32, u32) = (13, 7);

pub const SECOND: u64 = 1_000_000_000;

pub fn i420(rate: Rate) -> VideoInfo {
    video(VideoFormat::I420, SIZE, rate)
}

/// A harness around `launch` between frames of `info` and frames at `rate`.
pub fn harness(launch: &str, info: &VideoInfo, (n, d): Rate) -> Harness {
    let mut harness = Harness::new_parse(launch);
    harness.set_src_caps(info.to_caps().expect("caps"));
    harness.set_sink_caps_str(&format!("video/x-raw,framerate={n}/{d}"));
    harness
}

/// The harness that most tests need.
pub fn blending(input: Rate, output: Rate) -> Harness {
    harness("motioninterpolate mode=blend", &i420(input), output)
}

pub fn element(harness: &Harness) -> gst::Element {
    super::element_of(harness, "motioninterpolate")
}

pub fn count(harness: &Harness, field: &str) -> u64 {
    super::count_of(&element(harness), field)
}

pub fn bus(harness: &Harness) -> ElementBus {
    ElementBus::new(element(harness))
}

pub fn stats(harness: &Harness) -> gst::Structure {
    element(harness).property("stats")
}

/// The time of frame `number` at `rate`, rounded down.
pub fn time((n, d): Rate, number: u64) -> u64 {
    (u128::from(number) * u128::from(SECOND) * d as u128 / n as u128) as u64
}

/// The byte at `index` of frame `number`: noise.
fn noise(number: u64, index: usize) -> u8 {
    let mixed =
        (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 56) as u8
}

/// Frame `number` at `pts`.
pub fn frame_at(info: &VideoInfo, number: u64, pts: impl Into<Option<u64>>) -> gst::Buffer {
    let bytes: Vec<_> = (0..info.size()).map(|index| noise(number, index)).collect();
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    buffer.make_mut().set_pts(pts.into().map(gst::ClockTime::from_nseconds));
    buffer
}

/// Frame `number` at its time, with its duration.
pub fn frame(info: &VideoInfo, rate: Rate, number: u64) -> gst::Buffer {
    let (pts, end) = (time(rate, number), time(rate, number + 1));
    let mut buffer = frame_at(info, number, pts);
    buffer.make_mut().set_duration(gst::ClockTime::from_nseconds(end - pts));
    buffer
}

/// Pushes the frames of these numbers.
pub fn push_all(harness: &mut Harness, rate: Rate, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        push(harness, frame(&i420(rate), rate, number));
    }
}

/// All events that have come out since the previous call, but latency and what starts a stream.
pub fn events(harness: &mut Harness) -> Vec<gst::Event> {
    std::iter::from_fn(|| harness.try_pull_event()).collect()
}

pub fn pts(buffer: &gst::BufferRef) -> u64 {
    buffer.pts().expect("a timestamp").nseconds()
}

/// The timestamps of `buffers` in milliseconds, rounded down.
pub fn milliseconds(buffers: &[gst::Buffer]) -> Vec<u64> {
    buffers.iter().map(|buffer| pts(buffer) / 1_000_000).collect()
}

pub fn is_discont(buffer: &gst::BufferRef) -> bool {
    buffer.flags().contains(gst::BufferFlags::DISCONT)
}

/// The numbers of the frames that `buffers` show; `None` for those that were made.
pub fn shown(buffers: &[gst::Buffer], rate: Rate) -> Vec<Option<u64>> {
    let info = i420(rate);
    let known: Vec<_> = (0..64).map(|number| bytes(&frame_at(&info, number, 0))).collect();
    let number = |buffer: &gst::Buffer| known.iter().position(|known| *known == bytes(buffer));
    buffers.iter().map(|buffer| number(buffer).map(|number| number as u64)).collect()
}

pub fn segment(start: u64) -> gst::FormattedSegment<gst::ClockTime> {
    let mut segment = gst::FormattedSegment::new();
    segment.set_start(gst::ClockTime::from_nseconds(start));
    segment.set_time(gst::ClockTime::from_nseconds(start));
    segment
}

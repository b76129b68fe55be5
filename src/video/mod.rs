//! What the elements share: formats and planes of raw video, buffers and their pools, frames that wait and what ends their
//! sequence, latency.

#[cfg(feature = "cuda")]
pub mod cuda;
pub mod frame;
pub mod interrupt;
pub mod latency;
pub mod memory;
pub mod pool;
pub mod sequence;
pub mod stall;
pub mod times;
pub mod waiting;

use std::ops::RangeInclusive;

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo, VideoMultiviewMode};

pub use gst_motion_fields::frame::sample_format;
use motion_search::estimator::Parameters;

/// Formats with luma of eight bits in the first plane, and chroma, if any, of half as many rows in other planes.
const FORMATS: [VideoFormat; 5] =
    [VideoFormat::Gray8, VideoFormat::I420, VideoFormat::Yv12, VideoFormat::Nv12, VideoFormat::Nv21];

/// Such formats with more rows of chroma.
const FULL_FORMATS: [VideoFormat; 2] = [VideoFormat::Y42b, VideoFormat::Y444];

/// Such formats with more bits, in two bytes a sample.
const DEEP_FORMATS: [VideoFormat; 8] = [
    VideoFormat::I42010le,
    VideoFormat::P01010le,
    VideoFormat::I42210le,
    VideoFormat::Y44410le,
    VideoFormat::I42012le,
    VideoFormat::I42212le,
    VideoFormat::Y44412le,
    VideoFormat::Gray16Le,
];

/// The sides of frames, in samples.
pub const SIDES: RangeInclusive<i32> = 1..=Parameters::MAX_FRAME_SIDE as i32;

/// The caps of frames whose motion can be estimated and compensated.
///
/// Frame rate and interlacing are not listed, because negotiation would then add them to caps that
/// do not have them. `interlace-mode=alternate` needs a caps feature and therefore does not match.
///
/// A source that can produce any format, such as `videotestsrc`, chooses one of the first structure: eight bits are searched
/// faster. Of formats that lose the same of what comes, `videoconvert` chooses the first one: where sixteen bits with full chroma
/// come, one of the deep formats.
pub fn caps() -> gst::Caps {
    let mut caps = caps_of(&FORMATS);
    caps.merge(caps_of(&DEEP_FORMATS));
    caps.merge(caps_of(&FULL_FORMATS));
    caps
}

/// The caps of frames of these `formats`, of any size that is searched.
pub fn caps_of(formats: &[VideoFormat]) -> gst::Caps {
    gst_video::VideoCapsBuilder::for_encoding("video/x-raw")
        .format_list(formats.iter().copied())
        .width_range(SIDES)
        .height_range(SIDES)
        .build()
}

/// The templates of an element with the two always pads `sink` and `src`.
pub fn pad_templates(sink: &gst::Caps, src: &gst::Caps) -> Vec<gst::PadTemplate> {
    [("sink", gst::PadDirection::Sink, sink), ("src", gst::PadDirection::Src, src)]
        .map(|(name, direction, caps)| {
            gst::PadTemplate::new(name, direction, gst::PadPresence::Always, caps)
                .expect("a name and caps are a valid template")
        })
        .into()
}

/// The duration of `count` frames, rounded up; zero if `info` has no frame rate.
pub fn duration_of_frames(info: &VideoInfo, count: usize) -> gst::ClockTime {
    let (frames, seconds) = (u64::try_from(info.fps().numer()), u64::try_from(info.fps().denom()));
    let (Ok(frames @ 1..), Ok(seconds)) = (frames, seconds) else { return gst::ClockTime::ZERO };
    gst::ClockTime::SECOND.mul_div_ceil(count as u64 * seconds, frames).unwrap_or(gst::ClockTime::ZERO)
}

/// The time of so many nanoseconds; the last one there is, if there is none.
pub fn time(nanoseconds: u64) -> gst::ClockTime {
    gst::ClockTime::from_nseconds(nanoseconds.min(gst::ClockTime::MAX.nseconds()))
}

/// The frames that `caps` describe.
///
/// # Errors
/// If they are not of raw video; logged in `category`.
pub fn info_of(caps: &gst::Caps, category: gst::DebugCategory) -> Result<VideoInfo, gst::LoggableError> {
    VideoInfo::from_caps(caps).map_err(|_| gst::loggable_error!(category, "Not raw video: {caps}"))
}

/// Why frames of `info` cannot be mixed with each other along motion, if that is so.
pub fn obstacle(info: &VideoInfo) -> Option<&'static str> {
    if info.is_interlaced() {
        Some("Interlaced frames show two moments each, which have no common motion: put deinterlace before")
    } else if info.multiview_mode() == VideoMultiviewMode::FrameByFrame {
        Some(
            "Frames of the left and the right eye in turn have no common motion: pack them side by side before, for \
             example by glviewconvert",
        )
    } else {
        None
    }
}

/// The error message for the bus about a buffer that came before its caps.
pub fn no_caps_message() -> gst::ErrorMessage {
    gst::error_msg!(gst::CoreError::Negotiation, ["A buffer came before its caps"])
}

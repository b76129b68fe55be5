//! What the elements share of raw video: the formats, and the pads that take them.

pub mod frame;

use gst_video::VideoFormat;

/// Formats with 8-bit luma in their first plane, and chroma, if any, in planes of its own.
const FORMATS: [VideoFormat; 7] = [
    VideoFormat::Gray8,
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
];

/// Frames whose motion can be estimated and compensated.
///
/// Neither the frame rate nor the interlacing is restricted: named here, they would be added to
/// caps that leave them out. Fields in buffers of their own are no plain system memory but have a
/// caps feature, and do not match.
pub fn caps() -> gst::Caps {
    gst_video::VideoCapsBuilder::for_encoding("video/x-raw")
        .format_list(FORMATS)
        .width_range(1..)
        .height_range(1..)
        .build()
}

/// The templates of an element with one pad each way, `sink` and `src`, that are always there.
pub fn pad_templates(sink: &gst::Caps, src: &gst::Caps) -> Vec<gst::PadTemplate> {
    [("sink", gst::PadDirection::Sink, sink), ("src", gst::PadDirection::Src, src)]
        .map(|(name, direction, caps)| {
            gst::PadTemplate::new(name, direction, gst::PadPresence::Always, caps)
                .expect("a template needs a name and caps alone")
        })
        .into()
}

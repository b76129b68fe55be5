//! The formats of video that the elements take, written down a second time.

use gst_video::VideoFormat;

/// Every one of them.
pub const FORMATS: [VideoFormat; 15] = [
    VideoFormat::Gray8,
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
    VideoFormat::I42010le,
    VideoFormat::P01010le,
    VideoFormat::I42210le,
    VideoFormat::Y44410le,
    VideoFormat::I42012le,
    VideoFormat::I42212le,
    VideoFormat::Y44412le,
    VideoFormat::Gray16Le,
];

/// Bits of a luma sample of `format`, and the bits below it.
pub fn depth_and_shift(format: VideoFormat) -> (u32, u32) {
    match format {
        VideoFormat::P01010le => (10, 6),
        VideoFormat::I42010le | VideoFormat::I42210le | VideoFormat::Y44410le => (10, 0),
        VideoFormat::I42012le | VideoFormat::I42212le | VideoFormat::Y44412le => (12, 0),
        VideoFormat::Gray16Le => (16, 0),
        _ => (8, 0),
    }
}

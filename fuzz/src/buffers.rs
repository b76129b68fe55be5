//! Buffers that hold a frame, or less than their caps and metas promise.

use gst_video::{VideoFormat, VideoInfo};
use motion_search::estimator::Frame;

use crate::plan::Plan;
use test_support::gstreamer::formats::{FORMATS, depth_and_shift};

/// Video of one of `formats`, of at most `most` samples on each axis.
pub fn video(plan: &mut Plan<'_>, formats: &[VideoFormat], most: u32) -> VideoInfo {
    let (format, width, height) = (plan.one_of(formats), plan.number(1..=most), plan.number(1..=most));
    let rate = plan.one_of(&[(25, 1), (0, 1), (30000, 1001), (1, i32::MAX), (i32::MAX, 1)]);
    let builder = VideoInfo::builder(format, width, height).fps(gst::Fraction::new(rate.0, rate.1));
    builder.build().expect("video of a small size")
}

/// A buffer, and what is known of it.
pub struct Made {
    pub buffer: gst::Buffer,
    /// Whether it holds the frame of its caps.
    pub is_sound: bool,
    /// Where its luma plane begins, and the bytes between its rows.
    luma: (usize, i64),
}

/// The bytes of frame `time`: texture that moves, with noise.
fn content(plan: &mut Plan<'_>, length: usize, time: u64) -> Vec<u8> {
    let (seed, moved) = (plan.number(0..=255u64), plan.number(0..=9u64));
    let byte = |index: usize| {
        let index = index as u64 + time * moved;
        let grain = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed << 32) >> 60;
        (index / 3 * 67 % 200) as u8 + grain as u8
    };
    match plan.number(0..=4u8) {
        0 => vec![seed as u8; length],
        1 => plan.bytes(length),
        _ => (0..length).map(byte).collect(),
    }
}

/// Attaches a `GstVideoMeta` as it is: the safe function refuses one that makes no sense.
fn add_video_meta(
    buffer: &mut gst::Buffer,
    (format, width, height): (VideoFormat, u32, u32),
    offsets: &[usize],
    strides: &[i32],
) {
    use glib::translate::IntoGlib;

    let planes = offsets.len().min(strides.len()).min(4);
    let (mut four_offsets, mut four_strides) = ([0; 4], [0; 4]);
    four_offsets[..planes].copy_from_slice(&offsets[..planes]);
    four_strides[..planes].copy_from_slice(&strides[..planes]);
    // SAFETY: the buffer is writable, and both lists have at least `planes` numbers, which are copied.
    unsafe {
        gst_video::ffi::gst_buffer_add_video_meta_full(
            buffer.make_mut().as_mut_ptr(),
            0,
            format.into_glib(),
            width,
            height,
            planes as u32,
            &four_offsets,
            &four_strides,
        );
    }
}

/// The rows of each plane.
fn plane_heights(info: &VideoInfo) -> Vec<usize> {
    let format = info.format_info();
    let height = |plane| {
        let component = format.plane().iter().position(|&of| of == plane).unwrap_or(0) as u8;
        format.scale_height(component, info.height()) as usize
    };
    (0..info.n_planes()).map(height).collect()
}

/// `bytes` as a buffer of one memory, or of several that end at `ends`.
fn of_memories(bytes: &[u8], ends: &[usize]) -> gst::Buffer {
    let mut buffer = gst::Buffer::new();
    let mut begin = 0;
    for &end in ends.iter().chain([&bytes.len()]) {
        let memory = gst::Memory::from_mut_slice(bytes[begin.min(end)..end].to_vec());
        buffer.make_mut().append_memory(memory);
        begin = end;
    }
    buffer
}

/// Frame `time` of `info`: often in a buffer that holds it, in any of the ways that GStreamer has for that.
pub fn made(plan: &mut Plan<'_>, info: &VideoInfo, time: u64) -> Made {
    let plain = (info.offset()[0], i64::from(info.stride()[0]));
    match plan.number(0..=5u8) {
        0 | 1 => {
            let bytes = content(plan, info.size(), time);
            Made { buffer: gst::Buffer::from_mut_slice(bytes), is_sound: true, luma: plain }
        }
        2 => {
            let bytes = content(plan, info.size(), time);
            let mut ends: Vec<_> = (0..plan.number(1..=5u8)).map(|_| plan.number(0..=bytes.len())).collect();
            ends.sort_unstable();
            Made { buffer: of_memories(&bytes, &ends), is_sound: true, luma: plain }
        }
        3 => padded(plan, info, time),
        _ => hostile(plan, info, time),
    }
}

/// A frame with gaps before planes and between rows, in one memory or a memory for each plane.
fn padded(plan: &mut Plan<'_>, info: &VideoInfo, time: u64) -> Made {
    let (mut offsets, mut strides, mut ends, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (plane, height) in plane_heights(info).into_iter().enumerate() {
        ends.push(end);
        let (before, pad) = (plan.number(0..=9usize), plan.number(0..=9));
        let stride = info.stride()[plane] + pad;
        offsets.push(end + before);
        strides.push(stride);
        end += before + stride as usize * height;
    }
    let bytes = content(plan, end, time);
    if plan.once_in(2) {
        ends.clear();
    }
    let mut buffer = of_memories(&bytes, &ends);
    add_video_meta(&mut buffer, (info.format(), info.width(), info.height()), &offsets, &strides);
    Made { buffer, is_sound: true, luma: (offsets[0], i64::from(strides[0])) }
}

/// A buffer of any size, with a `GstVideoMeta` that may say anything.
fn hostile(plan: &mut Plan<'_>, info: &VideoInfo, time: u64) -> Made {
    let length = match plan.number(0..=3u8) {
        0 => info.size() - plan.number(1..=info.size()),
        1 => plan.number(0..=64),
        _ => info.size() + plan.number(0..=64usize),
    };
    let bytes = content(plan, length, time);
    let ends = if plan.once_in(3) { vec![plan.number(0..=length)] } else { Vec::new() };
    let mut buffer = if plan.once_in(9) { gst::Buffer::new() } else { of_memories(&bytes, &ends) };
    if plan.once_in(6) && buffer.size() > 0 {
        // Memory from the middle of memory.
        let begin = plan.number(0..=buffer.size() - 1);
        let kept = plan.number(1..=buffer.size() - begin);
        buffer =
            buffer.copy_region(gst::BufferCopyFlags::all(), begin..begin + kept).expect("a part of a buffer");
    }
    let mut luma = (info.offset()[0], i64::from(info.stride()[0]));
    if plan.once_in(2) {
        let any_offset = |plan: &mut Plan<'_>, plane: usize| match plan.number(0..=4u8) {
            0 => plan.any_u64() as usize,
            1 => plan.number(0..=length),
            _ => info.offset()[plane],
        };
        let any_stride = |plan: &mut Plan<'_>, plane: usize| match plan.number(0..=4u8) {
            0 => plan.any_u32() as i32,
            1 => plan.number(-8..=80),
            _ => info.stride()[plane],
        };
        let planes = if plan.once_in(12) { plan.number(0..=4) } else { info.n_planes() as usize };
        let of_frame = planes.min(info.n_planes() as usize);
        let mut offsets: Vec<_> = (0..of_frame).map(|plane| any_offset(plan, plane)).collect();
        let mut strides: Vec<_> = (0..of_frame).map(|plane| any_stride(plan, plane)).collect();
        offsets.resize(planes, 0);
        strides.resize(planes, 0);
        let format = if plan.once_in(12) { plan.one_of(&FORMATS) } else { info.format() };
        let side = |plan: &mut Plan<'_>, side| if plan.once_in(12) { plan.any_u32() } else { side };
        let size = (side(plan, info.width()), side(plan, info.height()));
        add_video_meta(&mut buffer, (format, size.0, size.1), &offsets, &strides);
        luma =
            (offsets.first().copied().unwrap_or(0), strides.first().map_or(0, |&stride| i64::from(stride)));
    }
    Made { buffer, is_sound: false, luma }
}

impl Made {
    /// `buffer`, whose planes lie as `info` says.
    pub fn plain(buffer: gst::Buffer, info: &VideoInfo) -> Self {
        Self { buffer, is_sound: true, luma: (info.offset()[0], i64::from(info.stride()[0])) }
    }

    /// The luma plane of `info` in this buffer, read here byte by byte; `None` if it is not there. Deeper samples as they are,
    /// or, with `is_upper`, their upper eight bits.
    pub fn luma(&self, info: &VideoInfo, is_upper: bool) -> Option<Frame> {
        let mut bytes = Vec::new();
        for memory in self.buffer.iter_memories() {
            bytes.extend_from_slice(&memory.map_readable().ok()?);
        }
        let (depth, shift) = depth_and_shift(info.format());
        let sample_bytes = if depth > 8 { 2 } else { 1 };
        let (begin, stride) = self.luma;
        let (width, height) = (info.width() as usize, info.height() as usize);
        let stride = usize::try_from(stride).ok()?;
        let end = begin.checked_add(stride.checked_mul(height - 1)?)?.checked_add(width * sample_bytes)?;
        if stride < width * sample_bytes || end > bytes.len() {
            return None;
        }
        let value = |x: usize, y: usize| {
            let at = begin + y * stride + x * sample_bytes;
            match depth {
                8 => u16::from(bytes[at]),
                _ => (u16::from_le_bytes([bytes[at], bytes[at + 1]]) >> shift) & (u16::MAX >> (16 - depth)),
            }
        };
        Some(match depth {
            8 => Frame::from_fn(width, height, |x, y| value(x, y) as u8),
            _ if is_upper => Frame::from_fn(width, height, |x, y| (value(x, y) >> (depth - 8)) as u8),
            _ => Frame::deep_from_fn(width, height, depth, value),
        })
    }
}

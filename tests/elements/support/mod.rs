//! What tests of the elements share: video, harnesses, buffers that go in and come out. A file for each element has the frames
//! that it gets, and what must become of them.

pub mod compensate;
pub mod denoise;
pub mod estimate;
pub mod interpolate;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use motion_frames::compensation::Sampling;
use motion_search::estimator::{Frame, FrameView, SampleFormat};
use test_support::gstreamer::formats::depth_and_shift;

pub use test_support::gstreamer::ElementBus;

pub(crate) use crate::init;

/// A frame rate.
pub type Rate = (i32, i32);

/// Video of `format` at this rate.
pub fn video_at(format: VideoFormat, (width, height): (u32, u32), (n, d): Rate) -> VideoInfo {
    init();
    VideoInfo::builder(format, width, height).fps(gst::Fraction::new(n, d)).build().expect("video info")
}

/// Video of `format`, 25 frames a second.
pub fn info(format: VideoFormat, size: (u32, u32)) -> VideoInfo {
    video_at(format, size, (25, 1))
}

/// The element in a harness whose name begins so.
pub fn element_of(harness: &Harness, name: &str) -> gst::Element {
    let element = harness.element().expect("an element");
    match element.downcast::<gst::Bin>() {
        Ok(bin) => {
            let is_wanted = |element: &gst::Element| element.name().starts_with(name);
            bin.children().into_iter().find(is_wanted).expect("the element")
        }
        Err(element) => element,
    }
}

/// A number of the statistics of `element`.
pub fn count_of(element: &gst::Element, field: &str) -> u64 {
    let stats: gst::Structure = element.property("stats");
    stats.get(field).unwrap_or_else(|error| panic!("{field}: {error}"))
}

pub fn push(harness: &mut Harness, buffer: gst::Buffer) {
    assert_eq!(harness.push(buffer), Ok(gst::FlowSuccess::Ok));
}

pub fn end(harness: &mut Harness) {
    assert!(harness.push_event(gst::event::Eos::new()));
}

/// All buffers that have come out.
pub fn pull(harness: &mut Harness) -> Vec<gst::Buffer> {
    std::iter::from_fn(|| harness.try_pull()).collect()
}

/// All bytes of a buffer, of which those between rows may be anything.
pub fn bytes(buffer: &gst::BufferRef) -> Vec<u8> {
    buffer.map_readable().expect("readable").to_vec()
}

/// The address of the samples.
pub fn address(buffer: &gst::BufferRef) -> usize {
    buffer.map_readable().expect("readable").as_ptr() as usize
}

/// The text of an error message.
pub fn error_text(message: &gst::Message) -> String {
    match message.view() {
        gst::MessageView::Error(error) => error.error().to_string(),
        _ => panic!("no error but {message:?}"),
    }
}

/// How samples of `format` lie in memory.
pub fn sample_format(format: VideoFormat) -> SampleFormat {
    let (depth, shift) = depth_and_shift(format);
    SampleFormat::new(depth, shift).unwrap()
}

/// Written down here a second time, format by format.
pub fn samplings(format: VideoFormat) -> Vec<Sampling> {
    let halved = |halved_x, halved_y, interleaved| Sampling { halved_x, halved_y, interleaved };
    match format {
        VideoFormat::Gray8 | VideoFormat::Gray16Le => vec![Sampling::LUMA],
        VideoFormat::I420 | VideoFormat::Yv12 | VideoFormat::I42010le | VideoFormat::I42012le => {
            vec![Sampling::LUMA, halved(true, true, false), halved(true, true, false)]
        }
        VideoFormat::Nv12 | VideoFormat::Nv21 | VideoFormat::P01010le => {
            vec![Sampling::LUMA, halved(true, true, true)]
        }
        VideoFormat::Y42b | VideoFormat::I42210le | VideoFormat::I42212le => {
            vec![Sampling::LUMA, halved(true, false, false), halved(true, false, false)]
        }
        VideoFormat::Y444 | VideoFormat::Y44410le | VideoFormat::Y44412le => vec![Sampling::LUMA; 3],
        other => panic!("{other} is not tested"),
    }
}

/// The planes of the frame in `buffer`: those of packed formats have the samples of all their components in turn.
pub fn read(info: &VideoInfo, buffer: &gst::BufferRef) -> Vec<Frame> {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let format = info.format_info();
    let samples = SampleFormat::new(format.depth()[0], format.shift()[0]).unwrap();
    let plane = |plane: usize| {
        let component = format.plane().iter().position(|&other| other as usize == plane).unwrap();
        let in_a_pixel = format.pixel_stride()[component] as usize / samples.bytes();
        let width = format.scale_width(component as u8, info.width()) as usize * in_a_pixel;
        let height = format.scale_height(component as u8, info.height()) as usize;
        let (data, stride) = (frame.plane_data(plane as u32).unwrap(), frame.plane_stride()[plane] as usize);
        let view = FrameView::with_format(data, (width, height), stride, samples).unwrap();
        Frame::deep_from_fn(width, height, samples.depth(), |x, y| view.sample(x as i32, y as i32))
    };
    (0..info.n_planes() as usize).map(plane).collect()
}

/// All samples of the frame in `buffer`, plane by plane and row by row.
pub fn samples(buffer: &gst::BufferRef, info: &VideoInfo) -> Vec<u32> {
    samples_of(&read(info, buffer))
}

/// All samples of `planes`, plane by plane and row by row.
pub fn samples_of(planes: &[Frame]) -> Vec<u32> {
    let of_plane = |plane: &Frame| -> Vec<u32> {
        let (view, (width, height)) = (plane.view(), plane.size());
        let positions = (0..height).flat_map(|y| (0..width).map(move |x| (x as i32, y as i32)));
        positions.map(|(x, y)| view.sample(x, y).into()).collect()
    };
    planes.iter().flat_map(of_plane).collect()
}

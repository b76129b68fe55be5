//! Frames to push, what comes out, and what the oracle makes of them.

use std::sync::Arc;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use motion_search::compensation::Sampling;
use motion_search::denoising::{LumaSlot, NoiseMap, Reference, Strength, oracle, search_parameters};
use motion_search::estimator::{Frame, References, SampleFormat, oracle as search};

pub use test_support::gstreamer::ElementBus;

pub(crate) use crate::init;

pub const SIZE: (u32, u32) = (72, 56);

/// The duration of a frame.
pub const DURATION: gst::ClockTime = gst::ClockTime::from_mseconds(40);

pub fn video(format: VideoFormat, (width, height): (u32, u32)) -> VideoInfo {
    init();
    VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().expect("video info")
}

pub fn i420() -> VideoInfo {
    video(VideoFormat::I420, SIZE)
}

/// A source that is not live: frames wait for as long as they can.
pub fn harness(launch: &str, info: &VideoInfo) -> Harness {
    init();
    let mut harness = Harness::new_parse(launch);
    harness.set_live(false);
    harness.set_src_caps(info.to_caps().expect("caps"));
    harness
}

pub fn element(harness: &Harness) -> gst::Element {
    let element = harness.element().expect("an element");
    match element.downcast::<gst::Bin>() {
        Ok(bin) => bin.by_name("motiondenoise0").or_else(|| bin.children().pop()).expect("the element"),
        Err(element) => element,
    }
}

pub fn bus(harness: &Harness) -> ElementBus {
    ElementBus::new(element(harness))
}

pub fn count(harness: &Harness, field: &str) -> u64 {
    let stats: gst::Structure = element(harness).property("stats");
    stats.get(field).unwrap_or_else(|error| panic!("{field}: {error}"))
}

/// Frame `number`: a still scene with noise in every byte, or in none.
pub fn frame(info: &VideoInfo, number: u64, is_noisy: bool) -> gst::Buffer {
    let mut state = (number as u32 + 1).wrapping_mul(0x9e37_79b1);
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if is_noisy { (state >> 28) as u8 } else { 0 }
    };
    let width = info.stride()[0] as usize;
    let byte = |index: usize| 60 + ((index % width / 5 + index / width / 4) * 37 % 90) as u8 + noise();
    let mut buffer = gst::Buffer::from_mut_slice((0..info.size()).map(byte).collect::<Vec<_>>());
    let target = buffer.make_mut();
    target.set_pts(DURATION * number);
    target.set_duration(DURATION);
    buffer
}

pub fn push(harness: &mut Harness, buffer: gst::Buffer) {
    assert_eq!(harness.push(buffer), Ok(gst::FlowSuccess::Ok));
}

/// Pushes noisy frames of these numbers.
pub fn push_all(harness: &mut Harness, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| push(harness, frame(&i420(), number, true)));
}

pub fn end(harness: &mut Harness) {
    assert!(harness.push_event(gst::event::Eos::new()));
}

/// All buffers that have come out.
pub fn pull(harness: &mut Harness) -> Vec<gst::Buffer> {
    std::iter::from_fn(|| harness.try_pull()).collect()
}

/// The numbers of these frames, by their timestamps.
pub fn numbers(buffers: &[gst::Buffer]) -> Vec<u64> {
    buffers.iter().map(|buffer| buffer.pts().expect("a timestamp") / DURATION).collect()
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

/// The planes of a frame, as the oracle takes them, and how they are sampled.
pub fn planes(buffer: &gst::Buffer, info: &VideoInfo) -> (Vec<Frame>, Vec<Sampling>) {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let format = info.format_info();
    let plane = |plane: u32| {
        let component = format.plane().iter().position(|&of| of == plane).unwrap();
        let samples = SampleFormat::new(info.comp_depth(0), format.shift()[0]).unwrap();
        let interleaved = info.comp_pstride(component as u8) as usize == 2 * samples.bytes();
        let sampling = Sampling {
            halved_x: format.w_sub()[component] == 1,
            halved_y: format.h_sub()[component] == 1,
            interleaved,
        };
        let size = sampling.plane_size(info.width() as usize, info.height() as usize);
        let stride = frame.plane_stride()[plane as usize] as usize;
        let bytes = frame.plane_data(plane).unwrap().to_vec();
        (Frame::with_format(Arc::new(bytes), size, stride, samples).unwrap(), sampling)
    };
    (0..info.n_planes()).map(plane).unzip()
}

/// The samples of all planes.
pub fn samples(planes: &[Frame]) -> Vec<u16> {
    let of_plane = |plane: &Frame| {
        let view = plane.view();
        let (width, height) = view.size();
        let at = |index: usize| view.sample((index % width) as i32, (index / width) as i32);
        (0..width * height).map(at).collect::<Vec<_>>()
    };
    planes.iter().flat_map(of_plane).collect()
}

/// What the oracle makes of each frame of a sequence.
pub fn expected(info: &VideoInfo, frames: &[gst::Buffer], references: References) -> Vec<Vec<u16>> {
    let frames: Vec<_> = frames.iter().map(|buffer| planes(buffer, info)).collect();
    let parameters = search_parameters(info.width() as usize, info.height() as usize, references).unwrap();
    let searched: Vec<_> = frames.iter().map(|(planes, _)| oracle::search_frame(&planes[0].view())).collect();
    let views: Vec<Vec<_>> =
        frames.iter().map(|(planes, _)| planes.iter().map(Frame::view).collect()).collect();
    let luma = &views[0][0];
    let mut noise = NoiseMap::new(luma.size(), luma.format().depth()).unwrap();
    let expected = |current: usize| {
        let there = |offset: i64| -> Option<(i64, usize)> {
            let at = current.checked_add_signed(offset as isize)?;
            (at < frames.len()).then_some((offset, at))
        };
        let others: Vec<_> = references.offsets().filter_map(there).collect();
        let field = |&(_, at): &(i64, usize)| {
            search::hierarchical(&parameters, &searched[current].view(), &searched[at].view()).vectors
        };
        let fields: Vec<_> = others.iter().map(field).collect();
        let reference = |(&(offset, at), vectors): (&(i64, usize), _)| {
            let vectors: &Vec<_> = vectors;
            Reference { slot: LumaSlot::default(), planes: &views[at][..], vectors, offset: offset as isize }
        };
        let references: Vec<_> = others.iter().zip(&fields).map(reference).collect();
        let strength = Strength::new(1.0);
        let made = oracle::denoise(&mut noise, &frames[current].1, &views[current], &references, strength);
        samples(&made.unwrap())
    };
    (0..frames.len()).map(expected).collect()
}

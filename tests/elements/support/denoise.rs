//! Frames to push, what comes out, and what the oracle makes of them.

use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use motion_frames::compensation::Sampling;
use motion_frames::denoising::{LumaSlot, Reference, Strength, oracle, search_parameters};
use motion_search::estimator::{Frame, References, oracle as search};

pub use super::{ElementBus, address, end, error_text, info as video, pull, push, samples_of};
pub(crate) use crate::init;

pub const SIZE: (u32, u32) = (72, 56);

/// The duration of a frame.
pub const DURATION: gst::ClockTime = gst::ClockTime::from_mseconds(40);

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
    super::element_of(harness, "motiondenoise")
}

pub fn count(harness: &Harness, field: &str) -> u64 {
    super::count_of(&element(harness), field)
}

pub fn bus(harness: &Harness) -> ElementBus {
    ElementBus::new(element(harness))
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

/// Pushes noisy frames of these numbers.
pub fn push_all(harness: &mut Harness, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| push(harness, frame(&i420(), number, true)));
}

/// The numbers of these frames, by their timestamps.
pub fn numbers(buffers: &[gst::Buffer]) -> Vec<u64> {
    buffers.iter().map(|buffer| buffer.pts().expect("a timestamp") / DURATION).collect()
}

/// The planes of a frame, as the oracle takes them, and how they are sampled.
pub fn planes(buffer: &gst::Buffer, info: &VideoInfo) -> (Vec<Frame>, Vec<Sampling>) {
    (super::read(info, buffer), super::samplings(info.format()))
}

/// What the oracle makes of each frame of a sequence.
pub fn expected(info: &VideoInfo, frames: &[gst::Buffer], references: References) -> Vec<Vec<u32>> {
    expected_with(info, frames, references, true)
}

/// The same, and whether what time leaves of the noise is taken out, too.
pub fn expected_with(
    info: &VideoInfo,
    frames: &[gst::Buffer],
    references: References,
    is_spatial: bool,
) -> Vec<Vec<u32>> {
    let frames: Vec<_> = frames.iter().map(|buffer| planes(buffer, info)).collect();
    let parameters = search_parameters(info.width() as usize, info.height() as usize, references).unwrap();
    let searched: Vec<_> = frames.iter().map(|(planes, _)| oracle::search_frame(&planes[0].view())).collect();
    let views: Vec<Vec<_>> =
        frames.iter().map(|(planes, _)| planes.iter().map(Frame::view).collect()).collect();
    let luma = &views[0][0];
    let mut noise = oracle::StreamNoise::new(luma.size(), luma.format().depth());
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
        let made = oracle::denoise(
            &mut noise,
            &frames[current].1,
            &views[current],
            &references,
            (strength, is_spatial),
        );
        samples_of(&made.unwrap())
    };
    (0..frames.len()).map(expected).collect()
}

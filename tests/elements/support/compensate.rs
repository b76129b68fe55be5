//! Buffers to push, and what must become of them.

use gst_check::Harness;
use gst_video::VideoInfo;
use gstmotionestimate::meta::{self, FieldDescription};
use motion_frames::compensation::{Field, Sampling, oracle};
use motion_search::estimator::{Frame, MotionVector};

pub use super::{ElementBus, info, read, sample_format, samplings};
use crate::fields;
pub use test_support::gstreamer::formats::FORMATS;

pub fn harness(launch: &str, info: &VideoInfo) -> (Harness, ElementBus) {
    crate::init();
    let mut harness = Harness::new_parse(launch);
    harness.set_src_caps(info.to_caps().unwrap());
    let bus = ElementBus::new(harness.find_element("motioncompensate").unwrap());
    (harness, bus)
}

/// A number that looks random, the same for the same numbers.
fn noise(numbers: [usize; 4]) -> u32 {
    let mixed = numbers.iter().fold(17u64, |sum, &number| {
        (sum ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u32
}

/// Frame `time`: noise in every plane.
pub fn planes(info: &VideoInfo, time: usize) -> Vec<Frame> {
    let (width, height) = (info.width() as usize, info.height() as usize);
    let plane = |(index, sampling): (usize, Sampling)| {
        let (width, height) = sampling.plane_size(width, height);
        let format = sample_format(info.format());
        let sample = |x, y| noise([time, index, x, y]) as u16 & format.peak();
        Frame::deep_from_fn(width, height, format.depth(), sample)
    };
    samplings(info.format()).into_iter().enumerate().map(plane).collect()
}

/// The frame in `planes` as a buffer; with `pad`, rows that many bytes further apart than usual,
/// garbage between them, and a `GstVideoMeta`.
pub fn buffer(info: &VideoInfo, planes: &[Frame], time: usize, pad: Option<usize>) -> gst::Buffer {
    let extra = pad.unwrap_or(0);
    let strides: Vec<_> = info.stride().iter().map(|&stride| stride as usize + extra).collect();
    let (mut offsets, mut end) = (Vec::new(), extra);
    for (plane, stride) in planes.iter().zip(&strides) {
        offsets.push(end);
        end += stride * (plane.view().height() + 1);
    }
    if pad.is_none() {
        (offsets, end) = (info.offset().to_vec(), info.size());
    }
    let mut bytes = vec![0xa5; end];
    for (plane, (&offset, &stride)) in planes.iter().zip(offsets.iter().zip(&strides)) {
        for y in 0..plane.view().height() {
            let (row, format) = (plane.view().row(y), sample_format(info.format()));
            let to = &mut bytes[offset + y * stride..][..row.len()];
            to.copy_from_slice(row);
            if format.shift() > 0 {
                for sample in to.as_chunks_mut::<2>().0 {
                    *sample = (u16::from_le_bytes(*sample) << format.shift()).to_le_bytes();
                }
            }
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let buffer_ref = buffer.make_mut();
    buffer_ref.set_pts(gst::ClockTime::from_mseconds(40) * time as u64);
    if pad.is_some() {
        let strides: Vec<_> = strides.iter().map(|&stride| stride as i32).collect();
        let flags = gst_video::VideoFrameFlags::empty();
        let (format, width, height) = (info.format(), info.width(), info.height());
        gst_video::VideoMeta::add_full(buffer_ref, flags, format, width, height, &offsets, &strides).unwrap();
    }
    buffer
}

/// A field of the frame `time` in the one before, in blocks of `block`.
pub fn description(info: &VideoInfo, block: (u32, u32), time: usize) -> FieldDescription {
    let (width, height) = (info.width(), info.height());
    FieldDescription {
        bit_depth: 8,
        block_width: block.0,
        block_height: block.1,
        columns: width.div_ceil(block.0),
        rows: height.div_ceil(block.1),
        scale: 4,
        reference_pts: Some(gst::ClockTime::from_mseconds(40) * (time as u64 - 1)),
        ..fields::description(width, height, block.0)
    }
}

/// Vectors close by, a few far outside, some between samples.
pub fn vectors(description: &FieldDescription, time: usize) -> Vec<MotionVector> {
    let component = |index: usize, axis: usize| match noise([time, index, axis, 99]) % 8 {
        0 => i16::MIN,
        1 => i16::MAX,
        2 => 4 * 60 + 3,
        number => (noise([time, index, axis, 98]) % (16 * number)) as i16 - 24,
    };
    let vector = |index| MotionVector { x: component(index, 0), y: component(index, 1), cost: 0 };
    (0..description.grid().blocks()).map(vector).collect()
}

pub fn attach(buffer: &mut gst::Buffer, description: &FieldDescription, vectors: &[MotionVector]) {
    meta::attach(buffer.make_mut(), description, fields::bytes(vectors), meta::Extras::default()).unwrap();
}

/// The prediction by definition, plane by plane.
pub fn predicted(
    info: &VideoInfo,
    description: &FieldDescription,
    vectors: &[MotionVector],
    reference: &[Frame],
) -> Vec<Frame> {
    let size = (description.width as usize, description.height as usize);
    let block = (description.block_width as usize, description.block_height as usize);
    let field = Field::new(size, block, vectors).unwrap();
    let planes = samplings(info.format()).into_iter().zip(reference);
    planes.map(|(sampling, plane)| oracle::predict(&field, sampling, &plane.view()).unwrap()).collect()
}

pub fn residual(current: &[Frame], prediction: &[Frame]) -> Vec<Frame> {
    let planes = current.iter().zip(prediction);
    planes.map(|(current, other)| oracle::residual(&current.view(), &other.view()).unwrap()).collect()
}

/// `mse-y`, `psnr-y`, `mse`, `psnr` of a message or meta.
pub fn figures(structure: &gst::StructureRef) -> [f64; 4] {
    ["mse-y", "psnr-y", "mse", "psnr"].map(|name| structure.get(name).unwrap())
}

/// What the buffer's meta says.
pub fn quality(buffer: &gst::BufferRef) -> Option<[f64; 4]> {
    let name = gstmotionestimate::motioncompensate::QUALITY_META_NAME;
    gst::meta::CustomMeta::from_buffer(buffer, name).ok().map(|meta| figures(meta.structure()))
}

/// The structures of all messages of that name that `bus` has.
pub fn messages(bus: &gst::Bus, name: &str) -> Vec<gst::Structure> {
    let messages = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]));
    messages
        .filter_map(|message| message.structure().map(ToOwned::to_owned))
        .filter(|structure| structure.name() == name)
        .collect()
}

//! Buffers to push, and what must come out.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use gstmotionestimate::meta::MotionVectorMeta;
use motion_search::estimator::{Frame, Parameters, Window, oracle};

pub use super::{ElementBus, error_text, info};
pub(crate) use crate::init;

/// Frame size of most tests: whole blocks on neither axis.
pub const SIZE: (u32, u32) = (61, 47);

/// Element and settings of most tests.
pub const ELEMENT: &str = "motionestimate device=native block-size=8 search-range=5";

pub fn gray() -> VideoInfo {
    info(VideoFormat::Gray8, SIZE)
}

/// What `ELEMENT` searches in frames of `info`.
pub fn parameters(info: &VideoInfo) -> Parameters {
    let window = Window::symmetric(5, 5).expect("window");
    Parameters::new(info.width() as usize, info.height() as usize, 8, window)
}

/// A harness around `launch` whose source has the caps of `info`.
pub fn harness(launch: &str, info: &VideoInfo) -> Harness {
    let mut harness = Harness::new_parse(launch);
    harness.set_src_caps(info.to_caps().expect("caps"));
    harness
}

/// The luma sample at `(x, y)` of frame `time`: texture that moves, with some grain.
pub fn sample(time: u64, x: usize, y: usize) -> u8 {
    let (x, y) = (x as u64 + 3 * time, y as u64 + 2 * time);
    let cell = (x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180;
    (cell + (x * 7 + y * 13 + time) % 40) as u8
}

/// Frame `time` as a buffer laid out as `info` says, other planes filled with grey.
pub fn frame(info: &VideoInfo, time: u64) -> gst::Buffer {
    let mut bytes = vec![0x80; info.size()];
    write_luma(&mut bytes, info, time, info.offset()[0], info.stride()[0] as usize);
    stamped(bytes, time)
}

/// Frame `time` with `pad` bytes more between rows, garbage in front and a `GstVideoMeta`.
pub fn padded_frame(info: &VideoInfo, time: u64, pad: usize) -> gst::Buffer {
    let format = info.format_info();
    let (mut offsets, mut strides, mut end) = (Vec::new(), Vec::new(), 3 + pad);
    for plane in 0..info.n_planes() {
        let component = format.plane().iter().position(|&p| p == plane).expect("a component") as u8;
        let stride = info.stride()[plane as usize] as usize + pad;
        offsets.push(end);
        strides.push(stride as i32);
        end += stride * format.scale_height(component, info.height()) as usize;
    }
    let mut bytes = vec![0xa5; end];
    write_luma(&mut bytes, info, time, offsets[0], strides[0] as usize);
    let mut buffer = stamped(bytes, time);
    gst_video::VideoMeta::add_full(
        buffer.make_mut(),
        gst_video::VideoFrameFlags::empty(),
        info.format(),
        info.width(),
        info.height(),
        &offsets,
        &strides,
    )
    .expect("video meta");
    buffer
}

fn write_luma(bytes: &mut [u8], info: &VideoInfo, time: u64, offset: usize, stride: usize) {
    for y in 0..info.height() as usize {
        for x in 0..info.width() as usize {
            bytes[offset + y * stride + x] = sample(time, x, y);
        }
    }
}

fn stamped(bytes: Vec<u8>, time: u64) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let duration = gst::ClockTime::from_mseconds(40);
    let buffer_ref = buffer.make_mut();
    buffer_ref.set_pts(duration * time);
    buffer_ref.set_duration(duration);
    buffer
}

/// The luma plane of `buffer`.
pub fn luma(buffer: &gst::BufferRef, info: &VideoInfo) -> Frame {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).expect("frame");
    let (data, stride) = (frame.plane_data(0).expect("plane"), frame.plane_stride()[0] as usize);
    Frame::from_fn(info.width() as usize, info.height() as usize, |x, y| data[y * stride + x])
}

pub fn meta(buffer: &gst::BufferRef) -> Option<MotionVectorMeta> {
    let mut metas = MotionVectorMeta::all_of(buffer);
    let meta = metas.next().map(|meta| meta.expect("a sound meta"));
    assert!(metas.next().is_none(), "one field a buffer");
    meta
}

/// All fields of `buffer`.
pub fn metas(buffer: &gst::BufferRef) -> Vec<MotionVectorMeta> {
    MotionVectorMeta::all_of(buffer).map(|meta| meta.expect("a sound meta")).collect()
}

/// Checks that `current` bears the field from it to `reference`.
pub fn check_vectors(
    info: &VideoInfo,
    parameters: &Parameters,
    current: &gst::Buffer,
    reference: &gst::Buffer,
) {
    check_field(info, parameters, &meta(current).expect("vectors"), current, (-1, reference));
}

/// Checks that `meta` is the field from `current` to the reference frame, which is given with its offset.
pub fn check_field(
    info: &VideoInfo,
    parameters: &Parameters,
    meta: &MotionVectorMeta,
    current: &gst::Buffer,
    (offset, reference): (i32, &gst::Buffer),
) {
    let description = meta.description();
    assert_eq!((description.width, description.height), (info.width(), info.height()));
    assert_eq!(description.block_width as usize, parameters.block_size);
    assert_eq!(description.block_height as usize, parameters.block_size);
    assert_eq!(description.grid(), parameters.grid());
    assert_eq!(description.metric, parameters.metric_of_costs());
    assert_eq!(description.scale, parameters.algorithm.scale() as u32);
    assert_eq!((description.reference_offset, description.reference_pts), (offset, reference.pts()));
    let (current, reference) = (luma(current, info), luma(reference, info));
    let expected = oracle::search(parameters, &current.view(), &reference.view());
    assert_eq!(meta.vectors(), expected.vectors);
}

pub fn check_no_vectors(buffer: &gst::Buffer) {
    assert!(meta(buffer).is_none(), "no vectors at {:?}", buffer.pts());
}

/// Checks a sequence in which only the first frame has no vectors.
pub fn check_sequence(info: &VideoInfo, parameters: &Parameters, buffers: &[gst::Buffer]) {
    check_no_vectors(&buffers[0]);
    for pair in buffers.windows(2) {
        check_vectors(info, parameters, &pair[1], &pair[0]);
    }
}

/// Checks a whole sequence: each frame has the fields of all its reference frames that are in it, in the order of the
/// offsets, and no others.
pub fn check_all_fields(info: &VideoInfo, parameters: &Parameters, sequence: &[gst::Buffer]) {
    for (index, current) in sequence.iter().enumerate() {
        let mut found = metas(current).into_iter();
        for offset in parameters.references.offsets() {
            let reference = usize::try_from(index as i64 + offset).ok();
            if let Some(reference) = reference.and_then(|index| sequence.get(index)) {
                let meta = found.next().unwrap_or_else(|| panic!("a field at {offset} in frame {index}"));
                check_field(info, parameters, &meta, current, (offset as i32, reference));
            }
        }
        assert!(found.next().is_none(), "more fields than references in frame {index}");
    }
}

/// Pushes frame `time` and pulls what becomes of it.
pub fn pass(harness: &mut Harness, info: &VideoInfo, time: u64) -> gst::Buffer {
    harness.push_and_pull(frame(info, time)).expect("a buffer")
}

/// Waits for the first error, warning or EOS message of `bus`.
pub fn wait(bus: &gst::Bus) -> gst::Message {
    use gst::MessageType::{Eos, Error, Warning};
    bus.timed_pop_filtered(gst::ClockTime::NONE, &[Eos, Error, Warning]).expect("a message")
}

/// Runs `launch`, which must end with an appsink of the name `sink`, to its end.
pub fn run(launch: &str) -> (Vec<gst::Sample>, gst::Message) {
    init();
    let pipeline =
        gst::parse::launch(launch).expect("a pipeline").downcast::<gst::Pipeline>().expect("a pipeline");
    let sink = pipeline.by_name("sink").expect("a sink").downcast::<gst_app::AppSink>().expect("an appsink");
    sink.set_sync(false);
    sink.set_property("wait-on-eos", false);
    let bus = pipeline.bus().expect("a bus");
    // A failed change of state is told on the bus too.
    let _ = pipeline.set_state(gst::State::Playing);
    let message = wait(&bus);
    let mut samples = Vec::new();
    while let Some(sample) = sink.try_pull_sample(gst::ClockTime::ZERO) {
        samples.push(sample);
    }
    pipeline.set_state(gst::State::Null).expect("NULL");
    (samples, message)
}

/// Checks that every frame but the first bears its vectors.
pub fn check_samples(samples: &[gst::Sample], parameters: impl Fn(&VideoInfo) -> Parameters) {
    let info = VideoInfo::from_caps(samples[0].caps().expect("caps")).expect("video");
    let buffers: Vec<_> = samples.iter().map(|sample| sample.buffer_owned().expect("a buffer")).collect();
    check_sequence(&info, &parameters(&info), &buffers);
}

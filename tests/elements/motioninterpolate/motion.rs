//! Frames made along the motion.

use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use motion_frames::compensation::Sampling;
use motion_frames::interpolation::{FrameQuality, Phase, oracle};
use motion_search::estimator::{Frame, FrameView, SampleFormat};

use super::support::*;

const RATE: Rate = (25, 1);
const SIZE: (u32, u32) = (48, 40);

/// A coarse pattern of scene `scene` at `place`, over noise in the other planes and in the lower bits.
pub fn picture(info: &VideoInfo, scene: u64, place: usize, number: u64) -> gst::Buffer {
    let mut state = (scene as u32 + 1).wrapping_mul(0x9e37_79b1);
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    let (width, height) = (info.width() as usize, info.height() as usize);
    let grain: Vec<_> = (0..width * height).map(|_| 40 + noise() / 2).collect();
    let mut buffer = frame(info, RATE, number);
    {
        let buffer = buffer.get_mut().unwrap();
        let mut frame = VideoFrameRef::from_buffer_ref_writable(buffer, info).unwrap();
        let (stride, pixel) = (frame.plane_stride()[0] as usize, info.comp_pstride(0) as usize);
        for (y, row) in frame.plane_data_mut(0).unwrap().chunks_mut(stride).enumerate() {
            for (x, sample) in row.chunks_mut(pixel).take(width).enumerate() {
                // The upper byte of samples in the upper bits.
                sample[pixel - 1] = grain[(y / 3) * width + (x + place) / 3];
            }
        }
    }
    buffer
}

/// The planes of a frame, as the oracle takes them, and how they are sampled.
fn planes(buffer: &gst::Buffer, info: &VideoInfo) -> (Vec<Frame>, Vec<Sampling>) {
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
        (Frame::with_format(std::sync::Arc::new(bytes), size, stride, samples).unwrap(), sampling)
    };
    (0..info.n_planes()).map(plane).unzip()
}

/// What the oracle makes in `quality` at `phase` between two frames.
pub fn expected(
    quality: FrameQuality,
    info: &VideoInfo,
    frames: [&gst::Buffer; 2],
    phase: Phase,
) -> Vec<u32> {
    let frames = frames.map(|frame| planes(frame, info));
    let views = views(&frames);
    samples_of(&oracle::search_and_interpolate([&views[0], &views[1]], &frames[0].1, quality, phase))
}

/// What the oracle makes at `phase` between the second and the third of four frames, all of which count.
pub fn expected_of_four(info: &VideoInfo, frames: [&gst::Buffer; 4], phase: Phase) -> Vec<u32> {
    let frames = frames.map(|frame| planes(frame, info));
    let views = views(&frames);
    let views = std::array::from_fn(|number| &views[number][..]);
    samples_of(&oracle::search_and_interpolate_with_neighbours(views, &frames[1].1, phase))
}

/// The planes of each of `frames`.
pub fn views(frames: &[(Vec<Frame>, Vec<Sampling>)]) -> Vec<Vec<FrameView<'_>>> {
    frames.iter().map(|(planes, _)| planes.iter().map(Frame::view).collect()).collect()
}

/// The devices of these tests: the CPU, and where OpenCL is compiled in the one that OPENCL_TEST_DEVICE names, else PoCL.
pub fn devices() -> Vec<String> {
    let opencl = std::env::var("OPENCL_TEST_DEVICE").unwrap_or("cpu".into());
    ["native".into()].into_iter().chain(cfg!(feature = "opencl").then_some(opencl)).collect()
}

#[test]
fn made_frames_are_those_of_the_oracle_on_every_device() {
    let formats = [
        VideoFormat::I420,
        VideoFormat::Nv12,
        VideoFormat::Gray8,
        VideoFormat::P01010le,
        VideoFormat::A42010le,
        VideoFormat::A44410le,
    ];
    let qualities = [("fast", FrameQuality::Fast), ("balanced", FrameQuality::Balanced)];
    for (format, (name, quality)) in formats.into_iter().flat_map(|f| qualities.map(|q| (f, q))) {
        let info = video(format, SIZE, RATE);
        let frames: Vec<_> = (0..4).map(|k| picture(&info, 0, 3 * k, k as u64)).collect();
        for device in devices() {
            // A device compiles its kernels for seconds.
            if device != "native" && ![VideoFormat::Nv12, VideoFormat::P01010le].contains(&format) {
                continue;
            }
            let launch = format!("motioninterpolate quality={name} device=\"{device}\"");
            let mut harness = harness(&launch, &info, (75, 1));
            frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
            let found = pull(&mut harness);
            assert_eq!(found.len(), 10);
            for (pair, frames) in frames.windows(2).enumerate() {
                for third in [1, 2] {
                    let phase = Phase::new(third as u32, 3).unwrap();
                    let expected = expected(quality, &info, [&frames[0], &frames[1]], phase);
                    let found = samples(&found[3 * pair + third], &info);
                    assert_eq!(found, expected, "{format:?}, {name}, {device}, pair {pair}, {third}/3");
                }
            }
            assert_eq!((count(&harness, "made"), count(&harness, "scene-cuts")), (6, 0));
            let [searches, makes] =
                ["search-device", "make-device"].map(|field| stats(&harness).get::<String>(field).unwrap());
            assert_eq!(searches == "native", device == "native");
            assert_eq!(makes, searches, "what is named searches, and makes frames");
            for launcher in ["search-launcher", "make-launcher"] {
                let launcher = stats(&harness).get::<Option<String>>(launcher).unwrap();
                let expected = if device == "native" { &[None][..] } else { &[Some("opencl"), Some("cuda")] };
                assert!(expected.contains(&launcher.as_deref()), "{device}: {launcher:?}");
            }
        }
    }
}

#[test]
fn at_a_scene_cut_the_nearer_frame_is_repeated() {
    let info = video(VideoFormat::I420, (96, 80), RATE);
    let frames = [(0, 0), (0, 2), (1, 0), (1, 2)];
    let frames: Vec<_> = frames
        .iter()
        .enumerate()
        .map(|(k, &(scene, place))| picture(&info, scene, place, k as u64))
        .collect();
    for (setting, cuts) in [("scene-cut=auto", 2), ("scene-cut=off", 0)] {
        let mut harness = harness(&format!("motioninterpolate device=native {setting}"), &info, (75, 1));
        frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
        let found = pull(&mut harness);
        assert_eq!((count(&harness, "scene-cuts"), count(&harness, "made")), (cuts, 6 - cuts), "{setting}");
        if cuts > 0 {
            // By reference.
            assert_eq!([4, 5].map(|at| address(&found[at])), [1, 2].map(|at| address(&frames[at])));
        }
    }
}

#[test]
fn mode_devices_and_quality_may_change_between_frames() {
    let info = video(VideoFormat::I420, SIZE, RATE);
    let frames: Vec<_> = (0..8).map(|k| picture(&info, 0, 3 * k, k as u64)).collect();
    let mut harness = harness("motioninterpolate mode=blend quality=fast device=native", &info, (50, 1));
    frames[..2].iter().for_each(|frame| push(&mut harness, frame.clone()));
    // The frame before this one has not been searched: it is blended once more.
    element(&harness).set_property_from_str("mode", "motion");
    frames[2..4].iter().for_each(|frame| push(&mut harness, frame.clone()));
    element(&harness).set_property("threads", 1_u32);
    frames[4..6].iter().for_each(|frame| push(&mut harness, frame.clone()));
    element(&harness).set_property_from_str("quality", "balanced");
    frames[6..].iter().for_each(|frame| push(&mut harness, frame.clone()));
    let found = pull(&mut harness);
    let mean = |pair: usize| {
        let [p, n] = [pair, pair + 1].map(|k| samples(&frames[k], &info));
        p.iter().zip(n).map(|(p, n)| (32 * p + 32 * n + 32) >> 6).collect::<Vec<_>>()
    };
    for pair in 0..7 {
        let found = samples(&found[2 * pair + 1], &info);
        let quality = if pair < 5 { FrameQuality::Fast } else { FrameQuality::Balanced };
        let expected = match pair {
            2 | 4 | 6 => expected(quality, &info, [&frames[pair], &frames[pair + 1]], Phase::MIDDLE),
            _ => mean(pair),
        };
        assert_eq!(found, expected, "{pair}");
    }
}

/// Without a GPU in the list: PoCL searches as one of its devices.
#[cfg(feature = "opencl")]
#[test]
fn a_list_of_devices_searches_and_the_cpu_makes_frames() {
    let info = video(VideoFormat::I420, SIZE, RATE);
    let frames: Vec<_> = (0..3).map(|k| picture(&info, 0, 3 * k, k as u64)).collect();
    let mut harness = harness("motioninterpolate quality=fast device=cpu,native", &info, (50, 1));
    frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
    let found = pull(&mut harness);
    for pair in 0..2 {
        let expected = expected(FrameQuality::Fast, &info, [&frames[pair], &frames[pair + 1]], Phase::MIDDLE);
        assert_eq!(samples(&found[2 * pair + 1], &info), expected, "{pair}");
    }
    assert_eq!(stats(&harness).get::<&str>("make-device"), Ok("native"));
}

/// Frames that are made one ahead are not shown in the place of others.
#[cfg(feature = "opencl")]
#[test]
fn a_change_of_mode_gives_up_what_a_device_has_begun() {
    let info = video(VideoFormat::I420, SIZE, RATE);
    let frames: Vec<_> = (0..4).map(|k| picture(&info, 0, 3 * k, k as u64)).collect();
    let mut harness = harness("motioninterpolate quality=fast device=cpu", &info, (125, 1));
    // Of four frames between two input frames.
    let phase = |number| Phase::new(number, 5).unwrap();
    frames[..2].iter().for_each(|frame| push(&mut harness, frame.clone()));
    element(&harness).set_property_from_str("mode", "repeat");
    push(&mut harness, frames[2].clone());
    element(&harness).set_property_from_str("mode", "motion");
    push(&mut harness, frames[3].clone());
    let found = pull(&mut harness);
    for number in 1..5 {
        let expected = expected(FrameQuality::Fast, &info, [&frames[0], &frames[1]], phase(number));
        assert_eq!(samples(&found[number as usize], &info), expected, "{number}/5");
    }
    assert_eq!(found.len(), 16);
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let info = video(VideoFormat::I420, SIZE, RATE);
    let mut harness = harness("motioninterpolate device=nosuchdevice", &info, (50, 1));
    let bus = bus(&harness);
    assert_eq!(harness.push(picture(&info, 0, 0, 0)), Err(gst::FlowError::Error));
    let message = bus.pop_filtered(&[gst::MessageType::Error]).expect("an error");
    assert!(error_text(&message).contains("nosuchdevice"), "{message:?}");
}

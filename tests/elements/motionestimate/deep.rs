//! Samples of more than eight bits: the vectors are those of the oracle, and of the same frames of eight bits.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use motion_search::backend;
use motion_search::estimator::{Algorithm, Frame, Metric, MotionVector, Parameters, SubSample, oracle};

use super::support::*;

/// Each format, the bits of its samples and the bits below them.
const FORMATS: [(VideoFormat, u32, u32); 8] = [
    (VideoFormat::I42010le, 10, 0),
    (VideoFormat::P01010le, 10, 6),
    (VideoFormat::I42210le, 10, 0),
    (VideoFormat::Y44410le, 10, 0),
    (VideoFormat::I42012le, 12, 0),
    (VideoFormat::I42212le, 12, 0),
    (VideoFormat::Y44412le, 12, 0),
    (VideoFormat::Gray16Le, 16, 0),
];

/// The sample at `(x, y)` of frame `time`: that of eight bits and new lowest bits.
fn deep_sample(depth: u32, time: u64, x: usize, y: usize) -> u16 {
    let lowest = (x * 31 + y * 17 + time as usize * 5) as u16;
    u16::from(sample(time, x, y)) << (depth - 8) | lowest & ((1 << (depth - 8)) - 1)
}

/// Frame `time` as a buffer whose luma sample at `(x, y)` is `sample(x, y)`, `shift` bits up and with noise below.
fn buffer(info: &VideoInfo, time: u64, shift: u32, sample: impl Fn(usize, usize) -> u16) -> gst::Buffer {
    let mut buffer = frame(info, time);
    let stride = info.stride()[0] as usize;
    let mut map = buffer.get_mut().unwrap().map_writable().unwrap();
    for y in 0..info.height() as usize {
        for x in 0..info.width() as usize {
            let below = (x * 7 + y) as u16 & ((1 << shift) - 1);
            let bytes = (sample(x, y) << shift | below).to_le_bytes();
            map[y * stride + 2 * x..][..2].copy_from_slice(&bytes);
        }
    }
    drop(map);
    buffer
}

/// What `launch` attaches to the second of two frames of `format`, and the bit depth that it names.
fn field(
    launch: &str,
    format: VideoFormat,
    shift: u32,
    sample: impl Fn(u64, usize, usize) -> u16,
) -> (Vec<MotionVector>, u32) {
    let info = info(format, SIZE);
    let mut harness = harness(launch, &info);
    let mut pass = |time| {
        let buffer = buffer(&info, time, shift, |x, y| sample(time, x, y));
        harness.push_and_pull(buffer).expect("a buffer")
    };
    check_no_vectors(&pass(0));
    let meta = meta(&pass(1)).expect("vectors");
    (meta.vectors().to_vec(), meta.description().bit_depth)
}

fn deep_frames(depth: u32) -> [Frame; 2] {
    let size = (SIZE.0 as usize, SIZE.1 as usize);
    [0, 1].map(|time| Frame::deep_from_fn(size.0, size.1, depth, |x, y| deep_sample(depth, time, x, y)))
}

fn eight_bit_frames() -> [Frame; 2] {
    [0, 1].map(|time| Frame::from_fn(SIZE.0 as usize, SIZE.1 as usize, |x, y| sample(time, x, y)))
}

fn expected(parameters: &Parameters, [reference, current]: &[Frame; 2]) -> Vec<MotionVector> {
    oracle::search(parameters, &current.view(), &reference.view()).vectors
}

#[test]
fn every_format_on_every_device() {
    for device in backend::devices() {
        for (format, depth, shift) in FORMATS {
            for (algorithm, sub_sample) in [
                (Algorithm::Full, SubSample::None),
                (Algorithm::Full, SubSample::Quarter),
                (Algorithm::ThreeStep, SubSample::None),
                (Algorithm::ThreeStep, SubSample::Half),
            ] {
                let launch = format!(
                    "motionestimate device=\"{}\" algorithm={} sub-sample={} block-size=8 search-range=5",
                    device.selector,
                    algorithm.name(),
                    sub_sample.name()
                );
                let found = field(&launch, format, shift, |time, x, y| deep_sample(depth, time, x, y));
                let parameters =
                    Parameters { bit_depth: depth, algorithm, sub_sample, ..parameters(&info(format, SIZE)) };
                let name = format!("{format} {launch}");
                assert_eq!(found, (expected(&parameters, &deep_frames(depth)), depth), "{name}");
            }
        }
    }
}

#[test]
fn ten_bits_of_an_eight_bit_clip_cost_four_times_as_much() {
    for device in backend::devices() {
        for (metric, factor) in [(Metric::Sad, 4), (Metric::Ssd, 16)] {
            let launch = format!(
                "motionestimate device=\"{}\" metric={} block-size=8 search-range=5",
                device.selector,
                metric.name()
            );
            let shifted = |time, x, y| u16::from(sample(time, x, y)) << 2;
            let (vectors, _) = field(&launch, VideoFormat::I42010le, 0, shifted);
            let parameters = Parameters { metric, ..parameters(&info(VideoFormat::I42010le, SIZE)) };
            let mut eight_bits = expected(&parameters, &eight_bit_frames());
            eight_bits.iter_mut().for_each(|vector| vector.cost *= factor);
            assert_eq!(vectors, eight_bits, "{launch}");
        }
    }
}

#[test]
fn hierarchical_search_takes_the_eight_bits() {
    for device in backend::devices() {
        for (format, depth, shift) in FORMATS {
            let launch =
                format!("motionestimate device=\"{}\" algorithm=hierarchical block-size=8", device.selector);
            let found = field(&launch, format, shift, |time, x, y| deep_sample(depth, time, x, y));
            let parameters =
                Parameters { algorithm: Algorithm::Hierarchical, ..parameters(&info(format, SIZE)) };
            assert_eq!(found, (expected(&parameters, &eight_bit_frames()), 8), "{format} {launch}");
        }
    }
}

/// Ten bits of samples in the midst of 16, as of thermal cameras.
#[test]
fn hierarchical_search_sees_what_is_between_the_levels() {
    let info = info(VideoFormat::Gray16Le, SIZE);
    let narrow = |time, x, y| 7500 + deep_sample(10, time, x, y);
    let parameters = Parameters { algorithm: Algorithm::Hierarchical, ..parameters(&info) };
    let right = expected(&parameters, &eight_bit_frames());
    for device in backend::devices() {
        let launch =
            format!("motionestimate device=\"{}\" algorithm=hierarchical block-size=8", device.selector);
        let levels = format!("{launch} black-level=7500 white-level=8523");
        assert_eq!(field(&levels, VideoFormat::Gray16Le, 0, narrow), (right.clone(), 8), "{levels}");
        assert_ne!(field(&launch, VideoFormat::Gray16Le, 0, narrow), (right.clone(), 8), "{launch}");
        // Full search sees all bits anyway.
        let full = format!("motionestimate device=\"{}\" block-size=8 search-range=5", device.selector);
        let with_levels = format!("{full} black-level=7500 white-level=8523");
        let found = [full, with_levels].map(|launch| field(&launch, VideoFormat::Gray16Le, 0, narrow));
        assert_eq!(found[0], found[1]);
    }
}

#[test]
fn the_meta_names_the_levels_and_a_change_of_them_begins_a_sequence() {
    let info = info(VideoFormat::Gray16Le, SIZE);
    let mut harness = harness("motionestimate device=native block-size=8", &info);
    let element = harness.find_element("motionestimate").unwrap();
    let mut pass = |time: u64| {
        let buffer = buffer(&info, time, 0, |x, y| 7500 + deep_sample(10, time, x, y));
        meta(&harness.push_and_pull(buffer).expect("a buffer")).map(|meta| meta.levels())
    };
    element.set_property("white-level", 8523u32);
    assert_eq!([pass(0), pass(1)], [None, Some(None)], "full search sees all bits");
    element.set_property_from_str("algorithm", "hierarchical");
    assert_eq!(pass(2), Some(Some((0, 8523))));
    element.set_property("black-level", 7500u32);
    assert_eq!([pass(3), pass(4)], [None, Some(Some((7500, 8523)))]);
    element.set_property("white-level", 65535u32);
    element.set_property("black-level", 0u32);
    assert_eq!([pass(5), pass(6)], [None, Some(None)]);
}

#[test]
fn what_takes_fewer_bits_is_refused() {
    for settings in ["metric=ssd", "metric=ssd sub-sample=half"] {
        let (samples, message) = run(&format!(
            "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY16_LE,width=64,height=48 ! motionestimate {settings} ! \
             appsink name=sink"
        ));
        assert!(samples.is_empty());
        assert_eq!(
            error_text(&message),
            "samples of 16 bits cannot be searched by metric ssd, whose costs would not fit 32 bits: use metric sad, \
             or samples of at most 10 bits"
        );
    }
}

#[test]
fn a_new_algorithm_keeps_the_reference_where_it_has_all_its_bits() {
    let info = info(VideoFormat::I42010le, SIZE);
    let mut harness = harness("motionestimate device=native block-size=8 search-range=5", &info);
    let element = harness.find_element("motionestimate").unwrap();
    let mut pass = |time: u64| {
        let buffer = buffer(&info, time, 0, |x, y| deep_sample(10, time, x, y));
        harness.push_and_pull(buffer).expect("a buffer")
    };
    let mut with_algorithm = |name: &str, time: u64| {
        element.set_property_from_str("algorithm", name);
        meta(&pass(time)).is_some()
    };
    let found = [("full", 0), ("three-step", 1), ("hierarchical", 2), ("full", 3), ("full", 4)];
    let found = found.map(|(name, time)| with_algorithm(name, time));
    // Hierarchical search has kept eight bits of frame 2 alone.
    assert_eq!(found, [false, true, true, false, true]);
}

/// Samples of 10 or 12 bits in 16: one warning says what to set, where hierarchical search would see next to nothing.
#[test]
fn undeclared_depths_are_told_once() {
    let info = info(VideoFormat::Gray16Le, SIZE);
    let warnings = |launch: &str, depth: u32, frames: u64| -> Vec<String> {
        let mut harness = harness(launch, &info);
        let element = harness.find_element("motionestimate").unwrap();
        let bus = ElementBus::new(element);
        for time in 0..frames {
            let deep = |x, y| deep_sample(depth, time, x, y);
            harness.push_and_pull(buffer(&info, time, 0, deep)).unwrap();
        }
        let warnings = bus.iter().filter_map(|message| match message.view() {
            gst::MessageView::Warning(warning) => Some(warning.error().to_string()),
            _ => None,
        });
        warnings.collect()
    };
    let hierarchical = "motionestimate device=native algorithm=hierarchical";
    for (depth, white) in [(10, 1023), (12, 4095)] {
        let told = warnings(hierarchical, depth, 30);
        assert!(told.len() == 1 && told[0].contains(&format!("white-level={white}")), "{depth}: {told:?}");
        assert!(warnings(hierarchical, depth, 5).is_empty(), "{depth}: too soon");
        assert!(warnings(&format!("{hierarchical} white-level={white}"), depth, 30).is_empty());
        assert!(warnings("motionestimate device=native search-range=2", depth, 30).is_empty());
    }
    assert!(warnings(hierarchical, 16, 30).is_empty());
}

//! What `motiondetect` tells and attaches, and which frames it lets pass.

use gst::prelude::*;
use gst_check::Harness;
use gstmotionestimate::camera::{CameraMotion, RegionMotion};

mod analytics;

const WIDTH: usize = 160;
const HEIGHT: usize = 96;
const FRAME: gst::ClockTime = gst::ClockTime::from_mseconds(40);
const CAPS: &str = "video/x-raw,format=GRAY8,width=160,height=96,framerate=25/1";

fn harness(launch: &str) -> Harness {
    crate::init();
    let mut harness = Harness::new_parse(launch);
    harness.set_src_caps_str(CAPS);
    harness
}

/// Frame `number` of a scene in which a square moves from frame 60 to frame 89.
fn frame(number: u64) -> gst::Buffer {
    let mut random = fastrand::Rng::with_seed(number);
    let mut samples = Vec::with_capacity(WIDTH * HEIGHT);
    let left = 10 + 3 * number.saturating_sub(60) as usize;
    let has_square = (60..90).contains(&number);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let background = 100 + (x * x / 50 + y * y / 30 + x * y / 40) % 40;
            let is_square = has_square && (left..left + 20).contains(&x) && (40..60).contains(&y);
            samples.push((background + if is_square { 70 } else { 0 }) as u8 + random.u8(0..4));
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(samples);
    let target = buffer.make_mut();
    target.set_pts(FRAME * number);
    target.set_duration(FRAME);
    buffer
}

/// The element messages of these names on the bus, as name, id and timestamp in frames.
fn told(bus: &gst::Bus) -> Vec<(String, u64, u64)> {
    let messages = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]));
    let read = |message: gst::Message| {
        let structure = message.structure()?.to_owned();
        let time = structure.get::<gst::ClockTime>("timestamp").ok()?;
        Some((structure.name().to_string(), structure.get("id").ok()?, time / FRAME))
    };
    messages.filter_map(read).collect()
}

fn bus_of(harness: &Harness) -> gst::Bus {
    let (element, bus) = (harness.element().unwrap(), gst::Bus::new());
    element.set_bus(Some(&bus));
    bus
}

#[test]
fn what_moves_is_told_and_attached_and_pixels_pass() {
    for launch in
        ["motiondetect", "motionestimate device=native algorithm=hierarchical block-size=8 ! motiondetect"]
    {
        let mut harness = harness(launch);
        let detect = harness.find_element("motiondetect").unwrap();
        let bus = gst::Bus::new();
        detect.set_bus(Some(&bus));
        let mut in_motion = 0;
        for number in 0..140 {
            harness.push(frame(number)).unwrap();
            let buffer = harness.pull().unwrap();
            assert_eq!(*buffer.map_readable().unwrap(), *frame(number).map_readable().unwrap());
            let camera = CameraMotion::of(&buffer).unwrap().unwrap();
            assert_eq!(camera.matrix, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "{launch} {number}");
            let regions: Vec<_> = RegionMotion::all_of(&buffer).collect();
            if (66..90).contains(&number) {
                let [region] = regions[..] else { panic!("{launch}, {number}: {regions:?}") };
                let left = 10 + 3 * (number as u32 - 60);
                let (x, y, width, height) = region.rect;
                assert!(x.abs_diff(left) <= 4 && y.abs_diff(40) <= 4, "{region:?} {left}");
                assert!(width.abs_diff(20) <= 8 && height.abs_diff(20) <= 8, "{region:?}");
                in_motion += 1;
            } else if !(60..95).contains(&number) {
                assert!(regions.is_empty(), "{launch}, {number}: {regions:?}");
            }
        }
        assert_eq!(in_motion, 24);
        let told = told(&bus);
        detect.set_bus(None);
        let [(begin, 1, 61..=65), (end, 1, 114..=118)] = &told[..] else { panic!("{launch}: {told:?}") };
        assert_eq!((&**begin, &**end), ("motion-begin", "motion-end"));
    }
}

#[test]
fn open_regions_end_at_eos_at_a_flush_and_with_other_caps() {
    for end in ["eos", "flush", "caps"] {
        let mut harness = harness("motiondetect");
        let bus = bus_of(&harness);
        for number in 0..75 {
            harness.push(frame(number)).unwrap();
        }
        assert_eq!(told(&bus).len(), 1, "{end}");
        match end {
            "eos" => assert!(harness.push_event(gst::event::Eos::new())),
            "flush" => {
                harness.push_event(gst::event::FlushStart::new());
                harness.push_event(gst::event::FlushStop::new(true));
            }
            _ => harness.set_src_caps_str(&CAPS.replace("160", "150")),
        }
        let told = told(&bus);
        harness.element().unwrap().set_bus(None);
        let [(message, 1, 74)] = &told[..] else { panic!("{end}: {told:?}") };
        assert_eq!(message, "motion-end");
    }
}

#[test]
fn a_gap_and_a_discontinuity_end_nothing() {
    let mut harness = harness("motiondetect");
    let bus = bus_of(&harness);
    for number in 0..75 {
        harness.push(frame(number)).unwrap();
    }
    told(&bus);
    harness.push_event(gst::event::Gap::builder(FRAME * 75).duration(FRAME).build());
    for number in 76..85 {
        let mut buffer = frame(number);
        buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
        harness.push(buffer).unwrap();
    }
    assert_eq!(told(&bus), []);
    harness.element().unwrap().set_bus(None);
}

#[test]
fn with_drop_still_frames_pass_from_the_pre_roll_to_the_post_roll_and_others_are_gaps() {
    let mut harness =
        harness("motiondetect drop=still pre-roll=400000000 post-roll=200000000 hold=200000000");
    for number in 0..140 {
        harness.push(frame(number)).unwrap();
    }
    harness.push_event(gst::event::Eos::new());
    let buffers: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
    let passed: Vec<_> = buffers.iter().map(|buffer| buffer.pts().unwrap() / FRAME).collect();
    let (first, last) = (passed[0], passed[passed.len() - 1]);
    assert!((50..=55).contains(&first) && (94..=100).contains(&last), "{first} to {last}");
    assert_eq!(passed, (first..=last).collect::<Vec<_>>());
    assert!(buffers[0].flags().contains(gst::BufferFlags::DISCONT));
    let events: Vec<_> = std::iter::from_fn(|| harness.try_pull_event()).collect();
    let gaps: Vec<_> = events
        .iter()
        .filter_map(|event| match event.view() {
            gst::EventView::Gap(gap) => Some(gap.get().0 / FRAME),
            _ => None,
        })
        .collect();
    assert_eq!(gaps, (0..first).chain(last + 1..140).collect::<Vec<_>>());
    let stats: gst::Structure = harness.find_element("motiondetect").unwrap().property("stats");
    assert_eq!(stats.get::<u64>("dropped"), Ok(gaps.len() as u64));
}

#[test]
fn regions_ask_encoders_for_their_quality_and_messages_can_be_left_out() {
    let mut harness = harness("motiondetect delta-qp=-6 messages=false");
    let bus = bus_of(&harness);
    for number in 0..75 {
        harness.push(frame(number)).unwrap();
    }
    let last = std::iter::from_fn(|| harness.try_pull()).last().unwrap();
    let region = last.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
    assert_eq!(region.roi_type(), "motion");
    assert_eq!(region.param("roi/x264enc").unwrap().get::<i32>("delta-qp"), Ok(-6));
    assert_eq!(told(&bus), []);
    harness.element().unwrap().set_bus(None);
}

#[test]
fn a_mask_that_cannot_be_used_is_refused_with_what_can() {
    crate::init();
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.pgm").display().to_string();
    // It takes no space on the disk.
    std::fs::File::create(&large).unwrap().set_len(1 << 30).unwrap();
    for (mask, part) in [
        ("0,0 1,2 1,1", "1,2"),
        ("/nowhere/mask.pgm", "/nowhere/mask.pgm"),
        (&large, "more than 67174400 bytes: save it with fewer samples"),
        ("0,0 1,1", "3"),
    ] {
        let element = gst::ElementFactory::make("motiondetect").property("mask", mask).build().unwrap();
        let bus = test_support::gstreamer::ElementBus::new(element.clone());
        assert!(element.set_state(gst::State::Paused).is_err());
        let message = bus.pop_filtered(&[gst::MessageType::Error]).expect("an error");
        let gst::MessageView::Error(error) = message.view() else { unreachable!() };
        assert!(error.error().to_string().contains(part), "{mask}: {}", error.error());
        element.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn frames_that_are_too_small_pass_untouched_with_a_warning() {
    let mut harness = harness("motiondetect");
    let bus = bus_of(&harness);
    harness.set_src_caps_str("video/x-raw,format=GRAY8,width=16,height=16,framerate=25/1");
    harness.push(gst::Buffer::from_mut_slice(vec![7u8; 256])).unwrap();
    let buffer = harness.pull().unwrap();
    assert!(CameraMotion::of(&buffer).is_none());
    let message = bus.pop_filtered(&[gst::MessageType::Warning]).expect("a warning");
    harness.element().unwrap().set_bus(None);
    let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
    assert!(warning.error().to_string().contains("16 x 16"), "{}", warning.error());
}

#[test]
fn regions_are_drawn_and_written() {
    let launch = |behind: &str, caps: &str| {
        let mut harness = harness(&format!("motiondetect ! {behind}"));
        harness.set_sink_caps_str(caps);
        for number in 0..75 {
            harness.push(frame(number)).unwrap();
        }
        let samples = |buffer: gst::Buffer| buffer.map_readable().unwrap().to_vec();
        std::iter::from_fn(|| harness.try_pull()).map(samples).collect::<Vec<_>>()
    };
    let drawn = launch("motionoverlay style=regions", CAPS);
    let original = frame(74).map_readable().unwrap().to_vec();
    let changed = drawn[74].iter().zip(&original).filter(|(drawn, original)| drawn != original).count();
    // The four sides of a square of about 20 samples, two wide.
    assert!((80..320).contains(&changed), "{changed}");
    assert_eq!(drawn[30], *frame(30).map_readable().unwrap());
    let written = launch("motionserialize", "application/x-ndjson");
    let object: serde_json::Value = serde_json::from_slice(&written[74]).unwrap();
    assert_eq!(object["regions"][0]["id"], 1);
    assert_eq!(object["camera"], serde_json::json!([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    let begun = written.iter().filter(|line| !line.windows(10).any(|part| part == b"\"begun\":[]")).count();
    assert_eq!(begun, 1);
}

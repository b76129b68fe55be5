//! Scene cuts and duplicates: what the meta, the bus and downstream are told.

use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{DownstreamForceKeyUnitEvent, VideoFormat, VideoInfo};
use gstmotionestimate::motionestimate::MotionEstimateSceneCut;
use motion_search::backend;

use super::support::*;

/// Whole blocks, of which enough lie inside.
const LARGE: (u32, u32) = (96, 64);

/// A frame of scene `scene`: squares of 16 samples, of levels that only this scene has, with texture.
fn scene_frame(info: &VideoInfo, scene: usize, time: u64) -> gst::Buffer {
    let mut buffer = frame(info, time);
    let stride = info.stride()[0] as usize;
    let mut map = buffer.get_mut().unwrap().map_writable().unwrap();
    for y in 0..info.height() as usize {
        for x in 0..info.width() as usize {
            let square = ((x / 16 + 31 * (y / 16) + 1009 * scene) as u32).wrapping_mul(0x9e37_79b1);
            let level = (square ^ square >> 15).wrapping_mul(0x85eb_ca77) >> 25;
            let texture = (x * 7 + y * 13 + x * y) % 11;
            map[y * stride + x] = (40 + level as usize + texture) as u8;
        }
    }
    drop(map);
    buffer
}

/// What leaves the element: buffers by their time, and events for key units.
#[derive(Clone, Debug, PartialEq)]
enum Left {
    Buffer(u64),
    KeyUnit { running_time: Option<gst::ClockTime>, count: u32 },
}

fn record(harness: &mut Harness) -> Arc<Mutex<Vec<Left>>> {
    let left = Arc::new(Mutex::new(Vec::new()));
    let noted = left.clone();
    let pad = harness.find_element("motionestimate").unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if let Some(buffer) = info.buffer() {
            noted.lock().unwrap().push(Left::Buffer(buffer.pts().unwrap().mseconds() / 40));
        } else if let Some(Ok(event)) = info.event().map(|event| DownstreamForceKeyUnitEvent::parse(event)) {
            let DownstreamForceKeyUnitEvent { running_time, count, .. } = event;
            noted.lock().unwrap().push(Left::KeyUnit { running_time, count });
        }
        gst::PadProbeReturn::Ok
    });
    left
}

fn cuts_told(bus: &gst::Bus) -> Vec<u64> {
    let messages = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]));
    let cuts = messages.filter_map(|message| {
        let structure = message.structure()?;
        let time = || structure.get::<gst::ClockTime>("running-time").unwrap();
        (structure.name() == "motion-scene-cut").then(|| time().mseconds() / 40)
    });
    cuts.collect()
}

fn with_bus(launch: &str, info: &VideoInfo) -> (Harness, ElementBus) {
    let mut harness = harness(launch, info);
    let bus = ElementBus::new(harness.find_element("motionestimate").unwrap());
    (harness, bus)
}

#[test]
fn cuts_are_told_to_all_before_their_frame() {
    let info = info(VideoFormat::I420, LARGE);
    for device in backend::devices() {
        let settings = [
            "scene-cut=key-unit",
            "scene-cut=key-unit direction=both references=2",
            "scene-cut=key-unit algorithm=hierarchical block-size=8",
            "scene-cut=key-unit pipeline-depth=3 costs=intra",
            "scene-cut=message",
        ];
        for settings in test_support::some_of(4, settings) {
            let (mut harness, bus) =
                with_bus(&format!("motionestimate device={} {settings}", device.selector), &info);
            let left = record(&mut harness);
            for time in 0..9 {
                harness.push(scene_frame(&info, usize::from((3..7).contains(&time)), time)).unwrap();
            }
            harness.push_event(gst::event::Eos::new());
            let buffers: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
            for (time, buffer) in buffers.iter().enumerate() {
                for meta in metas(buffer) {
                    let is_previous = meta.description().reference_offset == -1;
                    let expected = is_previous.then_some(time == 3 || time == 7);
                    assert_eq!(meta.is_scene_cut(), expected, "frame {time}, {settings}");
                }
            }
            assert_eq!(cuts_told(&bus), [3, 7], "{settings}");
            let unit = |time, count| Left::KeyUnit {
                running_time: Some(gst::ClockTime::from_mseconds(40) * time),
                count,
            };
            let mut expected: Vec<_> = (0..9).map(Left::Buffer).collect();
            if settings.contains("key-unit") {
                expected.insert(7, unit(7, 1));
                expected.insert(3, unit(3, 0));
            }
            assert_eq!(*left.lock().unwrap(), expected, "{settings}");
        }
    }
}

/// A frame without a reference frame is no cut, whatever was before: after a gap, a discontinuity and new caps.
#[test]
fn a_new_sequence_is_no_cut() {
    let info = info(VideoFormat::Gray8, LARGE);
    let (mut harness, bus) = with_bus("motionestimate device=native scene-cut=message", &info);
    let is_cut = |buffer: &gst::Buffer| meta(buffer).and_then(|meta| meta.is_scene_cut());
    let push = |harness: &mut Harness, buffer| is_cut(&harness.push_and_pull(buffer).unwrap());
    assert_eq!(push(&mut harness, scene_frame(&info, 0, 0)), None);
    assert_eq!(push(&mut harness, scene_frame(&info, 1, 1)), Some(true));
    harness.push_event(gst::event::Gap::builder(gst::ClockTime::from_mseconds(80)).build());
    assert_eq!(push(&mut harness, scene_frame(&info, 0, 3)), None);
    assert_eq!(push(&mut harness, scene_frame(&info, 0, 4)), Some(false));
    let mut discontinuous = scene_frame(&info, 1, 5);
    discontinuous.get_mut().unwrap().set_flags(gst::BufferFlags::DISCONT);
    assert_eq!(push(&mut harness, discontinuous), None);
    let other = super::support::info(VideoFormat::Gray8, (104, 72));
    harness.set_src_caps(other.to_caps().unwrap());
    assert_eq!(push(&mut harness, scene_frame(&other, 0, 6)), None);
    assert_eq!(push(&mut harness, scene_frame(&other, 1, 7)), Some(true));
    let element = harness.find_element("motionestimate").unwrap();
    element.set_property("scene-cut", MotionEstimateSceneCut::Off);
    assert_eq!(push(&mut harness, scene_frame(&other, 0, 8)), None);
    assert_eq!(cuts_told(&bus), [1, 7]);
}

#[test]
fn cuts_need_the_frame_before() {
    let (samples, message) = run("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 \
         ! motionestimate direction=forward scene-cut=message ! appsink name=sink");
    assert!(samples.is_empty());
    assert_eq!(
        error_text(&message),
        "scene cuts are found by comparing each frame with the frame before, which is not searched: search at least one \
         earlier reference frame (direction=backward or both)"
    );
}

/// Frames 0, 0, 1, 1 with other chroma, 1 again, 2.
fn repeated(info: &VideoInfo) -> Vec<gst::Buffer> {
    let buffers = [(0, 0x80), (0, 0x80), (1, 0x80), (1, 0x81), (1, 0x81), (2, 0x81)];
    let buffers = buffers.into_iter().enumerate().map(|(index, (time, chroma))| {
        // Rows are padded in turn: what lies between them does not count.
        let mut buffer = if index % 2 == 0 { frame(info, time) } else { padded_frame(info, time, 5) };
        let writable = buffer.get_mut().unwrap();
        writable.set_pts(gst::ClockTime::from_mseconds(40) * index as u64);
        let mut mapped = gst_video::VideoFrameRef::from_buffer_ref_writable(writable, info).unwrap();
        mapped.plane_data_mut(1).unwrap().fill(0x80);
        mapped.plane_data_mut(2).unwrap().fill(0x80);
        mapped.plane_data_mut(1).unwrap()[3] = chroma;
        drop(mapped);
        buffer
    });
    buffers.collect()
}

#[test]
fn duplicates_are_told_or_dropped() {
    let info = info(VideoFormat::I420, SIZE);
    for settings in ["", "algorithm=three-step", "metric=ssd sub-sample=quarter", "algorithm=hierarchical"] {
        let run = |drop: bool| {
            let launch =
                format!("motionestimate device=native block-size=8 drop-duplicates={drop} {settings}");
            let mut harness = harness(&launch, &info);
            let element = harness.find_element("motionestimate").unwrap();
            for buffer in repeated(&info) {
                harness.push(buffer).unwrap();
            }
            let out: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
            let stats = element.property::<gst::Structure>("stats");
            let dropped = stats.get::<u64>("frames-dropped").unwrap();
            let is_duplicate = |buffer: &gst::Buffer| meta(buffer).is_some_and(|meta| meta.is_duplicate());
            let told: Vec<_> =
                out.iter().map(|b| (b.pts().unwrap().mseconds() / 40, is_duplicate(b))).collect();
            (told, dropped)
        };
        let all = [(0, false), (1, true), (2, false), (3, true), (4, true), (5, false)];
        assert_eq!(run(false), (all.to_vec(), 0), "{settings}");
        // Luma alone does not make a duplicate that may be dropped.
        assert_eq!(run(true), (vec![(0, false), (2, false), (3, true), (5, false)], 2), "{settings}");
    }
}

/// The frame before is held, also of a pool with few buffers, and given back when upstream asks for it.
#[test]
fn dropping_needs_few_buffers() {
    let info = info(VideoFormat::Gray8, SIZE);
    let mut harness = harness("motionestimate device=native drop-duplicates=true", &info);
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let params = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    for time in 0..8 {
        let mut buffer = pool.acquire_buffer(Some(&params)).expect("one that nobody holds");
        let source = frame(&info, time / 2);
        let writable = buffer.get_mut().unwrap();
        writable.copy_from_slice(0, &source.map_readable().unwrap()).unwrap();
        writable.set_pts(gst::ClockTime::from_mseconds(40) * time);
        harness.push(buffer).unwrap();
        assert_eq!(harness.try_pull().is_some(), time % 2 == 0, "{time}");
    }
    let pad = harness.element().unwrap().static_pad("sink").unwrap();
    pad.query(gst::query::Drain::new().query_mut());
    let first = pool.acquire_buffer(Some(&params)).unwrap();
    assert!(pool.acquire_buffer(Some(&params)).is_ok());
    drop(first);
    pool.set_active(false).unwrap();
}

//! `reference-offset`: earlier and later reference frames.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta::{FieldDescription, MotionVectorMeta};
use motion_search::estimator::MotionVector;

use super::support::*;
use crate::support::pull as pulled;

const FRAMES: usize = 9;

/// In the order in which `motionestimate` attaches them.
const OFFSETS: [i32; 8] = [-1, -2, -3, -4, 1, 2, 3, 4];

fn video() -> VideoInfo {
    info(VideoFormat::I420, (61, 47))
}

/// The frame at `offset` from frame `time`, if there is one.
fn reference(time: usize, offset: i32) -> Option<usize> {
    usize::try_from(time as i32 + offset).ok().filter(|&time| time < FRAMES)
}

/// The field of frame `time` in that at `offset`, different for each.
fn field(info: &VideoInfo, time: usize, offset: i32) -> Option<(FieldDescription, Vec<MotionVector>)> {
    let reference = reference(time, offset)?;
    let description =
        FieldDescription { reference_offset: offset, ..description(info, (16, 16), reference + 1) };
    let vectors = vectors(&description, 10 * time + reference);
    Some((description, vectors))
}

/// Frame `time` with all its fields.
fn with_fields(info: &VideoInfo, time: usize) -> gst::Buffer {
    let mut buffer = buffer(info, &planes(info, time), time, None);
    for (description, vectors) in OFFSETS.iter().filter_map(|&offset| field(info, time, offset)) {
        attach(&mut buffer, &description, &vectors);
    }
    buffer
}

fn push(harness: &mut Harness, info: &VideoInfo, times: std::ops::Range<usize>) {
    for time in times {
        harness.push(with_fields(info, time)).unwrap();
    }
}

/// Checks that frame `time` is its prediction from the frame at `offset`, or unchanged if there is none.
fn check(info: &VideoInfo, out: &gst::Buffer, time: usize, offset: i32) {
    let expected = match (field(info, time, offset), reference(time, offset)) {
        (Some((description, vectors)), Some(reference)) => {
            predicted(info, &description, &vectors, &planes(info, reference))
        }
        _ => planes(info, time),
    };
    assert_eq!(out.pts(), Some(gst::ClockTime::from_mseconds(40) * time as u64));
    assert!(read(info, out) == expected, "frame {time} at {offset}");
    let fields = OFFSETS.iter().filter(|&&offset| reference(time, offset).is_some()).count();
    assert_eq!(MotionVectorMeta::all_of(out).count(), fields, "every field stays");
}

#[test]
fn frames_are_predicted_from_the_chosen_one() {
    let info = video();
    for setting in (-4..=4).rev() {
        let offset: i32 = if setting == 0 { -1 } else { setting };
        let (mut harness, bus) = harness(&format!("motioncompensate reference-offset={setting}"), &info);
        let delay = offset.max(0) as usize;
        for time in 0..FRAMES {
            assert_eq!(harness.push(with_fields(&info, time)), Ok(gst::FlowSuccess::Ok));
            assert_eq!(harness.buffers_received() as usize, (time + 1).saturating_sub(delay));
        }
        harness.push_event(gst::event::Eos::new());
        let out = pulled(&mut harness);
        assert_eq!(out.len(), FRAMES);
        out.iter().enumerate().for_each(|(time, out)| check(&info, out, time, offset));
        assert!(bus.pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]).is_none());
    }
}

#[test]
fn original_frames_are_measured_against_the_chosen_one() {
    let info = video();
    for offset in [-2, 2] {
        let launch = format!("motioncompensate mode=original measure=psnr reference-offset={offset}");
        let (mut harness, bus) = harness(&launch, &info);
        push(&mut harness, &info, 0..FRAMES);
        harness.push_event(gst::event::Eos::new());
        let out = pulled(&mut harness);
        for (time, out) in out.iter().enumerate() {
            assert!(read(&info, out) == planes(&info, time));
            assert_eq!(quality(out).is_some(), reference(time, offset).is_some(), "{time} at {offset}");
        }
        let total = messages(&bus, "motion-quality-total");
        assert_eq!(total[0].get::<u64>("frames"), Ok(FRAMES as u64));
        assert_eq!(total[0].get::<u64>("predicted"), Ok(FRAMES as u64 - 2));
    }
}

/// What ends a sequence lets the frames that wait go; no frame is predicted across it.
#[test]
fn frames_that_wait_leave_before_what_ends_the_sequence() {
    let info = video();
    let segment = || gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new());
    let gap = || gst::event::Gap::builder(gst::ClockTime::from_mseconds(120)).build();
    for event in [segment(), gap()] {
        let (mut harness, _bus) = harness("motioncompensate reference-offset=2", &info);
        push(&mut harness, &info, 0..3);
        harness.push_event(event);
        let out = pulled(&mut harness);
        assert_eq!(out.len(), 3);
        check(&info, &out[0], 0, 2);
        assert!(read(&info, &out[1]) == planes(&info, 1) && read(&info, &out[2]) == planes(&info, 2));
    }
    let (mut harness, _bus) = harness("motioncompensate reference-offset=2", &info);
    push(&mut harness, &info, 0..3);
    let mut discont = with_fields(&info, 3);
    discont.make_mut().set_flags(gst::BufferFlags::DISCONT);
    harness.push(discont).unwrap();
    let out = pulled(&mut harness);
    assert_eq!(out.len(), 3);
    assert!(read(&info, &out[1]) == planes(&info, 1), "not from the frame after the discontinuity");
}

#[test]
fn events_stay_in_order_and_a_flush_keeps_sticky_ones() {
    let info = video();
    let (mut harness, _bus) = harness("motioncompensate reference-offset=2", &info);
    let pad = harness.find_element("motioncompensate").unwrap().static_pad("src").unwrap();
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let into = log.clone();
    pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        into.lock().unwrap().push(match &info.data {
            Some(gst::PadProbeData::Event(event)) => event.type_().name().to_string(),
            Some(gst::PadProbeData::Buffer(buffer)) => buffer.pts().unwrap().mseconds().to_string(),
            other => panic!("{other:?}"),
        });
        gst::PadProbeReturn::Ok
    });
    let tag = || gst::event::Tag::new(gst::TagList::new());
    let custom = || gst::event::CustomDownstream::new(gst::Structure::new_empty("custom"));
    // The last two wait behind frames that the flush drops, and so does a custom one.
    for time in 0..4 {
        harness.push(with_fields(&info, time)).unwrap();
        harness.push_event(if time == 1 { custom() } else { tag() });
    }
    harness.push_event(custom());
    harness.push_event(gst::event::FlushStart::new());
    harness.push_event(gst::event::FlushStop::new(true));
    harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    let seen = log.lock().unwrap().clone();
    let own: Vec<_> = seen.iter().map(String::as_str).skip_while(|&name| name != "0").collect();
    assert_eq!(own, ["0", "tag", "40", "custom-downstream", "tag", "tag", "segment"]);
}

#[test]
fn the_offset_changes_while_playing() {
    let info = video();
    let (mut harness, _bus) = harness("motioncompensate reference-offset=2", &info);
    let element = harness.find_element("motioncompensate").unwrap();
    let mut offsets = [2, 2, 2, 2, -1, -1, 1, 1, 1];
    for (time, offset) in offsets.into_iter().enumerate() {
        element.set_property("reference-offset", offset);
        harness.push(with_fields(&info, time)).unwrap();
    }
    harness.push_event(gst::event::Eos::new());
    // Those that waited then had no later frame, the first ones after it no earlier one.
    (offsets[2], offsets[3], offsets[4]) = (99, 99, 99);
    let out = pulled(&mut harness);
    assert_eq!(out.len(), FRAMES);
    out.iter().zip(offsets).enumerate().for_each(|(time, (out, offset))| check(&info, out, time, offset));
}

#[test]
fn real_fields_of_each_offset_predict() {
    for offset in [-2_i32, -1, 1, 2] {
        let pipeline = crate::fields::launch(&format!(
            "videotestsrc num-buffers=10 pattern=ball ! video/x-raw,format=I420,width=128,height=96 \
             ! motionestimate device=native direction=both references=2 pipeline-depth=2 \
             ! motioncompensate measure=psnr reference-offset={offset} ! appsink name=sink"
        ));
        let buffers = crate::fields::run(&pipeline);
        assert_eq!(buffers.len(), 10);
        let measured = buffers.iter().filter(|buffer| quality(buffer).is_some()).count();
        assert_eq!(measured, 10 - offset.unsigned_abs() as usize, "at {offset}");
    }
}

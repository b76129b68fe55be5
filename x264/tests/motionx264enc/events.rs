//! What happens between frames: key units, caps, flushes, settings that change.

use gst::prelude::*;
use gst_motion_fields::meta::{self, Extras, FieldDescription};
use gst_video::{DownstreamForceKeyUnitEvent, UpstreamForceKeyUnitEvent, VideoFormat, VideoInfo};
use motion_search::estimator::Metric;

use crate::support::{SEARCH, bytes, frame, harness, key_units, pull};

const LIVE: &str = "motionx264enc tune=zerolatency speed-preset=veryfast threads=1";

#[test]
fn key_units_at_a_running_time_with_all_headers() {
    for format in ["avc", "byte-stream"] {
        let (mut encoder, info) = harness(LIVE);
        encoder.set_sink_caps_str(&format!("video/x-h264,stream-format={format}"));
        (0..3).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
        let at = gst::ClockTime::from_mseconds(200);
        encoder.push_upstream_event(
            UpstreamForceKeyUnitEvent::builder().running_time(at).all_headers(true).count(7).build(),
        );
        (3..8).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
        let event = std::iter::from_fn(|| encoder.try_pull_event())
            .find_map(|event| DownstreamForceKeyUnitEvent::parse(&event).ok())
            .expect("the event comes out");
        assert_eq!((event.running_time, event.all_headers, event.count), (Some(at), true, 7));
        let out = pull(&mut encoder);
        let keys: Vec<_> = key_units(&out);
        assert_eq!(keys, [true, false, false, false, false, true, false, false], "{format}");
        let parameter_sets = |buffer: &gst::Buffer| {
            let bytes = bytes(std::slice::from_ref(buffer));
            let kinds = [0x67, 0x68];
            kinds
                .iter()
                .all(|kind| bytes.windows(4).any(|w| (w[0], w[1], w[3]) == (0, 0, *kind) && w[2] <= 30))
        };
        let with: Vec<_> = out.iter().map(parameter_sets).collect();
        assert_eq!(with, keys, "{format}");
    }
}

#[test]
fn refreshed_video_has_no_further_key_frames() {
    let (mut encoder, info) = harness("motionx264enc tune=zerolatency intra-refresh=true threads=1");
    encoder.set_sink_caps_str("video/x-h264,stream-format=byte-stream");
    (0..3).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
    encoder.push_upstream_event(UpstreamForceKeyUnitEvent::builder().build());
    (3..6).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
    // The type of a slice of a frame that needs no other, behind a start code.
    let is_instant = |buffer: &gst::Buffer| {
        bytes(std::slice::from_ref(buffer))
            .windows(4)
            .any(|four| four[..3] == [0, 0, 1] && four[3] & 0x1f == 5)
    };
    let out = pull(&mut encoder);
    assert_eq!(out.iter().map(is_instant).collect::<Vec<_>>(), [true, false, false, false, false, false]);
}

#[test]
fn the_bit_rate_changes_while_frames_are_encoded() {
    let (mut encoder, info) = harness(&format!("{LIVE} bitrate=40 vbv-buf-capacity=100"));
    let element = encoder.find_element("motionx264enc").unwrap();
    let mut size = |first: u64| {
        (first..first + 25).for_each(|number| _ = encoder.push(frame(&info, number * 7)).unwrap());
        bytes(&pull(&mut encoder)).len()
    };
    let low = size(0);
    element.set_property("bitrate", 400_u32);
    let high = size(25);
    assert!(high > 2 * low, "{low} and {high} bytes");
    assert_eq!(element.property::<u32>("bitrate"), 400);
    // What changes only before the start stays.
    element.set_property("bframes", 3_u32);
    assert_eq!(element.property::<u32>("bframes"), 0);
}

/// The encoder holds frames back, which come out before the new caps.
#[test]
fn caps_change_between_frames() {
    let (mut encoder, info) = harness("motionx264enc rc-lookahead=10 bframes=2");
    (0..5).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
    assert_eq!(encoder.buffers_in_queue(), 0);
    let larger =
        VideoInfo::builder(VideoFormat::Nv12, 96, 80).fps(gst::Fraction::new(50, 1)).build().unwrap();
    encoder.push_event(gst::event::Caps::new(&larger.to_caps().unwrap()));
    assert_eq!(encoder.buffers_in_queue(), 5);
    (5..8).for_each(|number| _ = encoder.push(frame(&larger, number)).unwrap());
    encoder.push_event(gst::event::Eos::new());
    let out = pull(&mut encoder);
    assert_eq!(out.len(), 8);
    let keys = key_units(&out);
    assert!(keys[0] && keys[5], "{keys:?}");
    let caps = encoder.sinkpad().unwrap().current_caps().unwrap();
    let sides = ["width", "height"].map(|side| caps.structure(0).unwrap().get::<i32>(side).unwrap());
    assert_eq!(sides, [96, 80]);
    // The same caps again change nothing.
    let (mut encoder, info) = harness(LIVE);
    encoder.push(frame(&info, 0)).unwrap();
    encoder.push_event(gst::event::Caps::new(&info.to_caps().unwrap()));
    encoder.push(frame(&info, 1)).unwrap();
    assert_eq!(key_units(&pull(&mut encoder)), [true, false]);
}

#[test]
fn a_flush_drops_what_is_held_back() {
    let (mut encoder, info) = harness("motionx264enc rc-lookahead=10");
    (0..5).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
    encoder.push_event(gst::event::FlushStart::new());
    encoder.push_event(gst::event::FlushStop::new(true));
    encoder.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    (10..12).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
    encoder.push_event(gst::event::Eos::new());
    let out = pull(&mut encoder);
    assert_eq!(key_units(&out), [true, false]);
}

#[test]
fn latency_and_tags() {
    let latency = |encoder: &str| {
        let (mut encoder, info) = harness(encoder);
        (0..30).for_each(|number| _ = encoder.push(frame(&info, number)).unwrap());
        let tags = std::iter::from_fn(|| encoder.try_pull_event()).find_map(|event| match event.view() {
            gst::EventView::Tag(tag) => Some(tag.tag_owned()),
            _ => None,
        });
        let tags = tags.expect("tags");
        assert_eq!(tags.get::<gst::tags::Encoder>().unwrap().get(), "x264");
        assert_eq!(tags.get::<gst::tags::NominalBitrate>().unwrap().get(), 2048 * 1024);
        encoder.query_latency().unwrap()
    };
    assert_eq!(latency("motionx264enc tune=zerolatency"), gst::ClockTime::ZERO);
    let of_ten = latency("motionx264enc rc-lookahead=10 sync-lookahead=0 threads=1 bframes=2");
    assert!((400..600).contains(&of_ten.mseconds()), "{of_ten}");
}

/// A field that says whether a scene begins.
fn with_scene_cut(mut buffer: gst::Buffer, is_scene_cut: bool) -> gst::Buffer {
    let description = FieldDescription {
        width: 64,
        height: 48,
        block_width: 16,
        block_height: 16,
        columns: 4,
        rows: 3,
        scale: 4,
        reference_offset: -1,
        reference_pts: None,
        metric: Metric::Sad,
        bit_depth: 8,
    };
    let vectors = glib::Bytes::from_owned(vec![1_u8; 12 * 8]);
    let extras = Extras { is_scene_cut: Some(is_scene_cut), ..Extras::default() };
    meta::attach(buffer.get_mut().unwrap(), &description, vectors, extras).unwrap();
    buffer
}

#[test]
fn scene_cuts_of_the_field_begin_key_units_where_x264_does_not_look() {
    let keys = |encoder: &str| {
        let (mut encoder, info) = harness(encoder);
        for number in 0..6 {
            encoder.push(with_scene_cut(frame(&info, number), number == 3)).unwrap();
        }
        key_units(&pull(&mut encoder))
    };
    let cut = [true, false, false, true, false, false];
    assert_eq!(keys(&format!("{LIVE} option-string=scenecut=0")), cut);
    assert_eq!(keys("motionx264enc tune=zerolatency speed-preset=ultrafast"), cut);
    // Frames that move by two samples are no cut for x264.
    assert_eq!(keys(LIVE), [true, false, false, false, false, false]);
}

/// The event that `motionestimate scene-cut=key-unit` sends, in a pipeline.
#[test]
fn scene_cuts_of_a_search() {
    let pipeline = format!(
        "videotestsrc num-buffers=6 pattern=smpte ! video/x-raw,width=96,height=80 ! {SEARCH} scene-cut=key-unit ! {LIVE}"
    );
    let (buffers, _) = crate::support::encoded(&pipeline);
    assert_eq!(key_units(&buffers), [true, false, false, false, false, false]);
}

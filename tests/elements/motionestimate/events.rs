//! Right vectors or none, whatever happens to the stream.

use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

use super::support::*;

/// Two frames, then `disturb`, then two frames more: the first of them must have no vectors.
fn check_forgets(disturb: impl FnOnce(&mut Harness)) {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let before = [pass(&mut harness, &info, 0), pass(&mut harness, &info, 1)];
    check_sequence(&info, &parameters(&info), &before);
    disturb(&mut harness);
    let after = [pass(&mut harness, &info, 2), pass(&mut harness, &info, 3)];
    check_sequence(&info, &parameters(&info), &after);
}

fn segment() -> gst::Event {
    gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())
}

#[test]
fn flush() {
    check_forgets(|harness| {
        assert!(harness.push_event(gst::event::FlushStart::new()));
        assert!(harness.push_event(gst::event::FlushStop::new(true)));
        assert!(harness.push_event(segment()));
    });
}

#[test]
fn new_segment() {
    check_forgets(|harness| assert!(harness.push_event(segment())));
}

#[test]
fn new_stream() {
    check_forgets(|harness| assert!(harness.push_event(gst::event::StreamStart::new("another"))));
}

#[test]
fn gap() {
    check_forgets(|harness| {
        let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(80)).build();
        assert!(harness.push_event(gap));
    });
}

#[test]
fn discontinuity() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    pass(&mut harness, &info, 0);
    let mut buffer = frame(&info, 1);
    buffer.get_mut().unwrap().set_flags(gst::BufferFlags::DISCONT);
    let discont = harness.push_and_pull(buffer).unwrap();
    assert!(discont.flags().contains(gst::BufferFlags::DISCONT));
    let next = pass(&mut harness, &info, 2);
    check_sequence(&info, &parameters(&info), &[discont, next]);
}

#[test]
fn events_that_change_nothing_keep_the_reference() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let first = pass(&mut harness, &info, 0);
    let mut tags = gst::TagList::new();
    tags.make_mut().add::<gst::tags::Title>(&"title", gst::TagMergeMode::Append);
    assert!(harness.push_event(gst::event::Tag::new(tags)));
    assert!(harness.push_event(gst::event::Caps::new(&info.to_caps().unwrap())));
    let second = pass(&mut harness, &info, 1);
    check_sequence(&info, &parameters(&info), &[first, second]);
}

fn check_caps_change(before: &VideoInfo, after: &VideoInfo) {
    let mut harness = harness(ELEMENT, before);
    let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, before, time)).collect();
    check_sequence(before, &parameters(before), &buffers);
    harness.set_src_caps(after.to_caps().unwrap());
    let buffers: Vec<_> = (3..6).map(|time| pass(&mut harness, after, time)).collect();
    check_sequence(after, &parameters(after), &buffers);
}

#[test]
fn caps_change() {
    check_caps_change(&gray(), &info(VideoFormat::Gray8, (80, 33)));
    check_caps_change(&gray(), &info(VideoFormat::Nv12, SIZE));
}

/// The meta of a `motionestimate` upstream is replaced, or dropped where there is no reference.
#[test]
fn vectors_that_a_buffer_brings_along_do_not_stay() {
    let info = gray();
    let mut harness = harness(&format!("motionestimate device=native ! {ELEMENT}"), &info);
    let first = pass(&mut harness, &info, 0);
    let second = pass(&mut harness, &info, 1);
    check_sequence(&info, &parameters(&info), &[first, second]);

    let mut marked = pass(&mut harness, &info, 2);
    assert!(meta(&marked).is_some());
    marked.make_mut().set_flags(gst::BufferFlags::DISCONT);
    check_no_vectors(&harness.push_and_pull(marked).unwrap());
}

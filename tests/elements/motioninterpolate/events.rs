//! No frame is made across what ends a sequence, and none is lost.

use super::support::*;

const IN: Rate = (25, 1);
const OUT: Rate = (50, 1);

/// Two frames, then `disturb`, then two frames from 400 ms on; what came out of both.
fn around(disturb: impl FnOnce(&mut gst_check::Harness)) -> [Vec<gst::Buffer>; 3] {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..2);
    let before = pull(&mut harness);
    disturb(&mut harness);
    let between = pull(&mut harness);
    push_all(&mut harness, IN, 10..12);
    [before, between, pull(&mut harness)]
}

/// Checks that the last frame before the event was shown for its duration, if `is_shown`, and nothing was made over it.
fn check([before, between, after]: [Vec<gst::Buffer>; 3], is_shown: bool, is_marked: bool) {
    assert_eq!((milliseconds(&before), shown(&before, IN)), (vec![0, 20, 40], vec![Some(0), None, Some(1)]));
    let expected = if is_shown { (vec![60], vec![Some(1)]) } else { (vec![], vec![]) };
    assert_eq!((milliseconds(&between), shown(&between, IN)), expected);
    assert_eq!(
        (milliseconds(&after), shown(&after, IN)),
        (vec![400, 420, 440], vec![Some(10), None, Some(11)])
    );
    assert_eq!(after.iter().map(|buffer| is_discont(buffer)).collect::<Vec<_>>(), [is_marked, false, false]);
}

#[test]
fn gap() {
    let found = around(|harness| {
        let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(80)).build();
        assert!(harness.push_event(gap));
    });
    check(found, true, true);
    // It has a place of its own: nothing is shown in it.
    let found = around(|harness| {
        let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(50)).build();
        assert!(harness.push_event(gap));
    });
    check(found, false, true);
}

#[test]
fn a_gap_event_leaves_behind_the_frames_before_it() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..2);
    events(&mut harness);
    let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(80))
        .duration(gst::ClockTime::from_mseconds(40))
        .build();
    assert!(harness.push_event(gap.clone()));
    let [found] = &events(&mut harness)[..] else { panic!("one event") };
    assert!(found.structure() == gap.structure() && found.seqnum() == gap.seqnum());
}

#[test]
fn segment_and_stream() {
    let found = around(|harness| {
        assert!(harness.push_event(gst::event::Segment::new(&segment(7))));
    });
    check(found, true, false);
    let found = around(|harness| {
        assert!(harness.push_event(gst::event::StreamStart::new("another")));
    });
    check(found, true, false);
}

#[test]
fn flush() {
    let found = around(|harness| {
        assert!(harness.push_event(gst::event::FlushStart::new()));
        assert!(harness.push_event(gst::event::FlushStop::new(true)));
        assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
    });
    check(found, false, false);
}

#[test]
fn discontinuity() {
    let mut harness = blending(IN, OUT);
    let info = i420(IN);
    push_all(&mut harness, IN, 0..2);
    let mut buffer = frame(&info, IN, 3);
    buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
    push(&mut harness, buffer);
    push_all(&mut harness, IN, 4..5);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 20, 40, 60, 120, 140, 160]);
    assert_eq!(shown(&found, IN), [Some(0), None, Some(1), Some(1), Some(3), None, Some(4)]);
    let marked: Vec<_> = found.iter().map(|buffer| is_discont(buffer)).collect();
    assert_eq!(marked, [false, false, false, false, true, false, false]);
}

#[test]
fn a_discontinuity_may_go_back() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 5..7);
    let mut buffer = frame(&i420(IN), IN, 2);
    buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
    push(&mut harness, buffer);
    push_all(&mut harness, IN, 3..4);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [200, 220, 240, 80, 100, 120]);
    assert_eq!(count(&harness, "out-of-order"), 0);
}

#[test]
fn a_source_that_stalls_is_no_slow_motion() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, [0, 1, 27, 28]);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 20, 40, 60, 1080, 1100, 1120]);
    assert_eq!(shown(&found, IN), [Some(0), None, Some(1), Some(1), Some(27), None, Some(28)]);
    assert!(is_discont(&found[4]) && !is_discont(&found[5]));
    // Up to a second is filled.
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, [0, 25]);
    assert_eq!(pull(&mut harness).len(), 51);
}

#[test]
fn end_of_stream_lets_the_last_frame_leave_once() {
    let mut harness = blending((24, 1), (60, 1));
    push_all(&mut harness, (24, 1), 0..2);
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 16, 33, 50, 66]);
    assert_eq!(shown(&found, (24, 1)), [Some(0), None, None, Some(1), Some(1)]);
    let mut harness = blending(IN, OUT);
    end(&mut harness);
    assert!(pull(&mut harness).is_empty());
}

#[test]
fn the_end_of_a_segment_shows_the_last_frame_too() {
    let found = around(|harness| {
        let done = gst::event::SegmentDone::new(gst::ClockTime::from_mseconds(80));
        assert!(harness.push_event(done));
    });
    check(found, true, false);
}

#[test]
fn caps_change() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..2);
    let other = video(gst_video::VideoFormat::Nv12, (20, 8), (30, 1));
    harness.set_src_caps(other.to_caps().unwrap());
    for number in 0..3 {
        push(&mut harness, frame_at(&other, number, 80_000_000 + time((30, 1), number)));
    }
    end(&mut harness);
    let found = pull(&mut harness);
    // 80 + k · 20 ms until three frames of 30 a second have passed.
    assert_eq!(milliseconds(&found), [0, 20, 40, 60, 80, 100, 120, 140, 160]);
    let sizes: Vec<_> = found.iter().map(|buffer| buffer.size()).collect();
    assert_eq!(sizes, [[i420(IN).size(); 4].as_slice(), &[other.size(); 5]].concat());
}

#[test]
fn the_same_caps_again_change_nothing() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..1);
    assert!(harness.push_event(gst::event::Caps::new(&i420(IN).to_caps().unwrap())));
    let mut tags = gst::TagList::new();
    tags.make_mut().add::<gst::tags::Title>(&"title", gst::TagMergeMode::Append);
    assert!(harness.push_event(gst::event::Tag::new(tags)));
    push_all(&mut harness, IN, 1..2);
    assert_eq!(shown(&pull(&mut harness), IN), [Some(0), None, Some(1)]);
}

#[test]
fn another_output_rate_in_mid_stream() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..2);
    harness.set_sink_caps_str("video/x-raw,framerate=100/1");
    push_all(&mut harness, IN, 2..4);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [0, 20, 40, 60, 80, 90, 100, 110, 120, 130, 140, 150]);
}

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

/// The numbers of output frames from `first` milliseconds on, and of the input frames that they show.
fn every_20_ms(first: u64, shown: &[Option<u64>]) -> (Vec<u64>, Vec<Option<u64>>) {
    ((0..shown.len() as u64).map(|k| first + 20 * k).collect(), shown.to_vec())
}

/// What `buffers` are, as [`every_20_ms`] has it.
fn found(buffers: &[gst::Buffer]) -> (Vec<u64>, Vec<Option<u64>>) {
    assert!(buffers.iter().skip(1).all(|buffer| !is_discont(buffer)));
    (milliseconds(buffers), shown(buffers, IN))
}

const BEFORE: [Option<u64>; 3] = [Some(0), None, Some(1)];

const AFTER: [Option<u64>; 3] = [Some(10), None, Some(11)];

fn repeated(number: u64, count: usize) -> Vec<Option<u64>> {
    vec![Some(number); count]
}

#[test]
fn a_gap_repeats_the_frame_before() {
    init();
    let gap = |ms, duration: Option<u64>| {
        let duration = duration.map(gst::ClockTime::from_mseconds);
        let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(ms)).duration(duration).build();
        move |harness: &mut gst_check::Harness| assert!(harness.push_event(gap))
    };
    let [before, between, after] = around(gap(80, None));
    assert_eq!(found(&before), every_20_ms(0, &BEFORE));
    assert!(between.is_empty());
    assert_eq!(found(&after), every_20_ms(60, &[&repeated(1, 17)[..], &AFTER].concat()));
    // What it covers leaves at once, for those that wait for it.
    let [_, between, after] = around(gap(80, Some(100)));
    assert_eq!(found(&between), every_20_ms(60, &repeated(1, 6)));
    assert_eq!(found(&after), every_20_ms(180, &[&repeated(1, 11)[..], &AFTER].concat()));
}

/// What a frame lasts while the stream goes on, whatever the gap has in time.
#[test]
fn frames_last_until_the_next_one() {
    init();
    for (output, gaps) in [
        ((25, 1), &[(80, 60), (140, 7), (150, 90)][..]),
        ((50, 1), &[(80, 33), (113, 61), (175, 90)]),
        ((30, 1), &[(80, 100), (180, 1), (181, 70)]),
    ] {
        for count in 1..=gaps.len() {
            let mut harness = blending(IN, output);
            push_all(&mut harness, IN, 0..2);
            for &(at, duration) in &gaps[..count] {
                let [at, duration] = [at, duration].map(gst::ClockTime::from_mseconds);
                assert!(harness.push_event(gst::event::Gap::builder(at).duration(duration).build()));
            }
            push_all(&mut harness, IN, 10..12);
            end(&mut harness);
            let found = pull(&mut harness);
            let times: Vec<_> =
                found.iter().map(|buffer| (pts(buffer), buffer.duration().unwrap().nseconds())).collect();
            let whole = |number| (time(output, number), time(output, number + 1) - time(output, number));
            let expected: Vec<_> = (0..).map(whole).take_while(|(at, _)| *at < 480_000_000).collect();
            let (last, others) = times.split_last().unwrap();
            assert_eq!(others, &expected[..expected.len() - 1], "{output:?} {count}");
            assert_eq!((last.0, last.0 + last.1), (expected[others.len()].0, 480_000_000));
        }
    }
}

/// Also where other caps, another stream or a segment follow in the same grid.
#[test]
fn a_frame_before_others_of_the_grid_lasts_until_the_next_one() {
    init();
    let input = (24, 1);
    let mut segment = segment(70_000_000);
    segment.set_base(gst::ClockTime::from_nseconds(70_000_000));
    let other = video(gst_video::VideoFormat::Nv12, (20, 8), input);
    for (event, next) in [
        (gst::event::StreamStart::new("another"), None),
        (gst::event::Caps::new(&other.to_caps().unwrap()), Some(other.clone())),
        (gst::event::Segment::new(&segment), None),
    ] {
        let mut harness = blending(input, OUT);
        push_all(&mut harness, input, 0..1);
        let mut second = frame(&i420(input), input, 1);
        second.make_mut().set_duration(gst::ClockTime::from_nseconds(70_000_000 - time(input, 1)));
        push(&mut harness, second);
        assert!(harness.push_event(event));
        let info = next.unwrap_or_else(|| i420(input));
        push(&mut harness, frame_at(&info, 2, 70_000_000));
        push(&mut harness, frame_at(&info, 3, 70_000_000 + time(input, 1)));
        let found = pull(&mut harness);
        assert!(found.len() >= 6);
        assert!(milliseconds(&found).into_iter().eq((0..found.len() as u64).map(|number| 20 * number)));
        assert!(found.iter().all(|buffer| buffer.duration() == Some(gst::ClockTime::from_mseconds(20))));
    }
    // Nothing follows in the grid.
    let mut harness = blending(input, OUT);
    push_all(&mut harness, input, 0..2);
    assert!(harness.push_event(gst::event::Segment::new(&super::support::segment(5_000_000_000))));
    let last = pull(&mut harness).pop().unwrap();
    assert_eq!((pts(&last), last.duration().unwrap().nseconds()), (80_000_000, 3_333_333));
}

#[test]
fn nothing_is_missing_at_a_gap_or_discontinuity_between_neighbours() {
    let mut harness = blending(IN, OUT);
    for number in 0..10 {
        let mut buffer = frame(&i420(IN), IN, number);
        buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
        push(&mut harness, buffer);
        let at = gst::ClockTime::from_nseconds(time(IN, number + 1));
        assert!(harness.push_event(gst::event::Gap::builder(at).build()));
    }
    let buffers = pull(&mut harness);
    let shown: Vec<_> = (0..19).map(|k| (k % 2 == 0).then_some(k / 2)).collect();
    assert_eq!(found(&buffers), every_20_ms(0, &shown));
}

#[test]
fn a_gap_that_is_filled_is_no_gap_of_the_output() {
    let gap = |duration| {
        let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(80));
        gap.duration(gst::ClockTime::from_mseconds(duration)).build()
    };
    for (rate, frames, duration, passes) in
        [(OUT, 2, 40, false), (OUT, 2, 10, true), (OUT, 0, 40, true), ((0, 1), 2, 40, true)]
    {
        let mut harness = harness("motioninterpolate mode=blend", &i420(IN), rate);
        push_all(&mut harness, IN, 0..frames);
        events(&mut harness);
        let gap = gap(duration);
        assert!(harness.push_event(gap.clone()));
        let found = events(&mut harness).pop();
        let found = found.filter(|event| event.type_() == gst::EventType::Gap);
        let is_same =
            found.map(|event| event.structure() == gap.structure() && event.seqnum() == gap.seqnum());
        assert_eq!(is_same, passes.then_some(true), "{rate:?} {frames} {duration}");
    }
}

#[test]
fn a_segment_that_does_not_go_on_starts_another_grid() {
    let [before, between, after] = around(|harness| {
        assert!(harness.push_event(gst::event::Segment::new(&segment(353_000_007))));
    });
    assert_eq!(found(&before), every_20_ms(0, &BEFORE));
    assert_eq!(found(&between), every_20_ms(60, &repeated(1, 1)));
    assert_eq!(pts(&after[0]), 353_000_007);
    // The frame at 400 ms is that at 393.
    assert_eq!(found(&after), every_20_ms(353, &[&repeated(10, 2)[..], &AFTER].concat()));
}

#[test]
fn a_segment_that_goes_on_in_running_time_keeps_the_grid() {
    let mut harness = blending(IN, OUT);
    let at = |start, base| {
        let mut segment = segment(start);
        segment.set_base(gst::ClockTime::from_nseconds(base));
        gst::event::Segment::new(&segment)
    };
    // 70 ms: no multiple of 20.
    push_all(&mut harness, IN, 0..1);
    let mut last = frame(&i420(IN), IN, 1);
    last.make_mut().set_duration(gst::ClockTime::from_mseconds(30));
    push(&mut harness, last);
    assert!(harness.push_event(at(5_000_000_000, 70_000_000)));
    push_all(&mut harness, IN, 125..127);
    // Running times 0, 20, 40, 60; 80 and so on.
    assert_eq!(milliseconds(&pull(&mut harness)), [0, 20, 40, 60, 5010, 5030, 5050]);
    // Where running time does not go on another grid starts.
    assert!(harness.push_event(at(5_000_000_000, 500_000_000)));
    push_all(&mut harness, IN, 125..126);
    assert_eq!(milliseconds(&pull(&mut harness)), [5070, 5000]);
}

#[test]
fn a_segment_with_the_same_running_times_changes_nothing() {
    let mut harness = blending(IN, OUT);
    let mut segment = segment(0);
    let mut push_segment = |harness: &mut gst_check::Harness, change: fn(&mut gst::FormattedSegment<_>)| {
        change(&mut segment);
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
    };
    push_segment(&mut harness, |_| ());
    push_all(&mut harness, IN, 1..3);
    push_segment(&mut harness, |_| ());
    push_all(&mut harness, IN, 3..4);
    push_segment(&mut harness, |segment| {
        segment.set_start(gst::ClockTime::from_mseconds(100));
        segment.set_time(gst::ClockTime::from_mseconds(100));
        segment.set_base(gst::ClockTime::from_mseconds(100));
    });
    push_segment(&mut harness, |segment| segment.set_stop(gst::ClockTime::from_mseconds(280)));
    push_all(&mut harness, IN, 4..5);
    // Nothing is made across another stream.
    assert!(harness.push_event(gst::event::StreamStart::new("another")));
    push_segment(&mut harness, |_| ());
    push_all(&mut harness, IN, 5..6);
    end(&mut harness);
    let shown = [1, 1, 1, 99, 2, 99, 3, 99, 4, 4, 5, 5, 5, 5].map(|number| (number < 99).then_some(number));
    assert_eq!(found(&pull(&mut harness)), every_20_ms(0, &shown));
}

#[test]
fn a_source_that_begins_anew_in_the_same_segment_loses_nothing() {
    let mut harness = blending(IN, OUT);
    for _ in 0..2 {
        assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
        push_all(&mut harness, IN, 0..4);
    }
    end(&mut harness);
    let buffers = pull(&mut harness);
    assert_eq!(milliseconds(&buffers), [0, 20, 40, 60, 80, 100, 120, 140].repeat(2));
    assert_eq!(
        shown(&buffers, IN),
        [Some(0), None, Some(1), None, Some(2), None, Some(3), Some(3)].repeat(2)
    );
    assert_eq!(count(&harness, "out-of-order"), 0);
    // A frame whose timestamp repeats is dropped.
    let mut harness = blending(IN, OUT);
    assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
    push_all(&mut harness, IN, [0, 1]);
    assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
    push_all(&mut harness, IN, [1, 2]);
    assert_eq!(count(&harness, "out-of-order"), 1);
}

#[test]
fn another_stream_goes_on_with_the_grid() {
    let [_, between, after] = around(|harness| {
        assert!(harness.push_event(gst::event::StreamStart::new("another")));
    });
    assert_eq!(found(&between), every_20_ms(60, &repeated(1, 1)));
    assert_eq!(found(&after), every_20_ms(80, &[&repeated(10, 16)[..], &AFTER].concat()));
}

#[test]
fn a_flush_drops_what_has_not_left_and_begins_anew() {
    let [before, between, after] = around(|harness| {
        assert!(harness.push_event(gst::event::FlushStart::new()));
        assert!(harness.push_event(gst::event::FlushStop::new(true)));
        assert!(harness.push_event(gst::event::Segment::new(&segment(360_000_000))));
    });
    assert_eq!(found(&before), every_20_ms(0, &BEFORE));
    assert!(between.is_empty());
    assert_eq!(found(&after), every_20_ms(360, &[&repeated(10, 2)[..], &AFTER].concat()));
}

#[test]
fn a_discontinuity_repeats_the_frame_before_where_content_is_missing() {
    let mut harness = blending(IN, OUT);
    let info = i420(IN);
    push_all(&mut harness, IN, 0..2);
    let mut buffer = frame(&info, IN, 3);
    buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
    push(&mut harness, buffer);
    push_all(&mut harness, IN, 4..5);
    let buffers = pull(&mut harness);
    let shown = [Some(0), None, Some(1), Some(1), Some(1), Some(1), Some(3), None, Some(4)];
    assert_eq!(found(&buffers), every_20_ms(0, &shown));
}

#[test]
fn a_discontinuity_may_go_back() {
    let mut harness = blending(IN, OUT);
    assert!(harness.push_event(gst::event::Segment::new(&segment(200_000_000))));
    push_all(&mut harness, IN, 5..7);
    let mut buffer = frame(&i420(IN), IN, 7);
    buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
    buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(205));
    push(&mut harness, buffer);
    push(&mut harness, frame_at(&i420(IN), 8, 245_000_000));
    let found = pull(&mut harness);
    // 205 ms is shown at 200.
    assert_eq!(milliseconds(&found), [200, 220, 240, 260, 200, 220, 240]);
    assert_eq!(shown(&found[4..], IN), [Some(7), None, Some(8)]);
    assert_eq!(count(&harness, "out-of-order"), 0);
}

#[test]
fn a_source_that_stalls_is_no_slow_motion() {
    for (launch, made) in [("mode=blend", [2, 0]), ("device=native", [2, 0])] {
        let info = i420(IN);
        let mut harness = super::support::harness(&format!("motioninterpolate {launch}"), &info, OUT);
        push_all(&mut harness, IN, [0, 1, 27, 28]);
        let buffers = pull(&mut harness);
        let shown = [&BEFORE[..], &repeated(1, 51), &[Some(27), None, Some(28)]].concat();
        assert_eq!(found(&buffers), every_20_ms(0, &shown));
        assert_eq!(["made", "late"].map(|field| count(&harness, field)), made);
    }
    // Up to a second is filled.
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, [0, 25]);
    assert_eq!((pull(&mut harness).len(), count(&harness, "made")), (51, 49));
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
    let [_, between, _] = around(|harness| {
        let done = gst::event::SegmentDone::new(gst::ClockTime::from_mseconds(80));
        assert!(harness.push_event(done));
    });
    assert_eq!(found(&between), every_20_ms(60, &repeated(1, 1)));
}

#[test]
fn caps_change() {
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..2);
    let other = video(gst_video::VideoFormat::Nv12, (20, 8), (30, 1));
    assert!(harness.push_event(gst::event::Caps::new(&other.to_caps().unwrap())));
    for number in 0..3 {
        push(&mut harness, frame_at(&other, number, 80_000_000 + time((30, 1), number)));
    }
    end(&mut harness);
    let found = pull(&mut harness);
    // k · 20 ms until three frames of 30 a second have passed.
    assert_eq!(milliseconds(&found), [0, 20, 40, 60, 80, 100, 120, 140, 160]);
    assert!(found.iter().all(|buffer| !is_discont(buffer)));
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

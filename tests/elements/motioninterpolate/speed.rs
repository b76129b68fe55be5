//! The property `rate`: every time is divided by it.

use gst::prelude::*;
use gst_base::prelude::*;

use super::support::*;

const RATE: Rate = (25, 1);

#[test]
fn half_the_speed_doubles_the_frames_of_the_same_rate() {
    let mut harness = harness("motioninterpolate mode=blend rate=0.5", &i420(RATE), RATE);
    assert!(harness.push_event(gst::event::Segment::new(&segment(40_000_000))));
    push_all(&mut harness, RATE, 1..4);
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [80, 120, 160, 200, 240, 280]);
    assert_eq!(shown(&found, RATE), [Some(1), None, Some(2), None, Some(3), Some(3)]);
    assert!(found.iter().all(|buffer| buffer.duration() == Some(gst::ClockTime::from_mseconds(40))));
}

#[test]
fn double_speed_and_other_rates() {
    let mut harness = harness("motioninterpolate mode=blend rate=2", &i420(RATE), RATE);
    push_all(&mut harness, RATE, 0..5);
    let found = pull(&mut harness);
    assert_eq!(
        (milliseconds(&found), shown(&found, RATE)),
        (vec![0, 40, 80], vec![Some(0), Some(2), Some(4)])
    );
    // A third of 25 frames a second, shown at 50: six frames for one.
    let mut harness = self::harness("motioninterpolate mode=blend rate=0.33333333333", &i420(RATE), (50, 1));
    push_all(&mut harness, RATE, 0..3);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), (0..13).map(|k| k * 20).collect::<Vec<_>>());
    assert_eq!(shown(&found, RATE).iter().flatten().count(), 3);
}

#[test]
fn segments_are_stretched() {
    let mut harness = harness("motioninterpolate rate=0.5", &i420(RATE), RATE);
    push_all(&mut harness, RATE, 0..1);
    events(&mut harness);
    let mut segment = segment(1_000);
    segment.set_stop(gst::ClockTime::from_nseconds(5_000));
    segment.set_base(gst::ClockTime::from_nseconds(700));
    let event = gst::event::Segment::new(&segment);
    assert!(harness.push_event(event.clone()));
    push_all(&mut harness, RATE, 3..4);
    let found =
        events(&mut harness).into_iter().find(|event| event.type_() == gst::EventType::Segment).unwrap();
    assert_eq!(found.seqnum(), event.seqnum());
    let gst::EventView::Segment(found) = found.view() else { unreachable!() };
    let found = found.segment().downcast_ref::<gst::ClockTime>().unwrap();
    let times =
        [found.start(), found.stop(), found.time(), found.base()].map(|time| time.unwrap().nseconds());
    assert_eq!(times, [2_000, 10_000, 2_000, 1_400]);
}

#[test]
fn seeks_gaps_and_quality_of_service_are_translated() {
    // Where frames are made, gaps are filled.
    let mut harness = harness("motioninterpolate rate=0.5", &i420(RATE), (0, 1));
    push_all(&mut harness, RATE, 0..1);
    let second = gst::ClockTime::SECOND;
    let (set, none) = (gst::SeekType::Set, gst::SeekType::None);
    let flags = gst::SeekFlags::FLUSH;
    let seek = gst::event::Seek::new(1.0, flags, set, 10 * second, none, gst::ClockTime::NONE);
    while harness.try_pull_upstream_event().is_some() {}
    harness.push_upstream_event(seek);
    let found = harness.pull_upstream_event().unwrap();
    let gst::EventView::Seek(found) = found.view() else { panic!("{found:?}") };
    assert_eq!(found.get(), (1.0, flags, set, (5 * second).into(), none, gst::ClockTime::NONE.into()));

    let late = gst::event::Qos::new(gst::QOSType::Underflow, 1.5, -2_000, 8 * second);
    harness.push_upstream_event(late);
    let found = harness.pull_upstream_event().unwrap();
    let gst::EventView::Qos(found) = found.view() else { panic!("{found:?}") };
    assert_eq!(found.get(), (gst::QOSType::Underflow, 1.5, -1_000, Some(4 * second)));

    events(&mut harness);
    assert!(harness.push_event(gst::event::Gap::builder(3 * second).duration(second).build()));
    let found = events(&mut harness).pop().unwrap();
    let gst::EventView::Gap(found) = found.view() else { panic!("{found:?}") };
    assert_eq!(found.get(), (6 * second, Some(2 * second)));
}

#[test]
fn durations_and_positions_are_those_of_the_output() {
    let mut harness = harness("motioninterpolate rate=0.5", &i420(RATE), RATE);
    let element = element(&harness);
    element.static_pad("sink").unwrap().add_probe(gst::PadProbeType::QUERY_UPSTREAM, |_, info| {
        let Some(query) = info.query_mut() else { return gst::PadProbeReturn::Ok };
        match query.view_mut() {
            gst::QueryViewMut::Duration(query) => query.set(10 * gst::ClockTime::SECOND),
            gst::QueryViewMut::Seeking(query) => {
                query.set(true, gst::ClockTime::ZERO, 10 * gst::ClockTime::SECOND);
            }
            _ => return gst::PadProbeReturn::Ok,
        }
        gst::PadProbeReturn::Handled
    });
    push_all(&mut harness, RATE, 0..3);
    let src = element.static_pad("src").unwrap();
    assert_eq!(src.query_duration::<gst::ClockTime>(), Some(20 * gst::ClockTime::SECOND));
    // The end of the last frame that has left.
    assert_eq!(src.query_position::<gst::ClockTime>(), Some(gst::ClockTime::from_mseconds(200)));
    let mut seeking = gst::query::Seeking::new(gst::Format::Time);
    assert!(src.query(&mut seeking));
    assert_eq!(seeking.result().2, (20 * gst::ClockTime::SECOND).into());
}

#[test]
fn the_speed_may_change_while_playing() {
    let mut harness = harness("motioninterpolate mode=blend", &i420(RATE), RATE);
    let bus = bus(&harness);
    let element = element(&harness);
    push_all(&mut harness, RATE, 0..2);
    element.set_property("rate", 0.5);
    assert!(bus.pop_filtered(&[gst::MessageType::DurationChanged]).is_some());
    let base = element.clone().downcast::<gst_base::BaseTransform>().unwrap();
    push_all(&mut harness, RATE, 2..4);
    assert!(!base.is_passthrough() && base.buffer_pool().is_some());
    element.set_property("rate", 2.0);
    push_all(&mut harness, RATE, 4..7);
    element.set_property("rate", 1.0);
    push_all(&mut harness, RATE, 7..9);
    let found = pull(&mut harness);
    // A change holds from the next frame on: those at 0, 40, 80, 160, 240, 260, 280, 300 and 340 ms of the output.
    assert_eq!(milliseconds(&found), (0..9).map(|k| 40 * k).collect::<Vec<_>>());
    let numbers = [0, 1, 2, 99, 3, 99, 4, 6, 99].map(|number| (number < 99).then_some(number));
    assert_eq!(shown(&found, RATE), numbers);
}

#[test]
fn variable_rates_are_stretched_too() {
    let mut harness = harness("motioninterpolate rate=0.5", &i420((0, 1)), (0, 1));
    push_all(&mut harness, RATE, [0, 1, 3]);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 80, 240]);
    assert_eq!(found[0].duration(), Some(gst::ClockTime::from_mseconds(80)));
}

/// The times of a segment in milliseconds: start, stop, base, stream time.
fn times(segment: &gst::event::Segment) -> [Option<u64>; 4] {
    let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap();
    [segment.start(), segment.stop(), segment.base(), segment.time()]
        .map(|time| time.map(gst::ClockTime::mseconds))
}

#[test]
fn each_change_of_speed_brings_a_segment_that_answers_agree_with() {
    for depth in [1, 3] {
        let launch = format!("motioninterpolate device=native pipeline-depth={depth}");
        let mut harness = harness(&launch, &i420(RATE), RATE);
        let element = element(&harness);
        let mut segment = segment(1_000_000_000);
        segment.set_stop(gst::ClockTime::from_seconds(11));
        segment.set_base(gst::ClockTime::from_seconds(100));
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        push_all(&mut harness, RATE, 25..27);
        element.set_property("rate", 0.5);
        push_all(&mut harness, RATE, 27..29);
        element.set_property("rate", 4.0);
        push_all(&mut harness, RATE, 29..30);
        assert!(harness.push_event(gst::event::CustomDownstream::new(gst::Structure::new_empty("mark"))));
        // With the same running times again the speed holds on.
        push_all(&mut harness, RATE, 30..31);
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        let segments: Vec<_> = events(&mut harness)
            .into_iter()
            .filter_map(|event| match event.view() {
                gst::EventView::Segment(segment) => Some(times(segment)),
                _ => None,
            })
            .collect();
        // From 1.08 s on the rest of 9.92 s takes twice as long, from 1.16 s on the rest of 9.84 s a quarter.
        let expected = [
            [1_000, 11_000, 100_000, 1_000],
            [1_080, 20_920, 100_080, 2_160],
            [1_240, 3_700, 100_240, 290],
            [1_250, 3_700, 100_250, 300],
        ];
        let last = &segments[segments.len() - expected.len()..];
        assert_eq!(last, expected.map(|times| times.map(Some)), "depth {depth}");
        assert_eq!(milliseconds(&pull(&mut harness)), (0..7).map(|k| 1000 + 40 * k).collect::<Vec<_>>());
        let src = element.static_pad("src").unwrap();
        let mut query = gst::query::Segment::new(gst::Format::Time);
        assert!(src.query(&mut query));
        let (rate, start, stop) = query.result();
        let at = |ms| gst::ClockTime::from_mseconds(ms).into();
        assert_eq!((rate, start, stop), (1.0, at(300), at(2_750)));
        // The frame at 1.24 s lasts 40 ms.
        assert_eq!(src.query_position::<gst::ClockTime>(), Some(gst::ClockTime::from_mseconds(330)));
    }
}

#[test]
fn a_speed_that_changes_with_every_frame_makes_frames() {
    let rate = (24, 1);
    let mut harness = harness("motioninterpolate mode=blend", &i420(rate), rate);
    for number in 0..48 {
        element(&harness).set_property("rate", 1.0 - number as f64 / 60.0);
        push_all(&mut harness, rate, number..number + 1);
    }
    let found = pull(&mut harness);
    for (k, buffer) in found.iter().enumerate() {
        let (time, end) = (time(rate, k as u64), time(rate, k as u64 + 1));
        assert_eq!((pts(buffer), buffer.duration().unwrap().nseconds()), (time, end - time));
    }
    // Frame 47 is at the sum of 60 / (60 - i).
    let last: f64 = (0..47).map(|number| 60.0 / (60.0 - f64::from(number))).sum();
    assert_eq!(found.len(), last as usize + 1);
    assert!(count(&harness, "made") > 80 && count(&harness, "repeated") == 0, "{}", stats(&harness));
}

#[test]
fn the_speed_is_controllable() {
    init();
    let element = gst::ElementFactory::make("motioninterpolate").build().unwrap();
    let rate = element.find_property("rate").unwrap();
    assert!(rate.flags().contains(gst::PARAM_FLAG_CONTROLLABLE));
}

//! Live sources, and frames that would be too late.

use gst::prelude::*;

use super::support::*;

#[test]
fn frames_that_would_be_too_late_are_not_made_and_those_that_came_pass() {
    let rate = (25, 1);
    let mut harness = blending(rate, (100, 1));
    let bus = bus(&harness);
    push_all(&mut harness, rate, 0..2);
    assert_eq!(pull(&mut harness).len(), 5);
    // Downstream is at 105 ms.
    let time = gst::ClockTime::from_mseconds(30);
    harness.push_upstream_event(gst::event::Qos::new(gst::QOSType::Underflow, 1.2, 75_000_000, time));
    push_all(&mut harness, rate, 2..4);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [80, 110, 120]);
    assert_eq!(shown(&found, rate), [Some(2), None, Some(3)]);
    assert_eq!((count(&harness, "late"), count(&harness, "made")), (5, 4));
    let message = bus.pop_filtered(&[gst::MessageType::Qos]).expect("a message");
    let gst::MessageView::Qos(message) = message.view() else { unreachable!() };
    assert_eq!(message.get().3, Some(gst::ClockTime::from_mseconds(50)));
    // A flush begins anew, and without qos nothing is late.
    harness.push_upstream_event(gst::event::Qos::new(gst::QOSType::Underflow, 1.2, 75_000_000, 1000 * time));
    assert!(
        harness.push_event(gst::event::FlushStart::new())
            && harness.push_event(gst::event::FlushStop::new(true))
    );
    assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
    push_all(&mut harness, rate, 0..2);
    assert_eq!(pull(&mut harness).len(), 5);
    harness.push_upstream_event(gst::event::Qos::new(gst::QOSType::Underflow, 1.2, 75_000_000, 1000 * time));
    element(&harness).set_property("qos", false);
    push_all(&mut harness, rate, 2..3);
    assert_eq!(pull(&mut harness).len(), 4);
}

#[test]
fn a_live_pipeline_shows_all_frames_in_time() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc is-live=true num-buffers=12 ! video/x-raw,format=GRAY8,width=32,height=32,framerate=25/1 ! \
         motioninterpolate mode=blend ! video/x-raw,framerate=50/1 ! fakesink name=sink sync=true qos=false",
    );
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    let sink = pipeline.by_name("sink").unwrap();
    let stats = sink.property::<gst::Structure>("stats");
    assert!(stats.get::<u64>("rendered").unwrap() >= 12, "{stats}");
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn a_live_source_that_pauses_repeats_its_last_frame() {
    init();
    let launch = "videotestsrc name=source is-live=true ! video/x-raw,format=I420,width=32,height=24,framerate=25/1 ! \
                  motioninterpolate mode=blend ! video/x-raw,framerate=50/1 ! \
                  fakesink name=sink sync=false signal-handoffs=true";
    let pipeline = gst::parse::launch(launch).unwrap().downcast::<gst::Pipeline>().unwrap();
    let source = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
    let (number, last) = (std::sync::atomic::AtomicU64::new(0), 20);
    source.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if number < last { gst::PadProbeReturn::Ok } else { gst::PadProbeReturn::Drop }
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    pipeline.by_name("sink").unwrap().connect("handoff", false, move |values| {
        let buffer = values[1].get::<gst::Buffer>().unwrap();
        let _ = sender.send((pts(&buffer), buffer.duration().unwrap().nseconds()));
        None
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    // No frame comes after the one at 760 ms; up to 1.5 s others leave all the same.
    let found: Vec<_> = receiver.iter().take(75).collect();
    let whole = |k| (time((50, 1), k), 20_000_000);
    assert_eq!(found, (0..75).map(whole).collect::<Vec<_>>());
    pipeline.set_state(gst::State::Null).unwrap();
}

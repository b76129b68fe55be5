//! The latency of live sources that are slower than their caps.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

use crate::init;

#[test]
fn frames_are_waited_for_as_long_as_announced() {
    init();
    for element in [
        "motiondenoise device=native past=1 future=2",
        "motionestimate device=native direction=both references=2",
        "motioncompensate reference-offset=2",
    ] {
        for (rate, nominal) in [(30, 66), (0, 0)] {
            let mut harness = Harness::new_parse(element);
            let fps = gst::Fraction::new(rate, 1);
            let info = VideoInfo::builder(VideoFormat::I420, 48, 40).fps(fps).build().unwrap();
            harness.set_src_caps(info.to_caps().unwrap());
            let mut push = |number: u64| {
                let mut buffer = gst::Buffer::from_mut_slice(vec![number as u8; info.size()]);
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(100 * number));
                assert!(harness.push(buffer).is_ok());
                harness.query_latency().map_or(0, gst::ClockTime::mseconds)
            };
            // The distance is the median of five.
            assert_eq!((0..5).map(&mut push).collect::<Vec<_>>(), [nominal; 5], "{element}");
            assert_eq!(push(5), 200, "{element}");
        }
    }
}

#[test]
fn repeats_are_waited_for_as_long_as_announced_and_stills_are_not() {
    init();
    let mut harness = Harness::new_parse("motiondenoise device=native past=1 future=2");
    let info = VideoInfo::builder(VideoFormat::I420, 48, 40).fps(gst::Fraction::new(50, 1)).build().unwrap();
    harness.set_src_caps(info.to_caps().unwrap());
    let mut number = 0;
    let mut push = |content: u64| {
        let mut buffer = gst::Buffer::from_mut_slice(vec![content as u8; info.size()]);
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(20 * number));
        number += 1;
        assert!(harness.push(buffer).is_ok());
        let latency = harness.query_latency().map_or(0, gst::ClockTime::mseconds);
        (latency, number - u64::from(harness.buffers_in_queue()))
    };
    // Each frame three times: the distance of new ones is 60 ms. No more wait than the latency says.
    let found: Vec<_> = (0..30).map(|number| push(number / 3)).collect();
    assert_eq!(found[12].0, 40);
    assert_eq!(found[29].0, 120);
    assert!(found.iter().all(|(latency, waiting)| 20 * (waiting - 1) <= *latency), "{found:?}");
    // A still: the frames are as far apart as the caps say.
    let found: Vec<_> = (0..100).map(|_| push(200)).collect();
    assert!(found.iter().all(|(latency, waiting)| 20 * (waiting - 1) <= *latency), "{found:?}");
    assert_eq!(found[99], (40, 2));
}

/// Runs `source` to its end, in real time. Returns the frames that were shown, whether `qos` of `element` was refused, and
/// whether it still is set.
fn shown(source: &str, element: &str) -> (u64, bool, bool) {
    init();
    let launch = format!(
        "{source} ! {element} name=element qos=true ! fakesink name=sink sync=true qos=true max-lateness=20000000"
    );
    let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [
        gst::MessageType::Eos,
        gst::MessageType::Error,
        gst::MessageType::Warning,
        gst::MessageType::Latency,
    ];
    let mut is_refused = false;
    loop {
        let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Warning(warning) => is_refused |= warning.error().to_string().contains("qos"),
            gst::MessageView::Latency(_) => pipeline.recalculate_latency().unwrap(),
            _ => panic!("{launch}: {message:?}"),
        }
    }
    let stats = pipeline.by_name("sink").unwrap().property::<gst::Structure>("stats");
    let qos = pipeline.by_name("element").unwrap().property("qos");
    pipeline.set_state(gst::State::Null).unwrap();
    (stats.get("rendered").unwrap(), is_refused, qos)
}

#[test]
fn a_camera_slower_than_its_caps_is_shown_in_spite_of_qos() {
    let source = "videotestsrc is-live=true num-buffers=40 ! video/x-raw,format=I420,width=48,height=40,framerate=20/1 ! \
                  capssetter caps=video/x-raw,framerate=60/1";
    let counts = [
        "identity",
        "motiondenoise device=native past=1 future=2",
        "motionestimate device=native direction=both references=2",
        "motioncompensate reference-offset=2",
        "motioninterpolate mode=blend ! video/x-raw,framerate=20/1 ! identity",
    ]
    .map(|element| shown(source, element));
    // A busy machine shows some frames late.
    assert!(counts.iter().all(|counts| counts.0 >= 25), "{counts:?}");
    assert_eq!(counts.map(|counts| counts.1), [false, true, true, true, false]);
    assert_eq!([1, 2, 3].map(|index| counts[index].2), [false; 3]);
}

#[test]
fn qos_stays_where_no_frame_waits() {
    for element in ["motiondenoise device=native past=1 future=0", "motionestimate device=native"] {
        let source = "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=48,height=40,framerate=20/1";
        assert_eq!(shown(source, element), (3, false, true), "{element}");
    }
}

/// The last frames need no frame that does not come.
#[test]
fn a_live_source_that_stalls_is_not_waited_for() {
    init();
    for element in [
        "motiondenoise device=native past=1 future=2",
        "motionestimate device=native direction=both references=2",
        "motionestimate device=native pipeline-depth=3",
        "motioncompensate reference-offset=1",
        "motionestimate device=native direction=both ! motioncompensate reference-offset=2",
    ] {
        let launch = format!(
            "appsrc name=in is-live=true format=time caps=video/x-raw,format=GRAY8,width=48,height=40,framerate=25/1 ! \
             {element} ! appsink name=out sync=false"
        );
        let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
        let [source, sink] = ["in", "out"].map(|name| pipeline.by_name(name).unwrap());
        pipeline.set_state(gst::State::Playing).unwrap();
        for numbers in [0..5, 5..8] {
            for number in numbers.clone() {
                let mut buffer = gst::Buffer::with_size(48 * 40).unwrap();
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40 * number));
                let flow = source.emit_by_name::<gst::FlowReturn>("push-buffer", &[&buffer]);
                assert_eq!(flow, gst::FlowReturn::Ok);
            }
            for number in numbers {
                let sample = sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[]).expect(element);
                let pts = sample.buffer().unwrap().pts();
                assert_eq!(pts, Some(gst::ClockTime::from_mseconds(40 * number)), "{element}");
            }
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

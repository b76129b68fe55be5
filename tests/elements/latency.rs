//! How long frames wait: what the LATENCY query says of it, and that none waits for longer.

use std::sync::Arc;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use test_support::gstreamer::ElementBus;

use crate::init;

/// An element with settings, between frames of 25 a second and what is behind it.
struct Subject {
    launch: &'static str,
    /// How many frames long its latency is.
    latency: u64,
    /// How many frames wait for later ones: `motioninterpolate` shows the newest frame at once, but not what is between.
    waiting: u64,
}

const fn waits_for(launch: &'static str, latency: u64) -> Subject {
    Subject { launch, latency, waiting: latency }
}

const fn makes_between(launch: &'static str, latency: u64) -> Subject {
    Subject { launch, latency, waiting: latency.saturating_sub(1) }
}

const SUBJECTS: [Subject; 28] = [
    waits_for("motionestimate device=native", 0),
    waits_for("motionestimate device=native references=2", 0),
    waits_for("motionestimate device=native pipeline-depth=3", 2),
    waits_for("motionestimate device=native direction=forward", 1),
    waits_for("motionestimate device=native direction=both references=2", 2),
    waits_for("motionestimate device=native direction=both references=2 pipeline-depth=2", 3),
    waits_for("motionestimate device=native references=4 pipeline-depth=4", 3),
    waits_for("motionestimate device=native direction=forward references=3 pipeline-depth=4", 6),
    waits_for("motionestimate device=native direction=both references=4", 4),
    waits_for("motioncompensate", 0),
    waits_for("motioncompensate reference-offset=-2", 0),
    waits_for("motioncompensate reference-offset=1", 1),
    waits_for("motioncompensate mode=original reference-offset=2", 2),
    waits_for("motioncompensate reference-offset=-4", 0),
    waits_for("motioncompensate reference-offset=4", 4),
    waits_for("motiondetect", 0),
    waits_for("motiondenoise strength=0", 0),
    waits_for("motiondenoise device=native future=0", 0),
    waits_for("motiondenoise device=native", 2),
    waits_for("motiondenoise device=native past=1 future=4", 4),
    waits_for("motiondenoise device=native future=1 pipeline-depth=3", 3),
    makes_between("motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=25/1", 0),
    makes_between(
        "motioninterpolate device=native quality=high ! capsfilter caps=video/x-raw,framerate=25/1",
        0,
    ),
    makes_between("motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=50/1", 1),
    makes_between(
        "motioninterpolate mode=blend quality=high ! capsfilter caps=video/x-raw,framerate=50/1",
        1,
    ),
    makes_between(
        "motioninterpolate device=native quality=high ! capsfilter caps=video/x-raw,framerate=50/1",
        2,
    ),
    makes_between(
        "motioninterpolate device=native pipeline-depth=3 ! capsfilter caps=video/x-raw,framerate=50/1",
        3,
    ),
    makes_between(
        "motioninterpolate device=native quality=high pipeline-depth=3 ! capsfilter caps=video/x-raw,framerate=50/1",
        4,
    ),
];

fn info((numerator, denominator): (i32, i32)) -> VideoInfo {
    let fps = gst::Fraction::new(numerator, denominator);
    VideoInfo::builder(VideoFormat::I420, 48, 40).fps(fps).build().unwrap()
}

/// A harness around `launch`, and the bus of the element, which comes first in it.
fn harness(launch: &str, rate: (i32, i32)) -> (Harness, ElementBus, gst::Element) {
    init();
    let mut harness = Harness::new_parse(launch);
    let element = harness.find_element(launch.split(' ').next().unwrap()).unwrap();
    let bus = ElementBus::new(element.clone());
    harness.set_src_caps(info(rate).to_caps().unwrap());
    (harness, bus, element)
}

/// Samples that tell when they are freed.
struct Watched {
    samples: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.samples
    }
}

/// Frame `number`, of which none equals another.
fn frame(number: u64, alive: &Arc<()>) -> gst::Buffer {
    let size = info((25, 1)).size() as u64;
    let samples = (0..size).map(|index| ((index + 3 * number) * (index + 3 * number) / 90) as u8).collect();
    let mut buffer = gst::Buffer::from_slice(Watched { samples, _alive: alive.clone() });
    let target = buffer.make_mut();
    target.set_pts(gst::ClockTime::from_mseconds(40 * number));
    target.set_duration(gst::ClockTime::from_mseconds(40));
    buffer
}

/// The times of the buffers that have come out, in milliseconds.
fn pulled(harness: &mut Harness) -> Vec<u64> {
    std::iter::from_fn(|| harness.try_pull()).map(|buffer| buffer.pts().unwrap().mseconds()).collect()
}

fn latency(harness: &Harness) -> u64 {
    harness.query_latency().map_or(0, gst::ClockTime::useconds)
}

/// Before a serialized query what needs no later frame leaves, and upstream has its buffers back.
#[test]
fn frames_wait_as_long_as_the_latency_says_and_upstream_gets_its_buffers_back() {
    for Subject { launch, latency: frames, waiting } in SUBJECTS {
        let (mut harness, ..) = harness(launch, (25, 1));
        harness.set_upstream_latency(gst::ClockTime::from_mseconds(7));
        let alive = Arc::new(());
        let mut found = Vec::new();
        for number in 0..8 {
            harness.push(frame(number, &alive)).unwrap();
            found.extend(pulled(&mut harness));
            // The searches of the frames before may wait for more where the pipeline is deeper.
            let newest = (number + 1).checked_sub(waiting + 1).map(|shown| 40 * shown);
            assert!(found.last().copied() >= newest, "{launch}: {found:?} after frame {number}");
        }
        assert_eq!(found.last(), Some(&(40 * (7 - waiting))), "{launch}");
        assert_eq!(latency(&harness), 7_000 + 40_000 * frames, "{launch}");
        let sink = harness.element().unwrap().static_pad("sink").unwrap();
        // Whether downstream answers does not matter.
        sink.query(gst::query::Drain::new().query_mut());
        found.extend(pulled(&mut harness));
        assert_eq!(Arc::strong_count(&alive), 1, "{launch} holds buffers");
        (8..10).for_each(|number| assert!(harness.push(frame(number, &alive)).is_ok()));
        harness.push_event(gst::event::Eos::new());
        found.extend(pulled(&mut harness));
        let is_made = launch.contains("50/1");
        let step = if is_made { 20 } else { 40 };
        assert_eq!(found, (0..400 / step).map(|number| step * number).collect::<Vec<_>>(), "{launch}");
    }
}

#[test]
fn latency_is_as_long_as_frames_of_the_caps() {
    for (rate, frame) in [((30_000, 1_001), 33_366), ((10, 1), 100_000), ((0, 1), 0)] {
        for Subject { launch, latency: frames, .. } in SUBJECTS.iter().filter(|subject| subject.latency > 0) {
            let (mut harness, ..) = harness(launch, rate);
            harness.push(frame_at(0)).unwrap();
            let (expected, found) = (frame * frames, latency(&harness));
            assert!(found.abs_diff(expected) <= *frames, "{launch} at {rate:?}: {found}");
        }
    }
    // Slow motion takes as many times longer, and without a frame rate every frame passes at once.
    for (launch, expected) in [
        ("motioninterpolate device=native rate=0.5 ! capsfilter caps=video/x-raw,framerate=25/1", 80_000),
        ("motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=10/1", 40_000),
        ("motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=0/1", 0),
    ] {
        let (mut harness, ..) = harness(launch, (25, 1));
        harness.push(frame_at(0)).unwrap();
        assert_eq!(latency(&harness), expected, "{launch}");
    }
}

fn frame_at(number: u64) -> gst::Buffer {
    frame(number, &Arc::new(()))
}

/// By one message, with the frame for which the settings hold: the first, or the next one where devices are opened for it.
#[test]
fn a_change_of_latency_is_told() {
    type Change = (&'static str, &'static str);
    let cases: [(&str, &[Change], u64); 8] = [
        ("motionestimate device=native", &[("pipeline-depth", "3")], 80_000),
        ("motionestimate device=native", &[("direction", "both"), ("references", "3")], 120_000),
        ("motionestimate device=native direction=both references=3", &[("direction", "backward")], 0),
        ("motioncompensate", &[("reference-offset", "1")], 40_000),
        ("motiondenoise device=native future=1", &[("future", "0")], 0),
        (
            "motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=50/1",
            &[("quality", "high")],
            80_000,
        ),
        (
            "motioninterpolate device=native pipeline-depth=3 ! capsfilter caps=video/x-raw,framerate=50/1",
            &[("mode", "repeat")],
            40_000,
        ),
        (
            "motioninterpolate device=native ! capsfilter caps=video/x-raw,framerate=50/1",
            &[("pipeline-depth", "2")],
            80_000,
        ),
    ];
    for (launch, changes, expected) in cases {
        let (mut harness, bus, element) = harness(launch, (25, 1));
        let told = |harness: &mut Harness, number| {
            harness.push(frame_at(number)).unwrap();
            std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Latency])).count()
        };
        // The first frame brings the first latency.
        told(&mut harness, 0);
        assert_eq!(told(&mut harness, 1), 0, "{launch}");
        changes.iter().for_each(|(name, value)| element.set_property_from_str(name, value));
        assert_eq!(told(&mut harness, 2) + told(&mut harness, 3), 1, "{launch} {changes:?}");
        assert_eq!(latency(&harness), expected, "{launch} {changes:?}");
        assert_eq!(told(&mut harness, 4), 0, "{launch} {changes:?}");
    }
}

#[test]
fn a_live_pipeline_has_the_latency_of_its_elements() {
    init();
    for (element, expected) in [
        ("motionestimate device=native direction=forward", 40),
        ("motioninterpolate mode=blend ! video/x-raw,framerate=50/1", 40),
        ("motioninterpolate device=native pipeline-depth=3 ! video/x-raw,framerate=50/1", 120),
    ] {
        let launch = format!(
            "videotestsrc is-live=true num-buffers=8 ! video/x-raw,format=I420,width=48,height=40,framerate=25/1 ! \
             {element} ! fakesink sync=true qos=false processing-deadline=0"
        );
        let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
        assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
        let mut query = gst::query::Latency::new();
        assert!(pipeline.query(&mut query));
        let (is_live, least, _) = query.result();
        // And that of the source, a frame at most.
        let range = gst::ClockTime::from_mseconds(expected)..=gst::ClockTime::from_mseconds(expected + 40);
        assert!(is_live && range.contains(&least), "{element}: {least}");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_camera_slower_than_its_caps_is_waited_for_as_long_as_announced() {
    for Subject { launch, latency: frames, .. } in SUBJECTS.iter().filter(|subject| subject.latency > 0) {
        for (rate, of_caps) in [((30, 1), 33_333), ((0, 1), 0)] {
            let (mut harness, ..) = harness(launch, rate);
            let mut push = |number: u64| {
                let mut buffer = frame_at(number);
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(100 * number));
                assert!(harness.push(buffer).is_ok());
                latency(&harness)
            };
            // The distance is the median of five.
            let found: Vec<_> = (0..5).map(&mut push).collect();
            assert!(
                found.iter().all(|found| found.abs_diff(of_caps * frames) <= *frames),
                "{launch}: {found:?}"
            );
            assert_eq!(push(5), 100_000 * frames, "{launch}");
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

/// What waits leaves only when others come: it would become ever later if input were dropped for it.
#[test]
fn qos_is_refused_where_frames_wait_for_later_ones() {
    for Subject { launch, latency, .. } in SUBJECTS {
        let (mut harness, bus, element) = harness(launch, (25, 1));
        element.set_property("qos", true);
        (0..3).for_each(|number| assert!(harness.push(frame_at(number)).is_ok()));
        let warning = bus.pop_filtered(&[gst::MessageType::Warning]);
        // That element leaves out what it would make, never what comes.
        let is_refused = latency > 0 && !launch.starts_with("motioninterpolate");
        assert_eq!(warning.is_some(), is_refused, "{launch}: {warning:?}");
        assert_eq!(element.property::<bool>("qos"), !is_refused, "{launch}");
    }
}

/// The last frames need no frame that does not come.
#[test]
fn a_live_source_that_stalls_is_not_waited_for() {
    init();
    for Subject { launch, .. } in SUBJECTS.iter().filter(|subject| subject.latency > 0) {
        let pipeline = gst::parse::launch(&format!(
            "appsrc name=in is-live=true format=time ! {launch} ! appsink name=out sync=false"
        ));
        let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
        let [source, sink] = ["in", "out"].map(|name| pipeline.by_name(name).unwrap());
        source.set_property("caps", info((25, 1)).to_caps().unwrap());
        pipeline.set_state(gst::State::Playing).unwrap();
        // What is pushed behind a stall is late where the newest frame has been repeated up to then.
        let all = [0..5, 5..8];
        for numbers in if launch.contains("50/1") { &all[..1] } else { &all } {
            for number in numbers.clone() {
                let flow = source.emit_by_name::<gst::FlowReturn>("push-buffer", &[&frame_at(number)]);
                assert_eq!(flow, gst::FlowReturn::Ok);
            }
            for number in numbers.clone() {
                let shown =
                    std::iter::from_fn(|| sink.emit_by_name::<Option<gst::Sample>>("pull-sample", &[]))
                        .map(|sample| sample.buffer().unwrap().pts().unwrap().mseconds());
                let found: Vec<_> =
                    shown.take(if launch.contains("50/1") && number > 0 { 2 } else { 1 }).collect();
                assert_eq!(found.last(), Some(&(40 * number)), "{launch}");
            }
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

/// As where frames no longer wait, because of other settings.
#[test]
fn a_source_stalls_only_while_frames_wait() {
    let (mut harness, _, element) = harness("motioncompensate reference-offset=1", (25, 1));
    let push = |harness: &mut Harness, number| {
        let mut buffer = frame_at(number);
        let description = gstmotionestimate::meta::FieldDescription {
            reference_pts: number.checked_sub(1).map(|number| gst::ClockTime::from_mseconds(40 * number)),
            ..crate::fields::description(48, 40, 16)
        };
        let vectors = vec![Default::default(); description.grid().blocks()];
        let extras = gstmotionestimate::meta::Extras::default();
        gstmotionestimate::meta::attach(
            buffer.make_mut(),
            &description,
            crate::fields::bytes(&vectors),
            extras,
        )
        .unwrap();
        assert!(harness.push(buffer).is_ok());
    };
    (0..3).for_each(|number| push(&mut harness, number));
    element.set_property("reference-offset", -1);
    push(&mut harness, 3);
    // Longer than a live source that stalls is waited for.
    std::thread::sleep(std::time::Duration::from_millis(800));
    push(&mut harness, 4);
    // The prediction without motion is the frame before, which is still there.
    let last = std::iter::from_fn(|| harness.try_pull()).last().unwrap();
    let samples = |buffer: &gst::BufferRef| buffer.map_readable().unwrap().to_vec();
    assert_eq!(last.pts(), Some(gst::ClockTime::from_mseconds(160)));
    assert!(samples(&last) == samples(&frame_at(3)));
}

//! Devices whose drivers compile: what waits for them, and what does not.

use std::ffi::OsStr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gst::prelude::*;
use gst_check::Harness;
use test_support::with_environment;

use crate::faults::{Layer, frame, hash};
use crate::launched::fault_layer;
use crate::{init, launch};

const SOURCE: &str = "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=48,framerate=25/1";

/// What the next progress message says.
fn next_progress(bus: &gst::Bus) -> gst::ProgressType {
    let message = bus.timed_pop_filtered(
        gst::ClockTime::NONE,
        &[gst::MessageType::Progress, gst::MessageType::Error, gst::MessageType::Eos],
    );
    match message.expect("a message").view() {
        gst::MessageView::Progress(progress) => progress.get().0,
        other => panic!("{other:?}"),
    }
}

/// An environment in which the first context is not made before the layer has another fault.
fn without_a_context() -> [(&'static str, &'static OsStr); 2] {
    [("OPENCL_LAYERS", fault_layer().as_os_str()), ("FAULT", "block clCreateContext 0".as_ref())]
}

/// Stops and flushes the stream while `element` waits for the first context, which then is made.
fn interrupted(element: &str) {
    let pipeline = launch(&format!("{SOURCE} ! {element} ! fakesink"));
    let bus = pipeline.bus().unwrap();
    // If a wait were not ended, it would end by this, and not be canceled.
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(300));
        Layer::loaded().set("");
    });
    // The state change returns before a device is open.
    assert_eq!(pipeline.set_state(gst::State::Playing), Ok(gst::StateChangeSuccess::Async));
    assert_eq!(next_progress(&bus), gst::ProgressType::Start);
    pipeline.set_state(gst::State::Ready).unwrap();
    assert_eq!(next_progress(&bus), gst::ProgressType::Canceled);
    assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_none());

    // The next start waits for the same context.
    pipeline.set_state(gst::State::Paused).unwrap();
    assert_eq!(next_progress(&bus), gst::ProgressType::Start);
    let sink = pipeline.iterate_sinks().next().unwrap().unwrap();
    sink.seek_simple(gst::SeekFlags::FLUSH, gst::ClockTime::ZERO).unwrap();
    assert_eq!(next_progress(&bus), gst::ProgressType::Canceled);

    Layer::loaded().set("");
    pipeline.set_state(gst::State::Playing).unwrap();
    let last =
        bus.timed_pop_filtered(gst::ClockTime::NONE, &[gst::MessageType::Eos, gst::MessageType::Error]);
    assert_eq!(last.unwrap().type_(), gst::MessageType::Eos);
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn a_stop_or_a_flush_ends_the_wait_of_a_search() {
    with_environment(without_a_context(), || {
        interrupted("motionestimate algorithm=hierarchical device=cpu");
    });
}

#[test]
fn a_stop_or_a_flush_ends_the_wait_for_made_frames() {
    with_environment(without_a_context(), || {
        interrupted("motioninterpolate device=cpu ! video/x-raw,framerate=50/1");
    });
}

#[test]
fn a_stop_or_a_flush_ends_the_wait_of_denoising() {
    with_environment(without_a_context(), || interrupted("motiondenoise device=cpu"));
}

/// What becomes of frames.
#[derive(Debug, PartialEq)]
struct Searched {
    /// A hash of each, with its fields.
    frames: Vec<u64>,
    /// How many were pushed while the CPU searched.
    by_cpu: usize,
    warnings: usize,
}

/// Pushes frames to an element with `settings`, one every 40 ms, until `is_over` says so, and their end.
fn searched(settings: &str, is_over: impl Fn(&Searched, usize) -> bool) -> Searched {
    let mut harness =
        Harness::new_parse(&format!("motionestimate direction=both pipeline-depth=2 {settings}"));
    harness.set_src_caps_str("video/x-raw,format=I420,width=64,height=48,framerate=25/1");
    let element = harness.find_element("motionestimate").expect("the element");
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let left = Arc::default();
    let (mut searched, mut pushed) = (Searched { frames: Vec::new(), by_cpu: 0, warnings: 0 }, 0);
    while !is_over(&searched, pushed) {
        assert_eq!(harness.push(frame(pushed, &left)), Ok(gst::FlowSuccess::Ok));
        pushed += 1;
        let stats: gst::Structure = element.property("stats");
        searched.by_cpu += usize::from(stats.get::<&str>("device") == Ok("native"));
        searched.warnings += usize::from(bus.pop_filtered(&[gst::MessageType::Warning]).is_some());
        thread::sleep(Duration::from_millis(40));
    }
    assert!(harness.push_event(gst::event::Eos::new()));
    searched.frames = std::iter::from_fn(|| harness.try_pull()).map(|buffer| hash(&buffer)).collect();
    element.set_bus(None);
    searched
}

/// No frame waits, none lacks a field, and no vector differs.
#[test]
fn the_cpu_searches_until_the_gpu_is_open() {
    let fault = "delay clCreateContext 0 500";
    let environment =
        [("OPENCL_LAYERS", fault_layer()), ("FAULT_GPU", "1".as_ref()), ("FAULT", fault.as_ref())];
    with_environment(environment, || {
        init();
        for algorithm in ["algorithm=hierarchical block-size=8", "search-range=5"] {
            let auto = searched(&format!("device=auto {algorithm}"), |searched, pushed| {
                pushed == searched.by_cpu + 5
            });
            let (by_cpu, frames) = (auto.by_cpu, auto.frames.len());
            assert!(by_cpu > 1 && frames == by_cpu + 5 && auto.warnings == 0, "{auto:?}");
            let native = searched(&format!("device=native {algorithm}"), |_, pushed| pushed == frames);
            assert_eq!(auto.frames, native.frames, "changed after {by_cpu} of {frames}");
        }
    });
}

#[test]
fn the_cpu_goes_on_if_the_gpu_cannot_be_opened() {
    let fault = "lose clCreateContext 0 -5";
    let environment =
        [("OPENCL_LAYERS", fault_layer()), ("FAULT_GPU", "1".as_ref()), ("FAULT", fault.as_ref())];
    with_environment(environment, || {
        init();
        let auto = searched("device=auto", |searched, pushed| searched.warnings > 0 && pushed > 3);
        let native = searched("device=native", |_, pushed| pushed == auto.frames.len());
        assert_eq!(auto, Searched { warnings: 1, ..native });
    });
}

//! Devices whose drivers compile: what waits for them, and what does not.

use gst::prelude::*;
use test_support::with_environment;

use crate::launch;

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

/// With nothing in PoCL's cache, opening takes long enough to be told of.
#[test]
fn a_stop_or_a_flush_ends_the_wait_for_a_compiler_and_the_next_start_finishes() {
    let cache = tempfile::tempdir().expect("a folder");
    with_environment([("POCL_CACHE_DIR", cache.path())], || {
        for element in [
            "motionestimate algorithm=hierarchical",
            "motioninterpolate name=element ! video/x-raw,framerate=50/1",
            "motiondenoise",
        ] {
            let (element, rest) = element.split_once(' ').unwrap_or((element, ""));
            let pipeline = launch(&format!("{SOURCE} ! {element} device=cpu {rest} ! fakesink"));
            let bus = pipeline.bus().unwrap();
            // The state change returns before a device is open.
            assert_eq!(pipeline.set_state(gst::State::Playing), Ok(gst::StateChangeSuccess::Async));
            assert_eq!(next_progress(&bus), gst::ProgressType::Start);
            // Were the wait not ended, this would be `Complete`.
            pipeline.set_state(gst::State::Ready).unwrap();
            assert_eq!(next_progress(&bus), gst::ProgressType::Canceled, "{element}");
            assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_none(), "{element}");

            pipeline.set_state(gst::State::Paused).unwrap();
            assert_eq!(next_progress(&bus), gst::ProgressType::Start);
            let sink = pipeline.iterate_sinks().next().unwrap().unwrap();
            let seek = gst::event::Seek::new(
                1.0,
                gst::SeekFlags::FLUSH,
                gst::SeekType::Set,
                gst::ClockTime::ZERO,
                gst::SeekType::None,
                gst::ClockTime::NONE,
            );
            assert!(sink.send_event(seek));
            assert_eq!(next_progress(&bus), gst::ProgressType::Canceled, "{element}");
            pipeline.set_state(gst::State::Playing).unwrap();
            let end = bus
                .timed_pop_filtered(gst::ClockTime::NONE, &[gst::MessageType::Eos, gst::MessageType::Error]);
            assert_eq!(end.unwrap().type_(), gst::MessageType::Eos, "{element}");
            pipeline.set_state(gst::State::Null).unwrap();
        }
    });
}

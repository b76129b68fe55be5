//! Frames that differ from the frame before by coding noise alone: `drop-lossy-duplicates` of two elements.

use std::sync::{Arc, Mutex};

use gst::prelude::*;

use crate::init;

/// Encoders and decoders that change a frame which is repeated.
const CODERS: [&str; 4] = [
    "x264enc speed-preset=veryfast ! avdec_h264",
    "x264enc speed-preset=veryfast pass=qual quantizer=30 ! avdec_h264",
    "x264enc speed-preset=veryfast tune=zerolatency bitrate=300 ! avdec_h264",
    "vp8enc deadline=1 ! vp8dec",
];

/// The frames of [`source`] where each of twelve is shown about twice, and how many of them repeat the one before.
const FRAMES: u64 = 22;

const DUPLICATES: u64 = 10;

/// Frames of a picture that moves, each of which is shown `times` times, behind `coder`.
fn source(times: u32, coder: &str) -> String {
    format!(
        "videotestsrc num-buffers={} pattern=smpte75 horizontal-speed=6 ! \
         video/x-raw,format=I420,width=320,height=240,framerate={}/1 ! videorate ! video/x-raw,framerate=24/1 ! {coder}",
        24 / times,
        24 / times
    )
}

/// The times of the frames that `element` sends, in frames of 24 a second, and its statistics.
fn run(source: &str, element: &str) -> (Vec<u64>, gst::Structure) {
    init();
    let launch =
        format!("{source} ! {element} name=element ! fakesink name=sink signal-handoffs=true sync=false");
    let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
    let times = Arc::new(Mutex::new(Vec::new()));
    let found = times.clone();
    pipeline.by_name("sink").unwrap().connect("handoff", false, move |values| {
        found.lock().unwrap().push(values[1].get::<gst::Buffer>().unwrap().pts().unwrap().nseconds());
        None
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{launch}: {message:?}");
    let stats = pipeline.by_name("element").unwrap().property("stats");
    pipeline.set_state(gst::State::Null).unwrap();
    let times = std::mem::take(&mut *times.lock().unwrap());
    // x264enc begins at 1000 hours.
    let number = |time: u64| ((time - times[0]) * 24 + 500_000_000) / 1_000_000_000;
    (times.iter().map(|&time| number(time)).collect(), stats)
}

const ESTIMATE: &str = "motionestimate device=native algorithm=hierarchical";

#[test]
fn those_of_an_encoder_are_found_and_others_are_not() {
    for coder in CODERS {
        let (times, stats) = run(&source(2, coder), &format!("{ESTIMATE} drop-lossy-duplicates=true"));
        let dropped = stats.get::<u64>("frames-dropped").unwrap();
        // An encoder with a fixed rate takes a few frames to find its quality.
        let least = if coder.starts_with("x264enc") { DUPLICATES } else { DUPLICATES - 3 };
        assert!((least..=DUPLICATES).contains(&dropped), "{coder}: {dropped}, {times:?}");
        let (times, stats) = run(&source(1, coder), &format!("{ESTIMATE} drop-lossy-duplicates=true"));
        assert_eq!((times, stats.get("frames-dropped")), ((0..24).collect(), Ok(0_u64)), "{coder}");
    }
    let (times, _) = run(&source(2, CODERS[1]), ESTIMATE);
    assert_eq!(times, (0..FRAMES).collect::<Vec<_>>());
    // Few of them are equal.
    let (_, stats) = run(&source(2, CODERS[1]), &format!("{ESTIMATE} drop-duplicates=true"));
    assert!(stats.get::<u64>("frames-dropped").unwrap() < DUPLICATES, "{stats}");
}

#[test]
fn they_are_made_anew_at_the_same_frame_rate() {
    for element in ["motioninterpolate mode=blend", "motioninterpolate device=native"] {
        let (times, stats) = run(&source(2, CODERS[1]), &format!("{element} drop-lossy-duplicates=true"));
        assert_eq!(times, (0..FRAMES).collect::<Vec<_>>(), "{element}");
        let of = |field| stats.get::<u64>(field).unwrap();
        assert_eq!(of("frames-dropped"), DUPLICATES, "{element}: {stats}");
        assert_eq!((of("made") + of("scene-cuts"), of("repeated")), (DUPLICATES, 0), "{element}: {stats}");
        let (_, stats) = run(&source(2, CODERS[1]), element);
        assert_eq!((stats.get("frames-dropped"), stats.get("made")), (Ok(0_u64), Ok(0_u64)), "{element}");
    }
}

#[test]
fn of_a_still_every_fourth_frame_passes() {
    let still = "videotestsrc num-buffers=21 pattern=smpte75 ! video/x-raw,format=I420,width=320,height=240,framerate=24/1";
    let (times, stats) = run(still, "motioninterpolate device=native drop-lossy-duplicates=true");
    assert_eq!(times, (0..21).collect::<Vec<_>>());
    assert_eq!((stats.get("frames-dropped"), stats.get("passed")), (Ok(15_u64), Ok(6_u64)), "{stats}");
    let (times, _) = run(still, &format!("{ESTIMATE} drop-lossy-duplicates=true"));
    assert_eq!(times, [0]);
}

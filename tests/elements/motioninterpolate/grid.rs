//! One grid of output times a segment, whatever happens to the input: in pipelines, beside `videorate`.

use gst::prelude::*;

use super::support::*;

/// What came out of a pipeline: times with durations, and whether each frame is a discontinuity.
struct Found {
    frames: Vec<(u64, u64)>,
    disconts: usize,
    stats: Option<gst::Structure>,
}

/// Runs `launch`, which has no sink yet. `change` may change each buffer behind the element `source`, or drop it.
fn run(launch: &str, change: impl Fn(u64, &mut gst::BufferRef) -> bool + Send + Sync + 'static) -> Found {
    init();
    let pipeline =
        gst::parse::launch(&format!("{launch} ! fakesink name=sink sync=false signal-handoffs=true"));
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    let found = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    if let Some(source) = pipeline.by_name("source") {
        let number = std::sync::atomic::AtomicU64::new(0);
        source.static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let keeps = change(number, info.buffer_mut().unwrap().make_mut());
            if keeps { gst::PadProbeReturn::Ok } else { gst::PadProbeReturn::Drop }
        });
    }
    let frames = found.clone();
    let sink = pipeline.by_name("sink").unwrap();
    sink.connect("handoff", false, move |values| {
        let buffer = values[1].get::<gst::Buffer>().unwrap();
        let time = pts(&buffer);
        frames.lock().unwrap().push((time, buffer.duration().unwrap().nseconds(), is_discont(&buffer)));
        None
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{launch}: {message:?}");
    let element = pipeline.by_name("interpolate").filter(|element| element.has_property("stats"));
    let stats = element.map(|element| element.property("stats"));
    pipeline.set_state(gst::State::Null).unwrap();
    let frames = std::mem::take(&mut *found.lock().unwrap());
    Found {
        disconts: frames.iter().skip(1).filter(|frame| frame.2).count(),
        frames: frames.into_iter().map(|(time, duration, _)| (time, duration)).collect(),
        stats,
    }
}

impl Found {
    fn count(&self, field: &str) -> u64 {
        self.stats.as_ref().unwrap().get(field).unwrap()
    }

    /// Checks that these are frames 0 to `count` of `rate` from `start` on.
    fn check_from(&self, start: u64, rate: Rate, count: u64, at: &str) {
        let duration = |k| time(rate, k + 1) - time(rate, k);
        let expected: Vec<_> = (0..count).map(|k| (start + time(rate, k), duration(k))).collect();
        assert_eq!(self.frames.len(), expected.len(), "{at}");
        for (found, expected) in self.frames.iter().zip(expected) {
            assert_eq!(*found, expected, "{at}");
        }
        assert_eq!(self.disconts, 0, "{at}");
    }

    fn check(&self, rate: Rate, count: u64, at: &str) {
        self.check_from(0, rate, count, at);
    }
}

fn keep(_number: u64, _buffer: &mut gst::BufferRef) -> bool {
    true
}

const SMALL: &str = "video/x-raw,format=I420,width=32,height=24";

/// Frames of `rate`, and the element to `output` with `settings`.
fn launch(count: u64, rate: Rate, element: &str, output: Rate) -> String {
    format!(
        "videotestsrc num-buffers={count} pattern=ball ! {SMALL},framerate={}/{} ! identity name=source ! \
         {element} name=interpolate ! video/x-raw,framerate={}/{}",
        rate.0, rate.1, output.0, output.1
    )
}

const ELEMENTS: [&str; 2] = ["motioninterpolate mode=blend", "motioninterpolate device=native"];

#[test]
fn a_stream_with_losses_keeps_its_rate() {
    for element in ELEMENTS {
        let launch = format!(
            "videotestsrc num-buffers=300 pattern=ball ! video/x-raw,width=160,height=120,framerate=24/1 ! \
             x264enc tune=zerolatency key-int-max=12 ! rtph264pay mtu=400 ! identity drop-probability=0.02 ! \
             rtph264depay ! h264parse ! avdec_h264 ! videoconvert ! {element} name=interpolate ! video/x-raw,framerate=60/1"
        );
        let found = run(&launch, keep);
        // The last frames may be lost: a frame of 24 a second is two or three of 60.
        let count = found.frames.len() as u64;
        assert!((700..=750).contains(&count), "{count}");
        // Segments of x264enc start at 1000 hours.
        found.check_from(found.frames[0].0, (60, 1), count, element);
    }
}

#[test]
fn discontinuities_without_a_hole_change_nothing() {
    for element in ELEMENTS {
        let mark = |number, buffer: &mut gst::BufferRef| {
            if number % 5 == 0 {
                buffer.set_flags(gst::BufferFlags::DISCONT);
            }
            true
        };
        let found = run(&launch(240, (24, 1), element, (60, 1)), mark);
        found.check((60, 1), 600, element);
        // All but those at the times of input frames, and two after the last one.
        assert_eq!(found.count("made"), 600 - 120 - 2);
    }
}

#[test]
fn a_pause_repeats_the_last_frame_and_searches_nothing() {
    for element in ELEMENTS.into_iter().chain(["videorate"]) {
        // Six seconds of 30 a second, without the frames from 1.5 to 4.5 s, to 60.
        let found = run(&launch(180, (30, 1), element, (60, 1)), |number, _| !(45..135).contains(&number));
        let count = found.frames.len() as u64;
        if element == "videorate" {
            assert!((358..=360).contains(&count), "{count}");
        } else {
            found.check((60, 1), 360, element);
            // 44 intervals before, 44 behind, nothing between.
            assert_eq!(found.count("made"), 88, "{element}");
        }
    }
}

#[test]
fn what_is_missing_at_the_same_rate_is_made() {
    for element in ELEMENTS {
        let found = run(&launch(90, (30, 1), element, (30, 1)), |number, _| number % 3 != 1);
        found.check((30, 1), 90, element);
        assert_eq!((found.count("made"), found.count("passed")), (30, 60), "{element}");
        // Without a frame rate too.
        let variable = format!(
            "videotestsrc num-buffers=90 pattern=ball ! {SMALL},framerate=30/1 ! identity name=source ! \
             capssetter caps=video/x-raw,framerate=0/1 ! {element} name=interpolate ! video/x-raw,framerate=30/1"
        );
        let found = run(&variable, |number, _| number % 3 != 1);
        found.check((30, 1), 90, element);
        assert_eq!((found.count("made"), found.count("passed")), (30, 60), "{element}");
    }
}

#[test]
fn where_no_frame_is_missing_nothing_is_opened_or_searched() {
    let found = run(&launch(60, (30, 1), "motioninterpolate device=nosuchdevice", (30, 1)), keep);
    found.check((30, 1), 60, "no device");
    assert_eq!((found.count("passed"), found.count("made")), (60, 0));
}

#[test]
fn a_source_without_frame_rate_chooses_its_format() {
    for element in ELEMENTS {
        // It sends a single frame.
        let launch = format!(
            "videotestsrc ! video/x-raw,framerate=0/1 ! {element} name=interpolate ! video/x-raw,framerate=60/1"
        );
        run(&launch, keep).check((60, 1), 1, element);
    }
}

#[test]
fn slow_motion_of_a_variable_rate_makes_frames() {
    let launch = format!(
        "videotestsrc num-buffers=60 pattern=ball ! {SMALL},framerate=30/1 ! identity name=source ! \
         capssetter caps=video/x-raw,framerate=0/1 ! motioninterpolate mode=blend rate=0.25 name=interpolate"
    );
    let found = run(&launch, keep);
    found.check((30, 1), 240, "a quarter of the speed");
    assert_eq!(found.count("made"), 59 * 3);
}

/// Frames and times are those of `videorate` with the same caps. Without a stop of the segment that sends the last frame just
/// once; here it is sent until the frame ends.
#[test]
fn times_are_those_of_videorate() {
    let rates = [(24, 1), (25, 1), (30000, 1001), (60, 1)];
    for input in rates {
        for output in rates {
            for (name, breaks) in [
                ("none", (|_, _| true) as fn(u64, &mut gst::BufferRef) -> bool),
                ("a hole", |number, _| !(7..11).contains(&number)),
                ("late", |number, _| number >= 5),
                ("discont", |number, buffer| {
                    if number % 7 == 0 {
                        buffer.set_flags(gst::BufferFlags::DISCONT);
                    }
                    number % 7 != 1
                }),
                ("jitter", |number, buffer| {
                    let pts = pts(buffer) + number * 7919 % 9 * 1_000_000;
                    buffer.set_pts(gst::ClockTime::from_nseconds(pts));
                    true
                }),
            ] {
                let at = format!("{input:?} to {output:?}, {name}");
                let of = |element| run(&launch(40, input, element, output), breaks).frames;
                let (ours, others) = (of("motioninterpolate mode=blend"), of("videorate"));
                let shared = ours.len().min(others.len());
                assert_eq!(ours[..shared - 1], others[..shared - 1], "{at}");
                assert!(ours.len().abs_diff(others.len()) <= 1 + output.0 as usize / 24, "{at}");
                let end = ours.last().unwrap();
                let end = (end.0 + end.1).abs_diff(time(input, 40));
                assert!(end <= time(output, 1).max(10_000_000), "{at}: {end}");
            }
        }
    }
}

/// A second segment that continues in running time, and one that does not.
#[test]
fn concatenated_streams_have_one_grid() {
    init();
    let launch = "concat name=c ! identity name=source ! motioninterpolate mode=blend name=interpolate ! \
                  video/x-raw,framerate=60/1 ! identity";
    let sources: String = [25, 25, 25]
        .map(|count| {
            format!(
                " videotestsrc num-buffers={count} ! video/x-raw,format=I420,width=32,height=24,framerate=24/1 ! c."
            )
        })
        .concat();
    let pipeline = gst::parse::launch(&format!("{launch} ! fakesink name=sink {sources}")).unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    let times = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let found = times.clone();
    let sink = pipeline.by_name("sink").unwrap().static_pad("sink").unwrap();
    sink.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        let segment = pad.sticky_event::<gst::event::Segment>(0).unwrap();
        let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap().clone();
        let time = info.buffer().and_then(|buffer| buffer.pts());
        found.lock().unwrap().push(segment.to_running_time(time).map(gst::ClockTime::nseconds));
        gst::PadProbeReturn::Ok
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    pipeline.set_state(gst::State::Null).unwrap();
    let found = std::mem::take(&mut *times.lock().unwrap());
    // 75 frames of 24 a second last 3.125 s.
    assert_eq!(found.len(), 188);
    for (k, time) in found.into_iter().enumerate() {
        let expected = self::time((60, 1), k as u64);
        assert!(time.is_some_and(|time| time.abs_diff(expected) <= 1), "{k}: {time:?}, not {expected}");
    }
}

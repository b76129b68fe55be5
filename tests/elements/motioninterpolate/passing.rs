//! Between frames that pass and frames at the times of a rate, the output goes on: it never goes back in time.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo, VideoInterlaceMode};

use super::support::*;

const MS: u64 = 1_000_000;

/// Frames of `rate`, progressive or interlaced.
fn info_of(rate: Rate, mode: VideoInterlaceMode) -> VideoInfo {
    init();
    let info = VideoInfo::builder(VideoFormat::I420, SIZE.0, SIZE.1).fps(gst::Fraction::new(rate.0, rate.1));
    info.interlace_mode(mode).build().unwrap()
}

/// What happens to the element.
enum Step {
    /// Caps of frames of this rate come.
    Caps(Rate),
    Interlaced(Rate),
    /// Downstream takes these caps.
    Sink(&'static str),
    Speed(f64),
    /// The same segment comes again.
    Segment,
    /// Frames come at these times in milliseconds, and last so long.
    Frames(&'static [u64], Option<u64>),
}

use Step::*;

/// The times and durations of all output frames, in the segment that holds for each, as running times in nanoseconds.
fn run(steps: &[Step]) -> Vec<(u64, Option<u64>)> {
    init();
    let mut harness = Harness::new_parse("motioninterpolate mode=blend");
    harness.set_sink_caps_str("video/x-raw");
    let element = element(&harness);
    harness.set_src_caps(info_of((0, 1), VideoInterlaceMode::Progressive).to_caps().unwrap());
    let found = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sent = found.clone();
    element.static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        let segment = pad.sticky_event::<gst::event::Segment>(0).unwrap();
        let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap().clone();
        let buffer = info.buffer().unwrap();
        let time = segment.to_running_time(buffer.pts()).unwrap().nseconds();
        sent.lock().unwrap().push((time, buffer.duration().map(gst::ClockTime::nseconds)));
        gst::PadProbeReturn::Ok
    });
    let mut info = info_of((0, 1), VideoInterlaceMode::Progressive);
    for step in steps {
        match step {
            Caps(rate) => info = info_of(*rate, VideoInterlaceMode::Progressive),
            Interlaced(rate) => info = info_of(*rate, VideoInterlaceMode::Interleaved),
            Sink(caps) => harness.set_sink_caps_str(caps),
            Speed(speed) => element.set_property("rate", speed),
            Segment => assert!(harness.push_event(gst::event::Segment::new(&segment(0)))),
            Frames(times, duration) => {
                for ms in *times {
                    let mut buffer = frame_at(&info, *ms, ms * MS);
                    buffer.make_mut().set_duration(duration.map(gst::ClockTime::from_mseconds));
                    push(&mut harness, buffer);
                }
                continue;
            }
        }
        if let Caps(_) | Interlaced(_) = step {
            assert!(harness.push_event(gst::event::Caps::new(&info.to_caps().unwrap())));
        }
    }
    end(&mut harness);
    std::mem::take(&mut *found.lock().unwrap())
}

/// The times in milliseconds, rounded down. All frames follow each other at once, and none goes back.
fn times(steps: &[Step]) -> Vec<u64> {
    let found = run(steps);
    for pair in found.windows(2) {
        let [(time, duration), (next, _)] = pair else { unreachable!() };
        assert!(time < next, "{found:?}");
        assert!(duration.is_none_or(|duration| (time + duration).abs_diff(*next) <= 1), "{found:?}");
    }
    found.iter().map(|(time, _)| time / MS).collect()
}

const THREE: Step = Frames(&[0, 40, 80], Some(40));

const NEXT: Step = Frames(&[120, 160], Some(40));

#[test]
fn a_frame_rate_that_comes_later() {
    assert_eq!(times(&[THREE, Caps((25, 1)), NEXT]), [0, 40, 80, 120, 160]);
    let fifty = Sink("video/x-raw,framerate={0/1,50/1}");
    assert_eq!(times(&[THREE, fifty, Caps((50, 1)), Frames(&[120, 140], Some(20))]), [0, 40, 80, 120, 140]);
    // Frames without durations last until the next one comes; the grid begins with that.
    let uneven = Frames(&[0, 45, 87], None);
    assert_eq!(times(&[uneven, Caps((25, 1)), Frames(&[131, 171], Some(40))]), [0, 45, 87, 131, 171]);
    // Where a frame is missing behind the last one, the next one is shown.
    assert_eq!(
        times(&[THREE, Caps((25, 1)), Frames(&[240, 280], None)]),
        [0, 40, 80, 120, 160, 200, 240, 280]
    );
    // The end of the last frame is not at the next one.
    let short = Frames(&[0, 40, 80], Some(33));
    let found = run(&[short, Caps((25, 1)), NEXT]);
    assert_eq!(found[3..], [(113 * MS, Some(40 * MS)), (153 * MS, Some(40 * MS))]);
    let long = Frames(&[0, 40, 80], Some(900));
    let found = run(&[long, Caps((25, 1)), NEXT]);
    assert_eq!(found[3..], [(120 * MS, Some(40 * MS)), (160 * MS, Some(40 * MS))]);
}

#[test]
fn caps_downstream_that_come_later() {
    let fifty = Sink("video/x-raw,framerate=50/1");
    assert_eq!(times(&[THREE, fifty, NEXT]), [0, 40, 80, 120, 140, 160, 180]);
    // And others after those.
    let steps = [THREE, Sink("video/x-raw,framerate=50/1"), NEXT, Sink("video/x-raw,framerate=0/1")];
    let last = Frames(&[200, 240], Some(40));
    let mut steps = Vec::from(steps);
    steps.push(last);
    assert_eq!(times(&steps), [0, 40, 80, 120, 140, 160, 180, 200, 240]);
    steps.extend([Sink("video/x-raw,framerate=100/1"), Frames(&[280, 320], Some(40))]);
    let grid = (28..36).map(|number| 10 * number);
    assert_eq!(times(&steps)[7..], [vec![200, 240], grid.collect()].concat());
}

#[test]
fn another_speed_where_frames_pass() {
    // Frames of 30 a second from 80 ms on, at half the speed.
    let found = run(&[Frames(&[0, 40], Some(40)), Speed(0.5), Frames(&[80, 120, 160], Some(40))]);
    let expected = (0..).map(|number| 80 * MS + time((30, 1), number)).take_while(|time| *time < 320 * MS);
    assert_eq!(found[..2], [(0, Some(40 * MS)), (40 * MS, Some(40 * MS))]);
    for ((found, _), expected) in found[2..].iter().zip(expected.clone()) {
        assert!(found.abs_diff(expected) <= 1, "{found} {expected}");
    }
    assert_eq!(found.len(), 2 + expected.count());
    // Back at full speed frames pass again, at the times at which the others have ended.
    let steps = [
        Frames(&[0, 40], Some(40)),
        Speed(0.5),
        Frames(&[80, 120], Some(40)),
        Speed(1.0),
        Sink("video/x-raw,framerate=0/1"),
        Frames(&[160, 200], Some(40)),
    ];
    let found = run(&steps);
    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{found:?}");
    let found: Vec<_> = found.iter().map(|(time, _)| time / MS).collect();
    assert_eq!(found, [0, 40, 80, 113, 146, 180, 213, 240, 280]);
}

#[test]
fn interlaced_frames_before_progressive_ones() {
    assert_eq!(times(&[Interlaced((25, 1)), THREE, Caps((25, 1)), NEXT]), [0, 40, 80, 120, 160]);
    let steps =
        [Caps((25, 1)), THREE, Interlaced((25, 1)), NEXT, Caps((25, 1)), Frames(&[200, 240], Some(40))];
    assert_eq!(times(&steps), [0, 40, 80, 120, 160, 200, 240]);
    // A frame that is missing is made again.
    let steps = [Interlaced((25, 1)), THREE, Caps((25, 1)), Frames(&[120, 200], Some(40))];
    assert_eq!(times(&steps), [0, 40, 80, 120, 160, 200]);
}

#[test]
fn a_frame_rate_that_goes_and_comes_back() {
    let steps = [Caps((25, 1)), THREE, Caps((0, 1)), NEXT, Caps((25, 1)), Frames(&[200, 240], Some(40))];
    assert_eq!(times(&steps), [0, 40, 80, 120, 160, 200, 240]);
    let steps = [Caps((25, 1)), THREE, Caps((0, 1)), Caps((25, 1)), NEXT];
    assert_eq!(times(&steps), [0, 40, 80, 120, 160]);
    // From 30 to 60 frames a second, through a variable rate.
    let steps = [
        Caps((30, 1)),
        Sink("video/x-raw,framerate=60/1"),
        Frames(&[0, 33, 67], None),
        Sink("video/x-raw,framerate=0/1"),
        Frames(&[100, 145], Some(45)),
        Sink("video/x-raw,framerate=60/1"),
        Frames(&[190, 223], None),
    ];
    assert_eq!(times(&steps), [0, 16, 33, 50, 66, 83, 100, 145, 190, 206, 223, 240]);
}

#[test]
fn the_same_segment_again_changes_nothing() {
    assert_eq!(times(&[THREE, Segment, Caps((25, 1)), NEXT]), [0, 40, 80, 120, 160]);
    assert_eq!(times(&[Caps((25, 1)), THREE, Segment, Caps((0, 1)), NEXT]), [0, 40, 80, 120, 160]);
    let steps = [THREE, Segment, Sink("video/x-raw,framerate=50/1"), Segment, NEXT];
    assert_eq!(times(&steps), [0, 40, 80, 120, 140, 160, 180]);
}

/// A frame may be shown up to half an output frame late: no other one follows that is earlier.
#[test]
fn frames_that_were_shown_late() {
    let steps = [
        Caps((25, 1)),
        Sink("video/x-raw,framerate=1/1"),
        Frames(&[500, 540], Some(40)),
        Sink("video/x-raw,framerate=0/1"),
        Frames(&[580, 980, 1020, 1060], Some(40)),
    ];
    let found = run(&steps);
    assert_eq!(found.iter().map(|(time, _)| time / MS).collect::<Vec<_>>(), [0, 1000, 1020, 1060]);
}

/// A source that begins anew is followed, whatever its frames were before.
#[test]
fn a_source_that_begins_anew_where_frames_have_passed() {
    let later = Frames(&[8000, 8040], Some(40));
    let found = run(&[later, Caps((25, 1)), Frames(&[0, 40, 80, 120], Some(40))]);
    // Two are dropped.
    assert_eq!(found.iter().map(|(time, _)| time / MS).collect::<Vec<_>>(), [8000, 8040, 80, 120]);
}

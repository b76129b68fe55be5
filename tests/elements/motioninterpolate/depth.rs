//! Frames that wait while they are searched.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

use super::motion::{devices, picture};
use super::support::*;

const IN: Rate = (25, 1);
const OUT: Rate = (50, 1);

fn info(width: u32) -> VideoInfo {
    video(VideoFormat::I420, (width, 40), IN)
}

fn deep(depth: u32) -> Harness {
    harness(&format!("motioninterpolate device=native pipeline-depth={depth}"), &info(48), OUT)
}

/// Pushes the frames of these numbers, of a scene that moves.
fn push_moving(harness: &mut Harness, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        push(harness, picture(&info(48), 0, 3 * number as usize, number));
    }
}

fn mark(name: &str) -> gst::Event {
    gst::event::CustomDownstream::new(gst::Structure::new_empty(name))
}

#[test]
fn depth_changes_no_frame() {
    let large = info(56);
    let all = |device: &str, quality: &str, depth: u32| {
        let launch = format!("motioninterpolate device={device} quality={quality} pipeline-depth={depth}");
        let mut harness = harness(&launch, &info(48), OUT);
        push_moving(&mut harness, 0..3);
        // Another scene, and a discontinuity between the frames of two.
        (3..6).for_each(|number| push(&mut harness, picture(&info(48), 7, 3 * number as usize, number)));
        let mut discont = picture(&info(48), 7, 18, 6);
        discont.make_mut().set_flags(gst::BufferFlags::DISCONT);
        push(&mut harness, discont);
        push_moving(&mut harness, 7..8);
        harness.set_src_caps(large.to_caps().unwrap());
        (8..10).for_each(|number| push(&mut harness, picture(&large, 1, 3 * number as usize, number)));
        // A hole of more than a second, and frames too few for what may wait.
        (50..52).for_each(|number| push(&mut harness, picture(&large, 1, 3 * number as usize, number)));
        end(&mut harness);
        let counts =
            ["frames-in", "made", "passed", "repeated", "scene-cuts"].map(|name| count(&harness, name));
        let found = pull(&mut harness);
        (
            found.iter().map(|buffer| (pts(buffer), is_discont(buffer), bytes(buffer))).collect::<Vec<_>>(),
            counts,
        )
    };
    for quality in ["fast", "high"] {
        let expected = all("native", quality, 1);
        assert_eq!(expected.1[4], 2, "scene cuts");
        for device in devices() {
            // A device compiles its kernels for seconds.
            let depths = if device == "native" { &[2, 3, 16][..] } else { &[3] };
            for &depth in depths {
                assert!(all(&device, quality, depth) == expected, "{device}, {quality}, depth {depth}");
            }
        }
    }
}

/// Frames are made where one is missing alone: each pair is searched, but none of the frames between two pairs.
#[test]
fn depth_changes_no_frame_between_pairs() {
    let all = |depth: u32| {
        let launch = format!("motioninterpolate device=native pipeline-depth={depth}");
        let mut harness = harness(&launch, &info(48), IN);
        push_moving(&mut harness, (0..24).filter(|number| number % 3 != 2));
        end(&mut harness);
        assert_eq!(count(&harness, "made"), 7);
        pull(&mut harness).iter().map(|buffer| (pts(buffer), bytes(buffer))).collect::<Vec<_>>()
    };
    let expected = all(1);
    assert_eq!(expected.len(), 23);
    for depth in [2, 3, 4, 16] {
        assert!(all(depth) == expected, "depth {depth}");
    }
}

#[test]
fn as_many_frames_wait_as_are_searched_ahead() {
    let mut harness = deep(3);
    push_moving(&mut harness, 0..2);
    assert_eq!(pull(&mut harness).len(), 0);
    push_moving(&mut harness, 2..3);
    assert_eq!(milliseconds(&pull(&mut harness)), [0]);
    push_moving(&mut harness, 3..4);
    assert_eq!(milliseconds(&pull(&mut harness)), [20, 40]);
    // Fewer may wait from now on, or none; more once they are there.
    element(&harness).set_property("pipeline-depth", 2_u32);
    push_moving(&mut harness, 4..5);
    assert_eq!(milliseconds(&pull(&mut harness)), [60, 80, 100, 120]);
    element(&harness).set_property_from_str("mode", "blend");
    push_moving(&mut harness, 5..6);
    assert_eq!(milliseconds(&pull(&mut harness)), [140, 160, 180, 200]);
    element(&harness).set_property("pipeline-depth", 4_u32);
    push_moving(&mut harness, 6..7);
    assert_eq!(milliseconds(&pull(&mut harness)), [220, 240]);
    element(&harness).set_property_from_str("mode", "motion");
    push_moving(&mut harness, 7..9);
    assert_eq!(milliseconds(&pull(&mut harness)), [0_u64; 0]);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [260, 280, 300, 320, 340]);
}

#[test]
fn frames_that_wait_leave_before_events_and_queries() {
    let mut harness = deep(4);
    push_moving(&mut harness, 0..2);
    assert_eq!(pull(&mut harness).len(), 0);
    assert!(harness.push_event(mark("mark")));
    assert_eq!(milliseconds(&pull(&mut harness)), [0, 20, 40]);
    push_moving(&mut harness, 2..3);
    assert!(element(&harness).static_pad("sink").unwrap().query(&mut gst::query::Drain::new()));
    assert_eq!(milliseconds(&pull(&mut harness)), [60, 80]);
    // The sequence goes on.
    push_moving(&mut harness, 3..4);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [100, 120, 140]);
    assert_eq!(count(&harness, "made"), 3);
}

#[test]
fn a_flush_drops_what_waits() {
    let mut harness = deep(4);
    push_moving(&mut harness, 0..3);
    assert!(
        harness.push_event(gst::event::FlushStart::new())
            && harness.push_event(gst::event::FlushStop::new(true))
    );
    assert!(harness.push_event(gst::event::Segment::new(&segment(800_000_000))));
    push_moving(&mut harness, 20..22);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [800, 820, 840, 860]);
}

#[test]
fn a_live_pipeline_shows_all_frames_in_time() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc is-live=true num-buffers=12 pattern=ball ! \
         video/x-raw,format=I420,width=64,height=48,framerate=25/1 ! motioninterpolate device=native pipeline-depth=3 ! \
         video/x-raw,framerate=50/1 ! fakesink name=sink sync=true qos=false",
    );
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    let stats = pipeline.by_name("sink").unwrap().property::<gst::Structure>("stats");
    assert!(stats.get::<u64>("rendered").unwrap() >= 12, "{stats}");
    pipeline.set_state(gst::State::Null).unwrap();
}

/// A pool with too few buffers for those that would wait.
#[test]
fn upstream_keeps_a_buffer_of_its_pool() {
    let (mut harness, info) = (deep(8), info(48));
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 5, 5);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let unblocked = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    for number in 0..9 {
        let mut buffer = pool.acquire_buffer(Some(&unblocked)).expect("a buffer");
        let picture = picture(&info, 0, 3 * number as usize, number);
        let buffer_ref = buffer.get_mut().unwrap();
        buffer_ref.copy_from_slice(0, &picture.map_readable().unwrap()).unwrap();
        buffer_ref.set_pts(picture.pts());
        push(&mut harness, buffer);
        // Two wait, and the one before them is held.
        let expected = if number < 2 { 0 } else { 1 + usize::from(number > 2) };
        assert_eq!(pull(&mut harness).len(), expected, "{number}");
    }
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [260, 280, 300, 320, 340]);
    pool.set_active(false).unwrap();
}

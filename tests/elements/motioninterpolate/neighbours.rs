//! Frames made with the frames before and after them: `quality=high`.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use motion_frames::interpolation::{FrameQuality, Phase};

use super::motion::{expected, expected_of_four, picture};
use super::support::*;

const IN: Rate = (25, 1);
const OUT: Rate = (50, 1);

fn info(format: VideoFormat) -> VideoInfo {
    video(format, (96, 80), IN)
}

fn high(info: &VideoInfo, depth: u32) -> Harness {
    harness(&format!("motioninterpolate device=native quality=high pipeline-depth={depth}"), info, OUT)
}

/// Frame `number` of `scene`, which moves.
fn moving(info: &VideoInfo, scene: u64, number: u64) -> gst::Buffer {
    picture(info, scene, 3 * number as usize, number)
}

/// What is made between the frames from `frames[1]` on: with the motion before and after, or without.
fn made(info: &VideoInfo, frames: &[gst::Buffer], first: usize, has_neighbours: bool) -> Vec<u32> {
    if has_neighbours {
        let four = [first - 1, first, first + 1, first + 2].map(|number| &frames[number]);
        return expected_of_four(info, four, Phase::MIDDLE);
    }
    expected(FrameQuality::Balanced, info, [&frames[first], &frames[first + 1]], Phase::MIDDLE)
}

/// Two scenes, and two parts of one between which a frame is missing.
#[test]
fn frames_of_the_same_scene_count_at_even_distances() {
    for format in [VideoFormat::I420, VideoFormat::P01010le] {
        let info = info(format);
        let numbers =
            [(0, 0), (0, 1), (0, 2), (0, 3), (7, 4), (7, 5), (7, 6), (7, 7), (7, 9), (7, 10), (7, 11)];
        let frames = numbers.map(|(scene, number)| moving(&info, scene, number));
        for depth in [1, 3] {
            let mut harness = high(&info, depth);
            frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
            end(&mut harness);
            let found = pull(&mut harness);
            let counts = ["made", "passed", "scene-cuts"].map(|name| count(&harness, name));
            assert_eq!(counts, [11, 11, 1], "{format:?}");
            for (first, pair) in numbers.windows(2).enumerate() {
                if pair[0].0 != pair[1].0 {
                    continue;
                }
                let is_even = |from: usize| {
                    let around = numbers.get(from..from + 2);
                    around.is_some_and(|pair| pair[0].0 == pair[1].0 && pair[1].1 == pair[0].1 + 1)
                };
                let has_neighbours = first > 0 && [first - 1, first, first + 1].into_iter().all(is_even);
                // Where a frame is missing, three frames are made.
                let middle = 40 * pair[0].1 + 20 * (pair[1].1 - pair[0].1);
                let at = found.iter().position(|buffer| pts(buffer) / 1_000_000 == middle).unwrap();
                let expected = made(&info, &frames, first, has_neighbours);
                let is_equal = samples(&found[at], &info) == expected;
                assert!(is_equal, "{format:?}, depth {depth}, frame {first}, neighbours: {has_neighbours}");
                assert!(!has_neighbours || expected != made(&info, &frames, first, false), "no difference");
            }
        }
    }
}

#[test]
fn a_frame_waits_for_the_one_after_the_next() {
    let info = info(VideoFormat::I420);
    let mut harness = high(&info, 1);
    let mut push = |number| {
        push(&mut harness, moving(&info, 0, number));
        milliseconds(&pull(&mut harness))
    };
    assert_eq!([0, 1, 2, 3].map(&mut push), [vec![], vec![0], vec![20, 40], vec![60, 80]]);
    // Nothing waits longer where no frame comes.
    assert!(harness.push_event(gst::event::CustomDownstream::new(gst::Structure::new_empty("mark"))));
    assert_eq!(milliseconds(&pull(&mut harness)), [100, 120]);
    for number in 4..7 {
        super::support::push(&mut harness, moving(&info, 0, number));
    }
    let frames: Vec<_> = (0..7).map(|number| moving(&info, 0, number)).collect();
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [140, 160, 180, 200]);
    // The frames before the event count behind it.
    for (at, first) in [(0, 3), (2, 4)] {
        assert!(samples(&found[at], &info) == made(&info, &frames, first, true), "{first}");
    }
    assert!(
        harness.push_event(gst::event::FlushStart::new())
            && harness.push_event(gst::event::FlushStop::new(true))
    );
    assert!(harness.push_event(gst::event::Segment::new(&segment(0))));
    for number in 0..2 {
        super::support::push(&mut harness, moving(&info, 0, number));
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 20, 40, 60]);
    assert!(samples(&found[1], &info) == made(&info, &frames, 0, false));
}

/// Backwards the frame after is the earlier one.
#[test]
fn backwards_frames_count_in_the_order_in_which_they_come() {
    let info = info(VideoFormat::I420);
    let mut harness = high(&info, 1);
    let mut segment = segment(0);
    segment.set_stop(gst::ClockTime::from_mseconds(240));
    segment.set_rate(-1.0);
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    let frames: Vec<_> = (0..6).rev().map(|number| moving(&info, 0, number)).collect();
    frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
    end(&mut harness);
    let found = pull(&mut harness);
    let made_at = |first: usize| {
        // Where the earlier frame of the pair ends, as output frames last half as long.
        let time = 40 * (5 - first as u64);
        let at = found.iter().position(|buffer| pts(buffer) / 1_000_000 == time).unwrap();
        samples(&found[at], &info)
    };
    for (first, has_neighbours) in [(0, false), (1, true), (2, true), (3, true), (4, false)] {
        let expected = made(&info, &frames, first, has_neighbours);
        assert!(made_at(first) == expected, "{first}, {:?}", milliseconds(&found));
    }
}

/// A pool with fewer buffers than are held.
#[test]
fn frames_of_a_small_pool_are_copied() {
    use gst::prelude::*;
    let info = info(VideoFormat::I420);
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let unblocked = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    let (mut harness, mut plenty) = (high(&info, 1), high(&info, 1));
    let mut found = Vec::new();
    for number in 0..6 {
        let mut buffer = pool.acquire_buffer(Some(&unblocked)).expect("a buffer");
        let picture = moving(&info, 0, number);
        let buffer_ref = buffer.get_mut().unwrap();
        buffer_ref.copy_from_slice(0, &picture.map_readable().unwrap()).unwrap();
        buffer_ref.set_pts(picture.pts());
        push(&mut harness, buffer);
        push(&mut plenty, picture);
        found.extend(pull(&mut harness).iter().map(|buffer| bytes(buffer)));
    }
    [&mut harness, &mut plenty].into_iter().for_each(end);
    found.extend(pull(&mut harness).iter().map(|buffer| bytes(buffer)));
    let expected: Vec<_> = pull(&mut plenty).iter().map(|buffer| bytes(buffer)).collect();
    assert!(found == expected, "{} and {} frames", found.len(), expected.len());
    pool.set_active(false).unwrap();
}

/// Frames wait then for which another quality held.
#[test]
fn quality_may_change_while_frames_wait() {
    let info = info(VideoFormat::I420);
    for depth in [1, 4] {
        let mut harness = high(&info, depth);
        for (part, quality) in (0..).zip(["high", "fast", "high", "balanced", "high"]) {
            element(&harness).set_property_from_str("quality", quality);
            (5 * part..5 * part + 5).for_each(|number| push(&mut harness, moving(&info, 0, number)));
        }
        end(&mut harness);
        let times = milliseconds(&pull(&mut harness));
        assert_eq!(times, (0..50).map(|number| 20 * number).collect::<Vec<_>>(), "depth {depth}");
    }
}

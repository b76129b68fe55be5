//! What cannot be interpolated is an error that says why, or what users of `videorate` know.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInterlaceMode};

use super::support::*;

#[test]
fn frames_whose_time_goes_back_or_repeats_are_dropped_with_one_warning() {
    let rate = (25, 1);
    let mut harness = blending(rate, (50, 1));
    let bus = bus(&harness);
    push_all(&mut harness, rate, [0, 1, 1, 0, 2]);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 20, 40, 60, 80]);
    assert_eq!(shown(&found, rate), [Some(0), None, Some(1), None, Some(2)]);
    assert_eq!(count(&harness, "out-of-order"), 2);
    assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_some());
    assert!(bus.pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]).is_none());
}

#[test]
fn one_wrong_timestamp_loses_one_frame() {
    let rate = (25, 1);
    for depth in [1, 4] {
        let launch = format!("motioninterpolate device=native pipeline-depth={depth}");
        let mut harness = harness(&launch, &i420(rate), (50, 1));
        let bus = bus(&harness);
        for number in 0..50 {
            let hour = if number == 20 { 3600 * SECOND } else { 0 };
            let mut buffer = frame(&i420(rate), rate, number);
            buffer.make_mut().set_pts(gst::ClockTime::from_nseconds(time(rate, number) + hour));
            push(&mut harness, buffer);
        }
        end(&mut harness);
        let found = pull(&mut harness);
        assert_eq!(milliseconds(&found), (0..100).map(|k| 20 * k).collect::<Vec<_>>());
        // It is made.
        let expected: Vec<_> = (0..99).map(|k| (k % 2 == 0 && k != 40).then_some(k / 2)).collect();
        assert_eq!(shown(&found[..99], rate), expected);
        assert_eq!((count(&harness, "frames-in"), count(&harness, "out-of-order")), (50, 1));
        assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_some());
    }
}

/// As if it came in mid-stream; sources mark their first frame as a discontinuity.
#[test]
fn a_first_frame_with_a_wrong_timestamp_is_dropped() {
    for (input, seconds) in [((25, 1), 3600), ((25, 1), 2), ((0, 1), 3600), ((1, 2), 9)] {
        for wrong in [1, 2] {
            let step = time(if input.0 == 0 { (25, 1) } else { input }, 1);
            let mut harness = blending(input, (50, 1));
            let bus = bus(&harness);
            for number in 0..wrong {
                let mut buffer = frame_at(&i420(input), 60 + number, seconds * SECOND - number * SECOND / 2);
                buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
                push(&mut harness, buffer);
            }
            for number in 0..4 {
                push(&mut harness, frame_at(&i420(input), number, number * step));
            }
            end(&mut harness);
            let found = pull(&mut harness);
            let at = format!("{input:?} {seconds} {wrong}");
            let expected: Vec<_> = (0..4 * step / 20_000_000).map(|number| 20 * number).collect();
            assert_eq!(milliseconds(&found), expected, "{at}");
            assert_eq!(shown(&found[..1], input), [Some(0)], "{at}");
            assert_eq!(count(&harness, "out-of-order"), wrong, "{at}");
            assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_some());
            assert!(bus.pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]).is_none());
        }
    }
    // A first frame that is late all the same is shown, from the start of the segment on.
    let mut harness = blending((25, 1), (50, 1));
    push_all(&mut harness, (25, 1), [50, 51]);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), (0..104).map(|k| 20 * k).collect::<Vec<_>>());
    // Also if it is the only one.
    let mut harness = blending((25, 1), (50, 1));
    push_all(&mut harness, (25, 1), [50]);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), (0..102).map(|k| 20 * k).collect::<Vec<_>>());
}

#[test]
fn timestamps_that_begin_anew_lose_two_frames() {
    let rate = (25, 1);
    let mut harness = blending(rate, (50, 1));
    push_all(&mut harness, rate, (40..60).chain(0..20));
    end(&mut harness);
    let found = pull(&mut harness);
    // The lead, 20 frames until the end of the last one, and 18 frames.
    assert_eq!(found.len(), 80 + 40 + 36);
    assert_eq!(milliseconds(&found[120..]), (4..40).map(|k| 20 * k).collect::<Vec<_>>());
    assert_eq!(count(&harness, "out-of-order"), 2);
}

#[test]
fn the_frame_after_a_pause_waits_for_the_next_one() {
    let rate = (25, 1);
    let mut harness = blending(rate, (50, 1));
    push_all(&mut harness, rate, [0, 1, 60]);
    assert_eq!(pull(&mut harness).len(), 3);
    push_all(&mut harness, rate, [61]);
    assert_eq!(pull(&mut harness).len(), 120);
    push_all(&mut harness, rate, [120]);
    end(&mut harness);
    assert_eq!(pull(&mut harness).len(), 242 - 123);
}

#[test]
fn neither_timestamps_nor_a_frame_rate() {
    let info = i420((0, 1));
    let mut harness = blending((0, 1), (50, 1));
    let bus = bus(&harness);
    push(&mut harness, frame_at(&info, 0, None));
    assert_eq!(harness.push(frame_at(&info, 1, None)), Err(gst::FlowError::Error));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("no timestamp") && text.contains("capssetter"), "{text}");
}

#[test]
fn interlaced_frames() {
    init();
    for mode in [VideoInterlaceMode::Interleaved, VideoInterlaceMode::Mixed] {
        let info = gst_video::VideoInfo::builder(VideoFormat::I420, 16, 16)
            .fps(gst::Fraction::new(25, 1))
            .interlace_mode(mode)
            .build()
            .unwrap();
        let bytes_of = |number| bytes(&frame_at(&info, number, 0));
        let warnings = |bus: &ElementBus| {
            let told = [gst::MessageType::Warning, gst::MessageType::Error];
            let all = std::iter::from_fn(|| bus.pop_filtered(&told)).map(|message| match message.view() {
                gst::MessageView::Warning(warning) => warning.error().to_string(),
                other => panic!("{other:?}"),
            });
            all.collect::<Vec<_>>()
        };
        // They are repeated, or dropped.
        for (output, mode, shown) in [
            ((50, 1), "motion quality=high pipeline-depth=4", &[0, 1, 1, 2, 2, 3, 3, 3][..]),
            ((50, 1), "blend", &[0, 1, 1, 2, 2, 3, 3, 3]),
            ((50, 1), "repeat", &[0, 1, 1, 2, 2, 3, 3, 3]),
            ((25, 2), "motion drop-lossy-duplicates=true", &[0, 2]),
        ] {
            let launch = format!("motioninterpolate device=nosuchdevice mode={mode}");
            let mut harness = harness(&launch, &info, output);
            let bus = bus(&harness);
            for number in 0..4 {
                push(&mut harness, frame_at(&info, number, time((25, 1), number)));
            }
            end(&mut harness);
            let found = pull(&mut harness);
            let at = format!("{mode} {output:?}");
            assert!(
                found.iter().map(|buffer| bytes(buffer)).eq(shown.iter().map(|&number| bytes_of(number))),
                "{at}"
            );
            let expected = (0..shown.len() as u64).map(|number| time(output, number));
            assert!(found.iter().map(|buffer| pts(buffer)).eq(expected), "{at}");
            assert_eq!(count(&harness, "made"), 0);
            let warnings = warnings(&bus);
            assert_eq!(warnings.len(), usize::from(mode != "repeat"), "{at} {warnings:?}");
            assert!(
                warnings
                    .iter()
                    .all(|text| text.contains("repeated") && text.contains("put deinterlace before"))
            );
        }

        // At the same frame rate they pass, until their speed is changed.
        let mut harness = gst_check::Harness::new("motioninterpolate");
        let bus = bus(&harness);
        harness.set_src_caps(info.to_caps().unwrap());
        push(&mut harness, frame_at(&info, 0, 0));
        assert_eq!(pull(&mut harness).len(), 1);
        assert_eq!(warnings(&bus).len(), 0);
        element(&harness).set_property("rate", 0.5);
        for number in 1..4 {
            push(&mut harness, frame_at(&info, number, time((25, 1), number)));
        }
        assert_eq!(milliseconds(&pull(&mut harness)), [40, 80, 120, 160, 200]);
        assert_eq!(warnings(&bus).len(), 1);
    }
}

#[test]
fn frames_of_two_eyes_in_turn() {
    init();
    let mut caps = i420((25, 1)).to_caps().unwrap();
    caps.make_mut().set("multiview-mode", "frame-by-frame");
    let mut harness = gst_check::Harness::new("motioninterpolate");
    harness.set_sink_caps_str("video/x-raw,framerate=50/1");
    let bus = bus(&harness);
    harness.set_src_caps(caps);
    assert_eq!(harness.push(frame_at(&i420((25, 1)), 0, 0)), Err(gst::FlowError::NotNegotiated));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("the left and the right eye"), "{text}");
}

/// Nothing is read where all frames pass or are repeated.
#[test]
fn a_buffer_that_is_not_read_may_hold_anything() {
    let rate = (25, 1);
    for (mode, output) in [("repeat", (50, 1)), ("motion", (0, 1))] {
        let mut harness =
            harness(&format!("motioninterpolate device=native mode={mode}"), &i420(rate), output);
        let bus = bus(&harness);
        for number in 0..3 {
            let mut short = gst::Buffer::from_mut_slice(vec![0; 1]);
            short.make_mut().set_pts(gst::ClockTime::from_mseconds(40 * number));
            push(&mut harness, short);
        }
        assert_eq!(pull(&mut harness).len(), if mode == "repeat" { 5 } else { 3 }, "{mode}");
        assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_none(), "{mode}");
    }
}

#[test]
fn a_segment_that_is_not_in_time() {
    let mut harness = blending((25, 1), (50, 1));
    let bus = bus(&harness);
    let bytes = gst::FormattedSegment::<gst::format::Bytes>::new();
    harness.push_event(gst::event::Segment::new(&bytes));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("Bytes") && text.contains("needs times"), "{text}");
}

#[test]
fn backwards_frames_are_made_from_the_end_of_the_segment() {
    let rate = (25, 1);
    let mut harness = blending(rate, (50, 1));
    let mut segment = segment(0);
    segment.set_rate(-1.0);
    segment.set_stop(gst::ClockTime::from_mseconds(200));
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    // That at the end of the segment is none of its frames.
    push_all(&mut harness, rate, [5, 4, 3, 2]);
    // A group of frames in the order in which a decoder sends them.
    let mut group = frame(&i420(rate), rate, 1);
    group.make_mut().set_flags(gst::BufferFlags::DISCONT);
    push(&mut harness, group);
    push_all(&mut harness, rate, [0]);
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), (0..10).rev().map(|k| 20 * k).collect::<Vec<_>>());
    let numbers = [Some(4), None, Some(3), None, Some(2), None, Some(1), None, Some(0), Some(0)];
    assert_eq!(shown(&found, rate), numbers);
}

#[test]
fn backwards_without_an_end_every_frame_passes() {
    let rate = (25, 1);
    let mut harness = blending(rate, (50, 1));
    let mut segment = segment(0);
    segment.set_rate(-1.0);
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    push_all(&mut harness, rate, [3, 2, 1]);
    let found = pull(&mut harness);
    assert_eq!(
        (milliseconds(&found), shown(&found, rate)),
        (vec![120, 80, 40], vec![Some(3), Some(2), Some(1)])
    );
}

/// What comes out of ten frames from 25 to 50 a second, before the sixth of which `change` is made, and the warnings.
fn changed(launch: &str, change: impl Fn(&gst::Element)) -> (Vec<Vec<u32>>, Vec<String>) {
    let rate = (25, 1);
    let mut harness = harness(&format!("motioninterpolate {launch}"), &i420(rate), (50, 1));
    let (bus, element) = (bus(&harness), element(&harness));
    push_all(&mut harness, rate, 0..5);
    change(&element);
    push_all(&mut harness, rate, 5..10);
    end(&mut harness);
    let told = [gst::MessageType::Warning, gst::MessageType::Error];
    let warnings = std::iter::from_fn(|| bus.pop_filtered(&told)).map(|message| match message.view() {
        gst::MessageView::Warning(warning) => warning.error().to_string(),
        other => panic!("{launch}: {other:?}"),
    });
    let warnings = warnings.collect();
    (pull(&mut harness).iter().map(|buffer| samples(buffer, &i420(rate))).collect(), warnings)
}

#[test]
fn a_device_that_cannot_be_opened_while_playing_is_refused() {
    let (expected, warnings) = changed("device=native", |_| ());
    assert_eq!((expected.len(), warnings), (20, vec![]));
    let (found, warnings) = changed("device=native on-device-failure=error", |element| {
        element.set_property("device", "missing");
    });
    assert_eq!(found, expected);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("refused") && warnings[0].contains("missing"), "{warnings:?}");
}

#[test]
fn a_device_that_cannot_be_opened_when_it_is_first_needed_is_replaced_by_the_cpu() {
    let to_motion = |element: &gst::Element| element.set_property_from_str("mode", "motion");
    let (expected, _) = changed("mode=blend device=native", to_motion);
    let (found, warnings) = changed("mode=blend device=missing", to_motion);
    assert_eq!(found, expected);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("on native instead") && warnings[0].contains("missing"), "{warnings:?}");
}

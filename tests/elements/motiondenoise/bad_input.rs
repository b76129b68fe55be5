//! Bad input is a clear error, and the element goes on where the application does.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInterlaceMode};

use super::support::*;

#[test]
fn interlaced_frames() {
    init();
    let info = gst_video::VideoInfo::builder(VideoFormat::I420, 16, 16)
        .fps(gst::Fraction::new(25, 1))
        .interlace_mode(VideoInterlaceMode::Interleaved)
        .build()
        .unwrap();
    let mut harness = gst_check::Harness::new("motiondenoise");
    let bus = bus(&harness);
    harness.set_src_caps(info.to_caps().unwrap());
    assert_eq!(harness.push(frame(&info, 0, true)), Err(gst::FlowError::NotNegotiated));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("put deinterlace before"), "{text}");
}

#[test]
fn frames_of_two_eyes_in_turn() {
    let mut caps = i420().to_caps().unwrap();
    caps.make_mut().set("multiview-mode", "frame-by-frame");
    let mut harness = gst_check::Harness::new("motiondenoise");
    let bus = bus(&harness);
    harness.set_src_caps(caps);
    assert_eq!(harness.push(frame(&i420(), 0, true)), Err(gst::FlowError::NotNegotiated));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("the left and the right eye"), "{text}");
}

#[test]
fn a_device_that_is_missing() {
    init();
    let mut harness = gst_check::Harness::new_parse("motiondenoise device=no-such-device");
    let bus = bus(&harness);
    harness.set_src_caps(i420().to_caps().unwrap());
    assert_eq!(harness.push(frame(&i420(), 0, true)), Err(gst::FlowError::NotNegotiated));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert!(text.contains("no-such-device") && text.contains("Available"), "{text}");
}

#[test]
fn frames_of_one_sample_and_without_timestamps() {
    for size in [(1, 1), (2, 3), (9, 1)] {
        let info = video(VideoFormat::Nv12, size);
        let mut harness = harness("motiondenoise device=native", &info);
        for number in 0..5 {
            let mut buffer = frame(&info, number, true);
            buffer.make_mut().set_pts(gst::ClockTime::NONE);
            push(&mut harness, buffer);
        }
        end(&mut harness);
        assert_eq!(pull(&mut harness).len(), 5);
    }
}

#[test]
fn a_device_that_cannot_be_opened_while_playing_is_refused() {
    let denoised = |devices: [Option<&str>; 2]| {
        let mut harness =
            harness("motiondenoise device=native past=1 future=1 on-device-failure=error", &i420());
        let (bus, element) = (bus(&harness), element(&harness));
        push_all(&mut harness, 0..3);
        for (device, next) in devices.into_iter().zip([3, 5]) {
            device.into_iter().for_each(|device| element.set_property("device", device));
            push_all(&mut harness, next..next + 2);
            assert_eq!(element.property::<String>("device"), "native");
        }
        end(&mut harness);
        let told = [gst::MessageType::Warning, gst::MessageType::Error];
        let told: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&told)).collect();
        assert!(told.iter().all(|message| message.type_() == gst::MessageType::Warning), "{told:?}");
        let found: Vec<_> =
            pull(&mut harness).iter().map(|buffer| samples_of(&planes(buffer, &i420()).0)).collect();
        (found, told.len())
    };
    let (expected, warnings) = denoised([None, None]);
    assert_eq!((expected.len(), warnings), (7, 0));
    // Frames are averaged across the change, as if there were none.
    assert_eq!(denoised([Some("missing"), Some("also-missing")]), (expected, 2));
}

#[test]
fn a_device_that_cannot_be_opened_when_it_is_first_needed_is_refused() {
    let mut harness = harness("motiondenoise device=missing past=0 future=0", &i420());
    let (bus, element) = (bus(&harness), element(&harness));
    push_all(&mut harness, 0..2);
    element.set_property("past", 1u32);
    push_all(&mut harness, 2..4);
    assert_eq!(element.property::<u32>("past"), 0);
    let told = [gst::MessageType::Warning, gst::MessageType::Error];
    let told: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&told)).collect();
    assert!(matches!(&told[..], [warning] if warning.type_() == gst::MessageType::Warning), "{told:?}");
    assert_eq!(numbers(&pull(&mut harness)), [0, 1, 2, 3]);
}

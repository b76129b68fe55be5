//! Bad input is a clear error, and the element goes on where the application does.

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
fn a_buffer_shorter_than_its_caps_promise() {
    let mut harness = harness("motiondenoise device=native", &i420());
    let bus = bus(&harness);
    push_all(&mut harness, 0..3);
    let short = gst::Buffer::from_mut_slice(vec![0; i420().size() - 1]);
    assert_eq!(harness.push(short), Err(gst::FlowError::Error));
    let text = error_text(&bus.pop_filtered(&[gst::MessageType::Error]).unwrap());
    assert_eq!(text, "A buffer does not hold the frame its caps promise");
    // Where the application goes on all the same, a new sequence starts.
    push_all(&mut harness, 4..7);
    assert_eq!(numbers(&pull(&mut harness)), [0, 4]);
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

//! Frame rates that are negotiated.

use gst::prelude::*;
use gst_base::prelude::*;
use gst_check::Harness;
use gst_video::VideoFormat;

use super::support::*;

/// The frame rate behind the element for these caps before and behind it.
fn negotiated(before: &str, behind: &str) -> Option<gst::Fraction> {
    init();
    let mut harness = Harness::new_parse("motioninterpolate mode=blend");
    harness.set_src_caps(format!("video/x-raw,format=GRAY8,width=8,height=4{before}").parse().unwrap());
    harness.set_sink_caps_str(&format!("video/x-raw{behind}"));
    let info = video(VideoFormat::Gray8, (8, 4), (25, 1));
    assert!(harness.push(frame_at(&info, 0, 0)).is_ok(), "from {before} to {behind}");
    let caps = element(&harness).static_pad("src").unwrap().current_caps().unwrap();
    assert!(caps.is_fixed());
    caps.structure(0).unwrap().get("framerate").ok()
}

#[test]
fn the_nearest_rate_that_downstream_takes() {
    let rate = |n, d| Some(gst::Fraction::new(n, d));
    assert_eq!(negotiated(",framerate=24/1", ",framerate=60/1"), rate(60, 1));
    assert_eq!(negotiated(",framerate=24/1", ""), rate(24, 1));
    assert_eq!(negotiated(",framerate=24/1", ",framerate=[30/1,60/1]"), rate(30, 1));
    assert_eq!(negotiated(",framerate=100/1", ",framerate={30/1,50/1,60/1}"), rate(60, 1));
    assert_eq!(negotiated(",framerate=0/1", ""), rate(0, 1));
    assert_eq!(negotiated(",framerate=0/1", ",framerate=60/1"), rate(60, 1));
    assert_eq!(negotiated(",framerate=0/1,max-framerate=30/1", ",framerate=60/1"), rate(60, 1));
    assert_eq!(negotiated(",framerate=24/1", ",framerate=0/1"), rate(0, 1));
    assert_eq!(negotiated("", ",framerate=60/1"), rate(60, 1));
    assert_eq!(negotiated("", ""), rate(0, 1));
}

#[test]
fn any_frame_rate_goes_to_any_other_and_nothing_else_changes() {
    init();
    let element = gst::ElementFactory::make("motioninterpolate").build().unwrap();
    let sink = element.static_pad("sink").unwrap();
    let filter: gst::Caps = "video/x-raw,format=I420,width=64,height=48,framerate=30/1".parse().unwrap();
    assert!(sink.query_caps(Some(&filter)).can_intersect(&filter));
    let mut harness = Harness::new("motioninterpolate");
    harness.set_sink_caps_str("video/x-raw,format=NV12,width=64,height=48,framerate=60/1");
    let caps = self::element(&harness).static_pad("sink").unwrap().query_caps(None);
    let accepts = |text: &str| text.parse::<gst::Caps>().unwrap().is_subset(&caps);
    assert!(accepts("video/x-raw,format=NV12,width=64,height=48,framerate=24000/1001"));
    assert!(accepts("video/x-raw,format=NV12,width=64,height=48,framerate=0/1"));
    assert!(!accepts("video/x-raw,format=I420,width=64,height=48,framerate=24/1"));
    assert!(!accepts("video/x-raw,format=NV12,width=32,height=48,framerate=24/1"));
    assert!(!accepts(
        "video/x-raw(format:Interlaced),format=NV12,width=64,height=48,interlace-mode=alternate"
    ));
}

#[test]
fn where_nothing_is_asked_for_the_very_buffers_pass() {
    for rate in [(25, 1), (0, 1)] {
        let info = i420(rate);
        let mut harness = harness("motioninterpolate", &info, rate);
        // Also with timestamps that no frame rate has.
        for (number, pts) in [(0, Some(3)), (1, Some(50)), (2, None), (3, Some(7))] {
            let buffer = frame_at(&info, number, pts);
            let pointer = buffer.as_ptr();
            push(&mut harness, buffer);
            let found = pull(&mut harness);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].as_ptr(), found[0].pts().map(gst::ClockTime::nseconds)), (pointer, pts));
        }
        assert!(element(&harness).downcast::<gst_base::BaseTransform>().unwrap().is_passthrough());
    }
}

#[test]
fn to_a_variable_rate_every_frame_passes() {
    let mut harness = blending((25, 1), (0, 1));
    push_all(&mut harness, (25, 1), [0, 1, 4]);
    let found = pull(&mut harness);
    assert_eq!(
        (milliseconds(&found), shown(&found, (25, 1))),
        (vec![0, 40, 160], vec![Some(0), Some(1), Some(4)])
    );
}

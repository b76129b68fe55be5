//! Frame rates that are negotiated.

use gst::prelude::*;
use gst_base::prelude::*;
use gst_check::Harness;
use gst_video::VideoFormat;

use super::support::*;

/// The frame rate behind the element for these caps before and behind it.
fn negotiated(before: &str, behind: &str) -> Option<gst::Fraction> {
    negotiated_by("motioninterpolate mode=blend", before, behind)
}

fn negotiated_by(launch: &str, before: &str, behind: &str) -> Option<gst::Fraction> {
    init();
    let mut harness = Harness::new_parse(launch);
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
    // At a constant rate with the times of the rate.
    for (rate, times) in [((25, 1), [0, 40, 80, 120].map(Some)), ((0, 1), [Some(3), Some(50), None, Some(7)])]
    {
        let info = i420(rate);
        let mut harness = harness("motioninterpolate device=nosuchdevice", &info, rate);
        for (number, ms) in times.into_iter().enumerate() {
            let mut buffer = frame_at(&info, number as u64, ms.map(|ms: u64| 1_000_000 * ms));
            buffer.make_mut().set_duration(gst::ClockTime::from_mseconds(40));
            let pointer = buffer.as_ptr();
            push(&mut harness, buffer);
            let found = pull(&mut harness);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].as_ptr(), found[0].pts().map(gst::ClockTime::mseconds)), (pointer, ms));
        }
        let element = element(&harness).downcast::<gst_base::BaseTransform>().unwrap();
        assert_eq!(element.is_passthrough(), rate.0 == 0);
    }
}

#[test]
fn slow_motion_of_a_variable_rate_needs_a_rate() {
    for (before, behind, rate) in [
        (",framerate=0/1", "", (30, 1)),
        (",framerate=0/1,max-framerate=24/1", "", (24, 1)),
        (",framerate=0/1", ",framerate=50/1", (50, 1)),
        (",framerate=0/1", ",framerate={0/1,25/1}", (25, 1)),
        (",framerate=0/1", ",framerate=0/1", (0, 1)),
        (",framerate=24/1", "", (24, 1)),
    ] {
        let found = negotiated_by("motioninterpolate mode=blend rate=0.5", before, behind);
        assert_eq!(found, Some(gst::Fraction::new(rate.0, rate.1)), "{before} {behind}");
    }
    let mut harness = harness("motioninterpolate rate=0.5", &i420((0, 1)), (0, 1));
    let bus = bus(&harness);
    push_all(&mut harness, (25, 1), 0..3);
    let message = bus.pop_filtered(&[gst::MessageType::Warning]).expect("a warning");
    let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
    assert!(warning.error().to_string().contains("no frame rate"), "{message:?}");
    assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_none());
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

/// The format in which `launch` sends frames to the element.
fn format_behind(launch: &str) -> String {
    init();
    let launch = format!("{launch} ! motioninterpolate mode=blend name=interpolate ! fakesink");
    let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Paused).unwrap();
    pipeline.state(gst::ClockTime::NONE).0.unwrap();
    let caps = pipeline.by_name("interpolate").unwrap().static_pad("sink").unwrap().current_caps().unwrap();
    pipeline.set_state(gst::State::Null).unwrap();
    caps.structure(0).unwrap().get("format").unwrap()
}

#[test]
fn behind_videoconvert_the_nearest_depth_is_chosen() {
    for (from, to) in [
        ("ARGB64", "GBRA"),
        ("AYUV64", "A444_10LE"),
        ("Y444_16LE", "Y444_12LE"),
        ("Y212_LE", "I422_12LE"),
        ("Y444_12LE", "Y444_12LE"),
        ("Y410", "Y444_10LE"),
        ("P010_10LE", "P010_10LE"),
        ("GRAY16_LE", "GRAY16_LE"),
        ("RGBA", "RGBA"),
        ("RGB", "RGB"),
        ("YUY2", "YUY2"),
        ("NV16", "NV16"),
        ("A420", "A420"),
        ("v210", "I422_10LE"),
        ("NV12_64Z32", "I420"),
        ("NV12", "NV12"),
    ] {
        let launch = format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format={from},width=32,height=24 ! videoconvert"
        );
        assert_eq!(format_behind(&launch), to, "{from}");
    }
    // What can send anything sends eight bits.
    assert_eq!(format_behind("videotestsrc num-buffers=2"), "I420");
}

/// What is no raw video passes, but is neither decoded nor mixed.
#[test]
fn what_is_no_raw_video_passes_at_the_same_frame_rate() {
    for caps in [
        "image/jpeg,framerate=25/1",
        "image/jpeg,framerate=25/1,width=8,height=4",
        "image/png",
        "video/x-bayer,format=bggr,width=8,height=4,framerate=25/1",
    ] {
        init();
        let mut harness = Harness::new_parse("motioninterpolate device=nosuchdevice");
        let bus = bus(&harness);
        harness.set_src_caps(caps.parse().unwrap());
        let mut pointers = Vec::new();
        for number in 0..3 {
            let mut buffer = gst::Buffer::from_mut_slice(vec![number; 5 + number as usize]);
            buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(43 * u64::from(number)));
            pointers.push(buffer.as_ptr());
            push(&mut harness, buffer);
        }
        end(&mut harness);
        let found = pull(&mut harness);
        assert_eq!(found.iter().map(|buffer| buffer.as_ptr()).collect::<Vec<_>>(), pointers, "{caps}");
        assert_eq!(milliseconds(&found), [0, 43, 86]);
        let told = [gst::MessageType::Warning, gst::MessageType::Error];
        assert!(bus.pop_filtered(&told).is_none());
        let mut query = gst::query::Allocation::new(Some(&caps.parse().unwrap()), true);
        assert!(element(&harness).static_pad("sink").unwrap().query(&mut query));
    }
    // At another speed frames are repeated.
    let mut harness = Harness::new("motioninterpolate");
    element(&harness).set_property("rate", 0.5);
    let bus = bus(&harness);
    harness.set_src_caps("image/jpeg,framerate=25/1,width=8,height=4".parse().unwrap());
    for number in 0..3 {
        let mut buffer = gst::Buffer::from_mut_slice(vec![number; 5 + number as usize]);
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40 * u64::from(number)));
        push(&mut harness, buffer);
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [0, 40, 80, 120, 160, 200]);
    assert_eq!(found.iter().map(|buffer| buffer.size()).collect::<Vec<_>>(), [5, 6, 6, 7, 7, 7]);
    let warning = bus.pop_filtered(&[gst::MessageType::Warning]).expect("a warning");
    let gst::MessageView::Warning(text) = warning.view() else { unreachable!() };
    assert!(text.error().to_string().contains("cannot be mixed"), "{warning:?}");
    assert!(bus.pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]).is_none());
    // Another frame rate is not negotiated.
    let mut harness = Harness::new("motioninterpolate");
    harness.set_sink_caps_str("image/jpeg,framerate=50/1");
    let caps = self::element(&harness).static_pad("sink").unwrap().query_caps(None);
    let accepts = |text: &str| text.parse::<gst::Caps>().unwrap().can_intersect(&caps);
    assert!(accepts("image/jpeg,framerate=50/1") && !accepts("image/jpeg,framerate=25/1"));
}

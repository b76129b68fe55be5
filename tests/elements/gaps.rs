//! GAP events before the first segment, as depayloaders send where packets are lost before the first frame.

use gst_check::Harness;

use crate::init;

/// Whether a GAP goes through `element`, which has got caps but no segment; and with one.
fn passes(element: &str, has_caps: bool) -> [bool; 2] {
    let mut harness = Harness::new(element);
    let gap = || gst::event::Gap::builder(gst::ClockTime::from_mseconds(40)).build();
    let found = |harness: &mut Harness| {
        std::iter::from_fn(|| harness.try_pull_event()).any(|event| event.type_() == gst::EventType::Gap)
    };
    assert!(harness.push_event(gst::event::StreamStart::new("stream")));
    if has_caps {
        let caps = "video/x-raw,format=I420,width=16,height=16,framerate=25/1".parse::<gst::Caps>().unwrap();
        assert!(harness.push_event(gst::event::Caps::new(&caps)));
    }
    assert!(harness.push_event(gap()), "{element}");
    let before = found(&mut harness);
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    assert!(harness.push_event(gap()), "{element}");
    [before, found(&mut harness)]
}

#[test]
fn a_gap_before_the_first_segment_is_dropped() {
    init();
    let elements = ["estimate", "compensate", "interpolate", "denoise", "overlay", "serialize"]
        .map(|name| format!("motion{name}"));
    for element in &elements {
        for has_caps in [false, true] {
            assert_eq!(passes(element, has_caps), [false, true], "{element}, caps: {has_caps}");
        }
    }
}

//! The latency of live sources that are slower than their caps.

use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

use crate::init;

#[test]
fn frames_are_waited_for_as_long_as_announced() {
    init();
    for element in [
        "motiondenoise device=native past=1 future=2",
        "motionestimate device=native direction=both references=2",
    ] {
        for (rate, nominal) in [(30, 66), (0, 0)] {
            let mut harness = Harness::new_parse(element);
            let fps = gst::Fraction::new(rate, 1);
            let info = VideoInfo::builder(VideoFormat::I420, 48, 40).fps(fps).build().unwrap();
            harness.set_src_caps(info.to_caps().unwrap());
            let mut push = |number: u64| {
                let mut buffer = gst::Buffer::with_size(info.size()).unwrap();
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(100 * number));
                assert!(harness.push(buffer).is_ok());
                harness.query_latency().map_or(0, gst::ClockTime::mseconds)
            };
            // The first answer tells that the source is live; the distance is the median of five.
            assert_eq!((0..6).map(&mut push).collect::<Vec<_>>(), [nominal; 6], "{element}");
            assert_eq!(push(6), 200, "{element}");
        }
    }
}

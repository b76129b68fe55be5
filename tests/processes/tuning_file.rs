//! The user's tuning file as the element reads it.

use std::path::PathBuf;

use gst::prelude::*;
use motion_search::backend::{self, DeviceSelector};
use test_support::with_tuning_file;

/// The element goes on with a broken file, and tells of it once.
#[test]
fn the_element_warns_of_a_broken_file_and_plays() {
    with_tuning_file("[[entry]]\nkernel = \"tield\"\n", || {
        crate::init();
        let device = backend::find_opencl(&DeviceSelector::Auto).unwrap();
        let pipeline = gst::parse::launch(&format!(
        "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! motionestimate device={}:{} ! fakesink",
        device.platform, device.index
    ))
    .unwrap()
    .downcast::<gst::Pipeline>()
    .unwrap();
        let bus = pipeline.bus().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let mut warnings = Vec::new();
        for message in bus.iter_timed(gst::ClockTime::NONE) {
            match message.view() {
                gst::MessageView::Warning(warning) => warnings.push(warning.error().to_string()),
                gst::MessageView::Error(error) => panic!("{error:?}"),
                gst::MessageView::Eos(_) => break,
                _ => (),
            }
        }
        pipeline.set_state(gst::State::Null).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let file: PathBuf = gstmotionestimate::tuning_file();
        assert!(warnings[0].contains(&file.display().to_string()), "{warnings:?}");
        assert!(warnings[0].contains("line 2") && warnings[0].contains("tield"), "{warnings:?}");
    });
}

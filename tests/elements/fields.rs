//! Pipelines whose buffers carry known motion fields, and what comes out of them.

use gst::prelude::*;
use gstmotionestimate::meta::{self, FieldDescription};
use motion_search::estimator::{Metric, MotionVector};
pub use test_support::gstreamer::run;

use crate::init;

/// A field over a frame in square blocks, its reference one frame back.
pub fn description(width: u32, height: u32, block: u32) -> FieldDescription {
    FieldDescription {
        bit_depth: 8,
        width,
        height,
        block_width: block,
        block_height: block,
        columns: width.div_ceil(block),
        rows: height.div_ceil(block),
        scale: 4,
        reference_offset: -1,
        reference_pts: Some(gst::ClockTime::from_mseconds(40)),
        metric: Metric::Sad,
    }
}

/// Vectors that tell which block they belong to.
pub fn numbered(description: &FieldDescription) -> Vec<MotionVector> {
    let blocks = description.grid().blocks();
    (0..blocks as i16)
        .map(|index| MotionVector { x: 4 * index - 40, y: 7 - index, cost: 1000 + index as u32 })
        .collect()
}

pub fn bytes(vectors: &[MotionVector]) -> glib::Bytes {
    glib::Bytes::from(bytemuck::cast_slice::<_, u8>(vectors))
}

/// Attaches `fields` to every buffer that leaves the element `name`, but for the first `skipped`.
pub fn attach_after(
    pipeline: &gst::Pipeline,
    name: &str,
    skipped: usize,
    fields: Vec<(FieldDescription, Vec<MotionVector>)>,
) {
    let pad = pipeline.by_name(name).unwrap().static_pad("src").unwrap();
    let seen = std::sync::atomic::AtomicUsize::new(0);
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let buffer = info.buffer_mut().unwrap().make_mut();
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= skipped {
            for (description, vectors) in &fields {
                meta::attach(buffer, description, bytes(vectors), meta::Extras::default()).unwrap();
            }
        }
        gst::PadProbeReturn::Ok
    });
}

/// The pipeline `description`, with the elements of the plugin.
pub fn launch(description: &str) -> gst::Pipeline {
    init();
    test_support::gstreamer::launch(description)
}

/// The texts of the warnings of `launch`, which ends.
fn warnings(launch: &str) -> Vec<String> {
    crate::init();
    let pipeline = gst::parse::launch(launch).unwrap().downcast::<gst::Pipeline>().unwrap();
    let bus = pipeline.bus().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let mut texts = Vec::new();
    loop {
        let message = bus.timed_pop(gst::ClockTime::NONE).unwrap();
        match message.view() {
            gst::MessageView::Warning(warning) => texts.push(warning.error().to_string()),
            gst::MessageView::Error(error) => panic!("{error:?}"),
            gst::MessageView::Eos(_) => break,
            _ => (),
        }
    }
    pipeline.set_state(gst::State::Null).unwrap();
    texts
}

#[test]
fn elements_that_read_fields_tell_if_none_comes() {
    let source = |frames| {
        format!(
            "videotestsrc num-buffers={frames} ! video/x-raw,format=I420,width=64,height=48,framerate=10/1"
        )
    };
    // In a bin, an element that makes frames of its own.
    let lost = "motionestimate device=native ! ( identity ! compositor )";
    for reader in ["motionoverlay", "motioncompensate", "motioncompensate mode=original", "motionserialize"] {
        let warned =
            |frames, before: &str| warnings(&format!("{} ! {before} ! {reader} ! fakesink", source(frames)));
        assert!(warned(10, "identity").is_empty(), "{reader}: not yet a second");
        let told = warned(25, "identity");
        assert!(told.len() == 1 && told[0].ends_with("put motionestimate upstream"), "{reader}: {told:?}");
        let told = warned(25, lost);
        assert!(
            told.len() == 1 && told[0].contains("although motionestimate is upstream"),
            "{reader}: {told:?}"
        );
        assert!(warned(25, "motionestimate device=native").is_empty(), "{reader}");
    }
}

#[test]
fn memory_that_cannot_be_read_is_told_with_what_makes_it_readable() {
    crate::init();
    for (feature, element) in [("memory:GLMemory", "gldownload"), ("memory:DMABuf", "capsfilter")] {
        for name in [
            "motionestimate",
            "motioncompensate",
            "motioninterpolate",
            "motiondenoise",
            "motiondetect",
            "motionoverlay",
        ] {
            let estimate = gst::ElementFactory::make(name).build().unwrap();
            let bus = test_support::gstreamer::ElementBus::new(estimate.clone());
            let caps = gst::Caps::builder("video/x-raw")
                .features([feature])
                .field("format", "NV12")
                .field("width", 64)
                .field("height", 48)
                .build();
            assert!(!estimate.static_pad("sink").unwrap().query_accept_caps(&caps));
            let message = bus.pop_filtered(&[gst::MessageType::Warning]).expect("a warning");
            let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
            let text = warning.error().to_string();
            assert!(text.contains(feature) && text.contains(element), "{name}: {text}");
        }
    }
}

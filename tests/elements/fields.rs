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

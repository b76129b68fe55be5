//! Pipelines, and what comes out of them.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

pub use test_support::gstreamer::{ElementBus, launch, run};

/// Starts GStreamer with the elements of both plugins. Any warning ends the program.
pub fn init() {
    test_support::gstreamer::init(|| {
        gstmotionestimate::plugin_register_static()?;
        gstmotionx264::plugin_register_static()
    });
}

/// The search whose fields the encoder takes.
pub const SEARCH: &str = "motionestimate device=native sub-sample=quarter costs=zero+intra+satd";

/// A source of `count` frames that move.
pub fn source(count: u32, caps: &str) -> String {
    format!("videotestsrc num-buffers={count} pattern=zone-plate kx2=24 ky2=20 kt=3 ! video/x-raw,{caps}")
}

/// All that comes out of `elements`, with its caps.
pub fn encoded(elements: &str) -> (Vec<gst::Buffer>, gst::Caps) {
    init();
    let pipeline = launch(&format!("{elements} ! appsink name=sink"));
    let sink = pipeline.by_name("sink").unwrap();
    let caps = std::sync::Arc::new(std::sync::Mutex::new(None));
    let found = caps.clone();
    sink.static_pad("sink").unwrap().add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if let Some(gst::EventView::Caps(event)) = info.event().map(|event| event.view()) {
            *found.lock().unwrap() = Some(event.caps_owned());
        }
        gst::PadProbeReturn::Ok
    });
    let buffers = run(&pipeline);
    let caps = caps.lock().unwrap().take();
    (buffers, caps.expect("caps"))
}

pub fn bytes(buffers: &[gst::Buffer]) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.map_readable().unwrap().to_vec()).collect()
}

/// A harness around the encoder, for small video of 25 frames a second.
pub fn harness(encoder: &str) -> (gst_check::Harness, VideoInfo) {
    init();
    let info = VideoInfo::builder(VideoFormat::I420, 64, 48).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let mut harness = gst_check::Harness::new_parse(encoder);
    harness.set_src_caps(info.to_caps().unwrap());
    (harness, info)
}

/// Frame `number`: noise that is alike in all frames, moved.
pub fn frame(info: &VideoInfo, number: u64) -> gst::Buffer {
    let noise = |index: usize| {
        let index = index as u32 + 2 * number as u32;
        (index.wrapping_mul(0x9e37_79b1) >> 24) as u8 / 2 + 60
    };
    let mut buffer = gst::Buffer::from_mut_slice((0..info.size()).map(noise).collect::<Vec<_>>());
    let target = buffer.get_mut().unwrap();
    target.set_pts(gst::ClockTime::from_mseconds(40 * number));
    target.set_duration(gst::ClockTime::from_mseconds(40));
    buffer
}

/// Whether decoding can begin with each of these.
pub fn key_units(buffers: &[gst::Buffer]) -> Vec<bool> {
    buffers.iter().map(|buffer| !buffer.flags().contains(gst::BufferFlags::DELTA_UNIT)).collect()
}

/// All that has come out.
pub fn pull(harness: &mut gst_check::Harness) -> Vec<gst::Buffer> {
    std::iter::from_fn(|| harness.try_pull()).collect()
}

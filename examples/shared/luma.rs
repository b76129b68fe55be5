//! The luma planes of a video file.

use std::error::Error;
use std::fs;
use std::path::Path;

use gst::prelude::*;
use gst_video::prelude::*;
use gstmotionestimate::estimator::{Frame, FrameView};

/// The luma planes of the first `count` frames.
pub fn luma(video: &Path, count: usize) -> Result<Vec<Frame>, Box<dyn Error>> {
    gst::init()?;
    let uri = glib::filename_to_uri(fs::canonicalize(video)?, None)?;
    let pipeline = gst::parse::launch(&format!(
        "uridecodebin uri={uri} \
         ! videoconvert ! appsink name=sink sync=false max-buffers=4 caps=video/x-raw,format=I420"
    ))?
    .downcast::<gst::Pipeline>()
    .map_err(|_| "not a pipeline")?;
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().ok_or("no appsink")?;
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    pipeline.set_state(gst::State::Playing)?;
    let frames = pull(&sink, &bus, count);
    pipeline.set_state(gst::State::Null)?;
    frames
}

fn pull(sink: &gst_app::AppSink, bus: &gst::Bus, count: usize) -> Result<Vec<Frame>, Box<dyn Error>> {
    let mut frames = Vec::new();
    while frames.len() < count && !sink.is_eos() {
        if let Some(message) = bus.pop_filtered(&[gst::MessageType::Error])
            && let gst::MessageView::Error(error) = message.view()
        {
            return Err(error.error().into());
        }
        let Some(sample) = sink.try_pull_sample(gst::ClockTime::from_mseconds(100)) else { continue };
        let info = gst_video::VideoInfo::from_caps(sample.caps().ok_or("no caps")?)?;
        let buffer = sample.buffer().ok_or("no buffer")?;
        let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &info)?;
        let stride = usize::try_from(frame.plane_stride()[0])?;
        let (width, height) = (frame.width() as usize, frame.height() as usize);
        let plane = FrameView::new(frame.plane_data(0)?, width, height, stride)?;
        frames.push(Frame::from_fn(width, height, |x, y| plane.row(y)[x]));
    }
    Ok(frames)
}

//! A clip in memory, with its motion fields.

use std::error::Error;

use gst::prelude::*;
use gst_video::VideoInfo;

pub struct Clip {
    pub name: String,
    pub info: VideoInfo,
    /// With the fields that `motionestimate` has attached.
    pub frames: Vec<gst::Buffer>,
}

/// What frames become before they are encoded.
#[derive(Clone, Default)]
pub struct Scaling {
    /// Width and height, if they are scaled.
    pub size: Option<(u32, u32)>,
    /// Whether motion is searched before, and its field scaled too.
    pub is_behind_search: bool,
}

impl Scaling {
    /// The elements behind the decoder.
    fn elements(&self) -> String {
        let search = "motionestimate device=native sub-sample=quarter costs=zero+intra+satd".to_owned();
        let Some((width, height)) = self.size else { return search };
        let scale = format!("videoscale ! video/x-raw,width={width},height={height},pixel-aspect-ratio=1/1");
        if self.is_behind_search { format!("{search} ! {scale}") } else { format!("{scale} ! {search}") }
    }
}

impl Clip {
    /// The first `count` frames of `path`, in which motion is searched.
    pub fn load(path: &str, count: usize, scaling: &Scaling) -> Result<Self, Box<dyn Error>> {
        let uri = glib::filename_to_uri(std::fs::canonicalize(path)?, None)?;
        let pipeline = gst::parse::launch(&format!(
            "uridecodebin uri={uri} ! videoconvert ! video/x-raw,format=I420 ! {} ! \
             appsink name=sink sync=false max-buffers=4",
            scaling.elements()
        ))?;
        let pipeline = pipeline.downcast::<gst::Pipeline>().map_err(|_| "not a pipeline")?;
        let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().ok_or("no sink")?;
        pipeline.set_state(gst::State::Playing)?;
        let (mut frames, mut info) = (Vec::new(), None);
        while let (true, Ok(sample)) = (frames.len() < count, sink.pull_sample()) {
            if info.is_none() {
                info = Some(VideoInfo::from_caps(sample.caps().ok_or("no caps")?)?);
            }
            frames.push(sample.buffer_owned().ok_or("no buffer")?);
        }
        let error = pipeline.bus().and_then(|bus| bus.pop_filtered(&[gst::MessageType::Error]));
        pipeline.set_state(gst::State::Null)?;
        let info = info.ok_or_else(|| format!("{path}: no frame: {error:?}"))?;
        // Streams without a container may have no rate.
        let rate = if info.fps().numer() > 0 { info.fps() } else { gst::Fraction::new(25, 1) };
        let info = VideoInfo::builder(info.format(), info.width(), info.height()).fps(rate).build()?;
        let duration = gst::ClockTime::SECOND.mul_div_floor(rate.denom() as u64, rate.numer() as u64);
        let duration = duration.ok_or("a rate")?;
        for (number, frame) in frames.iter_mut().enumerate() {
            let frame = frame.make_mut();
            frame.set_pts(duration * number as u64);
            frame.set_duration(duration);
            frame.unset_flags(gst::BufferFlags::DISCONT);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        Ok(Self { name: name.split('.').next().unwrap_or(name).into(), info, frames })
    }

    /// How long it is shown, in seconds.
    pub fn seconds(&self) -> f64 {
        self.frames.len() as f64 * f64::from(self.info.fps().denom()) / f64::from(self.info.fps().numer())
    }
}

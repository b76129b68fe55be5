//! Compares every device and kernel with the oracle on the first pictures of a video file.
//!
//! `cargo run --example compare -- VIDEO [PICTURES]`

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use gst::prelude::*;
use gst_video::prelude::*;
use gstmotionestimate::backend::{self, DeviceSelector};
use gstmotionestimate::estimator::{
    Algorithm, Border, Kernel, Metric, MotionField, MotionVector, Parameters, Picture, PictureBuf,
    SetupError, Slot, Tuning, Window, oracle,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (video, count) = match &args[..] {
        [video] => (video, 4),
        [video, count] => (video, count.parse()?),
        _ => return Err("usage: compare VIDEO [PICTURES]".into()),
    };
    let pictures = luma(Path::new(video), count)?;
    let first = pictures.first().ok_or("no pictures")?.view();
    println!("{video}: {} pictures of {} x {}", pictures.len(), first.width(), first.height());

    let settings = [(Metric::Sad, Border::Extend), (Metric::Ssd, Border::Restrict)];
    let algorithms = [Algorithm::Full, Algorithm::ThreeStep];
    for (algorithm, (metric, border)) in algorithms.into_iter().flat_map(|a| settings.map(|s| (a, s))) {
        let parameters = Parameters {
            algorithm,
            metric,
            border,
            ..Parameters::new(first.width(), first.height(), 16, Window::symmetric(16, 16)?)
        };
        let expected: Vec<MotionField> = pictures
            .windows(2)
            .map(|pair| oracle::search(&parameters, &pair[1].view(), &pair[0].view()))
            .collect();
        for device in backend::devices() {
            for kernel in kernels(&device.selector, algorithm) {
                let name =
                    format!("  {} {} {border:?} {} {kernel}", algorithm.name(), metric.name(), device.name);
                match backend::open(&device.selector, kernel, &Tuning::default(), &parameters) {
                    Ok(opened) => {
                        let mut estimator = opened.estimator;
                        let mut slot = Slot::A;
                        estimator.load(slot, &pictures[0].view())?;
                        let mut found = vec![MotionVector::default(); parameters.grid().blocks()];
                        for (picture, expected) in pictures[1..].iter().zip(&expected) {
                            slot = slot.other();
                            estimator.load(slot, &picture.view())?;
                            estimator.search(slot, &mut found)?;
                            if found != expected.vectors {
                                return Err(format!("{name}: not what the oracle finds").into());
                            }
                        }
                        println!("{name}: equal");
                    }
                    Err(SetupError::KernelUnsupported { reason, .. }) => {
                        println!("{name}: not run: {reason}")
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}

fn kernels(device: &DeviceSelector, algorithm: Algorithm) -> Vec<Kernel> {
    if *device == DeviceSelector::Native { vec![Kernel::Auto] } else { Kernel::of(algorithm).to_vec() }
}

/// The luma planes of the first `count` pictures.
fn luma(video: &Path, count: usize) -> Result<Vec<PictureBuf>, Box<dyn Error>> {
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
    let mut pictures = Vec::new();
    while pictures.len() < count && !sink.is_eos() {
        if let Some(message) = bus.pop_filtered(&[gst::MessageType::Error]) {
            pipeline.set_state(gst::State::Null)?;
            let gst::MessageView::Error(error) = message.view() else { unreachable!("filtered") };
            return Err(error.error().into());
        }
        let Some(sample) = sink.try_pull_sample(gst::ClockTime::from_mseconds(100)) else { continue };
        let info = gst_video::VideoInfo::from_caps(sample.caps().ok_or("no caps")?)?;
        let buffer = sample.buffer().ok_or("no buffer")?;
        let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &info)?;
        let stride = frame.plane_stride()[0] as usize;
        let (width, height) = (frame.width() as usize, frame.height() as usize);
        let plane = Picture::new(frame.plane_data(0)?, width, height, stride)?;
        pictures.push(PictureBuf::from_fn(width, height, |x, y| plane.row(y)[x]));
    }
    pipeline.set_state(gst::State::Null)?;
    Ok(pictures)
}

//! Compares every device and kernel with the oracle on the first frames of a video file.
//!
//! `cargo run --example compare -- VIDEO [FRAMES]`

use std::env;
use std::error::Error;
use std::path::Path;

use motion_search::estimator::oracle;
use motion_search::{
    Algorithm, Border, DeviceSelector, Kernel, Metric, MotionField, MotionSearch, SetupError, devices,
};
use test_support::gstreamer::clips::luma;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (video, count) = match &args[..] {
        [video] => (video, 4),
        [video, count] => (video, count.parse()?),
        _ => return Err("usage: compare VIDEO [FRAMES]".into()),
    };
    let frames = luma(Path::new(video), count)?;
    let first = frames.first().ok_or("no frames")?.view();
    println!("{video}: {} frames of {} x {}", frames.len(), first.width(), first.height());

    let settings = [(Metric::Sad, Border::Extend), (Metric::Ssd, Border::Restrict)];
    let algorithms = [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical];
    for (algorithm, (metric, border)) in algorithms.into_iter().flat_map(|a| settings.map(|s| (a, s))) {
        let builder = MotionSearch::builder(first.width(), first.height());
        let builder = builder.algorithm(algorithm).metric(metric).border(border);
        let parameters = builder.clone().device("native").build()?.parameters().clone();
        let expected: Vec<MotionField> = frames
            .windows(2)
            .map(|pair| oracle::search(&parameters, &pair[1].view(), &pair[0].view()))
            .collect();
        for device in devices() {
            for kernel in kernels(&device.selector, algorithm) {
                let name =
                    format!("  {} {} {border:?} {} {kernel}", algorithm.name(), metric.name(), device.name);
                match builder.clone().device(device.selector.clone()).kernel(kernel).build() {
                    Ok(mut search) => {
                        let fields =
                            search.fields(frames.iter().cloned()).map(|found| found.map(|(_, field)| field));
                        let found: Result<Vec<_>, _> = fields.collect();
                        if found? != expected {
                            return Err(format!("{name}: not what the oracle finds").into());
                        }
                        println!("{name}: equal");
                    }
                    Err(SetupError::KernelUnsupported { reason, .. }) => {
                        println!("{name}: not supported: {reason}")
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

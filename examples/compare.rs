//! Compares every device and kernel with the oracle on the first frames of a video file.
//!
//! `cargo run --example compare -- VIDEO [FRAMES]`

#[path = "shared/luma.rs"]
mod luma;

use std::env;
use std::error::Error;
use std::path::Path;

use motion_search::backend::{self, DeviceSelector};
use motion_search::estimator::{
    Algorithm, Border, Metric, MotionField, Output, Parameters, SetupError, Slot, Window, oracle, search,
};
use motion_search::tuning::{Kernel, Tuning};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (video, count) = match &args[..] {
        [video] => (video, 4),
        [video, count] => (video, count.parse()?),
        _ => return Err("usage: compare VIDEO [FRAMES]".into()),
    };
    let frames = luma::luma(Path::new(video), count)?;
    let first = frames.first().ok_or("no frames")?.view();
    println!("{video}: {} frames of {} x {}", frames.len(), first.width(), first.height());

    let settings = [(Metric::Sad, Border::Extend), (Metric::Ssd, Border::Restrict)];
    let algorithms = [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical];
    for (algorithm, (metric, border)) in algorithms.into_iter().flat_map(|a| settings.map(|s| (a, s))) {
        let parameters = Parameters {
            algorithm,
            metric,
            border,
            ..Parameters::new(first.width(), first.height(), 16, Window::symmetric(16, 16)?)
        };
        let expected: Vec<MotionField> = frames
            .windows(2)
            .map(|pair| oracle::search(&parameters, &pair[1].view(), &pair[0].view()))
            .collect();
        for device in backend::devices() {
            for kernel in kernels(&device.selector, algorithm) {
                let name =
                    format!("  {} {} {border:?} {} {kernel}", algorithm.name(), metric.name(), device.name);
                match backend::open_device(&device.selector, kernel, &Tuning::default(), &parameters) {
                    Ok((mut opened, _)) => {
                        let mut slot = Slot::A;
                        opened.load_frame(slot, &frames[0])?;
                        let mut found = Output::new(parameters.grid().blocks());
                        for (frame, expected) in frames[1..].iter().zip(&expected) {
                            slot = slot.other();
                            opened.load_frame(slot, frame)?;
                            search(opened.as_mut(), slot, slot.other(), &mut found)?;
                            if found.vectors[..] != expected.vectors {
                                return Err(format!("{name}: not what the oracle finds").into());
                            }
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

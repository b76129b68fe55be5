//! What the OpenCL kernels of full search do in a device's own time: searches queued one after the
//! other, without the start of each and the wait for it. `tiled` beside `reference`, in one run, for
//! every OpenCL GPU; their fields are compared first.
//!
//! `cargo bench --bench kernels [-- PART]`: only lines whose text holds PART, as `2160` or `ssd`.
#![allow(missing_docs)]

use std::time::Duration;

use gstmotionestimate::estimator::{
    Estimator, Kernel, Metric, MotionVector, Parameters, PictureBuf, SetupError, Slot, Tuning, Window,
};
use gstmotionestimate::opencl::{Device, DeviceKind, OpenCl, devices};

const SIZES: [(usize, usize); 3] = [(1920, 1080), (3840, 2160), (7680, 4320)];

/// Positions of the window on each axis: 33, 65 and 129 are ±16, ±32 and ±64.
const POSITIONS: [i32; 5] = [32, 33, 64, 65, 129];

/// Measurements, of which the median counts, of so many searches each.
const RUNS: usize = 7;
const SEARCHES: u32 = 10;

fn main() {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let devices: Vec<_> = devices().into_iter().filter(|device| device.kind == DeviceKind::Gpu).collect();
    if devices.is_empty() {
        eprintln!("\n!!! NOT MEASURED: there is no OpenCL GPU\n");
    }
    println!("T absolute differences/s, median of {RUNS} x {SEARCHES} searches");
    println!("{:42} {:>9} {:>7} {:>10} {:>6}", "", "tiled, ms", "tiled", "reference", "ratio");
    for device in &devices {
        for (width, height) in SIZES {
            let (reference, current) = pictures(width, height);
            for (block_size, metric, positions) in searches() {
                let window = window(positions);
                let parameters = Parameters { metric, ..Parameters::new(width, height, block_size, window) };
                let line = format!(
                    "{}, {width}x{height}, {block_size} {} {positions}x{positions}",
                    device.name,
                    metric.name()
                );
                if part.as_ref().is_some_and(|part| !line.contains(part)) {
                    continue;
                }
                let measure = |kernel| measure(device, kernel, &parameters, &reference, &current);
                match (measure(Kernel::Tiled), measure(Kernel::Reference)) {
                    (Ok((tiled, field)), Ok((reference, expected))) => {
                        assert!(field == expected, "{line}: not what reference finds");
                        let differences = (width * height * window.candidates()) as f64 / 1e12;
                        let rate = |time: Duration| differences / time.as_secs_f64();
                        let ratio = reference.as_secs_f64() / tiled.as_secs_f64();
                        let (ms, tiled, reference) =
                            (1e3 * tiled.as_secs_f64(), rate(tiled), rate(reference));
                        println!("{line:42} {ms:9.4} {tiled:7.2} {reference:10.2} {ratio:6.1}");
                    }
                    (Err(error), _) | (_, Err(error)) => println!("{line:42} not measured: {error}"),
                }
            }
        }
    }
}

/// Block size, metric and positions: every window for the usual blocks, the usual windows for the
/// others.
fn searches() -> impl Iterator<Item = (usize, Metric, i32)> {
    let usual = POSITIONS.map(|positions| (16, Metric::Sad, positions));
    let others = [4, 8, 32, 64].into_iter().flat_map(|block| [32, 33].map(|n| (block, Metric::Sad, n)));
    usual.into_iter().chain(others).chain([32, 33, 64].map(|n| (16, Metric::Ssd, n)))
}

fn window(positions: i32) -> Window {
    let (first, last) = (-(positions / 2), positions - 1 - positions / 2);
    Window::new(first, last, first, last).expect("a window")
}

/// Noise, and the same moved by a few samples with other noise on top.
fn pictures(width: usize, height: usize) -> (PictureBuf, PictureBuf) {
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let samples: Vec<u8> = (0..width * height).map(|_| noise()).collect();
    let moved: Vec<u8> = (0..width * height)
        .map(|i| samples[(i + 5 + 3 * width) % samples.len()].saturating_add(noise() >> 5))
        .collect();
    let picture = |samples| PictureBuf::new(samples, width, height).expect("a picture");
    (picture(samples), picture(moved))
}

fn measure(
    device: &Device,
    kernel: Kernel,
    parameters: &Parameters,
    reference: &PictureBuf,
    current: &PictureBuf,
) -> Result<(Duration, Vec<MotionVector>), SetupError> {
    let mut estimator = OpenCl::new(device, kernel, &Tuning::default(), parameters)?;
    let mut field = vec![MotionVector::default(); parameters.grid().blocks()];
    estimator.load(Slot::A, &reference.view()).expect("an upload");
    estimator.load(Slot::B, &current.view()).expect("an upload");
    estimator.search(Slot::B, &mut field).expect("a search");
    let mut run = || estimator.time_searches(Slot::B, SEARCHES).expect("a search that has worked before");
    let mut times: Vec<_> = (0..RUNS).map(|_| run()).collect();
    times.sort();
    Ok((times[RUNS / 2], field))
}

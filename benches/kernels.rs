//! What the OpenCL kernels of full search do in a device's own time: searches queued one after the
//! other, without the start of each and the wait for it; and queued as several in flight are, where
//! each begins beside the end of the one before. `tiled` beside `reference`, in one run, for every
//! OpenCL GPU; their fields are compared first.
//!
//! `cargo bench -p motion-benches --bench kernels [-- PART]`: only lines whose text holds PART, as `2160` or `ssd`.
#![allow(missing_docs)]

use std::time::Duration;

use motion_search::estimator::{
    Device as _, Frame, Metric, MotionVector, Output, Parameters, SetupError, Slot, Window, search,
};
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice, devices};
use motion_search::tuning::{Kernel, Tuning};

const SIZES: [(usize, usize); 3] = [(1920, 1080), (3840, 2160), (7680, 4320)];

/// Positions of the window on each axis: 33, 65 and 129 are ±16, ±32 and ±64.
const POSITIONS: [i32; 5] = [32, 33, 64, 65, 129];

/// Measurements, of which the median counts, of as many searches each as take about so long.
const RUNS: usize = 7;
const RUN: Duration = Duration::from_millis(4);

/// Searches in flight, where there are several.
const DEPTH: usize = 4;

fn main() {
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let devices: Vec<_> = devices().into_iter().filter(|device| device.kind == DeviceKind::Gpu).collect();
    if devices.is_empty() {
        eprintln!("\n!!! NOT MEASURED: there is no OpenCL GPU\n");
    }
    println!("T absolute differences/s, median of {RUNS} x {RUN:?}; one search at a time, {DEPTH} in flight");
    println!(
        "{:42} {:>9} {:>7} {:>9} {:>10} {:>6}",
        "", "tiled, ms", "one", "in flight", "reference", "ratio"
    );
    for device in &devices {
        for (width, height) in SIZES {
            let (reference, current) = frames(width, height);
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
                let measure =
                    |kernel, depth| measure(device, kernel, depth, &parameters, &reference, &current);
                let measured = measure(Kernel::Tiled, 1).and_then(|one| {
                    Ok((one, measure(Kernel::Tiled, DEPTH)?, measure(Kernel::Reference, DEPTH)?))
                });
                match measured {
                    Ok((one, several, (reference, expected))) => {
                        assert!(
                            one.1 == expected && several.1 == expected,
                            "{line}: not what reference finds"
                        );
                        let differences = (width * height * window.candidates()) as f64 / 1e12;
                        let rate = |time: Duration| differences / time.as_secs_f64();
                        let ratio = reference.as_secs_f64() / several.0.as_secs_f64();
                        println!(
                            "{line:42} {:9.4} {:7.2} {:9.2} {:10.2} {ratio:6.1}",
                            1e3 * several.0.as_secs_f64(),
                            rate(one.0),
                            rate(several.0),
                            rate(reference)
                        );
                    }
                    Err(error) => println!("{line:42} not measured: {error}"),
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
fn frames(width: usize, height: usize) -> (Frame, Frame) {
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let samples: Vec<u8> = (0..width * height).map(|_| noise()).collect();
    let moved: Vec<u8> = (0..width * height)
        .map(|i| samples[(i + 5 + 3 * width) % samples.len()].saturating_add(noise() >> 5))
        .collect();
    let frame = |samples| Frame::from_samples(samples, width, height).expect("a frame");
    (frame(samples), frame(moved))
}

fn measure(
    device: &OpenClDevice,
    kernel: Kernel,
    depth: usize,
    parameters: &Parameters,
    reference: &Frame,
    current: &Frame,
) -> Result<(Duration, Vec<MotionVector>), SetupError> {
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    let mut opened = OpenCl::new(device, kernel, &tuning, parameters)?;
    let mut output = Output::new(parameters.grid().blocks());
    opened.load_frame(Slot::A, reference).expect("an upload");
    opened.load_frame(Slot::B, current).expect("an upload");
    search(&mut opened, Slot::B, Slot::A, &mut output).expect("a search");
    let mut run =
        |count| opened.time_searches(Slot::B, Slot::A, count).expect("a search that has worked before");
    let count = (RUN.as_nanos() / run(3).as_nanos().max(1)).clamp(3, 100) as u32;
    let mut times: Vec<_> = (0..RUNS).map(|_| run(count)).collect();
    times.sort();
    Ok((times[RUNS / 2], output.vectors.to_vec()))
}

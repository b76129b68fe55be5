//! What sub-sample refinement costs and gains on real clips, and what samples of more bits cost, ±16.
//!
//! `cargo bench -p motion-benches --bench precision -- CLIP...` prints, for blocks of 8 and 16, for full search each precision of the
//! vectors, and for each search samples of 10 and 16 bits whose lower bits are noise (full search by SAD also of their
//! quarters): the time of a search, the rate
//! relative to whole vectors of 8 bits, and for 8 bits the luma PSNR of the prediction, the mean over the frames. The
//! device is one thread of the CPU, or `DEVICE=gpu` and the like; what counts is the time that the thread spends, or the
//! device by its own clock. `BLOCKS=8`, `RANGE=32` and `KERNEL=elimination` select. `FOUR=1` searches four of each frame
//! side by side: 4K of 1080p.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use motion_frames::compensation::{predict_luma, psnr};
use motion_search::backend::{self, DeviceSelector};
use motion_search::estimator::{
    Algorithm, Frame, Metric, Output, Parameters, Slot, SubSample, Window, search,
};
use motion_search::tuning::{Kernel, Tuning};
use test_support::gstreamer::clips::luma;

/// The first frames of a clip, which are searched one after the other.
const FRAMES: usize = 14;

/// Searches of a frame, of which the fastest counts: whatever else the machine does only slows it down.
const TURNS: usize = 5;

/// What is measured: searches, the precision of the vectors, and the bits of the samples.
const VARIANTS: [(Algorithm, Metric, SubSample, u32); 16] = {
    use Algorithm::{Full, ThreeStep};
    use Metric::{Sad, Ssd};
    use SubSample::{Half, None, Quarter};
    [
        (Full, Sad, None, 8),
        (Full, Sad, Half, 8),
        (Full, Sad, Quarter, 8),
        (Full, Sad, None, 10),
        (Full, Sad, Half, 10),
        (Full, Sad, Quarter, 10),
        (Full, Sad, None, 16),
        (Full, Sad, Half, 16),
        (Full, Sad, Quarter, 16),
        (Full, Ssd, None, 8),
        (Full, Ssd, None, 10),
        (ThreeStep, Sad, None, 8),
        (ThreeStep, Sad, None, 10),
        (ThreeStep, Sad, None, 16),
        (ThreeStep, Ssd, None, 8),
        (ThreeStep, Ssd, None, 10),
    ]
};

type BenchResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<(), Box<dyn Error>> {
    let clips: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if clips.is_empty() {
        eprintln!("usage: cargo bench -p motion-benches --bench precision -- CLIP...");
        return Ok(());
    }
    let device: DeviceSelector = env::var("DEVICE").unwrap_or("native".into()).parse()?;
    let blocks = env::var("BLOCKS").unwrap_or("8,16".into());
    let range = env::var("RANGE").map_or(Ok(16), |range| range.parse())?;
    let kernel: Kernel = serde_json::from_value(env::var("KERNEL").unwrap_or("auto".into()).into())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for clip in &clips {
        let mut frames = luma(Path::new(clip), FRAMES)?;
        if env::var_os("FOUR").is_some() {
            frames = frames.iter().map(four).collect();
        }
        let first = frames.first().ok_or("no frames")?.view();
        let name = Path::new(clip).file_name().unwrap_or_default().to_string_lossy();
        for block_size in blocks.split(',') {
            let window = Window::symmetric(range, range)?;
            let whole = Parameters::new(first.width(), first.height(), block_size.parse()?, window);
            let mut of_whole = (0.0, 0.0);
            for (algorithm, metric, sub_sample, bit_depth) in VARIANTS {
                let kernel = if algorithm == Algorithm::Full { kernel } else { Kernel::Auto };
                let parameters = Parameters { algorithm, metric, sub_sample, bit_depth, ..whole.clone() };
                let frames: Vec<Frame> = frames.iter().map(|frame| with_depth(frame, bit_depth)).collect();
                let measured = pool.install(|| measure(&parameters, (&device, kernel), &frames));
                let (time, psnr) = measured.map_err(|error| -> Box<dyn Error> { error })?;
                let ms = 1e3 * time.as_secs_f64();
                if (sub_sample, bit_depth) == (SubSample::None, 8) {
                    of_whole = (ms, psnr);
                }
                print!(
                    "{name} {}x{} blocks of {block_size:2} {:10} {:4} {:7} {bit_depth:2} bits {ms:8.3} ms {:6.1} %",
                    first.width(),
                    first.height(),
                    algorithm.name(),
                    metric.name(),
                    sub_sample.name(),
                    100.0 * of_whole.0 / ms,
                );
                match bit_depth {
                    8 => println!(" {psnr:6.2} dB {:+5.2}", psnr - of_whole.1),
                    _ => println!(),
                }
            }
        }
    }
    Ok(())
}

/// The mean time of a search, and the mean PSNR of the predictions.
fn measure(
    parameters: &Parameters,
    (device, kernel): (&DeviceSelector, Kernel),
    frames: &[Frame],
) -> BenchResult<(Duration, f64)> {
    let (mut device, _) = backend::open_device(device, kernel, &Tuning::default(), parameters)?;
    let is_native = device.info().name.as_ref() == "native";
    let mut output = Output::new(parameters.grid().blocks());
    let (mut time, mut total) = (Duration::ZERO, 0.0);
    let pairs = frames.len().checked_sub(2).filter(|pairs| *pairs > 0).ok_or("three frames are needed")?;
    for trio in frames.windows(3) {
        let mut least = Duration::MAX;
        for _ in 0..TURNS {
            // Elimination begins with the vectors of the frame before.
            device.load_frame(Slot::A, &trio[0])?;
            device.load_frame(Slot::B, &trio[1])?;
            search(device.as_mut(), Slot::B, Slot::A, &mut output)?;
            device.load_frame(Slot::A, &trio[2])?;
            let start = thread_time();
            search(device.as_mut(), Slot::A, Slot::B, &mut output)?;
            least = least.min(if is_native { thread_time() - start } else { output.times.search });
        }
        time += least;
        if parameters.bit_depth == 8 {
            let prediction = predict_luma(parameters, &trio[1].view(), &output.vectors)?;
            total += psnr(&trio[2].view(), &prediction.view())?;
        } else {
            total = f64::NAN;
        }
    }
    Ok((time / pairs as u32, total / pairs as f64))
}

/// The frame with samples of `depth` bits, the lower ones noise.
fn with_depth(frame: &Frame, depth: u32) -> Frame {
    if depth == 8 {
        return frame.clone();
    }
    let (frame, mut state) = (frame.view(), 1_u32);
    Frame::deep_from_fn(frame.width(), frame.height(), depth, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u16::from(frame.row(y)[x]) << (depth - 8) | (state >> (32 - (depth - 8))) as u16
    })
}

/// Four times the same frame, two beside two.
fn four(frame: &Frame) -> Frame {
    let frame = frame.view();
    let (width, height) = (frame.width(), frame.height());
    Frame::from_fn(2 * width, 2 * height, |x, y| frame.row(y % height)[x % width])
}

/// The time that this thread has worked.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

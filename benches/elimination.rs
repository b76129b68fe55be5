//! Successive elimination against exhaustive search on real clips, one core.
//!
//! `cargo bench -p motion-benches --bench elimination -- CLIP...` prints, for every instruction set and range, the
//! effective rate of both on each clip (width · height · candidates / time, absolute differences a
//! second as if each were computed), their ratio, and the geometric mean of the ratios. Each
//! frame is searched by both in turn, in the same run; what is compared is the time a thread
//! spends, so that others on the machine disturb little. `RANGES=16,32` and `LEVELS=avx2` select, and
//! `noise` is a clip of noise, in which nothing can be eliminated.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use motion_search::estimator::{Device as _, Frame, Metric, Output, Parameters, Slot, Window, search};
use motion_search::native::{InstructionSetName, Native};
use motion_search::tuning::Kernel;
use test_support::gstreamer::clips::luma;

/// Pairs of frames a clip, spread over its first [`FRAMES`].
const PAIRS: usize = 6;
const FRAMES: usize = 50;

/// In the place of a clip: frames in which every sample is another random number.
const NOISE: &str = "noise";

/// Frames of noise, 1280 × 720: enough to be searched again after all pauses.
fn noise() -> Vec<Frame> {
    let mut state = 1_u32;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    (0..FRAMES).map(|_| Frame::from_fn(1280, 720, |_, _| next())).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let clips: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if clips.is_empty() {
        eprintln!("usage: cargo bench -p motion-benches --bench elimination -- CLIP...");
        return Ok(());
    }
    let clips = clips
        .iter()
        .map(|clip| match clip.as_str() {
            NOISE => Ok((clip, noise())),
            _ => Ok((clip, luma(Path::new(clip), FRAMES)?)),
        })
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let wanted = env::var("LEVELS").unwrap_or_default();
    let ranges = env::var("RANGES").unwrap_or("16,32,64".into());
    let block_size = env::var("BLOCK").map_or(Ok(16), |side| side.parse())?;
    let metric = if env::var("METRIC").is_ok_and(|name| name == "ssd") { Metric::Ssd } else { Metric::Sad };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for instruction_set in
        InstructionSetName::available().filter(|set| wanted.is_empty() || wanted.contains(set.name()))
    {
        for range in ranges.split(',') {
            let window = Window::symmetric(range.parse()?, range.parse()?)?;
            let mut logarithms = Vec::new();
            for (name, frames) in &clips {
                let first = frames.first().ok_or("no frames")?.view();
                let parameters = Parameters {
                    metric,
                    ..Parameters::new(first.width(), first.height(), block_size, window)
                };
                let [exhaustive, elimination] = pool
                    .install(|| compare(&parameters, instruction_set, frames, name.as_str() == NOISE))
                    .map_err(|error| -> Box<dyn Error> { error })?;
                let differences = (first.width() * first.height() * window.candidates()) as f64;
                let rate = |time: Duration| differences / time.as_secs_f64() * 1e-9;
                let ratio = exhaustive.as_secs_f64() / elimination.as_secs_f64();
                if name.as_str() != NOISE {
                    logarithms.push(ratio.ln());
                }
                let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
                println!(
                    "{instruction_set:8} ±{range:4} {name:36} exhaustive {:7.1} G  elimination {:8.1} G  ratio {ratio:6.2}",
                    rate(exhaustive),
                    rate(elimination),
                );
            }
            let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
            println!("{instruction_set:8} ±{range:4} {:36} geometric mean of the ratios {mean:21.2}", "");
        }
    }
    Ok(())
}

/// The mean time a frame of both kernels, each the least of three turns. Where nothing can be
/// eliminated that would leave out the turns in which it was tried: all count then.
fn compare(
    parameters: &Parameters,
    instruction_set: InstructionSetName,
    frames: &[Frame],
    all_count: bool,
) -> Result<[Duration; 2], Box<dyn Error + Send + Sync>> {
    let mut natives = [
        Native::with_kernel(parameters.clone(), Kernel::Exhaustive, instruction_set)?,
        Native::with_kernel(parameters.clone(), Kernel::Elimination, instruction_set)?,
    ];
    let mut outputs = [0, 1].map(|_| Output::new(parameters.grid().blocks()));
    let mut times = [Duration::ZERO; 2];
    let last = frames.len().checked_sub(2).filter(|last| *last > 0).ok_or("three frames are needed")?;
    let pairs: Vec<_> = frames.windows(3).step_by(last.div_ceil(PAIRS)).collect();
    for trio in &pairs {
        let (mut least, mut all) = ([Duration::MAX; 2], [Duration::ZERO; 2]);
        for _ in 0..3 {
            for (index, (native, output)) in natives.iter_mut().zip(&mut outputs).enumerate() {
                native.load_frame(Slot::A, &trio[0])?;
                native.load_frame(Slot::B, &trio[1])?;
                if native.info().kernel == Kernel::Elimination.name() {
                    // It begins with the vectors of the frame before.
                    search(native, Slot::B, Slot::A, output)?;
                }
                native.load_frame(Slot::A, &trio[2])?;
                let start = thread_time();
                search(native, Slot::A, Slot::B, output)?;
                let time = thread_time() - start;
                (least[index], all[index]) = (least[index].min(time), all[index] + time);
            }
        }
        assert!(outputs[0].vectors[..] == outputs[1].vectors[..], "the fields differ");
        let of_pair = if all_count { all.map(|time| time / 3) } else { least };
        times = [times[0] + of_pair[0], times[1] + of_pair[1]];
    }
    Ok(times.map(|time| time / pairs.len() as u32))
}

/// The time that this thread has worked.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

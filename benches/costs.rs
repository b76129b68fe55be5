//! The costs of blocks beside the search, on real clips, one core.
//!
//! `cargo bench -p motion-benches --bench costs -- CLIP...` prints for every instruction set the time of a search (blocks of 16, ±16,
//! `kernel=auto`), and how much longer it takes with `zero`, `intra`, `satd` and others, each alone and together, in whole
//! and in quarter samples. All are measured in turn, in the same run; what counts is the time a thread spends, the least of
//! three turns, so that others on the machine disturb little. `LEVELS=avx2` selects.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use motion_search::estimator::{
    CostKind, CostKinds, Device as _, Frame, Output, Parameters, Slot, SubSample, Window, search,
};
use motion_search::native::{InstructionSetName, Native};
use motion_search::stages::{SearchedFrames, block_costs};
use test_support::gstreamer::clips::luma;

/// Pairs of frames a clip, spread over its first [`FRAMES`].
const PAIRS: usize = 6;
const FRAMES: usize = 50;

const SETS: [&[CostKind]; 8] = [
    &[CostKind::Zero, CostKind::Intra, CostKind::Satd],
    &[CostKind::Zero],
    &[CostKind::Intra],
    &[CostKind::Satd],
    &[CostKind::Variance],
    &[CostKind::Second],
    &[CostKind::Confidence],
    &CostKind::ALL,
];

fn main() -> Result<(), Box<dyn Error>> {
    let clips: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if clips.is_empty() {
        eprintln!("usage: cargo bench -p motion-benches --bench costs -- CLIP...");
        return Ok(());
    }
    let wanted = env::var("LEVELS").unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for clip in &clips {
        let frames = luma(Path::new(clip), FRAMES)?;
        let name = Path::new(clip).file_name().unwrap_or_default().to_string_lossy();
        for instruction_set in
            InstructionSetName::available().filter(|set| wanted.is_empty() || wanted.contains(set.name()))
        {
            for sub_sample in [SubSample::None, SubSample::Quarter] {
                let (searched, added) = pool
                    .install(|| measure(&frames, instruction_set, sub_sample))
                    .map_err(|error| -> Box<dyn Error> { error })?;
                let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
                println!(
                    "{name}, {instruction_set}, sub-sample {}: {:.2} ms",
                    sub_sample.name(),
                    milliseconds(searched)
                );
                for (kinds, added) in SETS.iter().zip(added) {
                    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
                    let percent = 100.0 * added.as_secs_f64() / searched.as_secs_f64();
                    println!("    {:34} +{:6.2} ms, {percent:6.1} %", names.join("+"), milliseconds(added));
                }
            }
        }
    }
    Ok(())
}

/// The mean time of a search, and of each set of costs after it.
fn measure(
    frames: &[Frame],
    instruction_set: InstructionSetName,
    sub_sample: SubSample,
) -> Result<(Duration, [Duration; SETS.len()]), Box<dyn Error + Send + Sync>> {
    let first = frames.first().ok_or("no frames")?.view();
    let window = Window::symmetric(16, 16)?;
    let parameters = Parameters { sub_sample, ..Parameters::new(first.width(), first.height(), 16, window) };
    let mut native = Native::with_instruction_set(parameters.clone(), instruction_set)?;
    let mut stages = Vec::new();
    for kinds in SETS {
        let costs: CostKinds = kinds.iter().copied().collect();
        stages.push(block_costs(&Parameters { costs, ..parameters.clone() }, instruction_set)?);
    }
    let mut output = Output::new(parameters.grid().blocks());
    let mut times = (Duration::ZERO, [Duration::ZERO; SETS.len()]);
    let last = frames.len().checked_sub(2).filter(|last| *last > 0).ok_or("three frames are needed")?;
    let pairs: Vec<_> = frames.windows(3).step_by(last.div_ceil(PAIRS)).collect();
    for trio in &pairs {
        let mut least = (Duration::MAX, [Duration::MAX; SETS.len()]);
        for _ in 0..3 {
            native.load_frame(Slot::A, &trio[0])?;
            native.load_frame(Slot::B, &trio[1])?;
            // Elimination begins with the vectors of the frame before.
            search(&mut native, Slot::B, Slot::A, &mut output)?;
            native.load_frame(Slot::A, &trio[2])?;
            let start = thread_time();
            search(&mut native, Slot::A, Slot::B, &mut output)?;
            least.0 = least.0.min(thread_time() - start);
            let frames = SearchedFrames { current: trio[2].view(), reference: trio[1].view(), offset: -1 };
            for (stage, least) in stages.iter_mut().zip(&mut least.1) {
                let start = thread_time();
                stage.apply(Some(frames), &mut output)?;
                *least = (*least).min(thread_time() - start);
            }
        }
        times.0 += least.0;
        times.1.iter_mut().zip(least.1).for_each(|(sum, time)| *sum += time);
    }
    let count = pairs.len() as u32;
    Ok((times.0 / count, times.1.map(|time| time / count)))
}

/// The time that this thread has worked.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

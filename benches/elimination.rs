//! Successive elimination against exhaustive search on real clips, one core.
//!
//! `cargo bench --bench elimination -- CLIP...` prints, for every instruction set and range, the
//! effective rate of both on each clip (width · height · candidates / time, absolute differences a
//! second as if each were computed), their ratio, and the geometric mean of the ratios. Each
//! picture is searched by both in turn, in the same run; what is compared is the time a thread
//! spends, so that others on the machine disturb little. `RANGES=16,32` and `LEVELS=avx2` select.
#![allow(missing_docs)]

use std::error::Error;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use gst::prelude::*;
use gst_video::prelude::*;
use gstmotionestimate::estimator::{
    Estimator, Kernel, Metric, MotionVector, Parameters, Picture, PictureBuf, Slot, Window,
};
use gstmotionestimate::native::{Level, Native};

/// Pairs of pictures a clip, spread over its first [`PICTURES`].
const PAIRS: usize = 6;
const PICTURES: usize = 50;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let clips: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if clips.is_empty() {
        eprintln!("usage: cargo bench --bench elimination -- CLIP...");
        return Ok(());
    }
    let clips = clips
        .iter()
        .map(|clip| Ok((clip, luma(Path::new(clip), PICTURES)?)))
        .collect::<Result<Vec<_>, Box<dyn Error + Send + Sync>>>()?;
    let levels = env::var("LEVELS").unwrap_or_default();
    let ranges = env::var("RANGES").unwrap_or("16,32,64".into());
    let block_size = env::var("BLOCK").map_or(Ok(16), |side| side.parse())?;
    let metric = if env::var("METRIC").is_ok_and(|name| name == "ssd") { Metric::Ssd } else { Metric::Sad };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for level in Level::available().filter(|level| levels.is_empty() || levels.contains(level.name())) {
        for range in ranges.split(',') {
            let window = Window::symmetric(range.parse()?, range.parse()?)?;
            let mut logarithms = 0.0;
            for (name, pictures) in &clips {
                let first = pictures.first().ok_or("no pictures")?.view();
                let parameters = Parameters {
                    metric,
                    ..Parameters::new(first.width(), first.height(), block_size, window)
                };
                let [exhaustive, elimination] = pool.install(|| compare(&parameters, level, pictures))?;
                let differences = (first.width() * first.height() * window.candidates()) as f64;
                let rate = |time: Duration| differences / time.as_secs_f64() * 1e-9;
                let ratio = exhaustive.as_secs_f64() / elimination.as_secs_f64();
                logarithms += ratio.ln();
                let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
                println!(
                    "{level:8} ±{range:4} {name:36} exhaustive {:7.1} G  elimination {:8.1} G  ratio {ratio:6.2}",
                    rate(exhaustive),
                    rate(elimination),
                );
            }
            let mean = (logarithms / clips.len() as f64).exp();
            println!("{level:8} ±{range:4} {:36} geometric mean of the ratios {mean:21.2}", "");
        }
    }
    Ok(())
}

/// The mean time a picture of both kernels, each the least of three turns.
fn compare(
    parameters: &Parameters,
    level: Level,
    pictures: &[PictureBuf],
) -> Result<[Duration; 2], Box<dyn Error + Send + Sync>> {
    let mut estimators = [
        Native::with_kernel(parameters.clone(), Kernel::Exhaustive, level)?,
        Native::with_kernel(parameters.clone(), Kernel::Elimination, level)?,
    ];
    let mut fields = [0, 1].map(|_| vec![MotionVector::default(); parameters.grid().blocks()]);
    let mut times = [Duration::ZERO; 2];
    let last = pictures.len().checked_sub(2).filter(|last| *last > 0).ok_or("three pictures are needed")?;
    let pairs: Vec<_> = pictures.windows(3).step_by(last.div_ceil(PAIRS)).collect();
    for trio in &pairs {
        let mut least = [Duration::MAX; 2];
        for _ in 0..3 {
            for ((estimator, field), least) in estimators.iter_mut().zip(&mut fields).zip(&mut least) {
                estimator.load(Slot::A, &trio[0].view())?;
                estimator.load(Slot::B, &trio[1].view())?;
                if estimator.kernel() == Kernel::Elimination {
                    // It begins with the vectors of the picture before.
                    estimator.search(Slot::B, field)?;
                }
                estimator.load(Slot::A, &trio[2].view())?;
                let start = thread_time();
                estimator.search(Slot::A, field)?;
                *least = (*least).min(thread_time() - start);
            }
        }
        assert!(fields[0] == fields[1], "the fields differ");
        times = [times[0] + least[0], times[1] + least[1]];
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

/// The luma planes of the first `count` pictures.
fn luma(video: &Path, count: usize) -> Result<Vec<PictureBuf>, Box<dyn Error + Send + Sync>> {
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

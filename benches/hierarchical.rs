//! Hierarchical search on real clips: the time of a frame, loaded and searched, for each quality.
//!
//! `cargo bench -p motion-benches --bench hierarchical -- [--device PART] CLIP...`: on the CPU with every instruction set, one thread and
//! all; on every OpenCL device one frame at a time and with several in flight; with `--device` only on devices whose name
//! holds PART. All fields are compared first. `noise:WxH` is a clip of noise. Times are medians of rounds over the clip's
//! frames.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::{
    Algorithm, BlockHandle, Device, Frame, FrameSource, HostBlock, MotionVector, Output, Parameters, Quality,
    Slot, Window, search,
};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::Session;
use motion_search::tuning::{Kernel, Tuning};
use test_support::gstreamer::clips::luma;

/// Frames of a clip.
const FRAMES: usize = 8;

/// Rounds over them, of which the median counts, and how long they may take together.
const ROUNDS: usize = 15;
const LONGEST: Duration = Duration::from_secs(3);

/// Searches in flight on OpenCL devices.
const DEPTHS: [usize; 3] = [2, 4, 8];

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let (mut clips, mut part) = (Vec::new(), None);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => part = arguments.next(),
            // What `cargo bench` adds.
            "--bench" => {}
            _ => clips.push(argument),
        }
    }
    let is_wanted = |name: &str| part.as_ref().is_none_or(|part| name.contains(part));
    if clips.is_empty() {
        eprintln!("usage: cargo bench -p motion-benches --bench hierarchical -- [--device PART] CLIP...");
        return Ok(());
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let all = rayon::ThreadPoolBuilder::new().build()?;
    for clip in &clips {
        let frames = frames_of(clip)?;
        let first = frames.first().ok_or("no frames")?.view();
        for quality in [Quality::Fast, Quality::Balanced, Quality::High] {
            let parameters = Parameters {
                algorithm: Algorithm::Hierarchical,
                quality,
                ..Parameters::new(first.width(), first.height(), 8, Window::symmetric(1, 1)?)
            };
            let title = format!("{clip}, {} x {}, {quality:?}", first.width(), first.height());
            let mut expected = None;
            for instruction_set in InstructionSetName::available() {
                let mut native = Native::with_instruction_set(parameters.clone(), instruction_set)?;
                check(&mut native, &frames, &mut expected)?;
                if !is_wanted("native") {
                    continue;
                }
                let times = [&one, &all].map(|pool| pool.install(|| time_alone(&mut native, &frames)));
                let [one, all] = times.map(|time| time.map(milliseconds));
                println!("{title}: native {instruction_set}: {:.2} ms, all cores {:.2} ms", one?, all?);
            }
            for device in backend::devices() {
                if device.selector == DeviceSelector::Native || !is_wanted(&device.name) {
                    continue;
                }
                let tuning = Tuning::default();
                let mut opened =
                    backend::open_device(&device.selector, Kernel::Auto, &tuning, &parameters)?.0;
                check(opened.as_mut(), &frames, &mut expected)?;
                let one = time_alone(opened.as_mut(), &frames)?;
                drop(opened);
                let rate = |time: Duration| 1.0 / time.as_secs_f64();
                print!(
                    "{title}: {}: {:.3} ms, {:.0} frames/s; in flight",
                    device.name,
                    milliseconds(one),
                    rate(one)
                );
                for depth in DEPTHS {
                    let (tuning, grouping) = (Tuning { depth: Some(depth), ..tuning }, Grouping::default());
                    let opened =
                        backend::open(&device.selector, Kernel::Auto, &tuning, grouping, &parameters);
                    let several = time_in_flight(&mut opened?.0, &frames)?;
                    print!(" {depth}: {:.0}", rate(several));
                }
                println!();
            }
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// The first frames of the file `clip`, or noise.
fn frames_of(clip: &str) -> Result<Vec<Frame>> {
    let Some(size) = clip.strip_prefix("noise:") else {
        return luma(Path::new(clip), FRAMES).map_err(|error| error.to_string().into());
    };
    let (width, height) = size.split_once('x').ok_or("noise:WIDTHxHEIGHT")?;
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let (width, height) = (width.parse()?, height.parse()?);
    Ok((0..FRAMES).map(|_| Frame::from_fn(width, height, |_, _| next())).collect())
}

/// Compares what `device` finds in the second frame with what the first device has found.
fn check(device: &mut dyn Device, frames: &[Frame], expected: &mut Option<Vec<MotionVector>>) -> Result<()> {
    let [reference, current, ..] = frames else { return Err("two frames are needed".into()) };
    let mut output = Output::new(device.info().parameters.grid().blocks());
    device.load_frame(Slot::A, reference)?;
    device.load_frame(Slot::B, current)?;
    search(device, Slot::B, Slot::A, &mut output)?;
    let expected = expected.get_or_insert_with(|| output.vectors.to_vec());
    match output.vectors[..] == expected[..] {
        true => Ok(()),
        false => Err(format!("{} finds another field", device.info().name).into()),
    }
}

/// The median time of `round`, which returns the time of a frame.
fn median(mut round: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    round()?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || (times.len() < ROUNDS && start.elapsed() < LONGEST) {
        times.push(round()?);
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// The time of a frame, one after the other.
fn time_alone(device: &mut dyn Device, frames: &[Frame]) -> Result<Duration> {
    let mut output = Output::new(device.info().parameters.grid().blocks());
    let mut slot = Slot::A;
    device.load_frame(slot, &frames[0])?;
    median(|| {
        let start = Instant::now();
        for frame in frames {
            slot = slot.other();
            device.load_frame(slot, frame)?;
            search(device, slot, slot.other(), &mut output)?;
        }
        Ok(start.elapsed() / frames.len() as u32)
    })
}

/// A frame in a block of a device's memory.
struct InBlock {
    block: Box<dyn HostBlock>,
    handle: Option<BlockHandle>,
}

impl FrameSource for InBlock {
    fn bytes(&self) -> &[u8] {
        (*self.block).as_ref()
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.handle.as_ref()
    }
}

/// Copies of `frames` in memory from which the session's device loads them without another copy, if it has such.
fn offered(session: &Session<()>, frames: &[Frame]) -> Result<Vec<Frame>> {
    let Some(memory) = session.host_memory() else { return Ok(frames.to_vec()) };
    let copy = |frame: &Frame| {
        let view = frame.view();
        let (width, height) = (view.width(), view.height());
        let mut block = memory.allocate(width * height)?;
        for (y, row) in (*block).as_mut().chunks_exact_mut(width).enumerate().take(height) {
            row.copy_from_slice(view.row(y));
        }
        let handle = block.handle();
        Ok(Frame::new(Arc::new(InBlock { block, handle }), width, height, width)?)
    };
    frames.iter().map(copy).collect()
}

/// The time of a frame with several in flight, from memory that the device reads without a copy if it has such.
fn time_in_flight(session: &mut Session<()>, frames: &[Frame]) -> Result<Duration> {
    let frames = offered(session, frames)?;
    let mut reference = session.add_frame(frames[0].clone())?;
    median(|| {
        let start = Instant::now();
        for frame in frames.iter().cycle().take(4 * frames.len()) {
            let current = session.add_frame(frame.clone())?;
            session.start_search(current, reference, ())?;
            reference = current;
            if session.in_flight() == session.depth() {
                session.finish_search()?;
            }
        }
        Ok(start.elapsed() / (4 * frames.len()) as u32)
    })
}

//! Successive elimination against `tiled` on real frames, for every OpenCL GPU: the device's own time
//! of searches one after the other, the sums that elimination needs of each frame included.
//!
//! `cargo bench -p motion-benches --bench elimination_opencl -- FILE...`: files of raw luma named `NAME_WxH.y`. Each is
//! searched as it is, and those of 1080 rows again as 3840x2160, four of them side by side; then noise.
//! Fields are compared before anything is timed. `RANGES=16,32` selects, `VARIANTS=128:2x2,256:4x2:16`
//! (items, blocks, candidates of a run) tries other cuts, `SSD=1` the other metric.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::time::Duration;

use motion_search::estimator::{
    Device as _, Frame, Metric, MotionVector, Output, Parameters, Part, Request, Slot, Window,
};
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice, devices};
use motion_search::tuning::{Kernel, Tuning};

/// All frames of a clip are searched again and again for so long, and the fastest turn counts: the clock
/// of a GPU takes its time to rise.
const LEAST: Duration = Duration::from_millis(300);

/// The vectors of each pair of frames.
type Fields = Vec<Vec<MotionVector>>;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let all = env::var("DEVICES").is_ok_and(|which| which == "all");
    let devices: Vec<_> =
        devices().into_iter().filter(|device| all || device.kind == DeviceKind::Gpu).collect();
    if devices.is_empty() {
        eprintln!("\n!!! NOT MEASURED: there is no OpenCL GPU\n");
    }
    let mut clips = Vec::new();
    for file in &files {
        let (name, frames) = read(file)?;
        let quadruple = (frames[0].view().height() == 1080).then(|| frames.iter().map(four).collect());
        clips.push((name.clone(), frames));
        clips.extend(quadruple.map(|frames: Vec<_>| (format!("4 x {name}"), frames)));
    }
    if env::var("NOISE").map_or(true, |noise| noise != "0") {
        clips.push(("noise".into(), noise(1920, 1080)));
    }
    let ranges = env::var("RANGES").unwrap_or("16,32,64".into());
    let block_size = env::var("BLOCK").map_or(Ok(16), |side| side.parse())?;
    let metric = if env::var("SSD").is_ok() { Metric::Ssd } else { Metric::Sad };
    let variants = variants()?;
    println!(
        "ms a frame, T absolute differences/s, ratio of tiled's time to elimination's; {}",
        metric.name()
    );
    for device in &devices {
        println!("{}", device.name);
        for (name, frames) in &clips {
            for range in ranges.split(',') {
                let window = Window::symmetric(range.parse()?, range.parse()?)?;
                let first = frames[0].view();
                let (width, height) = (first.width(), first.height());
                let parameters = Parameters { metric, ..Parameters::new(width, height, block_size, window) };
                let differences = (width * height * window.candidates()) as f64 / 1e12;
                let rate = |time: Duration| differences / time.as_secs_f64();
                let ms = |time: Duration| 1e3 * time.as_secs_f64();
                let (tiled, expected) =
                    measure(device, Kernel::Tiled, Tuning::default(), &parameters, frames)?;
                print!("{name:16} {width}x{height} ±{range:3} tiled {:7.4} {:5.1}", ms(tiled), rate(tiled));
                for (variant, tuning) in &variants {
                    match measure(device, Kernel::Elimination, *tuning, &parameters, frames) {
                        Ok((time, fields)) => {
                            assert!(fields == expected, "not what tiled finds");
                            let ratio = tiled.as_secs_f64() / time.as_secs_f64();
                            print!(" | {variant} {:7.4} {:6.1} {ratio:5.2}", ms(time), rate(time));
                        }
                        Err(error) => print!(" | {variant}: {error}"),
                    }
                }
                println!();
            }
        }
    }
    Ok(())
}

/// The cuts that are tried: names and tunings.
fn variants() -> Result<Vec<(String, Tuning)>, Box<dyn Error>> {
    let Ok(list) = env::var("VARIANTS") else { return Ok(vec![(String::new(), Tuning::default())]) };
    let variant = |text: &str| {
        let mut parts = text.split(':');
        let items = parts.next().unwrap_or_default().parse()?;
        let (across, down) =
            parts.next().and_then(|blocks| blocks.split_once('x')).ok_or("blocks are AxB")?;
        let tuning = Tuning {
            group_size: Some(items),
            blocks_across: Some(across.parse()?),
            blocks_down: Some(down.parse()?),
            run: parts.next().map(str::parse).transpose()?,
            ..Tuning::default()
        };
        Ok((text.to_owned(), tuning))
    };
    list.split(',').map(variant).collect()
}

/// The time of a search, the mean over all pairs of frames, and all fields.
fn measure(
    device: &OpenClDevice,
    kernel: Kernel,
    tuning: Tuning,
    parameters: &Parameters,
    frames: &[Frame],
) -> Result<(Duration, Fields), Box<dyn Error>> {
    let tuning = Tuning { depth: Some(frames.len() - 1), ..tuning };
    let mut opened = OpenCl::new(device, kernel, &tuning, parameters)?;
    for (slot, frame) in frames.iter().enumerate() {
        opened.load_frame(Slot::new(slot), frame)?;
    }
    let mut best = Duration::MAX;
    let mut fields = Vec::new();
    let start = std::time::Instant::now();
    while fields.is_empty() || start.elapsed() < LEAST {
        fields.clear();
        let mut tickets = Vec::new();
        for slot in 1..frames.len() {
            let (current, reference) = (Slot::new(slot), Slot::new(slot - 1));
            tickets.push(opened.start_search(Request {
                current,
                reference,
                part: Part::whole(parameters),
                offset: -1,
            })?);
        }
        let mut time = Duration::ZERO;
        for ticket in tickets {
            let mut output = Output::new(parameters.grid().blocks());
            opened.finish_search(ticket, &mut output)?;
            time += output.times.search;
            fields.push(output.vectors.to_vec());
        }
        best = best.min(time / (frames.len() - 1) as u32);
    }
    Ok((best, fields))
}

/// The frames in a file.
fn read(file: &str) -> Result<(String, Vec<Frame>), Box<dyn Error>> {
    let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str()).ok_or("no name")?;
    let (name, size) = stem.rsplit_once('_').ok_or("files are named NAME_WxH.y")?;
    let (width, height) = size.split_once('x').ok_or("files are named NAME_WxH.y")?;
    let (width, height) = (width.parse::<usize>()?, height.parse::<usize>()?);
    let samples = std::fs::read(file)?;
    let frames =
        samples.chunks_exact(width * height).map(|plane| Frame::from_samples(plane.to_vec(), width, height));
    let frames = frames.collect::<Result<Vec<_>, _>>()?;
    if frames.len() < 2 {
        return Err(format!("{file} holds fewer than two frames").into());
    }
    Ok((name.to_owned(), frames))
}

/// Four times the same frame, two beside two.
fn four(frame: &Frame) -> Frame {
    let frame = frame.view();
    let (width, height) = (frame.width(), frame.height());
    Frame::from_fn(2 * width, 2 * height, |x, y| frame.row(y % height)[x % width])
}

/// Frames that have nothing to do with each other.
fn noise(width: usize, height: usize) -> Vec<Frame> {
    let mut state = 1_u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..3).map(|_| Frame::from_fn(width, height, |_, _| noise())).collect()
}

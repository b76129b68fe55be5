//! Made frames of real clips: every second frame is left out, made again and compared.
//!
//! `cargo bench --bench interpolation -- [--threads N] CLIP...` prints for each clip the mean PSNR of luma, that of the mean of both
//! neighbours, and the median times of a frame on the CPU: loading it, searching both ways, making the frame between,
//! with 4:2:0 chroma. N is 1 unless given, 0 for one thread a core.
#![allow(missing_docs)]

#[path = "../examples/shared/luma.rs"]
mod luma;

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use gstmotionestimate::compensation::{PlaneMut, Sampling, psnr};
use gstmotionestimate::estimator::{Device, Frame, FrameView, Output, Slot, search};
use gstmotionestimate::interpolation::{Interpolator, Phase, search_parameters};
use gstmotionestimate::native::Native;

/// Frames of a clip.
const FRAMES: usize = 41;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let (mut clips, mut threads) = (Vec::new(), 1);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().ok_or("--threads N")?.parse()?,
            // What `cargo bench` adds.
            "--bench" => {}
            _ => clips.push(argument),
        }
    }
    if clips.is_empty() {
        eprintln!("usage: cargo bench --bench interpolation -- [--threads N] CLIP...");
        return Ok(());
    }
    println!(
        "clip: PSNR of made frames (of the mean of both); ms to load, to search, to make a frame, in all"
    );
    for clip in &clips {
        let frames = luma::luma(Path::new(clip), FRAMES).map_err(|error| error.to_string())?;
        println!("{clip}: {}", measure(&frames, threads)?);
    }
    Ok(())
}

fn measure(frames: &[Frame], threads: usize) -> Result<String> {
    let (width, height) = frames.first().ok_or("no frames")?.view().size();
    let chroma = Sampling { halved_x: true, halved_y: true, interleaved: false };
    let samplings = [Sampling::LUMA, chroma, chroma];
    let sizes = samplings.map(|sampling| sampling.plane_size(width, height));
    let parameters = search_parameters(width, height)?;
    let mut fields = [(); 2].map(|()| Output::new(parameters.grid().blocks()));
    let mut native = Native::new(parameters)?.with_threads(threads)?;
    let mut interpolator = Interpolator::new((width, height), &samplings, threads)?;
    let mut memory = sizes.map(|(width, height)| vec![0; width * height]);
    let mut stages = [const { Vec::new() }; 3];
    let (mut made_psnr, mut mean_psnr) = (Vec::new(), Vec::new());
    let mut slots = [Slot::A, Slot::B];
    for (index, frame) in frames.iter().enumerate().step_by(2) {
        let start = Instant::now();
        let search_frame = interpolator.load(&frame.view())?;
        stages[0].push(start.elapsed());
        slots.swap(0, 1);
        let [previous, next] = slots;
        let start = Instant::now();
        native.load(next, &search_frame)?;
        if index == 0 {
            continue;
        }
        let [forward, backward] = &mut fields;
        search(&mut native, previous, next, forward)?;
        search(&mut native, next, previous, backward)?;
        stages[1].push(start.elapsed());
        let start = Instant::now();
        interpolator.set_motion([&forward.vectors, &backward.vectors])?;
        // Luma in the place of chroma, which takes as long.
        interpolator.choose(Phase::MIDDLE);
        let luma = [&frames[index - 2], frame].map(Frame::view);
        for (plane, (&(width, height), memory)) in sizes.iter().zip(&mut memory).enumerate() {
            let [previous, next] =
                luma.map(|luma| FrameView::new(luma.as_bytes(), width, height, luma.stride()));
            let (previous, next) = (previous?, next?);
            let mut made = PlaneMut::new(memory, width, height, width)?;
            interpolator.make_plane(plane, [&previous, &next], &mut made)?;
        }
        stages[2].push(start.elapsed());
        let original = frames[index - 1].view();
        made_psnr.push(psnr(&FrameView::new(&memory[0], width, height, width)?, &original)?);
        let [before, after] = [&frames[index - 2], frame].map(Frame::view);
        let mean = Frame::from_fn(width, height, |x, y| {
            let [a, b] = [before, after].map(|view| u16::from(view.row(y)[x]));
            ((a + b + 1) >> 1) as u8
        });
        mean_psnr.push(psnr(&mean.view(), &original)?);
    }
    let mean = |values: &[f64]| values.iter().map(|value| value.min(99.0)).sum::<f64>() / values.len() as f64;
    let times = stages.map(|mut times: Vec<Duration>| {
        times.sort_unstable();
        1e3 * times[times.len() / 2].as_secs_f64()
    });
    Ok(format!(
        "{:.2} dB ({:.2}); {:.2} + {:.2} + {:.2} = {:.2} ms",
        mean(&made_psnr),
        mean(&mean_psnr),
        times[0],
        times[1],
        times[2],
        times.iter().sum::<f64>()
    ))
}

//! Made frames of real clips: frames are left out, made again and compared.
//!
//! `cargo bench -p motion-benches --bench interpolation -- [--device NAME] [--threads N] [--between COUNT] CLIP...` prints for each clip and
//! quality the mean PSNR of luma, that of the weighted mean of both neighbours, the mean SSIM, false edges, and the median times
//! of a frame: loading it, searching it, making a frame between, with 4:2:0 chroma. Devices are named as by the property
//! `device`, native unless given; frames that are not made on the CPU are compared with those that the CPU makes. N is the
//! number of the CPU's threads, 1 unless given, 0 for one a core. COUNT frames are left out between two others, 1 unless given.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use motion_frames::backend::{native_maker, open_maker};
use motion_frames::compensation::{PlaneMut, Sampling, psnr};
use motion_frames::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, LoadedPair, Phase, SearchInput, search_parameters,
};
use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::{Frame, FrameView, SampleFormat};
use motion_search::tuning::{Kernel, Tuning};
use test_support::gstreamer::clips;
use test_support::ssim;

/// Frames of a clip.
const FRAMES: usize = 41;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let (mut clips, mut device, mut threads, mut between) = (Vec::new(), DeviceSelector::Native, 1, 1);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => device = arguments.next().ok_or("--device NAME")?.parse()?,
            "--threads" => threads = arguments.next().ok_or("--threads N")?.parse()?,
            "--between" => between = arguments.next().ok_or("--between COUNT")?.parse()?,
            // What `cargo bench` adds.
            "--bench" => {}
            _ => clips.push(argument),
        }
    }
    if clips.is_empty() {
        eprintln!(
            "usage: cargo bench -p motion-benches --bench interpolation -- [--device NAME] [--threads N] [--between COUNT] CLIP..."
        );
        return Ok(());
    }
    println!(
        "clip, quality: PSNR of made frames (of the weighted mean of both), SSIM, false edges; ms to load, to search, to make a frame, in all"
    );
    for clip in &clips {
        let frames = clips::planes(Path::new(clip), FRAMES).map_err(|error| error.to_string())?;
        for quality in [FrameQuality::Fast, FrameQuality::Balanced, FrameQuality::High] {
            println!("{clip}, {quality:?}: {}", measure(&frames, &device, quality, threads, between)?);
        }
    }
    Ok(())
}

fn measure(
    frames: &[Vec<Frame>],
    device: &DeviceSelector,
    quality: FrameQuality,
    threads: usize,
    between: usize,
) -> Result<String> {
    let (width, height) = frames.first().ok_or("no frames")?[0].view().size();
    let chroma = Sampling { halved_x: true, halved_y: true, interleaved: false };
    let format = FrameFormat {
        size: (width, height),
        samplings: vec![Sampling::LUMA, chroma, chroma],
        samples: SampleFormat::EIGHT_BITS,
    };
    let sizes = [0, 1, 2].map(|plane| format.plane_size(plane));
    let tuning = Tuning { threads: Some(threads), depth: Some(1), ..Tuning::default() };
    let parameters = search_parameters(width, height)?;
    let (mut session, _) =
        backend::open::<()>(device, Kernel::Auto, &tuning, Grouping::default(), &parameters)?;
    let (mut maker, _) = open_maker(device, &format, quality, threads)?;
    let mut reference = native_maker(&format, quality, threads)?;
    let mut searched = SearchInput::new(format.size, threads)?;
    let [mut memory, mut expected] = [(); 2].map(|()| sizes.map(|(width, height)| vec![0; width * height]));
    let mut stages = [const { Vec::new() }; 3];
    let [mut made_psnr, mut mean_psnr, mut likeness, mut edges] = [const { Vec::new() }; 4];
    let shown: Vec<_> = frames.iter().step_by(between + 1).collect();
    let views = |number: usize| -> Vec<_> { shown[number].iter().map(Frame::view).collect() };
    // Pairs with neighbours are made when the frame after them has come.
    let wait = usize::from(quality == FrameQuality::High);
    let (mut newest, mut cuts) = (None, Vec::new());
    for number in 0..shown.len() + wait {
        if number < shown.len() {
            let planes = views(number);
            reference.load_frame(&planes)?;
            let start = Instant::now();
            maker.load_frame(&planes)?;
            let search_frame = searched.frame(&planes[0])?;
            stages[0].push(start.elapsed());
            let start = Instant::now();
            let next = (session.add_frame(search_frame.clone())?, search_frame);
            if let Some((slot, previous)) = newest.replace(next.clone()) {
                session.start_search(slot, next.0, ())?;
                let (_, mut found) = session.finish_search()?;
                session.release_frame(slot);
                let pair = [&previous, &next.1];
                cuts.push(searched.is_scene_cut(pair, &found.vectors)?);
                let patches = searched.correct(pair, &mut found.vectors)?;
                stages[1].push(start.elapsed());
                for maker in [&mut reference, &mut maker] {
                    maker.set_motion(&found.vectors)?;
                    maker.set_patches(&patches)?;
                }
            }
        }
        let Some(first) = number.checked_sub(1 + wait) else { continue };
        if wait > 0 {
            let pair = match cuts.get(first + 1) {
                Some(is_cut) => LoadedPair::BeforeNewest {
                    has_neighbours: !is_cut && first.checked_sub(1).is_some_and(|before| !cuts[before]),
                },
                None => LoadedPair::Newest,
            };
            reference.select(pair)?;
            maker.select(pair)?;
        }
        let (previous, planes) = (views(first), views(first + 1));
        let neighbours = [first, first + 1].map(|number| &shown[number][0]);
        for step in 1..=between {
            let phase = Phase::new(step as u32, between as u32 + 1).ok_or("too many frames between")?;
            let sources: [&[_]; 2] = [&previous, &planes];
            let start = Instant::now();
            make(&mut *maker, sources, phase, &mut memory)?;
            stages[2].push(start.elapsed());
            make(&mut *reference, sources, phase, &mut expected)?;
            let left_out = first * (between + 1) + step;
            if memory != expected {
                return Err(format!("{} makes another frame {left_out} than the CPU", maker.device()).into());
            }
            let original = frames[left_out][0].view();
            let made = FrameView::new(&memory[0], width, height, width)?;
            made_psnr.push(psnr(&made, &original)?);
            likeness.push(ssim(&made, &original));
            edges.push(false_edges(&made, &original));
            let weight = phase.previous_weight();
            let mean = Frame::from_fn(width, height, |x, y| {
                let [a, b] = neighbours.map(|luma| u32::from(luma.view().row(y)[x]));
                ((weight * a + (64 - weight) * b + 32) >> 6) as u8
            });
            mean_psnr.push(psnr(&mean.view(), &original)?);
        }
    }
    let mean = |values: &[f64]| values.iter().map(|value| value.min(99.0)).sum::<f64>() / values.len() as f64;
    let times = stages.map(|mut times: Vec<Duration>| {
        times.sort_unstable();
        1e3 * times[times.len() / 2].as_secs_f64()
    });
    Ok(format!(
        "{:.2} dB ({:.2}), {:.4}, {:.3}; {:.2} + {:.2} + {:.2} = {:.2} ms, frames by {}",
        mean(&made_psnr),
        mean(&mean_psnr),
        mean(&likeness),
        mean(&edges),
        times[0],
        times[1],
        times[2],
        times.iter().sum::<f64>(),
        maker.device()
    ))
}

/// What shreds and seams add: the mean of how far the gradient of `made` is above the largest one of `original` within 3
/// samples on each axis. A gradient is the sum of the absolute differences to the samples to the right and below.
fn false_edges(made: &FrameView<'_>, original: &FrameView<'_>) -> f64 {
    const REACH: usize = 3;
    let (width, height) = (made.width() - 1, made.height() - 1);
    let gradients = |plane: &FrameView<'_>| -> Vec<Vec<u16>> {
        let row = |y: usize| {
            let (own, below) = (plane.row(y), plane.row(y + 1));
            let gradient = |x: usize| own[x].abs_diff(own[x + 1]) as u16 + own[x].abs_diff(below[x]) as u16;
            (0..width).map(gradient).collect()
        };
        (0..height).map(row).collect()
    };
    let around = |at: usize, length: usize| at.saturating_sub(REACH)..length.min(at + REACH + 1);
    let across = gradients(original).into_iter().map(|row| -> Vec<u16> {
        (0..width).map(|x| row[around(x, width)].iter().copied().max().unwrap_or_default()).collect()
    });
    let across: Vec<_> = across.collect();
    let beyond = |(y, row): (usize, &Vec<u16>)| -> u64 {
        let largest = |x: usize| across[around(y, height)].iter().map(|row| row[x]).max().unwrap_or_default();
        row.iter().enumerate().map(|(x, gradient)| u64::from(gradient.saturating_sub(largest(x)))).sum()
    };
    gradients(made).iter().enumerate().map(beyond).sum::<u64>() as f64 / (width * height) as f64
}

/// Makes the frame at `phase`.
fn make(
    maker: &mut dyn FrameMaker,
    [previous, next]: [&[FrameView<'_>]; 2],
    phase: Phase,
    memory: &mut [Vec<u8>],
) -> Result<()> {
    maker.start_frame(phase)?;
    maker.finish_frame()?;
    for (index, memory) in memory.iter_mut().enumerate() {
        let (width, height) = previous[index].size();
        let mut plane = PlaneMut::new(memory, width, height, width)?;
        maker.write_plane(index, [&previous[index], &next[index]], &mut plane)?;
    }
    Ok(())
}

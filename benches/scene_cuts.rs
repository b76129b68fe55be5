//! Scene cuts in noise: which are missed, and which are found where there is none.
//!
//! `cargo bench -p motion-benches --bench scene_cuts -- [--frames COUNT] CLIP...` takes the first COUNT frames, 4 unless given, of clips of one size
//! of which each shows one scene. Noise of each kind and deviation is added. Frames that follow each other in a clip are no cut;
//! the last frame of a clip and the first one of another clip are one. Two clips whose names begin with the same word show the
//! same scene. It prints a table of the cuts that are missed and of those that are found within clips, and a line for each.
#![allow(missing_docs)]

use std::env;
use std::error::Error;
use std::path::Path;

use fastrand::Rng;
use motion_search::estimator::Frame;
use test_support::CutSearch;
use test_support::gstreamer::clips;

/// The deviations of noise, in levels.
const DEVIATIONS: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0];

/// Every clip is followed by so many others.
const CUTS: usize = 2;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// How noise is made of white noise.
#[derive(Clone, Copy, Debug)]
enum Kind {
    White,
    /// The same in 2 x 2 samples, as in video that was scaled up.
    Coarse,
    /// Stronger where it is bright: by the root of the level.
    Film,
    /// A third as strong in the second frame of two.
    Fading,
}

fn main() -> Result<()> {
    let (mut clips, mut count) = (Vec::new(), 4);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--frames" => count = arguments.next().ok_or("--frames COUNT")?.parse()?,
            // What `cargo bench` adds.
            "--bench" => {}
            _ => clips.push(argument),
        }
    }
    if clips.len() < 2 {
        eprintln!("usage: cargo bench -p motion-benches --bench scene_cuts -- [--frames COUNT] CLIP CLIP...");
        return Ok(());
    }
    let mut scenes = Vec::new();
    for clip in &clips {
        let frames = clips::luma(Path::new(clip), count).map_err(|error| error.to_string())?;
        let name = Path::new(clip).file_stem().ok_or("a name")?.to_string_lossy().into_owned();
        scenes.push((name, frames));
    }
    let pairs = pairs(&scenes);
    let size = scenes[0].1.first().ok_or("no frames")?.view().size();
    let mut searched = CutSearch::new(size);
    let cuts = pairs.iter().filter(|pair| pair.is_cut).count();
    println!("missed of {cuts} cuts, found in {} pairs without a cut", pairs.len() - cuts);
    println!("| noise | {} |", DEVIATIONS.map(|deviation| deviation.to_string()).join(" | "));
    println!("|---|{}", "---|".repeat(DEVIATIONS.len()));
    let (mut wrong, mut all) = (Vec::new(), [[0; 2]; DEVIATIONS.len()]);
    for kind in [Kind::White, Kind::Coarse, Kind::Film, Kind::Fading] {
        let mut cells = Vec::new();
        for (deviation, all) in DEVIATIONS.into_iter().zip(&mut all) {
            let mut errors = [0; 2];
            let mut random = Rng::with_seed(deviation as u64 + 1);
            for pair in &pairs {
                let second = if matches!(kind, Kind::Fading) { deviation / 3.0 } else { deviation };
                let frames = [
                    noisy(pair.frames[0], kind, deviation, &mut random),
                    noisy(pair.frames[1], kind, second, &mut random),
                ];
                if searched.is_cut(frames.each_ref()) != pair.is_cut {
                    errors[usize::from(!pair.is_cut)] += 1;
                    let what = if pair.is_cut { "missed" } else { "found" };
                    wrong.push(format!("{what}: {}, {kind:?} {deviation}", pair.name));
                }
            }
            cells.push(format!("{}, {}", errors[0], errors[1]));
            all.iter_mut().zip(errors).for_each(|(all, errors)| *all += errors);
        }
        println!("| {kind:?} | {} |", cells.join(" | "));
    }
    println!("| all | {} |", all.map(|[missed, found]| format!("{missed}, {found}")).join(" | "));
    wrong.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Two frames that follow each other.
struct Pair<'a> {
    name: String,
    frames: [&'a Frame; 2],
    is_cut: bool,
}

fn pairs(scenes: &[(String, Vec<Frame>)]) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    let word = |name: &str| name.split('-').next().map(str::to_owned);
    for (index, (name, frames)) in scenes.iter().enumerate() {
        let within = frames.windows(2).map(|two| [&two[0], &two[1]]);
        pairs.extend(within.map(|frames| Pair { name: name.clone(), frames, is_cut: false }));
        let others = (1..scenes.len()).map(|step| &scenes[(index + step * 7) % scenes.len()]);
        let others = others.filter(|(other, _)| word(other) != word(name)).take(CUTS);
        pairs.extend(others.filter_map(|(other, next)| {
            let frames = [frames.last()?, next.first()?];
            Some(Pair { name: format!("{name} to {other}"), frames, is_cut: true })
        }));
    }
    pairs
}

/// `frame` with noise.
fn noisy(frame: &Frame, kind: Kind, deviation: f64, random: &mut Rng) -> Frame {
    let view = frame.view();
    let (width, height) = view.size();
    let mut normal =
        || (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (2.0 * std::f64::consts::PI * random.f64()).cos();
    let noise: Vec<f64> = (0..width * height).map(|_| deviation * normal()).collect();
    Frame::from_fn(width, height, |x, y| {
        let level = f64::from(view.row(y)[x]);
        let noise = match kind {
            Kind::White | Kind::Fading => noise[y * width + x],
            Kind::Coarse => noise[y / 2 * width + x / 2],
            Kind::Film => noise[y * width + x] * (level / 128.0).sqrt(),
        };
        (level + noise).round().clamp(0.0, 255.0) as u8
    })
}

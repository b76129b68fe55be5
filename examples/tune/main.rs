//! Measures which kernel and tuning is the fastest on an OpenCL device and writes the result to the
//! user's tuning file, from which `kernel=auto` chooses.
//!
//! `cargo run --release --example tune -- --device D`; `--help` lists the options.

mod cases;
mod search;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, process};

use indicatif::{ProgressBar, ProgressStyle};
use lexopt::prelude::*;
use motion_search::backend::{self, DeviceSelector, Entry, Table};
use motion_search::estimator::{Algorithm, Parameters, Window};
use motion_search::opencl::{DeviceKind, OpenClDevice};
use motion_search::tuning::Tuning;
use test_support::Scene;
use test_support::gstreamer::clips;

use cases::Case;
use search::{Outcome, text};

const USAGE: &str = "usage: tune [--device D] [--budget SECONDS] [--size WIDTHxHEIGHT | --clip VIDEO]
            [--output FILE | --dry-run]

  --device D      gpu, cpu, accelerator, P:D, or a part of an OpenCL device's name (default: the first
                  OpenCL device)
  --budget N      search for better tunings for N seconds in total (default: 300); every kernel is
                  measured at least once
  --size WxH      size of the synthetic frames (default: 1280x720, on GPUs 3840x2160)
  --clip VIDEO    search the first two frames of VIDEO instead
  --output FILE   write FILE instead of the user's tuning file
  --dry-run       write no file";

struct Options {
    device: DeviceSelector,
    budget: Duration,
    size: Option<(usize, usize)>,
    clip: Option<PathBuf>,
    output: Option<PathBuf>,
    dry_run: bool,
}

fn main() {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("tune: {error}\n{USAGE}");
            process::exit(2);
        }
    };
    if let Err(error) = run(&options) {
        eprintln!("tune: {error}");
        process::exit(1);
    }
}

fn options() -> Result<Options, lexopt::Error> {
    let (device, budget) = (DeviceSelector::Auto, Duration::from_secs(300));
    let mut options = Options { device, budget, size: None, clip: None, output: None, dry_run: false };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("device") => options.device = parser.value()?.parse()?,
            Long("budget") => options.budget = Duration::from_secs(parser.value()?.parse()?),
            Long("size") => options.size = Some(parser.value()?.parse_with(size)?),
            Long("clip") => options.clip = Some(parser.value()?.into()),
            Long("output") => options.output = Some(parser.value()?.into()),
            Long("dry-run") => options.dry_run = true,
            Long("help") => {
                println!("{USAGE}");
                process::exit(0);
            }
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(options)
}

/// Parses and checks a frame size.
fn size(text: &str) -> Result<(usize, usize), Box<dyn Error + Send + Sync>> {
    let (width, height) = text.split_once('x').ok_or("a size is WIDTHxHEIGHT")?;
    let (width, height) = (width.parse()?, height.parse()?);
    Parameters::new(width, height, 16, Window::symmetric(1, 1)?).validate()?;
    Ok((width, height))
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let device = backend::find_opencl(&options.device)?;
    let file = match (options.dry_run, &options.output) {
        (true, _) => None,
        (false, Some(file)) => Some(file.clone()),
        (false, None) => Some(gstmotionestimate::tuning_file()),
    };
    // Entries of other devices are kept. The file is read now, so that an error in it is found at once.
    let before = file.as_deref().map(backend::read_file).transpose()?.unwrap_or_default();

    let scene = match (&options.clip, options.size) {
        (Some(clip), _) => clips::scene(clip)?,
        (None, Some((width, height))) => Scene::made(width, height),
        (None, None) if device.kind == DeviceKind::Gpu => Scene::made(3840, 2160),
        (None, None) => Scene::made(1280, 720),
    };
    println!("{}, {}", device.name, device.driver);
    let cases = cases::cases(&scene)?;
    let start = Instant::now();
    let bar = ProgressBar::new(cases.len() as u64)
        .with_style(ProgressStyle::with_template("[{elapsed}] case {pos} of {len} {wide_bar} {wide_msg}")?);
    let mut entries = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let deadline = start + options.budget * (index as u32 + 1) / cases.len() as u32;
        let outcome = search::search(&device, &scene, case, deadline, &bar)?;
        bar.suspend(|| print(case, &outcome));
        bar.inc(1);
        if let Some(best) = outcome.found.first() {
            let Entry { metric, block_size, candidates, .. } = case.class;
            let entry = Entry::of(&device, best.kernel, best.tuning);
            entries.push((case, Entry { metric, block_size, candidates, ..entry }));
        }
    }
    bar.finish_and_clear();
    let entries = without_repetition(entries);
    match file {
        Some(file) => write(&file, &device, entries, &before),
        None => {
            print!("\n{}", Table::write(&entries));
            Ok(())
        }
    }
}

fn print(case: &Case, outcome: &Outcome) {
    let Parameters { width, height, .. } = case.parameters;
    let differences = (width * height * case.parameters.candidates()) as f64;
    let rate = |time: Duration| differences / time.as_secs_f64() / 1e9;
    println!("\n{}", case.name);
    println!("{:24} {:>10} {:>10} {:>8}  tuning", "kernel", "ms", "G/s", "ratio");
    for found in &outcome.found {
        let ratio = found.default_time.as_secs_f64() / found.time.as_secs_f64();
        let tuning = if found.is_tuned { text(&found.tuning) } else { "default, not searched".into() };
        let ms = found.time.as_secs_f64() * 1e3;
        println!("{:24} {ms:10.3} {:10.2} {ratio:8.2}  {tuning}", found.kernel, rate(found.time));
    }
    let (ms, rate) = (outcome.native_time.as_secs_f64() * 1e3, rate(outcome.native_time));
    println!("{:24} {ms:10.3} {rate:10.2} {:>8}  CPU without OpenCL", "native", "");
}

/// Drops redundant entries: those with the same kernel and tuning as every later entry of their
/// algorithm.
fn without_repetition(entries: Vec<(&Case, Entry)>) -> Vec<Entry> {
    let mut kept: Vec<(Algorithm, Entry)> = Vec::new();
    for (case, entry) in entries.into_iter().rev() {
        let algorithm = case.parameters.algorithm;
        let mut others = kept.iter().filter(|(of, _)| *of == algorithm).peekable();
        let same = |(_, other): &(_, Entry)| (other.kernel, other.tuning) == (entry.kernel, entry.tuning);
        if others.peek().is_none() || !others.all(same) {
            kept.push((algorithm, entry));
        }
    }
    kept.into_iter().rev().map(|(_, entry)| entry).collect()
}

/// Writes `entries`, followed by the entries of `before` for other devices, to `file`.
fn write(
    file: &Path,
    device: &OpenClDevice,
    entries: Vec<Entry>,
    before: &Table,
) -> Result<(), Box<dyn Error>> {
    let this = Entry::of(device, Default::default(), Tuning::default());
    let others = before.entries().filter(|entry| !entry.is_for_device_of(&this)).cloned();
    let all: Vec<_> = entries.into_iter().chain(others).collect();
    let head = "# Written by the example tune of gst-plugin-motionestimate. The first matching entry is used;\n\
                # without a match, the built-in table.\n\n";
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = file.with_extension("part");
    fs::write(&aside, format!("{head}{}", Table::write(&all)))?;
    fs::rename(&aside, file)?;
    println!("\n{} written", file.display());
    Ok(())
}

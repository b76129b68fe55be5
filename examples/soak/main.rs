//! Runs all elements for a long time while caps, positions, properties and states change at random, and fails if a frame
//! is lost, memory grows, a thread or file descriptor is left, or the latency rises.
//!
//! `cargo run --release --example soak -- --help` lists the options.

mod lane;
mod lanes;
mod measure;
mod patience;
mod stream;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gst::prelude::*;

use lane::{Failure, Lane};
use lanes::Description;
use measure::{Process, Record, Slack};

const USAGE: &str = "usage: soak [OPTION...]

Runs pipelines with all elements beside each other while caps, positions, properties and states change at random.

  --seconds N     how long (default: 60)
  --changes N     then N times from NULL to PLAYING and back, one pipeline after the other (default: 0)
  --seed N        of the random numbers (default: the time)
  --csv FILE      where samples of memory, threads, descriptors and latency go (default: out/soak.csv)
  --cuda          pipelines whose frames are in memory of CUDA, in place of the others; needs an NVIDIA GPU, and GStreamer
                  1.24 or later with its nvcodec plugin
  --only NAME     the pipeline with this name alone
  --leaks         at the end, asks GStreamer's leaks tracer, which GST_TRACERS=leaks starts, for objects that are left
";

struct Options {
    time: Duration,
    changes: u32,
    seed: u64,
    csv: PathBuf,
    cuda: bool,
    only: Option<String>,
    leaks: bool,
}

fn main() -> ExitCode {
    match options().and_then(|options| options.map_or(Ok(()), |options| run(&options))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The options; `None` if help was asked for.
fn options() -> Result<Option<Options>, Failure> {
    use lexopt::prelude::*;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let mut options = Options {
        time: Duration::from_secs(60),
        changes: 0,
        seed: now.as_secs(),
        csv: "out/soak.csv".into(),
        cuda: false,
        only: None,
        leaks: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seconds") => options.time = Duration::from_secs(parser.value()?.parse()?),
            Long("changes") => options.changes = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("csv") => options.csv = parser.value()?.into(),
            Long("cuda") => options.cuda = true,
            Long("only") => options.only = Some(parser.value()?.string()?),
            Long("leaks") => options.leaks = true,
            Short('h') | Long("help") => {
                print!("{USAGE}");
                return Ok(None);
            }
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<(), Failure> {
    gst::init()?;
    gstmotionestimate::plugin_register_static()?;
    println!("soak: seed {}", options.seed);
    let mut record = Record::create(&options.csv)?;

    // Afterwards the process has all threads and descriptors that libraries keep until it ends.
    let warm_up = (options.time / 10).clamp(Duration::from_secs(2), Duration::from_secs(120));
    let lanes = || {
        let mut lanes = if options.cuda { lanes::in_cuda() } else { lanes::all() };
        lanes.retain(|lane| options.only.as_ref().is_none_or(|only| lane.name == only));
        lanes
    };
    soak(lanes(), warm_up, options.seed, &mut Record::none())?;
    let before = Process::at_rest()?;
    soak(lanes(), options.time, options.seed.wrapping_add(1), &mut record)?;
    record.check(Slack::of(options.time))?;
    if options.changes > 0 {
        change_states(&lanes(), options.changes, &mut record)?;
        record.check(Slack::Steady)?;
    }
    let after = Process::settled(&before)?;
    println!("soak: at rest before: {before}; after: {after}");
    before.check(&after)?;
    if options.leaks {
        let alive = test_support::gstreamer::alive()?;
        if !alive.is_empty() {
            return Err(format!("objects are left, as the leaks tracer says:\n{alive}").into());
        }
        println!("soak: no object is alive at the end, as the leaks tracer says");
    }
    println!("soak: passed");
    Ok(())
}

/// Runs every pipeline in a thread of its own for `time`, or until one fails.
fn soak(
    descriptions: Vec<Description>,
    time: Duration,
    seed: u64,
    record: &mut Record,
) -> Result<(), Failure> {
    let until = Instant::now() + time;
    let stop = AtomicBool::new(false);
    let lanes: Vec<_> = descriptions.into_iter().map(Lane::new).collect();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..)
            .zip(&lanes)
            .map(|(index, lane)| {
                let (stop, random) =
                    (&stop, fastrand::Rng::with_seed(seed.wrapping_mul(64).wrapping_add(index)));
                scope.spawn(move || {
                    let outcome = lane.run(random, until, stop);
                    // The others need not go on after a failure.
                    stop.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        let interval = measure::interval(time);
        while !workers.iter().all(|worker| worker.is_finished()) {
            thread::sleep(interval);
            if Instant::now() < until {
                let latencies = lanes.iter().flat_map(Lane::take_latencies).collect();
                record.sample("soak", lanes.iter().map(Lane::frames).sum(), latencies)?;
            }
        }
        for worker in workers {
            let summary = worker.join().map_err(|_| "a thread of the soak panicked")??;
            if record.is_kept() {
                println!("soak: {summary}");
            }
        }
        Ok(())
    })
}

/// Changes the state of each pipeline in turn from NULL to PLAYING and back, `changes` times in all.
fn change_states(descriptions: &[Description], changes: u32, record: &mut Record) -> Result<(), Failure> {
    let pipelines = descriptions.iter().map(lane::parse).collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    for change in 0..changes {
        let index = change as usize % pipelines.len();
        let pipeline = &pipelines[index];
        pipeline.set_state(gst::State::Playing)?;
        if !patience::plays(pipeline) {
            return Err(lane::error_of(pipeline, descriptions[index].name, "does not play"));
        }
        pipeline.set_state(gst::State::Null)?;
        lane::check_bus(pipeline, descriptions[index].name)?;
        if (change + 1).is_multiple_of(changes.div_ceil(measure::SAMPLES)) {
            record.sample("changes", u64::from(change + 1), Vec::new())?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("soak: {changes} times from NULL to PLAYING and back in {seconds:.0} s");
    Ok(())
}

//! What it costs to be a group, what it gains, and how its shares follow a load.
//!
//! `cargo bench --bench group [-- WIDTH HEIGHT RANGE]`. It measures on the devices that are there: every
//! OpenCL device and the CPU without OpenCL.
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gstmotionestimate::backend;
use gstmotionestimate::estimator::{
    DeviceShare, EstimateError, Estimator, Kernel, MotionVector, Parameters, Part, Picture, PictureBuf,
    Predictor, Slot, StageTimes, Tuning, Window,
};
use gstmotionestimate::group::{Balance, Device, Group, Options, Split};

/// A device that does nothing, at once: what is left is the group.
struct Idle(Parameters, Option<Part>);

impl Estimator for Idle {
    fn parameters(&self) -> &Parameters {
        &self.0
    }

    fn device(&self) -> &str {
        "nothing"
    }

    fn kernel(&self) -> Kernel {
        Kernel::Auto
    }

    fn depth(&self) -> usize {
        1
    }

    fn in_flight(&self) -> usize {
        usize::from(self.1.is_some())
    }

    fn load(&mut self, _: Slot, _: &Picture<'_>) -> Result<(), EstimateError> {
        Ok(())
    }

    fn unload(&mut self, _: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        Ok(None)
    }

    fn begin_part(&mut self, _: Slot, _: Slot, part: Part) -> Result<(), EstimateError> {
        self.1 = Some(part);
        Ok(())
    }

    fn finish(&mut self, _: &mut [MotionVector]) -> Result<(), EstimateError> {
        self.1 = None;
        Ok(())
    }

    fn cancel(&mut self) {
        self.1 = None;
    }

    fn predict(&mut self, _: &mut [Predictor]) -> Result<(), EstimateError> {
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        StageTimes::default()
    }
}

fn picture(width: usize, height: usize, time: usize) -> PictureBuf {
    let sample = |x: usize, y: usize| {
        let (x, y) = (x + 3 * time, y + 2 * time);
        ((x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180 + (x * 31 + y * 17) % 40) as u8
    };
    PictureBuf::from_fn(width, height, sample)
}

/// The median of `times` in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The time of each of `count` pictures, loaded and searched one after the other.
fn run(estimator: &mut dyn Estimator, pictures: &[PictureBuf], count: usize) -> Vec<Duration> {
    let mut vectors = vec![MotionVector::default(); estimator.parameters().grid().blocks()];
    estimator.load(Slot::A, &pictures[0].view()).unwrap();
    let mut current = Slot::B;
    let one = |index: usize| {
        let start = Instant::now();
        estimator.load(current, &pictures[index % pictures.len()].view()).unwrap();
        estimator.search(current, &mut vectors).unwrap();
        current = current.other();
        start.elapsed()
    };
    (1..=count).map(one).collect()
}

fn open(device: &backend::DeviceInfo, parameters: &Parameters) -> Box<dyn Estimator> {
    backend::open(&device.selector, Kernel::Auto, &Tuning::default(), parameters).unwrap().estimator
}

fn group(devices: Vec<Box<dyn Estimator>>, split: Split, balance: Balance) -> Group {
    let parameters = devices[0].parameters().clone();
    let devices = devices.into_iter().map(|estimator| Device { estimator, weight: 1.0 }).collect();
    Group::new(&parameters, 1, devices, Options { split, balance, ..Options::default() }).unwrap()
}

/// The devices' work added, begun on all and then finished on all by one thread: Uta's
/// OpenCL-async (7.2).
fn one_thread(
    devices: &mut [Box<dyn Estimator>],
    vectors: &mut [MotionVector],
    pictures: &[PictureBuf],
) -> f64 {
    let parameters = devices[0].parameters().clone();
    let (grid, count) = (parameters.grid(), devices.len());
    let band = |index: usize| grid.rows * index / count..grid.rows * (index + 1) / count;
    let one = |time: usize| {
        let slot = |time: usize| Slot::new(time % 2);
        let start = Instant::now();
        for (index, device) in devices.iter_mut().enumerate() {
            device.load(slot(time), &pictures[time % pictures.len()].view()).unwrap();
            if time > 0 {
                let part = Part::whole(&parameters).with_rows(band(index));
                device.begin_part(slot(time), slot(time + 1), part).unwrap();
            }
        }
        if time > 0 {
            for (index, device) in devices.iter_mut().enumerate() {
                let rows = band(index);
                device.finish(&mut vectors[rows.start * grid.columns..rows.end * grid.columns]).unwrap();
            }
        }
        start.elapsed()
    };
    median((0..30).map(one).skip(1).collect())
}

fn overhead() {
    println!("## Overhead a picture: devices that take no time, pictures of 64 x 64 in 4 x 4 blocks\n");
    println!("| devices | a thread each, us | one thread, us |\n|---|---|---|");
    let parameters = Parameters::new(64, 64, 4, Window::symmetric(1, 1).unwrap());
    let pictures = [picture(64, 64, 0), picture(64, 64, 1)];
    for count in [1, 2, 4, 8] {
        let idle = || (0..count).map(|_| Box::new(Idle(parameters.clone(), None)) as Box<dyn Estimator>);
        let mut threads = group(idle().collect(), Split::Rows, Balance::Static);
        let with_threads = median(run(&mut threads, &pictures, 4000)) * 1e3;
        let mut vectors = vec![MotionVector::default(); parameters.grid().blocks()];
        let alone = one_thread(&mut idle().collect::<Vec<_>>(), &mut vectors, &pictures) * 1e3;
        println!("| {count} | {with_threads:.1} | {alone:.1} |");
    }
}

fn gain(parameters: &Parameters, pictures: &[PictureBuf]) {
    println!(
        "\n## Gain: {} x {}, {} candidates\n",
        parameters.width,
        parameters.height,
        parameters.candidates()
    );
    println!("| who | ms a picture | of the ideal | of the best alone | shares |\n|---|---|---|---|---|");
    let devices = backend::devices();
    let mut alone = Vec::new();
    for device in &devices {
        let mut estimator = open(device, parameters);
        let time = median(run(estimator.as_mut(), pictures, 15));
        println!("| {} | {time:.2} | | | |", device.name);
        alone.push(time);
    }
    let best = alone.iter().copied().fold(f64::MAX, f64::min);
    let ideal = 1.0 / alone.iter().map(|time| 1.0 / time).sum::<f64>();
    println!("| ideal: sum of rates | {ideal:.2} | 1.00 | {:.2} | |", best / ideal);
    let report = |name: String, members: Vec<Box<dyn Estimator>>, split, balance| {
        let mut group = group(members, split, balance);
        let settled = run(&mut group, pictures, 80).split_off(45);
        let time = median(settled);
        let mut shares: Vec<DeviceShare> = Vec::new();
        group.shares(&mut shares);
        let shares: Vec<_> = shares.iter().map(|share| format!("{:.2}", share.share)).collect();
        let (ideal, best) = (ideal / time, best / time);
        println!("| {name} | {time:.2} | {ideal:.2} | {best:.2} | {} |", shares.join(" "));
    };
    for device in &devices {
        report(
            format!("group of {}", device.name),
            vec![open(device, parameters)],
            Split::Rows,
            Balance::Adaptive,
        );
    }
    for (split, balance) in [
        (Split::Rows, Balance::Adaptive),
        (Split::Rows, Balance::Fit),
        (Split::Rows, Balance::Static),
        (Split::Candidates, Balance::Adaptive),
    ] {
        let members = devices.iter().map(|device| open(device, parameters)).collect();
        report(format!("all, {split:?} {balance:?}"), members, split, balance);
    }
    if devices.len() > 1 {
        let mut members: Vec<_> = devices.iter().map(|device| open(device, parameters)).collect();
        // Who works while it is finished comes first, so that the others work meanwhile.
        let mut vectors = vec![MotionVector::default(); parameters.grid().blocks()];
        let time = one_thread(&mut members, &mut vectors, pictures);
        println!(
            "| all, equal rows by one thread | {time:.2} | {:.2} | {:.2} | |",
            ideal / time,
            best / time
        );
    }
}

/// Work on every core that the search could use.
fn with_load<T>(work: impl FnOnce() -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let spin = |stop: Arc<AtomicBool>| {
        move || {
            let mut number = 1_u64;
            while !stop.load(Ordering::Relaxed) {
                number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
    };
    let threads: Vec<_> = (0..cores).map(|_| thread::spawn(spin(stop.clone()))).collect();
    let done = work();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    done
}

fn load(parameters: &Parameters, pictures: &[PictureBuf]) {
    println!("\n## A load on every core in mid-run\n");
    println!("| pictures | load | ms a picture | shares |\n|---|---|---|---|");
    let members = backend::devices().iter().map(|device| open(device, parameters)).collect();
    let mut group = group(members, Split::Rows, Balance::Adaptive);
    let mut shares: Vec<DeviceShare> = Vec::new();
    let mut next = 0;
    for is_loaded in [false, true, false] {
        for _ in 0..4 {
            let times = if is_loaded {
                with_load(|| run(&mut group, pictures, 10))
            } else {
                run(&mut group, pictures, 10)
            };
            group.shares(&mut shares);
            let now: Vec<_> =
                shares.iter().map(|share| format!("{} {:.2}", share.device, share.share)).collect();
            let load = if is_loaded { "yes" } else { "no" };
            println!("| {next} - {} | {load} | {:.2} | {} |", next + 9, median(times), now.join(", "));
            next += 10;
        }
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [width, height, range] = numbers[..].try_into().unwrap_or([1280, 720, 16]);
    let window = Window::symmetric(range as i32, range as i32).unwrap();
    let parameters = Parameters::new(width, height, 16, window);
    let pictures: Vec<_> = (0..3).map(|time| picture(width, height, time)).collect();
    overhead();
    gain(&parameters, &pictures);
    load(&parameters, &pictures);
}

//! Finds the fastest tuning of every kernel for one case.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use motion_search::estimator::{self, MotionVector, Output, SetupError, Slot};
use motion_search::native::Native;
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice};
use motion_search::tuning::{Kernel, Launch, Tuning};
use test_support::Scene;

use crate::cases::Case;

/// Least speed-up for which a tuning replaces another.
const WORTH_IT: f64 = 1.03;

/// Measuring time of a tuning whose searches are short.
const MEASURED_FOR: Duration = Duration::from_millis(400);

/// The result of one kernel.
pub struct Found {
    pub kernel: Kernel,
    /// The fastest tuning; the default one if none is clearly faster.
    pub tuning: Tuning,
    /// Median time of a search with `tuning`.
    pub time: Duration,
    /// Median time with the default tuning, measured alternately with `tuning`.
    pub default_time: Duration,
    /// Whether there was time to search for a better tuning.
    pub is_tuned: bool,
}

/// The results of one case, the fastest kernel first, and the time of the CPU without OpenCL.
pub struct Outcome {
    pub found: Vec<Found>,
    pub native_time: Duration,
}

/// Measures every kernel of `case` with its default tuning, then searches for better tunings until
/// `deadline`, the fastest kernels first.
pub fn search(
    device: &OpenClDevice,
    scene: &Scene,
    case: &Case,
    deadline: Instant,
    bar: &ProgressBar,
) -> Result<Outcome, Box<dyn Error>> {
    let mut native = Native::new(case.parameters.clone())?;
    let mut output = Output::new(case.parameters.grid().blocks());
    load_scene(&mut native, scene)?;
    estimator::search(&mut native, Slot::B, Slot::A, &mut output)?;
    let expected = output.vectors.to_vec();
    let native_time = median(&mut native, &mut output)?;

    let tuner = Tuner { device, scene, case, expected, bar };
    let mut found = Vec::new();
    for kernel in Kernel::of(case.parameters.algorithm) {
        let tuning = Tuning::default();
        if let Some(time) = tuner.measure(*kernel, tuning)? {
            found.push(Found { kernel: *kernel, tuning, time, default_time: time, is_tuned: false });
        }
    }
    found.sort_by_key(|found| found.time);
    for found in &mut found {
        tuner.tune(found, deadline)?;
    }
    tuner.final_round(&mut found)?;
    Ok(Outcome { found, native_time })
}

struct Tuner<'a> {
    device: &'a OpenClDevice,
    scene: &'a Scene,
    case: &'a Case,
    expected: Vec<MotionVector>,
    bar: &'a ProgressBar,
}

impl Tuner<'_> {
    /// Median time of a search; `None` if the device does not support the tuning, or if the field
    /// differs from that of the native search.
    fn measure(&self, kernel: Kernel, tuning: Tuning) -> Result<Option<Duration>, Box<dyn Error>> {
        self.bar.set_message(format!("{kernel} {}", text(&tuning)));
        self.bar.tick();
        let mut opened = match self.open(kernel, tuning) {
            Ok(opened) => opened,
            Err(SetupError::KernelUnsupported { .. } | SetupError::Memory { .. }) => return Ok(None),
            Err(error) => {
                self.bar.println(format!("! {kernel} {}: {error}", text(&tuning)));
                return Ok(None);
            }
        };
        let mut output = Output::new(self.expected.len());
        load_scene(&mut opened, self.scene)?;
        estimator::search(&mut opened, Slot::B, Slot::A, &mut output)?;
        if output.vectors[..] != self.expected {
            self.bar.println(format!("! {kernel} {}: WRONG VECTORS, does not count", text(&tuning)));
            return Ok(None);
        }
        Ok(Some(median(&mut opened, &mut output)?))
    }

    fn open(&self, kernel: Kernel, tuning: Tuning) -> Result<OpenCl, SetupError> {
        OpenCl::new(self.device, kernel, &tuning, &self.case.parameters)
    }

    /// Optimises one parameter after the other: keeps the fastest value of each.
    fn tune(&self, found: &mut Found, deadline: Instant) -> Result<(), Box<dyn Error>> {
        let (mut best, mut best_time) = (found.tuning, found.time);
        for values in axes(found.kernel, self.device) {
            for value in values {
                if Instant::now() > deadline {
                    break;
                }
                found.is_tuned = true;
                let tuning = value.or(best);
                if let Some(time) = self.measure(found.kernel, tuning)?
                    && is_worth_it(best_time, time)
                {
                    (best, best_time) = (tuning, time);
                }
            }
        }
        if best != found.tuning {
            self.duel(found, best)?;
        }
        Ok(())
    }

    /// Keeps `tuning` if it is faster than the default tuning in alternating measurements.
    fn duel(&self, found: &mut Found, tuning: Tuning) -> Result<(), Box<dyn Error>> {
        let kernel = found.kernel;
        if let [default_time, time] = self.contest(&[(kernel, Tuning::default()), (kernel, tuning)])?[..] {
            (found.default_time, found.time) = (default_time, default_time);
            if is_worth_it(default_time, time) {
                (found.tuning, found.time) = (tuning, time);
            }
        }
        Ok(())
    }

    /// Median times of several tunings, measured in turn, so that other load affects all alike.
    fn contest(&self, entrants: &[(Kernel, Tuning)]) -> Result<Vec<Duration>, Box<dyn Error>> {
        const ROUNDS: std::ops::RangeInclusive<usize> = 7..=100;
        let mut output = Output::new(self.expected.len());
        let mut contestants = Vec::new();
        for (kernel, tuning) in entrants {
            let mut opened = self.open(*kernel, *tuning)?;
            load_scene(&mut opened, self.scene)?;
            estimator::search(&mut opened, Slot::B, Slot::A, &mut output)?;
            contestants.push((opened, Vec::new()));
        }
        let (start, long) = (Instant::now(), MEASURED_FOR * 2 * entrants.len() as u32);
        for round in 0..*ROUNDS.end() {
            if round >= *ROUNDS.start() && start.elapsed() > long {
                break;
            }
            for (opened, times) in &mut contestants {
                let start = Instant::now();
                estimator::search(opened, Slot::B, Slot::A, &mut output)?;
                times.push(start.elapsed());
            }
        }
        Ok(contestants.into_iter().filter_map(|(_, times)| middle(times)).collect())
    }

    /// Measures the fastest kernels again, in turn, and sorts them by the result.
    fn final_round(&self, found: &mut [Found]) -> Result<(), Box<dyn Error>> {
        found.sort_by_key(|found| found.time);
        let best = found.len().min(3);
        let best = &mut found[..best];
        let entrants: Vec<_> = best.iter().map(|found| (found.kernel, found.tuning)).collect();
        self.bar.set_message("measuring the fastest again");
        for (found, time) in best.iter_mut().zip(self.contest(&entrants)?) {
            let ratio = found.default_time.as_secs_f64() / found.time.as_secs_f64();
            (found.time, found.default_time) = (time, time.mul_f64(ratio));
        }
        best.sort_by_key(|found| found.time);
        Ok(())
    }
}

fn is_worth_it(before: Duration, after: Duration) -> bool {
    before.as_secs_f64() > WORTH_IT * after.as_secs_f64()
}

/// The values to try for each parameter of `kernel`, each as a tuning with only that parameter.
fn axes(kernel: Kernel, device: &OpenClDevice) -> Vec<Vec<Tuning>> {
    let plain = Tuning::default();
    let sizes = if device.kind == DeviceKind::Cpu { 1..=256 } else { 32..=1024 };
    let sizes = (0..=10).map(|power| 1 << power).filter(|size| sizes.contains(size));
    let groups = sizes.map(|size| Tuning { group_size: Some(size), ..plain }).collect();
    let costs = [18, 20, 22, 24, 26].map(|power| Tuning { cost_bytes: Some(1 << power), ..plain }).to_vec();
    match kernel {
        Kernel::CollaborativeNaive
        | Kernel::Collaborative
        | Kernel::CollaborativeSamples
        | Kernel::CollaborativeUnaligned => {
            let launch =
                |(launch, launches)| Tuning { launch: Some(launch), launches: Some(launches), ..plain };
            let launches = [(Launch::OutOfOrder, 8), (Launch::Queues(2), 8), (Launch::Queues(4), 32)];
            vec![groups, costs, launches.map(launch).to_vec()]
        }
        Kernel::TwoPass => vec![groups, costs],
        Kernel::Tiled => {
            let runs = [1, 2, 4, 8, 11, 17, 33, 65].map(|run| Tuning { run: Some(run), ..plain });
            let shapes = [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (1, 4), (2, 2), (4, 2), (4, 4)];
            let shape =
                |(across, down)| Tuning { blocks_across: Some(across), blocks_down: Some(down), ..plain };
            vec![runs.to_vec(), groups, shapes.map(shape).to_vec()]
        }
        _ => vec![groups],
    }
}

fn load_scene(device: &mut dyn estimator::Device, scene: &Scene) -> Result<(), Box<dyn Error>> {
    device.load_frame(Slot::A, &scene.reference)?;
    Ok(device.load_frame(Slot::B, &scene.current)?)
}

/// Median time of up to 50 searches including the download of the vectors; of one if it is long.
fn median(device: &mut dyn estimator::Device, output: &mut Output) -> Result<Duration, Box<dyn Error>> {
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || (times.len() < 50 && start.elapsed() < MEASURED_FOR) {
        let start = Instant::now();
        estimator::search(device, Slot::B, Slot::A, output)?;
        times.push(start.elapsed());
    }
    Ok(middle(times).unwrap_or_default())
}

fn middle(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// The fields of a tuning that are set, as text.
pub fn text(tuning: &Tuning) -> String {
    match toml::Value::try_from(tuning) {
        Ok(toml::Value::Table(fields)) if fields.is_empty() => "default".into(),
        Ok(fields) => fields.to_string(),
        Err(error) => error.to_string(),
    }
}

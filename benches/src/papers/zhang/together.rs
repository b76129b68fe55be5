//! Figure 12: the frames of a sequence divided between a GPU and a CPU.
//!
//! The paper measures how long each device takes for some numbers of frames, fits a curve of second degree, and gives the
//! CPU the `M` of `N` frames for which both take equally long: `T_cpu(M) = T_gpu(N - M)`, equation (7). Here that is done
//! as he does it: each device searches its frames by itself, both at once. Beside it stand the ways of the element.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use motion_search::backend::{DeviceSelector, Grouping};
use motion_search::estimator::{Parameters, SetupError, Window};
use motion_search::session::{self, Balance, Split};
use motion_search::tuning::Kernel;

use crate::papers::frames::Scene;
use crate::papers::measure::{RAN, Session, described, median, open_stream, spread};
use crate::papers::printed::{ZHANG_FOR_CPU, ZHANG_SEQUENCES};
use crate::papers::report::Report;
use crate::papers::several::{NO_CPU, cpu_beside};
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Frames of the sequence.
const FRAMES: usize = 300;

/// Searches in flight.
const DEPTH: usize = 4;

/// How often the sequence is searched at most, after once to warm up and, by the element's ways, twice in which shares
/// settle; and how long.
const RUNS: usize = 9;
const LONGEST: Duration = Duration::from_secs(3);

/// The element's ways to divide: his, by the curves of `fit`, in rounds of frames; and two by rows.
const OURS: [(&str, Split, Balance); 3] = [
    ("whole frames, fit", Split::Frames, Balance::Fit),
    ("rows, fit", Split::Rows, Balance::Fit),
    ("rows, adaptive", Split::Rows, Balance::Adaptive),
];

type Failure = Box<dyn Error + Send + Sync>;

/// A device and a CPU that search with the same kernel.
struct Pair<'a> {
    kernel: Kernel,
    device: &'a DeviceSelector,
    cpu: &'a DeviceSelector,
    cpu_name: &'a str,
}

/// The times of runs over the sequence.
struct Runs(Vec<Duration>);

impl Runs {
    /// Frames a second, and the distance of the quartiles in parts of the median.
    fn cells(&self) -> [Cell; 2] {
        let rate = FRAMES as f64 / median(self.0.clone()).as_secs_f64();
        [Cell::Ours(rate), Cell::Hundredths(spread(&self.0))]
    }
}

impl Pair<'_> {
    fn open(
        &self,
        device: &DeviceSelector,
        grouping: Grouping,
        parameters: &Parameters,
    ) -> Result<session::Session, SetupError> {
        open_stream(device, self.kernel, DEPTH, grouping, parameters)
    }

    /// Each alone, both by equation (7), and by the ways of the element.
    fn measure(&self, parameters: &Parameters, runs: usize) -> Result<Vec<Cell>, Box<dyn Error>> {
        let scene = Scene::moving(parameters.width, parameters.height);
        let mut device = self.open(self.device, Grouping::default(), parameters)?;
        let mut cpu = self.open(self.cpu, Grouping::default(), parameters)?;
        let plain = |error: Failure| -> Box<dyn Error> { error };
        let alone = |session: &mut session::Session| -> Result<(Runs, Curve), Box<dyn Error>> {
            let mut time = |frames| timed(runs, || search(session, &scene, frames)).map_err(plain);
            let (half, all) = (time(FRAMES / 2)?, time(FRAMES)?);
            let curve = Curve::through(&half, &all);
            Ok((all, curve))
        };
        let ((device_alone, device_curve), (cpu_alone, cpu_curve)) = (alone(&mut device)?, alone(&mut cpu)?);
        let for_cpu = balanced(&device_curve, &cpu_curve);
        let both = timed(runs, || {
            thread::scope(|scope| {
                let on_cpu = scope.spawn(|| search(&mut cpu, &scene, for_cpu));
                let on_device = search(&mut device, &scene, FRAMES - for_cpu);
                on_cpu.join().expect("no panic").and(on_device)
            })
        });
        let mut cells: Vec<Cell> = [device_alone, cpu_alone].iter().flat_map(Runs::cells).collect();
        cells.push(Cell::Label(for_cpu.to_string()));
        cells.extend(both.map_err(plain)?.cells());
        for (_, split, balance) in OURS {
            let list = format!("{},{}", self.device, self.cpu).parse()?;
            let grouping = Grouping { split, balance, ..Grouping::default() };
            let mut session = self.open(&list, grouping, parameters)?;
            search(&mut session, &scene, 2 * FRAMES).map_err(plain)?;
            let mut share = 0.0;
            let times = timed(runs, || {
                share = search(&mut session, &scene, FRAMES)?;
                Ok(share)
            });
            cells.extend(times.map_err(plain)?.cells());
            cells.push(Cell::Hundredths(share * FRAMES as f64));
        }
        Ok(cells)
    }

    fn columns(&self, session: &Session<'_>) -> Vec<Column> {
        let group = |name: &str| format!("{}, {name}", self.kernel);
        let mut columns = Vec::new();
        for name in [session.name(), self.cpu_name] {
            columns.extend(
                [name.to_owned(), format!("{name}, spread")].map(|name| Column::new(group("alone"), name)),
            );
        }
        columns.extend(["M", "both", "spread"].map(|name| Column::new(group("equation (7)"), name)));
        for (way, ..) in OURS {
            columns.extend(["both", "spread", "the CPU's part"].map(|name| Column::new(group(way), name)));
        }
        columns
    }
}

/// Searches `frames` frames, those of `scene` in turn, and returns the last device's mean share.
fn search(session: &mut session::Session, scene: &Scene, frames: usize) -> Result<f64, Failure> {
    if frames == 0 {
        return Ok(0.0);
    }
    let pictures = [&scene.reference, &scene.current];
    let mut reference = session.add_frame(pictures[0].clone())?;
    let mut share = 0.0;
    let mut finish = |session: &mut session::Session| -> Result<(), Failure> {
        session.finish_search()?;
        share += session.shares().last().map_or(0.0, |device| device.share);
        Ok(())
    };
    for index in 1..=frames {
        let current = session.add_frame(pictures[index % 2].clone())?;
        session.start_search(current, reference, ())?;
        reference = current;
        if session.in_flight() == session.depth() {
            finish(session)?;
        }
    }
    while session.in_flight() > 0 {
        finish(session)?;
    }
    Ok(share / frames as f64)
}

/// The times of up to `runs` calls of `work`, after one to warm up.
fn timed(runs: usize, mut work: impl FnMut() -> Result<f64, Failure>) -> Result<Runs, Failure> {
    work()?;
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < runs && times.iter().sum::<Duration>() < LONGEST {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    Ok(Runs(times))
}

/// Seconds for a number of frames: a curve of second degree that begins at 0.
struct Curve {
    linear: f64,
    square: f64,
}

impl Curve {
    /// Through the medians for half of the frames and for all.
    fn through(half: &Runs, all: &Runs) -> Self {
        let [half, all] = [half, all].map(|runs| median(runs.0.clone()).as_secs_f64());
        let frames = FRAMES as f64;
        Self { linear: (4.0 * half - all) / frames, square: 2.0 * (all - 2.0 * half) / (frames * frames) }
    }

    fn seconds(&self, frames: usize) -> f64 {
        let frames = frames as f64;
        (self.linear + self.square * frames) * frames
    }
}

/// Equation (7): the frames of the CPU for which both end together.
fn balanced(device: &Curve, cpu: &Curve) -> usize {
    let slower = |for_cpu: &usize| cpu.seconds(*for_cpu).max(device.seconds(FRAMES - for_cpu));
    (0..=FRAMES).min_by(|a, b| slower(a).total_cmp(&slower(b))).unwrap_or(0)
}

/// Figure 12.
pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Zhang, figure 12: not run, it needs an OpenCL device beside the CPU.");
        return Ok(());
    }
    let sequences = if session.quick { &ZHANG_SEQUENCES[..1] } else { &ZHANG_SEQUENCES[..] };
    let runs = if session.quick { 1 } else { RUNS };
    let window = Window::of_area(47, BLOCK)?;
    let opencl_cpu = cpu_beside(session);
    let device = &session.device.selector;
    let his = opencl_cpu.as_ref().map(|cpu| Pair {
        kernel: Kernel::TwoPass,
        device,
        cpu: &cpu.selector,
        cpu_name: &cpu.name,
    });
    let ours = Pair { kernel: Kernel::Auto, device, cpu: &DeviceSelector::Native, cpu_name: "native" };
    let pairs: Vec<Pair<'_>> = his.into_iter().chain([ours]).collect();
    let progress = session.progress("Zhang, figure 12", sequences.len() * pairs.len());
    let mut rows = Vec::new();
    for &(name, width, height) in sequences {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let mut row = vec![Cell::Label(name.into()), Cell::Printed(ZHANG_FOR_CPU, 0)];
        for pair in &pairs {
            row.extend(pair.measure(&parameters, runs)?);
            progress.inc(1);
        }
        rows.push(row);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Sequence"), Column::new("Zhang", "M")];
    columns.extend(pairs.iter().flat_map(|pair| pair.columns(session)));
    let smallest = Parameters::new(sequences[0].1, sequences[0].2, BLOCK, window);
    let ran = pairs.iter().map(|pair| {
        format!("kernel={} on {} and {}", pair.kernel, session.name(), pair.cpu_name).to_lowercase()
    });
    let mut foot = vec![
        format!("{RAN}{}. {}.", ran.collect::<Vec<_>>().join("; "), described(&smallest)),
        "His are an I7 2630qm and a GT540m, both with his two kernels, and one unnamed sequence of 300 frames; the bars \
         of the figure have no figures. He gives the CPU 105 frames; his (7) gives 103.7."
            .into(),
        format!(
            "Equation (7): each device searches its frames by itself, both at once; M by curves through the times of half of \
             the frames and of all. The others: the element's split and balance, without a device that does not help. two-pass: \
             his kernels on both OpenCL devices. auto: the fastest kernel on the device, and native as the CPU. Synthetic \
             frames, {DEPTH} in flight, with transfers; medians of up to {runs} runs over {FRAMES} frames, as many \
             as take {} s; the spread of fewer than four is not known, and 0. The CPU's part: frames, \
             or rows that make as many.",
            LONGEST.as_secs()
        ),
    ];
    foot.extend(opencl_cpu.is_none().then(|| NO_CPU.into()));
    report.table(&Table {
        stem: "zhang-figure-12".into(),
        title: "Zhang, figure 12: heterogeneous parallel computing (FPS), and the balance".into(),
        columns,
        rows,
        foot,
    })
}

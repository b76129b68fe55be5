//! Uta on several devices: tables 6 and 7 with figures 16 and 18, and section 8.5.2.

use std::error::Error;
use std::time::{Duration, Instant};

use motion_search::backend::{self, AvailableDevice, DeviceSelector, Grouping};
use motion_search::estimator::{Parameters, Window};
use motion_search::session::{self, Balance, Split};
use motion_search::tuning::Kernel;

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::Scene;
use crate::papers::measure::{
    Engine, RAN, Session, described, equals, median, milliseconds, open_stream, spread,
};
use crate::papers::printed::{UTA_CPU_GPU, UTA_GPUS, UTA_SCALING, UTA_SIZES};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Frames before the first that is timed: the shares settle in them. `fit` needs the most, for whole frames.
const TO_SETTLE: usize = 28 * Balance::ROUND;

/// Table 6 or 7: the thesis' kernel and the fastest, on up to all equal devices.
pub fn scaling(session: &Session<'_>, report: &mut Report, number: usize) -> Result<(), Box<dyn Error>> {
    let printed = UTA_SCALING.iter().find(|table| table.number == number).expect("one of these tables");
    let present = equals(session.device).len();
    if session.is_native() || present < 2 {
        report.say(&format!("Uta, table {number}: not run, it needs several equal OpenCL devices."));
        return Ok(());
    }
    let sizes = &UTA_SIZES[UTA_SIZES.len() - printed.rows.len()..];
    let sizes = if session.quick { &sizes[..3] } else { sizes };
    // The thesis' numbers of devices, and as many as there are.
    let mut counts: Vec<usize> = UTA_GPUS.into_iter().filter(|&count| count < present).collect();
    counts.push(present);
    // The thesis divides the jobs; bands of rows are ours. The Reference Method has no jobs: chapter 9 proposes it on
    // several devices.
    let groups = [
        (Kernel::Collaborative, Split::Candidates),
        (Kernel::Collaborative, Split::Rows),
        (Kernel::Auto, Split::Candidates),
        (Kernel::Auto, Split::Rows),
        (Kernel::Reference, Split::Rows),
    ];
    let engine = |(kernel, split), count| match count {
        1 => Engine::kernel(kernel),
        _ => Engine::Equals { kernel, count, split },
    };
    let engines = groups.iter().flat_map(|&group| counts.iter().map(move |&count| engine(group, count)));
    let engines: Vec<Engine> = engines.collect();
    let window = Window::of_area(printed.window, BLOCK)?;
    session.check_sizes(sizes, &engines, window)?;
    let measured =
        session.measure_sizes(&format!("Uta, table {}", printed.number), sizes, &engines, &|_| window);

    let mut columns = vec![Column::new("", "Frame Size"), Column::new("", "#MBs")];
    columns.extend(UTA_GPUS.map(|count| Column::new("GTX580", count.to_string())));
    for (kernel, split) in groups {
        let by = if split == Split::Rows { "rows" } else { "jobs" };
        let group = format!("{} {kernel}, {by}", session.name());
        columns.extend(counts.iter().map(|count| Column::new(&group, count.to_string())));
        columns.extend(counts[1..].iter().map(|count| Column::new(&group, format!("1 to {count}"))));
    }
    let rows = sizes.iter().zip(printed.rows).zip(&measured.rows).map(|((size, figures), outcomes)| {
        let mut row = vec![Cell::Label(format!("{}x{}", size.0, size.1)), Cell::Label(size.2.to_string())];
        row.extend(figures.map(|figure| Cell::Printed(figure, 0)));
        for outcomes in outcomes.chunks(counts.len()) {
            row.extend(outcomes.iter().map(|outcome| outcome.pair(milliseconds)));
            let whole = |i: usize| outcomes[i].timing().map(|timing| milliseconds(timing.whole));
            let ratio = |i| whole(0).zip(whole(i)).map(|(one, several)| one / several);
            row.extend((1..counts.len()).map(|i| ratio(i).map_or(Cell::Stopped, Cell::Hundredths)));
        }
        row
    });
    let mut foot = vec![
        "1 to n: speedup of n devices over one, with transfers.".to_owned(),
        "Before the times were taken, the vectors of each column were compared: at the smallest size with the oracle, at \
         all sizes with those of the CPU."
            .to_owned(),
    ];
    foot.extend(measured.foot.iter().cloned());
    report.table(&Table {
        stem: format!("uta-table-{number}"),
        title: format!("Uta, table {number}: {} (ms)", printed.caption),
        columns,
        rows: rows.collect(),
        foot,
    })?;

    let mut series: Vec<Series> = UTA_GPUS
        .iter()
        .enumerate()
        .map(|(i, count)| Series {
            name: format!("GTX580, {count}"),
            values: printed.rows[..sizes.len()].iter().map(|row| Some(row[i])).collect(),
            printed: true,
        })
        .collect();
    series.extend(counts.iter().enumerate().map(|(i, count)| Series {
        name: format!("here: {count}"),
        values: measured.rows.iter().map(|row| row[i].timing().map(|t| milliseconds(t.whole))).collect(),
        printed: false,
    }));
    // Figure 16 is of table 6, figure 18 of table 7.
    let figure = 2 * number + 4;
    report.chart(
        &format!("uta-figure-{figure}"),
        &Chart {
            title: format!(
                "Uta, figure {figure}: jobs of collaborative divided among GPUs; here {}",
                session.name()
            ),
            unit: "ms, with transfers",
            categories: sizes.iter().map(|size| format!("{}x{}", size.0, size.1)).collect(),
            series,
            shape: Shape::Lines,
        },
    )
}

/// A stream on several devices after the shares have settled: medians and means a frame.
struct Settled {
    time: Duration,
    spread: f64,
    /// The last device's share of the search.
    share: f64,
    /// How long the first and the last device work.
    busy: [Duration; 2],
}

/// Measures a stream of the two frames of `scene`, in turn, by rounds of frames.
fn settled(
    session: &Session<'_>,
    opened: &mut session::Session,
    scene: &Scene,
) -> Result<Settled, Box<dyn Error>> {
    let frames = [&scene.reference, &scene.current];
    let (most, budget) = session.effort();
    let (mut rounds, mut spent, mut share) = (Vec::new(), Duration::ZERO, 0.0);
    let mut busy_before = Vec::new();
    let mut reference = opened.add_frame(frames[0].clone())?;
    let mut start = Instant::now();
    for index in 1.. {
        let current = opened.add_frame(frames[index % 2].clone())?;
        opened.start_search(current, reference, ())?;
        reference = current;
        opened.finish_search()?;
        let shares = opened.shares();
        if index > TO_SETTLE {
            share += shares.last().map_or(0.0, |device| device.share);
        }
        if !index.is_multiple_of(Balance::ROUND) {
            continue;
        }
        let round = start.elapsed();
        if index == TO_SETTLE {
            busy_before = shares.iter().map(|device| device.busy).collect();
        } else if index > TO_SETTLE {
            rounds.push(round / Balance::ROUND as u32);
            spent += round;
        }
        if rounds.len() >= 5 * most || spent > budget {
            break;
        }
        start = Instant::now();
    }
    let count = (rounds.len() * Balance::ROUND) as u32;
    let busy: Vec<Duration> = opened
        .shares()
        .iter()
        .zip(busy_before)
        .map(|(device, before)| (device.busy - before) / count)
        .collect();
    let of = |device: Option<&Duration>| device.copied().unwrap_or_default();
    let (spread, busy) = (spread(&rounds), [of(busy.first()), of(busy.last())]);
    Ok(Settled { time: median(rounds), spread, share: share / f64::from(count), busy })
}

/// The CPU as an OpenCL device, if it is one beside that of the session.
pub fn cpu_beside(session: &Session<'_>) -> Option<AvailableDevice> {
    let is_other = |device: &AvailableDevice| device.selector != session.device.selector;
    backend::devices().into_iter().find(|device| device.kind == "cpu" && is_other(device))
}

/// A CPU beside the session's device, and how both divide a search.
struct Pair<'a> {
    heading: &'a str,
    cpu: &'a DeviceSelector,
    cpu_name: &'a str,
    kernel: Kernel,
    split: Split,
    balance: Balance,
}

impl Pair<'_> {
    /// What a table's footnote says of it.
    fn described(&self, session: &Session<'_>) -> String {
        let Self { kernel, split, balance, cpu_name, .. } = self;
        format!("kernel={kernel} on {} and {cpu_name}, split={split:?} balance={balance:?}", session.name())
            .to_lowercase()
    }

    fn columns(&self, session: &Session<'_>) -> Vec<Column> {
        let names = [
            session.name(),
            self.cpu_name,
            "both",
            "spread",
            "gain",
            "the CPU's share",
            "the device works",
            "the CPU works",
        ];
        names.map(|name| Column::new(self.heading, name)).into()
    }

    /// The cells of its columns.
    fn measure(&self, session: &Session<'_>, parameters: &Parameters) -> Result<Vec<Cell>, Box<dyn Error>> {
        let scene = Scene::moving(parameters.width, parameters.height);
        let run = |device: &DeviceSelector, grouping| {
            settled(session, &mut open_stream(device, self.kernel, 1, grouping, parameters)?, &scene)
        };
        let (first, second) = (&session.device.selector, self.cpu);
        let alone = [run(first, Grouping::default())?.time, run(second, Grouping::default())?.time];
        // A static share is fixed by the times of both alone, as in the thesis.
        let share = alone[0].as_secs_f64() / (alone[0] + alone[1]).as_secs_f64();
        let list = match self.balance {
            Balance::Static => format!("{first}@{},{second}@{share}", 1.0 - share),
            _ => format!("{first},{second}"),
        };
        let grouping = Grouping { split: self.split, balance: self.balance, ..Grouping::default() };
        let both = run(&list.parse()?, grouping)?;
        let best = alone[0].min(alone[1]);
        let mut cells: Vec<Cell> = alone.map(|time| Cell::Ours(milliseconds(time))).into();
        cells.extend([
            Cell::Ours(milliseconds(both.time)),
            Cell::Hundredths(both.spread),
            Cell::Hundredths(best.as_secs_f64() / both.time.as_secs_f64()),
            Cell::Ours(both.share),
        ]);
        cells.extend(both.busy.map(|time| Cell::Ours(milliseconds(time))));
        Ok(cells)
    }
}

/// Section 8.5.2: a device and the CPU, on the frames smaller than 1920x1080.
pub fn together(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, 8.5.2: not run, it needs an OpenCL device beside the CPU.");
        return Ok(());
    }
    let sizes = if session.quick { &UTA_SIZES[..3] } else { &UTA_SIZES[..6] };
    let window = Window::of_area(47, BLOCK)?;
    let cpu = cpu_beside(session);
    let jobs = cpu.as_ref().map(|cpu| Pair {
        heading: "collaborative, by jobs",
        cpu: &cpu.selector,
        cpu_name: &cpu.name,
        kernel: Kernel::Collaborative,
        split: Split::Candidates,
        balance: Balance::Static,
    });
    let rows = Pair {
        heading: "ours, by rows",
        cpu: &DeviceSelector::Native,
        cpu_name: "native",
        kernel: Kernel::Auto,
        split: Split::Rows,
        balance: Balance::Adaptive,
    };
    let pairs: Vec<Pair<'_>> = jobs.into_iter().chain([rows]).collect();
    let progress = session.progress("Uta, 8.5.2", sizes.len() * pairs.len());
    let mut table = Vec::new();
    for (index, &(width, height, _)) in sizes.iter().enumerate() {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let mut row = vec![Cell::Label(format!("{width}x{height}"))];
        row.extend((0..3).map(|i| match UTA_CPU_GPU {
            (printed, figures) if printed == index => Cell::Printed(figures[i], 0),
            _ => Cell::Missing,
        }));
        for pair in &pairs {
            row.extend(pair.measure(session, &parameters)?);
            progress.inc(1);
        }
        table.push(row);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Frame Size")];
    columns.extend(["HD6970", "E5620", "both"].map(|name| Column::new("Uta", name)));
    columns.extend(pairs.iter().flat_map(|pair| pair.columns(session)));
    let ran: Vec<String> = pairs.iter().map(|pair| pair.described(session)).collect();
    let smallest = Parameters::new(sizes[0].0, sizes[0].1, BLOCK, window);
    let mut foot = vec![
        format!("{RAN}{}. {}.", ran.join("; "), described(&smallest)),
        "Uta: CollabGPU_opt beside CollabCPU_opt with a fixed share of the jobs; 6 and 7 ms of work, and 7 ms in \
         pthread_join. The thesis has no table of this."
            .into(),
        format!(
            "By jobs: his experiment, single jobs by the times of both alone. By rows: kernel=auto on the device and \
             native as the CPU. Times a frame, with the current frame's upload and the vectors' download, after \
             {TO_SETTLE} frames. Gain: over the faster alone. Works: how long each is busy with a frame."
        ),
    ];
    foot.extend(cpu.is_none().then(|| NO_CPU.into()));
    report.table(&Table {
        stem: "uta-8-5-2".into(),
        title: "Uta, 8.5.2: CPU-GPU scalability, W=47 (ms)".into(),
        columns,
        rows: table,
        foot,
    })
}

/// For tables that need the CPU as an OpenCL device.
pub const NO_CPU: &str =
    "The experiment itself is not run: it needs the CPU as an OpenCL device beside this one.";

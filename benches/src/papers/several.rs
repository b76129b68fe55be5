//! The tables of several devices: Uta's tables 6 and 7 and section 8.5.2, and Zhang's figure 12.

use std::error::Error;
use std::time::{Duration, Instant};

use motion_search::backend::{self, AvailableDevice, DeviceSelector, Grouping};
use motion_search::estimator::{Parameters, Window};
use motion_search::session::{self, Balance, Split};
use motion_search::tuning::{Kernel, Tuning};

use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, RAN, Session, described, equals, median, milliseconds, rate};
use crate::papers::printed::{
    UTA_CPU_GPU, UTA_GPUS, UTA_SCALING, UTA_SIZES, UtaScaling, ZHANG_BALANCE, ZHANG_SEQUENCES,
};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Frames before the first that is timed: the shares settle in them. `fit` needs the most, for whole frames.
const TO_SETTLE: usize = 28 * Balance::ROUND;

/// Tables 6 and 7, and section 8.5.2.
pub fn uta(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    uta_scaling(session, report)?;
    together(session, report)
}

/// Tables 6 and 7.
pub fn uta_scaling(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let present = equals(session.device).len();
    for printed in &UTA_SCALING {
        if session.is_native() || present < 2 {
            let number = printed.number;
            report.say(&format!("Uta, table {number}: not run, it needs several equal OpenCL devices."));
            continue;
        }
        scaling(session, report, printed, present)?;
    }
    Ok(())
}

/// Table 6 or 7: the thesis' kernel and the fastest, on up to all equal devices.
fn scaling(
    session: &Session<'_>,
    report: &mut Report,
    printed: &UtaScaling,
    present: usize,
) -> Result<(), Box<dyn Error>> {
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
        stem: format!("uta-table-{}", printed.number),
        title: format!("Uta, table {}: {} (ms)", printed.number, printed.caption),
        columns,
        rows: rows.collect(),
        foot,
    })
}

/// A device, another one, the kernel that both run, and the ways to divide the work between them.
struct Pairing<'a> {
    kernel: Kernel,
    /// The device of the session, and the other one.
    devices: [&'a DeviceSelector; 2],
    /// Searches in flight.
    depth: usize,
    ways: &'a [(Split, Balance)],
}

/// Two devices alone and together.
struct Together {
    /// Time a frame of each alone.
    alone: [Duration; 2],
    /// With both, for each way: the time a frame, and the second one's share of the rows; where the candidates are divided,
    /// of them.
    both: Vec<(Duration, f64)>,
}

impl Together {
    fn measure(
        session: &Session<'_>,
        parameters: &Parameters,
        pairing: &Pairing<'_>,
    ) -> Result<Self, Box<dyn Error>> {
        let Pairing { kernel, devices: [first, second], depth, ways } = *pairing;
        let scene = Scene::moving(parameters.width, parameters.height);
        let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
        let time = |device: &DeviceSelector, grouping| {
            // The CPU without OpenCL has kernels of its own.
            let kernel = if *device == DeviceSelector::Native { Kernel::Auto } else { kernel };
            let mut opened = backend::open(device, kernel, &tuning, grouping, parameters)?.0;
            settled(session, &mut opened, &scene)
        };
        let alone = [time(first, Grouping::default())?.0, time(second, Grouping::default())?.0];
        let rates = alone.map(|time| 1.0 / time.as_secs_f64().max(1e-9));
        let share = rates[1] / (rates[0] + rates[1]);
        let both = ways.iter().map(|&(split, balance)| {
            // A static share is fixed by the rates of each alone, as the thesis does it.
            let list = match balance {
                Balance::Static => format!("{first}@{},{second}@{share}", 1.0 - share),
                _ => format!("{first},{second}"),
            };
            let grouping = Grouping { split, balance, ..Grouping::default() };
            let (time, found) = time(&list.parse()?, grouping)?;
            Ok((time, if split == Split::Candidates { share } else { found }))
        });
        let both = both.collect::<Result<_, Box<dyn Error>>>()?;
        Ok(Self { alone, both })
    }

    /// The time per frame if the rates of both added up.
    fn ideal(&self) -> Duration {
        let [device, cpu] = self.alone.map(|time| 1.0 / time.as_secs_f64().max(1e-9));
        Duration::from_secs_f64(1.0 / (device + cpu))
    }

    fn best(&self) -> Duration {
        self.alone[0].min(self.alone[1])
    }
}

/// The time per frame of a stream and the share of its last device, after the shares have settled: the median
/// time of a round of frames, and the mean share.
fn settled(
    session: &Session<'_>,
    opened: &mut session::Session,
    scene: &Scene,
) -> Result<(Duration, f64), Box<dyn Error>> {
    let frames = [&scene.reference, &scene.current];
    let last = opened.shares().len().saturating_sub(1);
    let (most, budget) = session.effort();
    let (mut rounds, mut rows, mut spent) = (Vec::new(), [0; 2], Duration::ZERO);
    let mut reference = opened.add_frame(frames[0].clone())?;
    let mut start = Instant::now();
    for index in 1.. {
        let current = opened.add_frame(frames[index % 2].clone())?;
        opened.start_search(current, reference, ())?;
        reference = current;
        if opened.in_flight() < opened.depth() {
            continue;
        }
        let ((), output) = opened.finish_search()?;
        if index > TO_SETTLE {
            rows[0] += output.row_devices.len();
            rows[1] += output.row_devices.iter().filter(|&&device| usize::from(device) == last).count();
        }
        if !index.is_multiple_of(Balance::ROUND) {
            continue;
        }
        let round = start.elapsed();
        start = Instant::now();
        if index > TO_SETTLE {
            rounds.push(round / Balance::ROUND as u32);
            spent += round;
        }
        if rounds.len() >= 5 * most || spent > budget {
            break;
        }
    }
    Ok((median(rounds), rows[1] as f64 / rows[0].max(1) as f64))
}

/// The CPU as an OpenCL device, if it is one beside that of the session.
fn cpu_beside(session: &Session<'_>) -> Option<AvailableDevice> {
    let is_other = |device: &AvailableDevice| device.selector != session.device.selector;
    backend::devices().into_iter().find(|device| device.kind == "cpu" && is_other(device))
}

/// The devices of both experiments: the thesis' or the paper's kernels on two OpenCL devices, and ours with the CPU without
/// OpenCL.
fn pairs<'a>(
    session: &'a Session<'_>,
    cpu: Option<&'a AvailableDevice>,
    depth: usize,
    (kernel, his): (Kernel, &'a [(Split, Balance)]),
    ours: &'a [(Split, Balance)],
) -> Vec<(Pairing<'a>, &'a str)> {
    let device = &session.device.selector;
    let his =
        cpu.map(|cpu| (Pairing { kernel, devices: [device, &cpu.selector], depth, ways: his }, &*cpu.name));
    let native =
        Pairing { kernel: Kernel::Auto, devices: [device, &DeviceSelector::Native], depth, ways: ours };
    his.into_iter().chain([(native, "native")]).collect()
}

/// A footnote on what ran.
fn ran(session: &Session<'_>, pairs: &[(Pairing<'_>, &str)], parameters: &Parameters) -> String {
    let pair = |(pairing, other): &(Pairing<'_>, &str)| {
        let ways: Vec<String> =
            pairing.ways.iter().map(|(split, by)| format!("split={split:?} balance={by:?}")).collect();
        format!("kernel={} on {} and {other}, {}", pairing.kernel, session.name(), ways.join(", "))
            .to_lowercase()
    };
    format!("{RAN}{}. {}.", pairs.iter().map(pair).collect::<Vec<_>>().join("; "), described(parameters))
}

/// Section 8.5.2: a device and the CPU, on the frames smaller than 1920x1080.
fn together(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, 8.5.2: not run, it needs an OpenCL device beside the CPU.");
        return Ok(());
    }
    let sizes = if session.quick { &UTA_SIZES[..3] } else { &UTA_SIZES[..6] };
    let window = Window::of_area(47, BLOCK)?;
    let cpu = cpu_beside(session);
    let his = [(Split::Candidates, Balance::Static)];
    let pairs =
        pairs(session, cpu.as_ref(), 1, (Kernel::Collaborative, &his), &[(Split::Rows, Balance::Adaptive)]);
    let progress = session.progress("Uta, 8.5.2", sizes.len() * pairs.len());
    let mut rows = Vec::new();
    for (index, &(width, height, _)) in sizes.iter().enumerate() {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let mut row = vec![Cell::Label(format!("{width}x{height}"))];
        row.extend((0..3).map(|i| match UTA_CPU_GPU {
            (printed, figures) if printed == index => Cell::Printed(figures[i], 0),
            _ => Cell::Missing,
        }));
        for (pairing, _) in &pairs {
            let found = Together::measure(session, &parameters, pairing)?;
            let [(both, share)] = found.both[..] else { unreachable!("one way to divide") };
            row.extend(found.alone.map(|time| Cell::Ours(milliseconds(time))));
            row.push(Cell::Ours(milliseconds(found.ideal())));
            row.push(Cell::Ours(milliseconds(both)));
            row.push(Cell::Hundredths(found.best().as_secs_f64() / both.as_secs_f64()));
            row.push(Cell::Hundredths(found.best().as_secs_f64() / found.ideal().as_secs_f64()));
            row.push(Cell::Hundredths(share));
            progress.inc(1);
        }
        rows.push(row);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Frame Size")];
    columns.extend(["HD6970", "E5620", "both"].map(|name| Column::new("Uta", name)));
    for (pairing, other) in &pairs {
        let group = if pairing.kernel == Kernel::Auto { "ours, by rows" } else { "collaborative, by jobs" };
        let names = [session.name(), other, "ideal", "both", "gain", "ideal gain", "the CPU's share"];
        columns.extend(names.map(|name| Column::new(group, name)));
    }
    let mut foot = vec![
        ran(session, &pairs, &Parameters::new(sizes[0].0, sizes[0].1, BLOCK, window)),
        "Uta: CollabGPU_opt beside CollabCPU_opt with a fixed share of the jobs; 6 and 7 ms of work, and 7 ms in \
         pthread_join. The thesis has no table of this."
            .into(),
        format!(
            "By jobs: his experiment, with the share that the rates alone give. By rows: kernel=auto on the device \
             and native as the CPU. With the current frame's upload and the vectors' download, after {TO_SETTLE} \
             frames. Ideal: rates added. Gain: over the faster alone."
        ),
    ];
    foot.extend(cpu.is_none().then(|| NO_CPU.into()));
    report.table(&Table {
        stem: "uta-8-5-2".into(),
        title: "Uta, 8.5.2: CPU-GPU scalability, W=47 (ms)".into(),
        columns,
        rows,
        foot,
    })
}

const NO_CPU: &str =
    "The experiment itself is not run: it needs the CPU as an OpenCL device beside this one.";

/// Searches in flight for figure 12, so that devices work on different frames.
const DEPTH: usize = 4;

/// His way to divide, and two others.
const DIVIDING: [(Split, Balance); 3] =
    [(Split::Frames, Balance::Fit), (Split::Rows, Balance::Fit), (Split::Rows, Balance::Adaptive)];

/// Figure 12: his balance beside ours.
pub fn zhang(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Zhang, figure 12: not run, it needs an OpenCL device beside the CPU.");
        return Ok(());
    }
    let sequences = if session.quick { &ZHANG_SEQUENCES[..1] } else { &ZHANG_SEQUENCES[..] };
    let window = Window::of_area(47, BLOCK)?;
    let (frames, for_cpu) = ZHANG_BALANCE;
    let cpu = cpu_beside(session);
    let pairs = pairs(session, cpu.as_ref(), DEPTH, (Kernel::TwoPass, &DIVIDING[..1]), &DIVIDING);
    let progress = session.progress("Zhang, figure 12", sequences.len() * pairs.len());
    let mut rows = Vec::new();
    for &(name, width, height) in sequences {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let mut row = vec![Cell::Label(name.into()), Cell::Printed(for_cpu, 0)];
        for (pairing, _) in &pairs {
            let found = Together::measure(session, &parameters, pairing)?;
            row.extend(found.alone.map(|time| Cell::Ours(rate(time))));
            row.push(Cell::Ours(rate(found.ideal())));
            for &(time, share) in &found.both {
                row.extend([Cell::Ours(rate(time)), Cell::Ours(share * frames)]);
            }
            progress.inc(1);
        }
        rows.push(row);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Sequence"), Column::new("Zhang", "the CPU's part of 300")];
    for (pairing, other) in &pairs {
        let group = pairing.kernel.to_string();
        columns.extend(
            [session.name(), other, "ideal"].map(|name| Column::new(format!("{group}, alone"), name)),
        );
        for way in ["whole frames, fit", "rows, fit", "rows, adaptive"].iter().take(pairing.ways.len()) {
            let both = format!("{group}, both");
            columns.extend([way, "the CPU's part of 300"].map(|name| Column::new(&both, name)));
        }
    }
    let mut foot = vec![
        ran(session, &pairs, &Parameters::new(sequences[0].1, sequences[0].2, BLOCK, window)),
        "His are an I7 2630qm and a GT540m, both with his two kernels, and one unnamed sequence of 300 \
         frames; the bars of the figure have no figures. He gives the CPU 105 frames; his (7), by which fit \
         finds shares of rounds of frames or of rows too, gives 103.7."
            .into(),
        format!(
            "two-pass: his kernels on both OpenCL devices. auto: the fastest kernel on the device, and native as the \
             CPU. Made frames, {DEPTH} in flight, with transfers, after {TO_SETTLE} frames in which shares settle."
        ),
    ];
    foot.extend(cpu.is_none().then(|| NO_CPU.into()));
    report.table(&Table {
        stem: "zhang-figure-12".into(),
        title: "Zhang, figure 12: heterogeneous parallel computing (FPS), and the balance".into(),
        columns,
        rows,
        foot,
    })
}

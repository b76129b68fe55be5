//! The tables of several devices: Uta's tables 6 and 7 and section 8.5.2, and Zhang's figure 12.

use std::error::Error;
use std::time::{Duration, Instant};

use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::{Parameters, Window};
use motion_search::session::{self, Balance, Split};
use motion_search::tuning::{Kernel, Tuning};

use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, Session, equals, median, milliseconds, rate};
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
    let kernels = [Kernel::Collaborative, Kernel::Auto];
    // The thesis divides the jobs; bands of rows are ours.
    let ways = [Split::Candidates, Split::Rows];
    let groups: Vec<(Kernel, Split)> =
        kernels.iter().flat_map(|&kernel| ways.map(|split| (kernel, split))).collect();
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

/// What divides the work of two devices.
type Dividing = (Split, Balance);

/// A device and the CPU without OpenCL, alone and together.
struct Together {
    /// Time a frame: the device alone, and the CPU alone.
    alone: [Duration; 2],
    /// With both: the time a frame, and the CPU's share.
    both: Vec<(Duration, f64)>,
}

impl Together {
    /// Measures both devices with `depth` searches in flight, divided in each way of `dividing`.
    fn measure(
        session: &Session<'_>,
        parameters: &Parameters,
        depth: usize,
        dividing: &[Dividing],
    ) -> Result<Self, Box<dyn Error>> {
        let scene = Scene::moving(parameters.width, parameters.height);
        let device = &session.device.selector;
        let list = DeviceSelector::Several(format!("{device},native"));
        let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
        let time = |device: &DeviceSelector, grouping| {
            let mut opened = backend::open(device, Kernel::Auto, &tuning, grouping, parameters)?.0;
            settled(session, &mut opened, &scene)
        };
        let mut alone = [Duration::ZERO; 2];
        for (alone, device) in alone.iter_mut().zip([device, &DeviceSelector::Native]) {
            *alone = time(device, Grouping::default())?.0;
        }
        let both = dividing
            .iter()
            .map(|&(split, balance)| time(&list, Grouping { split, balance, ..Grouping::default() }));
        Ok(Self { alone, both: both.collect::<Result<_, _>>()? })
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

/// Section 8.5.2: a device and the CPU, on the frames smaller than 1920x1080.
fn together(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, 8.5.2: not run, it needs an OpenCL device beside the CPU.");
        return Ok(());
    }
    let sizes = if session.quick { &UTA_SIZES[..3] } else { &UTA_SIZES[..6] };
    let window = Window::of_area(47, BLOCK)?;
    let progress = session.progress("Uta, 8.5.2", sizes.len());
    let mut rows = Vec::new();
    for (index, &(width, height, _)) in sizes.iter().enumerate() {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let found = Together::measure(session, &parameters, 1, &[(Split::Rows, Balance::Adaptive)])?;
        let [(both, share)] = found.both[..] else { unreachable!("one way to divide") };
        let mut row = vec![Cell::Label(format!("{width}x{height}"))];
        row.extend((0..3).map(|i| match UTA_CPU_GPU {
            (printed, figures) if printed == index => Cell::Printed(figures[i], 0),
            _ => Cell::Missing,
        }));
        row.extend(found.alone.map(|time| Cell::Ours(milliseconds(time))));
        row.push(Cell::Ours(milliseconds(found.ideal())));
        row.push(Cell::Ours(milliseconds(both)));
        row.push(Cell::Hundredths(found.best().as_secs_f64() / both.as_secs_f64()));
        row.push(Cell::Hundredths(found.best().as_secs_f64() / found.ideal().as_secs_f64()));
        row.push(Cell::Hundredths(share));
        rows.push(row);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Frame Size")];
    columns.extend(["HD6970", "E5620", "both"].map(|name| Column::new("Uta", name)));
    let ours = [session.name(), "native", "ideal", "both", "gain", "ideal gain", "native's share"];
    columns.extend(ours.map(|name| Column::new("ours", name)));
    report.table(&Table {
        stem: "uta-8-5-2".into(),
        title: "Uta, 8.5.2: CPU-GPU scalability, W=47 (ms)".into(),
        columns,
        rows,
        foot: vec![
            "Uta: CollabGPU_opt beside CollabCPU_opt with a fixed share of the jobs; 6 and 7 ms of work, and 7 ms in \
             pthread_join. The thesis has no table of this."
                .into(),
            format!(
                "Ours: kernel=auto on the device and native as the CPU, divided by rows, which is not his \
                 experiment; with the current frame's upload and the vectors' download, shares by the adaptive \
                 balance after {TO_SETTLE} frames. Ideal: rates added. Gain: over the faster alone."
            ),
        ],
    })
}

/// Searches in flight for figure 12, so that devices work on different frames.
const DEPTH: usize = 4;

/// His way to divide, on whole frames, and two others.
const DIVIDING: [Dividing; 3] =
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
    let progress = session.progress("Zhang, figure 12", sequences.len());
    let mut rows = Vec::new();
    for &(name, width, height) in sequences {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let found = Together::measure(session, &parameters, DEPTH, &DIVIDING)?;
        let mut row = vec![Cell::Label(name.into()), Cell::Printed(for_cpu, 0)];
        row.extend(found.alone.map(|time| Cell::Ours(rate(time))));
        row.push(Cell::Ours(rate(found.ideal())));
        for &(time, share) in &found.both {
            row.extend([Cell::Ours(rate(time)), Cell::Ours(share * frames)]);
        }
        rows.push(row);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Sequence"), Column::new("Zhang", "the CPU's part of 300")];
    columns.extend([session.name(), "native", "ideal"].map(|name| Column::new("alone", name)));
    for way in ["whole frames, fit", "rows, fit", "rows, adaptive"] {
        columns.extend([way, "the CPU's part of 300"].map(|name| Column::new("both", name)));
    }
    report.table(&Table {
        stem: "zhang-figure-12".into(),
        title: "Zhang, figure 12: heterogeneous parallel computing (FPS), and the balance".into(),
        columns,
        rows,
        foot: vec![
            "His are an I7 2630qm and a GT540m, both with his two kernels, and one unnamed sequence of 300 \
             frames; the bars of the figure have no figures. He gives the CPU 105 frames; his (7), by which fit \
             finds shares of rounds of frames or of rows too, gives 103.7."
                .into(),
            format!(
                "Ours: kernel=auto on the device and native as the CPU, which is not his experiment; made frames, \
                 {DEPTH} in flight, with transfers, after {TO_SETTLE} frames in which shares settle."
            ),
        ],
    })
}

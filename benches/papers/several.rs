//! The tables of several devices: Uta's tables 6 and 7 and section 8.5.2, and Zhang's figure 12.

use std::error::Error;
use std::time::{Duration, Instant};

use gstmotionestimate::backend::{self, DeviceSelector, Grouping};
use gstmotionestimate::estimator::{Parameters, Slot, Window};
use gstmotionestimate::session::{self, Balance, Split};
use gstmotionestimate::tuning::{Kernel, Tuning};

use crate::frames::Scene;
use crate::measure::{Engine, Searches, Session, Upload, equals, median, milliseconds, rate};
use crate::printed::{
    UTA_CPU_GPU, UTA_GPUS, UTA_SCALING, UTA_SIZES, UtaScaling, ZHANG_BALANCE, ZHANG_SEQUENCES,
};
use crate::report::Report;
use crate::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Frames before the first that is timed: the shares settle in them.
const TO_SETTLE: usize = 40;

/// Tables 6 and 7, and section 8.5.2.
pub fn uta(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let present = equals(session.device).len();
    for printed in &UTA_SCALING {
        if session.is_native() || present < 2 {
            let number = printed.number;
            report.say(&format!("Uta, table {number}: not run, it needs several equal OpenCL devices."));
            continue;
        }
        scaling(session, report, printed, present)?;
    }
    together(session, report)
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
    let counts: Vec<usize> = UTA_GPUS.into_iter().filter(|&count| count <= present).collect();
    let kernels = [Kernel::Collaborative, Kernel::Auto];
    let engine = |kernel, count| match count {
        1 => Engine::kernel(kernel),
        _ => Engine::Equals { kernel, count },
    };
    let engines = kernels.iter().flat_map(|&kernel| counts.iter().map(move |&count| engine(kernel, count)));
    let engines: Vec<Engine> = engines.collect();
    let window = Window::of_area(printed.window, BLOCK)?;
    let measured = session.measure(&Searches {
        title: &format!("Uta, table {}", printed.number),
        rows: sizes.len(),
        engines: &engines,
        scene: &|row| Scene::moving(sizes[row].0, sizes[row].1),
        parameters: &|row, _| Parameters::new(sizes[row].0, sizes[row].1, BLOCK, window),
        upload: Upload::Both,
    });

    let mut columns = vec![Column::new("", "Frame Size"), Column::new("", "#MBs")];
    columns.extend(UTA_GPUS.map(|count| Column::new("GTX580", count.to_string())));
    for kernel in kernels {
        let group = format!("{} {kernel}", session.name());
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
    let mut foot = vec!["1 to n: speedup of n devices over one, with transfers.".to_owned()];
    foot.extend(measured.foot.iter().cloned());
    report.table(&Table {
        stem: format!("uta-table-{}", printed.number),
        title: format!("Uta, table {}: {} (ms)", printed.number, printed.caption),
        columns,
        rows: rows.collect(),
        foot,
    })
}

/// A device and the CPU without OpenCL, alone and together.
struct Together {
    /// Time a frame: the device alone, the CPU alone, both with each balance of [`BALANCES`].
    times: [Duration; 4],
    /// The CPU's shares with each balance.
    shares: [f64; 2],
}

const BALANCES: [Balance; 2] = [Balance::Adaptive, Balance::Fit];

impl Together {
    fn measure(
        session: &Session<'_>,
        parameters: &Parameters,
        scene: &Scene,
    ) -> Result<Self, Box<dyn Error>> {
        let device = &session.device.selector;
        let both = DeviceSelector::Several(format!("{device},native"));
        let adaptive = Grouping { split: Split::Rows, ..Grouping::default() };
        let open = |device: &DeviceSelector, grouping| {
            backend::open(device, Kernel::Auto, &Tuning::default(), grouping, parameters)
        };
        let mut times = [Duration::ZERO; 4];
        for (time, device) in times.iter_mut().zip([device, &DeviceSelector::Native]) {
            *time = settled(session, &mut open(device, adaptive)?.0, scene)?;
        }
        let mut shares = [0.0; 2];
        for (index, balance) in BALANCES.into_iter().enumerate() {
            let mut group = open(&both, Grouping { balance, ..adaptive })?.0;
            times[2 + index] = settled(session, &mut group, scene)?;
            shares[index] = group.shares().last().map_or(0.0, |share| share.share);
        }
        Ok(Self { times, shares })
    }

    /// The time per frame if the rates of both added up.
    fn ideal(&self) -> Duration {
        let [device, cpu, ..] = self.times.map(|time| 1.0 / time.as_secs_f64().max(1e-9));
        Duration::from_secs_f64(1.0 / (device + cpu))
    }

    fn best(&self) -> Duration {
        self.times[0].min(self.times[1])
    }
}

/// The median time per frame of a stream, after the shares have settled.
fn settled(
    session: &Session<'_>,
    opened: &mut session::Session,
    scene: &Scene,
) -> Result<Duration, Box<dyn Error>> {
    let frames = [&scene.reference, &scene.current];
    opened.load(Slot::A, frames[0].clone())?;
    let (most, budget) = session.effort();
    let (mut times, mut current, mut spent) = (Vec::new(), Slot::B, Duration::ZERO);
    for index in 1.. {
        let start = Instant::now();
        opened.load(current, frames[index % 2].clone())?;
        opened.begin(current, current.other(), ())?;
        opened.finish()?;
        current = current.other();
        if index > TO_SETTLE {
            times.push(start.elapsed());
            spent += start.elapsed();
        }
        if times.len() >= 5 * most || spent > budget {
            break;
        }
    }
    Ok(median(times))
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
        let found = Together::measure(session, &parameters, &Scene::moving(width, height))?;
        let mut row = vec![Cell::Label(format!("{width}x{height}"))];
        row.extend((0..3).map(|i| match UTA_CPU_GPU {
            (printed, figures) if printed == index => Cell::Printed(figures[i], 0),
            _ => Cell::Missing,
        }));
        row.extend(found.times[..2].iter().map(|&time| Cell::Ours(milliseconds(time))));
        row.push(Cell::Ours(milliseconds(found.ideal())));
        row.push(Cell::Ours(milliseconds(found.times[2])));
        row.push(Cell::Hundredths(found.best().as_secs_f64() / found.times[2].as_secs_f64()));
        row.push(Cell::Hundredths(found.best().as_secs_f64() / found.ideal().as_secs_f64()));
        row.push(Cell::Hundredths(found.shares[0]));
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
            "Uta: 6 and 7 ms of work, and 7 ms in pthread_join; the thesis has no table of this.".into(),
            format!(
                "Ours: with the current frame's upload and the vectors' download, shares by the adaptive \
                 balance after {TO_SETTLE} frames. Ideal: rates added. Gain: over the faster alone."
            ),
        ],
    })
}

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
        let found = Together::measure(session, &parameters, &Scene::moving(width, height))?;
        let mut row = vec![Cell::Label(name.into()), Cell::Printed(for_cpu, 0)];
        row.extend(found.times[..2].iter().map(|&time| Cell::Ours(rate(time))));
        row.push(Cell::Ours(rate(found.ideal())));
        for (time, share) in found.times[2..].iter().zip(found.shares) {
            row.extend([Cell::Ours(rate(*time)), Cell::Ours(share * frames)]);
        }
        rows.push(row);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Sequence"), Column::new("Zhang", "the CPU's part of 300")];
    columns.extend([session.name(), "native", "ideal"].map(|name| Column::new("alone", name)));
    for balance in ["adaptive", "fit"] {
        columns.extend([balance, "the CPU's part of 300"].map(|name| Column::new("both", name)));
    }
    report.table(&Table {
        stem: "zhang-figure-12".into(),
        title: "Zhang, figure 12: heterogeneous parallel computing (FPS), and the balance".into(),
        columns,
        rows,
        foot: vec![
            "His are an I7 2630qm and a GT540m; the bars of the figure have no figures. His part of the CPU is \
             the solution of (7), by which fit finds shares too, of rows instead of frames."
                .into(),
            format!("Ours: made frames, with transfers, after {TO_SETTLE} frames in which shares settle."),
        ],
    })
}

//! Bonanno: tables 1 and 2, three-step search of ±7 samples by squared differences.

use std::error::Error;

use gstmotionestimate::estimator::{Algorithm, Border, Metric, Parameters, Window};
use gstmotionestimate::native::Level;
use gstmotionestimate::tuning::Kernel;

use crate::chart::{Chart, Series, Shape};
use crate::frames::Scene;
use crate::measure::{Engine, Searches, Session, Upload};
use crate::printed::{BONANNO_BLOCKS, BONANNO_SIZES, Speedup};
use crate::report::Report;
use crate::table::{Cell, Column, Table};

/// Three steps: 4, 2, 1.
const REACH: i32 = 7;

/// A row of a table: label, frame size, block size, and his figures.
struct Case {
    label: String,
    width: usize,
    height: usize,
    block_size: usize,
    printed: Speedup,
}

pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let case =
        |label, (width, height), block_size, printed| Case { label, width, height, block_size, printed };
    let blocks =
        BONANNO_BLOCKS.map(|(side, printed)| case(format!("{side}x{side}"), (1280, 720), side, printed));
    let title = "Bonanno, table 1: Results for different block sizes, 1280x720 (s)";
    table(session, report, 1, title, "Block Size", &blocks, Vec::new())?;

    let sizes = BONANNO_SIZES
        .map(|(width, height, printed)| case(format!("{width}x{height}"), (width, height), 8, printed));
    let note = "His section V has blocks of 20x20 for this table, its caption 8x8; the times of 1280x720 are \
                those of 8x8 in table 1.";
    let title = "Bonanno, table 2: Results for Different Resolutions, blocks of 8x8 (s)";
    table(session, report, 2, title, "Resolution", &sizes, vec![note.into()])
}

/// One of his tables, and its speedups as bars.
fn table(
    session: &Session<'_>,
    report: &mut Report,
    number: usize,
    title: &str,
    what: &str,
    cases: &[Case],
    mut foot: Vec<String>,
) -> Result<(), Box<dyn Error>> {
    let cases = if session.quick { &cases[..2] } else { cases };
    let engines = if session.is_native() {
        let portable = Engine::Native { level: Some(Level::Portable), threads: None };
        [Engine::SERIAL, portable, Engine::NATIVE]
    } else {
        [Engine::SERIAL, Engine::kernel(Kernel::ThreeStepNaive), Engine::kernel(Kernel::Auto)]
    };
    let window = Window::symmetric(REACH, REACH)?;
    let parameters = |case: &Case| Parameters {
        algorithm: Algorithm::ThreeStep,
        metric: Metric::Ssd,
        border: Border::Restrict,
        ..Parameters::new(case.width, case.height, case.block_size, window)
    };
    let measured = session.measure(&Searches {
        title: &format!("Bonanno, table {number}"),
        rows: cases.len(),
        engines: &engines,
        scene: &|row| Scene::moving(cases[row].width, cases[row].height),
        parameters: &|row, _| parameters(&cases[row]),
        upload: Upload::Both,
    });

    let names = ["Serial", "Parallel", "Optimised"];
    let mut columns = vec![Column::new("", what)];
    columns.extend(names.map(|name| Column::new("Bonanno", name)));
    columns.push(Column::new("Bonanno", "Speedup"));
    let engines_named = engines.iter().zip(names);
    columns.extend(engines_named.map(|(engine, name)| Column::new(engine.device(session), name)));
    columns.push(Column::new("ours", "Speedup"));
    let mut speedups = Vec::new();
    let mut rows = Vec::new();
    for (case, outcomes) in cases.iter().zip(&measured.rows) {
        let [serial, .., optimised] = &outcomes[..] else { continue };
        let times = serial.timing().zip(optimised.timing());
        let speedup = times.map(|(a, b)| a.whole.as_secs_f64() / b.whole.as_secs_f64());
        let mut row = vec![Cell::Label(case.label.clone())];
        let [times @ .., printed_speedup] = case.printed;
        row.extend(times.map(|time| Cell::Printed(time, 4)));
        row.push(Cell::Printed(printed_speedup, 2));
        row.extend(outcomes.iter().map(|outcome| outcome.pair(|time| time.as_secs_f64())));
        row.push(speedup.map_or(Cell::Missing, Cell::Ours));
        rows.push(row);
        speedups.push(speedup);
    }
    foot.push(if session.is_native() {
        "Serial: portable code on one core; parallel: the same on all cores; optimised: the fastest instruction \
         set on all cores."
            .into()
    } else {
        "Serial: portable code on one core of the CPU; parallel: his kernel (three-step-naive); optimised: \
         the fastest here (auto). Speedup: serial to optimised, with transfers."
            .into()
    });
    foot.push(
        "His frames have three channels and his times include the reconstruction; ours are luma and the \
         search alone."
            .into(),
    );
    foot.extend(measured.foot);
    let stem = format!("bonanno-table-{number}");
    report.table(&Table { stem: stem.clone(), title: title.into(), columns, rows, foot })?;

    let printed = cases.iter().map(|case| Some(case.printed[3])).collect();
    let chart = Chart {
        title: title.replace(" (s)", ", speedup"),
        unit: "speedup, optimised to serial",
        categories: cases.iter().map(|case| case.label.clone()).collect(),
        series: vec![
            Series { name: "Bonanno, Tesla K40".into(), values: printed, printed: true },
            Series { name: session.name().into(), values: speedups, printed: false },
        ],
        shape: Shape::Bars,
    };
    report.chart(&stem, &chart)
}

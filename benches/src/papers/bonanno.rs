//! Bonanno: tables 1 and 2, three-step search of ±7 samples by squared differences.

use std::error::Error;

use motion_search::estimator::{Algorithm, Border, Metric, Parameters, Window};
use motion_search::native::InstructionSetName;
use motion_search::tuning::Kernel;

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, Searches, Session, Upload};
use crate::papers::printed::{BONANNO_BLOCKS, BONANNO_SIZES, Speedup};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

/// Three steps, 4, 2 and 1. The paper states neither range nor steps.
const REACH: i32 = 7;

/// A row of a table: label, frame size, block size, and his figures.
struct Case {
    label: String,
    width: usize,
    height: usize,
    block_size: usize,
    printed: Speedup,
}

/// Table 1.
pub fn block_sizes(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let (width, height) = (1280, 720);
    let cases = BONANNO_BLOCKS.map(|(side, printed)| Case {
        label: format!("{side}x{side}"),
        width,
        height,
        block_size: side,
        printed,
    });
    let title = "Bonanno, table 1: Results for different block sizes, 1280x720 (s)";
    table(session, report, 1, title, "Block Size", &cases, Vec::new())
}

/// Table 2.
pub fn resolutions(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let cases = BONANNO_SIZES.map(|(width, height, printed)| Case {
        label: format!("{width}x{height}"),
        width,
        height,
        block_size: 8,
        printed,
    });
    let note = "His section V has blocks of 20x20 for this table, its caption 8x8; the times of 1280x720 are \
                those of 8x8 in table 1.";
    let title = "Bonanno, table 2: Results for Different Resolutions, blocks of 8x8 (s)";
    table(session, report, 2, title, "Resolution", &cases, vec![note.into()])
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
        let plain = Engine::Native {
            kernel: Kernel::Auto,
            instruction_set: Some(InstructionSetName::PLAINEST),
            threads: None,
        };
        [Engine::SERIAL, plain, Engine::native(Kernel::Auto, None)]
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
        is_predicting: true,
    });

    let mut columns = vec![Column::new("", what)];
    columns.extend(["Serial", "Parallel", "Optimised", "Speedup"].map(|name| Column::new("Bonanno", name)));
    let plain = InstructionSetName::PLAINEST;
    let names = match session.is_native() {
        true => [format!("{plain}, one core"), format!("{plain}, all cores"), "fastest, all cores".into()],
        false => [format!("{plain}, one core"), "his, summed by a tree".into(), "auto".into()],
    };
    let engines_named = engines.iter().zip(&names);
    columns.extend(engines_named.map(|(engine, name)| Column::new(engine.device(session), name.as_str())));
    columns.extend(names[1..].iter().map(|name| Column::new("Speedup", name.as_str())));
    let mut speedups = Vec::new();
    let mut rows = Vec::new();
    for (case, outcomes) in cases.iter().zip(&measured.rows) {
        let seconds = |index: usize| outcomes[index].timing().map(|timing| timing.whole.as_secs_f64());
        let of = |index| seconds(0).zip(seconds(index)).map(|(serial, other)| serial / other);
        let found = [of(1), of(2)];
        let mut row = vec![Cell::Label(case.label.clone())];
        let [times @ .., printed_speedup] = case.printed;
        row.extend(times.map(|time| Cell::Printed(time, 4)));
        row.push(Cell::Printed(printed_speedup, 2));
        row.extend(outcomes.iter().map(|outcome| outcome.pair(|time| time.as_secs_f64())));
        row.extend(found.map(|speedup| speedup.map_or(Cell::Missing, Cell::Ours)));
        rows.push(row);
        speedups.push(found);
    }
    foot.push(if session.is_native() {
        format!("Speedup: over {plain} on one core, with the prediction.")
    } else {
        format!(
            "His, optimised: three-step-naive, his kernel as his section IV leaves it, with the sum by a tree that his \
             section VI suggests; his first version, in which one item sets up the sums, is not built. Auto: the \
             fastest here. Speedup: over {plain} on one core of the CPU, with transfers and the prediction."
        )
    });
    foot.push(
        "His frames have three channels, and whether his times include the reconstruction is not stated; ours are \
         luma, and the whole time includes the prediction of the frame, by the same native code in all columns, \
         with as many threads as the search."
            .into(),
    );
    foot.extend(measured.foot);
    let stem = format!("bonanno-table-{number}");
    report.table(&Table { stem: stem.clone(), title: title.into(), columns, rows, foot })?;

    let printed = cases.iter().map(|case| Some(case.printed[3])).collect();
    let values = |column: usize| speedups.iter().map(|found| found[column]).collect();
    let chart = Chart {
        title: title.replace(" (s)", ", speedup"),
        unit: "speedup over one core",
        categories: cases.iter().map(|case| case.label.clone()).collect(),
        series: vec![
            Series { name: "Bonanno, Tesla K40".into(), values: printed, printed: true },
            Series { name: format!("{}, {}", session.name(), names[1]), values: values(0), printed: false },
            Series { name: format!("{}, {}", session.name(), names[2]), values: values(1), printed: false },
        ],
        shape: Shape::Bars,
    };
    report.chart(&stem, &chart)
}

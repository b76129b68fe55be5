//! Halldal (2012): section 7.1, full search of 4x4 blocks, and section 7.2, prediction of the vectors.
//! His times are of the kernel alone.

#[cfg(feature = "opencl")]
pub mod forms;
pub mod prediction;
pub mod recurrence;

use std::error::Error;

use motion_search::estimator::{Border, Parameters, Window};
use motion_search::tuning::Kernel;

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, Searches, Session, Upload, rate};
use crate::papers::printed::{HALLDAL_SEARCH, HALLDAL_SEARCH_CPU};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

/// His search area of 32 x 32 samples leaves 29 x 29 positions for a block of 4 x 4.
const REACH: i32 = 14;

/// A row of a table: the form's name, frames a second on his CPU, GTX480 and GT280, and what runs
/// here.
struct Form<W> {
    name: String,
    printed: [Option<f64>; 3],
    work: W,
}

/// The forms of section 7.1 that run on this device.
fn forms(session: &Session<'_>) -> Vec<Form<Engine>> {
    let cpu = Form {
        name: "CPU, one thread".into(),
        printed: [Some(HALLDAL_SEARCH_CPU), None, None],
        work: Engine::SERIAL,
    };
    let more = |name: &str, work| Form { name: name.into(), printed: [None; 3], work };
    if session.is_native() {
        return vec![
            cpu,
            more("exhaustive, one thread", Engine::native(Kernel::Exhaustive, Some(1))),
            more("exhaustive, all cores", Engine::EXHAUSTIVE),
            more("elimination, one thread", Engine::native(Kernel::Elimination, Some(1))),
            more("elimination, all cores", Engine::ELIMINATION),
        ];
    }
    let engines = [
        Engine::grouped(Kernel::ReferenceNaive, 29 * 29),
        Engine::grouped(Kernel::ReferenceNaive, 29 * 15),
        Engine::grouped(Kernel::ReferenceInts, 29 * 15),
    ];
    let his = HALLDAL_SEARCH.into_iter().zip(engines).map(|((name, gtx480, gt280), work)| Form {
        name: name.into(),
        printed: [None, gtx480, gt280],
        work,
    });
    let ours = [
        // As many threads as stage his area of 32 x 32 samples, two samples each (6.2.1). His result with them
        // stands under "29 x 15" (7.1.3); which of them compute SADs is not said.
        more("32 x 16, shared memory, ints", Engine::grouped(Kernel::ReferenceInts, 32 * 16)),
        more("32 x 16, shared memory, chars", Engine::grouped(Kernel::ReferenceSamples, 32 * 16)),
        more("32 x 16, shared memory, words", Engine::grouped(Kernel::Reference, 32 * 16)),
        more("reference, own group size", Engine::kernel(Kernel::Reference)),
    ];
    std::iter::once(cpu).chain(his).chain(ours).collect()
}

/// Section 7.1.
pub fn search(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let (width, height) = if session.quick { (352, 288) } else { (1920, 1080) };
    let forms = forms(session);
    let engines: Vec<Engine> = forms.iter().map(|form| form.work).collect();
    let window = Window::symmetric(REACH, REACH)?;
    let parameters = Parameters { border: Border::Restrict, ..Parameters::new(width, height, 4, window) };
    let measured = session.measure(&Searches {
        title: "Halldal, 7.1",
        rows: 1,
        engines: &engines,
        scene: &|_| Scene::moving(width, height),
        parameters: &|_, _| parameters.clone(),
        upload: Upload::Current,
        is_predicting: false,
    });
    let ours: Vec<Cell> = measured.rows.concat().iter().map(|outcome| outcome.pair(rate)).collect();
    let mut foot = vec!["His figures are of the kernel alone.".to_owned()];
    foot.extend(measured.foot);
    let title = format!("Halldal, 7.1: full search, {width}x{height}, blocks of 4x4, 29x29 candidates (FPS)");
    write(session, report, "halldal-7-1", &title, &forms, ours, foot)
}

/// Writes the table of a section, and its bars.
fn write<W>(
    session: &Session<'_>,
    report: &mut Report,
    stem: &str,
    title: &str,
    forms: &[Form<W>],
    ours: Vec<Cell>,
    foot: Vec<String>,
) -> Result<(), Box<dyn Error>> {
    const PRINTED: [&str; 3] = ["CPU", "GTX480", "GT280"];
    let mut columns = vec![Column::new("", "Form")];
    columns.extend(PRINTED.map(|name| Column::new("Halldal", name)));
    columns.push(Column::new("", session.name()));
    let rows = forms.iter().zip(&ours).map(|(form, ours)| {
        let printed =
            form.printed.map(|figure| figure.map_or(Cell::Missing, |figure| Cell::Printed(figure, 0)));
        let mut row = vec![Cell::Label(form.name.clone())];
        row.extend(printed);
        row.push(ours.clone());
        row
    });
    let table = Table { stem: stem.into(), title: title.into(), columns, rows: rows.collect(), foot };
    report.table(&table)?;

    let mut series: Vec<Series> = (0..PRINTED.len())
        .map(|i| Series {
            name: format!("Halldal, {}", PRINTED[i]),
            values: forms.iter().map(|form| form.printed[i]).collect(),
            printed: true,
        })
        .collect();
    series.push(Series {
        name: session.name().into(),
        values: ours.iter().map(Cell::first).collect(),
        printed: false,
    });
    let chart = Chart {
        title: title.into(),
        unit: "frames a second, kernel alone",
        categories: forms.iter().map(|form| form.name.clone()).collect(),
        series,
        shape: Shape::Bars,
    };
    report.chart(stem, &chart)
}

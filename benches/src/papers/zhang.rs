//! Zhang, Nezan and Cousin (2012): figure 7, frames per second of their two kernels, and figure 12, a CPU and a GPU
//! together.

pub mod together;

use std::error::Error;

use motion_search::estimator::{Parameters, Window};
use motion_search::native::InstructionSetName;
use motion_search::tuning::Kernel;

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::{Clip, Scene};
use crate::papers::measure::{Engine, Searches, Session, Upload, rate};
use crate::papers::printed::{ZHANG, ZHANG_SEQUENCES};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Figure 7.
pub fn platforms(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let serial_name = format!("one core, {} exhaustive", InstructionSetName::PLAINEST);
    let serial = (serial_name.as_str(), Engine::SERIAL);
    let ours = if session.is_native() {
        vec![
            serial,
            ("one core, exhaustive", Engine::native(Kernel::Exhaustive, Some(1))),
            ("all cores, exhaustive", Engine::EXHAUSTIVE),
            ("one core, elimination", Engine::native(Kernel::Elimination, Some(1))),
            ("all cores, elimination", Engine::ELIMINATION),
        ]
    } else {
        vec![serial, ("two-pass", Engine::kernel(Kernel::TwoPass))]
    };
    let engines: Vec<Engine> = ours.iter().map(|(_, engine)| *engine).collect();
    // 32 x 32 candidates.
    let window = Window::of_area(47, BLOCK)?;
    let size = |row: usize| (ZHANG_SEQUENCES[row].1, ZHANG_SEQUENCES[row].2);
    let clip = |row: usize| session.clips.iter().find(|clip| clip.size() == size(row));
    let measured = session.measure(&Searches {
        title: "Zhang, figure 7",
        rows: ZHANG_SEQUENCES.len(),
        engines: &engines,
        scene: &|row| {
            let (width, height) = size(row);
            clip(row).map_or_else(|| Scene::moving(width, height), |clip| clip.scene.clone())
        },
        parameters: &|row, _| Parameters::new(size(row).0, size(row).1, BLOCK, window),
        upload: Upload::Current,
        is_predicting: false,
    });

    let mut columns = vec![Column::new("", "Sequence")];
    columns.extend(ZHANG.map(|(platform, _)| Column::new("Zhang", platform)));
    columns.extend(ours.iter().map(|(name, engine)| Column::new(engine.device(session), *name)));
    let rows = ZHANG_SEQUENCES.iter().enumerate().map(|(i, (name, ..))| {
        let mut row = vec![Cell::Label((*name).into())];
        row.extend(ZHANG.map(|(_, rates)| Cell::Printed(rates[i], 0)));
        row.extend(measured.rows[i].iter().map(|outcome| outcome.pair(rate)));
        row
    });
    let contents = (0..ZHANG_SEQUENCES.len()).map(|row| {
        let name = clip(row).map_or_else(|| "synthetic frames".into(), Clip::name);
        format!("{}: {name}", ZHANG_SEQUENCES[row].0)
    });
    let mut foot = vec![format!("Contents here: {}.", contents.collect::<Vec<_>>().join("; "))];
    foot.extend(measured.foot.iter().cloned());
    let title = "Zhang, figure 7: Performance comparison with different platforms (FPS)";
    report.table(&Table {
        stem: "zhang-figure-7".into(),
        title: title.into(),
        columns,
        rows: rows.collect(),
        foot,
    })?;

    let printed = ZHANG.iter().map(|(platform, rates)| Series {
        name: format!("Zhang, {platform}"),
        values: rates.iter().copied().map(Some).collect(),
        printed: true,
    });
    let figures = ours.iter().enumerate().map(|(i, (name, engine))| Series {
        name: format!("{}, {name}", engine.device(session)),
        values: measured.rows.iter().map(|row| row[i].timing().map(|t| rate(t.whole))).collect(),
        printed: false,
    });
    let chart = Chart {
        title: title.into(),
        unit: "frames a second, with transfers",
        categories: ZHANG_SEQUENCES.iter().map(|(name, ..)| (*name).into()).collect(),
        series: printed.chain(figures).collect(),
        shape: Shape::Bars,
    };
    report.chart("zhang-figure-7", &chart)
}

//! Uta (2012): tables 1-5 and 8 with figures 11-15 and 19, the launches of section 6.2.3, and the quality
//! tables 9 and 10 of section 8.6. The tables of several devices are in `several.rs`, chapter 9 in
//! `two_windows.rs`.

use std::error::Error;

use motion_frames::compensation;
use motion_search::backend;
use motion_search::estimator::{self, Output, Parameters, Slot, Window};
use motion_search::tuning::{Kernel, Launch, Tuning};

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, RAN, Searches, Session, Upload, described, milliseconds};
use crate::papers::printed::{Quality, UTA_FILM, UTA_SHIFTED, UTA_SIZES, UTA_TABLES, UtaTable};
use crate::papers::report::Report;
use crate::papers::several;
use crate::papers::table::{Cell, Column, Table};
use crate::papers::two_windows;

const BLOCK: usize = 16;

/// A column of ours: its heading, what runs the search, and the side of the searched area.
struct Ours {
    name: String,
    engine: Engine,
    window: usize,
}

pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    for printed in &UTA_TABLES {
        let is_for_cpus = printed.number >= 4;
        if is_for_cpus && !matches!(session.device.kind, "native" | "cpu") {
            report.say(&format!(
                "Uta, table {}: methods for CPUs, not run on a device of type {}.",
                printed.number, session.device.kind
            ));
            continue;
        }
        scalability(session, report, printed)?;
    }
    windows(session, report)?;
    launches(session, report)?;
    several::uta(session, report)?;
    two_windows::run(session, report)?;
    shifted(session, report)?;
    film(session, report)
}

/// Our columns for a table of the thesis.
fn columns(session: &Session<'_>, number: usize) -> Vec<Ours> {
    let windows: &[usize] = match number {
        1 => &[31],
        3 => &[25, 31, 36, 40],
        _ => &[47],
    };
    if session.is_native() {
        let engines = [(Engine::EXHAUSTIVE, "exhaustive"), (Engine::ELIMINATION, "elimination")];
        let native = |&window: &usize| {
            engines.map(|(engine, name)| Ours {
                name: if number == 3 { format!("W={window} {name}") } else { name.into() },
                engine,
                window,
            })
        };
        return windows.iter().flat_map(native).collect();
    }
    let ours = |name: String, engine| Ours { name, engine, window: windows[0] };
    let kernel = |kernel: Kernel| ours(kernel.to_string(), Engine::kernel(kernel));
    let grouped = |kernel: Kernel, items| ours(format!("{kernel} T={items}"), Engine::grouped(kernel, items));
    match number {
        1 | 2 => {
            let candidates = (windows[0] - BLOCK + 1).pow(2);
            // Those of the thesis: an item a candidate, and a group as wide as the frame.
            let row = Engine::GroupOfRow { kernel: Kernel::Collaborative };
            vec![
                kernel(Kernel::Reference),
                ours(format!("reference, T={candidates}"), Engine::grouped(Kernel::Reference, candidates)),
                kernel(Kernel::ReferenceSamples),
                ours(
                    format!("reference-samples, T={candidates}"),
                    Engine::grouped(Kernel::ReferenceSamples, candidates),
                ),
                kernel(Kernel::Collaborative),
                ours("collaborative, T=columns".into(), row),
            ]
        }
        3 => {
            windows
                .iter()
                .flat_map(|&window| {
                    [(Kernel::Reference, "Ref"), (Kernel::Collaborative, "Collab")].map(|(kernel, name)| {
                        Ours { name: format!("W={window} {name}"), engine: Engine::kernel(kernel), window }
                    })
                })
                .collect()
        }
        4 => {
            let staged = [2, 4, 8].map(|items| grouped(Kernel::Collaborative, items));
            let unaligned = [2, 4, 8, 256].map(|items| grouped(Kernel::CollaborativeUnaligned, items));
            staged.into_iter().chain(unaligned).collect()
        }
        8 => vec![
            kernel(Kernel::Reference),
            kernel(Kernel::ReferenceSamples),
            grouped(Kernel::CollaborativeUnaligned, 8),
            grouped(Kernel::CollaborativeUnaligned, 64),
            grouped(Kernel::CollaborativeUnaligned, 256),
        ],
        _ => vec![
            kernel(Kernel::Reference),
            kernel(Kernel::ReferenceSamples),
            grouped(Kernel::Collaborative, 4),
            grouped(Kernel::CollaborativeUnaligned, 8),
        ],
    }
}

/// One of tables 1 to 5 and 8, and its figure: 11 to 15 in the same order, and 19.
fn scalability(session: &Session<'_>, report: &mut Report, printed: &UtaTable) -> Result<(), Box<dyn Error>> {
    let sizes = if session.quick { &UTA_SIZES[..3] } else { &UTA_SIZES[..] };
    let ours = columns(session, printed.number);
    let engines: Vec<Engine> = ours.iter().map(|column| column.engine).collect();
    let windows =
        ours.iter().map(|column| Window::of_area(column.window, BLOCK)).collect::<Result<Vec<_>, _>>()?;
    let measured =
        session.measure_sizes(&format!("Uta, table {}", printed.number), sizes, &engines, &|column| {
            windows[column]
        });

    let name = |&(width, height, _): &(usize, usize, usize)| format!("{width}x{height}");
    let mut headings = vec![Column::new("", "Frame Size"), Column::new("", "#MBs")];
    headings.extend(printed.columns.iter().map(|&(group, name)| Column::new(group, name)));
    headings.extend(ours.iter().map(|column| Column::new(session.name(), &column.name)));
    let rows = sizes.iter().zip(&printed.rows).zip(&measured.rows).map(|((size, figures), outcomes)| {
        let mut row = vec![Cell::Label(name(size)), Cell::Label(size.2.to_string())];
        row.extend(figures.iter().map(|&figure| Cell::Printed(figure, 0)));
        row.extend(outcomes.iter().map(|outcome| outcome.pair(milliseconds)));
        row
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    report.table(&Table {
        stem: format!("uta-table-{}", printed.number),
        title: format!("Uta, table {}: {} (ms)", printed.number, printed.caption),
        columns: headings,
        rows,
        foot: measured.foot,
    })?;

    let mut series: Vec<Series> = printed
        .columns
        .iter()
        .enumerate()
        .map(|(i, (group, name))| Series {
            name: format!("{group} {name}").trim().to_owned(),
            values: printed.rows[..sizes.len()].iter().map(|row| Some(row[i])).collect(),
            printed: true,
        })
        .collect();
    series.extend(ours.iter().enumerate().map(|(i, column)| Series {
        name: format!("here: {}", column.name),
        values: measured.rows.iter().map(|row| row[i].timing().map(|t| milliseconds(t.kernel))).collect(),
        printed: false,
    }));
    let figure = if printed.number == 8 { 19 } else { 10 + printed.number };
    report.chart(
        &format!("uta-figure-{figure}"),
        &Chart {
            title: format!("Uta, figure {figure}, and here on {}", session.name()),
            unit: "ms, kernel alone",
            categories: sizes.iter().map(name).collect(),
            series,
            shape: Shape::Lines,
        },
    )
}

/// Windows beyond those of the thesis, whose *Ref* is limited by the items of a group: chapter 9 proposes tiles.
fn windows(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, wide windows: not run, it compares kernels of OpenCL devices.");
        return Ok(());
    }
    let kernels = [Kernel::Reference, Kernel::ReferenceSamples, Kernel::Collaborative];
    let engines = kernels.map(Engine::kernel);
    let sides = [47, 63, 79, 111, 143];
    let sides = if session.quick { &sides[..2] } else { &sides[..] };
    let (width, height) = if session.quick { (352, 288) } else { (1280, 720) };
    let windows = sides.iter().map(|&side| Window::of_area(side, BLOCK)).collect::<Result<Vec<_>, _>>()?;
    let measured = session.measure(&Searches {
        title: "Uta, wide windows",
        rows: sides.len(),
        engines: &engines,
        scene: &|_| Scene::moving(width, height),
        parameters: &|row, _| Parameters::new(width, height, BLOCK, windows[row]),
        upload: Upload::Both,
        is_predicting: false,
    });
    let mut columns = vec![Column::new("", "W")];
    columns.extend(kernels.map(|kernel| Column::new(session.name(), kernel.name())));
    let rows = sides.iter().zip(&measured.rows).map(|(side, outcomes)| {
        let mut row = vec![Cell::Label(side.to_string())];
        row.extend(outcomes.iter().map(|outcome| outcome.pair(milliseconds)));
        row
    });
    let mut foot =
        vec!["The thesis has no table of this: with an item a candidate, W = 47 is its largest.".into()];
    foot.extend(measured.foot);
    report.table(&Table {
        stem: "uta-windows".into(),
        title: format!("Uta, chapter 9: windows beyond W = 47, {width}x{height} (ms)"),
        columns,
        rows: rows.collect(),
        foot,
    })
}

/// Section 6.2.3: one launch of all jobs, and what OpenCL has for launches beside each other.
fn launches(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, 6.2.3: not run, it is about launches of OpenCL.");
        return Ok(());
    }
    let launch = |launch, launches| Tuning { launch: Some(launch), launches, ..Tuning::default() };
    let modes = [
        ("one launch", launch(Launch::Once, None)),
        ("64, 1 queue", launch(Launch::Queues(1), Some(64))),
        ("64, 4 queues", launch(Launch::Queues(4), Some(64))),
        ("64, 16 queues", launch(Launch::Queues(16), Some(64))),
        ("64, out of order", launch(Launch::OutOfOrder, Some(64))),
        ("a job each, 4 queues", launch(Launch::Queues(4), None)),
        ("a job each, out of order", launch(Launch::OutOfOrder, None)),
    ];
    let sizes = [UTA_SIZES[2], UTA_SIZES[5], UTA_SIZES[6]];
    let sizes = if session.quick { &sizes[..1] } else { &sizes[..] };
    let engines = modes.map(|(_, tuning)| Engine::OpenCl { kernel: Kernel::Collaborative, tuning });
    let window = Window::of_area(47, BLOCK)?;
    let measured = session.measure_sizes("Uta, 6.2.3", sizes, &engines, &|_| window);
    let mut columns = vec![Column::new("", "Frame Size"), Column::new("", "#MBs")];
    columns.extend(modes.iter().map(|(name, _)| Column::new(session.name(), *name)));
    let rows = sizes.iter().zip(&measured.rows).map(|(size, outcomes)| {
        let mut row = vec![Cell::Label(format!("{}x{}", size.0, size.1)), Cell::Label(size.2.to_string())];
        row.extend(outcomes.iter().map(|outcome| outcome.pair(milliseconds)));
        row
    });
    let mut foot = vec![
        "The thesis has no table of this: it measured one launch alone. collaborative, 1024 jobs, one for each \
         displacement, in so many launches."
            .into(),
    ];
    foot.extend(measured.foot);
    report.table(&Table {
        stem: "uta-6-2-3".into(),
        title: "Uta, 6.2.3: launches of the jobs, W=47 (ms)".into(),
        columns,
        rows: rows.collect(),
        foot,
    })
}

/// Table 9.
fn shifted(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let scene = Scene::shifted(1280, 720, 40);
    let foot = vec![
        "Ours: a synthetic frame of 1280x720, layers of smooth noise, moved by 40 samples on both axes."
            .into(),
        "W: the side of the searched area, so that displacements are -16..15 with W = 47. From -16: by the \
         offsets of 6.2.3, which end at W - 32; with W = 31 they leave out 0. ±W: displacements of W samples \
         each way, which fits the thesis' figures: 40 is found with 47, and not with 35."
            .into(),
        "W = 96 is the smallest area that holds displacements of 40 both ways: -40..40.".into(),
    ];
    quality(session, report, 9, "Qualitative Measurements - First Dataset", &UTA_SHIFTED, &scene, foot)
}

/// Table 10.
fn film(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let Some(clip) = session.clips.first() else {
        report.say("Uta, table 10: not run, there is no clip; name one with --clip.");
        return Ok(());
    };
    let (width, height) = clip.size();
    let mut foot = vec![format!("Ours: the first two frames of {}, {width}x{height}.", clip.name())];
    if (width, height) != (1920, 1080) {
        foot.push("Theirs are of 1920x1080, where the same motion is longer in samples.".into());
    }
    foot.push("For W = 55 the thesis' PSNR and MSE contradict each other: 66.53 is 29.90 dB.".into());
    quality(session, report, 10, "Qualitative Measurements - Second Dataset", &UTA_FILM, &clip.scene, foot)
}

/// PSNR and MSE of the prediction, for each window in three meanings of W.
fn quality(
    session: &Session<'_>,
    report: &mut Report,
    number: usize,
    caption: &str,
    printed: &[Quality],
    scene: &Scene,
    mut foot: Vec<String>,
) -> Result<(), Box<dyn Error>> {
    let mut sides: Vec<(usize, Option<&Quality>)> = printed.iter().map(|row| (row.0, Some(row))).collect();
    sides.push((96, None));
    let progress = session.progress(&format!("Uta, table {number}"), 3 * sides.len());
    let smallest = Parameters::new(
        scene.current.view().width(),
        scene.current.view().height(),
        BLOCK,
        Window::of_area(31, BLOCK)?,
    );
    foot.insert(0, format!("{RAN}kernel=auto on {}. With W=31 {}.", session.name(), described(&smallest)));
    let mut rows = Vec::new();
    for (side, figures) in sides {
        let reach = i32::try_from(side)?;
        let block = i32::try_from(BLOCK)?;
        // The offsets of 6.2.3 begin at -B for every W, and for the smallest W end before 0.
        let last = reach - 2 * block;
        let windows = [
            Ok(Window::of_area(side, BLOCK)?),
            Window::new(-block, last, -block, last),
            Ok(Window::symmetric(reach, reach)?),
        ];
        let mut row = vec![Cell::Label(side.to_string())];
        row.extend(figures.map_or([Cell::Missing, Cell::Missing], |&(_, psnr, mse)| {
            [Cell::Printed(psnr, 2), Cell::Printed(mse, 2)]
        }));
        for (reading, window) in windows.into_iter().enumerate() {
            progress.inc(1);
            let Ok(window) = window else {
                row.extend([Cell::Refused, Cell::Refused]);
                continue;
            };
            if reading > 0 && (session.quick || figures.is_none()) {
                row.extend([Cell::Missing, Cell::Missing]);
                continue;
            }
            let (psnr, mse) = predicted(session, scene, window)?;
            row.extend([Cell::Hundredths(psnr), Cell::Hundredths(mse)]);
        }
        rows.push(row);
    }
    progress.finish_and_clear();
    let heading = |group: &str| [Column::new(group, "PSNR"), Column::new(group, "MSE")];
    let mut columns = vec![Column::new("", "Search Window Size")];
    columns.extend(heading("Uta"));
    columns.extend(heading("ours, W"));
    columns.extend(heading("ours, from -16"));
    columns.extend(heading("ours, ±W"));
    report.table(&Table {
        stem: format!("uta-table-{number}"),
        title: format!("Uta, table {number}: {caption}"),
        columns,
        rows,
        foot,
    })
}

/// PSNR in dB and MSE of the prediction from the vectors found in `window`.
fn predicted(session: &Session<'_>, scene: &Scene, window: Window) -> Result<(f64, f64), Box<dyn Error>> {
    let view = scene.current.view();
    let parameters = Parameters::new(view.width(), view.height(), BLOCK, window);
    let (mut device, _) =
        backend::open_device(&session.device.selector, Kernel::Auto, &Tuning::default(), &parameters)?;
    device.load_frame(Slot::A, &scene.reference)?;
    device.load_frame(Slot::B, &scene.current)?;
    let mut output = Output::new(parameters.grid().blocks());
    estimator::search(device.as_mut(), Slot::B, Slot::A, &mut output)?;
    let prediction = compensation::predict_luma(&parameters, &scene.reference.view(), &output.vectors)?;
    let error = compensation::squared_error(&view, &prediction.view())?;
    Ok((error.psnr(), error.mse()))
}

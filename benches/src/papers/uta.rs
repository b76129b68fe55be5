//! Uta (2012): tables 1-5 and 8 with figures 11-15 and 19, the launches of section 6.2.3, and the quality
//! tables 9 and 10 of section 8.6. The tables of several devices are in `several.rs`, chapter 9 in
//! `two_windows.rs`.

use std::error::Error;
use std::time::Duration;

use motion_frames::compensation;
use motion_search::backend;
use motion_search::estimator::{
    self, Device, EstimateError, Frame, MotionVector, Output, Parameters, Part, Request, Slot, Window,
};
use motion_search::tuning::{Kernel, Launch, Tuning};

use crate::papers::chart::{Chart, Series, Shape};
use crate::papers::frames::Scene;
use crate::papers::measure::{Engine, RAN, Searches, Session, Upload, described, milliseconds};
use crate::papers::printed::{Quality, UTA_FILM, UTA_SHIFTED, UTA_SIZES, UTA_TABLES};
use crate::papers::reconstruction;
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// A column of ours: its heading, what runs the search, and the side of the searched area.
struct Ours {
    name: String,
    engine: Engine,
    window: usize,
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
    let kernel = |kernel: Kernel| (kernel.to_string(), Engine::kernel(kernel));
    let grouped = |kernel: Kernel, items| (format!("{kernel}, T={items}"), Engine::grouped(kernel, items));
    // Those of the thesis: an item a candidate, and a group as wide as the frame.
    let candidates = (windows[0] + 1 - BLOCK).pow(2);
    let row = |kernel: Kernel| (format!("{kernel}, T=columns"), Engine::GroupOfRow { kernel });
    let engines = match number {
        1 | 2 => vec![
            kernel(Kernel::Reference),
            grouped(Kernel::Reference, candidates),
            kernel(Kernel::ReferenceSamples),
            grouped(Kernel::ReferenceSamples, candidates),
            kernel(Kernel::Collaborative),
            row(Kernel::Collaborative),
            kernel(Kernel::CollaborativeSamples),
            row(Kernel::CollaborativeSamples),
        ],
        3 => {
            let columns = [
                (Kernel::Reference, "Ref"),
                (Kernel::ReferenceSamples, "Ref, bytes"),
                (Kernel::Collaborative, "Collab"),
                (Kernel::CollaborativeSamples, "Collab, bytes"),
            ];
            let of_window = |&window: &usize| {
                columns.map(|(kernel, name)| Ours {
                    name: format!("W={window} {name}"),
                    engine: Engine::kernel(kernel),
                    window,
                })
            };
            return windows.iter().flat_map(of_window).collect();
        }
        4 => {
            let groups = [
                (Kernel::Collaborative, &[2, 4, 8][..]),
                (Kernel::CollaborativeSamples, &[2, 4, 8]),
                (Kernel::CollaborativeUnaligned, &[2, 4, 8, 256]),
            ];
            groups
                .iter()
                .flat_map(|(kernel, items)| items.iter().map(|&items| grouped(*kernel, items)))
                .collect()
        }
        8 => vec![
            kernel(Kernel::Reference),
            grouped(Kernel::ReferenceSamples, candidates),
            grouped(Kernel::CollaborativeSamples, 256),
            grouped(Kernel::CollaborativeUnaligned, 8),
            grouped(Kernel::CollaborativeUnaligned, 64),
            grouped(Kernel::CollaborativeUnaligned, 256),
        ],
        _ => vec![
            kernel(Kernel::Reference),
            kernel(Kernel::ReferenceSamples),
            grouped(Kernel::ReferenceSamples, candidates),
            grouped(Kernel::Collaborative, 4),
            grouped(Kernel::CollaborativeSamples, 4),
            grouped(Kernel::CollaborativeUnaligned, 8),
        ],
    };
    engines.into_iter().map(|(name, engine)| Ours { name, engine, window: windows[0] }).collect()
}

/// One of tables 1 to 5 and 8, and its figure: 11 to 15 in the same order, and 19.
pub fn table(session: &Session<'_>, report: &mut Report, number: usize) -> Result<(), Box<dyn Error>> {
    let printed = UTA_TABLES.iter().find(|table| table.number == number).expect("one of these tables");
    if number >= 4 && !matches!(session.device.kind, "native" | "cpu") {
        report.say(&format!(
            "Uta, table {number}: methods for CPUs, not run on a device of type {}.",
            session.device.kind
        ));
        return Ok(());
    }
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
pub fn windows(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, wide windows: not run, it compares kernels of OpenCL devices.");
        return Ok(());
    }
    // His [9] searches a window by several groups, and compares their results in another launch: two-pass does so.
    let kernels = [
        Kernel::Reference,
        Kernel::ReferenceSamples,
        Kernel::TwoPass,
        Kernel::Collaborative,
        Kernel::CollaborativeSamples,
    ];
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

/// Section 8.2: what slows *Collaborative* down on large frames. Each job reads both frames again; a band of rows of blocks
/// that the caches hold is read from memory only once.
pub fn bands(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if session.is_native() {
        report.say("Uta, 8.2: not run, it compares kernels of OpenCL devices.");
        return Ok(());
    }
    let sizes = [UTA_SIZES[5], UTA_SIZES[10], UTA_SIZES[12]];
    let sizes = if session.quick {
        &UTA_SIZES[..1]
    } else if session.is_gpu() {
        &sizes[..]
    } else {
        &sizes[..1]
    };
    let kernels = [Kernel::ReferenceSamples, Kernel::CollaborativeSamples, Kernel::Collaborative];
    let counts = [1, 2, 4, 8, 16];
    let window = Window::of_area(47, BLOCK)?;
    let progress = session.progress("Uta, 8.2", sizes.len() * kernels.len() * counts.len());
    let mut rows = Vec::new();
    for &(width, height, blocks) in sizes {
        let parameters = Parameters::new(width, height, BLOCK, window);
        let scene = Scene::moving(width, height);
        for kernel in kernels {
            let tuning = Tuning::default();
            let (mut device, _) =
                backend::open_device(&session.device.selector, kernel, &tuning, &parameters)?;
            device.load_frame(Slot::A, &scene.reference)?;
            device.load_frame(Slot::B, &scene.current)?;
            let mut row = vec![Cell::Label(format!("{width}x{height}")), Cell::Label(kernel.to_string())];
            for count in counts {
                let time = session.median_of(|| searched_in_bands(device.as_mut(), count))?;
                row.push(Cell::Ours(1e6 * milliseconds(time) / blocks as f64));
                progress.inc(1);
            }
            rows.push(row);
        }
    }
    progress.finish_and_clear();
    let mut columns = vec![Column::new("", "Frame Size"), Column::new("", "Kernel")];
    columns.extend(counts.map(|count| Column::new(session.name(), count.to_string())));
    let smallest = Parameters::new(sizes[0].0, sizes[0].1, BLOCK, window);
    let named = kernels.map(|kernel| format!("kernel={kernel}")).join(", ");
    let foot = vec![
        format!("{RAN}{named} on {}. {}.", session.name(), described(&smallest)),
        "The thesis has no table of this. Nanoseconds a block, kernel alone: one search of the frame in so many bands of \
         rows of blocks, one band after the other."
            .into(),
    ];
    report.table(&Table {
        stem: "uta-8-2".into(),
        title: "Uta, 8.2: a frame searched in bands of rows, W=47 (ns a block)".into(),
        columns,
        rows,
        foot,
    })
}

/// The time on the device of a search in `count` bands of rows, one after the other.
fn searched_in_bands(device: &mut dyn Device, count: usize) -> Result<Duration, EstimateError> {
    let parameters = device.info().parameters.clone();
    let (grid, whole) = (parameters.grid(), Part::whole(&parameters));
    let mut time = Duration::ZERO;
    for band in 0..count {
        let rows = band * grid.rows / count..(band + 1) * grid.rows / count;
        if rows.is_empty() {
            continue;
        }
        let mut output = Output::new(rows.len() * grid.columns);
        let part = whole.with_rows(rows);
        let ticket =
            device.start_search(Request { current: Slot::B, reference: Slot::A, part, offset: -1 })?;
        device.finish_search(ticket, &mut output)?;
        time += output.times.search;
    }
    Ok(time)
}

/// Section 6.2.3: one launch of all jobs, and what OpenCL has for launches beside each other.
pub fn launches(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
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
pub fn shifted(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
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
pub fn film(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
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
    quality(session, report, 10, "Qualitative Measurements - Second Dataset", &UTA_FILM, &clip.scene, foot)?;
    reconstruction::write(session, report, &clip.scene, BLOCK)
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
    let smallest = parameters(scene, Window::of_area(31, BLOCK)?);
    // The thesis' kernels find the same vectors as all others; that is checked here once more.
    let his: &[Kernel] = match session.is_native() {
        true => &[],
        false => &[Kernel::ReferenceSamples, Kernel::CollaborativeSamples],
    };
    let named = his.iter().map(|kernel| format!(" and kernel={kernel}")).collect::<String>();
    let ran = format!("{RAN}kernel=auto{named} on {}. With W=31 {}.", session.name(), described(&smallest));
    foot.insert(0, ran);
    if !his.is_empty() {
        foot.push("The vectors of W are the same with each of these kernels.".into());
    }
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
            let vectors = found(session, Kernel::Auto, scene, window)?;
            for &kernel in his.iter().filter(|_| reading == 0) {
                if found(session, kernel, scene, window)? != vectors {
                    return Err(format!("table {number}: {kernel} finds other vectors with W={side}").into());
                }
            }
            let (psnr, mse) = predicted(scene, window, &vectors)?;
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

/// The vectors that `kernel` finds in `window`.
pub fn found(
    session: &Session<'_>,
    kernel: Kernel,
    scene: &Scene,
    window: Window,
) -> Result<Vec<MotionVector>, Box<dyn Error>> {
    let parameters = parameters(scene, window);
    let (mut device, _) =
        backend::open_device(&session.device.selector, kernel, &Tuning::default(), &parameters)?;
    device.load_frame(Slot::A, &scene.reference)?;
    device.load_frame(Slot::B, &scene.current)?;
    let mut output = Output::new(parameters.grid().blocks());
    estimator::search(device.as_mut(), Slot::B, Slot::A, &mut output)?;
    Ok(output.vectors.to_vec())
}

/// The current frame predicted from `vectors`.
pub fn predicted_frame(
    scene: &Scene,
    window: Window,
    vectors: &[MotionVector],
) -> Result<Frame, Box<dyn Error>> {
    Ok(compensation::predict_luma(&parameters(scene, window), &scene.reference.view(), vectors)?)
}

/// PSNR in dB and MSE of the prediction from `vectors`.
fn predicted(scene: &Scene, window: Window, vectors: &[MotionVector]) -> Result<(f64, f64), Box<dyn Error>> {
    let prediction = predicted_frame(scene, window, vectors)?;
    let error = compensation::squared_error(&scene.current.view(), &prediction.view())?;
    Ok((error.psnr(), error.mse()))
}

/// The search of a scene in `window`.
fn parameters(scene: &Scene, window: Window) -> Parameters {
    let view = scene.current.view();
    Parameters::new(view.width(), view.height(), BLOCK, window)
}

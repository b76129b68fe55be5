//! The tables of the four papers, measured here, beside the printed figures.
//!
//! `cargo bench -p motion-benches --bench papers -- [PAPER or TABLE...] [--device D] [--quick]`; `--help` lists all options.
//! Prints every table, and writes each as CSV and Markdown, with plots as SVG, into one folder per device under
//! `target/papers`; `all.md` there has all tables of the device.
pub mod arguments;
mod bonanno;
mod chart;
pub mod frames;
pub mod halldal;
mod measure;
pub mod printed;
mod reconstruction;
mod report;
mod several;
pub mod table;
mod two_windows;
mod uta;
mod zhang;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Request, help};
use frames::Clip;
use measure::Session;
use motion_search::backend::{self, AvailableDevice, DeviceList, DeviceSelector};
use report::Report;

/// Measures a table and writes it.
type Table = fn(&Session<'_>, &mut Report) -> Result<(), Box<dyn Error>>;

/// All tables in the order in which they are measured, with the names of their files.
const TABLES: [(&str, Table); 21] = [
    ("uta-table-1", |session, report| uta::table(session, report, 1)),
    ("uta-table-2", |session, report| uta::table(session, report, 2)),
    ("uta-table-3", |session, report| uta::table(session, report, 3)),
    ("uta-table-4", |session, report| uta::table(session, report, 4)),
    ("uta-table-5", |session, report| uta::table(session, report, 5)),
    ("uta-table-6", |session, report| several::scaling(session, report, 6)),
    ("uta-table-7", |session, report| several::scaling(session, report, 7)),
    ("uta-table-8", |session, report| uta::table(session, report, 8)),
    ("uta-table-9", uta::shifted),
    ("uta-table-10", uta::film),
    ("uta-6-2-3", uta::launches),
    ("uta-8-2", uta::bands),
    ("uta-8-5-2", several::together),
    ("uta-windows", uta::windows),
    ("uta-chapter-9", two_windows::run),
    ("halldal-7-1", halldal::search),
    ("halldal-7-2", halldal::prediction::run),
    ("zhang-figure-7", zhang::platforms),
    ("zhang-figure-12", zhang::together::run),
    ("bonanno-table-1", bonanno::block_sizes),
    ("bonanno-table-2", bonanno::resolutions),
];

/// Tables that use a clip.
const WITH_CLIP: [&str; 3] = ["uta-table-10", "uta-chapter-9", "zhang-figure-7"];

/// The default clip of table 10.
const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/big_buck_bunny.mp4");

/// Runs with the arguments of the process.
pub fn main() -> ExitCode {
    let done = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Help) => {
            print!("{}", help());
            Ok(())
        }
        Ok(Request::Run(arguments)) => run(&arguments),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("papers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let devices = match &arguments.device {
        Some(selector) => resolve(selector)?,
        None => backend::devices(),
    };
    let clips = clips(arguments)?;
    for device in &devices {
        let folder = arguments.out.join(folder_name(device));
        let mut report = Report::new(&folder, device)?;
        let Arguments { quick, limit, .. } = *arguments;
        let session = Session { device, clips: &clips, quick, limit };
        for (_, measure) in TABLES.iter().filter(|(name, _)| arguments.wants(name)) {
            measure(&session, &mut report)?;
        }
        report.finish()?;
        println!("Tables and plots: {}", folder.display());
    }
    Ok(())
}

/// The present devices that `selector` selects.
fn resolve(selector: &DeviceSelector) -> Result<Vec<AvailableDevice>, String> {
    let present = backend::devices();
    let of_kind = |kind: &str| present.iter().find(|device| device.kind == kind);
    let named = |part: &str| {
        let part = part.to_lowercase();
        present.iter().find(|device| device.name.to_lowercase().contains(&part))
    };
    let device = match selector {
        DeviceSelector::Several(DeviceList::ALL) => return Ok(present),
        DeviceSelector::Several(list) => {
            let each = list.devices().map(resolve);
            return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
        }
        DeviceSelector::Auto => of_kind("gpu").or(of_kind("native")),
        DeviceSelector::Gpu => of_kind("gpu"),
        DeviceSelector::Cpu => of_kind("cpu"),
        DeviceSelector::Accelerator => of_kind("accelerator"),
        DeviceSelector::Name(part) => named(part),
        exactly => present.iter().find(|device| device.selector == *exactly),
    };
    device.map(|device| vec![device.clone()]).ok_or_else(|| {
        let known = present.iter().map(|d| format!("{} ({}, {})", d.selector, d.name, d.kind));
        format!("no device matches \"{selector}\". Present are: {}", known.collect::<Vec<_>>().join(", "))
    })
}

/// The clips of the command line, or the repository's if it can be read.
fn clips(arguments: &Arguments) -> Result<Vec<Clip>, Box<dyn Error>> {
    if !WITH_CLIP.iter().any(|table| arguments.wants(table)) {
        return Ok(Vec::new());
    }
    if !arguments.clips.is_empty() {
        return Ok(arguments.clips.iter().map(|path| Clip::open(path)).collect::<Result<_, _>>()?);
    }
    match Clip::open(Path::new(CLIP)) {
        Ok(clip) => Ok(vec![clip]),
        Err(error) => {
            eprintln!("papers: continuing without a clip: {error}");
            Ok(Vec::new())
        }
    }
}

/// The name of a device's folder: `native`, `0-0-name-of-the-device`.
fn folder_name(device: &AvailableDevice) -> String {
    let whole = match device.selector {
        DeviceSelector::Native => "native".to_owned(),
        _ => format!("{} {}", device.selector, device.name),
    };
    let words = whole.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

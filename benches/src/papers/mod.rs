//! The tables of the four papers, measured here, beside the printed figures.
//!
//! `cargo bench -p motion-benches --bench papers -- [uta|uta-6-7|halldal|zhang|bonanno] [--device D] [--quick]`; `--help` lists
//! all options. Prints every table, and writes each as CSV and Markdown, with plots as SVG, into one
//! folder per device under `target/papers`; `all.md` there has all tables of the device.
pub mod arguments;
mod bonanno;
mod chart;
pub mod frames;
pub mod halldal;
mod measure;
pub mod printed;
mod report;
mod several;
pub mod table;
mod two_windows;
mod uta;
mod zhang;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, HELP, Paper, Request};
use frames::Clip;
use measure::Session;
use motion_search::backend::{self, AvailableDevice, DeviceList, DeviceSelector};
use report::Report;

/// The default clip of table 10.
const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/big_buck_bunny.mp4");

/// Runs with the arguments of the process.
pub fn main() -> ExitCode {
    let done = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Help) => {
            print!("{HELP}");
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
        for paper in &arguments.papers {
            match paper {
                Paper::Uta => uta::run(&session, &mut report)?,
                Paper::UtaDevices => several::uta_scaling(&session, &mut report)?,
                Paper::Halldal => halldal::run(&session, &mut report)?,
                Paper::Zhang => zhang::run(&session, &mut report)?,
                Paper::Bonanno => bonanno::run(&session, &mut report)?,
            }
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
    if !arguments.papers.iter().any(|paper| matches!(paper, Paper::Uta | Paper::Zhang)) {
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

//! What it costs to be a group, what it gains, how it grows with the devices, and how its shares follow
//! a load.
//!
//! `cargo bench -p motion-benches --bench group -- [overhead] [alone] [gain] [scaling] [load] [--devices LIST] [--size WxH]
//! [--range R]`; all of them where none is named, on every device that is there. It prints tables in
//! Markdown; ratios compare what ran in turn in one run.
#![allow(missing_docs)]

mod gain;
mod load;
mod overhead;
mod scaling;
mod streams;

use std::process::ExitCode;

use lexopt::prelude::*;
use motion_search::backend::{self, AvailableDevice, DeviceSelector};
use motion_search::estimator::{Parameters, Window};

/// What is measured, and on what.
struct Arguments {
    parts: Vec<String>,
    devices: Vec<AvailableDevice>,
    /// The one case asked for, else several.
    size: Option<(usize, usize)>,
    range: i32,
}

impl Arguments {
    fn parse() -> Result<Self, lexopt::Error> {
        let mut arguments = Self { parts: Vec::new(), devices: backend::devices(), size: None, range: 16 };
        let mut parser = lexopt::Parser::from_env();
        while let Some(word) = parser.next()? {
            match word {
                Value(part) => arguments.parts.push(part.string()?),
                Long("devices") => {
                    let list = parser.value()?.string()?;
                    let named: Vec<DeviceSelector> =
                        list.split(',').filter_map(|name| name.trim().parse().ok()).collect();
                    arguments.devices.retain(|device| named.contains(&device.selector));
                }
                Long("size") => {
                    let text = parser.value()?.string()?;
                    let size =
                        text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
                    arguments.size = Some(size.ok_or("--size takes WIDTHxHEIGHT")?);
                }
                Long("range") => arguments.range = parser.value()?.parse()?,
                // Cargo says so to every benchmark.
                Long("bench") => {}
                _ => return Err(word.unexpected()),
            }
        }
        Ok(arguments)
    }

    fn is_wanted(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|named| named == part)
    }

    /// The case asked for, or `usual`.
    fn cases(&self, usual: &[(usize, usize, i32)]) -> Vec<Parameters> {
        let cases = match self.size {
            Some((width, height)) => vec![(width, height, self.range)],
            None => usual.to_vec(),
        };
        cases.into_iter().map(|(width, height, range)| parameters(width, height, range)).collect()
    }
}

fn parameters(width: usize, height: usize, range: i32) -> Parameters {
    let window = Window::symmetric(range, range).expect("a range that a window can have");
    Parameters::new(width, height, 16, window)
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("group: {error}");
            return ExitCode::FAILURE;
        }
    };
    for device in &arguments.devices {
        println!("{}: {} ({}, {})  ", device.selector, device.name, device.kind, device.driver);
    }
    let usual = [(1280, 720, 16)];
    if arguments.is_wanted("overhead") {
        overhead::run();
    }
    if arguments.is_wanted("alone") {
        gain::alone(&arguments.devices, &arguments.cases(&gain::SIZES));
    }
    if arguments.is_wanted("gain") {
        gain::together(&arguments.devices, &arguments.cases(&usual));
    }
    if arguments.is_wanted("scaling") {
        scaling::run(&arguments.devices, &arguments.cases(&scaling::CASES));
    }
    if arguments.is_wanted("load") {
        load::run(&arguments.devices, &arguments.cases(&usual));
    }
    ExitCode::SUCCESS
}

//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use motion_search::backend::DeviceSelector;

use crate::papers::TABLES;

/// The text of `--help`.
pub fn help() -> String {
    let names = TABLES.map(|(name, _)| name);
    let lines: Vec<String> = names.chunks(5).map(|line| format!("  {}", line.join(", "))).collect();
    HELP.replace("TABLES", &lines.join(",\n"))
}

const HELP: &str = "\
The tables of the four papers, measured on the devices of this machine, beside the printed figures.

Usage: cargo bench -p motion-benches --bench papers -- [PAPER or TABLE...] [OPTIONS]

Papers: uta, halldal, zhang, bonanno. Tables (default: all):
TABLES

Options
  --device D    a device by its name in the element: native, gpu, cpu, accelerator, P:D or a part
                of its name (default: every device, one after the other, native first)
  --clip FILE   a video, whose first two frames are searched for uta-table-10 (default: the
                repository's clip) and, if they have one of its sizes, for zhang-figure-7; may be
                repeated: the first one is for uta-table-10, up to 30 frames of the last one for
                uta-chapter-9; .y4m is read directly, other files by GStreamer's decodebin
  --limit S     seconds per cell: after a cell that takes longer, the rest of its column is
                skipped (default: 2)
  --quick       small frames and few repetitions
  --out DIR     folder for tables and plots (default: target/papers)
  --help        this text
";

/// The tables to measure, on which devices, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Names of papers and of tables; none: all.
    pub wanted: Vec<String>,
    /// `None`: every device.
    pub device: Option<DeviceSelector>,
    pub clips: Vec<PathBuf>,
    /// The time of a cell after which the rest of its column is skipped.
    pub limit: Duration,
    pub quick: bool,
    pub out: PathBuf,
}

impl Arguments {
    /// Whether the table with this name is to be measured.
    pub fn wants(&self, table: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|name| names(name, table))
    }
}

/// Whether `name` is that of the table or of its paper.
fn names(name: &str, table: &str) -> bool {
    name == table || table.split_once('-').is_some_and(|(paper, _)| paper == name)
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Run(Arguments),
    Help,
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// A sentence that names the wrong argument and the valid ones.
pub fn parse(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Request, String> {
    let mut arguments = Arguments {
        wanted: Vec::new(),
        device: None,
        clips: Vec::new(),
        limit: Duration::from_secs(2),
        quick: false,
        out: PathBuf::from("target/papers"),
    };
    let say = |error: lexopt::Error| format!("{error}; --help lists the options");
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next().map_err(say)? {
        match word {
            Value(name) => {
                let name = name.to_string_lossy().into_owned();
                if !TABLES.iter().any(|(table, _)| names(&name, table)) {
                    let known = TABLES.map(|(table, _)| table).join(", ");
                    return Err(format!(
                        "unknown paper or table \"{name}\". Papers are uta, halldal, zhang, bonanno; tables {known}"
                    ));
                }
                arguments.wanted.push(name);
            }
            Long("device") => {
                let name = parser.value().and_then(|value| value.string()).map_err(say)?;
                let selector = name.parse().map_err(|error| format!("--device: {error}"))?;
                arguments.device = Some(selector);
            }
            Long("clip") => arguments.clips.push(parser.value().map_err(say)?.into()),
            Long("limit") => {
                let seconds: f64 = parser.value().and_then(|value| value.parse()).map_err(say)?;
                let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
                arguments.limit = limit
                    .ok_or_else(|| format!("--limit {seconds}: the limit must be more than 0 seconds"))?;
            }
            Long("quick") => arguments.quick = true,
            Long("out") => arguments.out = parser.value().map_err(say)?.into(),
            Long("help") | Short('h') => return Ok(Request::Help),
            // Cargo passes this to every benchmark.
            Long("bench") => {}
            _ => return Err(say(word.unexpected())),
        }
    }
    Ok(Request::Run(arguments))
}

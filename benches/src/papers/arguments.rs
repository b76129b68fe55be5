//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use motion_search::backend::DeviceSelector;

/// The text of `--help`.
pub const HELP: &str = "\
The tables of the four papers, measured on the devices of this machine, beside the printed figures.

Usage: cargo bench -p motion-benches --bench papers -- [PAPER...] [OPTIONS]

Papers (default: all)
  uta        tables 1-10, sections 6.2.3 and 8.5.2, chapter 9 and figures 11-15, 19; tables 6 and 7
             with all devices of the same name
  uta-6-7    these two tables alone; not one of the default
  halldal    sections 7.1 and 7.2
  zhang      figures 7 and 12: the latter with the device and the CPU without OpenCL
  bonanno    tables 1 and 2

Options
  --device D    a device by its name in the element: native, gpu, cpu, accelerator, P:D or a part
                of its name (default: every device, one after the other, native first)
  --clip FILE   a video, whose first two frames are searched for table 10 of uta (default: the
                repository's clip) and, if they have one of its sizes, for figure 7 of zhang; may be
                repeated: the first one is for table 10, up to 30 frames of the last one for chapter 9;
                .y4m is read directly, other files by GStreamer's decodebin
  --limit S     seconds per cell: after a cell that takes longer, the rest of its column is
                skipped (default: 2)
  --quick       small frames and few repetitions
  --out DIR     folder for tables and plots (default: target/papers)
  --help        this text
";

/// A paper whose tables are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    Uta,
    UtaDevices,
    Halldal,
    Zhang,
    Bonanno,
}

impl Paper {
    /// All tables, each once.
    pub const ALL: [Paper; 4] = [Paper::Uta, Paper::Halldal, Paper::Zhang, Paper::Bonanno];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Uta => "uta",
            Paper::UtaDevices => "uta-6-7",
            Paper::Halldal => "halldal",
            Paper::Zhang => "zhang",
            Paper::Bonanno => "bonanno",
        }
    }

    fn named(name: &str) -> Result<Self, String> {
        let known = [Paper::Uta, Paper::UtaDevices, Paper::Halldal, Paper::Zhang, Paper::Bonanno];
        known.into_iter().find(|paper| paper.name() == name).ok_or_else(|| {
            let known = known.map(Self::name).join(", ");
            format!("unknown paper \"{name}\". Known are: {known}")
        })
    }
}

/// The papers to measure, on which devices, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    pub papers: Vec<Paper>,
    /// `None`: every device.
    pub device: Option<DeviceSelector>,
    pub clips: Vec<PathBuf>,
    /// The time of a cell after which the rest of its column is skipped.
    pub limit: Duration,
    pub quick: bool,
    pub out: PathBuf,
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
        papers: Vec::new(),
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
                let paper = Paper::named(&name.to_string_lossy())?;
                if !arguments.papers.contains(&paper) {
                    arguments.papers.push(paper);
                }
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
    if arguments.papers.is_empty() {
        arguments.papers = Paper::ALL.to_vec();
    }
    Ok(Request::Run(arguments))
}

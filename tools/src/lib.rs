//! `motion-vectors`: searches a range of a video and writes its motion vectors; plans ranges, and joins what was
//! written of them.

mod decoding;
mod devices;
pub mod error;
mod gate;
mod join;
mod output;
mod plan;
mod progress;
mod properties;
pub mod range;
pub mod records;
mod search;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use std::{fs, io};

use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use error::Error;
use output::Existing;
use plan::Cutting;
use progress::Progress;
use range::Range;
use records::{Piece, Video};
use search::Job;

const USAGE: &str = "usage: motion-vectors VIDEO --out FILE [--range A:B] [--zstd] [PROPERTY=VALUE]...
       motion-vectors VIDEO --plan N|SECONDSs
       motion-vectors --join PIECE... --out FILE [--range A:B] [--zstd]
       motion-vectors --devices

Searches a video, or a range of it, for motion vectors and writes them in the packed binary format of motionserialize.
The pieces of a video, searched anywhere, are joined to the file that one run over the whole video writes, byte for
byte.

  -o, --out FILE   where the vectors go. The file is there when it is complete and not before. If it is there already,
                   of the same video, range and properties, nothing is done. Names of other formats, such as x.csv, are
                   refused with a command that writes them. - is standard output, for a pipe
  -r, --range A:B  search the frames whose timestamps are at least A and less than B, in seconds: 12, 12.5, 1001/30
                   (rounded down to nanoseconds). Without A from the beginning, without B to the end. With --join:
                   what the pieces must be together (default: the whole video)
      --zstd       pack FILE with zstd
      --plan N     print at most N ranges, one a line, that begin at key frames and have about the same duration. With
                   an s behind it, such as 10s, N is that duration in seconds
      --join       put pieces together; none may be missing, none may overlap another
      --devices    list the devices that can search: what selects one as device=, its kind, name and driver
      --json       print what was done, planned or listed as a line of JSON
  -q, --quiet      show no progress
  -h, --help       show this text
  -V, --version    show the version

PROPERTY=VALUE sets a property of motionestimate, such as algorithm=hierarchical or device=gpu.

exit codes:
  0    done, or there already
  1    the search has failed, for example because its device did
  2    wrong arguments or properties
  3    the video cannot be read, or not in ranges, or lacks the range
  4    the output cannot be written, or another file is in its place
  5    pieces are missing, overlap, are damaged, or do not belong together
  130  interrupted
";

/// The name and version of the program, by which pieces are told from those of another one.
const PROGRAM: &str = concat!("motion-vectors ", env!("CARGO_PKG_VERSION"));

/// Runs with the arguments of the process.
pub fn main() -> ExitCode {
    match options().and_then(|options| options.map_or(Ok(()), |options| run(&options))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("motion-vectors: {error}");
            if matches!(error, Error::Usage(_)) {
                eprintln!("motion-vectors --help shows the arguments");
            }
            ExitCode::from(error.code())
        }
    }
}

#[derive(Default)]
struct Options {
    /// The video and its properties, or pieces.
    values: Vec<PathBuf>,
    out: Option<PathBuf>,
    range: Range,
    zstd: bool,
    plan: Option<Cutting>,
    join: bool,
    devices: bool,
    json: bool,
    quiet: bool,
}

/// Parses the options; `None` if only a text was asked for.
fn options() -> Result<Option<Options>, Error> {
    use lexopt::prelude::*;
    let mut options = Options::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return print(USAGE).map(|()| None),
            Short('V') | Long("version") => return print(&format!("{PROGRAM}\n")).map(|()| None),
            Short('o') | Long("out") => options.out = Some(parser.value()?.into()),
            Short('r') | Long("range") => {
                options.range = parser.value()?.string()?.parse().map_err(Error::Usage)?;
            }
            Long("zstd") => options.zstd = true,
            Long("plan") => {
                options.plan = Some(parser.value()?.parse()?);
            }
            Long("join") => options.join = true,
            Long("devices") => options.devices = true,
            Long("json") => options.json = true,
            Short('q') | Long("quiet") => options.quiet = true,
            Value(value) => options.values.push(value.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<(), Error> {
    let usage = |text: &str| Err(Error::Usage(text.into()));
    if let Some(out) = &options.out {
        output::check_name(out)?;
        if output::is_standard(out) && options.json {
            return usage("--json prints to standard output, where --out - writes the vectors: name a file");
        }
        if output::is_standard(out) && io::stdout().is_terminal() {
            return usage("--out - writes packed binary, and standard output is a terminal: redirect it");
        }
    }
    match options {
        Options { devices: true, join: false, plan: None, out: None, values, .. } if values.is_empty() => {
            print(&devices::list(options.json)?)
        }
        Options { devices: true, .. } => usage("--devices takes no video and no other option than --json"),
        Options { join: true, plan: Some(_), .. } => usage("--plan and --join exclude each other"),
        Options { values, .. } if values.is_empty() => usage("a video is missing"),
        Options { join: false, plan: None, out: None, .. } => usage("--out FILE is missing"),
        Options { join: true, out: None, .. } => usage("--out FILE is missing"),
        Options { plan: Some(cutting), .. } if cutting.is_empty() => usage("--plan needs at least one range"),
        Options { plan: Some(cutting), values, json, .. } => match &values[..] {
            [video] => plan(video, *cutting, *json),
            _ => usage("--plan takes one video and no properties"),
        },
        Options { join: true, out: Some(out), .. } => join(options, out),
        Options { out: Some(out), .. } => search(options, out),
    }
}

fn start_gstreamer() -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Search(format!("GStreamer does not start: {error}"));
    gst::init().map_err(|error| failed(&error))?;
    gstmotionestimate::plugin_register_static().map_err(|error| failed(&error))
}

/// Becomes true with the first SIGINT or SIGTERM; the second one ends the program at once.
fn interruption() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, interrupted.clone())
            .and_then(|_| signal_hook::flag::register(signal, interrupted.clone()))
            .map_err(|error| Error::Search(error.to_string()))?;
    }
    Ok(interrupted)
}

fn plan(video: &Path, cutting: Cutting, is_json: bool) -> Result<(), Error> {
    start_gstreamer()?;
    describe(video)?;
    let scan = plan::Scan::of(video)?;
    scan.check(video)?;
    let plan = scan.plan(cutting, video)?;
    if plan.ranges.len() < plan.wanted {
        eprintln!(
            "motion-vectors: {}: it has key frames for {} of {} ranges",
            video.display(),
            plan.ranges.len(),
            plan.wanted
        );
    }
    if is_json {
        return print_json(&plan);
    }
    print(&plan.ranges.iter().map(|range| format!("{range}\n")).collect::<String>())
}

/// By what `video` is told from others.
fn describe(video: &Path) -> Result<Video, Error> {
    let wrong = |what: &dyn std::fmt::Display| Error::Video(format!("{}: {what}", video.display()));
    let metadata = fs::metadata(video).map_err(|error| wrong(&error))?;
    if !metadata.is_file() {
        return Err(wrong(&"is no file"));
    }
    let name = video.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Video { name, bytes: metadata.len() })
}

/// What `--json` prints.
#[derive(Default, Serialize)]
struct Report<'a> {
    range: String,
    frames: u64,
    /// Whether the file was there already.
    kept: bool,
    /// From the start of the program to the first frame of the range: GStreamer, the device, decoding of what precedes.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_up_seconds: Option<f64>,
    /// From then to the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
}

impl Report<'_> {
    fn tell(&self, options: &Options, out: &Path) -> Result<(), Error> {
        if options.json {
            return print_json(self);
        }
        if !options.quiet {
            let how = match (self.kept, self.seconds, self.frames_per_second) {
                (true, ..) => " were there already".into(),
                (false, Some(seconds), Some(rate)) => {
                    format!(" in {seconds:.1} s, {rate:.1} frames/s on {}", self.device.unwrap_or_default())
                }
                _ => String::new(),
            };
            eprintln!("motion-vectors: {}: {} frames{how}", output::shown(out), self.frames);
        }
        Ok(())
    }
}

fn search(options: &Options, out: &Path) -> Result<(), Error> {
    let began = Instant::now();
    let (video, words) =
        options.values.split_first().ok_or_else(|| Error::Usage("a video is missing".into()))?;
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    start_gstreamer()?;
    let element = properties::element(&words)?;
    let drops = ["drop-duplicates", "drop-lossy-duplicates"]
        .into_iter()
        .find(|name| gst::prelude::ObjectExt::property::<bool>(&element, name));
    if let (Some(name), false) = (drops, options.range.is_all()) {
        return Err(Error::Usage(format!(
            "{name}=true needs the whole video: which frames are dropped depends on those before the range"
        )));
    }
    let piece = Piece {
        program: PROGRAM.into(),
        video: describe(video)?,
        range: options.range,
        properties: properties::text(&element),
    };
    drop(element);
    let range = options.range.to_string();
    if let Existing::Whole(frames) = Existing::look(out, &piece)? {
        return Report { range, frames, kept: true, ..Report::default() }.tell(options, out);
    }
    let interrupted = interruption()?;
    let job = Job { video: video.clone(), piece, properties: words, out: out.to_owned(), zstd: options.zstd };
    let mut progress = Progress::new(options.quiet);
    let outcome = search::search(&job, &mut progress, &interrupted);
    progress.end();
    let summary = outcome?;
    let seconds = summary.elapsed.as_secs_f64();
    let report = Report {
        range,
        frames: summary.frames,
        kept: false,
        start_up_seconds: summary.first.map(|first| (first - began).as_secs_f64()),
        seconds: Some(seconds),
        frames_per_second: Some(summary.frames as f64 / seconds.max(1e-9)),
        device: Some(&summary.device),
    };
    report.tell(options, out)
}

fn join(options: &Options, out: &Path) -> Result<(), Error> {
    let joined = join::join(&options.values, options.range, out, options.zstd, &*interruption()?)?;
    let range = joined.piece.range.to_string();
    Report { range, frames: joined.frames, kept: joined.is_kept, ..Report::default() }.tell(options, out)
}

fn print_json(content: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(content).map_err(|error| Error::Output(error.to_string()))?;
    print(&format!("{text}\n"))
}

/// Prints to standard output. That nobody reads it is no error.
fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error.to_string())),
        _ => Ok(()),
    }
}

//! Shows a table of the devices while they search: the share of the frame, rate and load of each, and
//! whether it works, is idle or has failed.
//!
//! `cargo run --release --example live_devices -- --help`

use std::error::Error;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use glib::ControlFlow as Again;
use gst::prelude::*;

const USAGE: &str = "usage: live_devices [OPTIONS] [VIDEO]

Searches VIDEO, or a moving test pattern, and shows a table of the devices until the end or Ctrl-C.

  --device LIST     the property device (default: all)
  --split SPLIT     rows, candidates, frames
  --balance HOW     adaptive, fit, static
  --depth N         frames in flight (default: 1; 4 with --split frames)
  --range N         search range in samples (default: 32)
  --size WxH        size of the test frames (default: 1280x720)
  --frames N        number of test frames (default: no limit)
  --every MS        time between two updates of the table (default: 500)
";

/// The command-line options.
struct Options {
    device: String,
    split: String,
    balance: String,
    depth: Option<u32>,
    range: u32,
    size: (u32, u32),
    frames: i32,
    every: Duration,
    video: Option<PathBuf>,
}

/// Number of Ctrl-C presses.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_interrupt(_signal: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    let outcome = options().and_then(|options| options.map_or(Ok(()), |options| run(&options)));
    if let Err(error) = outcome {
        eprintln!("live_devices: {error}");
        std::process::exit(1);
    }
}

/// Parses the options; `None` if help was requested.
fn options() -> Result<Option<Options>, Box<dyn Error>> {
    use lexopt::prelude::*;
    let mut options = Options {
        device: "all".into(),
        split: "auto".into(),
        balance: "adaptive".into(),
        depth: None,
        range: 32,
        size: (1280, 720),
        frames: -1,
        every: Duration::from_millis(500),
        video: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => {
                print!("{USAGE}");
                return Ok(None);
            }
            Long("device") => options.device = parser.value()?.string()?,
            Long("split") => options.split = parser.value()?.string()?,
            Long("balance") => options.balance = parser.value()?.string()?,
            Long("depth") => options.depth = Some(parser.value()?.parse()?),
            Long("range") => options.range = parser.value()?.parse()?,
            Long("size") => {
                let text = parser.value()?.string()?;
                let (width, height) = text.split_once('x').ok_or("--size is WIDTHxHEIGHT")?;
                options.size = (width.parse()?, height.parse()?);
            }
            Long("frames") => options.frames = parser.value()?.parse()?,
            Long("every") => options.every = Duration::from_millis(parser.value()?.parse()?),
            Value(video) if options.video.is_none() => options.video = Some(video.into()),
            other => return Err(format!("{}\n\n{USAGE}", other.unexpected()).into()),
        }
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    gst::init()?;
    gstmotionestimate::plugin_register_static()?;
    let (pipeline, element) = pipeline(options)?;
    let main_loop = glib::MainLoop::new(None, false);

    // The first Ctrl-C sends EOS; a second one quits at once.
    // SAFETY: the handler stores to an atomic and does nothing else.
    unsafe { libc::signal(libc::SIGINT, on_interrupt as *const () as libc::sighandler_t) };
    let interrupts = glib::timeout_add_local(Duration::from_millis(50), {
        let (pipeline, main_loop) = (pipeline.clone(), main_loop.clone());
        let mut seen = 0;
        move || {
            match INTERRUPTS.load(Ordering::Relaxed) {
                1 if seen == 0 => drop(pipeline.send_event(gst::event::Eos::new())),
                2.. => main_loop.quit(),
                _ => (),
            }
            seen = INTERRUPTS.load(Ordering::Relaxed);
            Again::Continue
        }
    });
    let mut table = Table::default();
    let drawn = glib::timeout_add_local(options.every, {
        let element = element.clone();
        move || {
            table.draw(&element.property::<gst::Structure>("stats"));
            Again::Continue
        }
    });
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    let failure = std::rc::Rc::new(std::cell::RefCell::new(None));
    let watch = bus.add_watch_local({
        let (main_loop, failure) = (main_loop.clone(), failure.clone());
        move |_, message| match report(message) {
            ControlFlow::Continue(()) => Again::Continue,
            ControlFlow::Break(error) => {
                *failure.borrow_mut() = error;
                main_loop.quit();
                Again::Break
            }
        }
    })?;
    // Errors are posted on the bus.
    let _ = pipeline.set_state(gst::State::Playing);
    main_loop.run();
    pipeline.set_state(gst::State::Null)?;
    for source in [interrupts, drawn] {
        source.remove();
    }
    drop(watch);
    if let Some(error) = failure.take() {
        return Err(error.into());
    }
    println!("\nOver the whole stream:");
    Table::default().draw(&element.property::<gst::Structure>("stats"));
    Ok(())
}

/// The pipeline and its `motionestimate`.
fn pipeline(options: &Options) -> Result<(gst::Pipeline, gst::Element), Box<dyn Error>> {
    let pipeline = gst::Pipeline::new();
    let source = match &options.video {
        Some(video) => format!("uridecodebin uri={} ! videoconvert", uri(video)?),
        None => format!(
            "videotestsrc num-buffers={} pattern=zone-plate kx2=20 ky2=20 kt=3 ! video/x-raw,format=I420,\
             width={},height={}",
            options.frames, options.size.0, options.size.1
        ),
    };
    let source = gst::parse::bin_from_description(&format!("{source} ! queue"), true)?;
    let by_frame = options.split == "frames";
    let depth = options.depth.unwrap_or(if by_frame { 4 } else { 1 });
    let element = gst::ElementFactory::make("motionestimate")
        .property("device", &options.device)
        .property("search-range", options.range)
        .property("pipeline-depth", depth)
        .property_from_str("split", &options.split)
        .property_from_str("balance", &options.balance)
        .build()?;
    let sink = gst::ElementFactory::make("fakesink").property("sync", false).build()?;
    let elements = [source.upcast_ref(), &element, &sink];
    pipeline.add_many(elements)?;
    gst::Element::link_many(elements)?;
    Ok((pipeline, element))
}

fn uri(video: &Path) -> Result<glib::GString, Box<dyn Error>> {
    let path = video.canonicalize().map_err(|error| format!("{}: {error}", video.display()))?;
    Ok(glib::filename_to_uri(path, None)?)
}

/// Prints warnings. Breaks at EOS, and at an error with its text.
fn report(message: &gst::Message) -> ControlFlow<Option<String>> {
    match message.view() {
        gst::MessageView::Eos(_) => ControlFlow::Break(None),
        gst::MessageView::Error(error) => ControlFlow::Break(Some(error.error().to_string())),
        gst::MessageView::Warning(warning) => {
            println!("{}", warning.error());
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    }
}

/// The table; on a terminal each update overwrites the previous one.
#[derive(Default)]
struct Table {
    lines: usize,
    /// Time of the previous update, and the busy time of each device then.
    before: Option<(Instant, Vec<Duration>)>,
}

impl Table {
    fn draw(&mut self, stats: &gst::StructureRef) {
        let text = self.text(stats).unwrap_or_default();
        if self.lines > 0 && std::io::stdout().is_terminal() {
            print!("\x1b[{}A\x1b[J", self.lines);
        }
        self.lines = text.lines().count();
        print!("{text}");
        // A closed output is no reason to stop.
        let _ = std::io::stdout().flush();
    }

    /// The table; empty before the first frame with vectors.
    fn text(&mut self, stats: &gst::StructureRef) -> Result<String, Box<dyn Error>> {
        let frames = stats.get::<u64>("frames-with-vectors")?;
        let Some(device) = stats.get::<Option<String>>("device")?.filter(|_| frames > 0) else {
            return Ok(String::new());
        };
        let devices = stats.get::<gst::Array>("devices")?;
        let mut text = format!(
            "{:<40} {:>7} {:>12} {:>10} {:>6}  state\n",
            "device", "share", "G diff./s", "busy s", "busy"
        );
        let now = Instant::now();
        let mut busy_times = Vec::new();
        for (index, device) in devices.iter().enumerate() {
            let device = device.get::<gst::Structure>()?;
            let (share, busy) = (device.get::<f64>("share")?, Duration::from_nanos(device.get("busy-time")?));
            let state = match (device.get::<bool>("failed")?, share > 0.0) {
                (true, _) => "failed",
                (false, true) => "works",
                (false, false) => "idle",
            };
            // Load since the previous update.
            let part = self.before.as_ref().and_then(|(at, before)| {
                let before = before.get(index).copied().unwrap_or_default();
                Some(busy.checked_sub(before)?.as_secs_f64() / (now - *at).as_secs_f64())
            });
            let part = part.map_or_else(|| "-".into(), |part| format!("{:.0} %", 100.0 * part.min(1.0)));
            writeln!(
                text,
                "{:<40} {:>5.1} % {:>12.2} {:>10.2} {part:>6}  {state}",
                device.get::<&str>("device")?,
                100.0 * share,
                device.get::<f64>("effective-rate")? / 1e9,
                busy.as_secs_f64(),
            )?;
            busy_times.push(busy);
        }
        if devices.is_empty() {
            // A single device.
            let rate = stats.get::<f64>("effective-rate")? / 1e9;
            let busy = Duration::from_nanos(stats.get::<u64>("search-time")?) * frames as u32;
            writeln!(
                text,
                "{device:<40} {:>5.1} % {rate:>12.2} {:>10.2} {:>6}  works",
                100.0,
                busy.as_secs_f64(),
                "-"
            )?;
        }
        writeln!(text, "{frames} frames")?;
        self.before = Some((now, busy_times));
        Ok(text)
    }
}

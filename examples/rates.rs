//! Compares `motioninterpolate` with `videorate`: counts and times of the frames that both send for files of several
//! containers, from each of some frame rates to each other, whatever is missing in the file.
//!
//! `cargo run --release --example rates -- [ELEMENT]`, where ELEMENT is `motioninterpolate mode=blend` unless given.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gst::prelude::*;

/// Names of containers, and what writes them.
const CONTAINERS: [(&str, &str); 4] = [
    ("matroska", "x264enc tune=zerolatency ! matroskamux"),
    ("mp4", "x264enc tune=zerolatency ! mp4mux"),
    ("avi", "x264enc tune=zerolatency ! h264parse ! avimux"),
    ("y4m", "y4menc"),
];

const RATES: [&str; 4] = ["24/1", "25/1", "30000/1001", "60/1"];

/// So many frames would be in a file without breaks.
const FRAMES: u64 = 120;

/// Whether frame `number` is in the file.
type IsThere = fn(u64) -> bool;

/// What is missing in the file, and which frames are in it.
const BREAKS: [(&str, IsThere); 5] = [
    ("nothing", |_| true),
    ("four frames", |number| !(40..44).contains(&number)),
    ("a pause", |number| !(20..100).contains(&number)),
    ("every third", |number| number % 3 != 1),
    ("the beginning", |number| number >= 5),
];

/// Start and end of the frames that an element has sent, in nanoseconds.
struct Sent(Vec<(u64, u64)>);

impl Sent {
    /// How the times of `other` differ.
    fn difference(&self, other: &Self) -> Difference {
        let shared = self.0.len().min(other.0.len());
        let is_same = self.0.iter().zip(&other.0).all(|(frame, other)| frame.0 == other.0);
        match (is_same, self.0.len() - shared, other.0.len() - shared) {
            (false, ..) => Difference::Other,
            (_, 0, 0) => Difference::None,
            (_, fewer, 0) => Difference::Fewer(fewer),
            (_, _, more) => Difference::More(more),
        }
    }
}

/// How the times of an element differ from those of `videorate`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    None,
    /// So many at the end are missing.
    Fewer(usize),
    /// So many follow at the end.
    More(usize),
    Other,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "same times"),
            Self::Fewer(count) => write!(f, "{count} fewer at the end"),
            Self::More(count) => write!(f, "{count} more at the end"),
            Self::Other => write!(f, "other times"),
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Option<u64>| time.unwrap_or_default() as f64 / 1e9;
        let first = seconds(self.0.first().map(|frame| frame.0));
        let last = seconds(self.0.last().map(|frame| frame.1));
        let longest = seconds(self.0.windows(2).map(|pair| pair[1].0.abs_diff(pair[0].0)).max());
        write!(f, "{:4} {first:6.3} {last:6.3} {:6.1}", self.0.len(), 1e3 * longest)
    }
}

/// Runs `launch` to its end. `keeps` decides for each buffer that leaves its element `watched` whether it goes on.
fn run(
    launch: &str,
    keeps: impl Fn(&gst::BufferRef) -> bool + Send + Sync + 'static,
) -> Result<(), Box<dyn Error>> {
    let pipeline = gst::parse::launch(launch)?.downcast::<gst::Pipeline>().map_err(|_| "no pipeline")?;
    let pad = pipeline.by_name("watched").and_then(|element| element.static_pad("src")).ok_or("no pad")?;
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| match info.buffer() {
        Some(buffer) if !keeps(buffer) => gst::PadProbeReturn::Drop,
        _ => gst::PadProbeReturn::Ok,
    });
    pipeline.set_state(gst::State::Playing)?;
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().and_then(|bus| bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds));
    pipeline.set_state(gst::State::Null)?;
    match message.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Error(error)) => Err(format!("{launch}: {}", error.error()).into()),
        _ => Ok(()),
    }
}

/// Writes the frames that `is_there` names to `file`.
fn write(writer: &str, rate: &str, is_there: IsThere, file: &Path) -> Result<(), Box<dyn Error>> {
    let number = AtomicU64::new(0);
    let launch = format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate={rate} \
         ! identity name=watched ! {writer} ! filesink location={}",
        file.display()
    );
    run(&launch, move |_| is_there(number.fetch_add(1, Ordering::Relaxed)))
}

/// The frames of `file` that `element` sends at `rate`.
fn convert(file: &Path, element: &str, rate: &str) -> Result<Sent, Box<dyn Error>> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let frames = sent.clone();
    let launch = format!(
        "filesrc location={} ! decodebin ! videoconvert ! {element} ! video/x-raw,framerate={rate} \
         ! identity name=watched ! fakesink sync=false",
        file.display()
    );
    run(&launch, move |buffer| {
        if let (Some(start), Ok(mut frames)) = (buffer.pts(), frames.lock()) {
            let end = start + buffer.duration().unwrap_or_default();
            frames.push((start.nseconds(), end.nseconds()));
        }
        true
    })?;
    let frames = sent.lock().map_err(|_| "a probe has panicked")?.clone();
    Ok(Sent(frames))
}

fn main() -> Result<(), Box<dyn Error>> {
    gst::init()?;
    gstmotionestimate::plugin_register_static()?;
    let element = std::env::args().nth(1).unwrap_or("motioninterpolate mode=blend".into());
    let folder = tempfile::tempdir()?;
    println!(
        "Frames, first time and end in seconds, longest step in milliseconds; of videorate, then of {element}."
    );
    let mut rows = BTreeMap::new();
    for (container, writer) in CONTAINERS {
        for (break_name, is_there) in BREAKS {
            for input in RATES {
                let file = folder.path().join("video");
                write(writer, input, is_there, &file)?;
                for output in RATES {
                    let [rate, own] = ["videorate", &element].map(|element| convert(&file, element, output));
                    let (rate, own) = (rate?, own?);
                    let difference = rate.difference(&own);
                    *rows.entry(difference).or_insert(0) += 1;
                    println!(
                        "{container:8} {input:>10} to {output:<10} without {break_name:13} | {rate} | {own} | {difference}"
                    );
                }
            }
        }
    }
    rows.iter().for_each(|(difference, count)| println!("{count:4} rows: {difference}"));
    Ok(())
}

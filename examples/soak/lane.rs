//! One pipeline, to which random things happen.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gst::prelude::*;

use crate::lanes::Description;
use crate::patience::{self, Patience};
use crate::stream::{Stream, Watched};

/// Why a run failed, for people.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Frames a second: a pipeline does not take all of a core, so that latency is that of the elements.
const RATE: i32 = 100;

/// What happens to a pipeline, and how often, relative to the others.
const ACTIONS: [(Action, u32); 9] = [
    (Action::Property, 12),
    (Action::Caps, 4),
    (Action::FlushingSeek, 3),
    (Action::Seek, 2),
    (Action::Pause, 1),
    (Action::End, 2),
    (Action::Ready, 1),
    (Action::Null, 1),
    (Action::Rebuild, 1),
];

#[derive(Clone, Copy, Debug)]
enum Action {
    Property,
    Caps,
    FlushingSeek,
    Seek,
    Pause,
    End,
    Ready,
    Null,
    Rebuild,
}

/// The pipeline of `description`.
pub fn parse(description: &Description) -> Result<gst::Pipeline, glib::Error> {
    let (width, height) = description.sizes[0];
    let launch = format!(
        "videotestsrc name=source pattern=ball ! capsfilter name=caps caps=\"{}\" ! {} \
         ! fakesink name=sink sync=true qos=false",
        caps(description.formats[0], width, height),
        description.elements,
    );
    let pipeline = gst::parse::launch(&launch)?;
    Ok(pipeline.downcast().expect("several elements are a pipeline"))
}

fn caps(format: &str, width: i32, height: i32) -> gst::Caps {
    gst::Caps::builder("video/x-raw")
        .field("format", format)
        .field("width", width)
        .field("height", height)
        .field("framerate", gst::Fraction::new(RATE, 1))
        .build()
}

/// Fails if the pipeline has posted an error or a warning.
pub fn check_bus(pipeline: &gst::Pipeline, name: &str) -> Result<(), Failure> {
    let bus = pipeline.bus().expect("a pipeline has a bus");
    let kinds = [gst::MessageType::Error, gst::MessageType::Warning];
    match bus.pop_filtered(&kinds).as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Error(error)) => {
            Err(format!("{name}: {} ({})", error.error(), error.debug().unwrap_or_default()).into())
        }
        Some(gst::MessageView::Warning(warning)) => {
            Err(format!("{name}: {} ({})", warning.error(), warning.debug().unwrap_or_default()).into())
        }
        _ => Ok(()),
    }
}

/// The error that the pipeline has posted, otherwise `what`.
pub fn error_of(pipeline: &gst::Pipeline, name: &str, what: &str) -> Failure {
    check_bus(pipeline, name).err().unwrap_or_else(|| format!("{name} {what}").into())
}

/// A pipeline and what is seen of it.
pub struct Lane {
    description: Description,
    stream: Arc<Mutex<Stream>>,
    frames: Arc<AtomicU64>,
}

impl Lane {
    pub fn new(description: Description) -> Self {
        let stream = Arc::new(Mutex::new(Stream::new(description.has_vectors)));
        Self { description, stream, frames: Arc::default() }
    }

    /// Frames that have arrived at the sink.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// How long frames took through the elements since the previous call.
    pub fn take_latencies(&self) -> Vec<Duration> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).take_latencies()
    }

    /// Lets random things happen until `until`, and returns a summary.
    pub fn run(&self, random: fastrand::Rng, until: Instant, stop: &AtomicBool) -> Result<String, Failure> {
        let (pipeline, log) = (self.build()?, Vec::new());
        let mut run = Run { lane: self, random, stop, pipeline, log, counts: [0; ACTIONS.len()] };
        let outcome = run.until(until);
        // Without it, dropping the pipeline of a failed run would only add warnings.
        let _ = run.pipeline.set_state(gst::State::Null);
        outcome.map_err(|error| format!("{error}\n  after: {}", run.log.join("; ")))?;
        let mut summary = format!("{:<14} {:>8} frames", self.description.name, self.frames());
        for ((action, _), count) in ACTIONS.iter().zip(run.counts) {
            write!(summary, ", {action:?} {count}")?;
        }
        Ok(summary)
    }

    /// A new pipeline whose frames are watched.
    fn build(&self) -> Result<gst::Pipeline, Failure> {
        let pipeline = parse(&self.description)?;
        let pad = |element: &str| {
            let element = pipeline.by_name(element).expect("the description has it");
            element.static_pad("sink").expect("it has a sink pad")
        };
        let kinds =
            gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
        let watch = |pad: gst::Pad, at: Watched| {
            let (stream, frames) = (self.stream.clone(), self.frames.clone());
            pad.add_probe(kinds, move |_, info| {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                match &info.data {
                    Some(gst::PadProbeData::Buffer(buffer)) => {
                        stream.buffer(at, buffer);
                        frames.fetch_add(u64::from(at == Watched::Output), Ordering::Relaxed);
                    }
                    Some(gst::PadProbeData::Event(event)) => stream.event(at, event),
                    _ => (),
                }
                gst::PadProbeReturn::Ok
            })
        };
        watch(pad("first"), Watched::Input);
        watch(pad("sink"), Watched::Output);
        Ok(pipeline)
    }
}

/// A lane that runs.
struct Run<'a> {
    lane: &'a Lane,
    random: fastrand::Rng,
    stop: &'a AtomicBool,
    pipeline: gst::Pipeline,
    /// The last actions, for the message of a failure.
    log: Vec<String>,
    counts: [u32; ACTIONS.len()],
}

impl Run<'_> {
    fn until(&mut self, until: Instant) -> Result<(), Failure> {
        self.restart()?;
        while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
            let frames = self.random.u64(1..25);
            self.await_frames(frames)?;
            self.settle()?;
            self.act()?;
        }
        self.settle()?;
        self.end()?;
        self.halt(gst::State::Null)
    }

    fn name(&self) -> &'static str {
        self.lane.description.name
    }

    /// Does something at random.
    fn act(&mut self) -> Result<(), Failure> {
        let mut at = self.random.u32(0..ACTIONS.iter().map(|(_, weight)| weight).sum());
        let index = ACTIONS.iter().position(|&(_, weight)| {
            let found = at < weight;
            at = at.saturating_sub(weight);
            found
        });
        let index = index.expect("less than the sum of the weights");
        self.counts[index] += 1;
        let action = ACTIONS[index].0;
        self.note(format!("{action:?}"));
        match action {
            Action::Property => self.set_property(),
            Action::Caps => self.set_caps(),
            Action::FlushingSeek => self.seek(gst::SeekFlags::FLUSH)?,
            Action::Seek => self.seek(gst::SeekFlags::empty())?,
            Action::Pause => {
                self.pipeline.set_state(gst::State::Paused)?;
                self.play()?;
            }
            Action::End => {
                self.end()?;
                self.stop(gst::State::Ready)?;
            }
            Action::Ready => self.stop(gst::State::Ready)?,
            Action::Null => self.stop(gst::State::Null)?,
            Action::Rebuild => {
                self.halt(gst::State::Null)?;
                self.pipeline = self.lane.build()?;
                self.restart()?;
            }
        }
        self.check()
    }

    fn note(&mut self, text: String) {
        const KEPT: usize = 12;
        if self.log.len() == KEPT {
            self.log.remove(0);
        }
        self.log.push(text);
    }

    fn set_property(&mut self) {
        let tunables = &self.lane.description.tunables;
        let tunable = &tunables[self.random.usize(..tunables.len())];
        let value = tunable.values[self.random.usize(..tunable.values.len())];
        let element = self.pipeline.by_name(tunable.element).expect("the description has it");
        element.set_property_from_str(tunable.property, value);
        self.note(format!("{}={value}", tunable.property));
    }

    fn set_caps(&mut self) {
        let Description { formats, sizes, .. } = self.lane.description;
        let format = formats[self.random.usize(..formats.len())];
        let (width, height) = sizes[self.random.usize(..sizes.len())];
        let filter = self.pipeline.by_name("caps").expect("the pipeline has it");
        let source = self.pipeline.by_name("source").expect("the pipeline has it");
        let pad = source.static_pad("src").expect("a source has it");
        // On the thread of the source: beside it, the source could take the old caps while the filter has new ones and
        // has not yet said so, for which GStreamer 1.22 posts "not negotiated".
        let caps = caps(format, width, height);
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
            filter.set_property("caps", &caps);
            gst::PadProbeReturn::Remove
        });
        self.note(format!("{format} {width}x{height}"));
    }

    fn seek(&mut self, flags: gst::SeekFlags) -> Result<(), Failure> {
        // videotestsrc begins at a whole frame anywhere.
        let position = gst::ClockTime::from_mseconds(10 * self.random.u64(0..500));
        self.pipeline.seek_simple(flags, position)?;
        Ok(())
    }

    /// Stops, in `state`, and plays again from the beginning.
    fn stop(&mut self, state: gst::State) -> Result<(), Failure> {
        self.halt(state)?;
        self.restart()
    }

    /// Stops, in `state`. What is posted meanwhile does not count: where an element behind is stopped already, GStreamer's
    /// base class tells that a negotiation failed.
    fn halt(&self, state: gst::State) -> Result<(), Failure> {
        self.check()?;
        self.pipeline.set_state(state)?;
        let bus = self.pipeline.bus().expect("a pipeline has a bus");
        bus.set_flushing(true);
        bus.set_flushing(false);
        self.check()
    }

    /// Plays from the beginning.
    fn restart(&self) -> Result<(), Failure> {
        self.lane.stream.lock().unwrap_or_else(PoisonError::into_inner).restart();
        self.play()
    }

    fn play(&self) -> Result<(), Failure> {
        self.pipeline.set_state(gst::State::Playing)?;
        Ok(())
    }

    /// Waits until the pipeline plays. An event or seek that GStreamer gets in the middle of a change of state, for which
    /// it holds a lock, may stop the pipeline for ever.
    fn settle(&self) -> Result<(), Failure> {
        if patience::plays(&self.pipeline) {
            Ok(())
        } else {
            Err(error_of(&self.pipeline, self.name(), "does not play"))
        }
    }

    /// Sends EOS and waits until it has arrived.
    fn end(&self) -> Result<(), Failure> {
        self.pipeline.send_event(gst::event::Eos::new());
        let bus = self.pipeline.bus().expect("a pipeline has a bus");
        // Errors are left to `check`.
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
        let mut patience = Patience::new();
        loop {
            match bus.timed_pop_filtered(patience::STEP, &kinds).as_ref().map(|message| message.view()) {
                Some(gst::MessageView::Error(error)) => {
                    return Err(format!("{}: {}", self.name(), error.error()).into());
                }
                Some(_) => return self.check(),
                None if patience.is_over() => {
                    return Err(error_of(&self.pipeline, self.name(), "does not end"));
                }
                None => (),
            }
        }
    }

    fn await_frames(&self, frames: u64) -> Result<(), Failure> {
        let enough = self.lane.frames() + frames;
        let (mut last, mut patience) = (self.lane.frames(), Patience::new());
        while self.lane.frames() < enough && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            self.check()?;
            let now = self.lane.frames();
            if now != last {
                (last, patience) = (now, Patience::new());
            } else if patience.is_over() {
                return Err(error_of(&self.pipeline, self.name(), "hangs: no frame arrives"));
            }
        }
        Ok(())
    }

    /// Fails if a message or a frame was not as it must be.
    fn check(&self) -> Result<(), Failure> {
        check_bus(&self.pipeline, self.name())?;
        let fault = self.lane.stream.lock().unwrap_or_else(PoisonError::into_inner).take_fault();
        fault.map_or(Ok(()), |fault| Err(format!("{}: {fault}", self.name()).into()))
    }
}

//! The search of one range of a video.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gst::glib;
use gst::prelude::*;
use gstmotionestimate::motionestimate::MotionEstimate;
use gstmotionestimate::motionserialize::MotionSerialize;

use crate::decoding::{self, Decoding, Watch};
use crate::error::Error;
use crate::gate::{Gate, Step};
use crate::output::Output;
use crate::plan;
use crate::progress::Progress;
use crate::properties;
use crate::range::Range;
use crate::records::{self, HEADER, Piece};

/// What to search, and where the vectors go.
pub struct Job {
    pub video: PathBuf,
    pub piece: Piece,
    /// The properties of `motionestimate`.
    pub properties: Vec<String>,
    pub out: PathBuf,
    pub zstd: bool,
}

/// What was done.
pub struct Summary {
    pub frames: u64,
    /// When the first frame was written, if there was one.
    pub first: Option<Instant>,
    /// From then to the last frame.
    pub elapsed: Duration,
    pub device: String,
}

/// Where decoding begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// At the key frame at this timestamp or before it.
    At(u64),
    Beginning,
}

/// By how much frames may be shown later than they are decoded, in nanoseconds, in most videos.
const REORDERING: u64 = 250_000_000;

/// Where to begin, in the order in which it is tried: a key frame may have too few frames behind it before the range.
fn starts(range: Range, before: usize) -> impl Iterator<Item = Start> {
    // A demultiplexer takes the key frame at the start for one before it where frames are shown later than decoded.
    let latest = range.start.map_or(0, |start| start.saturating_sub(if before > 0 { REORDERING } else { 0 }));
    let earlier = (0..32).map(move |tries| latest.saturating_sub(1_000_000_000 << tries));
    let times = std::iter::once(latest).chain(earlier).take_while(|&time| time > 0);
    times.map(Start::At).chain([Start::Beginning])
}

/// Searches the range of `job`.
///
/// # Errors
/// What is wrong with the video, the properties or the output; nothing is written then.
pub fn search(job: &Job, progress: &mut Progress, interrupted: &AtomicBool) -> Result<Summary, Error> {
    let (before, _) = properties::references(&properties::element(&job.properties)?);
    for start in starts(job.piece.range, before) {
        if let Some(summary) = attempt(job, start, progress, interrupted)? {
            return Ok(summary);
        }
    }
    Err(Error::Search("the range has no beginning".into()))
}

/// Searches with decoding from `start`. `None` if that is too late.
fn attempt(
    job: &Job,
    start: Start,
    progress: &mut Progress,
    interrupted: &AtomicBool,
) -> Result<Option<Summary>, Error> {
    let range = job.piece.range;
    let pipeline = Stopped(gst::Pipeline::new());
    let decoding = Decoding::add_to(&pipeline.0, &job.video)?;
    let element = properties::element(&job.properties)?;
    let serializer: MotionSerialize = glib::Object::new();
    let sink = gst_app::AppSink::builder()
        .caps(&gst::Caps::new_empty_simple("application/x-motion-vectors"))
        .sync(false)
        .max_buffers(4)
        .build();
    let elements: [&gst::Element; 3] = [element.upcast_ref(), serializer.upcast_ref(), sink.upcast_ref()];
    decoding::add(&pipeline.0, &elements)?;
    gst::Element::link_many([&decoding.converter, elements[0], elements[1], elements[2]])
        .map_err(|error| Error::Search(error.to_string()))?;

    let around = properties::references(&element);
    let output = Output::create(&job.out, &job.piece, job.zstd)?;
    let shared = Arc::new(Shared {
        gate: Mutex::new(Gate::new(range, around, matches!(start, Start::Beginning))),
        phase: Mutex::new(if matches!(start, Start::At(_)) { Phase::First } else { Phase::Open }),
        segment: Mutex::default(),
        failure: Mutex::default(),
        writer: Mutex::new(Writer { output: Some(output), range, frames: 0, begun: None, time: 0 }),
    });
    let _unfinished = Unfinished(shared.clone());
    // Before the guard, which drops frames.
    let mut watch = Watch::new(&decoding.source, &job.video, decoding.converter.static_pad("src"))?;
    guard(&decoding, &shared)?;
    write(&sink, &shared);

    let bus = pipeline.0.bus().ok_or_else(|| Error::Search("the pipeline has no bus".into()))?;
    // An element that refuses has told the bus why.
    let _ = pipeline.0.set_state(gst::State::Playing);
    let mut end = None;
    loop {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if let Some(error) = lock(&shared.failure).take() {
            return Err(error);
        }
        let (begun, time, frames) = lock(&shared.writer).progress();
        if let Some((first, began)) = begun {
            end = end.or(range.end).or_else(|| video_end(&pipeline.0, &shared));
            progress.tell(time - first, end.unwrap_or(time).saturating_sub(first), frames, began.elapsed());
        }
        let Some(message) = bus.timed_pop(Watch::INTERVAL) else {
            watch.check(&pipeline.0, &job.video)?;
            continue;
        };
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(error) => {
                // Behind the range's end the gate's pad refuses events, such as new tags, which a decoder takes for an
                // error. Where the pipeline is still starting, that comes before the end of the stream.
                let is_searching = |source| elements.iter().any(|&element| element == source);
                if *lock(&shared.phase) == Phase::Over && !error.src().is_some_and(is_searching) {
                    continue;
                }
                // What failed in a probe or in the sink is the cause.
                return Err(lock(&shared.failure).take().unwrap_or_else(|| told(job, &element, error)));
            }
            gst::MessageView::Warning(warning) => {
                progress.warn(&format!("{}: {}", job.video.display(), warning.error().message()));
            }
            gst::MessageView::Application(application) => {
                match application.structure().map(|text| text.name().as_str()) {
                    Some(SEEK) => {
                        if let Start::At(time) = start
                            && !seek(&decoding, &shared, time)
                        {
                            return Ok(None);
                        }
                    }
                    Some(EARLIER) => return Ok(None),
                    Some(decoding::NO_VIDEO) => return Err(decoding::no_video(&job.video)),
                    _ => (),
                }
            }
            _ => (),
        }
    }
    if let Some(error) = lock(&shared.failure).take() {
        return Err(error);
    }
    check_end(job, &pipeline.0, &shared)?;
    let device = element.property::<gst::Structure>("stats").get::<Option<String>>("device").ok().flatten();
    drop(pipeline);
    let Writer { output, frames, begun, .. } = &mut *lock(&shared.writer);
    let first = begun.map(|(_, first)| first);
    let elapsed = first.map_or(Duration::ZERO, |first| first.elapsed());
    if let Some(output) = output.take() {
        output.finish(*frames)?;
    }
    Ok(Some(Summary { frames: *frames, first, elapsed, device: device.unwrap_or_default() }))
}

/// What the streaming threads share with the program.
struct Shared {
    gate: Mutex<Gate>,
    phase: Mutex<Phase>,
    segment: Mutex<Option<gst::FormattedSegment<gst::ClockTime>>>,
    failure: Mutex<Option<Error>>,
    writer: Mutex<Writer>,
}

/// What the gate is for buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first buffer asks for a seek.
    First,
    /// Buffers of before the seek are dropped.
    Seeking,
    /// The gate decides.
    Open,
    /// What it has held is passing.
    Releasing,
    /// No more are needed.
    Over,
}

const SEEK: &str = "seek";
const EARLIER: &str = "earlier";

/// Lets only those frames pass to the search that the gate lets pass.
fn guard(decoding: &Decoding, shared: &Arc<Shared>) -> Result<(), Error> {
    let pad = decoding.converter.static_pad("src");
    let pad = pad.ok_or_else(|| Error::Search("videoconvert has no pad".into()))?;
    let (shared, is_exact) = (shared.clone(), decoding.is_exact.clone());
    let types =
        gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    pad.add_probe(types, move |pad, info| {
        if let Some(event) = info.event() {
            return on_event(&shared, event);
        }
        let Some(buffer) = info.buffer() else { return gst::PadProbeReturn::Ok };
        let phase = *lock(&shared.phase);
        let step = match phase {
            Phase::Releasing => return gst::PadProbeReturn::Ok,
            Phase::Seeking => return gst::PadProbeReturn::Drop,
            Phase::First if is_exact.load(Ordering::Relaxed) => {
                *lock(&shared.phase) = Phase::Seeking;
                tell(pad, SEEK);
                return gst::PadProbeReturn::Drop;
            }
            Phase::First => {
                // Nothing was skipped.
                let mut gate = lock(&shared.gate);
                gate.begin();
                *lock(&shared.phase) = Phase::Open;
                gate.take(buffer)
            }
            Phase::Open => lock(&shared.gate).take(buffer),
            Phase::Over => Ok(Step::End),
        };
        match step {
            Ok(Step::Pass) => gst::PadProbeReturn::Ok,
            Ok(Step::Drop) => gst::PadProbeReturn::Drop,
            Ok(Step::Release(held)) => {
                *lock(&shared.phase) = Phase::Releasing;
                let pushed = held.into_iter().try_for_each(|buffer| pad.push(buffer).map(drop));
                *lock(&shared.phase) = Phase::Open;
                match pushed {
                    Ok(()) => gst::PadProbeReturn::Ok,
                    Err(error) => handled(info, error),
                }
            }
            Ok(Step::End) => {
                if phase != Phase::Over {
                    *lock(&shared.phase) = Phase::Over;
                    pad.push_event(gst::event::Eos::new());
                }
                handled(info, gst::FlowError::Eos)
            }
            Ok(Step::Earlier) => {
                *lock(&shared.phase) = Phase::Seeking;
                tell(pad, EARLIER);
                gst::PadProbeReturn::Drop
            }
            Err(error) => {
                lock(&shared.failure).get_or_insert(error);
                handled(info, gst::FlowError::Error)
            }
        }
    });
    Ok(())
}

fn on_event(shared: &Shared, event: &gst::EventRef) -> gst::PadProbeReturn {
    match event.view() {
        // The end of a short video may come before the seek. It is taken, not dropped: a probe of the Rust bindings
        // leaves nothing to drop, and GStreamer 1.22 warns of that.
        gst::EventView::Eos(_) if *lock(&shared.phase) == Phase::Seeking => {
            return gst::PadProbeReturn::Handled;
        }
        gst::EventView::FlushStop(_) => {
            let mut phase = lock(&shared.phase);
            if *phase == Phase::Seeking {
                *phase = Phase::Open;
            }
        }
        gst::EventView::Segment(segment) => {
            *lock(&shared.segment) = segment.segment().downcast_ref().cloned();
            lock(&shared.gate).interrupt();
        }
        gst::EventView::Caps(_) | gst::EventView::Gap(_) => lock(&shared.gate).interrupt(),
        _ => (),
    }
    gst::PadProbeReturn::Ok
}

/// Takes the buffer from the pad, whose push returns `error`.
fn handled(info: &mut gst::PadProbeInfo, error: gst::FlowError) -> gst::PadProbeReturn {
    info.data = None;
    info.flow_res = Err(error);
    gst::PadProbeReturn::Handled
}

fn tell(pad: &gst::Pad, name: &str) {
    if let Some(element) = pad.parent_element() {
        let message = gst::Structure::new_empty(name);
        let _ = element.post_message(gst::message::Application::builder(message).src(&element).build());
    }
}

/// Lets decoding go on at the key frame at timestamp `time` or before it.
fn seek(decoding: &Decoding, shared: &Shared, time: u64) -> bool {
    let segment = lock(&shared.segment).clone();
    let position = segment.and_then(|segment| segment.to_stream_time(gst::ClockTime::from_nseconds(time)));
    let flags = gst::SeekFlags::FLUSH | gst::SeekFlags::KEY_UNIT | gst::SeekFlags::SNAP_BEFORE;
    let event = gst::event::Seek::new(
        1.0,
        flags,
        gst::SeekType::Set,
        position.unwrap_or(gst::ClockTime::ZERO),
        gst::SeekType::None,
        gst::ClockTime::NONE,
    );
    decoding.converter.static_pad("sink").is_some_and(|pad| pad.push_event(event))
}

/// Writes what is serialized, of the frames of the range.
struct Writer {
    /// Nothing after the end.
    output: Option<Output>,
    range: Range,
    frames: u64,
    /// The timestamp of the first frame, and when it was written.
    begun: Option<(u64, Instant)>,
    /// The timestamp of the last frame.
    time: u64,
}

impl Writer {
    /// The first frame, the timestamp of the last one, and how many there are.
    fn progress(&self) -> (Option<(u64, Instant)>, u64, u64) {
        (self.begun, self.time, self.frames)
    }

    fn take(&mut self, buffer: &gst::BufferRef) -> Result<(), Error> {
        let map = buffer.map_readable().map_err(|error| Error::Search(error.to_string()))?;
        let bytes = map.strip_prefix(&HEADER).unwrap_or(&map);
        let time = buffer.pts().map(gst::ClockTime::nseconds);
        if !self.range.is_all() && !time.is_some_and(|time| self.range.contains(time)) {
            return Ok(());
        }
        let mut bytes = bytes.to_vec();
        self.time = time.unwrap_or(0);
        self.begun.get_or_insert((self.time, Instant::now()));
        self.frames += records::renumber(&mut bytes, self.frames).map_err(Error::Search)?;
        self.output.as_mut().map_or(Ok(()), |output| output.write(&bytes))
    }
}

fn write(sink: &gst_app::AppSink, shared: &Arc<Shared>) {
    let shared = shared.clone();
    let callbacks = gst_app::AppSinkCallbacks::builder().new_sample(move |sink| {
        let sample = sink.pull_sample().map_err(|_| gst::FlowError::Eos)?;
        let Some(buffer) = sample.buffer() else { return Ok(gst::FlowSuccess::Ok) };
        lock(&shared.writer).take(buffer).map_err(|error| {
            lock(&shared.failure).get_or_insert(error);
            gst::FlowError::Error
        })?;
        Ok(gst::FlowSuccess::Ok)
    });
    sink.set_callbacks(callbacks.build());
}

/// Where the video ends, as timestamp, if its headers say so.
fn video_end(pipeline: &gst::Pipeline, shared: &Shared) -> Option<u64> {
    let duration = pipeline.query_duration::<gst::ClockTime>()?;
    let segment = lock(&shared.segment).clone()?;
    Some(segment.position_from_stream_time(duration)?.nseconds())
}

/// After the last frame: whether the video has the whole range.
fn check_end(job: &Job, pipeline: &gst::Pipeline, shared: &Shared) -> Result<(), Error> {
    let gate = lock(&shared.gate);
    let wrong = |what: &str| Err(Error::Video(format!("{}: {what}", job.video.display())));
    let Some(end) = gate.end() else {
        if lock(&shared.writer).frames > 0 {
            return Ok(());
        }
        let advice =
            if job.piece.range.is_all() { "" } else { " there: it is cut off, or the range is too long" };
        return wrong(&format!("no frame could be decoded{advice}"));
    };
    if let Some(lacking) = gate.lacking() {
        return wrong(&lacking);
    }
    // Audio may be longer than video: only then the whole file has to be read.
    let is_short = |expected: u64| expected > end + plan::TOLERANCE;
    if job.piece.range.end.is_none() && video_end(pipeline, shared).is_some_and(is_short) {
        drop(gate);
        plan::Scan::of(&job.video)?.check(&job.video)?;
    }
    Ok(())
}

/// An error message on the bus: of the search, or of what reads the video.
fn told(job: &Job, element: &MotionEstimate, message: &gst::message::Error) -> Error {
    let error = message.error();
    if message.src().is_none_or(|source| source != element.upcast_ref::<gst::Object>()) {
        // A decoder is missing, but maybe only one for audio.
        let scanned = decoding::is_missing(&error).then(|| plan::Scan::of(&job.video).err()).flatten();
        return scanned.unwrap_or_else(|| decoding::video_error(&job.video, message));
    }
    let text = format!("motionestimate: {}", error.message());
    if error.matches(gst::ResourceError::NotFound) {
        Error::Usage(format!("{text} (motion-vectors --devices lists them)"))
    } else if error.matches(gst::LibraryError::Settings) {
        Error::Usage(text)
    } else {
        Error::Search(text)
    }
}

/// A pipeline that is stopped at the end of its scope.
struct Stopped(gst::Pipeline);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.set_state(gst::State::Null);
    }
}

/// Removes the output at the end of its scope, unless that is finished: a thread of GStreamer may hold the last
/// reference to what is shared, and end with the process.
struct Unfinished(Arc<Shared>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&self.0.writer).output = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_before_the_seek_is_taken() {
        // A warning of GStreamer's ends the test.
        glib::log_set_always_fatal(
            glib::LogLevels::LEVEL_ERROR | glib::LogLevels::LEVEL_CRITICAL | glib::LogLevels::LEVEL_WARNING,
        );
        gst::init().unwrap();
        let pipeline = Stopped(gst::Pipeline::new());
        let decoding = Decoding::add_to(&pipeline.0, std::path::Path::new("none")).unwrap();
        let sink = decoding::make("fakesink").unwrap();
        decoding::add(&pipeline.0, &[&sink]).unwrap();
        decoding.converter.link(&sink).unwrap();
        let range = ":".parse().unwrap();
        let shared = Arc::new(Shared {
            gate: Mutex::new(Gate::new(range, (0, 0), true)),
            phase: Mutex::new(Phase::Seeking),
            segment: Mutex::default(),
            failure: Mutex::default(),
            writer: Mutex::new(Writer { output: None, range, frames: 0, begun: None, time: 0 }),
        });
        guard(&decoding, &shared).unwrap();
        for element in [&sink, &decoding.converter] {
            element.set_state(gst::State::Paused).unwrap();
        }
        let pad = decoding.converter.static_pad("src").unwrap();
        assert!(pad.push_event(gst::event::StreamStart::new("video")));
        assert!(pad.push_event(gst::event::Eos::new()));
        let arrived = sink.static_pad("sink").unwrap().sticky_event::<gst::event::Eos>(0);
        assert!(arrived.is_none());
    }
}

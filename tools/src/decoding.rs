//! From a file to decoded frames, and what its errors mean.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gst::glib;
use gst::prelude::*;

use crate::error::Error;

/// Demultiplexers after whose seeks every frame has the timestamp that it has without one. Behind others, all frames
/// before a range are decoded.
const EXACT: [&str; 2] = ["matroskademux", "qtdemux"];

/// Calls of [`Watch::check`] without a running streaming thread: three seconds. Between two threads of a pipeline that
/// starts there is far less.
const LONGEST_IDLE: u32 = 30;

/// Calls of [`Watch::check`] in which threads run but nothing moves: 15 seconds. No decoder takes so long for a frame.
const LONGEST_STALL: u32 = 150;

/// The name of the message of a file without video.
pub const NO_VIDEO: &str = "no-video";

/// A source, a decoder and a converter in `pipeline`.
pub struct Decoding {
    pub source: gst::Element,
    pub converter: gst::Element,
    /// Whether the file's format is one of those after whose seeks timestamps are exact; known with the first frame.
    pub is_exact: Arc<AtomicBool>,
}

impl Decoding {
    /// Adds to `pipeline` what decodes the first video stream of `file`.
    ///
    /// # Errors
    /// [`Error::Search`] if GStreamer lacks an element.
    pub fn add_to(pipeline: &gst::Pipeline, file: &Path) -> Result<Self, Error> {
        let source = source(file)?;
        let caps = gst::Caps::builder("video/x-raw").any_features().build();
        // Without the second property, audio is decoded too.
        let decoder = make("decodebin")?;
        decoder.set_property("caps", caps);
        decoder.set_property("expose-all-streams", false);
        let converter = make("videoconvert")?;
        add(pipeline, &[&source, &decoder, &converter])?;
        source.link(&decoder).map_err(|error| Error::Search(error.to_string()))?;

        let sink =
            converter.static_pad("sink").ok_or_else(|| Error::Search("videoconvert has no pad".into()))?;
        decoder.connect_pad_added({
            let sink = sink.clone();
            move |_, pad| {
                let is_video = pad.current_caps().is_some_and(|caps| {
                    caps.structure(0).is_some_and(|structure| structure.name().starts_with("video/"))
                });
                if is_video && !sink.is_linked() {
                    // If it cannot be linked, the stream ends with an error that says so.
                    let _ = pad.link(&sink);
                }
            }
        });
        decoder.connect_no_more_pads(move |decoder| {
            if !sink.is_linked() {
                let message = gst::Structure::new_empty(NO_VIDEO);
                let _ =
                    decoder.post_message(gst::message::Application::builder(message).src(decoder).build());
            }
        });
        // qtdemux seeks to the wrong fragment.
        let is_fragmented = is_fragmented(file).unwrap_or(false);
        let is_exact = Arc::new(AtomicBool::new(false));
        let found = is_exact.clone();
        pipeline.connect_deep_element_added(move |_, _, element| {
            let Some(factory) = element.factory() else { return };
            if EXACT.contains(&factory.name().as_str()) && !is_fragmented {
                found.store(true, Ordering::Relaxed);
            } else if factory
                .has_type(gst::ElementFactoryType::DECODER | gst::ElementFactoryType::MEDIA_VIDEO)
                && let Some(pad) = element.static_pad("sink")
            {
                keep_open_end(&pad);
            }
        });
        Ok(Self { source, converter, is_exact })
    }
}

/// Whether `file` is an MP4 file in fragments: one of its outermost boxes is a `moof`.
fn is_fragmented(file: &Path) -> io::Result<bool> {
    let mut file = fs::File::open(file)?;
    let end = file.metadata()?.len();
    let mut at = 0;
    while at + 16 <= end {
        let mut start = [0; 16];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut start)?;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let length = match number(&start[..4]) {
            // It is too long for four bytes.
            1 => number(&start[8..]),
            length => length,
        };
        if start[4..8] == *b"moof" {
            return Ok(true);
        }
        // The last one may say 0.
        at = if length < 8 { end } else { at.saturating_add(length) };
    }
    Ok(false)
}

/// Lets the segment behind a seek have no end if the one before it has none. A demultiplexer may then set the end that
/// the file's header says, and the decoder cuts off there a part of the last frame's duration.
fn keep_open_end(pad: &gst::Pad) {
    let is_open = AtomicBool::new(false);
    let has_sought = AtomicBool::new(false);
    let types = gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    pad.add_probe(types, move |_, info| {
        let Some(gst::PadProbeData::Event(event)) = &mut info.data else { return gst::PadProbeReturn::Ok };
        match event.view() {
            gst::EventView::FlushStop(_) => has_sought.store(true, Ordering::Relaxed),
            gst::EventView::Segment(segment) => {
                let Some(segment) = segment.segment().downcast_ref::<gst::ClockTime>() else {
                    return gst::PadProbeReturn::Ok;
                };
                if !has_sought.load(Ordering::Relaxed) {
                    is_open.store(segment.stop().is_none(), Ordering::Relaxed);
                } else if is_open.load(Ordering::Relaxed) {
                    let mut segment = segment.clone();
                    segment.set_stop(gst::ClockTime::NONE);
                    *event = gst::event::Segment::builder(&segment).seqnum(event.seqnum()).build();
                }
            }
            _ => (),
        }
        gst::PadProbeReturn::Ok
    });
}

/// What has moved through a pipeline.
#[derive(Default)]
struct Traffic {
    /// Reads of the file that gave data, and buffers that reached the end of what is watched.
    steps: AtomicU64,
    /// Up to where the file was read.
    read: AtomicU64,
    /// Whether a read has begun that the storage has not answered.
    is_reading: AtomicBool,
}

/// Notices that a pipeline has stopped without a message.
///
/// GStreamer's decodebin and parsebin (1.22) sometimes lose the error message of a demultiplexer that fails at once, and
/// the demultiplexers of FFmpeg may read at the end of a short file again and again.
pub struct Watch {
    source: gst::Pad,
    /// The pad from which decoded frames are pushed, if they are.
    decoded: Option<gst::Pad>,
    /// Bytes of the file.
    length: u64,
    traffic: Arc<Traffic>,
    /// The steps that were seen.
    steps: u64,
    /// Calls since there was a step. Calls are counted and no time, so that a loaded machine has longer limits.
    calls: u32,
}

impl Watch {
    /// Between two calls of [`Self::check`].
    pub const INTERVAL: gst::ClockTime = gst::ClockTime::from_mseconds(100);

    /// Watches what `source` reads of `file`, and what is pushed from the pad `decoded`.
    ///
    /// # Errors
    /// [`Error::Search`] if `source` has no pad.
    pub fn new(source: &gst::Element, file: &Path, decoded: Option<gst::Pad>) -> Result<Self, Error> {
        let length = fs::metadata(file).map_or(0, |metadata| metadata.len());
        let source = source.static_pad("src").ok_or_else(|| Error::Search("filesrc has no pad".into()))?;
        let traffic = Arc::new(Traffic::default());
        let begun = traffic.clone();
        let before_reads = gst::PadProbeType::BLOCK | gst::PadProbeType::PULL | gst::PadProbeType::BUFFER;
        source.add_probe(before_reads, move |_, info| {
            // At the end of the file there is nothing to wait for.
            begun.is_reading.store(info.offset < length, Ordering::Relaxed);
            gst::PadProbeReturn::Pass
        });
        let done = traffic.clone();
        source.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let end = info.buffer().map_or(0, |buffer| buffer.offset_end());
            done.read.fetch_max(end, Ordering::Relaxed);
            done.is_reading.store(false, Ordering::Relaxed);
            done.steps.fetch_add(1, Ordering::Relaxed);
            gst::PadProbeReturn::Ok
        });
        if let Some(pad) = &decoded {
            let passed = traffic.clone();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
                passed.steps.fetch_add(1, Ordering::Relaxed);
                gst::PadProbeReturn::Ok
            });
        }
        Ok(Self { source, decoded, length, traffic, steps: 0, calls: 0 })
    }

    /// Called when there was no message for [`Self::INTERVAL`].
    ///
    /// # Errors
    /// [`Error::Video`] if nothing of `file` has moved through `pipeline` for some time, and neither the search nor the
    /// storage is what it waits for.
    pub fn check(&mut self, pipeline: &gst::Pipeline, file: &Path) -> Result<(), Error> {
        let steps = self.traffic.steps.load(Ordering::Relaxed);
        let is_searching = self.decoded.as_ref().is_some_and(|pad| !is_idle(pad));
        if steps != self.steps || is_searching || self.is_reading() {
            (self.steps, self.calls) = (steps, 0);
            return Ok(());
        }
        self.calls += 1;
        let wrong = |what: &str| Err(Error::Video(format!("{}: {what}", file.display())));
        let working = working(pipeline);
        if working.is_empty() && self.calls >= LONGEST_IDLE {
            return wrong("GStreamer cannot read it: it may be damaged or cut off");
        }
        if self.calls < LONGEST_STALL {
            return Ok(());
        }
        let is_queue = |name: &String| name.contains("queue");
        let waiting = working.iter().filter(|&name| !is_queue(name)).cloned().collect::<Vec<_>>();
        wrong(&format!(
            "GStreamer has stalled: {} of {} bytes are read, and there is neither a frame nor an end from {}: convert the \
             video to another format, such as MP4",
            self.traffic.read.load(Ordering::Relaxed).min(self.length),
            self.length,
            if waiting.is_empty() { working } else { waiting }.join(", "),
        ))
    }

    /// Whether the storage is what the pipeline waits for.
    fn is_reading(&self) -> bool {
        let is_pushing = self.source.task_state() == gst::TaskState::Started;
        self.traffic.is_reading.load(Ordering::Relaxed) || is_pushing && is_idle(&self.source)
    }
}

/// The elements of `pipeline` whose streaming threads run.
fn working(pipeline: &gst::Pipeline) -> Vec<String> {
    let works = |pad: &gst::Pad| pad.task_state() == gst::TaskState::Started;
    let elements = pipeline.iterate_recurse().into_iter().flatten();
    let names = elements.filter(|element| element.pads().iter().any(works)).map(|element| {
        element.factory().map_or_else(|| element.name().into(), |factory| factory.name().into())
    });
    names.collect()
}

/// Whether nothing is being pushed from `pad`.
fn is_idle(pad: &gst::Pad) -> bool {
    // An idle pad runs the probe at once, and keeps none.
    match pad.add_probe(gst::PadProbeType::IDLE, |_, _| gst::PadProbeReturn::Remove) {
        Some(probe) => {
            pad.remove_probe(probe);
            false
        }
        None => true,
    }
}

/// What reads `file`.
///
/// # Errors
/// [`Error::Video`] for a name that GStreamer cannot take.
pub fn source(file: &Path) -> Result<gst::Element, Error> {
    let name =
        file.to_str().ok_or_else(|| Error::Video(format!("{}: the name is not UTF-8", file.display())))?;
    let source = make("filesrc")?;
    source.set_property("location", name);
    Ok(source)
}

/// An element of GStreamer's.
///
/// # Errors
/// [`Error::Search`] if it is not installed.
pub fn make(name: &str) -> Result<gst::Element, Error> {
    gst::ElementFactory::make(name)
        .build()
        .map_err(|_| Error::Search(format!("GStreamer's element {name} is not installed")))
}

/// Adds `elements` to `pipeline`.
///
/// # Errors
/// [`Error::Search`], which does not happen with new elements.
pub fn add(pipeline: &gst::Pipeline, elements: &[&gst::Element]) -> Result<(), Error> {
    pipeline.add_many(elements).map_err(|error| Error::Search(error.to_string()))
}

/// An error message on the bus while `file` is read.
pub fn video_error(file: &Path, message: &gst::message::Error) -> Error {
    let error = message.error();
    let advice =
        if error.matches(gst::StreamError::TypeNotFound) || error.matches(gst::StreamError::WrongType) {
            "it is no video that GStreamer knows"
        } else if is_missing(&error) {
            "install the GStreamer plugin for it, or convert the video"
        } else {
            "it may be damaged or cut off"
        };
    // The first line says where in the sources of GStreamer.
    let details = message.debug().and_then(|debug| debug.lines().nth(1).map(|line| format!(" ({line})")));
    let details = details.unwrap_or_default();
    Error::Video(format!("{}: {}{details}: {advice}", file.display(), error.message()))
}

/// Whether GStreamer lacks an element for the file.
pub fn is_missing(error: &glib::Error) -> bool {
    error.matches(gst::CoreError::MissingPlugin) || error.matches(gst::StreamError::CodecNotFound)
}

/// The error of a file that holds no video.
pub fn no_video(file: &Path) -> Error {
    Error::Video(format!("{}: there is no video in it that GStreamer can decode", file.display()))
}

//! From a file to decoded frames, and what its errors mean.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gst::glib;
use gst::prelude::*;

use crate::error::Error;

/// Demultiplexers after whose seeks every frame has the timestamp that it has without one. Behind others, all frames
/// before a range are decoded.
const EXACT: [&str; 2] = ["matroskademux", "qtdemux"];

/// Between two streaming threads of a pipeline that starts there is far less.
const LONGEST_IDLE: Duration = Duration::from_secs(3);

/// The name of the message of a file without video.
pub const NO_VIDEO: &str = "no-video";

/// A source, a decoder and a converter in `pipeline`.
pub struct Decoding {
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
        Ok(Self { converter, is_exact })
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

/// Notices that a pipeline has stopped without a message.
///
/// GStreamer's decodebin and parsebin (1.22) sometimes lose the error message of a demultiplexer that fails at once.
#[derive(Default)]
pub struct Watch {
    idle_since: Option<Instant>,
}

impl Watch {
    /// Called when there was no message for a while.
    ///
    /// # Errors
    /// [`Error::Video`] if no streaming thread of `pipeline` has worked on `file` for some time.
    pub fn check(&mut self, pipeline: &gst::Pipeline, file: &Path) -> Result<(), Error> {
        let works = |pad: &gst::Pad| pad.task_state() == gst::TaskState::Started;
        let is_idle = |element: gst::Element| !element.pads().iter().any(works);
        if !pipeline.iterate_recurse().into_iter().all(|element| element.is_ok_and(is_idle)) {
            self.idle_since = None;
            return Ok(());
        }
        if self.idle_since.get_or_insert_with(Instant::now).elapsed() < LONGEST_IDLE {
            return Ok(());
        }
        Err(Error::Video(format!(
            "{}: GStreamer cannot read it: it may be damaged or cut off",
            file.display()
        )))
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

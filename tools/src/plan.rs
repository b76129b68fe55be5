//! Where a video can be cut: its key frames, found without decoding.

use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use gst::prelude::*;
use serde::{Serialize, Serializer};

use crate::decoding;
use crate::error::Error;
use crate::range::{self, Range, Seconds};

/// By how much a file may be shorter than its headers say, in nanoseconds: durations are rounded.
pub const TOLERANCE: u64 = 500_000_000;

/// How many ranges a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cutting {
    /// At most so many.
    Count(usize),
    /// As many as make each about so many nanoseconds long.
    Every(u64),
}

impl FromStr for Cutting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "write a number of ranges, such as 8, or their duration in seconds, such as 10s";
        if let Some(seconds) = text.strip_suffix('s') {
            return range::time(seconds).map(Self::Every).map_err(|_| wrong);
        }
        text.parse().map(Self::Count).map_err(|_| wrong)
    }
}

impl Cutting {
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Count(0) | Self::Every(0))
    }

    /// The number of ranges of a video that takes `duration` nanoseconds.
    fn count(self, duration: u64) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Every(each) => duration.div_ceil(each).max(1) as usize,
        }
    }
}

/// The ranges of a video, as `--json` prints them.
#[derive(Serialize)]
pub struct Plan {
    /// The timestamp of the first frame and the end of the last one, in seconds.
    start: String,
    end: String,
    frames: u64,
    key_frames: usize,
    #[serde(serialize_with = "as_texts")]
    pub ranges: Vec<Range>,
    /// How many there would be with enough key frames.
    #[serde(skip)]
    pub wanted: usize,
}

fn as_texts<S: Serializer>(ranges: &[Range], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter().map(Range::to_string))
}

/// What the packets of a file show.
#[derive(Default)]
pub struct Scan {
    /// The timestamps of the key frames of the first video stream.
    keys: Vec<u64>,
    /// The timestamps of its first frame and of the end of its last one.
    video: Option<(u64, u64)>,
    /// The video's packets, and those without a timestamp.
    packets: u64,
    untimed: u64,
    has_video: bool,
    /// Where the last packet of any stream ends, as stream time, and where the headers say so.
    end: u64,
    duration: Option<u64>,
}

impl Scan {
    /// Reads all packets of `file`.
    ///
    /// # Errors
    /// [`Error::Video`] if it cannot be read.
    pub fn of(file: &Path) -> Result<Self, Error> {
        let pipeline = gst::Pipeline::new();
        let source = decoding::source(file)?;
        let parser = decoding::make("parsebin")?;
        decoding::add(&pipeline, &[&source, &parser])?;
        source.link(&parser).map_err(|error| Error::Search(error.to_string()))?;
        let scan = Arc::new(Mutex::new(Self::default()));
        parser.connect_pad_added({
            let (scan, pipeline) = (scan.clone(), pipeline.downgrade());
            move |_, pad| {
                // A stream that is not linked is not scanned; the others are.
                if let Some(pipeline) = pipeline.upgrade() {
                    let _ = add_stream(&pipeline, pad, &scan);
                }
            }
        });
        let outcome =
            decoding::Watch::new(&source, file, None).and_then(|watch| run(&pipeline, watch, file, &scan));
        let _ = pipeline.set_state(gst::State::Null);
        outcome?;
        let mut scan = std::mem::take(&mut *lock(&scan));
        scan.keys.sort_unstable();
        scan.keys.dedup();
        if !scan.has_video { Err(decoding::no_video(file)) } else { Ok(scan) }
    }

    /// Whether the file has all that its headers promise.
    ///
    /// # Errors
    /// [`Error::Video`] if it is cut off.
    pub fn check(&self, file: &Path) -> Result<(), Error> {
        match self.duration {
            Some(duration) if self.end + TOLERANCE < duration => Err(Error::Video(format!(
                "{}: cut off at {} of {}: copy it again, or search what is there with --range :{}",
                file.display(),
                Seconds(self.end),
                Seconds(duration),
                Seconds(self.video.map_or(self.end, |(_, end)| end)),
            ))),
            _ => Ok(()),
        }
    }

    /// Ranges that begin at key frames and together are the whole video, of about the same duration: fewer than
    /// `cutting` says if there are too few key frames.
    ///
    /// # Errors
    /// [`Error::Video`] if it cannot be cut.
    pub fn plan(&self, cutting: Cutting, file: &Path) -> Result<Plan, Error> {
        // motion_ray shows this too, and has no option for it.
        let wrong = |what: &str, or: &str| {
            let whole = format!("motion-vectors {} --out FILE", file.display());
            Error::Video(format!("{}: {what}: {or}search all of it with {whole}", file.display()))
        };
        if self.untimed > 0 {
            let what = format!("{} of {} frames have no timestamps", self.untimed, self.packets);
            return Err(wrong(&what, "put it into MP4 or Matroska, or "));
        }
        let (first, end) = self.video.ok_or_else(|| wrong("it has no frames", ""))?;
        if self.keys.is_empty() {
            return Err(wrong("it has no key frames", ""));
        }
        let wanted = cutting.count(end - first);
        Ok(Plan {
            start: Seconds(first).to_string(),
            end: Seconds(end).to_string(),
            frames: self.packets,
            key_frames: self.keys.len(),
            ranges: cut(&self.keys, (first, end), wanted),
            wanted,
        })
    }
}

/// Cuts at those of `keys`, in order, that are nearest to equal parts of the time from `first` to `end`.
fn cut(keys: &[u64], (first, end): (u64, u64), count: usize) -> Vec<Range> {
    let mut cuts: Vec<u64> = (1..count as u64)
        .filter_map(|part| {
            let ideal = first + (u128::from(end - first) * u128::from(part) / count as u128) as u64;
            let after = keys.partition_point(|&key| key < ideal);
            let around = keys[after.saturating_sub(1)..].iter().take(2).copied();
            around.filter(|&key| key > first).min_by_key(|&key| key.abs_diff(ideal))
        })
        .collect();
    cuts.dedup();
    let starts = std::iter::once(None).chain(cuts.iter().copied().map(Some));
    let ends = cuts.iter().copied().map(Some).chain([None]);
    starts.zip(ends).map(|(start, end)| Range { start, end }).collect()
}

/// Looks at the packets of `pad`'s stream.
fn add_stream(pipeline: &gst::Pipeline, pad: &gst::Pad, scan: &Arc<Mutex<Scan>>) -> Result<(), Error> {
    let caps = pad.current_caps().unwrap_or_else(|| pad.query_caps(None));
    let kind = caps.structure(0).map_or("", |structure| structure.name().as_str());
    let is_video = (kind.starts_with("video/") || kind.starts_with("image/"))
        && !std::mem::replace(&mut lock(scan).has_video, true);
    let sink = decoding::make("fakesink")?;
    sink.set_property("sync", false);
    sink.set_property("async", false);
    decoding::add(pipeline, &[&sink])?;
    let linked = sink.static_pad("sink").is_some_and(|input| pad.link(&input).is_ok());
    if !linked || sink.sync_state_with_parent().is_err() {
        return Ok(());
    }
    let scan = scan.clone();
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        if let Some(buffer) = info.buffer() {
            lock(&scan).take(pad, buffer, is_video);
        }
        gst::PadProbeReturn::Ok
    });
    Ok(())
}

impl Scan {
    fn take(&mut self, pad: &gst::Pad, buffer: &gst::BufferRef, is_video: bool) {
        let end = |time: gst::ClockTime| time + buffer.duration().unwrap_or_default();
        if let Some(time) = buffer.dts_or_pts() {
            let segment = pad.sticky_event::<gst::event::Segment>(0);
            let segment = segment.and_then(|event| event.segment().downcast_ref::<gst::ClockTime>().cloned());
            let end = segment.and_then(|segment| segment.to_stream_time(end(buffer.pts().unwrap_or(time))));
            self.end = self.end.max(end.map_or(0, gst::ClockTime::nseconds));
        }
        if !is_video {
            return;
        }
        // The headers of a stream, which are no frames.
        if buffer.pts().is_none() && buffer.flags().contains(gst::BufferFlags::HEADER) {
            return;
        }
        self.packets += 1;
        let Some(time) = buffer.pts() else {
            self.untimed += 1;
            return;
        };
        let (start, end) = (time.nseconds(), end(time).nseconds());
        let (first, last) = self.video.unwrap_or((start, end));
        self.video = Some((first.min(start), last.max(end)));
        if !buffer.flags().contains(gst::BufferFlags::DELTA_UNIT) {
            self.keys.push(start);
        }
    }
}

/// Reads to the end.
fn run(
    pipeline: &gst::Pipeline,
    mut watch: decoding::Watch,
    file: &Path,
    scan: &Mutex<Scan>,
) -> Result<(), Error> {
    let bus = pipeline.bus().ok_or_else(|| Error::Search("the pipeline has no bus".into()))?;
    // An element that refuses has told the bus why.
    let _ = pipeline.set_state(gst::State::Playing);
    loop {
        let Some(message) = bus.timed_pop(decoding::Watch::INTERVAL) else {
            watch.check(pipeline, file)?;
            continue;
        };
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(error) => return Err(decoding::video_error(file, error)),
            _ => (),
        }
    }
    lock(scan).duration = pipeline.query_duration::<gst::ClockTime>().map(gst::ClockTime::nseconds);
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(keys: &[u64], times: (u64, u64), count: usize) -> Vec<String> {
        cut(keys, times, count).iter().map(Range::to_string).collect()
    }

    #[test]
    fn ranges_begin_at_the_key_frames_nearest_to_equal_parts() {
        const S: u64 = 1_000_000_000;
        let keys = [0, 2 * S, 5 * S, 6 * S, 9 * S];
        assert_eq!(text(&keys, (0, 10 * S), 1), [":"]);
        assert_eq!(text(&keys, (0, 10 * S), 2), [":5", "5:"]);
        assert_eq!(text(&keys, (0, 10 * S), 3), [":2", "2:6", "6:"]);
        assert_eq!(text(&keys, (0, 10 * S), 100), [":2", "2:5", "5:6", "6:9", "9:"]);
        assert_eq!(text(&[0], (0, 10 * S), 4), [":"]);
        // Frames that come before the first key frame belong to the first range.
        assert_eq!(text(&[3 * S], (0, 10 * S), 2), [":3", "3:"]);
        assert_eq!(text(&[7 * S, 8 * S], (7 * S, 9 * S), 2), [":8", "8:"]);
    }
    #[test]
    fn a_cutting_is_a_number_or_a_duration() {
        for (text, cutting, count) in [
            ("8", Cutting::Count(8), 8),
            ("10s", Cutting::Every(10_000_000_000), 10),
            ("7s", Cutting::Every(7_000_000_000), 15),
            ("100/3s", Cutting::Every(33_333_333_333), 4),
            ("200s", Cutting::Every(200_000_000_000), 1),
        ] {
            assert_eq!(text.parse(), Ok(cutting));
            assert_eq!(cutting.count(100_000_000_000), count, "{text}");
        }
        for text in ["", "s", "-1", "1.5", "x", "10 s"] {
            assert!(text.parse::<Cutting>().is_err(), "{text}");
        }
        assert!(Cutting::Count(0).is_empty() && Cutting::Every(0).is_empty());
    }
}

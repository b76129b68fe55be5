//! What must hold for the frames of a stream: none is missing between two flushes, and each has its vectors.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use gstmotionestimate::meta::MotionVectorMeta;

/// Where a buffer or event was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Before the elements.
    Input,
    /// Behind the elements.
    Output,
}

/// More frames than the elements hold.
const HELD: usize = 64;

/// Checks the frames of one pipeline.
pub struct Stream {
    has_vectors: bool,
    /// The end of the last frame that went in, if it is known.
    end_in: Option<gst::ClockTime>,
    /// The end of the last frame that came out since the sequence began.
    end_out: Option<gst::ClockTime>,
    /// Whether the next frame is the first of its sequence, which has no vectors.
    is_first: bool,
    /// When the newest frames went in.
    entered: VecDeque<(gst::ClockTime, Instant)>,
    latencies: Vec<Duration>,
    fault: Option<String>,
}

impl Stream {
    pub fn new(has_vectors: bool) -> Self {
        Self {
            has_vectors,
            end_in: None,
            end_out: None,
            is_first: true,
            entered: VecDeque::new(),
            latencies: Vec::new(),
            fault: None,
        }
    }

    /// The pipeline was stopped: frames that were in it are gone.
    pub fn restart(&mut self) {
        (self.end_in, self.end_out, self.is_first) = (None, None, true);
        self.entered.clear();
    }

    pub fn take_latencies(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.latencies)
    }

    pub fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    /// Keeps the first fault.
    fn fail(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    pub fn buffer(&mut self, at: Watched, buffer: &gst::BufferRef) {
        let (Some(pts), Some(duration)) = (buffer.pts(), buffer.duration()) else {
            return self.fail(format!("a frame without time: {buffer:?}"));
        };
        match at {
            Watched::Input => {
                self.end_in = Some(pts + duration);
                if self.entered.len() == HELD {
                    self.entered.pop_front();
                }
                self.entered.push_back((pts, Instant::now()));
            }
            Watched::Output => {
                self.check_output(pts, buffer);
                self.end_out = Some(pts + duration);
                self.is_first = false;
                // Frames between frames went in at no time.
                if let Some((_, entered)) = self.entered.iter().find(|(entered, _)| *entered == pts) {
                    self.latencies.push(entered.elapsed());
                }
            }
        }
    }

    fn check_output(&mut self, pts: gst::ClockTime, buffer: &gst::BufferRef) {
        if let Some(expected) = self.end_out.filter(|end| *end != pts) {
            self.fail(format!("a frame is lost: expected one at {expected}, it is at {pts}"));
        }
        if buffer.size() == 0 {
            self.fail(format!("the frame at {pts} is empty"));
        }
        if self.has_vectors && !self.is_first && !matches!(MotionVectorMeta::of(buffer), Some(Ok(_))) {
            self.fail(format!("the frame at {pts} has no vectors"));
        }
    }

    pub fn event(&mut self, at: Watched, event: &gst::EventRef) {
        match (at, event.view()) {
            // Caps begin a sequence; they follow the frames of the one before without a gap.
            (Watched::Output, gst::EventView::Caps(_)) => self.is_first = true,
            (Watched::Output, gst::EventView::FlushStop(_)) => (self.end_out, self.is_first) = (None, true),
            // Frames that wait leave before a segment and before the end.
            (Watched::Output, gst::EventView::Segment(_) | gst::EventView::Eos(_)) => {
                if let (Some(went_in), Some(came_out)) = (self.end_in, self.end_out)
                    && went_in != came_out
                {
                    self.fail(format!(
                        "the last frame is lost: frames until {went_in} went in, until {came_out} came out"
                    ));
                }
                (self.end_in, self.end_out, self.is_first) = (None, None, true);
            }
            _ => (),
        }
    }
}

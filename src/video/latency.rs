//! How long an element holds frames back.

use std::collections::VecDeque;

use gst::prelude::*;
use parking_lot::Mutex;

/// The distance of frames is the median of so many.
const DISTANCES: usize = 5;

/// The latency that an element adds to a pipeline.
#[derive(Default)]
pub struct Latency(Mutex<Delay>);

#[derive(Default)]
struct Delay {
    latency: gst::ClockTime,
    /// What the caps say.
    nominal: gst::ClockTime,
    /// The frames that are waited for.
    frames: u64,
    /// Whether the source is live, so that the latency counts.
    is_live: bool,
    /// That of upstream and this element together, as the last query was answered, if the source is live.
    answered: Option<gst::ClockTime>,
    /// The timestamp of the newest frame, and the last distances of frames.
    newest: Option<gst::ClockTime>,
    distances: VecDeque<gst::ClockTime>,
}

impl Delay {
    /// Notes the timestamp of a frame.
    fn note(&mut self, pts: gst::ClockTime) {
        let before = self.newest.replace(pts);
        if let Some(distance) = before.and_then(|before| pts.checked_sub(before)) {
            self.distances.truncate(DISTANCES - 1);
            self.distances.push_front(distance);
        }
    }

    /// How far apart frames are, if enough have come. A single pause does not change it.
    fn distance(&self) -> Option<gst::ClockTime> {
        // None come where the source is not live.
        if self.distances.len() < DISTANCES {
            return None;
        }
        let mut distances: Vec<_> = self.distances.iter().copied().collect();
        distances.sort_unstable();
        Some(distances[DISTANCES / 2])
    }

    /// Computes the latency anew. Returns whether it is another one.
    fn update(&mut self) -> bool {
        let measured =
            self.distance().map_or(gst::ClockTime::ZERO, |distance| distance.saturating_mul(self.frames));
        // Jitter is no reason to configure the pipeline anew.
        let is_near =
            |time: gst::ClockTime| time.nseconds().abs_diff(measured.nseconds()) <= time.nseconds() / 8;
        let latency = if is_near(self.nominal) || measured < self.nominal {
            self.nominal
        } else if is_near(self.latency) {
            self.latency
        } else {
            measured
        };
        std::mem::replace(&mut self.latency, latency) != latency
    }
}

impl Latency {
    /// Whether frames wait for later ones.
    pub fn waits(&self) -> bool {
        self.0.lock().frames > 0
    }

    /// The latency, if the source is live and frames wait for later ones.
    pub fn of_live(&self) -> Option<gst::ClockTime> {
        let delay = self.0.lock();
        (delay.is_live && delay.frames > 0).then_some(delay.latency)
    }

    /// The latency of upstream and this element, as the pipeline knows it from the last query, if the source is live.
    pub fn answered(&self) -> Option<gst::ClockTime> {
        self.0.lock().answered
    }

    /// Back to none, without a message: the element starts.
    pub fn reset(&self) {
        *self.0.lock() = Delay::default();
    }

    /// Asks upstream whether the source is live. The pipeline asks only when its sinks have got a frame, and none may leave
    /// before the next one comes.
    pub fn ask(&self, sink: &gst::Pad) {
        let mut query = gst::query::Latency::new();
        if sink.peer_query(&mut query) {
            self.0.lock().is_live = query.result().0;
        }
    }

    /// Sets it to `nominal`, the duration of `frames` frames as the caps say; it is longer while the frames of a live source are
    /// further apart. If that is a change, tells the pipeline by a message of `element`.
    pub fn set_frames(&self, element: &impl IsA<gst::Element>, nominal: gst::ClockTime, frames: usize) {
        self.change(element, |delay| (delay.nominal, delay.frames) = (nominal, frames as u64));
    }

    /// Notes that a frame at `pts` has come.
    pub fn note(&self, element: &impl IsA<gst::Element>, pts: Option<gst::ClockTime>) {
        let Some(pts) = pts else { return };
        self.change(element, |delay| {
            if delay.is_live && delay.frames > 0 {
                delay.note(pts)
            }
        });
    }

    /// Notes that the distance of the next frame from the one before is no measure of how far apart frames are.
    pub fn pause(&self) {
        self.0.lock().newest = None;
    }

    fn change(&self, element: &impl IsA<gst::Element>, change: impl FnOnce(&mut Delay)) {
        let is_other = {
            let delay = &mut *self.0.lock();
            change(delay);
            delay.update()
        };
        if is_other {
            let message = gst::message::Latency::builder().src(element.upcast_ref()).build();
            // It fails where the element is in no pipeline.
            let _ = element.post_message(message);
        }
    }

    /// Adds it to upstream's answer to `query`, if that asks for the latency.
    pub fn add_to(&self, query: &mut gst::QueryRef) {
        if let gst::QueryViewMut::Latency(query) = query.view_mut() {
            let (is_live, least, most) = query.result();
            let delay = &mut *self.0.lock();
            let least = least.saturating_add(delay.latency);
            (delay.is_live, delay.answered) = (is_live, is_live.then_some(least));
            query.set(is_live, least, most.map(|most| most.saturating_add(delay.latency)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(nominal: u64, frames: u64, times: impl IntoIterator<Item = u64>) -> u64 {
        let milliseconds = gst::ClockTime::from_mseconds;
        let mut delay = Delay { nominal: milliseconds(nominal), frames, is_live: true, ..Delay::default() };
        delay.update();
        for time in times {
            delay.note(milliseconds(time));
            delay.update();
        }
        delay.latency.mseconds()
    }

    #[test]
    fn a_source_that_is_slower_than_its_caps_is_waited_for() {
        // 10 frames a second under caps of 30, and without a frame rate.
        assert_eq!(after(67, 2, (0..5).map(|number| 100 * number)), 67);
        assert_eq!(after(67, 2, (0..6).map(|number| 100 * number)), 200);
        assert_eq!(after(0, 2, (0..6).map(|number| 100 * number)), 200);
        // Jitter, and a source that is as fast again.
        assert_eq!(after(67, 2, [0, 100, 205, 300, 410, 500, 605, 700, 795]), 200);
        assert_eq!(
            after(67, 2, (0..6).map(|number| 100 * number).chain((0..6).map(|number| 533 + 33 * number))),
            67
        );
    }

    #[test]
    fn pauses_and_frames_that_go_back_change_nothing() {
        assert_eq!(after(67, 2, (0..6).chain(60..66).chain(2..8).map(|number| 33 * number)), 67);
        assert_eq!(after(67, 0, (0..6).map(|number| 100 * number)), 67);
    }
}

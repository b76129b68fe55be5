//! Segments, events and queries at another speed: every time of the output is that of the input divided by the speed.

use gst::{ClockTime, GenericFormattedValue};

use super::ratio::{Ratio, Retiming};
use crate::video;

/// A time of the input as one of the output.
pub fn divided(time: ClockTime, speed: Ratio) -> ClockTime {
    video::time(speed.divide(time.nseconds()))
}

/// A time of the output as one of the input.
fn multiplied(time: ClockTime, speed: Ratio) -> ClockTime {
    video::time(speed.of(time.nseconds()))
}

/// A time of the input as one of the output, as `retiming` says.
pub fn output(time: ClockTime, retiming: &Retiming) -> ClockTime {
    video::time(retiming.output(time.nseconds()))
}

/// `segment` at `speed`. Running times are divided as well, so that what follows another segment follows it at once.
pub fn segment(segment: &gst::FormattedSegment<ClockTime>, speed: Ratio) -> gst::FormattedSegment<ClockTime> {
    let mut retimed = segment.clone();
    let divide = |time: Option<ClockTime>| time.map(|time| divided(time, speed));
    retimed.set_base(divide(segment.base()));
    retimed.set_offset(divide(segment.offset()));
    retimed.set_start(divide(segment.start()));
    retimed.set_stop(divide(segment.stop()));
    retimed.set_time(divide(segment.time()));
    retimed.set_position(divide(segment.position()));
    retimed.set_duration(divide(segment.duration()));
    retimed
}

/// The segment of the output from the input's time `at` on, in nanoseconds, where the speed has changed: behind `segment`, for
/// `input`. Running time goes on. Stream time is that of the input divided by the new speed, as durations are.
pub fn continued_segment(
    [segment, input]: [&gst::FormattedSegment<ClockTime>; 2],
    at: u64,
    retiming: &Retiming,
) -> gst::FormattedSegment<ClockTime> {
    let (at, speed) = (video::time(at), retiming.speed());
    let start = output(at, retiming);
    let mut continued = segment.clone();
    continued.set_base(segment.to_running_time(start).or(segment.base()));
    continued.set_offset(ClockTime::ZERO);
    continued.set_start(start);
    continued.set_stop(input.stop().map(|stop| output(stop, retiming)));
    continued.set_time(input.to_stream_time(at).map(|time| divided(time, speed)));
    continued.set_position(start);
    continued.set_duration(input.duration().map(|duration| divided(duration, speed)));
    continued
}

/// `event` with times of the output.
pub fn downstream(event: gst::Event, retiming: &Retiming) -> gst::Event {
    if retiming.is_identity() {
        return event;
    }
    let time = |time| output(time, retiming);
    let seqnum = event.seqnum();
    match event.view() {
        gst::EventView::Gap(gap) => {
            let (timestamp, duration) = gap.get();
            gst::event::Gap::builder(time(timestamp))
                .duration(duration.map(|duration| divided(duration, retiming.speed())))
                .gap_flags(gap.gap_flags())
                .seqnum(seqnum)
                .build()
        }
        gst::EventView::SegmentDone(done) => match done.get() {
            GenericFormattedValue::Time(Some(position)) => {
                gst::event::SegmentDone::builder(time(position)).seqnum(seqnum).build()
            }
            _ => event,
        },
        _ => event,
    }
}

/// `event`, which goes upstream, with times of the input.
pub fn upstream(event: gst::Event, speed: Ratio) -> gst::Event {
    if speed == Ratio::ONE {
        return event;
    }
    let seqnum = event.seqnum();
    match event.view() {
        gst::EventView::Seek(seek) => {
            let (rate, flags, start_type, start, stop_type, stop) = seek.get();
            let (GenericFormattedValue::Time(start), GenericFormattedValue::Time(stop)) = (start, stop)
            else {
                return event;
            };
            let [start, stop] = [start, stop].map(|time| time.map(|time| multiplied(time, speed)));
            gst::event::Seek::builder(rate, flags, start_type, start, stop_type, stop)
                .trickmode_interval(seek.trickmode_interval())
                .seqnum(seqnum)
                .build()
        }
        gst::EventView::Qos(qos) => {
            let (kind, proportion, late, timestamp) = qos.get();
            let distance = speed.of(late.unsigned_abs()).min(i64::MAX as u64) as i64;
            gst::event::Qos::builder(kind, proportion, distance * late.signum())
                .timestamp(timestamp.map(|time| multiplied(time, speed)))
                .seqnum(seqnum)
                .build()
        }
        _ => event,
    }
}

/// Turns the times of upstream's answer into times of the output.
pub fn answer(query: gst::QueryViewMut<'_>, speed: Ratio) {
    if speed == Ratio::ONE {
        return;
    }
    match query {
        gst::QueryViewMut::Duration(query) => {
            if let GenericFormattedValue::Time(Some(duration)) = query.result() {
                query.set(divided(duration, speed));
            }
        }
        gst::QueryViewMut::Seeking(query) => {
            if let (is_seekable, GenericFormattedValue::Time(start), GenericFormattedValue::Time(end)) =
                query.result()
            {
                let [start, end] = [start, end].map(|time| time.map(|time| divided(time, speed)));
                query.set(is_seekable, start, end);
            }
        }
        _ => (),
    }
}

/// Answers the SEGMENT or POSITION query with the output's `segment`. Returns whether it is one of these in time.
pub fn answer_of_segment(query: gst::QueryViewMut<'_>, segment: &gst::FormattedSegment<ClockTime>) -> bool {
    match query {
        gst::QueryViewMut::Segment(query) => {
            let [start, stop] = [segment.start(), segment.stop().or(segment.duration())]
                .map(|time| segment.to_stream_time(time));
            query.set(segment.rate(), start, stop);
            true
        }
        gst::QueryViewMut::Position(query) if query.format() == gst::Format::Time => {
            let position = segment.to_stream_time(segment.position());
            query.set(position);
            position.is_some()
        }
        _ => false,
    }
}

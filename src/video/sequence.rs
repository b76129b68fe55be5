//! Sequences: runs of frames without an interruption. What ends one, and what events and queries do to frames that wait, is
//! the same in every element.

use std::sync::atomic::{AtomicBool, Ordering};

use gst::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use parking_lot::Mutex;

use super::frame::PlaneError;
use super::interrupt::Interrupt;
use super::latency::Latency;
use super::memory;
use super::stall::StallTimer;

/// What an event means for the frames of a sequence.
///
/// | event | meaning |
/// |---|---|
/// | `FLUSH_STOP` | [`Self::Flush`] |
/// | `STREAM_START`, `CAPS` with other caps, `SEGMENT`, `SEGMENT_DONE`, `GAP`, `STREAM_GROUP_DONE`, `EOS`, the beginning of a still frame | [`Self::End`] |
/// | other serialized events | [`Self::InOrder`] |
/// | all others, and `CAPS` with the same caps | [`Self::AtOnce`] |
///
/// A `GAP` before the first segment is [`Self::Nothing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The frames that wait are dropped. The next frame is the first of a sequence.
    Flush,
    /// The frames that wait leave without those that do not come any more. The next frame is the first of a sequence.
    End,
    /// The frames that wait for no later one leave. The event follows the others; the sequence goes on.
    InOrder,
    /// The event overtakes the frames that wait.
    AtOnce,
    /// The event is dropped.
    Nothing,
}

/// Whether `event`, which has come to `sink`, is a GAP before the first segment, as depayloaders send where packets are lost. Its
/// time is one of no segment: a sink that gets it waits forever.
pub fn is_gap_without_segment(sink: &gst::Pad, event: &gst::EventRef) -> bool {
    event.type_() == gst::EventType::Gap && sink.sticky_event::<gst::event::Segment>(0).is_none()
}

impl Meaning {
    /// What `event` means on a pad with `caps`.
    pub fn of(event: &gst::EventRef, caps: Option<&gst::CapsRef>) -> Self {
        use gst::EventType;
        match event.type_() {
            EventType::FlushStop => Self::Flush,
            EventType::Caps => match event.view() {
                gst::EventView::Caps(event) if caps == Some(event.caps()) => Self::AtOnce,
                _ => Self::End,
            },
            EventType::StreamStart
            | EventType::Segment
            | EventType::SegmentDone
            | EventType::Gap
            | EventType::StreamGroupDone
            | EventType::Eos => Self::End,
            EventType::CustomDownstream
                if gst_video::StillFrameEvent::parse(event).is_ok_and(|still| still.in_still) =>
            {
                Self::End
            }
            _ if event.is_serialized() => Self::InOrder,
            _ => Self::AtOnce,
        }
    }
}

/// A live source does not stall while frames come that often.
const LEAST_STALL: gst::ClockTime = gst::ClockTime::from_mseconds(500);

/// What goes downstream next.
pub enum Leaving {
    Buffer(gst::Buffer),
    Event(gst::Event),
}

/// Which of the frames that wait leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Those that are too many.
    Surplus,
    /// All that need no later frame.
    Complete,
}

/// What an element needs that holds frames back, from start to stop.
#[derive(Default)]
pub struct Holding {
    pub latency: Latency,
    pub interrupt: Interrupt,
    pub stall: Mutex<StallTimer>,
    /// What became of frames that had to leave before an event or query.
    failed: Mutex<Option<gst::FlowError>>,
    /// Whether the application has been told of a buffer that was left out.
    is_told: AtomicBool,
}

impl Holding {
    /// As at the start of the element.
    pub fn reset(&self) {
        self.latency.reset();
        *self.failed.lock() = None;
        self.is_told.store(false, Ordering::Relaxed);
    }

    /// The element stops.
    pub fn stop(&self) {
        self.stall.lock().stop();
    }

    /// Tells upstream of an error before an event or query, when the next buffer comes.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> Result<(), gst::FlowError> {
        self.failed.lock().take().map_or(Ok(()), Err)
    }

    /// As at the start of the stream, after a flush.
    fn flush(&self) {
        *self.failed.lock() = None;
    }

    /// Keeps an error for [`Self::check`].
    pub fn keep(&self, result: Result<(), gst::FlowError>) {
        if let Err(error) = result {
            *self.failed.lock() = Some(error);
        }
    }
}

/// An element whose frames wait for others. The required methods say what its stream does; the provided ones handle events
/// and queries with them. All but [`Self::holding`] are called by the streaming thread alone.
pub trait HoldsFrames: BaseTransformImpl {
    fn holding(&self) -> &Holding;

    /// Takes what leaves next of what `leave` names.
    ///
    /// # Errors
    /// If a frame cannot be sent. It is dropped then.
    fn pop_output(&self, leave: Leave) -> Result<Option<Leaving>, gst::FlowError>;

    /// No more frames of the sequence come, because of `event` if there is one: those that wait need no later one.
    fn expect_no_more(&self, event: Option<&gst::EventRef>);

    /// Makes the next frame the first of a sequence, once none waits.
    fn forget(&self);

    /// Drops the frames that wait, and makes the next one the first of a sequence. Sticky events still leave.
    fn discard(&self);

    /// Takes `event`, which leaves behind the frames that wait; gives it back if none waits.
    fn hold(&self, event: gst::Event) -> Option<gst::Event>;

    /// Replaces the buffers of upstream's that are held by copies.
    ///
    /// # Errors
    /// If what still reads them fails.
    fn release_buffers(&self) -> Result<(), gst::FlowError>;

    /// Checks that `buffer` holds the frame its caps promise, as far as the element reads it.
    ///
    /// # Errors
    /// What it holds instead.
    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError>;

    /// Whether `buffer` is left out, because it does not hold the frame its caps promise. No other frame is lost for it: those
    /// that wait leave, and the next one is the first of a sequence. A warning tells of the first such buffer since the start.
    ///
    /// # Errors
    /// As [`Self::send`].
    fn leaves_out(&self, buffer: &gst::Buffer) -> Result<bool, gst::FlowError> {
        let Err(error) = self.check_frame(buffer) else { return Ok(false) };
        gst::warning!(gst::CAT_DEFAULT, imp = self, "A buffer is dropped: {error}");
        if !self.holding().is_told.swap(true, Ordering::Relaxed) {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("A buffer does not hold the frame its caps promise, and is dropped"),
                ["{error}; {:?}", self.obj().sink_pad().current_caps()]
            );
        }
        self.end_sequence(None)?;
        Ok(true)
    }

    /// What holds before every frame: `buffer` begins a sequence if it is a discontinuity.
    ///
    /// # Errors
    /// What became of frames that had to leave before.
    fn before_frame(&self, buffer: &gst::BufferRef) -> Result<(), gst::FlowError> {
        // It may be the last one that waits.
        self.holding().stall.lock().stop();
        self.holding().check()?;
        self.refuse_qos();
        if buffer.flags().contains(gst::BufferFlags::DISCONT) {
            self.end_sequence(None)?;
        }
        Ok(())
    }

    /// Sends on what is too much behind a frame that was taken; should it be the last for long, the others too.
    ///
    /// # Errors
    /// As [`Self::send`].
    fn after_frame(&self) -> Result<(), gst::FlowError> {
        self.send(Leave::Surplus)?;
        self.watch_for_stall();
        Ok(())
    }

    /// Sends on what `leave` names.
    ///
    /// # Errors
    /// As [`Self::pop_output`], or of downstream; the frames that wait are dropped then.
    fn send(&self, leave: Leave) -> Result<(), gst::FlowError> {
        let pad = self.obj().src_pad().clone();
        while let Some(leaving) = self.pop_output(leave)? {
            match leaving {
                Leaving::Event(event) => drop(pad.push_event(event)),
                Leaving::Buffer(buffer) => {
                    if let Err(error) = pad.push(buffer) {
                        self.discard();
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends on all frames that wait; the next one is the first of a sequence.
    ///
    /// # Errors
    /// As [`Self::send`].
    fn end_sequence(&self, event: Option<&gst::EventRef>) -> Result<(), gst::FlowError> {
        self.expect_no_more(event);
        let sent = self.send(Leave::Complete);
        self.forget();
        sent
    }

    /// As [`Self::end_sequence`], where upstream can be told of an error only with the next buffer.
    fn end_sequence_between_buffers(&self, event: Option<&gst::EventRef>) {
        let ended = self.end_sequence(event);
        self.holding().keep(ended);
    }

    /// Calls `act` in place of the streaming thread after `wait`, unless it is told to act again before.
    fn act_after(&self, wait: gst::ClockTime, act: impl FnOnce(&Self) + Send + 'static) {
        let element = self.obj().upcast_ref::<gst::Element>().downgrade();
        self.holding().stall.lock().start(wait, move |number| {
            let Some(element) = element.upgrade() else { return };
            // The clock's thread must not wait for downstream.
            element.call_async(move |element| {
                let Some(element) = element.downcast_ref::<Self::Type>() else { return };
                let pad = element.sink_pad();
                let _streaming = pad.stream_lock();
                let this = Self::from_obj(element);
                if this.holding().stall.lock().is_last(number) {
                    act(this);
                }
            });
        });
    }

    /// Lets the frames that wait leave if the source is live and stalls: if no frame comes for twice the latency, and for at
    /// least [`LEAST_STALL`].
    fn watch_for_stall(&self) {
        self.holding().stall.lock().stop();
        if let Some(latency) = self.holding().latency.of_live() {
            self.act_after(latency.saturating_mul(2).max(LEAST_STALL), |this| {
                gst::debug!(gst::CAT_DEFAULT, imp = this, "The source stalls: the frames that wait leave");
                this.end_sequence_between_buffers(None);
            });
        }
    }

    /// Refuses `qos` while frames wait for later ones. The base class drops input frames that are older than what downstream
    /// wants next, but what waits leaves only when others come: it would become ever later.
    fn refuse_qos(&self) {
        if self.obj().is_qos() && self.holding().latency.waits() {
            self.obj().set_qos(false);
            gst::element_imp_warning!(
                self,
                gst::LibraryError::Settings,
                ("qos=true is refused: frames wait for later ones, and would be dropped for it")
            );
        }
    }

    /// Whether the sequence goes on behind `event` where it would otherwise end.
    fn goes_on_behind(&self, _event: &gst::EventRef) -> bool {
        false
    }

    /// Does what `event` means for the frames that wait.
    fn before_event(&self, event: &gst::EventRef) -> Meaning {
        self.holding().interrupt.before_event(event);
        if is_gap_without_segment(self.obj().sink_pad(), event) {
            return Meaning::Nothing;
        }
        if event.type_() == gst::EventType::Segment {
            self.holding().latency.ask(self.obj().sink_pad());
        }
        let meaning = match Meaning::of(event, self.obj().sink_pad().current_caps().as_deref()) {
            Meaning::End if self.goes_on_behind(event) => Meaning::InOrder,
            meaning => meaning,
        };
        match meaning {
            Meaning::Flush => {
                self.discard();
                self.holding().flush();
            }
            Meaning::End => self.end_sequence_between_buffers(Some(event)),
            Meaning::InOrder => {
                let sent = self.send(Leave::Complete);
                self.holding().keep(sent);
            }
            Meaning::AtOnce | Meaning::Nothing => (),
        }
        meaning
    }

    /// Sends on `event` in its place, unless it is dropped. The base class gets it unless frames wait.
    fn forward_event(&self, event: gst::Event, meaning: Meaning) -> bool {
        if meaning == Meaning::Nothing {
            return true;
        }
        // Behind what ends a sequence no frame waits, even if one could not be sent.
        let event = if meaning == Meaning::InOrder { self.hold(event) } else { Some(event) };
        event.is_none_or(|event| self.parent_sink_event(event))
    }

    /// Answers a query that came from `direction`. Before a serialized one the frames that wait for no later one leave, and
    /// the others are copied, because upstream may need its buffers back; the sequence goes on.
    fn answer_query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if direction == gst::PadDirection::Sink && query.is_serialized() {
            let sent = self.send(Leave::Complete);
            self.holding().keep(sent.and(self.release_buffers()));
        }
        let is_answered = BaseTransformImplExt::parent_query(self, direction, query);
        memory::tell_if_refused(&*self.obj(), direction, query);
        if is_answered && direction == gst::PadDirection::Src {
            self.holding().latency.add_to(query);
        }
        is_answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_one_meaning() {
        gst::init().unwrap();
        let caps = gst::Caps::builder("video/x-raw").field("width", 8).build();
        let other = gst::Caps::builder("video/x-raw").field("width", 9).build();
        let zero = gst::ClockTime::ZERO;
        let still = |in_still| gst_video::StillFrameEvent::builder(in_still).build();
        let segment = gst::FormattedSegment::<gst::ClockTime>::new();
        for (event, meaning) in [
            (gst::event::FlushStart::new(), Meaning::AtOnce),
            (gst::event::FlushStop::new(true), Meaning::Flush),
            (gst::event::StreamStart::new("stream"), Meaning::End),
            (gst::event::Caps::new(&caps), Meaning::AtOnce),
            (gst::event::Caps::new(&other), Meaning::End),
            (gst::event::Segment::new(&segment), Meaning::End),
            (gst::event::SegmentDone::new(zero), Meaning::End),
            (gst::event::Gap::builder(zero).build(), Meaning::End),
            (gst::event::StreamGroupDone::new(gst::GroupId::next()), Meaning::End),
            (gst::event::Eos::new(), Meaning::End),
            (still(true), Meaning::End),
            (still(false), Meaning::InOrder),
            (gst::event::Tag::new(gst::TagList::new()), Meaning::InOrder),
            (gst::event::CustomDownstream::new(gst::Structure::new_empty("custom")), Meaning::InOrder),
            (gst::event::CustomDownstreamOob::new(gst::Structure::new_empty("custom")), Meaning::AtOnce),
        ] {
            assert_eq!(Meaning::of(&event, Some(&caps)), meaning, "{event:?}");
        }
        assert_eq!(Meaning::of(&gst::event::Caps::new(&caps), None), Meaning::End);
    }
}

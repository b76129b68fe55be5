//! When frames of `motioninterpolate` leave: behind others, before events, and where a live source pauses.

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::flow::{NoFrame, earlier};
use super::imp::{CAT, MotionInterpolate};
use super::plan::LONGEST_PAUSE;
use super::stream::InterpolateStream;
use crate::video;
use crate::video::sequence::{Holding, HoldsFrames, Leave, Leaving};

impl MotionInterpolate {
    /// Repeats the newest frame up to now, as the next one is late. `latency` is that of upstream and this element.
    fn wait_no_longer(&self, latency: gst::ClockTime) {
        let settled = self.settle_doubt(None);
        if let Some(now) = self.obj().current_running_time() {
            let state = &mut *self.state.lock();
            let (segment, stop) = (&state.input_segment, state.stop);
            if let Some(stream) = &mut state.stream
                && let Some((_, patience)) = stream.next_output()
                && let Some(end) = now.checked_sub(latency.saturating_add(video::time(patience)))
                && let Some(end) = segment.position_from_running_time(end)
            {
                stream.wait_no_longer(earlier(end.nseconds() + 1, stop));
            }
        }
        gst::debug!(CAT, imp = self, "The next frame is late: the newest is repeated");
        self.holding.keep(settled.and_then(|()| self.send(Leave::Complete)));
        self.watch_for_stall();
    }

    /// Frames leave in `segment` from now on.
    pub fn show_segment(&self, segment: gst::FormattedSegment<gst::ClockTime>) {
        let shown = &mut *self.shown.lock();
        let position = shown.position().max(segment.position());
        *shown = segment;
        shown.set_position(position);
    }
}

impl HoldsFrames for MotionInterpolate {
    fn holding(&self) -> &Holding {
        &self.holding
    }

    fn goes_on_behind(&self, event: &gst::EventRef) -> bool {
        let gst::EventView::Segment(event) = event.view() else { return false };
        let segment = event.segment().downcast_ref::<gst::ClockTime>();
        segment.is_some_and(|segment| self.state.lock().goes_on_in(segment))
    }

    fn pop_output(&self, leave: Leave) -> Result<Option<Leaving>, gst::FlowError> {
        let state = &mut *self.state.lock();
        let next = self.next_frame(state, leave);
        self.publish(state);
        match next {
            Ok(Some(Leaving::Event(event))) => {
                if let gst::EventView::Segment(segment) = event.view()
                    && let Some(segment) = segment.segment().downcast_ref::<gst::ClockTime>()
                {
                    state.segment = segment.clone();
                    self.show_segment(segment.clone());
                }
                Ok(Some(Leaving::Event(event)))
            }
            Ok(Some(Leaving::Buffer(buffer))) => {
                let end = buffer.pts().map(|time| time.saturating_add(buffer.duration().unwrap_or_default()));
                if end.is_some() {
                    self.shown.lock().set_position(end);
                }
                Ok(Some(Leaving::Buffer(buffer)))
            }
            Ok(None) => Ok(None),
            Err(NoFrame::Flow(error)) => Err(error),
            Err(NoFrame::Make(error)) => {
                let message = state.stream.as_ref().map(|stream| error.message(stream.incoming()));
                Err(message.map_or(gst::FlowError::Error, |message| self.fail(state, message)))
            }
        }
    }

    fn expect_no_more(&self, event: Option<&gst::EventRef>) {
        let state = &mut *self.state.lock();
        let (stop, segment, is_backwards) = (state.stop, &state.input_segment, state.mirror.is_some());
        let Some(stream) = &mut state.stream else { return };
        let view = event.map(|event| event.view());
        stream.expect_no_more(|newest, end| match view {
            // What the segment has after the last frame shows that frame.
            Some(gst::EventView::Eos(_) | gst::EventView::SegmentDone(_)) => {
                stop.filter(|stop| stop.saturating_sub(newest) <= LONGEST_PAUSE).or(end)
            }
            // Up to the running time at which the next one starts.
            Some(gst::EventView::Segment(event)) => {
                let next = event.segment().downcast_ref::<gst::ClockTime>().and_then(|next| next.base());
                let next = next.filter(|_| !is_backwards);
                let next = next.and_then(|base| segment.position_from_running_time(base));
                let next = next.map(gst::ClockTime::nseconds).filter(|&next| next > newest);
                match next {
                    Some(next) => stop.or(end).map(|end| end.min(next)),
                    None => end.map(|end| earlier(end, stop)),
                }
            }
            _ => end.map(|end| earlier(end, stop)),
        });
    }

    /// Lets the newest frame be repeated if the source is live and the next one does not come in time.
    fn watch_for_stall(&self) {
        self.holding.stall.lock().stop();
        let Some(latency) = *self.live_latency.lock() else { return };
        let deadline = {
            let state = &*self.state.lock();
            let next = state
                .stream
                .as_ref()
                .filter(|_| state.is_in_real_time())
                .and_then(InterpolateStream::next_output);
            let Some((time, patience)) = next else { return };
            let Some(time) = state.segment.to_running_time(video::time(time)) else { return };
            time.saturating_add(latency).saturating_add(video::time(patience))
        };
        let Some(now) = self.obj().current_running_time() else { return };
        self.act_after(deadline.saturating_sub(now), move |this| {
            if this.obj().current_state() == gst::State::Playing {
                this.wait_no_longer(latency);
            }
        });
    }

    fn forget(&self) {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.forget();
        }
    }

    fn discard(&self) {
        *self.earliest.lock() = None;
        if let Some(stream) = &mut self.state.lock().stream {
            stream.discard();
        }
    }

    // Nothing waits behind the frames that leave before an event: they need no later one.
    fn hold(&self, event: gst::Event) -> Option<gst::Event> {
        Some(event)
    }

    fn release_buffers(&self) -> Result<(), gst::FlowError> {
        if let Some(stream) = &mut self.state.lock().stream {
            stream.release_buffers();
        }
        Ok(())
    }
}

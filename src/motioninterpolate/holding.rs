//! When frames of `motioninterpolate` leave: behind others, before events, and where a live source pauses.

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::MotionInterpolateMode;
use super::flow::NoFrame;
use super::imp::{CAT, MotionInterpolate};
use super::plan::{LONGEST_PAUSE, earlier};
use super::retime;
use super::stream::InterpolateStream;
use crate::video;
use crate::video::frame::PlaneError;
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
        match event.view() {
            gst::EventView::Segment(event) => {
                let segment = event.segment().downcast_ref::<gst::ClockTime>();
                segment.is_some_and(|segment| self.state.lock().goes_on_in(segment))
            }
            // What follows the last frame of other caps is known when those of the output are.
            gst::EventView::Caps(_) => true,
            _ => false,
        }
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
        let speed = self.settings.lock().speed();
        let state = &mut *self.state.lock();
        let (stop, segment, is_backwards) = (state.stop, &state.input_segment, state.mirror.is_some());
        let Some(stream) = &mut state.stream else { return };
        let (Some(newest), end) = (stream.clock.newest(), stream.clock.end()) else { return };
        match event.map(|event| event.view()) {
            // What the segment has after the last frame shows that frame.
            Some(gst::EventView::Eos(_) | gst::EventView::SegmentDone(_)) => {
                let end = stop.filter(|stop| stop.saturating_sub(newest) <= LONGEST_PAUSE).or(end);
                if let Some(end) = end {
                    stream.expect_no_more(end, true);
                }
            }
            // Up to the running time at which the next one starts.
            Some(gst::EventView::Segment(event)) => {
                let next = event.segment().downcast_ref::<gst::ClockTime>();
                let base = next.and_then(|next| next.base()).filter(|_| !is_backwards);
                let base = base.and_then(|base| segment.position_from_running_time(base));
                let base = base.map(gst::ClockTime::nseconds).filter(|&base| base > newest);
                let end = match base {
                    Some(base) => stop.or(end).map(|end| end.min(base)),
                    None => end.map(|end| earlier(end, stop)),
                };
                let Some(end) = end else { return };
                let next = next.map(|next| retime::segment(next, speed));
                let goes_on = next.is_some_and(|next| state.continuation(&next, end).is_some());
                if let Some(stream) = &mut state.stream {
                    stream.expect_no_more(end, !goes_on);
                }
            }
            _ => stream.expect_no_more_behind(stop, false),
        }
    }

    /// Lets the newest frame be repeated if the source is live and the next one does not come in time.
    fn watch_for_stall(&self) {
        self.holding.stall.lock().stop();
        let Some(latency) = self.holding.latency.answered() else { return };
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

    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        let state = &*self.state.lock();
        let is_read = state.is_interpolated() && state.settings.mode != MotionInterpolateMode::Repeat;
        state.stream.as_ref().filter(|_| is_read).map_or(Ok(()), |stream| stream.maker.check_frame(buffer))
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

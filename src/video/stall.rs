//! Time that passes without a frame.

use gst::prelude::*;

/// Calls back once when nothing has happened for a while.
#[derive(Default)]
pub struct StallTimer {
    pending: Option<gst::SingleShotClockId>,
    /// How often it has been started.
    started: u64,
}

impl StallTimer {
    /// Calls `act` in a thread of GStreamer's clock after `wait`, with the number of this start, unless the timer is started again
    /// or stopped before.
    pub fn start(&mut self, wait: gst::ClockTime, act: impl FnOnce(u64) + Send + 'static) {
        self.stop();
        self.started += 1;
        let number = self.started;
        let clock = gst::SystemClock::obtain();
        let id = clock.new_single_shot_id(clock.time().saturating_add(wait));
        if id.wait_async(move |_, _, _| act(number)).is_ok() {
            self.pending = Some(id);
        }
    }

    /// Whether the timer has not been started again or stopped since the start with this number.
    pub fn is_last(&self, number: u64) -> bool {
        self.pending.is_some() && self.started == number
    }

    pub fn stop(&mut self) {
        if let Some(id) = self.pending.take() {
            id.unschedule();
        }
    }
}

impl Drop for StallTimer {
    fn drop(&mut self) {
        self.stop();
    }
}

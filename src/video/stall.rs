//! Time that passes without a frame.

use gst::prelude::*;

/// Calls back once when nothing has happened for a while.
#[derive(Default)]
pub struct StallTimer {
    pending: Option<gst::SingleShotClockId>,
}

impl StallTimer {
    /// Calls `act` in a thread of GStreamer's clock after `wait`, unless the timer is started again or stopped before.
    pub fn start(&mut self, wait: gst::ClockTime, act: impl FnOnce() + Send + 'static) {
        self.stop();
        let clock = gst::SystemClock::obtain();
        let id = clock.new_single_shot_id(clock.time().saturating_add(wait));
        if id.wait_async(move |_, _, _| act()).is_ok() {
            self.pending = Some(id);
        }
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

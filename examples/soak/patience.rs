//! How a pipeline that hangs is told from one on a busy machine.

#[path = "../../crates/motion-gpu/src/opencl/clock.rs"]
mod clock;

use std::time::{Duration, Instant};

use clock::DeviceClock;
use gst::prelude::*;

/// A pipeline that shows no progress for so long hangs, in the time of [`DeviceClock`]: that of a machine at rest.
const LONGEST: Duration = Duration::from_secs(120);

/// Within this the clock is not asked: it reads the state of every thread.
const SURE: Duration = Duration::from_secs(10);

/// How often to ask [`Patience::is_over`] while nothing else happens.
pub const STEP: gst::ClockTime = gst::ClockTime::from_mseconds(DeviceClock::STEP.as_millis() as u64);

/// The wait for progress of a pipeline.
pub struct Patience {
    since: Instant,
    clock: Option<DeviceClock>,
}

impl Patience {
    pub fn new() -> Self {
        Self { since: Instant::now(), clock: None }
    }

    /// Whether the pipeline has had the time to make progress.
    pub fn is_over(&mut self) -> bool {
        self.since.elapsed() > SURE && self.clock.get_or_insert_with(DeviceClock::start).tick() > LONGEST
    }
}

/// Waits until `pipeline` has changed its state, and returns whether it plays.
pub fn plays(pipeline: &gst::Pipeline) -> bool {
    let mut patience = Patience::new();
    loop {
        match pipeline.state(STEP) {
            (Ok(gst::StateChangeSuccess::Async), ..) if !patience.is_over() => (),
            (outcome, state, _) => return outcome.is_ok() && state == gst::State::Playing,
        }
    }
}

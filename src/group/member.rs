//! The group's end of the way to a device.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use super::worker::{Found, Job, Report, Worker};
use crate::estimator::{Estimator, SetupError, Tuning};

/// Jobs that may wait for a device: more than are ever in flight, those of others that failed among
/// them.
const WAITING: usize = 8 * Tuning::MAX_DEPTH;

/// A device and its thread.
pub(super) struct Member {
    name: String,
    weight: f64,
    /// `None` for a device that was put out.
    jobs: Option<SyncSender<Job>>,
    /// When each job that it has was sent, oldest first.
    sent: VecDeque<Instant>,
    /// When it finished the last one.
    finished: Instant,
}

impl Member {
    /// Starts the thread of `estimator`, which is member number `index`.
    ///
    /// # Errors
    /// [`SetupError::Device`] where it does not start.
    pub(super) fn start(
        index: usize,
        estimator: Box<dyn Estimator>,
        weight: f64,
        reports: Sender<Report>,
    ) -> Result<Self, SetupError> {
        let name = estimator.device().to_owned();
        let (jobs, taken) = sync_channel(WAITING);
        let worker = Worker::new(index, estimator, taken, reports);
        // Its end is not waited for: a device that hangs would hang the group too. What it uses is
        // its own or shared.
        thread::Builder::new()
            .name(format!("motion-device-{index}"))
            .spawn(move || worker.run())
            .map_err(|error| SetupError::Device { device: name.clone(), message: error.to_string() })?;
        Ok(Self { name, weight, jobs: Some(jobs), sent: VecDeque::new(), finished: Instant::now() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How much it gets, 0 once it is out.
    pub(super) fn weight(&self) -> f64 {
        if self.is_out() { 0.0 } else { self.weight }
    }

    pub(super) fn is_out(&self) -> bool {
        self.jobs.is_none()
    }

    /// Sends no job to it any more. Whether it was still sent any.
    pub(super) fn put_out(&mut self) -> bool {
        self.jobs.take().is_some()
    }

    /// How many jobs it has.
    pub(super) fn waiting(&self) -> usize {
        self.sent.len()
    }

    /// Since when it has worked on the job that it works on.
    pub(super) fn busy_since(&self) -> Instant {
        self.sent.front().map_or(self.finished, |&sent| sent.max(self.finished))
    }

    /// Gives it a job. `false` where it takes none.
    pub(super) fn send(&mut self, job: Job) -> bool {
        let is_sent = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok());
        if is_sent {
            self.sent.push_back(Instant::now());
        }
        is_sent
    }

    /// Notes that it has finished a job.
    pub(super) fn done(&mut self, _found: &Found) {
        self.sent.pop_front();
        self.finished = Instant::now();
    }
}

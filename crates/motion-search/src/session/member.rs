//! A device of a session, and the way to it: a direct call, or a message to its thread.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::channel::receive;
use super::worker::{DeviceJob, JobResult, Worker, guarded};
use crate::estimator::{Device, DeviceInfo, DeviceShare, EstimateError, References};
use crate::tuning::Tuning;
use motion_base::pace::Pace;

/// Jobs that may wait for a device: more than are ever in flight, including those of devices that failed.
const WAITING: usize = 8 * Tuning::MAX_DEPTH * 2 * References::MOST;

/// What a device's thread sends.
pub(super) struct Report {
    /// The index of the member.
    pub(super) member: usize,
    /// A job that is done, or the error after which the device does nothing any more.
    pub(super) outcome: Result<JobResult, EstimateError>,
}

/// A device of a session.
pub(super) struct Member {
    index: usize,
    info: DeviceInfo,
    /// Its share of the search that was finished last.
    share: f64,
    pace: Pace,
    /// `None` once the device is evicted.
    worker: Option<Arc<Mutex<Worker>>>,
    /// `None` before the first job that its thread is to do.
    thread: Option<DeviceThread>,
    reports: Sender<Report>,
    /// When each unfinished job was given to the device, oldest first.
    sent: VecDeque<Instant>,
    /// Whether the thread works on the unfinished jobs. Otherwise the thread is idle, and the device is called
    /// directly.
    is_threaded: bool,
    /// When the device finished its previous job.
    finished: Instant,
}

/// The session's end of a device's thread.
struct DeviceThread {
    /// `None` once the device is evicted.
    jobs: Option<SyncSender<DeviceJob>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Member {
    /// `device` as member number `index`. Its thread starts with the first job for it.
    pub(super) fn new(index: usize, device: Box<dyn Device>, reports: Sender<Report>) -> Self {
        Self {
            index,
            info: device.info().clone(),
            share: 0.0,
            pace: Pace::default(),
            worker: Some(Arc::new(Mutex::new(Worker::new(device)))),
            thread: None,
            reports,
            sent: VecDeque::new(),
            is_threaded: false,
            finished: Instant::now(),
        }
    }

    pub(super) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Resets its share, to count that of another search.
    pub(super) fn reset_share(&mut self) {
        self.share = 0.0;
    }

    /// Notes that it did this share of a search, 0 to 1.
    pub(super) fn count_share(&mut self, share: f64, busy: Duration) {
        self.share += share;
        self.pace.count(share, busy);
    }

    /// What it does, for searches of this number of absolute differences.
    pub(super) fn share(&self, differences: f64) -> DeviceShare {
        DeviceShare {
            device: self.info.name.clone(),
            share: self.share,
            rate: self.pace.rate(differences),
            busy: self.pace.busy(),
            is_out: self.is_out(),
        }
    }

    /// How long it may take for any part of a search of this number of absolute differences, if every device
    /// may take `patience`.
    pub(super) fn allowed(&self, patience: Duration, differences: f64) -> Duration {
        self.pace.allowed(patience, differences)
    }

    /// Whether it is evicted.
    pub(super) fn is_out(&self) -> bool {
        self.worker.is_none()
    }

    /// Evicts the device: it gets no jobs any more. If it has a thread, the thread drops it. Returns whether it
    /// was in.
    pub(super) fn evict(&mut self) -> bool {
        // Before the thread ends, so that the device is dropped there: a device that hangs blocks nobody else.
        let was_in = self.worker.take().is_some();
        if let Some(thread) = &mut self.thread {
            thread.jobs = None;
        }
        was_in
    }

    /// Waits until the device is dropped, but not longer than `patience`.
    pub(super) fn wait_for_end(&self, patience: Duration) {
        if let Some(thread) = &self.thread {
            let _: Result<(), RecvTimeoutError> = thread.ended.recv_timeout(patience);
        }
    }

    /// The number of unfinished jobs.
    pub(super) fn unfinished(&self) -> usize {
        self.sent.len()
    }

    /// When it began to work on its oldest job.
    pub(super) fn busy_since(&self) -> Instant {
        self.sent.front().map_or(self.finished, |&sent| sent.max(self.finished))
    }

    /// Whether the thread works on its jobs: then a direct call would have to wait.
    pub(super) fn is_threaded(&self) -> bool {
        self.is_threaded
    }

    /// Gives `job` to the thread. `false` if the thread takes none.
    pub(super) fn send(&mut self, job: DeviceJob) -> bool {
        if self.thread.is_none() {
            self.thread = self.worker.as_ref().and_then(|worker| self.start_thread(worker.clone()).ok());
        }
        let jobs = self.thread.as_ref().and_then(|thread| thread.jobs.as_ref());
        let is_sent = jobs.is_some_and(|jobs| jobs.try_send(job).is_ok());
        if is_sent {
            self.sent.push_back(Instant::now());
            self.is_threaded = true;
        }
        is_sent
    }

    /// Starts the thread. It is detached, because a device that hangs must not block the session, and uses
    /// only what it owns or shares.
    fn start_thread(&self, worker: Arc<Mutex<Worker>>) -> io::Result<DeviceThread> {
        let (jobs, received) = sync_channel(WAITING);
        let (running, ended) = sync_channel(0);
        let (index, reports) = (self.index, self.reports.clone());
        thread::Builder::new().name(format!("motion-device-{index}")).spawn(move || {
            run(index, &worker, &received, &reports);
            drop((worker, running));
        })?;
        Ok(DeviceThread { jobs: Some(jobs), ended })
    }

    /// Begins `job` by a direct call.
    pub(super) fn start_job(
        &mut self,
        job: DeviceJob,
        done: &mut dyn FnMut(JobResult),
    ) -> Result<(), EstimateError> {
        self.call(|worker| worker.start_job(job, done))?;
        self.sent.push_back(Instant::now());
        Ok(())
    }

    /// Has the worker do `work`, by a direct call.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`] if the device is evicted, and what `work` reports.
    pub(super) fn call<R>(
        &self,
        work: impl FnOnce(&mut Worker) -> Result<R, EstimateError>,
    ) -> Result<R, EstimateError> {
        guarded(self.worker.as_ref().ok_or(EstimateError::NothingInFlight)?, work)
    }

    /// Notes that a job is done.
    pub(super) fn done(&mut self) {
        self.sent.pop_front();
        self.is_threaded &= !self.sent.is_empty();
        self.finished = Instant::now();
    }

    /// Cancels the jobs that were begun by direct calls. Those of the thread go on; nobody waits for them.
    pub(super) fn cancel(&mut self) {
        if !self.is_threaded && !self.is_out() {
            // An error is reported by the next job.
            let _ = self.call(|worker| {
                worker.cancel();
                Ok(())
            });
            self.sent.clear();
        }
    }
}

/// A device's thread: does jobs in order until the session is gone or the device fails.
fn run(member: usize, worker: &Mutex<Worker>, jobs: &Receiver<DeviceJob>, reports: &Sender<Report>) {
    // If nobody receives it, the session is gone, which ends the loop.
    let send = |outcome| drop(reports.send(Report { member, outcome }));
    while let Ok(job) = receive(jobs, None) {
        let worked = guarded(worker, |worker| {
            worker.start_job(job, &mut |result| send(Ok(result)))?;
            while worker.begun() > 0 {
                match worker.has_room().then(|| jobs.try_recv().ok()).flatten() {
                    Some(job) => worker.start_job(job, &mut |result| send(Ok(result)))?,
                    None => send(Ok(worker.finish_job()?)),
                }
            }
            Ok(())
        });
        if let Err(error) = worked {
            return send(Err(error));
        }
    }
}

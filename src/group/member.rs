//! The group's end of the way to a device.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::worker::{Job, Order, Report, Worker};
use crate::estimator::pace::Pace;
use crate::estimator::{DeviceShare, Estimator, SetupError, Tuning};

/// Jobs that may wait for a device: more than are ever in flight, those of others that failed among
/// them.
const WAITING: usize = 8 * Tuning::MAX_DEPTH;

/// A device and its thread.
pub(super) struct Member {
    name: Arc<str>,
    /// Its share of the search that was finished last.
    share: f64,
    pace: Pace,
    /// Whether it can fail, so that what it does may have to be done again, and whether it keeps what is
    /// needed for that.
    can_fail: bool,
    keeps_frames: bool,
    /// How many searches it can have in flight.
    depth: usize,
    /// Tells, by its sender's end, that its estimator is gone.
    ended: Receiver<()>,
    /// `None` for a device that was put out.
    orders: Option<SyncSender<Order>>,
    /// When each job that it has was sent, oldest first.
    sent: VecDeque<Instant>,
    /// When it finished the last one.
    finished: Instant,
}

impl Member {
    /// Starts the thread of `estimator`, which is member number `index` and reads frames at `place`.
    ///
    /// # Errors
    /// [`SetupError::Device`] where it does not start.
    pub(super) fn start(
        index: usize,
        place: usize,
        mut estimator: Box<dyn Estimator>,
        reports: Sender<Report>,
    ) -> Result<Self, SetupError> {
        let name: Arc<str> = estimator.device().into();
        let (can_fail, depth) = (estimator.can_fail(), estimator.depth());
        let keeps_frames = estimator.keep_frames();
        let (orders, taken) = sync_channel(WAITING);
        let (running, ended) = sync_channel(0);
        let worker = Worker::new(index, place, estimator, taken, reports);
        // Its end is not waited for without limit: a device that hangs would hang the group too. What it
        // uses is its own or shared.
        thread::Builder::new()
            .name(format!("motion-device-{index}"))
            .spawn(move || {
                worker.run();
                drop(running);
            })
            .map_err(|error| SetupError::Device { device: name.to_string(), message: error.to_string() })?;
        let (sent, finished) = (VecDeque::new(), Instant::now());
        let (share, pace, orders) = (0.0, Pace::default(), Some(orders));
        Ok(Self { name, share, pace, can_fail, keeps_frames, depth, ended, orders, sent, finished })
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Begins to count its share of another search.
    pub(super) fn forget_share(&mut self) {
        self.share = 0.0;
    }

    /// Notes that it has found so much of a search, 0 to 1.
    pub(super) fn count_share(&mut self, share: f64, busy: Duration) {
        self.share += share;
        self.pace.count(share, busy);
    }

    /// What it does, where a search is so many absolute differences.
    pub(super) fn share(&self, differences: f64) -> DeviceShare {
        DeviceShare {
            device: self.name.clone(),
            share: self.share,
            rate: self.pace.rate(differences),
            busy: self.pace.busy(),
            is_out: self.is_out(),
        }
    }

    /// How long it may take for any part of a search of so many absolute differences, where every device
    /// may take as long as `patience`.
    pub(super) fn allowed(&self, patience: Duration, differences: f64) -> Duration {
        self.pace.allowed(patience, differences)
    }

    pub(super) fn is_out(&self) -> bool {
        self.orders.is_none()
    }

    /// Sends no job to it any more. Whether it was still sent any.
    pub(super) fn put_out(&mut self) -> bool {
        self.orders.take().is_some()
    }

    /// Waits until its estimator is gone, but not longer than `patience`.
    pub(super) fn wait_for_end(&self, patience: Duration) {
        let _: Result<(), RecvTimeoutError> = self.ended.recv_timeout(patience);
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
        let is_sent = self.order(Order::Job(job));
        if is_sent {
            self.sent.push_back(Instant::now());
        }
        is_sent
    }

    /// Whether the group can do without its thread, with so many searches in flight.
    pub(super) fn can_be_asked_directly(&self, depth: usize) -> bool {
        let may = !self.can_fail || self.keeps_frames && depth == 1;
        may && self.depth >= depth && !self.is_out()
    }

    /// Has it give its estimator away. `None` where it takes no orders.
    pub(super) fn leave(&self) -> Option<Receiver<Box<dyn Estimator>>> {
        let (to, estimator) = sync_channel(1);
        self.order(Order::Leave(to)).then_some(estimator)
    }

    /// Gives it its estimator back. `false` where it takes no orders.
    pub(super) fn go_back(&self, estimator: Box<dyn Estimator>) -> bool {
        self.order(Order::Back(estimator))
    }

    fn order(&self, order: Order) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Notes that it has finished a job.
    pub(super) fn done(&mut self) {
        self.sent.pop_front();
        self.finished = Instant::now();
    }
}

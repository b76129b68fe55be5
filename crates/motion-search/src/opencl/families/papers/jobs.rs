//! How the jobs of a batch are launched (Uta 6.2.3): all at once, or in several launches on queues of
//! their own.

use std::sync::Arc;

use crate::estimator::SetupError;
use crate::opencl::kernel_family::BuildContext;
use crate::tuning::Launch;
use motion_base::pace;
use motion_gpu::launcher::{self, Event, Queue, QueueKind};
use motion_gpu::watch::Watch;

/// Consecutive jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jobs {
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Jobs {
    /// The jobs in parts of at most `size`, which is at least 1.
    pub(super) fn cut(self, size: usize) -> impl Iterator<Item = Jobs> {
        let end = self.first + self.count;
        (self.first..end).step_by(size).map(move |first| Jobs { first, count: size.min(end - first) })
    }
}

/// Queues of its own, and the launches on them.
pub(super) struct JobQueues {
    /// Empty if all jobs go to the queue of the search, in one launch.
    queues: Vec<Queue>,
    jobs_a_launch: usize,
    /// The events to wait for, one a queue. Kept between searches, so that a search allocates nothing.
    launched: Vec<Event>,
    watch: Arc<Watch>,
}

impl JobQueues {
    /// For at most `jobs` jobs.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if the device has no queues as the tuning asks for.
    pub(super) fn new(build: &BuildContext<'_>, jobs: usize) -> Result<Self, SetupError> {
        let queue = |kind| build.context.queue(kind).map_err(|error| build.device.refused(error));
        let launches = build.tuning.launches.unwrap_or(jobs).min(jobs);
        let (queues, launches) = match build.tuning.launch.unwrap_or_default() {
            Launch::Once => (Vec::new(), 1),
            Launch::OutOfOrder if !build.device.out_of_order => {
                return Err(build.unsupported(
                    "its queues run launches only in order".into(),
                    "choose the launches once or queues in the tuning, which work on every device",
                ));
            }
            Launch::OutOfOrder => (vec![queue(QueueKind::Unordered)?], launches),
            Launch::Queues(count) => {
                let queues = (0..count).map(|_| queue(QueueKind::Ordered));
                (queues.collect::<Result<Vec<_>, _>>()?, launches)
            }
        };
        let (jobs_a_launch, watch) = (jobs.div_ceil(launches), build.context.watch().clone());
        Ok(Self { queues, jobs_a_launch, launched: Vec::new(), watch })
    }

    /// Launches all of `jobs` by `launch`, which gets a queue, the jobs and the events that they must
    /// wait for. Returns the events that a reader of the results on `main` must wait for.
    ///
    /// The jobs start when everything queued on `main` before is done. After an error none of them
    /// still runs, unless the device hangs.
    pub(super) fn launch(
        &mut self,
        main: &Queue,
        jobs: Jobs,
        mut launch: impl FnMut(&Queue, Jobs, &[Event]) -> launcher::Result<()>,
    ) -> launcher::Result<&[Event]> {
        self.launched.clear();
        if self.queues.is_empty() {
            // The queue keeps the order.
            launch(main, jobs, &[])?;
            return Ok(&[]);
        }
        let Self { queues, launched, .. } = self;
        let launch_all = || {
            let before = [main.marker()?];
            // A queue that waits for an event of another waits forever if the other is not flushed.
            main.flush()?;
            for (index, part) in jobs.cut(self.jobs_a_launch).enumerate() {
                launch(&queues[index % queues.len()], part, &before)?;
            }
            for queue in queues {
                launched.push(queue.marker()?);
                queue.flush()?;
            }
            Ok(())
        };
        if let Err(error) = launch_all() {
            self.launched.clear();
            // Errors of waiting follow from the first, which is returned.
            let _ = main.flush();
            for queue in &self.queues {
                let _ = self.watch.wait_for_queue(queue, pace::PATIENCE);
            }
            return Err(error);
        }
        Ok(&self.launched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_cut_without_gap_or_overlap() {
        for (count, size) in [(1, 1), (7, 3), (6, 3), (5, 9)] {
            let mut next = 4;
            for part in (Jobs { first: 4, count }).cut(size) {
                assert!(part.first == next && (1..=size).contains(&part.count), "{part:?}");
                next += part.count;
            }
            assert_eq!(next, 4 + count);
        }
    }
}

//! How the jobs of a batch reach the device (Uta 6.2.3): in one launch, or in several on queues of
//! their own.

use std::sync::Arc;

use super::cl::{self, Event, Queue};
use super::search::Task;
use super::watch::Watch;
use crate::estimator::{Launch, SetupError, pace};

/// A run of adjacent jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jobs {
    pub(super) first: usize,
    pub(super) count: usize,
}

impl Jobs {
    /// The jobs in runs of at most `size`, which is at least 1.
    pub(super) fn cut(self, size: usize) -> impl Iterator<Item = Jobs> {
        let end = self.first + self.count;
        (self.first..end).step_by(size).map(move |first| Jobs { first, count: size.min(end - first) })
    }
}

/// The queues beside the estimator's own, and what runs on them.
pub(super) struct Launcher {
    /// None: all jobs go to the estimator's own queue, in one launch.
    queues: Vec<Queue>,
    jobs_a_launch: usize,
    /// How many launches are waited for: of an in-order queue the last alone.
    waited_for: usize,
    /// What is waited for, kept so that a frame makes no room for it.
    launched: Vec<Event>,
    watch: Arc<Watch>,
}

impl Launcher {
    /// For `jobs` jobs in all.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] where the device has no such queues.
    pub(super) fn new(task: &Task<'_>, jobs: usize) -> Result<Self, SetupError> {
        let raw = task.device.raw();
        let queue = |in_order| {
            let queue = if in_order { task.context.queue(raw) } else { task.context.unordered_queue(raw) };
            queue.map_err(|error| task.device.refused(error))
        };
        let launches = task.tuning.launches.unwrap_or(jobs).min(jobs);
        let (queues, launches, waited_for) = match task.tuning.launch.unwrap_or_default() {
            Launch::Once => (Vec::new(), 1, 1),
            Launch::OutOfOrder if !task.device.out_of_order => {
                return Err(task.unsupported(
                    "its queues run launches in order alone".into(),
                    "choose the tuning launch=once or launch=queues, which work on every device".into(),
                ));
            }
            Launch::OutOfOrder => (vec![queue(false)?], launches, usize::MAX),
            Launch::Queues(count) => {
                ((0..count).map(|_| queue(true)).collect::<Result<Vec<_>, _>>()?, launches, count)
            }
        };
        let (jobs_a_launch, watch) = (jobs.div_ceil(launches), task.context.watch().clone());
        Ok(Self { queues, jobs_a_launch, waited_for, launched: Vec::new(), watch })
    }

    /// Launches all of `jobs` by `launch`, which gets a queue, the jobs and what to wait for, and
    /// returns what has to be waited for before their results are read on `main`.
    ///
    /// Nothing starts before all that was queued on `main` is done. After an error nothing of it
    /// runs any more, unless the device hangs.
    pub(super) fn launch(
        &mut self,
        main: &Queue,
        jobs: Jobs,
        mut launch: impl FnMut(&Queue, Jobs, &[Event]) -> cl::Result<Event>,
    ) -> cl::Result<&[Event]> {
        self.launched.clear();
        if self.queues.is_empty() {
            // In order with what comes before and after by the queue itself.
            launch(main, jobs, &[])?;
            return Ok(&[]);
        }
        let Self { queues, launched, .. } = self;
        let mut launch_all = || {
            let before = [main.marker()?];
            // A queue that waits for another's event waits for ever where that is not flushed.
            main.flush()?;
            for (index, part) in jobs.cut(self.jobs_a_launch).enumerate() {
                let event = launch(&queues[index % queues.len()], part, &before)?;
                match launched.get_mut(index % self.waited_for) {
                    Some(earlier) => *earlier = event,
                    None => launched.push(event),
                }
            }
            queues.iter().try_for_each(Queue::flush)
        };
        if let Err(error) = launch_all() {
            self.launched.clear();
            // The first error is the one to tell; those of waiting follow from it.
            let _ = main.flush();
            for queue in &self.queues {
                let _ = self.watch.finish(queue, pace::PATIENCE);
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

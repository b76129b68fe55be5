//! The parts of a search on their way: to the devices, back from them, and to other devices when one fails.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::channel::receive;
use super::handles::SearchTicket;
use super::member::{Member, Report};
use super::share::{by_displacements, by_rows, divide};
use super::worker::{DeviceJob, JobResult};
use super::{Session, Share, Split};
use crate::estimator::{EstimateError, Notice, Output, Part, WindowParts};
use motion_base::pace;

/// The way of a job to its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// By a direct call.
    Call,
    /// By a message to the device's thread.
    Thread,
}

impl<T> Session<T> {
    /// The members that are not evicted.
    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|&index| !self.members[index].is_out())
    }

    /// The only member that is not evicted, if there is only one.
    pub(super) fn only_active(&self) -> Option<usize> {
        let mut active = self.active();
        active.next().filter(|_| active.next().is_none())
    }

    /// The way to `member`, for a job beside which no other device works if it is `alone`.
    ///
    /// A device that works alone is called directly, unless its thread has work. With several searches in flight, a device
    /// that may fail has its thread, which uploads frames and waits for results while the caller copies the next frame.
    pub(super) fn route(&self, member: usize, alone: bool) -> Route {
        let member = &self.members[member];
        let may_wait = self.depth == 1 || !member.info().can_fail;
        if alone && may_wait && !member.is_threaded() { Route::Call } else { Route::Thread }
    }

    /// Has `member` do `work` by a direct call, and notes the jobs that it finishes meanwhile.
    pub(super) fn call(
        &mut self,
        member: usize,
        work: impl FnOnce(&mut Member, &mut dyn FnMut(JobResult)) -> Result<(), EstimateError>,
    ) -> Result<(), EstimateError> {
        let mut results = Vec::new();
        let worked = work(&mut self.members[member], &mut |result| results.push(result));
        results.into_iter().for_each(|result| self.note(member, result));
        worked
    }

    /// The displacements that are divided among devices at a time: single ones if the kernels of all try them singly, else a
    /// row of the window.
    pub(super) fn displacements_a_unit(&self) -> usize {
        let is_single = |index: usize| self.members[index].info().window_parts == WindowParts::Displacements;
        if self.active().all(is_single) { 1 } else { self.parameters.window.columns() }
    }

    /// The parts of a search, each with the member that is to do it.
    pub(super) fn plan(&mut self, whole: Part) -> Vec<(usize, Part)> {
        if let Some(only) = self.only_active() {
            return vec![(only, whole)];
        }
        match self.split {
            Split::Auto | Split::Rows => by_rows(whole, &self.balancer.plan(whole.rows().len())),
            Split::Candidates => {
                let unit = self.displacements_a_unit();
                by_displacements(whole, &self.balancer.plan(whole.displacements().len() / unit), unit)
            }
            Split::Frames => {
                let waiting: Vec<usize> = self.members.iter().map(Member::unfinished).collect();
                vec![(self.balancer.next_frame(&waiting), whole)]
            }
        }
    }

    /// Gives `parts` of the search of `ticket` to members.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if no device is left.
    pub(super) fn hand_out(
        &mut self,
        ticket: SearchTicket,
        parts: Vec<(usize, Part)>,
    ) -> Result<(), EstimateError> {
        let one_works = parts.len() == 1 && (self.split != Split::Frames || self.depth == 1);
        let alone = one_works || self.only_active().is_some();
        for (member, part) in parts {
            let Some(job) = self.job(ticket, member, part) else { return Ok(()) };
            match self.route(member, alone) {
                Route::Call => {
                    if let Err(error) = self.call(member, |member, done| member.start_job(job, done)) {
                        self.take_failure(member, error)?;
                    }
                }
                Route::Thread => {
                    if !self.members[member].send(job) {
                        // The thread may have reported why it ended.
                        self.listen()?;
                        self.evict(member, "it takes no work any more")?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The job of `member` to do `part` of the search of `ticket`, which becomes a share of it; `None` if it is over.
    fn job(&mut self, ticket: SearchTicket, member: usize, part: Part) -> Option<DeviceJob> {
        let search = &mut self.flights.get_mut(ticket.0)?.data;
        search.shares.push(Share { member, part, result: None });
        let blocks = part.grid(&self.parameters).blocks();
        let is_whole = blocks == self.parameters.grid().blocks();
        let pool = if is_whole { &self.vectors } else { &self.part_vectors };
        Some(DeviceJob {
            search: ticket,
            part,
            current: search.current.clone(),
            reference: search.reference.clone(),
            output: Output::from_pool(pool, blocks),
        })
    }

    /// Evicts `member` if `error` is a failure of its device.
    ///
    /// # Errors
    /// `error` if it is another one, and those of [`Self::evict`].
    pub(super) fn take_failure(&mut self, member: usize, error: EstimateError) -> Result<(), EstimateError> {
        match error {
            EstimateError::Device { message, .. } => self.evict(member, &message),
            error => Err(error),
        }
    }

    /// Evicts `member`; other devices do its work again.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if no device is left and there is no fallback.
    pub(super) fn evict(&mut self, member: usize, reason: &str) -> Result<(), EstimateError> {
        if self.members[member].evict() {
            self.balancer.remove(member);
            let device = self.members[member].info().name.to_string();
            if self.active().next().is_none() {
                self.fall_back().map_err(|why| EstimateError::Device {
                    device: device.clone(),
                    message: format!("{reason}{why}"),
                })?;
            }
            self.name = names(&self.members);
            let text = format!("{device} failed ({reason}); continuing on {}", self.name);
            self.notices.push(Notice::Failure(text));
        } else if self.active().next().is_none() {
            let (device, message) = (self.members[member].info().name.to_string(), "it failed before".into());
            return Err(EstimateError::Device { device, message });
        }
        let mut lost = Vec::new();
        for search in self.flights.iter_mut() {
            let is_lost = |share: &mut Share| share.member == member && share.result.is_none();
            let shares: Vec<Share> = search.data.shares.extract_if(.., is_lost).collect();
            search.data.is_as_planned &= shares.is_empty();
            lost.extend(shares.into_iter().map(|share| (SearchTicket(search.number), share.part)));
        }
        for (ticket, part) in lost {
            let rows = divide(part.rows().len(), &self.balancer.weights());
            self.hand_out(ticket, by_rows(part, &rows))?;
        }
        Ok(())
    }

    /// Adds the fallback device.
    ///
    /// # Errors
    /// What to add to the reason of the failure: nothing if there is no fallback.
    fn fall_back(&mut self) -> Result<(), String> {
        let Some(fallback) = &mut self.fallback else { return Err(String::new()) };
        let device = fallback().map_err(|error| format!("; the fallback failed too: {error}"))?;
        self.members.push(Member::new(self.members.len(), device, self.reporter.clone()));
        self.balancer.add(1.0);
        Ok(())
    }

    /// Waits until all parts of the oldest search are done.
    pub(super) fn collect(&mut self) -> Result<(), EstimateError> {
        loop {
            let Some(search) = self.flights.iter_mut().next() else {
                return Err(EstimateError::NothingInFlight);
            };
            let open = search.data.shares.iter().filter(|share| share.result.is_none());
            let open: Vec<usize> = open.map(|share| share.member).collect();
            let Some(&first) = open.first() else { return Ok(()) };
            if let Some(&member) = open.iter().find(|&&member| !self.members[member].is_threaded()) {
                match self.members[member].call(|worker| worker.finish_job()) {
                    Ok(result) => self.note(member, result),
                    Err(error) => self.take_failure(member, error)?,
                }
                continue;
            }
            // A device does its jobs in order, so its time runs from when it began its oldest one.
            let deadline = |&member: &usize| {
                let can_hang = self.members[member].info().can_hang;
                can_hang.then(|| (self.members[member].busy_since() + self.allowed(member), member))
            };
            let deadline = open.iter().filter_map(deadline).min();
            let left = deadline.map(|(end, _)| end.saturating_duration_since(Instant::now()));
            match receive(&self.reports, left) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => {
                    let (_, member) = deadline.unwrap_or((Instant::now(), first));
                    let reason = format!("no answer for {:?}", self.allowed(member));
                    self.evict(member, &reason)?;
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("the session has a sender itself"),
            }
        }
    }

    /// How long `member` may take for a job.
    fn allowed(&self, member: usize) -> Duration {
        self.members[member].allowed(self.patience, pace::differences(&self.parameters))
    }

    /// Takes the reports that have arrived.
    pub(super) fn listen(&mut self) -> Result<(), EstimateError> {
        while let Ok(report) = self.reports.try_recv() {
            self.take(report)?;
        }
        Ok(())
    }

    /// Takes a report. Those of evicted devices are dropped: others do their work.
    fn take(&mut self, Report { member, outcome }: Report) -> Result<(), EstimateError> {
        match outcome {
            _ if self.members[member].is_out() => Ok(()),
            Ok(result) => {
                self.note(member, result);
                Ok(())
            }
            Err(error) => self.evict(member, &error.to_string()),
        }
    }

    /// Notes that `member` has done a job. The result of a cancelled search is dropped.
    fn note(&mut self, member: usize, result: JobResult) {
        self.members[member].done();
        let share = self.flights.get_mut(result.search.0).and_then(|search| {
            search.data.shares.iter_mut().find(|s| s.member == member && s.part == result.part)
        });
        if let Some(share) = share {
            share.result = Some(result);
        }
    }
}

/// The names of the members that are not evicted.
pub(super) fn names(members: &[Member]) -> String {
    let names = members.iter().filter(|member| !member.is_out()).map(|member| &*member.info().name);
    names.collect::<Vec<_>>().join(" + ")
}

//! One device that works alone and cannot fail: it is asked directly, as if there were no group.
//!
//! Its estimator comes from its thread, and goes back when others help again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::search::{Search, Share};
use super::{Group, Split, worker};
use crate::estimator::{EstimateError, Estimator, MotionVector, Part, Picture, Slot};

/// The estimator of that device. Its slots are those of the group.
pub(super) struct Straight {
    member: usize,
    pub(super) estimator: Box<dyn Estimator>,
}

impl Group {
    /// Whether `parts` are for one device that needs nobody else: not now, and not to do anything
    /// again.
    pub(super) fn lone(&self, parts: &[(usize, Part)]) -> Option<usize> {
        let [(member, _)] = *parts else { return None };
        let depth = self.flights.depth();
        let can = self.members[member].can_be_asked_directly(depth);
        // Of whole pictures another gets none while it takes longer for one than this for all in flight.
        let gets_none = |other: usize| {
            let rate = self.balancer.rate(other);
            self.members[other].is_out() || rate > 0.0 && rate * depth as f64 <= self.balancer.rate(member)
        };
        let mut others = (0..self.members.len()).filter(|&other| other != member);
        let mut is_always_next = || self.split == Split::Pictures && others.all(gets_none);
        (can && (self.balancer.is_alone(member) || is_always_next())).then_some(member)
    }

    /// Asks `member` directly from now on, where it gives its estimator away.
    pub(super) fn ask_directly(&mut self, member: usize) -> Result<(), EstimateError> {
        for index in 0..self.searches.len() {
            self.collect(index)?;
        }
        let Some(left) = self.members[member].leave() else { return Ok(()) };
        let estimator = match left.recv_timeout(self.allowed(member)) {
            Ok(estimator) => estimator,
            Err(RecvTimeoutError::Timeout) => return self.put_out_as_silent(member),
            // It has said why.
            Err(RecvTimeoutError::Disconnected) => return self.listen(),
        };
        self.straight = Some(Straight { member, estimator });
        for index in 0..self.slots.len() {
            let Some(frame) = self.slots[index].take() else { continue };
            if let Some(picture) = frame.picture() {
                self.directly(|estimator| estimator.load(Slot::new(index), &picture.view()))?;
            }
            self.frames.put_back(frame);
        }
        Ok(())
    }

    /// Asks by threads again.
    pub(super) fn ask_by_threads(&mut self) -> Result<(), EstimateError> {
        if self.straight.is_none() {
            return Ok(());
        }
        for index in 0..self.searches.len() {
            if self.searches[index].shares.iter().any(|share| share.vectors.is_none()) {
                let mut room = self.rooms.pop().unwrap_or_default();
                room.resize(self.parameters.grid().blocks(), MotionVector::default());
                self.finish_directly(index, &mut room)?;
                self.searches[index].shares.iter_mut().for_each(|share| {
                    share.vectors = Some(std::mem::take(&mut room));
                });
            }
        }
        let Some(Straight { member, mut estimator }) = self.straight.take() else { return Ok(()) };
        for index in 0..self.slots.len() {
            if let Some(picture) = estimator.unload(Slot::new(index))? {
                self.slots[index] = Some(self.frames.fill(&picture.view(), &[]));
            }
        }
        if self.members[member].go_back(estimator) {
            Ok(())
        } else {
            self.put_out(member, "it takes no work any more")
        }
    }

    /// Has the device that is asked directly load a picture. `None` where there is no such device.
    pub(super) fn load_directly(
        &mut self,
        slot: Slot,
        picture: &Picture<'_>,
    ) -> Option<Result<(), EstimateError>> {
        self.straight.as_ref()?;
        let start = Instant::now();
        let loaded = self.directly(|estimator| estimator.load(slot, picture));
        // It is part of what the device does for the picture, as in a thread.
        self.copying[slot.index()] = start.elapsed();
        Some(loaded)
    }

    /// Has it begin a search. `None` where there is no such device.
    pub(super) fn begin_directly(
        &mut self,
        current: Slot,
        reference: Slot,
        whole: Part,
    ) -> Option<Result<(), EstimateError>> {
        let member = self.straight.as_ref()?.member;
        let begun = self.directly(|estimator| estimator.begin_part(current, reference, whole));
        if begun.is_ok() {
            let busy = self.copying[current.index()];
            let shares = vec![Share { member, part: whole, vectors: None, busy }];
            let search = Search { shares, ..Search::new(self.next_search, None, Duration::ZERO) };
            self.searches.push_back(search);
        }
        Some(begun)
    }

    /// Whether the search that began first is for it to finish.
    pub(super) fn is_direct(&self) -> bool {
        let is_open = |search: &Search| search.shares.iter().any(|share| share.vectors.is_none());
        self.straight.is_some() && self.searches.front().is_some_and(is_open)
    }

    /// Has it finish the search at `index`, which began first of those that it has.
    pub(super) fn finish_directly(
        &mut self,
        index: usize,
        vectors: &mut [MotionVector],
    ) -> Result<(), EstimateError> {
        let start = Instant::now();
        self.directly(|estimator| estimator.finish(vectors))?;
        let busy = start.elapsed();
        if let Some((search, straight)) = self.searches.get_mut(index).zip(self.straight.as_ref()) {
            search.stages = straight.estimator.stage_times();
            search.shares.iter_mut().for_each(|share| share.busy += busy);
        }
        Ok(())
    }

    /// What the device says to `ask`. One that fails after all is put out, and what it had to do is
    /// lost: nobody else has the pictures.
    fn directly<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn Estimator) -> Result<R, EstimateError>,
    ) -> Result<R, EstimateError> {
        let Some(Straight { member, estimator }) = &mut self.straight else {
            return Err(EstimateError::NothingInFlight);
        };
        let member = *member;
        let asked = catch_unwind(AssertUnwindSafe(|| ask(estimator.as_mut())));
        let device = self.members[member].name().clone();
        let answer = asked.unwrap_or_else(|panic| Err(worker::panicked(&device, panic.as_ref())));
        if let Err(EstimateError::Device { message, .. }) = &answer {
            self.straight = None;
            self.put_out(member, message)?;
        }
        answer
    }
}

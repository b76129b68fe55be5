//! One device that works alone: it is asked directly, as if there were no group.
//!
//! Its estimator comes from its thread, and goes back when others help again. One that may fail keeps
//! its frames in the host's memory meanwhile, from which they are salvaged for the others; with
//! several in flight it is better off in its thread, where it has the next frame copied while it
//! works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::search::{Search, Share};
use super::{Group, Split, worker};
use crate::estimator::{EstimateError, Estimator, FrameView, MotionVector, Part, Slot};

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
        // Of several whole frames in flight, the next is often for another device.
        (can && (self.split != Split::Frames || depth == 1)).then_some(member)
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
            if let Some(frame) = self.slots[index].as_ref().and_then(|shared| shared.frame()) {
                let slot = Slot::new(index);
                let loaded = self.directly(|estimator| estimator.load(slot, &frame.view()));
                if let Err(error) = loaded {
                    return self.take_over(error);
                }
            }
            if let Some(shared) = self.slots[index].take() {
                self.frame_pool.put_back(shared);
            }
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
                if let Err(error) = self.finish_directly(index, &mut room) {
                    return self.take_over(error);
                }
                self.searches[index].shares.iter_mut().for_each(|share| {
                    share.vectors = Some(std::mem::take(&mut room));
                });
            }
        }
        for index in 0..self.slots.len() {
            match self.directly(|estimator| estimator.unload(Slot::new(index))) {
                Ok(frame) => {
                    self.slots[index] = frame.map(|frame| self.frame_pool.fill(&frame.view(), &[]));
                }
                Err(error) => return self.take_over(error),
            }
        }
        let Some(Straight { member, estimator }) = self.straight.take() else { return Ok(()) };
        if self.members[member].go_back(estimator) {
            Ok(())
        } else {
            self.put_out(member, "it takes no work any more")
        }
    }

    /// Has the device that is asked directly load a frame. `None` where there is no such device, or no
    /// longer.
    pub(super) fn load_directly(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
    ) -> Option<Result<(), EstimateError>> {
        self.straight.as_ref()?;
        let start = Instant::now();
        let loaded = self.directly(|estimator| estimator.load(slot, frame));
        // It is part of what the device does for the frame, as in a thread.
        self.copying[slot.index()] = start.elapsed();
        match loaded {
            Ok(()) => Some(Ok(())),
            Err(error) => self.take_over(error).err().map(Err),
        }
    }

    /// Has it begin a search. `None` where there is no such device, or no longer.
    pub(super) fn begin_directly(
        &mut self,
        current: Slot,
        reference: Slot,
        whole: Part,
    ) -> Option<Result<(), EstimateError>> {
        let member = self.straight.as_ref()?.member;
        let start = Instant::now();
        if let Err(error) = self.directly(|estimator| estimator.begin_part(current, reference, whole)) {
            return self.take_over(error).err().map(Err);
        }
        let busy = self.copying[current.index()] + start.elapsed();
        let shares = vec![Share { busy, ..Share::new(member, whole) }];
        let moving = std::mem::take(&mut self.moving);
        let search = Search::new(self.next_search, [current, reference], None, Duration::ZERO, moving);
        self.searches.push_back(Search { shares, ..search });
        Some(Ok(()))
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
            let occupied = straight.estimator.occupied();
            search.shares.iter_mut().for_each(|share| {
                share.busy += busy;
                share.occupied = occupied.unwrap_or(share.busy);
            });
        }
        Ok(())
    }

    /// What the device says to `ask`.
    pub(super) fn directly<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn Estimator) -> Result<R, EstimateError>,
    ) -> Result<R, EstimateError> {
        let Some(Straight { member, estimator }) = &mut self.straight else {
            return Err(EstimateError::NothingInFlight);
        };
        let asked = catch_unwind(AssertUnwindSafe(|| ask(estimator.as_mut())));
        let device = self.members[*member].name();
        asked.unwrap_or_else(|panic| Err(worker::panicked(device, panic.as_ref())))
    }

    /// Puts the device out, which has told `error`: the others go on with the frames that it has kept.
    ///
    /// # Errors
    /// `error` where it is no failure of the device; [`EstimateError::Device`] where nobody is left.
    pub(super) fn take_over(&mut self, error: EstimateError) -> Result<(), EstimateError> {
        let EstimateError::Device { message, .. } = error else { return Err(error) };
        for index in 0..self.slots.len() {
            if self.slots[index].is_none()
                && let Ok(Some(frame)) = self.directly(|estimator| Ok(estimator.salvage(Slot::new(index))))
            {
                self.slots[index] = Some(self.frame_pool.fill(&frame.view(), &[]));
            }
        }
        let Some(Straight { member, .. }) = self.straight.take() else { return Ok(()) };
        for search in self.searches.iter_mut().filter(|search| search.frames.is_none()) {
            let [current, reference] = search.slots.map(|slot| self.slots[slot.index()].clone());
            search.frames = current.zip(reference);
        }
        self.put_out(member, &message)
    }
}

//! A device with the frames and the jobs that it has. The device's thread runs it, or the thread that uses
//! the session.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::handles::{FrameSlot, SearchTicket};
use crate::estimator::{Device, EstimateError, Frame, Output, Parameters, Part, Request, Slot, Ticket};

/// A frame of a session.
#[derive(Clone, Debug)]
pub(super) struct NumberedFrame {
    /// No other frame of the session has this number, which counts from 1.
    pub(super) number: u64,
    /// The slot that it is in.
    pub(super) slot: FrameSlot,
    /// `None` once a device has the frame and no other device may need it.
    pub(super) frame: Option<Frame>,
    /// Whether the frame is a copy of the session's own.
    pub(super) is_own: bool,
    /// How long it took to make the copy.
    pub(super) copy_time: Duration,
}

impl NumberedFrame {
    /// None yet in `slot`.
    pub(super) fn none(slot: FrameSlot) -> Self {
        Self { number: 0, slot, frame: None, is_own: false, copy_time: Duration::ZERO }
    }

    /// Frames from this one to `other`, in the order in which they were loaded.
    pub(super) fn offset_to(&self, other: &Self) -> i64 {
        other.number as i64 - self.number as i64
    }
}

/// A part of a search that a device is to do.
pub(super) struct DeviceJob {
    pub(super) search: SearchTicket,
    pub(super) part: Part,
    pub(super) current: NumberedFrame,
    pub(super) reference: NumberedFrame,
    /// Room for what the device finds.
    pub(super) output: Output,
}

/// A job that is done.
pub(super) struct JobResult {
    pub(super) search: SearchTicket,
    pub(super) part: Part,
    pub(super) output: Output,
    /// How long the device worked on it: from when the device was free for the job to its end.
    pub(super) busy: Duration,
    /// How long it took to load rows of the older frame that the device did not have because shares
    /// had moved.
    pub(super) rebalance_time: Duration,
    /// When it was done.
    pub(super) at: Instant,
}

/// A job that has begun.
struct BegunJob {
    ticket: Ticket,
    search: SearchTicket,
    part: Part,
    output: Output,
    slots: [Slot; 2],
    at: Instant,
    rebalance_time: Duration,
}

/// A frame on the device.
#[derive(Clone)]
struct LoadedFrame {
    number: u64,
    /// The session's slot that it was in.
    slot: FrameSlot,
    rows: Range<usize>,
}

/// A device with its frames and jobs.
pub(super) struct Worker {
    device: Box<dyn Device>,
    /// One for each slot of the device.
    loaded: Vec<Option<LoadedFrame>>,
    /// Oldest first.
    begun: VecDeque<BegunJob>,
    /// When the previous job was done.
    finished: Instant,
}

impl Worker {
    pub(super) fn new(device: Box<dyn Device>) -> Self {
        let (slots, depth) = (device.info().slots, device.info().depth);
        Self {
            device,
            loaded: vec![None; slots],
            begun: VecDeque::with_capacity(depth),
            finished: Instant::now(),
        }
    }

    /// The number of jobs that have begun.
    pub(super) fn begun(&self) -> usize {
        self.begun.len()
    }

    /// Whether another job can begin before one is finished.
    pub(super) fn has_room(&self) -> bool {
        self.begun.len() < self.device.info().depth
    }

    /// Begins `job`. Jobs that must be finished before, because their slots are needed, are passed to
    /// `done`.
    pub(super) fn start_job(
        &mut self,
        job: DeviceJob,
        done: &mut dyn FnMut(JobResult),
    ) -> Result<(), EstimateError> {
        while !self.has_room() {
            done(self.finish_job()?);
        }
        let DeviceJob { search, part, current, reference, output } = job;
        let parameters = &self.device.info().parameters;
        let (compared, searched) = (part.current_samples(parameters), part.reference_samples(parameters));
        let offset = current.offset_to(&reference);
        // Later searches need the newer frame too: all rows that they may need, also if shares move a little, are
        // loaded at once. A second load would have to wait for this search.
        let wanted = rows_with_margin(part, parameters);
        let ((older, needed), (newer, needed_of_newer)) = match offset {
            ..0 => ((&reference, searched), (&current, compared)),
            0 => ((&reference, wanted.clone()), (&current, compared)),
            1.. => ((&current, compared), (&reference, searched)),
        };
        let (older, rebalance_time) = self.slot_of(older, &needed, &needed, None, done)?;
        let at = Instant::now();
        let (newer, _) = self.slot_of(newer, &needed_of_newer, &wanted, Some(older), done)?;
        let (current, reference) = if offset > 0 { (older, newer) } else { (newer, older) };
        let ticket = self.device.start_search(Request { current, reference, part, offset })?;
        let slots = [current, reference];
        self.begun.push_back(BegunJob { ticket, search, part, output, slots, at, rebalance_time });
        Ok(())
    }

    /// Finishes the oldest job.
    pub(super) fn finish_job(&mut self) -> Result<JobResult, EstimateError> {
        let Some(job) = self.begun.pop_front() else { return Err(EstimateError::NothingInFlight) };
        let BegunJob { ticket, search, part, mut output, at, rebalance_time, .. } = job;
        self.device.finish_search(ticket, &mut output)?;
        let before = std::mem::replace(&mut self.finished, Instant::now());
        let busy = self.finished - at.max(before);
        Ok(JobResult { search, part, output, busy, rebalance_time, at: self.finished })
    }

    /// Loads all rows of `frame`.
    pub(super) fn load_frame(
        &mut self,
        frame: &NumberedFrame,
        done: &mut dyn FnMut(JobResult),
    ) -> Result<(), EstimateError> {
        let rows = 0..self.device.info().parameters.height;
        self.slot_of(frame, &rows, &rows, None, done).map(drop)
    }

    /// A copy of `frame`, if the device has all of it.
    pub(super) fn unload_frame(&mut self, frame: &NumberedFrame) -> Result<Option<Frame>, EstimateError> {
        let rows = 0..self.device.info().parameters.height;
        let is_whole = |loaded: &LoadedFrame| loaded.number == frame.number && loaded.rows == rows;
        match self.loaded.iter().position(|loaded| loaded.as_ref().is_some_and(is_whole)) {
            Some(slot) => self.device.unload_frame(Slot::new(slot)),
            None => Ok(None),
        }
    }

    /// Cancels all jobs.
    pub(super) fn cancel(&mut self) {
        self.device.cancel();
        self.begun.clear();
    }

    /// The slot that holds at least the rows `needed` of `frame`. If they have to be loaded, the rows
    /// `wanted` are loaded, not into the slot `taken`. Also returns how long that took.
    fn slot_of(
        &mut self,
        frame: &NumberedFrame,
        needed: &Range<usize>,
        wanted: &Range<usize>,
        taken: Option<Slot>,
        done: &mut dyn FnMut(JobResult),
    ) -> Result<(Slot, Duration), EstimateError> {
        loop {
            let is_there = |loaded: &LoadedFrame| loaded.number == frame.number;
            let there = self.loaded.iter().position(|loaded| loaded.as_ref().is_some_and(is_there));
            let mut rows = wanted.clone();
            let present = there.and_then(|index| self.loaded[index].as_ref());
            if let Some((index, present)) = there.zip(present.map(|loaded| &loaded.rows)) {
                if present.start <= needed.start && needed.end <= present.end {
                    return Ok((Slot::new(index), Duration::ZERO));
                }
                rows = present.start.min(rows.start)..present.end.max(rows.end);
            }
            let is_free = |slot: usize| {
                let slot = Slot::new(slot);
                taken != Some(slot) && !self.begun.iter().any(|begun| begun.slots.contains(&slot))
            };
            // The frame that this one has replaced in the session is needed no more, nor is the oldest as a rule.
            let least_needed = |&index: &usize| match &self.loaded[index] {
                Some(loaded) if loaded.slot == frame.slot => (0, 0),
                None => (1, 0),
                Some(loaded) => (2, loaded.number),
            };
            let free = match there {
                Some(index) => Some(index).filter(|&index| is_free(index)),
                None => (0..self.loaded.len()).filter(|&index| is_free(index)).min_by_key(least_needed),
            };
            match free {
                Some(index) => {
                    let (slot, start) = (Slot::new(index), Instant::now());
                    self.loaded[index] = None;
                    let samples = frame.frame.as_ref().ok_or(EstimateError::EmptySlot(index))?;
                    self.device.load_frame(slot, &samples.with_rows(rows.clone()))?;
                    self.loaded[index] = Some(LoadedFrame { number: frame.number, slot: frame.slot, rows });
                    return Ok((slot, start.elapsed()));
                }
                None => done(self.finish_job()?),
            }
        }
    }
}

/// Shares may move by at least this many rows of blocks, and by this part of a device's rows, before rows of
/// the reference frame have to be loaded again.
const ROWS_TO_SPARE: usize = 3;
const PART_TO_SPARE: usize = 16;

/// The rows of samples that a search of `part` needs of either frame, and those that it would need if
/// shares moved a little.
fn rows_with_margin(part: Part, parameters: &Parameters) -> Range<usize> {
    let (compared, searched) = (part.current_samples(parameters), part.reference_samples(parameters));
    let margin = ROWS_TO_SPARE.max(part.rows().len() / PART_TO_SPARE) * parameters.block_size;
    compared.start.min(searched.start).saturating_sub(margin)
        ..(compared.end.max(searched.end) + margin).min(parameters.height)
}

/// Has `worker` do `work`. A panic of the device becomes an error.
pub(super) fn guarded<R>(
    worker: &Mutex<Worker>,
    work: impl FnOnce(&mut Worker) -> Result<R, EstimateError>,
) -> Result<R, EstimateError> {
    let mut worker = worker.lock();
    let device = worker.device.info().name.clone();
    catch_unwind(AssertUnwindSafe(|| work(&mut worker))).unwrap_or_else(|panic| {
        let message = format!("it panicked: {}", panic_text(panic.as_ref()));
        Err(EstimateError::Device { device: device.to_string(), message })
    })
}

/// The message of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;

    #[test]
    fn shares_may_move_a_little_without_another_load() {
        let parameters = Parameters::new(64, 270 * 16, 16, Window::symmetric(4, 33).unwrap());
        let whole = Part::whole(&parameters);
        for (rows, most) in [(0..20, 3), (100..128, 3), (0..135, 8), (110..270, 10)] {
            let there = rows_with_margin(whole.with_rows(rows.clone()), &parameters);
            for moved in 0..=most {
                let part = whole.with_rows(rows.start.saturating_sub(moved)..(rows.end + moved).min(270));
                for needed in [part.current_samples(&parameters), part.reference_samples(&parameters)] {
                    assert!(there.start <= needed.start && needed.end <= there.end, "{rows:?} {moved}");
                }
            }
        }
    }
}

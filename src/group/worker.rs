//! One device's thread: takes parts of searches in order, and gives their vectors back.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::shared_frame::SharedFrame;
use crate::estimator::{EstimateError, Estimator, MotionVector, Parameters, Part, Slot, StageTimes};

/// What a device is told.
pub(super) enum Order {
    /// To do this.
    Job(Job),
    /// To give its estimator away and wait for [`Self::Back`]; what it has to do is done before.
    Leave(SyncSender<Box<dyn Estimator>>),
    /// To go on with this estimator.
    Back(Box<dyn Estimator>),
}

/// A part of a search, with room for its vectors.
pub(super) struct Job {
    /// The number of the search.
    pub(super) search: u64,
    pub(super) part: Part,
    pub(super) current: Arc<SharedFrame>,
    pub(super) reference: Arc<SharedFrame>,
    pub(super) vectors: Vec<MotionVector>,
}

/// What a device has to say.
pub(super) struct Report {
    /// Who says it.
    pub(super) member: usize,
    /// A job that is done; else the reason why this device does nothing any more.
    pub(super) outcome: Result<Found, EstimateError>,
}

/// A job that is done.
pub(super) struct Found {
    pub(super) search: u64,
    pub(super) part: Part,
    pub(super) vectors: Vec<MotionVector>,
    /// From when the device was free for the job to when its vectors were there.
    pub(super) busy: Duration,
    /// How long it kept the device from the next job.
    pub(super) occupied: Duration,
    /// How long it took besides to load rows of the reference that it had not been given before.
    pub(super) moving: Duration,
    pub(super) stages: StageTimes,
}

/// A job that has begun.
struct Begun {
    job: Job,
    at: Instant,
    moving: Duration,
    slots: [Slot; 2],
}

/// A device's end of the way.
pub(super) struct Worker {
    member: usize,
    /// Where it reads frames.
    place: usize,
    estimator: Box<dyn Estimator>,
    orders: Receiver<Order>,
    reports: Sender<Report>,
    begun: VecDeque<Begun>,
    /// One a slot: which frame is there, and which rows of it.
    frames: Vec<Option<(u64, Range<usize>)>>,
    /// For frames whose rows are in several places.
    room: Vec<u8>,
    finished: Instant,
}

/// How long a thread looks for something to do before it sleeps: to sleep and be woken takes several
/// microseconds, on large machines a hundred, which is much where a device needs as many for a frame.
fn watch() -> Duration {
    static WATCH: OnceLock<Duration> = OnceLock::new();
    *WATCH.get_or_init(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Duration::from_micros(match cores {
            0..8 => 20,
            8..16 => 100,
            _ => 500,
        })
    })
}

/// A thread that looks for something to do lets others have its core meanwhile. It gets it back at once
/// but where they have long work: then it would rather sleep, as who sleeps is woken before them, and
/// so many times after that.
const CROWDED: u32 = 500;
const LONG: Duration = Duration::from_micros(60);

/// The next of `from`, waited for until `patience` is over.
///
/// # Errors
/// [`RecvTimeoutError`] where nothing came.
pub(super) fn next<T>(from: &Receiver<T>, patience: Option<Duration>) -> Result<T, RecvTimeoutError> {
    static SLEEPS: AtomicU32 = AtomicU32::new(0);
    let start = Instant::now();
    let (mut at, mut sleeps) = (start, SLEEPS.load(Ordering::Relaxed));
    loop {
        match from.try_recv() {
            Ok(next) => return Ok(next),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) if sleeps > 0 => {
                // Two that count at once count one too few or too many: it does not matter.
                SLEEPS.store(sleeps - 1, Ordering::Relaxed);
                break;
            }
            Err(TryRecvError::Empty) if at - start > watch() => break,
            Err(TryRecvError::Empty) => {
                thread::yield_now();
                let before = std::mem::replace(&mut at, Instant::now());
                if at - before > LONG {
                    sleeps = CROWDED;
                }
            }
        }
    }
    match patience {
        Some(patience) => from.recv_timeout(patience.saturating_sub(start.elapsed())),
        None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

impl Worker {
    pub(super) fn new(
        member: usize,
        place: usize,
        estimator: Box<dyn Estimator>,
        orders: Receiver<Order>,
        reports: Sender<Report>,
    ) -> Self {
        let depth = estimator.depth();
        Self {
            member,
            place,
            estimator,
            orders,
            reports,
            begun: VecDeque::with_capacity(depth),
            frames: vec![None; depth + 1],
            room: Vec::new(),
            finished: Instant::now(),
        }
    }

    /// Works until there is nobody to work for, or the device fails.
    pub(super) fn run(mut self) {
        loop {
            // What was half done is dropped with the estimator.
            let ended = catch_unwind(AssertUnwindSafe(|| self.work()));
            let error = match ended {
                Ok(Ok(None)) => return,
                Ok(Ok(Some(to))) => {
                    let Self { member, place, estimator, orders, reports, .. } = self;
                    // Where nobody takes it, no order comes any more either.
                    let _ = to.send(estimator);
                    let Ok(Order::Back(estimator)) = orders.recv() else { return };
                    self = Self::new(member, place, estimator, orders, reports);
                    continue;
                }
                Ok(Err(error)) => error,
                Err(panic) => panicked(&name(self.estimator.as_ref()), panic.as_ref()),
            };
            // Nobody to tell it to is nobody to miss it.
            let _ = self.reports.send(Report { member: self.member, outcome: Err(error) });
            return;
        }
    }

    /// Works until there is nobody to work for, or the estimator is wanted elsewhere.
    fn work(&mut self) -> Result<Option<SyncSender<Box<dyn Estimator>>>, EstimateError> {
        loop {
            let order = match self.begun.len() {
                0 => match next(&self.orders, None) {
                    Ok(order) => Some(order),
                    Err(_) => return Ok(None),
                },
                begun if begun < self.estimator.depth() => self.orders.try_recv().ok(),
                _ => None,
            };
            match order {
                Some(Order::Job(job)) => self.begin(job)?,
                Some(Order::Leave(to)) => {
                    while !self.begun.is_empty() {
                        self.finish()?;
                    }
                    return Ok(Some(to));
                }
                // It has one.
                Some(Order::Back(_)) => (),
                None => self.finish()?,
            }
        }
    }

    /// Begins `job`; those before it are finished where it needs their slots.
    fn begin(&mut self, job: Job) -> Result<(), EstimateError> {
        let part = job.part;
        let parameters = self.estimator.parameters();
        let compared = part.current_samples(parameters);
        let searched = part.reference_samples(parameters);
        // The current frame is the next reference: with what the next search may need of it where
        // shares move, it is loaded once. A second load would have to wait for what is in flight.
        let wanted = rows_of(part, parameters);
        let is_same = job.reference.number() == job.current.number();
        let searched = if is_same { wanted.clone() } else { searched };
        let (reference, moving) = self.place(&job.reference, &searched, &searched, None)?;
        let at = Instant::now();
        let (current, _) = self.place(&job.current, &compared, &wanted, Some(reference))?;
        self.estimator.begin_part(current, reference, part)?;
        self.begun.push_back(Begun { job, at, moving, slots: [current, reference] });
        Ok(())
    }

    /// The slot that holds at least the rows `needed` of `shared`, beside the one that is `taken`; if
    /// it has to be loaded, with the rows `wanted`; and how long that took.
    fn place(
        &mut self,
        shared: &SharedFrame,
        needed: &Range<usize>,
        wanted: &Range<usize>,
        taken: Option<Slot>,
    ) -> Result<(Slot, Duration), EstimateError> {
        loop {
            let number = shared.number();
            let there = self.frames.iter().position(|p| p.as_ref().is_some_and(|p| p.0 == number));
            let mut rows = wanted.clone();
            if let Some((index, (_, present))) = there.zip(there.and_then(|i| self.frames[i].clone())) {
                if present.start <= needed.start && needed.end <= present.end {
                    return Ok((Slot::new(index), Duration::ZERO));
                }
                rows = present.start.min(rows.start)..present.end.max(rows.end);
            }
            let is_free = |slot: usize| {
                let slot = Slot::new(slot);
                taken != Some(slot) && !self.begun.iter().any(|begun| begun.slots.contains(&slot))
            };
            let oldest_free = || {
                let free = (0..self.frames.len()).filter(|&slot| is_free(slot));
                free.min_by_key(|&slot| self.frames[slot].as_ref().map_or(0, |p| p.0))
            };
            let free = match there {
                Some(index) => Some(index).filter(|&index| is_free(index)),
                None => oldest_free(),
            };
            match free {
                Some(index) => {
                    let (slot, start) = (Slot::new(index), Instant::now());
                    self.frames[index] = None;
                    let (frame, rows) = shared.rows(self.place, needed, &rows, &mut self.room);
                    self.estimator.load_rows(slot, &frame, rows.clone())?;
                    self.frames[index] = Some((number, rows));
                    return Ok((slot, start.elapsed()));
                }
                None => self.finish()?,
            }
        }
    }

    /// Finishes the job that began first.
    fn finish(&mut self) -> Result<(), EstimateError> {
        let Some(begun) = self.begun.pop_front() else { return Err(EstimateError::NothingInFlight) };
        let Begun { job: Job { search, part, mut vectors, current, reference }, at, moving, .. } = begun;
        let grid = part.grid(self.estimator.parameters());
        vectors.resize(grid.blocks(), MotionVector::default());
        self.estimator.finish(&mut vectors)?;
        let before = std::mem::replace(&mut self.finished, Instant::now());
        let busy = self.finished - at.max(before);
        // Nobody reads them here any more, so that they can be filled again at once.
        drop((current, reference));
        let occupied = self.estimator.occupied().unwrap_or(busy);
        let stages = self.estimator.stage_times();
        let found = Found { search, part, vectors, busy, occupied, moving, stages };
        // Without anybody to tell there is no job either, which ends the loop.
        let _ = self.reports.send(Report { member: self.member, outcome: Ok(found) });
        Ok(())
    }
}

/// By how many rows of blocks shares may at least move from when a frame is copied to when it is a
/// reference, before it is copied or loaded once more, and by which part of a device's rows.
const ROWS_TO_SPARE: usize = 3;
const PART_TO_SPARE: usize = 16;

/// The rows of samples that a search of `part` needs of either frame, and those that it would need if
/// shares moved a little.
pub(super) fn rows_of(part: Part, parameters: &Parameters) -> Range<usize> {
    let (compared, searched) = (part.current_samples(parameters), part.reference_samples(parameters));
    let margin = ROWS_TO_SPARE.max(part.rows().len() / PART_TO_SPARE) * parameters.block_size;
    compared.start.min(searched.start).saturating_sub(margin)
        ..(compared.end.max(searched.end) + margin).min(parameters.height)
}

/// The error of a device that has panicked.
pub(super) fn panicked(device: &str, panic: &(dyn Any + Send)) -> EstimateError {
    let message = format!("it panicked: {}", panic_text(panic));
    EstimateError::Device { device: device.into(), message }
}

/// The name of the device, as far as it can still tell.
fn name(estimator: &dyn Estimator) -> String {
    catch_unwind(AssertUnwindSafe(|| estimator.device().to_owned())).unwrap_or_else(|_| "a device".into())
}

/// What was said at a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
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
            let there = rows_of(whole.with_rows(rows.clone()), &parameters);
            for moved in 0..=most {
                let part = whole.with_rows(rows.start.saturating_sub(moved)..(rows.end + moved).min(270));
                for needed in [part.current_samples(&parameters), part.reference_samples(&parameters)] {
                    assert!(there.start <= needed.start && needed.end <= there.end, "{rows:?} {moved}");
                }
            }
        }
    }
}

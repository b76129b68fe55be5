//! Waiting for a device, but not for ever.
//!
//! OpenCL's own waits have no limit. A GPU's commands are asked for again and again, which is what its
//! drivers do in their waits: a search may take less than a sleeping thread takes to be woken. Any other
//! device calls when it is done, as it may need the core.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::cl::{Error, Event, Queue, Result};
use crate::lock::lock;

/// How long a GPU is asked without a pause. A sleep takes some 60 microseconds more than it should: a
/// hundredth of what then has passed.
const AWAKE: Duration = Duration::from_millis(4);

/// How long a thread sleeps from then on, as a part of what has passed and at most.
const PART: u32 = 64;
const LONGEST_SLEEP: Duration = Duration::from_micros(500);

/// How often a device that has not called is asked all the same.
const AGAIN: Duration = Duration::from_millis(100);

/// How a device is waited for, and whether it was in vain.
///
/// From a device that has given no answer none is expected any more: whatever it holds or may still
/// write to is left to it, for ever, as nothing says when it could be taken away.
#[derive(Debug)]
pub(super) struct Watch {
    is_asked: bool,
    is_lost: AtomicBool,
}

/// Where a device leaves word.
#[derive(Default)]
struct Word {
    said: Mutex<Option<i32>>,
    come: Condvar,
}

impl Word {
    /// Waits for `event`, but not longer than `limit`. Whether it is done.
    fn wait(self: Arc<Self>, event: &Event, start: Instant, limit: Duration) -> Result<bool> {
        let told = Arc::into_raw(self.clone());
        if let Err(error) = event.call_when_done(called, told.cast_mut().cast()) {
            // SAFETY: it came from `into_raw`, and nobody is going to call.
            drop(unsafe { Arc::from_raw(told) });
            return Err(error);
        }
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let said = self.come.wait_timeout_while(lock(&self.said), left.min(AGAIN), |said| said.is_none());
            let said = *said.unwrap_or_else(PoisonError::into_inner).0;
            if let Some(status) = said {
                return Event::is_done_at(status);
            }
            // Not while the word is locked: a driver may call with its event locked.
            let is_done = event.is_done()?;
            if is_done || left.is_zero() {
                return Ok(is_done);
            }
        }
    }
}

/// What the device calls, once: a word that is no longer waited for is heard by nobody.
extern "C" fn called(_: *mut c_void, status: i32, word: *mut c_void) {
    // SAFETY: `Word::wait` gave this reference away, to one call.
    let word = unsafe { Arc::from_raw(word.cast_const().cast::<Word>()) };
    *lock(&word.said) = Some(status);
    word.come.notify_one();
}

impl Watch {
    /// Over a device that is asked whether it is done, or one that calls.
    pub(super) fn new(is_asked: bool) -> Self {
        Self { is_asked, is_lost: AtomicBool::new(false) }
    }

    /// Whether the device has given no answer in time.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Says so where it is.
    ///
    /// # Errors
    /// [`Error::SILENT`].
    pub(super) fn check(&self) -> Result<()> {
        if self.is_lost() { Err(Error::SILENT) } else { Ok(()) }
    }

    /// Waits until `event`, whose queue was flushed, is done, but not longer than `limit`.
    ///
    /// # Errors
    /// [`Error::SILENT`] where it is not done by then, at once where the device has been silent before;
    /// what became of the command where that is an error.
    pub(super) fn wait(&self, event: &Event, limit: Duration) -> Result<()> {
        if event.is_done()? {
            return Ok(());
        }
        self.check()?;
        let start = Instant::now();
        let is_done = match self.is_asked {
            true => ask(event, start, limit)?,
            false => Arc::new(Word::default()).wait(event, start, limit)?,
        };
        if is_done {
            return Ok(());
        }
        self.is_lost.store(true, Ordering::Release);
        Err(Error::SILENT)
    }

    /// Waits until all that was queued on `queue` so far is done, as [`Self::wait`].
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub(super) fn finish(&self, queue: &Queue, limit: Duration) -> Result<()> {
        // A flush may wait too.
        self.check()?;
        let all = queue.marker()?;
        queue.flush()?;
        self.wait(&all, limit)
    }
}

/// Asks for `event` until it is done, but not longer than `limit`. Whether it is done.
fn ask(event: &Event, start: Instant, limit: Duration) -> Result<bool> {
    loop {
        if event.is_done()? {
            return Ok(true);
        }
        let passed = start.elapsed();
        match passed {
            _ if passed >= limit => return Ok(false),
            _ if passed < AWAKE => thread::yield_now(),
            _ => thread::sleep((passed / PART).min(LONGEST_SLEEP)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{
        Device as _, EstimateError, Frame, Kernel, Output, Parameters, Part, Request, Slot, Tuning, Window,
    };
    use crate::opencl::{Device, OpenCl, cl, devices};

    const LIMIT: Duration = Duration::from_millis(50);

    fn device() -> Device {
        devices().into_iter().next().expect("no OpenCL device: install one, for instance pocl-opencl-icd")
    }

    #[test]
    fn what_is_not_done_in_time_is_told_once_waited_for() {
        let context = cl::Context::new(device().raw()).unwrap();
        for is_asked in [false, true] {
            let watch = Watch::new(is_asked);
            let [done, failed, late] = [(); 3].map(|()| context.user_event().unwrap());
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(LIMIT / 5);
                    done.complete(0).unwrap();
                    failed.complete(-5).unwrap();
                });
                watch.wait(&done, 1000 * LIMIT).unwrap();
                assert_eq!(watch.wait(&failed, 1000 * LIMIT).unwrap_err().code, -5);
            });
            assert!(!watch.is_lost());
            assert_eq!(watch.wait(&late, LIMIT), Err(Error::SILENT));
            assert_eq!(watch.check(), Err(Error::SILENT));
            let start = Instant::now();
            assert_eq!(watch.wait(&late, 1000 * LIMIT), Err(Error::SILENT));
            assert!(start.elapsed() < 500 * LIMIT);
            watch.wait(&done, LIMIT).unwrap();
            late.complete(0).unwrap();
            watch.wait(&late, LIMIT).unwrap();
        }
    }

    #[test]
    fn a_device_that_hangs_fails_and_can_be_dropped() {
        let parameters = Parameters::new(61, 47, 8, Window::symmetric(5, 4).unwrap());
        let frame = |time| Frame::from_fn(61, 47, |x, y| ((x * 37) ^ ((y + time) * 101)) as u8);
        for depth in [1, 4] {
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let mut opened = OpenCl::new(&device(), Kernel::Auto, &tuning, &parameters).unwrap();
            opened.searches.patience = LIMIT;
            opened.load(Slot::A, &frame(0)).unwrap();
            let never = opened.context.user_event().unwrap();
            let _held = opened.queues.upload.barrier([&never]).unwrap();
            opened.load(Slot::B, &frame(1)).unwrap();
            let request = Request { current: Slot::B, reference: Slot::A, part: Part::whole(&parameters) };
            let ticket = opened.begin(request).unwrap();
            let mut output = Output::new(parameters.grid().blocks());
            let lost = |error| matches!(error, EstimateError::Device { .. });
            assert!(lost(opened.finish(ticket, &mut output).unwrap_err()));
            assert!(lost(opened.unload(Slot::A).unwrap_err()));
            assert!(lost(opened.begin(request).unwrap_err()));
            assert!(lost(opened.load(Slot::A, &frame(2)).unwrap_err()));
            let memory = opened.info().memory.clone().unwrap();
            assert_eq!((*memory.allocate(9).unwrap()).as_ref(), [0; 9]);
            // The next user of the device gets another context.
            assert!(!device().context().unwrap().watch().is_lost());
            opened.cancel();
            drop(opened);
            never.complete(0).unwrap();
        }
    }
}

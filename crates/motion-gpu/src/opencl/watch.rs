//! Waiting for a device, with a limit.
//!
//! OpenCL's own waits have none. A GPU is polled, as its drivers do in their own waits: a search may take less
//! time than the wake-up of a thread. Any other device reports completion by a callback, because it may need the
//! core that polling would take.
//!
//! The limit is wall time for a GPU. For any other device it is `DeviceClock`'s time, so that a busy machine
//! does not use it up: PoCL 3.1, for one, compiles a kernel for its group size at the first launch and holds a
//! lock meanwhile that every other launch of the process needs.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::clock::DeviceClock;
use super::launcher::cl;
use super::launcher::{Error, Event, Queue, Result};
use motion_base::EstimateError;

/// How long a GPU is polled without sleeping. A sleep takes some 60 microseconds longer than asked for: less
/// than two percent of the wait by then.
const AWAKE: Duration = Duration::from_millis(4);

/// How long a thread then sleeps between polls: this part of the time waited so far, and at most
/// [`LONGEST_SLEEP`].
const PART: u32 = 64;
const LONGEST_SLEEP: Duration = Duration::from_micros(500);

/// Waits for a device, and remembers whether it was lost.
///
/// After a time-out the device is considered lost; its objects are leaked, because the driver may still use
/// them.
#[derive(Debug)]
pub struct Watch {
    is_polled: bool,
    /// The limit that it exceeded.
    lost_after: OnceLock<Duration>,
}

/// Completion flag, set by the event callback.
#[derive(Default)]
struct Completion {
    status: Mutex<Option<i32>>,
    changed: Condvar,
}

impl Completion {
    /// Waits until `event` is complete or the device has had `limit` of time. Returns whether it is complete.
    fn wait(self: Arc<Self>, event: &Event, limit: Duration) -> Result<bool> {
        // CUDA's are of GPUs, which are polled.
        let event_of_opencl = event.opencl()?;
        let shared = Arc::into_raw(self.clone());
        if let Err(error) = event_of_opencl.call_when_done(complete, shared.cast_mut().cast()) {
            // SAFETY: it came from `into_raw`, and no callback was registered that would take it.
            drop(unsafe { Arc::from_raw(shared) });
            return Err(error);
        }
        let mut clock = DeviceClock::start();
        loop {
            let step = DeviceClock::STEP.min(limit);
            let mut status = self.status.lock();
            self.changed.wait_while_for(&mut status, |status| status.is_none(), step);
            if let Some(status) = *status {
                return cl::event::is_done_at(status);
            }
            drop(status);
            // Without the lock: a driver may call back while it holds a lock of the event.
            let is_done = event.is_done()?;
            if is_done || clock.tick() >= limit {
                return Ok(is_done);
            }
        }
    }
}

/// Event callback, called once. After a time-out nothing reads the flag any more.
extern "C" fn complete(_: *mut c_void, status: i32, completion: *mut c_void) {
    // SAFETY: `Completion::wait` gave this reference to this one call.
    let completion = unsafe { Arc::from_raw(completion.cast_const().cast::<Completion>()) };
    *completion.status.lock() = Some(status);
    completion.changed.notify_one();
}

impl Watch {
    /// For a device that is polled, or for one that calls back.
    pub(super) fn new(is_polled: bool) -> Self {
        Self { is_polled, lost_after: OnceLock::new() }
    }

    /// Whether the device exceeded a limit.
    pub fn is_lost(&self) -> bool {
        self.lost_after.get().is_some()
    }

    /// The limit that the device exceeded first, whichever estimator waited for it.
    fn lost_after(&self) -> Option<Duration> {
        self.lost_after.get().copied()
    }

    /// `error` of the device named `device`, for those who do not know OpenCL.
    pub fn failure(&self, device: &str, error: Error) -> EstimateError {
        let message = match error {
            Error::SILENT => format!("no answer for {:?}", self.lost_after().unwrap_or_default()),
            error => error.to_string(),
        };
        EstimateError::Device { device: device.to_owned(), message }
    }

    /// Checks that the device is not lost.
    ///
    /// # Errors
    /// [`Error::SILENT`].
    pub fn check(&self) -> Result<()> {
        if self.is_lost() { Err(Error::SILENT) } else { Ok(()) }
    }

    /// Waits until `event`, whose queue was flushed, is complete, `limit` at most.
    ///
    /// # Errors
    /// [`Error::SILENT`] if it is not complete by then, at once if the device was lost before; the error of the
    /// command if it failed.
    pub fn wait(&self, event: &Event, limit: Duration) -> Result<()> {
        if event.is_done()? {
            return Ok(());
        }
        self.check()?;
        let is_done = match self.is_polled {
            true => poll(event, limit)?,
            false => Arc::new(Completion::default()).wait(event, limit)?,
        };
        if is_done {
            return Ok(());
        }
        self.lost_after.get_or_init(|| limit);
        Err(Error::SILENT)
    }

    /// Waits until all commands queued on `queue` so far are complete, as [`Self::wait`].
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn wait_for_queue(&self, queue: &Queue, limit: Duration) -> Result<()> {
        // A flush may block too.
        self.check()?;
        let all = queue.end()?;
        queue.flush()?;
        self.wait(&all, limit)?;
        queue.check()
    }
}

/// Polls `event` until it is complete, `limit` of wall time at most. Returns whether it is complete.
fn poll(event: &Event, limit: Duration) -> Result<bool> {
    let start = Instant::now();
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
    use crate::opencl::launcher::cl;
    use crate::opencl::launcher::cl::event::complete;
    use crate::opencl::{OpenClDevice, devices};

    const LIMIT: Duration = Duration::from_millis(50);

    fn device() -> OpenClDevice {
        devices().into_iter().next().expect("no OpenCL device: install one, for instance pocl-opencl-icd")
    }

    #[test]
    fn a_device_that_does_not_answer_is_lost() {
        let api = cl::OpenClApi::new(device().raw()).unwrap();
        for is_polled in [false, true] {
            let watch = Watch::new(is_polled);
            let [done, failed, late] = [(); 3].map(|()| api.user_event().unwrap());
            thread::scope(|scope| {
                scope.spawn(|| {
                    complete(&done, 0).unwrap();
                    complete(&failed, -5).unwrap();
                });
                watch.wait(&done, Duration::MAX).unwrap();
                assert_eq!(watch.wait(&failed, Duration::MAX).unwrap_err().code, -5);
            });
            assert!(!watch.is_lost());
            assert_eq!(watch.wait(&late, LIMIT), Err(Error::SILENT));
            assert_eq!(watch.check(), Err(Error::SILENT));
            // At once: this would not return else.
            assert_eq!(watch.wait(&late, Duration::MAX), Err(Error::SILENT));
            assert_eq!(watch.lost_after(), Some(LIMIT));
            watch.wait(&done, LIMIT).unwrap();
            complete(&late, 0).unwrap();
            watch.wait(&late, LIMIT).unwrap();
        }
    }
}

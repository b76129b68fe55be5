//! What the process around the library does: signals, forks, and panics that must not end it.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use motion_base::threads;
use motion_search::DeviceSelector;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often Python looks for signals while it waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// The process that used the library first. One that was forked from it has another number.
fn first_process() -> u32 {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    *PROCESS.get_or_init(std::process::id)
}

/// Whether OpenCL drivers have been called, by this process or by the one that it was forked from.
static HAS_CALLED_DRIVERS: AtomicBool = AtomicBool::new(false);

/// Whether drivers cannot be called: they were, before this process was forked, and their threads and devices stayed behind.
pub fn is_cut_off() -> bool {
    first_process() != std::process::id() && HAS_CALLED_DRIVERS.load(Ordering::Relaxed)
}

/// Notes that drivers are called from now on.
pub fn note_drivers() {
    first_process();
    HAS_CALLED_DRIVERS.store(true, Ordering::Relaxed);
}

/// The device that `name` stands for in this process.
///
/// # Errors
/// `RuntimeError` if it is cut off from the devices of OpenCL, and `ValueError` for a name of none.
pub fn device(name: &str) -> PyResult<DeviceSelector> {
    match name {
        "native" => return Ok(DeviceSelector::Native),
        // The vectors are the same.
        "auto" if is_cut_off() => return Ok(DeviceSelector::Native),
        _ if is_cut_off() => {
            return Err(PyRuntimeError::new_err(format!(
                "device {name:?} cannot be used in a process that was forked after OpenCL was used: start processes with \
                 multiprocessing.get_context(\"spawn\"), or use device=\"native\""
            )));
        }
        _ => note_drivers(),
    }
    name.parse().map_err(crate::settings::refused)
}

/// A value that belongs to one process. In one that was forked from it the value is not touched, and never dropped: it would wait
/// for threads that are not there.
pub struct Owned<T> {
    process: u32,
    /// `None` only while it is dropped.
    value: ManuallyDrop<Option<T>>,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Self {
        first_process();
        Self { process: std::process::id(), value: ManuallyDrop::new(Some(value)) }
    }

    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// The value.
    ///
    /// # Errors
    /// `RuntimeError` in another process.
    pub fn get(&mut self) -> PyResult<&mut T> {
        if self.is_here()
            && let Some(value) = &mut *self.value
        {
            return Ok(value);
        }
        Err(PyRuntimeError::new_err(
            "this iterator was made before the process was forked, and its threads stayed behind: make a new one in this process",
        ))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_here() {
            self.value.take();
        }
    }
}

/// Does `work` beside Python, whose other threads go on, and looks for signals meanwhile. After Ctrl-C nobody waits for `work`: a search
/// on the CPU stops soon, other work ends by itself.
///
/// # Errors
/// What a signal's handler raises, such as `KeyboardInterrupt`; `RuntimeError` if `work` panics.
pub fn beside_python<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, mut result) = sync_channel(1);
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = Some(stop.clone());
    let start = thread::Builder::new().name("motion-call".into()).spawn(move || {
        // Nobody may wait any more.
        let _ = done.send(threads::until(is_over, work));
    });
    start.map_err(|error| PyRuntimeError::new_err(format!("no thread starts: {error}")))?;
    loop {
        let waited = &mut result;
        match py.detach(move || waited.recv_timeout(PATIENCE)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "the library has a fault: a thread of it panicked, with the lines above on stderr. Please report it",
                ));
            }
        }
    }
}

/// What is open and no call uses: opening it takes longer than to use it once. Each has a purpose. Only a thread that has Python's
/// lock locks it, so that it is never locked where a process forks.
pub struct Idle<P, T>(Mutex<Vec<(P, Owned<T>)>>);

/// The most that wait.
const MOST_IDLE: usize = 4;

impl<P: PartialEq, T> Idle<P, T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One for this purpose, if there is one of this process.
    pub fn take(&self, purpose: &P) -> Option<Owned<T>> {
        // Each change is one call, so that the list is whole after a panic.
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle.iter().position(|(of, value)| of == purpose && value.is_here());
        found.map(|index| idle.remove(index).1)
    }

    pub fn keep(&self, purpose: P, value: Owned<T>) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((purpose, value));
        let oldest = (idle.len() > MOST_IDLE).then(|| idle.remove(0));
        drop(idle);
        drop(oldest);
    }
}

/// What calls use one after the other.
pub struct Shared<T>(Mutex<Option<T>>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// Takes it for one call, which [puts](Self::put) it back.
    ///
    /// # Errors
    /// `RuntimeError` if another call has it, or was interrupted.
    pub fn take(&self) -> PyResult<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| {
            PyRuntimeError::new_err(
                "this iterator is used by another thread, or was interrupted: make one for each thread",
            )
        })
    }

    pub fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }
}

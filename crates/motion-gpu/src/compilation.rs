//! What tells a program that a driver compiles kernels, which may take it many seconds.

use std::sync::OnceLock;
use std::time::Duration;

/// Kernels that a driver compiles together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compilation<'a> {
    /// The name of the device.
    pub device: &'a str,
    /// The number of kernels.
    pub kernels: usize,
    /// How long it took; `None` at the beginning.
    pub took: Option<Duration>,
}

static OBSERVER: OnceLock<fn(&Compilation<'_>)> = OnceLock::new();

/// Has `observer` called at the beginning and at the end of every compilation in the process, by the thread that opens the
/// device. A process has one observer: later calls change nothing.
pub fn observe(observer: fn(&Compilation<'_>)) {
    let _ = OBSERVER.set(observer);
}

#[cfg(feature = "opencl")]
pub(crate) fn tell(compilation: &Compilation<'_>) {
    if let Some(observer) = OBSERVER.get() {
        observer(compilation);
    }
}

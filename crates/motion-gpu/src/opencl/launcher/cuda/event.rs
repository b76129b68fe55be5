//! The states of commands.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult};

use super::{HeldContext, call, check};
use crate::opencl::launcher::Result;

/// An event of the driver.
#[derive(Debug)]
pub(super) struct RawEvent(sys::CUevent);

// SAFETY: it may be used from any thread in which its context is current.
unsafe impl Send for RawEvent {}

// SAFETY: as above.
unsafe impl Sync for RawEvent {}

impl RawEvent {
    /// Destroys it. Its context is current.
    pub(super) fn destroy(self) {
        // SAFETY: it is not used any more.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The state of all that a stream had when it was recorded. Its event is used again afterwards: to make one takes longer
/// than to record it.
#[derive(Debug)]
pub struct CudaEvent {
    /// There until it is dropped.
    raw: Option<RawEvent>,
    context: Arc<HeldContext>,
}

impl CudaEvent {
    /// Records the end of what `stream` has so far. The context is current.
    pub(super) fn record(context: &Arc<HeldContext>, stream: sys::CUstream) -> Result<Self> {
        const WITHOUT_TIME: u32 = 2;
        let free = context.events.lock().pop();
        let raw = match free {
            Some(raw) => raw,
            None => {
                let mut raw = std::ptr::null_mut();
                // SAFETY: there is space for one handle.
                unsafe { call!(cuEventCreate(&mut raw, WITHOUT_TIME))? };
                RawEvent(raw)
            }
        };
        let recorded = Self { raw: Some(raw), context: context.clone() };
        // SAFETY: event and stream are of this context.
        unsafe { call!(cuEventRecord(recorded.raw(), stream))? };
        Ok(recorded)
    }

    /// Its handle.
    pub(super) fn raw(&self) -> sys::CUevent {
        self.raw.as_ref().map_or(std::ptr::null_mut(), |raw| raw.0)
    }

    pub(in crate::opencl) fn is_done(&self) -> Result<bool> {
        let _current = self.context.enter()?;
        // SAFETY: the event is of this context.
        match unsafe { sys::cuEventQuery(self.raw()) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => self.context.note(check("a command", result)).map(|()| true),
        }
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.events.lock().extend(self.raw.take());
    }
}

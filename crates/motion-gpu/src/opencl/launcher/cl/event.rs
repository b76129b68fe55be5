//! The states of commands.

use std::ffi::c_void;
use std::ptr;

use ocl::ffi;

use super::{check, owner};
use crate::opencl::launcher::{Event, Result};

owner!(
    /// The state of a queued command.
    ClEvent, cl_event, clReleaseEvent
);

impl Clone for ClEvent {
    fn clone(&self) -> Self {
        // SAFETY: the event is alive. The call fails for no event that is.
        unsafe { ffi::clRetainEvent(self.0) };
        Self(self.0)
    }
}

impl ClEvent {
    /// The event `raw`, of which nobody else releases this reference.
    ///
    /// # Safety
    /// A call of OpenCL returned it.
    pub(super) unsafe fn new(raw: ffi::cl_event) -> Self {
        Self(raw)
    }

    /// Its handle.
    pub(super) fn raw(&self) -> ffi::cl_event {
        self.0
    }

    fn time(&self, which: u32) -> Option<u64> {
        let mut time = 0_u64;
        // SAFETY: the property has 8 bytes, and there is space for them.
        let code = unsafe {
            let (size, value) = (size_of::<u64>(), (&raw mut time).cast());
            ffi::clGetEventProfilingInfo(self.0, which, size, value, ptr::null_mut())
        };
        (code == 0 && time > 0).then_some(time)
    }

    pub(in crate::opencl) fn is_done(&self) -> Result<bool> {
        let mut status = 0_i32;
        // SAFETY: the property has 4 bytes, and there is space for them.
        let code = unsafe {
            let (size, value) = (size_of::<i32>(), (&raw mut status).cast());
            let property = ffi::CL_EVENT_COMMAND_EXECUTION_STATUS;
            ffi::clGetEventInfo(self.0, property, size, value, ptr::null_mut())
        };
        check("clGetEventInfo", code)?;
        is_done_at(status)
    }

    /// Calls `callback` once, with `data`, from any thread, when the command is done or has failed. If this
    /// returns an error, it is never called.
    pub(in crate::opencl) fn call_when_done(
        &self,
        callback: extern "C" fn(*mut c_void, i32, *mut c_void),
        data: *mut c_void,
    ) -> Result<()> {
        // SAFETY: the event is alive; only the callback uses `data`.
        let code = unsafe { ffi::clSetEventCallback(self.0, ffi::CL_COMPLETE, Some(callback), data) };
        check("clSetEventCallback", code)
    }

    pub(in crate::opencl) fn started(&self) -> Option<u64> {
        self.time(ffi::CL_PROFILING_COMMAND_START)
    }

    pub(in crate::opencl) fn ended(&self) -> Option<u64> {
        self.time(ffi::CL_PROFILING_COMMAND_END)
    }
}

/// Whether a command of this status is done.
///
/// # Errors
/// The error with which it failed.
pub(in crate::opencl) fn is_done_at(status: i32) -> Result<bool> {
    check("a command", status.min(0)).map(|()| status == ffi::CL_COMPLETE)
}

/// What tests hold a queue up with, here and in the crates above.
impl super::OpenClApi {
    /// An event that [`complete`] ends.
    pub(in crate::opencl) fn user_event(&self) -> Result<Event> {
        let mut code = 0;
        // SAFETY: the context is alive.
        let raw = unsafe { ffi::clCreateUserEvent(self.context.0, &mut code) };
        check("clCreateUserEvent", code).map(|()| Event::OpenCl(ClEvent(raw)))
    }
}

/// Ends an event of [`OpenClApi::user_event`](super::OpenClApi::user_event) with `status`.
pub(in crate::opencl) fn complete(event: &Event, status: i32) -> Result<()> {
    // SAFETY: the event is alive; the call refuses events that are not a user's.
    check("clSetUserEventStatus", unsafe { ffi::clSetUserEventStatus(event.opencl()?.0, status) })
}

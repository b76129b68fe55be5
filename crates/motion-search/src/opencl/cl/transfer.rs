//! Memory that host and device share, and commands that do not block the host.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::time::Duration;

use ocl::ffi;

use super::{Buffer, Context, Error, Event, Queue, RawDevice, Rectangle, Result, check};

impl Context {
    /// A queue as [`Self::queue`], whose commands record when they start and end if the device supports
    /// that.
    pub(in crate::opencl) fn timed_queue(&self, device: RawDevice) -> Result<Queue> {
        self.queue_with(device, ffi::CL_QUEUE_PROFILING_ENABLE).or_else(|_| self.queue(device))
    }

    /// Memory that the driver allocates for access by the host, usually page-locked.
    pub(in crate::opencl) fn host_buffer(&self, bytes: usize) -> Result<Buffer> {
        let (flags, mut code) = (ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_ALLOC_HOST_PTR, 0);
        // SAFETY: no host memory is passed.
        let raw = unsafe { ffi::clCreateBuffer(self.0, flags, bytes, ptr::null_mut(), &mut code) };
        check("clCreateBuffer", code).map(|()| Buffer(raw))
    }
}

impl Queue {
    /// Begins to map the first `bytes` of `buffer` into the host's memory. The host may read and write them
    /// from when the event is done until they are unmapped.
    pub(in crate::opencl) fn begin_map(&self, buffer: &Buffer, bytes: usize) -> Result<(NonNull<u8>, Event)> {
        let (queue, buffer, flags) = (self.owner.0, buffer.0, ffi::CL_MAP_READ | ffi::CL_MAP_WRITE);
        let mut start = ptr::null_mut();
        // SAFETY: the call refuses more bytes than the buffer has; the rest is the caller's.
        let map = |count, after, event| unsafe {
            let mut code = 0;
            start =
                ffi::clEnqueueMapBuffer(queue, buffer, 0, flags, 0, bytes, count, after, event, &mut code);
            code
        };
        // SAFETY: no events.
        let event = unsafe { self.command_event("clEnqueueMapBuffer", &[], map)? };
        let start = NonNull::new(start.cast()).ok_or(Error { call: "clEnqueueMapBuffer", code: -12 })?;
        Ok((start, event))
    }

    /// Begins to end the mapping of `buffer` at `start`.
    ///
    /// # Safety
    /// `start` is a result of [`Self::begin_map`] of this buffer, and the memory is no longer used.
    pub(in crate::opencl) unsafe fn begin_unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.0, start.as_ptr().cast());
        // SAFETY: the caller guarantees it.
        let unmap = |count, after, event| unsafe {
            ffi::clEnqueueUnmapMemObject(queue, buffer, start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueUnmapMemObject", &[], unmap) }
    }

    /// Begins to copy `data` to `buffer`, from byte `first` on.
    ///
    /// # Safety
    /// `data` is neither moved, freed nor written until the event, or the queue, is done.
    pub(in crate::opencl) unsafe fn begin_write(
        &self,
        buffer: &Buffer,
        first: usize,
        data: &[u8],
    ) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.0, data.as_ptr().cast());
        // SAFETY: `start` points to so many bytes, which the caller keeps in place; the call refuses bytes past the end of
        // the buffer.
        let write = |count, after, event| unsafe {
            ffi::clEnqueueWriteBuffer(queue, buffer, 0, first, data.len(), start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueWriteBuffer", &[], write) }
    }

    /// Begins to copy rows that are `stride` bytes apart in `data` to `to`.
    ///
    /// # Panics
    /// If `data` ends before the last row.
    ///
    /// # Safety
    /// `data` is neither moved nor freed until the event, or the queue, is done.
    pub(in crate::opencl) unsafe fn begin_write_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        data: &[u8],
        stride: usize,
    ) -> Result<Event> {
        assert!(data.len() >= (to.height - 1) * stride + to.width);
        let (queue, buffer) = (self.owner.0, buffer.0);
        let (origin, host_origin, region) = ([to.left, to.top, 0], [0; 3], [to.width, to.height, 1]);
        // SAFETY: every row is in `data`, as asserted, which the caller keeps in place; the call refuses a
        // rectangle outside the buffer.
        let write = |count, after, event| unsafe {
            ffi::clEnqueueWriteBufferRect(
                queue,
                buffer,
                0,
                origin.as_ptr(),
                host_origin.as_ptr(),
                region.as_ptr(),
                to.pitch,
                0,
                stride,
                0,
                data.as_ptr().cast(),
                count,
                after,
                event,
            )
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueWriteBufferRect", &[], write) }
    }

    /// Begins to copy the first `bytes` of `buffer` to `data`, when `after` is done.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes, which are neither moved, freed nor used until the event or the queue
    /// is done.
    pub(in crate::opencl) unsafe fn begin_read(
        &self,
        buffer: &Buffer,
        data: NonNull<u8>,
        bytes: usize,
        after: &Event,
    ) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.0, data.as_ptr().cast());
        // SAFETY: the caller guarantees it.
        let read = |count, after, event| unsafe {
            ffi::clEnqueueReadBuffer(queue, buffer, 0, 0, bytes, start, count, after, event)
        };
        // SAFETY: the event is borrowed.
        unsafe { self.command_event("clEnqueueReadBuffer", &[after.0], read) }
    }

    /// Begins to copy `from` to `data`, as rows without padding.
    ///
    /// # Panics
    /// If `data` is not of that size.
    ///
    /// # Safety
    /// As [`Self::begin_read`] of `data`.
    pub(in crate::opencl) unsafe fn begin_read_rows(
        &self,
        buffer: &Buffer,
        from: Rectangle,
        data: &mut [u8],
    ) -> Result<Event> {
        assert_eq!(data.len(), from.width * from.height);
        let (queue, buffer) = (self.owner.0, buffer.0);
        let (origin, host_origin, region) = ([from.left, from.top, 0], [0; 3], [from.width, from.height, 1]);
        // SAFETY: `data` holds the rows, as asserted; the caller guarantees the rest.
        let read = |count, after, event| unsafe {
            ffi::clEnqueueReadBufferRect(
                queue,
                buffer,
                0,
                origin.as_ptr(),
                host_origin.as_ptr(),
                region.as_ptr(),
                from.pitch,
                0,
                from.width,
                0,
                data.as_mut_ptr().cast(),
                count,
                after,
                event,
            )
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueReadBufferRect", &[], read) }
    }

    /// Commands queued from now on wait for all of `after`. The event is done when they may start.
    pub(in crate::opencl) fn barrier<'a>(&self, after: impl IntoIterator<Item = &'a Event>) -> Result<Event> {
        let (queue, after) = (self.owner.0, after.into_iter().map(|event| event.0).collect::<Vec<_>>());
        // SAFETY: the wait list is the caller's.
        let wait =
            |count, after, event| unsafe { ffi::clEnqueueBarrierWithWaitList(queue, count, after, event) };
        // SAFETY: the events are borrowed.
        unsafe { self.command_event("clEnqueueBarrierWithWaitList", &after, wait) }
    }
}

impl Event {
    /// Whether the command is done.
    ///
    /// # Errors
    /// The error with which the command failed.
    pub(in crate::opencl) fn is_done(&self) -> Result<bool> {
        let mut status = 0_i32;
        // SAFETY: the property has 4 bytes, and there is space for them.
        let code = unsafe {
            let (size, value) = (size_of::<i32>(), (&raw mut status).cast());
            let property = ffi::CL_EVENT_COMMAND_EXECUTION_STATUS;
            ffi::clGetEventInfo(self.0, property, size, value, ptr::null_mut())
        };
        check("clGetEventInfo", code)?;
        Self::is_done_at(status)
    }

    /// Checks that the command has not failed; it need not be done. The commands behind one that failed may run all the
    /// same, so that nothing they do says whether it has.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    pub(in crate::opencl) fn check(&self) -> Result<()> {
        self.is_done().map(drop)
    }

    /// Whether a command of this status is done.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    pub(in crate::opencl) fn is_done_at(status: i32) -> Result<bool> {
        check("a command", status.min(0)).map(|()| status == ffi::CL_COMPLETE)
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

    /// When the command, which is done, started, in nanoseconds of the device's clock; `None` if its queue
    /// does not record it.
    pub(in crate::opencl) fn started(&self) -> Option<u64> {
        self.time(ffi::CL_PROFILING_COMMAND_START)
    }

    /// When the command ended, as [`Self::started`].
    pub(in crate::opencl) fn ended(&self) -> Option<u64> {
        self.time(ffi::CL_PROFILING_COMMAND_END)
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
}

/// The time between two times of the device's clock.
pub(in crate::opencl) fn between(from: Option<u64>, to: Option<u64>) -> Option<Duration> {
    Some(Duration::from_nanos(to?.saturating_sub(from?)))
}

/// What a test holds a queue up with.
#[cfg(test)]
impl Context {
    /// An event that [`Event::complete`] ends.
    pub(in crate::opencl) fn user_event(&self) -> Result<Event> {
        let mut code = 0;
        // SAFETY: the context is alive.
        let raw = unsafe { ffi::clCreateUserEvent(self.0, &mut code) };
        check("clCreateUserEvent", code).map(|()| Event(raw))
    }
}

#[cfg(test)]
impl Event {
    /// Ends an event of [`Context::user_event`] with `status`.
    pub(in crate::opencl) fn complete(&self, status: i32) -> Result<()> {
        // SAFETY: the event is alive; the call refuses events that are not a user's.
        check("clSetUserEventStatus", unsafe { ffi::clSetUserEventStatus(self.0, status) })
    }
}

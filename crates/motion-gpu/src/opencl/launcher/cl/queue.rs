//! Queues and their commands.

use std::ptr::{self, NonNull};

use ocl::ffi;
use parking_lot::Mutex;

use super::event::ClEvent;
use super::{ClKernel, QueueOwner, check};
use crate::opencl::launcher::{Arg, Buffer, Error, Event, Rectangle, Result};

/// A queue of commands.
#[derive(Debug)]
pub struct ClQueue {
    /// Of a chained queue the latest command, for which the next one waits.
    latest: Option<Mutex<Option<ClEvent>>>,
    // Last: its commands are released before it.
    owner: QueueOwner,
}

impl ClQueue {
    /// In a chained queue each command waits for the event of the one before, so that all commands after one that fails
    /// fail too. The order of the queue does not do this: PoCL 3.1 runs those behind a failed upload, and the search would
    /// find wrong vectors. An event for each command costs time, so queues of GPUs are not chained.
    pub(super) fn new(owner: QueueOwner, is_chained: bool) -> Self {
        Self { latest: is_chained.then(Mutex::default), owner }
    }

    /// Queues a command by `enqueue`, which gets the number of events to wait for, these events, and space for the event
    /// of the command, or null. The command waits for `after`. Its event is written to `event`, if that is not null.
    ///
    /// # Errors
    /// The error of the call, or of a command for which this one would wait.
    ///
    /// # Safety
    /// The events of `after` are alive; `event` is null or points to space for one.
    unsafe fn command(
        &self,
        call: &'static str,
        after: &[ffi::cl_event],
        event: *mut ffi::cl_event,
        enqueue: impl FnOnce(u32, *const ffi::cl_event, *mut ffi::cl_event) -> i32,
    ) -> Result<()> {
        let list = |after: &[ffi::cl_event]| if after.is_empty() { ptr::null() } else { after.as_ptr() };
        let Some(latest) = &self.latest else {
            return check(call, enqueue(after.len() as u32, list(after), event));
        };
        let mut latest = latest.lock();
        if let Some(latest) = &*latest {
            // PoCL 3.1 never begins a command that waits for one that has failed.
            latest.is_done()?;
        }
        let after: Vec<_> = after.iter().copied().chain(latest.as_ref().map(ClEvent::raw)).collect();
        let mut raw = ptr::null_mut();
        check(call, enqueue(after.len() as u32, list(&after), &mut raw))?;
        // SAFETY: the call has returned it.
        let queued = unsafe { ClEvent::new(raw) };
        if !event.is_null() {
            // SAFETY: the caller guarantees that there is space for one.
            unsafe { event.write(std::mem::ManuallyDrop::new(queued.clone()).raw()) };
        }
        *latest = Some(queued);
        Ok(())
    }

    /// As [`Self::command`]. Returns the event of the command.
    ///
    /// # Safety
    /// The events of `after` are alive.
    unsafe fn command_event(
        &self,
        call: &'static str,
        after: &[ffi::cl_event],
        enqueue: impl FnOnce(u32, *const ffi::cl_event, *mut ffi::cl_event) -> i32,
    ) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: the caller guarantees it; there is space for one event.
        unsafe { self.command(call, after, &mut event, enqueue) }?;
        // SAFETY: the call has returned it.
        Ok(Event::OpenCl(unsafe { ClEvent::new(event) }))
    }
}

/// The commands of [`Queue`](crate::opencl::launcher::Queue), which describes them.
impl ClQueue {
    pub unsafe fn launch(
        &self,
        kernel: &mut ClKernel,
        args: &[Arg<'_>],
        groups: [usize; 3],
        items: [usize; 3],
        after: &[Event],
    ) -> Result<()> {
        kernel.set(args)?;
        let (queue, kernel) = (self.owner.0, kernel.owner.0);
        let global: [usize; 3] = std::array::from_fn(|axis| groups[axis] * items[axis]);
        // SAFETY: both arrays hold three sizes; the caller guarantees the rest.
        let launch = |count, after, event| unsafe {
            let (global, items) = (global.as_ptr(), items.as_ptr());
            ffi::clEnqueueNDRangeKernel(queue, kernel, 3, ptr::null(), global, items, count, after, event)
        };
        let after = after.iter().map(|event| Ok(event.opencl()?.raw())).collect::<Result<Vec<_>>>()?;
        // SAFETY: the events are borrowed.
        unsafe { self.command("clEnqueueNDRangeKernel", &after, ptr::null_mut(), launch) }
    }

    pub fn write(&self, buffer: &Buffer, data: &[u8]) -> Result<()> {
        let (queue, buffer, start) = (self.owner.0, buffer.opencl()?.0, data.as_ptr().cast());
        // SAFETY: `start` points to as many bytes, and the call blocks until they are read; it refuses a
        // buffer that is too small; the wait list is the caller's.
        let write = |count, after, event| unsafe {
            ffi::clEnqueueWriteBuffer(queue, buffer, 1, 0, data.len(), start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command("clEnqueueWriteBuffer", &[], ptr::null_mut(), write) }
    }

    pub fn begin_map(&self, buffer: &Buffer, bytes: usize) -> Result<(NonNull<u8>, Event)> {
        let (queue, buffer, flags) = (self.owner.0, buffer.opencl()?.0, ffi::CL_MAP_READ | ffi::CL_MAP_WRITE);
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

    pub unsafe fn begin_unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.opencl()?.0, start.as_ptr().cast());
        // SAFETY: the caller guarantees it.
        let unmap = |count, after, event| unsafe {
            ffi::clEnqueueUnmapMemObject(queue, buffer, start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueUnmapMemObject", &[], unmap) }
    }

    pub unsafe fn begin_write(&self, buffer: &Buffer, first: usize, data: &[u8]) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.opencl()?.0, data.as_ptr().cast());
        // SAFETY: `start` points to so many bytes, which the caller keeps in place; the call refuses bytes past the end of
        // the buffer.
        let write = |count, after, event| unsafe {
            ffi::clEnqueueWriteBuffer(queue, buffer, 0, first, data.len(), start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueWriteBuffer", &[], write) }
    }

    pub unsafe fn begin_write_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        data: &[u8],
        stride: usize,
    ) -> Result<Event> {
        assert!(data.len() >= (to.height - 1) * stride + to.width);
        let (queue, buffer) = (self.owner.0, buffer.opencl()?.0);
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

    pub unsafe fn begin_read(
        &self,
        buffer: &Buffer,
        data: NonNull<u8>,
        bytes: usize,
        after: &Event,
    ) -> Result<Event> {
        let (queue, buffer, start) = (self.owner.0, buffer.opencl()?.0, data.as_ptr().cast());
        // SAFETY: the caller guarantees it.
        let read = |count, after, event| unsafe {
            ffi::clEnqueueReadBuffer(queue, buffer, 0, 0, bytes, start, count, after, event)
        };
        // SAFETY: the event is borrowed.
        unsafe { self.command_event("clEnqueueReadBuffer", &[after.opencl()?.raw()], read) }
    }

    pub unsafe fn begin_read_rows(&self, buffer: &Buffer, from: Rectangle, data: &mut [u8]) -> Result<Event> {
        assert_eq!(data.len(), from.width * from.height);
        let (queue, buffer) = (self.owner.0, buffer.opencl()?.0);
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

    pub fn barrier(&self, after: &[&Event]) -> Result<Event> {
        let queue = self.owner.0;
        let after = after.iter().map(|event| Ok(event.opencl()?.raw())).collect::<Result<Vec<_>>>()?;
        // SAFETY: the wait list is the caller's.
        let wait =
            |count, after, event| unsafe { ffi::clEnqueueBarrierWithWaitList(queue, count, after, event) };
        // SAFETY: the events are borrowed.
        unsafe { self.command_event("clEnqueueBarrierWithWaitList", &after, wait) }
    }

    pub fn marker(&self) -> Result<Event> {
        let queue = self.owner.0;
        // SAFETY: no wait list means all commands before, and in an ordered queue the latest one means them too.
        let mark =
            |count, after, event| unsafe { ffi::clEnqueueMarkerWithWaitList(queue, count, after, event) };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueMarkerWithWaitList", &[], mark) }
    }

    pub fn end(&self) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: no wait list, which means all commands before; there is space for one event.
        let code = unsafe { ffi::clEnqueueMarkerWithWaitList(self.owner.0, 0, ptr::null(), &mut event) };
        check("clEnqueueMarkerWithWaitList", code)?;
        // SAFETY: the call has returned it.
        Ok(Event::OpenCl(unsafe { ClEvent::new(event) }))
    }

    pub fn check(&self) -> Result<()> {
        let latest = self.latest.as_ref().map(Mutex::lock);
        latest.as_deref().and_then(Option::as_ref).map_or(Ok(()), |latest| latest.is_done().map(drop))
    }

    pub fn flush(&self) -> Result<()> {
        // SAFETY: the queue is alive.
        check("clFlush", unsafe { ffi::clFlush(self.owner.0) })
    }
}

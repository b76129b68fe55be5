//! Queues and their commands.

use std::ptr;

use ocl::ffi;
use parking_lot::Mutex;

use super::{Arg, Buffer, Event, KernelObject, QueueOwner, Result, check};

/// A queue of commands.
#[derive(Debug)]
pub(in crate::opencl) struct Queue {
    /// Of a chained queue the latest command, for which the next one waits.
    latest: Option<Mutex<Option<Event>>>,
    // Last: its commands are released before it.
    pub(super) owner: QueueOwner,
}

/// A rectangle of bytes in a buffer: `width` bytes of `height` rows, `pitch` bytes apart.
#[derive(Clone, Copy)]
pub(in crate::opencl) struct Rectangle {
    pub(in crate::opencl) left: usize,
    pub(in crate::opencl) top: usize,
    pub(in crate::opencl) width: usize,
    pub(in crate::opencl) height: usize,
    pub(in crate::opencl) pitch: usize,
}

impl Queue {
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
    pub(super) unsafe fn command(
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
            latest.check()?;
        }
        let after: Vec<_> = after.iter().copied().chain(latest.as_ref().map(|latest| latest.0)).collect();
        let mut raw = ptr::null_mut();
        check(call, enqueue(after.len() as u32, list(&after), &mut raw))?;
        let queued = Event(raw);
        if !event.is_null() {
            // SAFETY: the caller guarantees that there is space for one.
            unsafe { event.write(std::mem::ManuallyDrop::new(queued.clone()).0) };
        }
        *latest = Some(queued);
        Ok(())
    }

    /// As [`Self::command`]. Returns the event of the command.
    ///
    /// # Safety
    /// The events of `after` are alive.
    pub(super) unsafe fn command_event(
        &self,
        call: &'static str,
        after: &[ffi::cl_event],
        enqueue: impl FnOnce(u32, *const ffi::cl_event, *mut ffi::cl_event) -> i32,
    ) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: the caller guarantees it; there is space for one event.
        unsafe { self.command(call, after, &mut event, enqueue) }.map(|()| Event(event))
    }

    /// Copies `data` to the start of `buffer`, and returns when `data` is no longer used.
    pub(in crate::opencl) fn write(&self, buffer: &Buffer, data: &[u8]) -> Result<()> {
        let (queue, buffer, start) = (self.owner.0, buffer.0, data.as_ptr().cast());
        // SAFETY: `start` points to as many bytes, and the call blocks until they are read; it refuses a
        // buffer that is too small; the wait list is the caller's.
        let write = |count, after, event| unsafe {
            ffi::clEnqueueWriteBuffer(queue, buffer, 1, 0, data.len(), start, count, after, event)
        };
        // SAFETY: no events.
        unsafe { self.command("clEnqueueWriteBuffer", &[], ptr::null_mut(), write) }
    }

    /// Queues `kernel` with `args` over `groups` groups of `items` items, in N dimensions, at most three.
    ///
    /// # Safety
    /// With these arguments the kernel must stay within its buffers.
    pub(in crate::opencl) unsafe fn launch<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
    ) -> Result<()> {
        // SAFETY: the caller guarantees it.
        unsafe { self.enqueue(kernel, args, groups, items, &[], ptr::null_mut()) }
    }

    /// As [`Self::launch`], after all of `after`. Returns the event of the kernel.
    ///
    /// # Safety
    /// As [`Self::launch`].
    pub(in crate::opencl) unsafe fn launch_after<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
        after: &[Event],
    ) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: the caller guarantees it; there is space for one event.
        unsafe { self.enqueue(kernel, args, groups, items, after, &mut event) }.map(|()| Event(event))
    }

    /// # Safety
    /// As [`Self::launch`]; `event` is null or points to space for one.
    unsafe fn enqueue<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
        after: &[Event],
        event: *mut ffi::cl_event,
    ) -> Result<()> {
        kernel.set(args)?;
        let (queue, kernel) = (self.owner.0, kernel.owner.0);
        let global: [usize; N] = std::array::from_fn(|axis| groups[axis] * items[axis]);
        // SAFETY: both arrays hold N sizes; the caller guarantees the rest.
        let launch = |count, after, event| unsafe {
            let (global, items) = (global.as_ptr(), items.as_ptr());
            ffi::clEnqueueNDRangeKernel(
                queue,
                kernel,
                N as u32,
                ptr::null(),
                global,
                items,
                count,
                after,
                event,
            )
        };
        let after: Vec<_> = after.iter().map(|event| event.0).collect();
        // SAFETY: the events are borrowed; the caller guarantees the space.
        unsafe { self.command("clEnqueueNDRangeKernel", &after, event, launch) }
    }

    /// An event that is done when everything queued before is done. It fails if the queue is chained and one of the
    /// commands failed.
    pub(in crate::opencl) fn marker(&self) -> Result<Event> {
        let queue = self.owner.0;
        // SAFETY: no wait list means all commands before, and in an ordered queue the latest one means them too.
        let mark =
            |count, after, event| unsafe { ffi::clEnqueueMarkerWithWaitList(queue, count, after, event) };
        // SAFETY: no events.
        unsafe { self.command_event("clEnqueueMarkerWithWaitList", &[], mark) }
    }

    /// An event that is done when no command queued before runs any more, whether it failed or not.
    pub(in crate::opencl) fn end(&self) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: no wait list, which means all commands before; there is space for one event.
        let code = unsafe { ffi::clEnqueueMarkerWithWaitList(self.owner.0, 0, ptr::null(), &mut event) };
        check("clEnqueueMarkerWithWaitList", code).map(|()| Event(event))
    }

    /// Checks that the latest command of a chained queue has not failed, and none before.
    ///
    /// # Errors
    /// The error of the command.
    pub(in crate::opencl) fn check(&self) -> Result<()> {
        let latest = self.latest.as_ref().map(Mutex::lock);
        latest.as_deref().and_then(Option::as_ref).map_or(Ok(()), Event::check)
    }

    /// Submits the queued commands to the device, without waiting for them.
    pub(in crate::opencl) fn flush(&self) -> Result<()> {
        // SAFETY: the queue is alive.
        check("clFlush", unsafe { ffi::clFlush(self.owner.0) })
    }
}

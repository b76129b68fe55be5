//! Queues: streams of CUDA.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::sys::{self, CUmemorytype};
use parking_lot::Mutex;

use super::event::CudaEvent;
use super::graph::{Graph, RecordedLaunch};
use super::program::Function;
use super::{HeldContext, call};
use crate::opencl::launcher::{Arg, Buffer, DevicePlane, Error, Event, Rectangle, Result};

/// Fewer launches take no longer one by one.
const LEAST_RECORDED: usize = 3;

/// The most graphs of a stream: one for each pair of frames that it searches, and some for parts of frames. What else is
/// launched is launched one by one.
const MOST_GRAPHS: usize = 64;

/// A stream, whose launches are queued together before the next other command.
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    backlog: Mutex<Backlog>,
    context: Arc<HeldContext>,
}

// SAFETY: a stream may be used from any thread in which its context is current.
unsafe impl Send for Stream {}

// SAFETY: as above.
unsafe impl Sync for Stream {}

/// The launches that are not queued yet, and the graphs of earlier ones.
#[derive(Debug, Default)]
struct Backlog {
    /// The first `count` are waiting; the others are memory for later ones.
    waiting: Vec<RecordedLaunch>,
    count: usize,
    graphs: Vec<Graph>,
}

impl Backlog {
    /// Queues all that wait. The context is current.
    fn queue(&mut self, stream: sys::CUstream) -> Result<()> {
        let waiting = &self.waiting[..std::mem::take(&mut self.count)];
        let known = self.graphs.iter().position(|graph| graph.launches == *waiting);
        if waiting.len() < LEAST_RECORDED || known.is_none() && self.graphs.len() == MOST_GRAPHS {
            // SAFETY: the caller of `launch` guarantees it.
            return waiting.iter().try_for_each(|launch| unsafe { launch.run(stream) });
        }
        let index = match known {
            Some(index) => index,
            None => {
                // SAFETY: as above, for as long as the buffers live, which is as long as the launches can be repeated:
                // they are found again by the addresses of their arguments.
                self.graphs.push(unsafe { Graph::record(waiting)? });
                self.graphs.len() - 1
            }
        };
        self.graphs[index].launch(stream)
    }
}

impl Stream {
    pub(super) fn new(context: Arc<HeldContext>) -> Result<Self> {
        const BESIDE_THE_DEFAULT_STREAM: u32 = 1;
        let _current = context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: there is space for one handle.
        unsafe { call!(cuStreamCreate(&mut raw, BESIDE_THE_DEFAULT_STREAM))? };
        drop(_current);
        Ok(Self { raw, backlog: Mutex::default(), context })
    }

    /// Queues a command behind all launches, and returns its event.
    fn command(&self, queue: impl FnOnce() -> Result<()>) -> Result<Event> {
        let _current = self.context.enter()?;
        let queued = self.backlog.lock().queue(self.raw).and_then(|()| queue());
        let recorded = queued.and_then(|()| CudaEvent::record(&self.context, self.raw));
        self.context.note(recorded).map(|event| Event::Cuda(Arc::new(event)))
    }

    /// Has the stream wait for `after`. The context is current.
    fn wait_for(&self, after: &Event) -> Result<()> {
        let event = after.cuda()?;
        // SAFETY: both are of this context.
        unsafe { call!(cuStreamWaitEvent(self.raw, event.raw(), 0)) }
    }

    /// Has the stream wait for what uses or writes `plane`. The context is current.
    fn wait_for_plane(&self, plane: &DevicePlane) -> Result<()> {
        let used = CudaEvent::record(&self.context, plane.stream as sys::CUstream)?;
        // SAFETY: both streams are of this context.
        unsafe { call!(cuStreamWaitEvent(self.raw, used.raw(), 0)) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: what was queued is over, and nothing uses the stream any more.
            let _ = unsafe { call!(cuStreamDestroy_v2(self.raw)) };
            self.backlog.get_mut().graphs.drain(..).for_each(Graph::destroy);
        }
    }
}

/// Rows in memory of the host or of the device.
struct Rows {
    host: *mut c_void,
    device: u64,
    memory: CUmemorytype,
    pitch: usize,
}

impl Rows {
    fn on_host(start: *const u8, pitch: usize) -> Self {
        Self { host: start.cast_mut().cast(), device: 0, memory: CUmemorytype::CU_MEMORYTYPE_HOST, pitch }
    }

    fn on_device(device: u64, pitch: usize) -> Self {
        Self { host: ptr::null_mut(), device, memory: CUmemorytype::CU_MEMORYTYPE_DEVICE, pitch }
    }

    /// Those of `plane` from byte `first` on.
    fn of(plane: &DevicePlane, first: usize) -> Self {
        Self::on_device(plane.address + first as u64, plane.stride)
    }

    /// `rectangle` in `buffer`.
    fn within(buffer: &Buffer, rectangle: Rectangle) -> Result<Self> {
        let Rectangle { left, top, width, height, pitch } = rectangle;
        let first = buffer.cuda()?.at(top * pitch + left, (height - 1) * pitch + width)?;
        Ok(Self::on_device(first, pitch))
    }
}

/// A copy of the rows of `rectangle` from somewhere to somewhere.
fn rows_copy(rectangle: Rectangle, from: &Rows, to: &Rows) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from.memory,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: ptr::null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to.memory,
        dstHost: to.host,
        dstDevice: to.device,
        dstArray: ptr::null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: rectangle.width,
        Height: rectangle.height,
    }
}

/// The commands of [`Queue`](crate::opencl::launcher::Queue), which describes them.
impl Stream {
    pub unsafe fn launch(
        &self,
        function: &Function,
        args: &[Arg<'_>],
        groups: [usize; 3],
        items: [usize; 3],
        after: &[Event],
    ) -> Result<()> {
        if !after.is_empty() {
            self.barrier(&after.iter().collect::<Vec<_>>())?;
        }
        let mut backlog = self.backlog.lock();
        let Backlog { waiting, count, .. } = &mut *backlog;
        if waiting.len() == *count {
            waiting.push(RecordedLaunch::default());
        }
        let launch = &mut waiting[*count];
        launch.begin(function.raw, groups.map(|size| size as u32), items.map(|size| size as u32));
        let wrong = Error { call: "cuLaunchKernel", code: 1 };
        if args.len() != function.parameters.len() {
            return Err(wrong);
        }
        for (arg, &bytes) in args.iter().zip(&function.parameters) {
            let (address, integer);
            let argument: &[u8] = match arg {
                Arg::Buffer(buffer) => {
                    address = buffer.cuda()?.at(0, 0)?.to_ne_bytes();
                    &address
                }
                Arg::Int(value) => {
                    integer = value.to_ne_bytes();
                    &integer
                }
                Arg::Struct(bytes) => bytes,
                Arg::Local(_) => return Err(Error::UNSUPPORTED),
            };
            if argument.len() != bytes {
                return Err(wrong);
            }
            launch.push(argument);
        }
        *count += 1;
        Ok(())
    }

    pub unsafe fn begin_copy_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        from: &DevicePlane,
        first: usize,
    ) -> Result<Event> {
        let copy = rows_copy(to, &Rows::of(from, first), &Rows::within(buffer, to)?);
        self.command(|| {
            self.wait_for_plane(from)?;
            // SAFETY: the caller guarantees it.
            unsafe { call!(cuMemcpy2DAsync_v2(&copy, self.raw)) }
        })
    }

    pub unsafe fn begin_copy_out_rows(
        &self,
        buffer: &Buffer,
        from: Rectangle,
        to: &DevicePlane,
    ) -> Result<Event> {
        let copy = rows_copy(from, &Rows::within(buffer, from)?, &Rows::of(to, 0));
        self.command(|| {
            self.wait_for_plane(to)?;
            // SAFETY: the caller guarantees it.
            unsafe { call!(cuMemcpy2DAsync_v2(&copy, self.raw)) }
        })
    }

    pub fn write(&self, buffer: &Buffer, data: &[u8]) -> Result<()> {
        // SAFETY: it is waited for.
        let written = unsafe { self.begin_write(buffer, 0, data)? };
        let _current = self.context.enter()?;
        // SAFETY: the event is of this context.
        self.context.note(unsafe { call!(cuEventSynchronize(written.cuda()?.raw())) })
    }

    pub unsafe fn begin_write(&self, buffer: &Buffer, first: usize, data: &[u8]) -> Result<Event> {
        let to = buffer.cuda()?.at(first, data.len())?;
        // SAFETY: there are so many bytes at either end, of which the caller keeps the host's in place.
        self.command(|| unsafe {
            call!(cuMemcpyHtoDAsync_v2(to, data.as_ptr().cast(), data.len(), self.raw))
        })
    }

    pub unsafe fn begin_write_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        data: &[u8],
        stride: usize,
    ) -> Result<Event> {
        assert!(data.len() >= (to.height - 1) * stride + to.width);
        let copy = rows_copy(to, &Rows::on_host(data.as_ptr(), stride), &Rows::within(buffer, to)?);
        // SAFETY: every row is in `data`, as asserted, which the caller keeps in place, and in the buffer.
        self.command(|| unsafe { call!(cuMemcpy2DAsync_v2(&copy, self.raw)) })
    }

    pub unsafe fn begin_read(
        &self,
        buffer: &Buffer,
        data: NonNull<u8>,
        bytes: usize,
        after: &Event,
    ) -> Result<Event> {
        let from = buffer.cuda()?.at(0, bytes)?;
        self.command(|| {
            self.wait_for(after)?;
            // SAFETY: the caller guarantees it; the buffer has so many bytes.
            unsafe { call!(cuMemcpyDtoHAsync_v2(data.as_ptr().cast(), from, bytes, self.raw)) }
        })
    }

    pub unsafe fn begin_read_rows(&self, buffer: &Buffer, from: Rectangle, data: &mut [u8]) -> Result<Event> {
        assert_eq!(data.len(), from.width * from.height);
        let copy =
            rows_copy(from, &Rows::within(buffer, from)?, &Rows::on_host(data.as_mut_ptr(), from.width));
        // SAFETY: `data` holds the rows, as asserted; the caller guarantees the rest.
        self.command(|| unsafe { call!(cuMemcpy2DAsync_v2(&copy, self.raw)) })
    }

    pub fn begin_map(&self, buffer: &Buffer, bytes: usize) -> Result<(NonNull<u8>, Event)> {
        Ok((buffer.cuda()?.start(bytes)?, self.end()?))
    }

    pub unsafe fn begin_unmap(&self, _buffer: &Buffer, _start: NonNull<u8>) -> Result<Event> {
        self.end()
    }

    pub fn barrier(&self, after: &[&Event]) -> Result<Event> {
        self.command(|| after.iter().try_for_each(|event| self.wait_for(event)))
    }

    pub fn marker(&self) -> Result<Event> {
        self.command(|| Ok(()))
    }

    pub fn end(&self) -> Result<Event> {
        self.command(|| Ok(()))
    }

    pub fn check(&self) -> Result<()> {
        self.context.enter().map(drop)
    }

    pub fn flush(&self) -> Result<()> {
        let _current = self.context.enter()?;
        self.context.note(self.backlog.lock().queue(self.raw))
    }
}

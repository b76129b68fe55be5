//! What launches kernels, as the rest of the module sees it: buffers, kernels, queues and events.
//!
//! Two APIs implement it, OpenCL on every device and CUDA's driver on NVIDIA's. The kernels are the same:
//! OpenCL's compiler turns them into a program that either API loads. An object belongs to the API that made it; given to
//! the other one it is an error.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The call.
    pub call: &'static str,
    /// OpenCL's, which are negative, or CUDA's, which are positive.
    pub code: i32,
}

impl Error {
    /// A search of a frame that is no longer there.
    pub const NO_FRAME: Self = Self { call: "queueing a search", code: -38 };

    /// A time-out. The code is not one of OpenCL's.
    pub const SILENT: Self = Self { call: "waiting for the device", code: i32::MIN };

    /// What the API does not offer, or an object of the other API.
    pub const UNSUPPORTED: Self = Self { call: "a call", code: -59 };

    /// A kernel takes local memory as an argument, for which CUDA has none.
    pub const LOCAL_MEMORY: Self = Self { call: "local memory as an argument of a kernel", code: 801 };

    /// Whether there is too little memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.code, -4 | -5 | -61 | 2)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.code {
            -1 => "device not found",
            -2 => "device not available",
            -3 => "compiler not available",
            -4 => "allocation failed",
            -5 => "out of resources",
            -6 => "out of host memory",
            -11 => "build failed",
            -14 => "an earlier command failed",
            -38 => "invalid memory object",
            -45 => "invalid program executable",
            -46 => "no such kernel",
            -48 => "invalid kernel",
            -52 => "kernel arguments missing",
            -54 => "work-group too large",
            -59 => "not supported",
            -61 => "invalid buffer size",
            -1001 => "no platform found",
            2 => "out of memory",
            100 => "no CUDA device",
            218 => "invalid PTX",
            700 => "illegal address",
            719 => "launch failed",
            801 => "not supported by CUDA",
            i32::MIN => return f.write_str("no answer"),
            _ => "error",
        };
        write!(f, "{}: {name} ({})", self.call, self.code)
    }
}

/// What a call returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Memory, on the device or on the host. What owns it releases it.
#[derive(Debug)]
pub struct Buffer {
    /// What kernels get: a `cl_mem` or an address.
    pub handle: usize,
    owner: Box<dyn Owner>,
}

/// What owns the memory of a buffer.
pub trait Owner: Any + fmt::Debug + Send + Sync {}

impl Buffer {
    /// The memory `handle`, which `owner` owns.
    pub fn new(handle: usize, owner: impl Owner) -> Self {
        Self { handle, owner: Box::new(owner) }
    }

    /// Its owner, if that is a `T`.
    pub fn owner<T: Owner>(&self) -> Result<&T> {
        (&*self.owner as &dyn Any).downcast_ref().ok_or(Error::UNSUPPORTED)
    }
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// Memory.
    Buffer(&'a Buffer),
    /// Local memory of this many bytes.
    Local(usize),
    /// A number.
    Int(i32),
    /// A struct with the layout of the kernel's.
    Struct(&'a [u8]),
}

/// What an API knows of a kernel.
pub trait LoadedKernel: Any + fmt::Debug + Send + Sync {
    /// The largest group that it can be launched in; if it was built for one size, that.
    fn largest_group(&self) -> Result<usize>;
}

/// A kernel that can be launched.
pub type KernelObject = Box<dyn LoadedKernel>;

/// A program that OpenCL's compiler has built.
pub trait BuiltProgram {
    /// The program as the driver keeps it: PTX, with NVIDIA's.
    fn binary(&self) -> Result<Vec<u8>>;

    /// The program for OpenCL.
    fn load(self: Box<Self>) -> Box<dyn LoadedProgram>;
}

/// A program whose kernels can be launched.
pub trait LoadedProgram: fmt::Debug + Send + Sync {
    /// The kernel of this name.
    fn kernel(&self, name: &CStr) -> Result<KernelObject>;
}

/// The state of a queued command.
#[derive(Clone, Debug)]
pub struct Event(Arc<dyn EventState>);

/// What an API knows of a queued command.
pub trait EventState: Any + fmt::Debug + Send + Sync {
    /// Whether the command is done.
    ///
    /// # Errors
    /// The error with which the command failed.
    fn is_done(&self) -> Result<bool>;

    /// Calls `callback` once, with `data`, from any thread, when the command is done or has failed. If this
    /// returns an error, it is never called.
    fn call_when_done(
        &self,
        callback: extern "C" fn(*mut c_void, i32, *mut c_void),
        data: *mut c_void,
    ) -> Result<()>;

    /// When the command, which is done, started, in nanoseconds of the device's clock; `None` if its queue
    /// does not record it.
    fn started(&self) -> Option<u64>;

    /// When the command ended, as [`Self::started`].
    fn ended(&self) -> Option<u64>;
}

impl Event {
    /// The event of which `state` is known.
    pub fn new(state: impl EventState) -> Self {
        Self(Arc::new(state))
    }

    /// What the API knows of it, if that is a `T`.
    pub fn state<T: EventState>(&self) -> Result<&T> {
        (&*self.0 as &dyn Any).downcast_ref().ok_or(Error::UNSUPPORTED)
    }

    /// Checks that the command has not failed; it need not be done. The commands behind one that failed may run all the
    /// same, so that nothing they do says whether it has.
    ///
    /// # Errors
    /// As [`EventState::is_done`].
    pub fn check(&self) -> Result<()> {
        self.is_done().map(drop)
    }
}

impl std::ops::Deref for Event {
    type Target = dyn EventState;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The time between two times of the device's clock.
pub fn between(from: Option<u64>, to: Option<u64>) -> Option<Duration> {
    Some(Duration::from_nanos(to?.saturating_sub(from?)))
}

/// A rectangle of bytes in a buffer: `width` bytes of `height` rows, `pitch` bytes apart.
#[derive(Clone, Copy)]
pub struct Rectangle {
    /// Bytes to its left.
    pub left: usize,
    /// Rows above it.
    pub top: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// A plane of samples on the device that another library keeps there.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
#[derive(Clone, Copy, Debug)]
pub struct DevicePlane {
    /// Its first sample.
    pub address: u64,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// The stream of the API on which it is written or was used.
    pub stream: usize,
    /// Whether it may be written to.
    pub is_writable: bool,
}

/// How the commands of a queue are ordered, and what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// They start and end in order.
    Ordered,
    /// The same; they record when they start and end, if the device supports that.
    Timed,
    /// They start in any order, if the device supports that.
    Unordered,
}

/// A queue of commands.
pub trait Queue: fmt::Debug + Send + Sync {
    /// Queues `kernel` with `args` over `groups` groups of `items` items, after all of `after`.
    ///
    /// # Safety
    /// With these arguments the kernel must stay within its buffers.
    unsafe fn launch_on(
        &self,
        kernel: &mut dyn LoadedKernel,
        args: &[Arg<'_>],
        groups: [usize; 3],
        items: [usize; 3],
        after: &[Event],
    ) -> Result<()>;

    /// Begins to copy rows of `from`, from its byte `first` on, to `to`.
    ///
    /// # Errors
    /// [`Error::UNSUPPORTED`] if the API knows no planes: its [`Api::plane_of`] returns none.
    ///
    /// # Safety
    /// The rows lie in the plane, which is neither freed nor written until the event, or the queue, is done; `to` lies in
    /// the buffer.
    unsafe fn begin_copy_rows(
        &self,
        _buffer: &Buffer,
        _to: Rectangle,
        _from: &DevicePlane,
        _first: usize,
    ) -> Result<Event> {
        Err(Error::UNSUPPORTED)
    }

    /// Begins to copy `from` to `to`, from its first byte on.
    ///
    /// # Errors
    /// As [`Self::begin_copy_rows`].
    ///
    /// # Safety
    /// `from` lies in the buffer; the plane is writable, has as many rows, and is not freed until the event, or the queue, is
    /// done.
    unsafe fn begin_copy_out_rows(
        &self,
        _buffer: &Buffer,
        _from: Rectangle,
        _to: &DevicePlane,
    ) -> Result<Event> {
        Err(Error::UNSUPPORTED)
    }

    /// Copies `data` to the start of `buffer`, and returns when `data` is no longer used.
    fn write(&self, buffer: &Buffer, data: &[u8]) -> Result<()>;

    /// Begins to copy `data` to `buffer`, from byte `first` on.
    ///
    /// # Safety
    /// `data` is neither moved, freed nor written until the event, or the queue, is done.
    unsafe fn begin_write(&self, buffer: &Buffer, first: usize, data: &[u8]) -> Result<Event>;

    /// Begins to copy rows that are `stride` bytes apart in `data` to `to`.
    ///
    /// # Panics
    /// If `data` ends before the last row.
    ///
    /// # Safety
    /// `data` is neither moved nor freed until the event, or the queue, is done; `to` lies in the buffer.
    unsafe fn begin_write_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        data: &[u8],
        stride: usize,
    ) -> Result<Event>;

    /// Begins to copy the first `bytes` of `buffer` to `data`, when `after` is done.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes, which are neither moved, freed nor used until the event or the queue
    /// is done.
    unsafe fn begin_read(
        &self,
        buffer: &Buffer,
        data: NonNull<u8>,
        bytes: usize,
        after: &Event,
    ) -> Result<Event>;

    /// Begins to copy `from` to `data`, as rows without padding.
    ///
    /// # Panics
    /// If `data` is not of that size.
    ///
    /// # Safety
    /// As [`Self::begin_read`] of `data`; `from` lies in the buffer.
    unsafe fn begin_read_rows(&self, buffer: &Buffer, from: Rectangle, data: &mut [u8]) -> Result<Event>;

    /// Begins to map the first `bytes` of `buffer` into the host's memory. The host may read and write them
    /// from when the event is done until they are unmapped.
    fn begin_map(&self, buffer: &Buffer, bytes: usize) -> Result<(NonNull<u8>, Event)>;

    /// Begins to end the mapping of `buffer` at `start`.
    ///
    /// # Safety
    /// `start` is a result of [`Self::begin_map`] of this buffer, and the memory is no longer used.
    unsafe fn begin_unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<Event>;

    /// Commands queued from now on wait for all of `after`. The event is done when they may start.
    fn barrier(&self, after: &[&Event]) -> Result<Event>;

    /// An event that is done when everything queued before is done. It fails if a command before failed and the queue
    /// knows of it.
    fn marker(&self) -> Result<Event>;

    /// An event that is done when no command queued before runs any more, whether it failed or not.
    fn end(&self) -> Result<Event>;

    /// Checks that no command failed, as far as the queue knows.
    ///
    /// # Errors
    /// The error of the command.
    fn check(&self) -> Result<()>;

    /// Submits the queued commands to the device, without waiting for them.
    fn flush(&self) -> Result<()>;
}

impl dyn Queue + '_ {
    /// Queues `kernel` with `args` over `groups` groups of `items` items, in N dimensions, at most three.
    ///
    /// # Safety
    /// As [`Queue::launch_on`].
    pub unsafe fn launch<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
    ) -> Result<()> {
        // SAFETY: the caller guarantees it.
        unsafe { self.launch_after(kernel, args, groups, items, &[]) }
    }

    /// As `launch`, after all of `after`.
    ///
    /// # Safety
    /// As [`Queue::launch_on`].
    pub unsafe fn launch_after<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
        after: &[Event],
    ) -> Result<()> {
        let in_three = |sizes: [usize; N]| std::array::from_fn(|axis| sizes.get(axis).copied().unwrap_or(1));
        // SAFETY: the caller guarantees it.
        unsafe { self.launch_on(&mut **kernel, args, in_three(groups), in_three(items), after) }
    }
}

/// What makes these objects on one device.
pub trait Api: fmt::Debug + Send + Sync {
    /// Memory on the device.
    fn buffer(&self, bytes: usize) -> Result<Buffer>;

    /// Memory that the driver allocates for access by the host, usually page-locked.
    fn host_buffer(&self, bytes: usize) -> Result<Buffer>;

    /// A queue of this kind.
    fn queue(&self, kind: QueueKind) -> Result<Box<dyn Queue>>;

    /// Loads a program that OpenCL's compiler has built.
    fn load(&self, built: Box<dyn BuiltProgram>) -> Result<Box<dyn LoadedProgram>>;

    /// How many searches may be queued side by side: each gets a queue of its own.
    fn search_queues(&self) -> usize;

    /// How many frames may be loaded side by side, while several searches are in flight.
    fn upload_queues(&self) -> usize;

    /// The plane of samples, in rows `stride` bytes apart, of which `block` is the handle, if it is one of this API on this
    /// device.
    fn plane_of(&self, _block: &(dyn Any + Send + Sync), _stride: usize) -> Option<DevicePlane> {
        None
    }

    /// Whether an error has made the device unusable for this API.
    fn is_broken(&self) -> bool;
}

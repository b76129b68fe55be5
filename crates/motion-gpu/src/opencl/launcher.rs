//! What launches kernels, as the rest of the module sees it: buffers, kernels, queues and events.
//!
//! Each is an enum of two APIs: OpenCL on every device, and CUDA's driver on NVIDIA's. The kernels are the same:
//! OpenCL's compiler turns them into a program that either API loads. An object belongs to the API that made it; given to
//! the other one it is an error.

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

pub(super) mod cl;
#[cfg(feature = "cuda")]
pub(super) mod cuda;

use cl::event::ClEvent;
use cl::queue::ClQueue;
use cl::{ClBuffer, ClKernel, ClProgram, OpenClApi};
#[cfg(feature = "cuda")]
use cuda::{
    CudaApi, event::CudaEvent, memory::CudaMemory, program::Function, program::Module, stream::Stream,
};

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

/// Declares an object of either API.
macro_rules! either {
    ($(#[$attribute:meta])* $name:ident, $opencl:ty, $cuda:ty) => {
        $(#[$attribute])*
        #[derive(Debug)]
        pub enum $name {
            /// OpenCL's.
            OpenCl($opencl),
            /// Of CUDA's driver.
            #[cfg(feature = "cuda")]
            Cuda($cuda),
        }
    };
}

/// What an API gets of an object: its own, or [`Error::UNSUPPORTED`].
macro_rules! of_one {
    ($name:ident, $opencl:ty, $cuda:ty) => {
        impl $name {
            pub(super) fn opencl(&self) -> Result<&$opencl> {
                match self {
                    Self::OpenCl(own) => Ok(own),
                    #[cfg(feature = "cuda")]
                    Self::Cuda(_) => Err(Error::UNSUPPORTED),
                }
            }

            #[cfg(feature = "cuda")]
            pub(super) fn cuda(&self) -> Result<&$cuda> {
                match self {
                    Self::OpenCl(_) => Err(Error::UNSUPPORTED),
                    Self::Cuda(own) => Ok(own),
                }
            }
        }
    };
}

/// Evaluates the same expression for the object of either API.
macro_rules! of_either {
    ($object:expr, $own:ident => $result:expr) => {
        match $object {
            Self::OpenCl($own) => $result,
            #[cfg(feature = "cuda")]
            Self::Cuda($own) => $result,
        }
    };
}

either!(
    /// Memory, on the device or on the host, which is released with it.
    Buffer, ClBuffer, CudaMemory
);
of_one!(Buffer, ClBuffer, CudaMemory);

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

either!(
    /// A kernel that can be launched.
    KernelObject, ClKernel, Function
);

impl KernelObject {
    /// The largest group that it can be launched in; if it was built for one size, that.
    pub fn largest_group(&self) -> Result<usize> {
        of_either!(self, kernel => kernel.largest_group())
    }
}

either!(
    /// A program whose kernels can be launched.
    Program, ClProgram, Module
);

impl Program {
    /// The kernel of this name.
    pub fn kernel(&self, name: &CStr) -> Result<KernelObject> {
        of_either!(self, program => program.kernel(name))
    }
}

either!(
    /// The state of a queued command.
    #[derive(Clone)]
    Event, ClEvent, std::sync::Arc<CudaEvent>
);
of_one!(Event, ClEvent, CudaEvent);

impl Event {
    /// Whether the command is done.
    ///
    /// # Errors
    /// The error with which the command failed.
    pub fn is_done(&self) -> Result<bool> {
        of_either!(self, event => event.is_done())
    }

    /// Checks that the command has not failed; it need not be done. The commands behind one that failed may run all the
    /// same, so that nothing they do says whether it has.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    pub fn check(&self) -> Result<()> {
        self.is_done().map(drop)
    }

    /// When the command, which is done, started, in nanoseconds of the device's clock; `None` if its queue
    /// does not record it, as no queue of CUDA does.
    pub fn started(&self) -> Option<u64> {
        self.opencl().ok()?.started()
    }

    /// When the command ended, as [`Self::started`].
    pub fn ended(&self) -> Option<u64> {
        self.opencl().ok()?.ended()
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

either!(
    /// A queue of commands.
    Queue, ClQueue, Stream
);

impl Queue {
    /// Queues `kernel` with `args` over `groups` groups of `items` items, in N dimensions, at most three.
    ///
    /// # Safety
    /// With these arguments the kernel must stay within its buffers.
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
    /// As [`Self::launch`].
    pub unsafe fn launch_after<const N: usize>(
        &self,
        kernel: &mut KernelObject,
        args: &[Arg<'_>],
        groups: [usize; N],
        items: [usize; N],
        after: &[Event],
    ) -> Result<()> {
        let in_three = |sizes: [usize; N]| std::array::from_fn(|axis| sizes.get(axis).copied().unwrap_or(1));
        let (groups, items) = (in_three(groups), in_three(items));
        match (self, kernel) {
            // SAFETY: the caller guarantees it.
            (Self::OpenCl(queue), KernelObject::OpenCl(kernel)) => unsafe {
                queue.launch(kernel, args, groups, items, after)
            },
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees it.
            (Self::Cuda(stream), KernelObject::Cuda(function)) => unsafe {
                stream.launch(function, args, groups, items, after)
            },
            #[cfg(feature = "cuda")]
            _ => Err(Error::UNSUPPORTED),
        }
    }

    /// Begins to copy rows of `from`, from its byte `first` on, to `to`.
    ///
    /// # Errors
    /// [`Error::UNSUPPORTED`] with OpenCL, which knows no planes: [`Api::plane_of`] returns none.
    ///
    /// # Safety
    /// The rows lie in the plane, which is neither freed nor written until the event, or the queue, is done; `to` lies in
    /// the buffer.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub unsafe fn begin_copy_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        from: &DevicePlane,
        first: usize,
    ) -> Result<Event> {
        match self {
            Self::OpenCl(_) => Err(Error::UNSUPPORTED),
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees it.
            Self::Cuda(stream) => unsafe { stream.begin_copy_rows(buffer, to, from, first) },
        }
    }

    /// Begins to copy `from` to `to`, from its first byte on.
    ///
    /// # Errors
    /// As [`Self::begin_copy_rows`].
    ///
    /// # Safety
    /// `from` lies in the buffer; the plane is writable, has as many rows, and is not freed until the event, or the queue, is
    /// done.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub unsafe fn begin_copy_out_rows(
        &self,
        buffer: &Buffer,
        from: Rectangle,
        to: &DevicePlane,
    ) -> Result<Event> {
        match self {
            Self::OpenCl(_) => Err(Error::UNSUPPORTED),
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees it.
            Self::Cuda(stream) => unsafe { stream.begin_copy_out_rows(buffer, from, to) },
        }
    }

    /// Copies `data` to the start of `buffer`, and returns when `data` is no longer used.
    pub fn write(&self, buffer: &Buffer, data: &[u8]) -> Result<()> {
        of_either!(self, queue => queue.write(buffer, data))
    }

    /// Begins to copy `data` to `buffer`, from byte `first` on.
    ///
    /// # Safety
    /// `data` is neither moved, freed nor written until the event, or the queue, is done.
    pub unsafe fn begin_write(&self, buffer: &Buffer, first: usize, data: &[u8]) -> Result<Event> {
        // SAFETY: the caller guarantees it.
        unsafe { of_either!(self, queue => queue.begin_write(buffer, first, data)) }
    }

    /// Begins to copy rows that are `stride` bytes apart in `data` to `to`.
    ///
    /// # Panics
    /// If `data` ends before the last row.
    ///
    /// # Safety
    /// `data` is neither moved nor freed until the event, or the queue, is done; `to` lies in the buffer.
    pub unsafe fn begin_write_rows(
        &self,
        buffer: &Buffer,
        to: Rectangle,
        data: &[u8],
        stride: usize,
    ) -> Result<Event> {
        // SAFETY: the caller guarantees it.
        unsafe { of_either!(self, queue => queue.begin_write_rows(buffer, to, data, stride)) }
    }

    /// Begins to copy the first `bytes` of `buffer` to `data`, when `after` is done.
    ///
    /// # Safety
    /// `data` points to `bytes` bytes, which are neither moved, freed nor used until the event or the queue
    /// is done.
    pub unsafe fn begin_read(
        &self,
        buffer: &Buffer,
        data: NonNull<u8>,
        bytes: usize,
        after: &Event,
    ) -> Result<Event> {
        // SAFETY: the caller guarantees it.
        unsafe { of_either!(self, queue => queue.begin_read(buffer, data, bytes, after)) }
    }

    /// Begins to copy `from` to `data`, as rows without padding.
    ///
    /// # Panics
    /// If `data` is not of that size.
    ///
    /// # Safety
    /// As [`Self::begin_read`] of `data`; `from` lies in the buffer.
    pub unsafe fn begin_read_rows(&self, buffer: &Buffer, from: Rectangle, data: &mut [u8]) -> Result<Event> {
        // SAFETY: the caller guarantees it.
        unsafe { of_either!(self, queue => queue.begin_read_rows(buffer, from, data)) }
    }

    /// Begins to map the first `bytes` of `buffer` into the host's memory. The host may read and write them
    /// from when the event is done until they are unmapped.
    pub fn begin_map(&self, buffer: &Buffer, bytes: usize) -> Result<(NonNull<u8>, Event)> {
        of_either!(self, queue => queue.begin_map(buffer, bytes))
    }

    /// Begins to end the mapping of `buffer` at `start`.
    ///
    /// # Safety
    /// `start` is a result of [`Self::begin_map`] of this buffer, and the memory is no longer used.
    pub unsafe fn begin_unmap(&self, buffer: &Buffer, start: NonNull<u8>) -> Result<Event> {
        // SAFETY: the caller guarantees it.
        unsafe { of_either!(self, queue => queue.begin_unmap(buffer, start)) }
    }

    /// Commands queued from now on wait for all of `after`. The event is done when they may start.
    pub fn barrier(&self, after: &[&Event]) -> Result<Event> {
        of_either!(self, queue => queue.barrier(after))
    }

    /// An event that is done when everything queued before is done. It fails if a command before failed and the queue
    /// knows of it.
    pub fn marker(&self) -> Result<Event> {
        of_either!(self, queue => queue.marker())
    }

    /// An event that is done when no command queued before runs any more, whether it failed or not.
    pub fn end(&self) -> Result<Event> {
        of_either!(self, queue => queue.end())
    }

    /// Checks that no command failed, as far as the queue knows.
    ///
    /// # Errors
    /// The error of the command.
    pub fn check(&self) -> Result<()> {
        of_either!(self, queue => queue.check())
    }

    /// Submits the queued commands to the device, without waiting for them.
    pub fn flush(&self) -> Result<()> {
        of_either!(self, queue => queue.flush())
    }
}

either!(
    /// What makes these objects on one device.
    Api, OpenClApi, CudaApi
);

impl Api {
    /// Memory on the device.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        of_either!(self, api => api.buffer(bytes))
    }

    /// Memory that the driver allocates for access by the host, usually page-locked.
    pub fn host_buffer(&self, bytes: usize) -> Result<Buffer> {
        of_either!(self, api => api.host_buffer(bytes))
    }

    /// A queue of this kind.
    pub fn queue(&self, kind: QueueKind) -> Result<Queue> {
        of_either!(self, api => api.queue(kind))
    }

    /// OpenCL, which compiles for either.
    pub(super) fn compiler(&self) -> &OpenClApi {
        match self {
            Self::OpenCl(api) => api,
            #[cfg(feature = "cuda")]
            Self::Cuda(api) => &api.compiler,
        }
    }

    /// Compiles and loads `source`. The error includes the compiler's log.
    pub(super) fn build(&self, source: &str, options: &str) -> std::result::Result<Program, (Error, String)> {
        let built = self.compiler().build(source, options)?;
        match self {
            Self::OpenCl(_) => Ok(Program::OpenCl(built)),
            #[cfg(feature = "cuda")]
            Self::Cuda(api) => api.load(&built).map(Program::Cuda).map_err(|error| (error, String::new())),
        }
    }

    /// How many searches may be queued side by side: each gets a queue of its own.
    pub fn search_queues(&self) -> usize {
        match self {
            // The first work-groups of one search fill the units that the last ones of the search before leave idle.
            Self::OpenCl(_) => 2,
            // As many searches as small kernels need to fill a large GPU.
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => 8,
        }
    }

    /// How many frames may be loaded side by side, while several searches are in flight.
    pub fn upload_queues(&self) -> usize {
        match self {
            Self::OpenCl(_) => 1,
            // While one frame is copied, what hierarchical search makes of the other one is made.
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => 2,
        }
    }

    /// The plane of samples, in rows `stride` bytes apart, of which `block` is the handle, if it is one of this API on this
    /// device. A frame's source may have a handle of any type.
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    pub fn plane_of(&self, block: &(dyn Any + Send + Sync), stride: usize) -> Option<DevicePlane> {
        match self {
            Self::OpenCl(_) => None,
            #[cfg(feature = "cuda")]
            Self::Cuda(api) => api.plane_of(block, stride),
        }
    }

    /// Whether an error has made the device unusable for this API.
    pub fn is_broken(&self) -> bool {
        match self {
            Self::OpenCl(_) => false,
            #[cfg(feature = "cuda")]
            Self::Cuda(api) => api.is_broken(),
        }
    }
}

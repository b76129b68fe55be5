//! Safe wrappers of the OpenCL calls that this crate uses, with errors as values.
//!
//! They do not use `ocl`'s safe types: those panic on error codes outside the standard's list, which drivers
//! do return, and wait ten seconds if no driver is installed.

mod queue;
mod transfer;

pub(super) use queue::{Queue, Rectangle};
pub(super) use transfer::between;

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::slice;

use ocl::ffi;

pub(super) use ocl::ffi::{cl_device_id as RawDevice, cl_platform_id as RawPlatform};

/// A failed OpenCL call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) call: &'static str,
    pub(super) code: i32,
}

impl Error {
    /// A search of a frame that is no longer there.
    pub(super) const NO_FRAME: Self = Self { call: "queueing a search", code: -38 };

    /// A time-out. The code is not one of OpenCL's.
    pub(super) const SILENT: Self = Self { call: "waiting for the device", code: i32::MIN };
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
            -61 => "invalid buffer size",
            -1001 => "no platform found",
            i32::MIN => return f.write_str("no answer"),
            _ => "error",
        };
        write!(f, "{}: {name} ({})", self.call, self.code)
    }
}

pub(super) type Result<T> = std::result::Result<T, Error>;

fn check(call: &'static str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error { call, code }) }
}

/// Every platform.
pub(super) fn platforms() -> Result<Vec<RawPlatform>> {
    let mut count = 0;
    // SAFETY: no array is given, so only the count is written.
    check("clGetPlatformIDs", unsafe { ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut count) })?;
    let mut ids = vec![ptr::null_mut(); count as usize];
    if count > 0 {
        // SAFETY: the array has space for `count` ids.
        let code = unsafe { ffi::clGetPlatformIDs(count, ids.as_mut_ptr(), &mut count) };
        check("clGetPlatformIDs", code)?;
        ids.truncate(count as usize);
    }
    Ok(ids)
}

/// Every device of `platform`.
pub(super) fn platform_devices(platform: RawPlatform) -> Result<Vec<RawDevice>> {
    let (mut count, all) = (0, ffi::CL_DEVICE_TYPE_ALL);
    // SAFETY: `platform` came from `platforms`; no array is given, so only the count is written.
    let code = unsafe { ffi::clGetDeviceIDs(platform, all, 0, ptr::null_mut(), &mut count) };
    check("clGetDeviceIDs", code)?;
    let mut ids = vec![ptr::null_mut(); count as usize];
    if count > 0 {
        // SAFETY: the array has space for `count` ids.
        let code = unsafe { ffi::clGetDeviceIDs(platform, all, count, ids.as_mut_ptr(), &mut count) };
        check("clGetDeviceIDs", code)?;
        ids.truncate(count as usize);
    }
    Ok(ids)
}

/// Reads a property of unknown length. `query(size, value, written)` writes at most `size` bytes to `value`,
/// and the length to `written`.
fn bytes(call: &'static str, query: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> Result<Vec<u8>> {
    let mut size = 0;
    check(call, query(0, ptr::null_mut(), &mut size))?;
    let mut value = vec![0; size];
    if size > 0 {
        check(call, query(size, value.as_mut_ptr().cast(), ptr::null_mut()))?;
    }
    Ok(value)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(['\0', ' ', '\n']).to_owned()
}

/// A property of a platform, as text.
pub(super) fn platform_text(platform: RawPlatform, property: u32) -> Result<String> {
    // SAFETY: `platform` came from `platforms`; `bytes` has space for `size` bytes.
    let query =
        |size, value, written| unsafe { ffi::clGetPlatformInfo(platform, property, size, value, written) };
    bytes("clGetPlatformInfo", query).map(|b| text(&b))
}

fn device_bytes(device: RawDevice, property: u32) -> Result<Vec<u8>> {
    // SAFETY: `device` came from `platform_devices`; `bytes` has space for `size` bytes.
    let query =
        |size, value, written| unsafe { ffi::clGetDeviceInfo(device, property, size, value, written) };
    bytes("clGetDeviceInfo", query)
}

/// A property of a device, as text.
pub(super) fn device_text(device: RawDevice, property: u32) -> Result<String> {
    device_bytes(device, property).map(|b| text(&b))
}

/// A property of a device, as a number of 4 or 8 bytes; the first element of an array.
pub(super) fn device_number(device: RawDevice, property: u32) -> Result<u64> {
    let bytes = device_bytes(device, property)?;
    let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
    match bytes.as_slice() {
        &[a, b, c, d] => Ok(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        longer => number(longer).ok_or(Error { call: "clGetDeviceInfo", code: -30 }),
    }
}

/// The first two sizes of a property of `device` that is a list of sizes.
pub(super) fn device_sizes(device: RawDevice, property: u32) -> Result<[usize; 2]> {
    let bytes = device_bytes(device, property)?;
    match bytes.as_chunks::<{ size_of::<usize>() }>().0 {
        &[first, second, ..] => Ok([first, second].map(usize::from_ne_bytes)),
        _ => Err(Error { call: "clGetDeviceInfo", code: -30 }),
    }
}

/// Declares the owner of an OpenCL object, which releases it.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident, $raw:ident, $release:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub(super) struct $name(ffi::$raw);

        // SAFETY: OpenCL objects may be used from any thread. Only clSetKernelArg must not be called for one
        // kernel from two threads at once, and it needs `&mut`.
        unsafe impl Send for $name {}

        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object was made by the matching call, and this is its one owner.
                unsafe { ffi::$release(self.0) };
            }
        }
    };
}

owner!(
    /// The owner of a device's buffers, programs and queues.
    Context, cl_context, clReleaseContext
);
owner!(
    /// The owner of a queue of commands.
    QueueOwner, cl_command_queue, clReleaseCommandQueue
);
owner!(
    /// Memory on the device.
    Buffer, cl_mem, clReleaseMemObject
);
owner!(
    /// A built program.
    Program, cl_program, clReleaseProgram
);
owner!(
    /// The owner of a kernel.
    KernelOwner, cl_kernel, clReleaseKernel
);
owner!(
    /// The state of a queued command.
    Event, cl_event, clReleaseEvent
);

impl Clone for Event {
    fn clone(&self) -> Self {
        // SAFETY: the event is alive. The call fails for no event that is.
        unsafe { ffi::clRetainEvent(self.0) };
        Self(self.0)
    }
}

/// A kernel object: the kernel and its arguments.
#[derive(Debug)]
pub(super) struct KernelObject {
    owner: KernelOwner,
    /// The bytes of each argument as they were set last. A search has up to 40 launches whose arguments hardly change,
    /// and each call takes time.
    arguments: Vec<Vec<u8>>,
}

impl Context {
    pub(super) fn new(device: RawDevice) -> Result<Self> {
        let mut code = 0;
        // SAFETY: one device, from `platform_devices`; no properties, no callback.
        let raw = unsafe { ffi::clCreateContext(ptr::null(), 1, &device, None, ptr::null_mut(), &mut code) };
        check("clCreateContext", code).map(|()| Self(raw))
    }

    /// A queue whose commands start and end in order.
    pub(super) fn queue(&self, device: RawDevice) -> Result<Queue> {
        self.queue_with(device, 0)
    }

    /// A queue whose commands start in any order, if the device supports it.
    pub(super) fn unordered_queue(&self, device: RawDevice) -> Result<Queue> {
        self.queue_with(device, ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    }

    fn queue_with(&self, device: RawDevice, properties: u64) -> Result<Queue> {
        let mut code = 0;
        // SAFETY: the context was made for `device`; the call refuses properties that are not supported.
        let raw = unsafe { ffi::clCreateCommandQueue(self.0, device, properties, &mut code) };
        check("clCreateCommandQueue", code)?;
        let owner = QueueOwner(raw);
        let is_gpu = device_number(device, ffi::CL_DEVICE_TYPE)? & ffi::CL_DEVICE_TYPE_GPU != 0;
        let is_ordered = properties & ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        Ok(Queue::new(owner, is_ordered && !is_gpu))
    }

    pub(super) fn buffer(&self, bytes: usize) -> Result<Buffer> {
        let mut code = 0;
        // SAFETY: no host memory is passed.
        let raw =
            unsafe { ffi::clCreateBuffer(self.0, ffi::CL_MEM_READ_WRITE, bytes, ptr::null_mut(), &mut code) };
        check("clCreateBuffer", code).map(|()| Buffer(raw))
    }

    /// Builds `source`. The error includes the compiler's log.
    pub(super) fn program(
        &self,
        device: RawDevice,
        source: &str,
        options: &str,
    ) -> std::result::Result<Program, (Error, String)> {
        let without_log = |error| (error, String::new());
        let no_nul = |_| without_log(Error { call: "clBuildProgram", code: -43 });
        let options = CString::new(options).map_err(no_nul)?;
        let (start, length, mut code) = (source.as_ptr().cast(), source.len(), 0);
        // SAFETY: one string, of the length given beside it.
        let raw = unsafe { ffi::clCreateProgramWithSource(self.0, 1, &start, &length, &mut code) };
        check("clCreateProgramWithSource", code).map_err(without_log)?;
        let program = Program(raw);
        program.build(device, &options).map_err(|error| (error, program.log(device)))?;
        Ok(program)
    }
}

impl Program {
    fn build(&self, device: RawDevice, options: &CStr) -> Result<()> {
        // SAFETY: one device, the context's; the options end with NUL; no callback, so the call
        // returns when the build is done.
        let code =
            unsafe { ffi::clBuildProgram(self.0, 1, &device, options.as_ptr(), None, ptr::null_mut()) };
        check("clBuildProgram", code)
    }

    fn log(&self, device: RawDevice) -> String {
        // SAFETY: the program's own device; `bytes` has space for `size` bytes.
        let query = |size, value, written| unsafe {
            ffi::clGetProgramBuildInfo(self.0, device, ffi::CL_PROGRAM_BUILD_LOG, size, value, written)
        };
        bytes("clGetProgramBuildInfo", query).map_or_else(|error| error.to_string(), |b| text(&b))
    }

    pub(super) fn kernel(&self, name: &CStr) -> Result<KernelObject> {
        let mut code = 0;
        // SAFETY: the name ends with NUL.
        let raw = unsafe { ffi::clCreateKernel(self.0, name.as_ptr(), &mut code) };
        check("clCreateKernel", code)
            .map(|()| KernelObject { owner: KernelOwner(raw), arguments: Vec::new() })
    }
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a> {
    Buffer(&'a Buffer),
    /// Local memory of this many bytes.
    Local(usize),
    Int(i32),
    /// A struct with the layout of the kernel's.
    Struct(&'a [u8]),
}

impl KernelObject {
    /// The largest group that this kernel can be launched in; if it was built for one size, that.
    pub(super) fn largest_group(&self, device: RawDevice) -> Result<usize> {
        let (mut largest, mut built_for) = (0_usize, [0_usize; 3]);
        // NVIDIA's value of the first property ignores the second.
        for (property, size, value) in [
            (ffi::CL_KERNEL_WORK_GROUP_SIZE, size_of_val(&largest), (&raw mut largest).cast()),
            (ffi::CL_KERNEL_COMPILE_WORK_GROUP_SIZE, size_of_val(&built_for), (&raw mut built_for).cast()),
        ] {
            // SAFETY: the first is a size_t and the second three, and there is space for them.
            let code = unsafe {
                ffi::clGetKernelWorkGroupInfo(self.owner.0, device, property, size, value, ptr::null_mut())
            };
            check("clGetKernelWorkGroupInfo", code)?;
        }
        match built_for.iter().product() {
            0 => Ok(largest),
            items => Ok(items),
        }
    }

    /// Sets the arguments from the first on, but for those that are set already. A buffer that was an argument must
    /// live as long as the kernel is used: another one may get its handle.
    pub(super) fn set(&mut self, args: &[Arg<'_>]) -> Result<()> {
        self.arguments.resize_with(args.len().max(self.arguments.len()), Vec::new);
        for ((index, arg), known) in args.iter().enumerate().zip(&mut self.arguments) {
            let (size, value): (usize, *const c_void) = match arg {
                Arg::Buffer(buffer) => (size_of::<ffi::cl_mem>(), (&raw const buffer.0).cast()),
                Arg::Local(bytes) => (*bytes, ptr::null()),
                Arg::Int(value) => (size_of::<i32>(), ptr::from_ref(value).cast()),
                Arg::Struct(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            };
            let local_size = size.to_ne_bytes();
            let bytes = match value.is_null() {
                true => &local_size[..],
                // SAFETY: `value` points to `size` bytes.
                false => unsafe { slice::from_raw_parts(value.cast(), size) },
            };
            if known == bytes {
                continue;
            }
            // SAFETY: `value` points to `size` bytes that live through the call, which copies them; it
            // refuses a size that is not the argument's.
            let code = unsafe { ffi::clSetKernelArg(self.owner.0, index as u32, size, value) };
            check("clSetKernelArg", code)?;
            known.clear();
            known.extend_from_slice(bytes);
        }
        Ok(())
    }
}

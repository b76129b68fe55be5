//! The [`launcher`] that every device has, and all other calls of OpenCL: safe wrappers with errors as values.
//!
//! They do not use `ocl`'s safe types: those panic on error codes outside the standard's list, which drivers
//! do return, and wait ten seconds if no driver is installed.

pub(in crate::opencl) mod event;
pub(in crate::opencl) mod queue;

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::slice;

use ocl::ffi;

use super::{Arg, Buffer, Error, KernelObject, Queue, QueueKind, Result};
use queue::ClQueue;

pub(in crate::opencl) use ocl::ffi::{cl_device_id as RawDevice, cl_platform_id as RawPlatform};

fn check(call: &'static str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error { call, code }) }
}

/// Every platform.
pub(in crate::opencl) fn platforms() -> Result<Vec<RawPlatform>> {
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
pub(in crate::opencl) fn platform_devices(platform: RawPlatform) -> Result<Vec<RawDevice>> {
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
pub(in crate::opencl) fn platform_text(platform: RawPlatform, property: u32) -> Result<String> {
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
pub(in crate::opencl) fn device_text(device: RawDevice, property: u32) -> Result<String> {
    device_bytes(device, property).map(|b| text(&b))
}

/// A property of a device, as a number of 4 or 8 bytes; the first element of an array.
pub(in crate::opencl) fn device_number(device: RawDevice, property: u32) -> Result<u64> {
    let bytes = device_bytes(device, property)?;
    let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
    match bytes.as_slice() {
        &[a, b, c, d] => Ok(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        longer => number(longer).ok_or(Error { call: "clGetDeviceInfo", code: -30 }),
    }
}

/// The first two sizes of a property of `device` that is a list of sizes.
pub(in crate::opencl) fn device_sizes(device: RawDevice, property: u32) -> Result<[usize; 2]> {
    let bytes = device_bytes(device, property)?;
    match bytes.as_chunks::<{ size_of::<usize>() }>().0 {
        &[first, second, ..] => Ok([first, second].map(usize::from_ne_bytes)),
        _ => Err(Error { call: "clGetDeviceInfo", code: -30 }),
    }
}

/// The identifier that other APIs of the driver know `device` by, as `cl_khr_device_uuid` has it.
#[cfg(feature = "cuda")]
pub(in crate::opencl) fn device_uuid(device: RawDevice) -> Result<[u8; 16]> {
    const CL_DEVICE_UUID_KHR: u32 = 0x106A;
    let wrong = |_| Error { call: "clGetDeviceInfo", code: -30 };
    device_bytes(device, CL_DEVICE_UUID_KHR)?.try_into().map_err(wrong)
}

/// Declares the owner of an OpenCL object, which releases it.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident, $raw:ident, $release:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name(ffi::$raw);

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

use owner;

owner!(
    /// The owner of a device's buffers, programs and queues.
    Context, cl_context, clReleaseContext
);
owner!(
    /// The owner of a queue of commands.
    QueueOwner, cl_command_queue, clReleaseCommandQueue
);
owner!(
    /// Memory.
    ClBuffer, cl_mem, clReleaseMemObject
);
owner!(
    /// The owner of a program.
    ProgramOwner, cl_program, clReleaseProgram
);
owner!(
    /// The owner of a kernel.
    KernelOwner, cl_kernel, clReleaseKernel
);

/// A kernel and its arguments.
#[derive(Debug)]
pub struct ClKernel {
    owner: KernelOwner,
    device: DeviceHandle,
    /// The bytes of each argument as they were set last. A search has up to 40 launches whose arguments hardly change,
    /// and each call takes time.
    arguments: Vec<Vec<u8>>,
}

/// OpenCL on one device.
#[derive(Debug)]
pub struct OpenClApi {
    context: Context,
    device: DeviceHandle,
}

/// A device's handle. Root devices live as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opencl) struct DeviceHandle(pub(in crate::opencl) RawDevice);

// SAFETY: the handle of a root device is an address that every OpenCL call takes from any thread.
unsafe impl Send for DeviceHandle {}

// SAFETY: as above.
unsafe impl Sync for DeviceHandle {}

impl OpenClApi {
    pub(in crate::opencl) fn new(device: RawDevice) -> Result<Self> {
        let mut code = 0;
        // SAFETY: one device, from `platform_devices`; no properties, no callback.
        let raw = unsafe { ffi::clCreateContext(ptr::null(), 1, &device, None, ptr::null_mut(), &mut code) };
        check("clCreateContext", code).map(|()| Self { context: Context(raw), device: DeviceHandle(device) })
    }

    fn allocate(&self, flags: u64, bytes: usize) -> Result<Buffer> {
        let mut code = 0;
        // SAFETY: no host memory is passed.
        let raw = unsafe { ffi::clCreateBuffer(self.context.0, flags, bytes, ptr::null_mut(), &mut code) };
        check("clCreateBuffer", code).map(|()| Buffer::OpenCl(ClBuffer(raw)))
    }

    fn queue_with(&self, properties: u64) -> Result<Queue> {
        let mut code = 0;
        // SAFETY: the context was made for the device; the call refuses properties that are not supported.
        let raw = unsafe { ffi::clCreateCommandQueue(self.context.0, self.device.0, properties, &mut code) };
        check("clCreateCommandQueue", code)?;
        let owner = QueueOwner(raw);
        let is_gpu = device_number(self.device.0, ffi::CL_DEVICE_TYPE)? & ffi::CL_DEVICE_TYPE_GPU != 0;
        let is_ordered = properties & ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        Ok(Queue::OpenCl(ClQueue::new(owner, is_ordered && !is_gpu)))
    }

    /// Builds `source`. The error includes the compiler's log.
    pub(in crate::opencl) fn build(
        &self,
        source: &str,
        options: &str,
    ) -> std::result::Result<ClProgram, (Error, String)> {
        let without_log = |error| (error, String::new());
        let no_nul = |_| without_log(Error { call: "clBuildProgram", code: -43 });
        let options = CString::new(options).map_err(no_nul)?;
        let (start, length, mut code) = (source.as_ptr().cast(), source.len(), 0);
        // SAFETY: one string, of the length given beside it.
        let raw = unsafe { ffi::clCreateProgramWithSource(self.context.0, 1, &start, &length, &mut code) };
        check("clCreateProgramWithSource", code).map_err(without_log)?;
        let program = ClProgram { owner: ProgramOwner(raw), device: self.device };
        program.build(&options).map_err(|error| (error, program.log()))?;
        Ok(program)
    }

    pub(in crate::opencl) fn buffer(&self, bytes: usize) -> Result<Buffer> {
        self.allocate(ffi::CL_MEM_READ_WRITE, bytes)
    }

    pub(in crate::opencl) fn host_buffer(&self, bytes: usize) -> Result<Buffer> {
        self.allocate(ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_ALLOC_HOST_PTR, bytes)
    }

    pub(in crate::opencl) fn queue(&self, kind: QueueKind) -> Result<Queue> {
        match kind {
            QueueKind::Ordered => self.queue_with(0),
            QueueKind::Timed => {
                self.queue_with(ffi::CL_QUEUE_PROFILING_ENABLE).or_else(|_| self.queue_with(0))
            }
            QueueKind::Unordered => self.queue_with(ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
        }
    }
}

/// A program for one device.
#[derive(Debug)]
pub struct ClProgram {
    owner: ProgramOwner,
    device: DeviceHandle,
}

impl ClProgram {
    fn build(&self, options: &CStr) -> Result<()> {
        let (program, device, options) = (self.owner.0, self.device.0, options.as_ptr());
        // SAFETY: one device, the context's; the options end with NUL; no callback, so the call
        // returns when the build is done.
        let code = unsafe { ffi::clBuildProgram(program, 1, &device, options, None, ptr::null_mut()) };
        check("clBuildProgram", code)
    }

    fn log(&self) -> String {
        let (program, device, log) = (self.owner.0, self.device.0, ffi::CL_PROGRAM_BUILD_LOG);
        // SAFETY: the program's own device; `bytes` has space for `size` bytes.
        let query = |size, value, written| unsafe {
            ffi::clGetProgramBuildInfo(program, device, log, size, value, written)
        };
        bytes("clGetProgramBuildInfo", query).map_or_else(|error| error.to_string(), |b| text(&b))
    }

    /// The program as the driver keeps it: PTX, with NVIDIA's.
    #[cfg(feature = "cuda")]
    pub(in crate::opencl) fn binary(&self) -> Result<Vec<u8>> {
        let mut size = 0_usize;
        // SAFETY: a program of one device has one size, and there is space for it.
        let code = unsafe {
            let (space, value) = (size_of::<usize>(), (&raw mut size).cast());
            ffi::clGetProgramInfo(self.owner.0, ffi::CL_PROGRAM_BINARY_SIZES, space, value, ptr::null_mut())
        };
        check("clGetProgramInfo", code)?;
        let mut binary = vec![0; size];
        let mut start: *mut u8 = binary.as_mut_ptr();
        // SAFETY: it writes `size` bytes to the one address that it gets.
        let code = unsafe {
            let (space, value) = (size_of::<*mut u8>(), (&raw mut start).cast());
            ffi::clGetProgramInfo(self.owner.0, ffi::CL_PROGRAM_BINARIES, space, value, ptr::null_mut())
        };
        check("clGetProgramInfo", code).map(|()| binary)
    }

    pub(in crate::opencl) fn kernel(&self, name: &CStr) -> Result<KernelObject> {
        let mut code = 0;
        // SAFETY: the name ends with NUL.
        let raw = unsafe { ffi::clCreateKernel(self.owner.0, name.as_ptr(), &mut code) };
        check("clCreateKernel", code)?;
        let owner = KernelOwner(raw);
        Ok(KernelObject::OpenCl(ClKernel { owner, device: self.device, arguments: Vec::new() }))
    }
}

impl ClKernel {
    pub(in crate::opencl) fn largest_group(&self) -> Result<usize> {
        let device = self.device.0;
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
    fn set(&mut self, args: &[Arg<'_>]) -> Result<()> {
        self.arguments.resize_with(args.len().max(self.arguments.len()), Vec::new);
        for ((index, arg), known) in args.iter().enumerate().zip(&mut self.arguments) {
            let (size, value): (usize, *const c_void) = match arg {
                Arg::Buffer(buffer) => (size_of::<ffi::cl_mem>(), (&raw const buffer.opencl()?.0).cast()),
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

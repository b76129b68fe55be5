//! The [`launcher`](super::launcher) of NVIDIA's devices: CUDA's driver API.
//!
//! Programs are compiled by NVIDIA's OpenCL, whose binary is PTX ([`ptx`]). A launch takes the host 5 to 7 µs by this OpenCL,
//! and a recorded graph of launches a few microseconds in all ([`graph`]).
//!
//! The driver's library is opened at run time. Everything is done in the device's primary context, which all of the process
//! shares, or in one of another library whose memory is read; it is current only while a call is made. After an error that no
//! later call of the context survives, the context is not used again.

pub(in crate::opencl) mod event;
mod foreign;
mod graph;
pub(in crate::opencl) mod memory;
pub(in crate::opencl) mod program;
mod ptx;
pub(in crate::opencl) mod stream;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys::{self, CUresult};
use parking_lot::Mutex;

use super::cl::{self, ClProgram, OpenClApi, RawDevice};
use super::{Buffer, DevicePlane, Error, Queue, QueueKind, Result};
use memory::CudaMemory;
use program::Module;

pub use foreign::{CudaContext, CudaPlane};

/// The oldest driver that has all calls that are made: CUDA 11.4.
const OLDEST_DRIVER: i32 = 11_040;

/// CUDA on one device.
#[derive(Debug)]
pub struct CudaApi {
    context: Arc<HeldContext>,
    /// Compiles the kernels.
    pub(in crate::opencl) compiler: OpenClApi,
}

/// A context, held.
#[derive(Debug)]
struct HeldContext {
    raw: sys::CUcontext,
    /// The device whose primary context it is, if it is that: it is released once.
    primary: Option<sys::CUdevice>,
    /// What keeps it alive, if it is another library's.
    _foreign: Option<CudaContext>,
    is_broken: AtomicBool,
    /// Events that can be used again.
    events: Mutex<Vec<event::RawEvent>>,
}

// SAFETY: CUDA's handles may be used from any thread in which their context is current, as it is within `HeldContext::enter`.
unsafe impl Send for HeldContext {}

// SAFETY: as above.
unsafe impl Sync for HeldContext {}

/// The context is current in this thread until this is dropped.
struct Current;

impl Drop for Current {
    fn drop(&mut self) {
        let mut before = std::ptr::null_mut();
        // SAFETY: it was pushed by `HeldContext::enter` in this thread; there is space for one handle.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut before) };
    }
}

/// Checks the result of a call.
fn check(call: &'static str, result: CUresult) -> Result<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(Error { call, code: error as i32 }),
    }
}

/// Makes one call of the driver, named by its function, and checks the result.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::opencl::launcher::cuda::check(
            stringify!($function),
            cudarc::driver::sys::$function($($argument),*),
        )
    };
}
use call;

impl CudaApi {
    /// CUDA on the device that OpenCL knows as `device`, in `context` if one is given, for kernels that `compiler` compiles.
    ///
    /// # Errors
    /// If the driver's library is not there or too old, or no device of CUDA is this one.
    pub(in crate::opencl) fn new(
        device: RawDevice,
        context: Option<&CudaContext>,
        compiler: OpenClApi,
    ) -> Result<Self> {
        // SAFETY: the library is NVIDIA's, by its name; it is safe to load.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error { call: "loading libcuda.so.1", code: 100 });
        }
        let uuid = cl::device_uuid(device)?;
        let mut version = 0;
        // SAFETY: flags 0 are the only ones; there is space for one number.
        unsafe {
            call!(cuInit(0))?;
            call!(cuDriverGetVersion(&mut version))?;
        }
        if version < OLDEST_DRIVER {
            return Err(Error { call: "cuDriverGetVersion", code: 804 });
        }
        let found = devices()?.into_iter().find(|&(_, of_it)| of_it == uuid);
        let (device, _) = found.ok_or(Error { call: "cuDeviceGetUuid", code: 100 })?;
        let (raw, primary) = match context {
            Some(context) => (context.raw(), None),
            None => {
                let mut raw = std::ptr::null_mut();
                // SAFETY: the device is one of CUDA's; there is space for one handle.
                unsafe { call!(cuDevicePrimaryCtxRetain(&mut raw, device))? };
                (raw, Some(device))
            }
        };
        let context = Arc::new(HeldContext {
            raw,
            primary,
            _foreign: context.cloned(),
            is_broken: AtomicBool::new(false),
            events: Mutex::default(),
        });
        Ok(Self { context, compiler })
    }

    /// Loads a program that the compiler has built.
    pub(in crate::opencl) fn load(&self, built: &ClProgram) -> Result<Module> {
        Module::new(&self.context, &built.binary()?)
    }

    pub(in crate::opencl) fn buffer(&self, bytes: usize) -> Result<Buffer> {
        CudaMemory::on_device(&self.context, bytes).map(Buffer::Cuda)
    }

    pub(in crate::opencl) fn host_buffer(&self, bytes: usize) -> Result<Buffer> {
        CudaMemory::on_host(&self.context, bytes).map(Buffer::Cuda)
    }

    pub(in crate::opencl) fn queue(&self, kind: QueueKind) -> Result<Queue> {
        match kind {
            // No times are recorded: CUDA's are differences of 32 bits, and a graph has none for its parts.
            QueueKind::Ordered | QueueKind::Timed => {
                stream::Stream::new(self.context.clone()).map(Queue::Cuda)
            }
            QueueKind::Unordered => Err(Error::UNSUPPORTED),
        }
    }

    pub(in crate::opencl) fn plane_of(
        &self,
        block: &(dyn Any + Send + Sync),
        stride: usize,
    ) -> Option<DevicePlane> {
        let plane = block.downcast_ref::<CudaPlane>();
        let plane = plane.filter(|plane| plane.context.raw() == self.context.raw)?;
        let &CudaPlane { address, stream, is_writable, .. } = plane;
        Some(DevicePlane { address, stride, stream, is_writable })
    }

    pub(in crate::opencl) fn is_broken(&self) -> bool {
        self.context.is_broken()
    }
}

/// The devices of CUDA, with their identifiers.
fn devices() -> Result<Vec<(sys::CUdevice, [u8; 16])>> {
    let mut count = 0;
    // SAFETY: there is space for one number.
    unsafe { call!(cuDeviceGetCount(&mut count))? };
    let device = |ordinal| {
        let mut device = 0;
        // SAFETY: the ordinal is less than the count; there is space for one number.
        unsafe { call!(cuDeviceGet(&mut device, ordinal))? };
        Ok((device, uuid(device)?))
    };
    (0..count).map(device).collect()
}

/// The identifier of `device`, one of CUDA's.
fn uuid(device: sys::CUdevice) -> Result<[u8; 16]> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: there is space for what is written.
    unsafe { call!(cuDeviceGetUuid(&mut uuid, device))? };
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// Whether `context` was made on the device that OpenCL knows as `device`.
pub(in crate::opencl) fn is_on(device: RawDevice, context: &CudaContext) -> bool {
    let of_context = || {
        // SAFETY: the context lives, and is current until `_current` is dropped.
        unsafe { call!(cuCtxPushCurrent_v2(context.raw()))? };
        let _current = Current;
        let mut device = 0;
        // SAFETY: there is space for one number.
        unsafe { call!(cuCtxGetDevice(&mut device))? };
        uuid(device)
    };
    cl::device_uuid(device).is_ok_and(|uuid| of_context() == Ok(uuid))
}

impl HeldContext {
    /// Makes the context current in this thread.
    fn enter(&self) -> Result<Current> {
        if self.is_broken() {
            return Err(Error { call: "an earlier call", code: 719 });
        }
        // SAFETY: the context is held.
        unsafe { call!(cuCtxPushCurrent_v2(self.raw))? };
        Ok(Current)
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// Returns `result`, and notes an error after which every call of the context fails.
    fn note<T>(&self, result: Result<T>) -> Result<T> {
        // Uncorrectable memory, and what kernels do wrong.
        if let Err(Error { code: 214 | 700 | 702 | 710 | 714..=719 | 999, .. }) = result {
            self.is_broken.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Drop for HeldContext {
    fn drop(&mut self) {
        if let Ok(_current) = self.enter() {
            self.events.get_mut().drain(..).for_each(event::RawEvent::destroy);
        }
        if let (Some(device), false) = (self.primary, self.is_broken()) {
            // SAFETY: it was retained once, and all that was made in it is gone.
            let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) };
        }
    }
}

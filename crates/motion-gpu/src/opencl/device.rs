//! The OpenCL devices of the machine.

use std::sync::{Arc, Weak};

use ocl::ffi;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::launcher::cl::{self, DeviceHandle, OpenClApi, RawDevice};
#[cfg(feature = "cuda")]
use super::launcher::cuda::{self, CudaApi, CudaContext};
use super::launcher::{self, Api, Buffer, KernelObject};
use motion_base::{Launcher, Launching, SetupError};

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The CPU, through OpenCL.
    Cpu,
    /// Anything else.
    Accelerator,
}

impl DeviceKind {
    /// `gpu`, `cpu` or `accelerator`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Accelerator => "accelerator",
        }
    }
}

/// An OpenCL device and what it can do.
#[derive(Clone, Debug)]
pub struct OpenClDevice {
    /// Index of its platform.
    pub platform: usize,
    /// Index within the platform.
    pub index: usize,
    /// Name.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// Platform and driver version.
    pub driver: String,
    /// Kind.
    pub kind: DeviceKind,
    /// Number of compute units.
    pub compute_units: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// The largest buffer in bytes.
    pub largest_buffer: u64,
    /// Local memory of a work-group in bytes.
    pub local_memory: usize,
    /// The most work-items in a work-group of one dimension.
    pub largest_group: usize,
    /// The most work-items in the second dimension of a work-group.
    pub largest_second: usize,
    /// Whether the lowest byte of a word comes first.
    pub is_little_endian: bool,
    /// Whether its local memory is faster than its global memory, of which it is a part on other devices.
    pub has_local_memory: bool,
    /// Its extensions, separated by spaces.
    pub extensions: String,
    /// Whether it has out-of-order queues.
    pub out_of_order: bool,
    id: DeviceHandle,
    /// The context in which CUDA is to launch, in the place of the primary one.
    #[cfg(feature = "cuda")]
    cuda: Option<CudaContext>,
}

/// Every OpenCL device that can build and run kernels.
///
/// A loader without drivers, a driver that does not load and a platform without a name or devices are no errors:
/// there are just no such devices.
pub fn devices() -> Vec<OpenClDevice> {
    // Drivers initialize themselves in the first of these calls, and not all of them allow that in two
    // threads at once.
    static LISTING: Mutex<()> = Mutex::new(());
    let _listing = LISTING.lock();
    let mut found = Vec::new();
    for (platform, id) in cl::platforms().unwrap_or_default().into_iter().enumerate() {
        // Without it a compiler that needs other options would not be known.
        let Ok(platform_name) = cl::platform_text(id, ffi::CL_PLATFORM_NAME) else { continue };
        for (index, device) in cl::platform_devices(id).unwrap_or_default().into_iter().enumerate() {
            found.extend(describe(platform, index, device, &platform_name));
        }
    }
    found
}

/// The launcher named in the environment variable `MOTION_SEARCH_LAUNCHER`, for comparisons of whole programs.
fn launcher_of_process() -> Option<Launcher> {
    let name = std::env::var("MOTION_SEARCH_LAUNCHER").ok()?;
    Launcher::ALL.into_iter().find(|launcher| launcher.name() == name)
}

/// The device with its limits; `None` if it is not available or a call fails.
fn describe(platform: usize, index: usize, id: RawDevice, platform_name: &str) -> Option<OpenClDevice> {
    let number = |property| cl::device_number(id, property).ok();
    let text = |property| cl::device_text(id, property).ok();
    let usable = number(ffi::CL_DEVICE_AVAILABLE)? != 0 && number(ffi::CL_DEVICE_COMPILER_AVAILABLE)? != 0;
    let types = number(ffi::CL_DEVICE_TYPE)?;
    let kind = match types {
        _ if types & ffi::CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
        _ if types & ffi::CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
        _ => DeviceKind::Accelerator,
    };
    let [first, second] = cl::device_sizes(id, ffi::CL_DEVICE_MAX_WORK_ITEM_SIZES).ok()?;
    let largest_group = first.min(number(ffi::CL_DEVICE_MAX_WORK_GROUP_SIZE)? as usize);
    usable.then_some(OpenClDevice {
        platform,
        index,
        name: text(ffi::CL_DEVICE_NAME)?,
        vendor: text(ffi::CL_DEVICE_VENDOR).unwrap_or_default(),
        driver: format!("{platform_name} {}", text(ffi::CL_DRIVER_VERSION).unwrap_or_default()),
        kind,
        compute_units: number(ffi::CL_DEVICE_MAX_COMPUTE_UNITS)? as usize,
        memory: number(ffi::CL_DEVICE_GLOBAL_MEM_SIZE)?,
        largest_buffer: number(ffi::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
        local_memory: number(ffi::CL_DEVICE_LOCAL_MEM_SIZE)? as usize,
        largest_group,
        largest_second: second.min(largest_group),
        is_little_endian: number(ffi::CL_DEVICE_ENDIAN_LITTLE)? != 0,
        has_local_memory: number(ffi::CL_DEVICE_LOCAL_MEM_TYPE)? == u64::from(ffi::CL_LOCAL),
        extensions: text(ffi::CL_DEVICE_EXTENSIONS).unwrap_or_default(),
        out_of_order: number(ffi::CL_DEVICE_QUEUE_PROPERTIES)? & ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
            != 0,
        id: DeviceHandle(id),
        #[cfg(feature = "cuda")]
        cuda: None,
    })
}

impl OpenClDevice {
    pub(super) fn raw(&self) -> RawDevice {
        self.id.0
    }

    /// The device on which `context` was made, with CUDA in this context.
    #[cfg(feature = "cuda")]
    pub fn of_cuda(context: &CudaContext) -> Option<Self> {
        let device = devices().into_iter().find(|device| device.has_cuda_context(context))?;
        Some(Self { cuda: Some(context.clone()), ..device })
    }

    /// Whether `context` was made on this device.
    #[cfg(feature = "cuda")]
    pub fn has_cuda_context(&self, context: &CudaContext) -> bool {
        self.is_nvidia() && cuda::is_on(self.raw(), context)
    }

    /// The options that every program needs.
    ///
    /// For CPUs, whose names begin with `cpu`, PoCL 7.1 gets several kernels with barriers wrong unless it does not optimise.
    pub fn compiler_options(&self) -> &'static str {
        let is_pocl_7 = self.driver.starts_with("Portable Computing Language 7.");
        if is_pocl_7 && self.name.starts_with("cpu") {
            "-cl-std=CL1.2 -cl-opt-disable"
        } else {
            "-cl-std=CL1.2"
        }
    }

    /// `FOUR_SAMPLES` in `kernels/common.cl`: the instructions for four samples that the device seems to have.
    /// Its compiler may still refuse them.
    ///
    /// NVIDIA's devices have their compute capability as a property, others name extensions.
    pub fn four_samples(&self) -> u8 {
        /// CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV and CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV.
        const CAPABILITY: [u32; 2] = [0x4000, 0x4001];
        const VABSDIFF4: u8 = 1;
        const DP4A: u8 = 2;
        const AMD_SAD: u8 = 4;
        const DOT_PRODUCT: u8 = 8;
        const PACK: u8 = 16;
        let has = |extension| self.extensions.split(' ').any(|name| name == extension);
        if self.is_nvidia() {
            let capability = CAPABILITY.map(|property| cl::device_number(self.raw(), property).unwrap_or(0));
            let dp4a = if capability >= [6, 1] { DP4A } else { 0 };
            let pack = if capability >= [7, 2] { PACK } else { 0 };
            return VABSDIFF4 | dp4a | pack;
        }
        let amd_sad = if has("cl_amd_media_ops") { AMD_SAD } else { 0 };
        let dot_product = if has("cl_khr_integer_dot_product") { DOT_PRODUCT } else { 0 };
        amd_sad | dot_product
    }

    /// The most work-items in a group of `kernel`, at least 1.
    pub fn largest_group_of(&self, kernel: &KernelObject) -> Result<usize, SetupError> {
        let largest = kernel.largest_group().map_err(|error| self.refused(error))?;
        Ok(largest.min(self.largest_group).max(1))
    }

    /// The largest group of `kernel` within `wanted` items, which are powers of two.
    pub fn group_of(&self, kernel: &KernelObject, wanted: [usize; 2]) -> Result<[usize; 2], SetupError> {
        let largest = self.largest_group_of(kernel)?;
        let [mut columns, mut rows] = wanted;
        while rows > self.largest_second.max(1) {
            rows /= 2;
        }
        while columns * rows > largest {
            let halved = if rows >= columns { &mut rows } else { &mut columns };
            *halved /= 2;
        }
        Ok([columns, rows])
    }

    /// A buffer of `bytes` on this device, or an error that says that there is no room for `what`.
    pub fn buffer(&self, context: &Context, what: &'static str, bytes: usize) -> Result<Buffer, SetupError> {
        let (needed, limit) = (bytes as u64, self.largest_buffer);
        let no_room = || SetupError::Memory { device: self.name.clone(), what, needed, limit };
        if needed > limit {
            return Err(no_room());
        }
        context
            .buffer(bytes)
            .map_err(|error| if error.is_out_of_memory() { no_room() } else { self.refused(error) })
    }

    /// The error for a call that failed on this device.
    pub fn refused(&self, error: launcher::Error) -> SetupError {
        SetupError::Device { device: self.name.clone(), message: error.to_string() }
    }

    /// Opens something by what `wanted` names, else by CUDA where that works and by OpenCL where it does not: CUDA takes
    /// less of the host's time for a launch. Returns what launches too.
    ///
    /// # Errors
    /// That of `open` by the last API that was tried.
    pub fn open<T>(
        &self,
        wanted: Option<Launcher>,
        open: impl Fn(&Arc<Context>) -> Result<T, SetupError>,
    ) -> Result<(T, Launching), SetupError> {
        let by = |launcher| {
            let opened = self.context(launcher).and_then(|context| open(&context));
            return_memory_of_compilers();
            opened
        };
        let wanted = wanted.or_else(launcher_of_process);
        let mut why_not_other = None;
        if wanted.unwrap_or(Launcher::Cuda) == Launcher::Cuda && (wanted.is_some() || self.has_cuda()) {
            match by(Launcher::Cuda) {
                Ok(opened) => return Ok((opened, Launching { by: Launcher::Cuda, why_not_other })),
                Err(error) if wanted.is_some() => return Err(error),
                Err(SetupError::KernelBuild { log, .. }) => why_not_other = Some(log.into()),
                Err(error) => why_not_other = Some(error.to_string().into()),
            }
        }
        by(Launcher::OpenCl).map(|opened| (opened, Launching { by: Launcher::OpenCl, why_not_other }))
    }

    /// What tells the context in which CUDA is to launch from others, if it is not the primary one.
    pub fn foreign_context(&self) -> Option<usize> {
        #[cfg(feature = "cuda")]
        let id = self.cuda.as_ref().map(CudaContext::id);
        #[cfg(not(feature = "cuda"))]
        let id = None;
        id
    }

    /// Whether CUDA may launch on it.
    fn has_cuda(&self) -> bool {
        cfg!(feature = "cuda") && self.is_nvidia()
    }

    fn is_nvidia(&self) -> bool {
        self.kind == DeviceKind::Gpu && self.vendor.to_ascii_lowercase().contains("nvidia")
    }

    /// The context that all users of this device and launcher share, so that a second element in a process needs no
    /// second one. When all users are gone, or the device is lost, the next call creates a new context:
    /// a device that failed may work again. An error if the device cannot run our kernels at all.
    pub fn context(&self, launcher: Launcher) -> Result<Arc<Context>, SetupError> {
        if !self.is_little_endian {
            return Err(SetupError::DeviceUnsupported {
                wanted: self.name.clone(),
                reason: "its words have their highest byte first, and the kernels read samples as words"
                    .into(),
            });
        }
        /// The device, what launches, and the context of another library if it is one.
        type Key = (DeviceHandle, Launcher, Option<usize>);
        type Shared = Mutex<Vec<(Key, Weak<Context>)>>;
        let key = (self.id, launcher, self.foreign_context().filter(|_| launcher == Launcher::Cuda));
        static SHARED: OnceCell<Shared> = OnceCell::new();
        // A panic elsewhere leaves the list valid: each change is one push.
        let mut shared = SHARED.get_or_init(Shared::default).lock();
        shared.retain(|(_, context)| context.strong_count() > 0);
        let of_it = shared.iter().filter(|(of, _)| *of == key);
        let mut of_it = of_it.filter_map(|(_, context)| context.upgrade());
        if let Some(context) = of_it.find(|context| !context.watch().is_lost() && !context.is_broken()) {
            return Ok(context);
        }
        let context = Arc::new(self.new_context(launcher)?);
        shared.push((key, Arc::downgrade(&context)));
        Ok(context)
    }

    /// A context that nobody shares.
    pub fn new_context(&self, launcher: Launcher) -> Result<Context, SetupError> {
        let opencl = OpenClApi::new(self.raw()).map_err(|error| self.refused(error))?;
        let api = match launcher {
            Launcher::OpenCl => Ok(Api::OpenCl(opencl)),
            #[cfg(feature = "cuda")]
            Launcher::Cuda => CudaApi::new(self.raw(), self.cuda.as_ref(), opencl).map(Api::Cuda),
            #[cfg(not(feature = "cuda"))]
            Launcher::Cuda => Err(launcher::Error::UNSUPPORTED),
        };
        let api = api.map_err(|error| SetupError::DeviceUnsupported {
            wanted: self.name.clone(),
            reason: format!("CUDA cannot launch on it ({error}); choose launcher opencl"),
        })?;
        Ok(Context::new(api, self.kind == DeviceKind::Gpu))
    }
}

/// Gives memory that compilers have freed back to the system. Theirs run in threads of their own, and glibc keeps for each such
/// thread what it has freed: 10 to 20 MiB, each time that devices are opened anew.
fn return_memory_of_compilers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

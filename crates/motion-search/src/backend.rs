//! The one place that decides which device and kernel do the work.

mod chosen;
mod selector;
mod several;
#[cfg(feature = "opencl")]
mod table;
#[cfg(feature = "opencl")]
mod tables;

use std::path::PathBuf;

use crate::estimator::{Device, Parameters, SetupError};
use crate::native::{InstructionSetName, Native};
use crate::session::{Options, Session};
use crate::tuning::{Kernel, Tuning, check_search};

pub use chosen::{TuningSource, TuningWarning};
pub use opencl::OpenClDevice;
#[cfg(feature = "opencl")]
pub use opencl::find as find_opencl;
pub use selector::{DeviceList, DeviceSelector};
pub use several::{Grouping, OnDeviceFailure};
#[cfg(feature = "opencl")]
pub use table::{Entry, Table, TableError};
#[cfg(feature = "opencl")]
pub use tables::read_file;

/// A device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AvailableDevice {
    /// Selects exactly this device: `native` or `P:D`.
    pub selector: DeviceSelector,
    /// Its name.
    pub name: String,
    /// `native`, `gpu`, `cpu` or `accelerator`.
    pub kind: &'static str,
    /// Its instruction set, or its OpenCL platform and version.
    pub driver: String,
}

/// What an OpenCL device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// Compute units.
    pub compute_units: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// Local memory of a work-group in bytes.
    pub local_memory: usize,
    /// The most work-items in a work-group.
    pub largest_group: usize,
}

/// How a device and its kernel were chosen.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Choice {
    /// Why the first choice was not taken: set if `auto` found a device that does not start, or no device
    /// for the kernel. Worth a warning, nothing more.
    pub fallback: Option<SetupError>,
    /// Where kernel and tuning come from.
    pub source: TuningSource,
    /// Table entries that were passed over. Worth a warning each.
    pub warnings: Vec<TuningWarning>,
}

/// A device that was opened, and how it was chosen.
pub type Opened = (Box<dyn Device>, Choice);

/// What was opened on an OpenCL device, if on any, and why the first choice of [`DeviceSelector::Auto`] was not taken.
pub type OpenedBeside<T> = (Option<T>, Option<SetupError>);

/// Every device of this machine, the native CPU first.
pub fn devices() -> Vec<AvailableDevice> {
    devices_and_limits().into_iter().map(|(info, _)| info).collect()
}

/// Every device of this machine, the native CPU first, with the limits of the OpenCL devices.
pub fn devices_and_limits() -> Vec<(AvailableDevice, Option<DeviceLimits>)> {
    let native = AvailableDevice {
        selector: DeviceSelector::Native,
        name: Native::NAME.into(),
        kind: Native::NAME,
        driver: InstructionSetName::best().name().into(),
    };
    let native = (native, None);
    std::iter::once(native).chain(opencl::devices().into_iter().map(|(i, l)| (i, Some(l)))).collect()
}

/// Opens a session as [`Opener::open`], without a tuning file.
///
/// # Errors
/// As there.
pub fn open<T>(
    device: &DeviceSelector,
    kernel: Kernel,
    tuning: &Tuning,
    grouping: Grouping,
    parameters: &Parameters,
) -> Result<(Session<T>, Choice), SetupError> {
    Opener::default().open(device, kernel, tuning, grouping, parameters)
}

/// Opens one device as [`Opener::open_device`], without a tuning file.
///
/// # Errors
/// As there.
pub fn open_device(
    device: &DeviceSelector,
    kernel: Kernel,
    tuning: &Tuning,
    parameters: &Parameters,
) -> Result<Opened, SetupError> {
    Opener::default().open_device(device, kernel, tuning, parameters)
}

/// Opens devices, with a tuning file of the user's if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opener {
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    tuning_file: Option<PathBuf>,
}

impl Opener {
    /// With the [`Table`] in `file`, which need not exist. Its entries take precedence over the built-in table. It is read
    /// whenever an OpenCL device is opened.
    pub fn with_tuning_file(file: impl Into<PathBuf>) -> Self {
        Self { tuning_file: Some(file.into()) }
    }

    /// Opens a session on the device or the devices that `device` names, with `kernel`.
    ///
    /// [`DeviceSelector::Auto`] takes the OpenCL GPU with the most compute units; if there is none, or it does
    /// not start, the CPU without OpenCL. With a kernel of [`Kernel::OPENCL`] that the CPU does not have, it takes
    /// the best OpenCL device of any kind that runs the kernel, and the CPU with [`Kernel::Auto`] if there is no
    /// OpenCL device. [`Choice::fallback`] tells why.
    ///
    /// What `kernel` and `tuning` leave open on an OpenCL device is chosen by the first of these that has an
    /// answer: the tuning file, the built-in table, the rule for the kind of device. [`Choice::source`]
    /// tells which one had, [`Choice::warnings`] which entries the device could not run.
    ///
    /// # Errors
    /// [`SetupError`]: invalid parameters or tuning, no such device, a kernel that the device cannot run; unless
    /// `device` is [`DeviceSelector::Auto`], also what keeps the device from starting.
    pub fn open<T>(
        &self,
        device: &DeviceSelector,
        kernel: Kernel,
        tuning: &Tuning,
        grouping: Grouping,
        parameters: &Parameters,
    ) -> Result<(Session<T>, Choice), SetupError> {
        let (devices, balance, choice) = match device {
            DeviceSelector::Several(list) => {
                check_search(&device.to_string(), kernel, tuning, parameters)?;
                let (devices, balance) = self.open_several(list, kernel, tuning, grouping, parameters)?;
                (devices, balance, Choice::default())
            }
            one => {
                let (device, choice) = self.open_device(one, kernel, tuning, parameters)?;
                (vec![device.into()], grouping.balance, choice)
            }
        };
        let fallback = several::fallback(grouping, tuning, parameters);
        let is_list = matches!(device, DeviceSelector::Several(_));
        let stage_threads = tuning.threads.unwrap_or(0);
        let split = grouping.split;
        let options = Options { split, balance, fallback, is_list, stage_threads, ..Options::default() };
        Ok((Session::new(parameters, tuning.depth.unwrap_or(1), devices, options)?, choice))
    }

    /// Opens the one device that `device` names, as [`Self::open`].
    ///
    /// # Errors
    /// As [`Self::open`], and [`SetupError::DeviceUnsupported`] for [`DeviceSelector::Several`].
    pub fn open_device(
        &self,
        device: &DeviceSelector,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Opened, SetupError> {
        check_search(&device.to_string(), kernel, tuning, parameters)?;
        match device {
            DeviceSelector::Auto if of_opencl(kernel) => self.open_best(kernel, tuning, parameters),
            DeviceSelector::Auto | DeviceSelector::Native => {
                Ok((native(kernel, tuning, parameters)?, Choice::default()))
            }
            DeviceSelector::Several(list) => Err(SetupError::DeviceUnsupported {
                wanted: list.to_string(),
                reason: "it names several devices where one is wanted".into(),
            }),
            DeviceSelector::Gpu
            | DeviceSelector::Cpu
            | DeviceSelector::Accelerator
            | DeviceSelector::Index(..)
            | DeviceSelector::Name(_) => self.open_opencl(device, kernel, tuning, parameters),
            #[cfg(feature = "cuda")]
            DeviceSelector::Cuda(_) => self.open_opencl(device, kernel, tuning, parameters),
        }
    }

    fn open_best(
        &self,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Opened, SetupError> {
        let fallback = match self.open_best_opencl(kernel, tuning, parameters) {
            Some(Ok(opened)) => return Ok(opened),
            // The devices work, but the kernel cannot do this search. The user asked for this kernel, not for another one.
            Some(Err(error @ SetupError::KernelUnsupported { .. })) => return Err(error),
            Some(Err(error)) => Some(error),
            None if of_native(kernel) => None,
            None => Some(SetupError::KernelUnsupported {
                kernel: kernel.name(),
                device: "auto".into(),
                reason: opencl::WHY_NO_DEVICE.into(),
                advice: "the native CPU takes its place".into(),
            }),
        };
        let kernel = if of_native(kernel) { kernel } else { Kernel::Auto };
        Ok((native(kernel, tuning, parameters)?, Choice { fallback, ..Choice::default() }))
    }
}

/// Checks what can be known of a search before a device is opened: settings, and whether the devices exist. It takes no time
/// of a driver's compiler, as [`open`] may.
///
/// # Errors
/// [`SetupError`] as [`open`], except what only the device itself can tell: too little memory, limits of kernels.
pub fn check(
    device: &DeviceSelector,
    kernel: Kernel,
    tuning: &Tuning,
    parameters: &Parameters,
) -> Result<(), SetupError> {
    check_search(&device.to_string(), kernel, tuning, parameters)?;
    match device {
        DeviceSelector::Auto if of_opencl(kernel) => Ok(()),
        DeviceSelector::Several(list) => several::resolve(list).map(drop),
        DeviceSelector::Auto | DeviceSelector::Native => native(kernel, tuning, parameters).map(drop),
        one => opencl::exactly(one).map(drop),
    }
}

/// Whether [`DeviceSelector::Auto`] takes an OpenCL device with `kernel`, though the CPU without OpenCL has it too. That device
/// may be open only after its driver has compiled for long.
pub fn prefers_opencl(kernel: Kernel) -> bool {
    of_opencl(kernel) && of_native(kernel) && opencl::has_gpu()
}

/// Calls `open` for what works beside a search on `device`: with the same OpenCL device, or of several ones with the first GPU;
/// with none where the search is on the CPU without OpenCL. [`DeviceSelector::Auto`] takes the GPU with the most compute units
/// that opens.
///
/// # Errors
/// [`SetupError`]: no such device; unless `device` is [`DeviceSelector::Auto`], also what `open` returns.
pub fn open_beside<T>(
    device: &DeviceSelector,
    open: impl Fn(&OpenClDevice) -> Result<T, SetupError>,
) -> Result<OpenedBeside<T>, SetupError> {
    let one = match device {
        DeviceSelector::Native => return Ok((None, None)),
        DeviceSelector::Auto => {
            return Ok(match opencl::first_that_opens(false, open) {
                Some(Ok(opened)) => (Some(opened), None),
                Some(Err(error)) => (None, Some(error)),
                None => (None, None),
            });
        }
        DeviceSelector::Several(list) => match several::first_gpu(list)? {
            Some(gpu) => gpu,
            None => return Ok((None, None)),
        },
        one => one.clone(),
    };
    Ok((Some(open(&opencl::find(&one)?)?), None))
}

fn native(kernel: Kernel, tuning: &Tuning, parameters: &Parameters) -> Result<Box<dyn Device>, SetupError> {
    let mut native = Native::with_kernel(parameters.clone(), kernel, InstructionSetName::best())?;
    if let Some(threads) = tuning.threads {
        native = native.with_threads(threads)?;
    }
    if let Some(depth) = tuning.depth {
        native = native.with_depth(depth)?;
    }
    Ok(Box::new(native))
}

/// Whether OpenCL devices may have this kernel.
fn of_opencl(kernel: Kernel) -> bool {
    !Kernel::NATIVE.contains(&kernel) || Kernel::OPENCL.contains(&kernel)
}

/// Whether the CPU without OpenCL has this kernel too: of the OpenCL devices only a GPU is then faster.
fn of_native(kernel: Kernel) -> bool {
    kernel == Kernel::Auto || Kernel::NATIVE.contains(&kernel)
}

/// The error for a name that no device has.
fn no_such_device(wanted: &DeviceSelector) -> SetupError {
    let names = devices().into_iter().map(|d| match d.selector {
        DeviceSelector::Native => "native".to_owned(),
        selector => format!("{selector} ({}, {})", d.name, d.kind),
    });
    let mut available = names.collect::<Vec<_>>().join(", ");
    if available == "native" {
        available = format!("native; {}", opencl::WHY_NO_DEVICE);
    }
    available.push_str("; auto, gpu, cpu, accelerator and all choose among them");
    SetupError::NoSuchDevice { wanted: wanted.to_string(), available }
}

/// The OpenCL devices, best first where there is a choice.
#[cfg(feature = "opencl")]
mod opencl {
    use std::cmp::Reverse;

    use super::tables::{Proposal, Tables};
    use super::{
        AvailableDevice, Choice, DeviceLimits, DeviceSelector, Opened, Opener, TuningSource, TuningWarning,
        no_such_device,
    };
    use crate::estimator::{Parameters, SetupError};
    pub use crate::opencl::OpenClDevice;
    use crate::opencl::{self, DeviceKind, OpenCl};
    use crate::tuning::{Kernel, Tuning};

    pub(super) const WHY_NO_DEVICE: &str = "there is no OpenCL device";

    pub(super) fn devices() -> Vec<(AvailableDevice, DeviceLimits)> {
        let describe = |device: OpenClDevice| {
            let info = AvailableDevice {
                selector: DeviceSelector::Index(device.platform, device.index),
                name: device.name,
                kind: device.kind.name(),
                driver: device.driver,
            };
            let limits = DeviceLimits {
                compute_units: device.compute_units,
                memory: device.memory,
                local_memory: device.local_memory,
                largest_group: device.largest_group,
            };
            (info, limits)
        };
        opencl::devices().into_iter().map(describe).collect()
    }

    fn opened(device: OpenCl, source: TuningSource, warnings: Vec<TuningWarning>) -> Opened {
        (Box::new(device), Choice { fallback: None, source, warnings })
    }

    /// The first OpenCL device that `selector` names; with [`DeviceSelector::Auto`] the first of all.
    ///
    /// # Errors
    /// [`SetupError::NoSuchDevice`], which lists those that are there.
    pub fn find(selector: &DeviceSelector) -> Result<OpenClDevice, SetupError> {
        #[cfg(feature = "cuda")]
        if let DeviceSelector::Cuda(context) = selector {
            return OpenClDevice::of_cuda(context).ok_or_else(|| no_such_device(selector));
        }
        find_listed(selector).ok_or_else(|| no_such_device(selector))
    }

    /// The first OpenCL device that `selector` names, unless it is that of a context of CUDA.
    fn find_listed(selector: &DeviceSelector) -> Option<OpenClDevice> {
        let matches = |device: &OpenClDevice| match selector {
            DeviceSelector::Gpu => device.kind == DeviceKind::Gpu,
            DeviceSelector::Cpu => device.kind == DeviceKind::Cpu,
            DeviceSelector::Accelerator => device.kind == DeviceKind::Accelerator,
            DeviceSelector::Index(platform, index) => (device.platform, device.index) == (*platform, *index),
            DeviceSelector::Name(part) => device.name.to_lowercase().contains(&part.to_lowercase()),
            DeviceSelector::Auto => true,
            DeviceSelector::Native | DeviceSelector::Several(_) => false,
            #[cfg(feature = "cuda")]
            DeviceSelector::Cuda(_) => false,
        };
        opencl::devices().into_iter().find(matches)
    }

    /// Whether there is the OpenCL device that `selector` names.
    pub(super) fn has(selector: &DeviceSelector) -> bool {
        find_listed(selector).is_some()
    }

    /// The selector of exactly the device that `selector` names.
    pub(super) fn exactly(selector: &DeviceSelector) -> Result<DeviceSelector, SetupError> {
        find(selector).map(|device| DeviceSelector::Index(device.platform, device.index))
    }

    impl Opener {
        /// The estimator by the first proposal of the tables that `device` can follow, else as it is asked for.
        fn open_on(
            &self,
            device: &OpenClDevice,
            kernel: Kernel,
            tuning: &Tuning,
            parameters: &Parameters,
        ) -> Result<Opened, SetupError> {
            let tables = Tables::with(self.tuning_file.as_deref());
            let proposals = tables.proposals(device.into(), kernel, tuning, parameters);
            let mut warnings = Vec::from_iter(tables.warning);
            for Proposal { kernel, tuning, source } in proposals {
                match OpenCl::new(device, kernel, &tuning, parameters) {
                    Ok(opened_device) => return Ok(opened(opened_device, source, warnings)),
                    Err(error) => warnings.push(TuningWarning::Entry { from: source, error }),
                }
            }
            let source = if kernel == Kernel::Auto { TuningSource::Rule } else { TuningSource::Asked };
            Ok(opened(OpenCl::new(device, kernel, tuning, parameters)?, source, warnings))
        }

        pub(super) fn open_opencl(
            &self,
            selector: &DeviceSelector,
            kernel: Kernel,
            tuning: &Tuning,
            parameters: &Parameters,
        ) -> Result<Opened, SetupError> {
            self.open_on(&find(selector)?, kernel, tuning, parameters)
        }

        /// Opens the best device for `kernel`: a GPU; with a kernel that only OpenCL has, any device, but GPUs first.
        /// Devices with more compute units go first. `None` if there is no device; if none starts, the error of the first.
        pub(super) fn open_best_opencl(
            &self,
            kernel: Kernel,
            tuning: &Tuning,
            parameters: &Parameters,
        ) -> Option<Result<Opened, SetupError>> {
            let is_any = !super::of_native(kernel);
            first_that_opens(is_any, |device| self.open_on(device, kernel, tuning, parameters))
        }
    }

    /// Calls `open` with GPUs, or with devices of any kind, until it succeeds: GPUs first, and devices with more compute
    /// units first. `None` if there is no device; if all fail, the error of the first.
    pub(super) fn first_that_opens<T>(
        any_kind: bool,
        open: impl Fn(&OpenClDevice) -> Result<T, SetupError>,
    ) -> Option<Result<T, SetupError>> {
        let mut devices = opencl::devices();
        devices.retain(|device| any_kind || device.kind == DeviceKind::Gpu);
        devices.sort_by_key(|device| (device.kind != DeviceKind::Gpu, Reverse(device.compute_units)));
        let mut opened = devices.iter().map(open);
        let first = opened.next()?;
        Some(first.or_else(|error| opened.find_map(Result::ok).ok_or(error)))
    }

    /// Whether there is a GPU.
    pub(super) fn has_gpu() -> bool {
        opencl::devices().iter().any(|device| device.kind == DeviceKind::Gpu)
    }

    /// Whether `selector` names a GPU.
    pub(super) fn is_gpu(selector: &DeviceSelector) -> Result<bool, SetupError> {
        Ok(find(selector)?.kind == DeviceKind::Gpu)
    }
}

/// A build without OpenCL has no OpenCL devices.
#[cfg(not(feature = "opencl"))]
mod opencl {
    use super::{AvailableDevice, DeviceLimits, DeviceSelector, Opened, Opener, no_such_device};
    use crate::estimator::{Parameters, SetupError};
    use crate::tuning::{Kernel, Tuning};

    pub(super) const WHY_NO_DEVICE: &str = "this build is without OpenCL";

    /// An OpenCL device.
    #[derive(Clone, Copy, Debug)]
    pub enum OpenClDevice {}

    pub(super) fn devices() -> Vec<(AvailableDevice, DeviceLimits)> {
        Vec::new()
    }

    pub(super) fn has(_: &DeviceSelector) -> bool {
        false
    }

    pub(super) fn exactly(selector: &DeviceSelector) -> Result<DeviceSelector, SetupError> {
        Err(no_such_device(selector))
    }

    impl Opener {
        pub(super) fn open_opencl(
            &self,
            selector: &DeviceSelector,
            _: Kernel,
            _: &Tuning,
            _: &Parameters,
        ) -> Result<Opened, SetupError> {
            Err(no_such_device(selector))
        }

        pub(super) fn open_best_opencl(
            &self,
            _: Kernel,
            _: &Tuning,
            _: &Parameters,
        ) -> Option<Result<Opened, SetupError>> {
            None
        }
    }

    pub(super) fn find(selector: &DeviceSelector) -> Result<OpenClDevice, SetupError> {
        Err(no_such_device(selector))
    }

    pub(super) fn first_that_opens<T>(
        _: bool,
        _: impl Fn(&OpenClDevice) -> Result<T, SetupError>,
    ) -> Option<Result<T, SetupError>> {
        None
    }

    pub(super) fn has_gpu() -> bool {
        false
    }

    pub(super) fn is_gpu(selector: &DeviceSelector) -> Result<bool, SetupError> {
        Err(no_such_device(selector))
    }
}

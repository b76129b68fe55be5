//! What launches kernels, as users and tables name it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of the CPU as a device that needs no OpenCL.
pub const NATIVE: &str = "native";

/// What launches the kernels of an OpenCL device. They are the same kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    /// OpenCL, which every such device has.
    OpenCl,
    /// CUDA's driver, on NVIDIA's devices: a launch takes less of the host's time.
    Cuda,
}

impl Launcher {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OpenCl, Self::Cuda];

    /// `opencl` or `cuda`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenCl => "opencl",
            Self::Cuda => "cuda",
        }
    }
}

/// What launches the kernels of a device, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launching {
    /// What launches them.
    pub by: Launcher,
    /// Why the other launcher does not, if it was tried.
    pub why_not_other: Option<Arc<str>>,
}

impl fmt::Display for Launching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why_not_other {
            None => write!(f, "launched by {}", self.by.name()),
            Some(reason) => write!(f, "launched by {}: {reason}", self.by.name()),
        }
    }
}

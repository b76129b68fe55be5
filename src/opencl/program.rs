//! The kernels' sources and how they are built.

use super::cl::{Context, Program};
use super::device::Device;
use crate::estimator::{Kernel, Metric, Parameters, SetupError};

const COMMON: &str = include_str!("../../kernels/common.cl");

/// The line by which a file takes in `COMMON`; offline compilers follow it by themselves.
const INCLUDE_COMMON: &str = "#include \"common.cl\"";

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Picture,
    Reference,
    Collaborative,
    Reduce,
    ThreeStep,
}

impl Source {
    fn text(self) -> &'static str {
        match self {
            Self::Picture => include_str!("../../kernels/picture.cl"),
            Self::Reference => include_str!("../../kernels/reference.cl"),
            Self::Collaborative => include_str!("../../kernels/collaborative.cl"),
            Self::Reduce => include_str!("../../kernels/reduce.cl"),
            Self::ThreeStep => include_str!("../../kernels/three_step.cl"),
        }
    }

    /// The file with `COMMON` in the place of its include line.
    pub(super) fn whole(self) -> String {
        self.text().replacen(INCLUDE_COMMON, COMMON, 1)
    }
}

/// The `-D` options for kernels that compare blocks. Block size and metric alone are compiled in:
/// all else is an argument, so that one build serves every picture size, window and border.
pub(super) fn options(device: &Device, parameters: &Parameters) -> String {
    let ssd = u8::from(parameters.metric == Metric::Ssd);
    let four_samples = u8::from(device.takes_ptx());
    format!("-D BLOCK={} -D METRIC_SSD={ssd} -D FOUR_SAMPLES={four_samples}", parameters.block_size)
}

/// Builds `source` for `kernel`.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log.
pub(super) fn build(
    context: &Context,
    device: &Device,
    kernel: Kernel,
    source: &str,
    options: &str,
) -> Result<Program, SetupError> {
    context.program(device.raw(), source, &format!("-cl-std=CL1.2 {options}")).map_err(|(error, log)| {
        let log = if log.is_empty() { error.to_string() } else { log };
        SetupError::KernelBuild { kernel, device: device.name.clone(), log }
    })
}

/// Builds `source`, which need not be one of ours, as a kernel would be.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] where the device
/// gives no context.
#[doc(hidden)]
pub fn try_build(device: &Device, source: &str) -> Result<(), SetupError> {
    build(&*device.context()?, device, Kernel::Reference, source, "").map(drop)
}

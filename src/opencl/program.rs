//! The kernels' sources and how they are built.

use std::sync::Arc;

use super::cache::Cache;
use super::cl::Program;
use super::context::Context;
use super::device::Device;
use crate::estimator::{Kernel, Metric, Parameters, SetupError};

/// What files take in, and the line by which they do; offline compilers follow it by themselves. A
/// file that takes in another stands before it.
const INCLUDED: [(&str, &str); 3] = [
    ("#include \"common.cl\"", include_str!("../../kernels/common.cl")),
    ("#include \"spans.cl\"", include_str!("../../kernels/spans.cl")),
    ("#include \"vectors.cl\"", include_str!("../../kernels/vectors.cl")),
];

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Frame,
    Reference,
    Collaborative,
    Reduce,
    TwoPass,
    Tiled,
    Elimination,
    ThreeStep,
}

impl Source {
    fn text(self) -> &'static str {
        match self {
            Self::Frame => include_str!("../../kernels/frame.cl"),
            Self::Reference => include_str!("../../kernels/reference.cl"),
            Self::Collaborative => include_str!("../../kernels/collaborative.cl"),
            Self::Reduce => include_str!("../../kernels/reduce.cl"),
            Self::TwoPass => include_str!("../../kernels/two_pass.cl"),
            Self::Tiled => include_str!("../../kernels/tiled.cl"),
            Self::Elimination => include_str!("../../kernels/elimination.cl"),
            Self::ThreeStep => include_str!("../../kernels/three_step.cl"),
        }
    }

    /// The file with what it takes in in the place of its include lines.
    pub(super) fn whole(self) -> String {
        INCLUDED.iter().fold(self.text().to_owned(), |text, (line, file)| text.replacen(line, file, 1))
    }
}

/// The `-D` options of `source`: none but for kernels that compare blocks. Block size and metric
/// alone are compiled in: all else is an argument, so that one build serves every frame size,
/// window and border; but for the size of the group, where it is fixed.
pub(super) fn options(
    source: Source,
    device: &Device,
    parameters: &Parameters,
    group_size: Option<usize>,
) -> String {
    if matches!(source, Source::Frame | Source::Reduce) {
        return String::new();
    }
    let ssd = u8::from(parameters.metric == Metric::Ssd);
    let four_samples = device.four_samples();
    let group = group_size.map_or(String::new(), |items| format!(" -D GROUP_SIZE={items}"));
    format!("-D BLOCK={} -D METRIC_SSD={ssd} -D FOUR_SAMPLES={four_samples}{group}", parameters.block_size)
}

/// Builds `source` for `kernel`, or takes what an earlier build left in the context or in the user's
/// cache.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log.
pub(super) fn build(
    context: &Context,
    device: &Device,
    kernel: Kernel,
    source: &str,
    options: &str,
) -> Result<Arc<Program>, SetupError> {
    let key = [options, source].join("\n");
    let cache = Cache::of_user();
    context.shared_program(key, || build_with(cache.as_ref(), context, device, kernel, source, options))
}

/// As [`build`], with `cache`.
fn build_with(
    cache: Option<&Cache>,
    context: &Context,
    device: &Device,
    kernel: Kernel,
    source: &str,
    options: &str,
) -> Result<Program, SetupError> {
    let options = format!("-cl-std=CL1.2 {options}");
    let key = key(device, &options, source);
    let cached = cache.and_then(|cache| cache.get(&key)).and_then(|binary| {
        // What the driver does not take any more is built anew, and takes the place of the old.
        context.program_of_binary(device.raw(), &binary, &options).ok()
    });
    if let Some(program) = cached {
        return Ok(program);
    }
    let program = context.program(device.raw(), source, &options).map_err(|(error, log)| {
        let log = if log.is_empty() { error.to_string() } else { log };
        SetupError::KernelBuild { kernel, device: device.name.clone(), log }
    })?;
    if let (Some(cache), Ok(binary)) = (cache, program.binary()) {
        cache.put(&key, &binary);
    }
    Ok(program)
}

/// All that a binary depends on.
fn key(device: &Device, options: &str, source: &str) -> String {
    [&*device.compiler(), options, source].join("\n")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;

    #[test]
    fn a_cached_program_is_taken_and_one_the_driver_refuses_is_built_anew() {
        let folder = std::env::temp_dir().join(format!("motionestimate-programs-{}", std::process::id()));
        let cache = Cache::in_folder(folder.clone());
        let source = "__kernel void one(void) {}";
        let devices = devices();
        assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in devices {
            let context = device.context().unwrap();
            let build =
                || build_with(Some(&cache), &context, &device, Kernel::Reference, source, "").unwrap();
            let key = key(&device, "-cl-std=CL1.2 ", source);
            assert_eq!(cache.get(&key), None);
            build().kernel(c"one").unwrap();
            let built = cache.get(&key).expect("the build is kept");
            build().kernel(c"one").unwrap();

            // Whole, but no program of this driver.
            cache.put(&key, b"no program at all");
            build().kernel(c"one").unwrap();
            assert_eq!(cache.get(&key).map(|binary| binary.len()), Some(built.len()));

            // What the cache holds is used: another program under this key gives other kernels.
            let other = context.program(device.raw(), "__kernel void two(void) {}", "").unwrap();
            cache.put(&key, &other.binary().unwrap());
            build().kernel(c"two").unwrap();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

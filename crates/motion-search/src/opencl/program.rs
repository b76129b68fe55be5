//! The kernels' sources and how they are built.

use std::sync::Arc;
use std::{io, panic, thread};

use super::cache::ProgramCache;
use super::cl::Program;
use super::context::Context;
use super::device::OpenClDevice;
use crate::estimator::{Parameters, SetupError};
use crate::tuning::Kernel;

/// Files that others include. A file that includes another comes before it.
const INCLUDED: [(&str, &str); 7] = [
    ("common.cl", include_str!("../../kernels/common.cl")),
    ("groups.cl", include_str!("../../kernels/groups.cl")),
    ("spans.cl", include_str!("../../kernels/spans.cl")),
    ("steps.cl", include_str!("../../kernels/steps.cl")),
    ("levels.cl", include_str!("../../kernels/levels.cl")),
    ("fields.cl", include_str!("../../kernels/fields.cl")),
    ("points.cl", include_str!("../../kernels/points.cl")),
];

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelFile {
    Frame,
    Reference,
    Collaborative,
    Reduce,
    TwoPass,
    Tiled,
    Elimination,
    ThreeStep,
    ThreeStepSamples,
    SubSample,
    Pyramid,
    Hierarchical,
    Refinement,
    Blocks,
    Interpolation,
    Compensation,
}

impl KernelFile {
    fn text(self) -> &'static str {
        match self {
            Self::Frame => include_str!("../../kernels/frame.cl"),
            Self::Reference => include_str!("../../kernels/papers/reference.cl"),
            Self::Collaborative => include_str!("../../kernels/papers/collaborative.cl"),
            Self::Reduce => include_str!("../../kernels/papers/reduce.cl"),
            Self::TwoPass => include_str!("../../kernels/papers/two_pass.cl"),
            Self::Tiled => include_str!("../../kernels/tiled.cl"),
            Self::Elimination => include_str!("../../kernels/papers/elimination.cl"),
            Self::ThreeStep => include_str!("../../kernels/three_step.cl"),
            Self::ThreeStepSamples => include_str!("../../kernels/papers/three_step.cl"),
            Self::SubSample => include_str!("../../kernels/sub_sample.cl"),
            Self::Pyramid => include_str!("../../kernels/pyramid.cl"),
            Self::Hierarchical => include_str!("../../kernels/hierarchical.cl"),
            Self::Refinement => include_str!("../../kernels/refinement.cl"),
            Self::Blocks => include_str!("../../kernels/blocks.cl"),
            Self::Interpolation => include_str!("../../kernels/interpolation.cl"),
            Self::Compensation => include_str!("../../kernels/compensation.cl"),
        }
    }

    /// The file, with the included files in the place of the lines that include them. Offline compilers follow these
    /// lines themselves.
    pub(super) fn source(self) -> String {
        INCLUDED.iter().fold(self.text().to_owned(), |text, (name, file)| {
            let lines = ["", "../"].map(|folder| format!("#include \"{folder}{name}\""));
            lines.iter().fold(text, |text, line| text.replacen(line, file, 1))
        })
    }
}

/// The `-D` options of `file`: block size, metric, bits of a sample in memory, the instructions for four samples and, if it is fixed, the
/// group size. A file gets those on which its kernels depend. All else is an argument, so that one build serves
/// every frame size, window and border, unless a family compiles more in.
pub(super) fn options(
    file: KernelFile,
    four_samples: u8,
    parameters: &Parameters,
    group_size: Option<usize>,
) -> String {
    let four = format!("-D FOUR_SAMPLES={four_samples}");
    let block = format!(" -D BLOCK={}", parameters.block_size);
    let metric = format!(" -D METRIC=METRIC_{}", parameters.metric.name().to_ascii_uppercase());
    let group = group_size.map_or(String::new(), |items| format!(" -D GROUP_SIZE={items}"));
    let group = if parameters.bit_depth > 8 { group + " -D SAMPLE_BITS=16" } else { group };
    match file {
        KernelFile::Frame | KernelFile::Reduce => group,
        // Hierarchical search compares cells, by absolute differences.
        KernelFile::Pyramid | KernelFile::Hierarchical | KernelFile::Refinement => four + &group,
        KernelFile::Blocks => four + &block + &group,
        _ => four + &block + &metric + &group,
    }
}

/// Builds `source` for `kernel`, or returns the program of an earlier build, from the context or the
/// user's cache.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] if there is no thread to compile on.
pub(super) fn build(
    context: &Context,
    device: &OpenClDevice,
    kernel: &'static str,
    source: &str,
    options: &str,
) -> Result<Arc<Program>, SetupError> {
    let key = [options, source].join("\n");
    let cache = ProgramCache::of_user();
    context.shared_program(key, || {
        let build = || build_with(cache.as_ref(), context, device, kernel, source, options);
        with_stack_of_compiler(build).map_err(|error| SetupError::Device {
            device: device.name.clone(),
            message: format!("there is no thread to compile on: {error}"),
        })?
    })
}

/// `FOUR_SAMPLES` in `common.cl`: the instructions for four samples that the device has, and its compiler takes.
pub(super) fn four_samples(context: &Context, device: &OpenClDevice) -> u8 {
    if context.lacks_four_samples() { 0 } else { device.four_samples() }
}

/// As [`build`] with what `options` makes of the `-D` option for the instructions for four samples that the device has;
/// without these instructions if its compiler refuses them.
///
/// # Errors
/// As [`build`].
pub(super) fn build_for_four_samples(
    context: &Context,
    device: &OpenClDevice,
    kernel: &'static str,
    source: &str,
    options: impl Fn(u8) -> String,
) -> Result<Arc<Program>, SetupError> {
    let build = |four_samples| build(context, device, kernel, source, &options(four_samples));
    let four_samples = four_samples(context, device);
    build(four_samples).or_else(|error| match error {
        // The compiler lacks instructions that the device seems to have.
        SetupError::KernelBuild { .. } if four_samples != 0 => {
            build(0).inspect(|_| context.refuse_four_samples())
        }
        error => Err(error),
    })
}

/// As [`build`], with `cache`.
fn build_with(
    cache: Option<&ProgramCache>,
    context: &Context,
    device: &OpenClDevice,
    kernel: &'static str,
    source: &str,
    options: &str,
) -> Result<Program, SetupError> {
    let options = format!("{} {options}", device.compiler_options());
    let key = key(device, &options, source);
    let cached = cache.and_then(|cache| cache.get(&key)).and_then(|binary| {
        // A binary that the driver no longer accepts is built again and replaced.
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

/// Does `build` on a thread that has 64 MiB for its stack: a driver also compiles what it gets as a binary. NVIDIA's compiler
/// needs more than the 2 MiB that threads of Rust have (blocks of 64, 15 bits), and a stack that overflows ends the process.
///
/// # Errors
/// Why there is no such thread.
fn with_stack_of_compiler<R: Send>(build: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let compiler = thread::Builder::new().name("motion-compiler".into()).stack_size(64 << 20);
        let built = compiler.spawn_scoped(scope, build)?.join();
        Ok(built.unwrap_or_else(|panic| panic::resume_unwind(panic)))
    })
}

/// Everything that a binary depends on.
fn key(device: &OpenClDevice, options: &str, source: &str) -> String {
    [&*device.compiler(), options, source].join("\n")
}

/// Builds any OpenCL C `source` as the kernels are built.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] if the device has no
/// context.
#[doc(hidden)]
pub fn try_build(device: &OpenClDevice, source: &str) -> Result<(), SetupError> {
    build(&*device.context()?, device, Kernel::Reference.name(), source, "").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;

    #[test]
    fn a_cached_program_is_used_and_one_that_the_driver_refuses_is_built_again() {
        let folder = std::env::temp_dir().join(format!("motionestimate-programs-{}", std::process::id()));
        let cache = ProgramCache::in_folder(folder.clone());
        let source = "__kernel void one(void) {}";
        let devices = devices();
        assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in devices {
            let context = device.context().unwrap();
            let build =
                || build_with(Some(&cache), &context, &device, Kernel::Reference.name(), source, "").unwrap();
            let key = key(&device, &format!("{} ", device.compiler_options()), source);
            assert_eq!(cache.get(&key), None);
            build().kernel(c"one").unwrap();
            let built = cache.get(&key).expect("the build is kept");
            build().kernel(c"one").unwrap();

            // An undamaged file that is not a program.
            cache.put(&key, b"no program at all");
            build().kernel(c"one").unwrap();
            assert_eq!(cache.get(&key).map(|binary| binary.len()), Some(built.len()));

            // The cache is used: with another program under this key there are other kernels.
            let other = context.program(device.raw(), "__kernel void two(void) {}", "").unwrap();
            cache.put(&key, &other.binary().unwrap());
            build().kernel(c"two").unwrap();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// PoCL's compiler, of such a sum, needs about 10 MiB.
    #[test]
    fn a_compiler_has_the_stack_that_it_needs() {
        let sum = vec!["*at"; 40_000].join("+");
        for device in devices() {
            try_build(&device, &format!("__kernel void sum(__global int *at) {{ *at = {sum}; }}")).unwrap();
        }
    }
}

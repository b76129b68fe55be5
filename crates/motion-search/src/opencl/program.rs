//! The kernels' sources and how they are built.

use std::sync::Arc;
use std::time::Instant;
use std::{io, panic, thread};

use super::context::Context;
use super::device::OpenClDevice;
use super::launcher::{self, LoadedProgram};
use crate::compilation::{self, Compilation};
use crate::estimator::{Launcher, Parameters, SetupError};
use crate::tuning::Kernel;

/// Files that others include. A file that includes another comes before it.
const INCLUDED: [(&str, &str); 11] = [
    ("common.cl", include_str!("../../kernels/common.cl")),
    ("groups.cl", include_str!("../../kernels/groups.cl")),
    ("spans.cl", include_str!("../../kernels/spans.cl")),
    ("taps.cl", include_str!("../../kernels/taps.cl")),
    ("steps.cl", include_str!("../../kernels/steps.cl")),
    ("levels.cl", include_str!("../../kernels/levels.cl")),
    ("candidates.cl", include_str!("../../kernels/candidates.cl")),
    ("fields.cl", include_str!("../../kernels/fields.cl")),
    ("points.cl", include_str!("../../kernels/points.cl")),
    ("prediction.cl", include_str!("../../kernels/prediction.cl")),
    ("hypotheses.cl", include_str!("../../kernels/hypotheses.cl")),
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
    Weighting,
    Mixing,
    SearchFrame,
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
            Self::Weighting => include_str!("../../kernels/weighting.cl"),
            Self::Mixing => include_str!("../../kernels/mixing.cl"),
            Self::SearchFrame => include_str!("../../kernels/search_frame.cl"),
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

/// Builds `source` for `kernel`, or returns the program of an earlier build in the context.
///
/// Programs are not kept on disk: drivers do that themselves.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] if there is no thread to compile on.
pub(super) fn build(
    context: &Context,
    device: &OpenClDevice,
    kernel: &'static str,
    source: &str,
    options: &str,
) -> Result<Arc<dyn LoadedProgram>, SetupError> {
    let key = [options, source].join("\n");
    context.shared_program(key, || {
        let options = format!("{} {options}", device.compiler_options());
        let build = || {
            let built = context.compiler().build(source, &options)?;
            context.load(built).map_err(|error| (error, String::new()))
        };
        let kernels = source.matches("__kernel").count();
        compilation::tell(&Compilation { device: &device.name, kernels, took: None });
        let began = Instant::now();
        let built = with_stack_of_compiler(build).map_err(|error| SetupError::Device {
            device: device.name.clone(),
            message: format!("there is no thread to compile on: {error}"),
        })?;
        compilation::tell(&Compilation { device: &device.name, kernels, took: Some(began.elapsed()) });
        built.map_err(|(error, log)| {
            let log = if log.is_empty() { error.to_string() } else { log };
            let build = SetupError::KernelBuild { kernel, device: device.name.clone(), log };
            not_launched(error, kernel, &device.name).unwrap_or(build)
        })
    })
}

/// The error for a `kernel` on `device` that CUDA cannot launch, if `error` says that.
pub(super) fn not_launched(error: launcher::Error, kernel: &'static str, device: &str) -> Option<SetupError> {
    (error == launcher::Error::LOCAL_MEMORY).then(|| SetupError::KernelUnsupported {
        kernel,
        device: device.to_owned(),
        reason: "CUDA cannot launch kernels that take local memory as an argument, as those of the papers do"
            .into(),
        advice: "choose launcher=opencl in the tuning or MOTION_SEARCH_LAUNCHER=opencl, or kernel=auto"
            .into(),
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
) -> Result<Arc<dyn LoadedProgram>, SetupError> {
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

/// Does `build` on a thread that has 64 MiB for its stack. NVIDIA's compiler needs more than the 2 MiB that threads of Rust have (blocks of 64, 15 bits), and a stack that overflows ends the process.
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

/// Builds any OpenCL C `source` as the kernels are built.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] if the device has no
/// context.
///
/// # Panics
/// If `source` is blank, which ends the process in PoCL.
#[doc(hidden)]
pub fn try_build(device: &OpenClDevice, source: &str) -> Result<(), SetupError> {
    assert!(!source.trim().is_empty(), "no source");
    build(&*device.context(Launcher::OpenCl)?, device, Kernel::Reference.name(), source, "").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;

    #[test]
    fn what_cuda_cannot_launch_is_told() {
        let error = not_launched(launcher::Error::LOCAL_MEMORY, "reference", "a GPU").unwrap().to_string();
        for part in
            ["reference", "a GPU", "CUDA cannot launch", "local memory", "launcher=opencl", "kernel=auto"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        let other = launcher::Error { call: "cuModuleLoadData", code: 200 };
        assert!(not_launched(other, "reference", "a GPU").is_none());
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

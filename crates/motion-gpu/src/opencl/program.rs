//! The kernels' sources and how they are built.

use std::sync::Arc;
use std::time::Instant;
use std::{io, panic, thread};

use super::context::Context;
use super::device::OpenClDevice;
use super::launcher::{self, Program};
use crate::compilation::{self, Compilation};
use motion_base::{Launcher, SetupError};

/// `text` with the files of `included` in the place of the lines that include them. A file that includes another stands before
/// it. Offline compilers follow these lines themselves.
pub fn with_included(text: &str, included: &[(&str, &str)]) -> String {
    included.iter().fold(text.to_owned(), |text, (name, file)| {
        let lines = ["", "../"].map(|folder| format!("#include \"{folder}{name}\""));
        lines.iter().fold(text, |text, line| text.replacen(line, file, 1))
    })
}

/// Builds `source` for `kernel`, or returns the program of an earlier build in the context.
///
/// Programs are not kept on disk: drivers do that themselves.
///
/// # Errors
/// [`SetupError::KernelBuild`] with the compiler's log, [`SetupError::Device`] if there is no thread to compile on.
pub fn build(
    context: &Context,
    device: &OpenClDevice,
    kernel: &'static str,
    source: &str,
    options: &str,
) -> Result<Arc<Program>, SetupError> {
    let key = [options, source].join("\n");
    context.shared_program(key, || {
        let options = format!("{} {options}", device.compiler_options());
        let kernels = source.matches("__kernel").count();
        compilation::tell(&Compilation { device: &device.name, kernels, took: None });
        let began = Instant::now();
        let built = with_stack_of_compiler(|| context.build(source, &options)).map_err(|error| {
            SetupError::Device {
                device: device.name.clone(),
                message: format!("there is no thread to compile on: {error}"),
            }
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
pub fn not_launched(error: launcher::Error, kernel: &'static str, device: &str) -> Option<SetupError> {
    (error == launcher::Error::LOCAL_MEMORY).then(|| SetupError::KernelUnsupported {
        kernel,
        device: device.to_owned(),
        reason: "CUDA cannot launch kernels that take local memory as an argument, as those of the papers do"
            .into(),
        advice: "choose launcher opencl in the tuning or MOTION_SEARCH_LAUNCHER=opencl, or kernel auto"
            .into(),
    })
}

/// `FOUR_SAMPLES` in `common.cl`: the instructions for four samples that the device has, and its compiler takes.
pub fn four_samples(context: &Context, device: &OpenClDevice) -> u8 {
    if context.lacks_four_samples() { 0 } else { device.four_samples() }
}

/// As [`build`] with what `options` makes of the `-D` option for the instructions for four samples that the device has;
/// without these instructions if its compiler refuses them.
///
/// # Errors
/// As [`build`].
pub fn build_for_four_samples(
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
    build(&*device.context(Launcher::OpenCl)?, device, "source", source, "").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;

    #[test]
    fn what_cuda_cannot_launch_is_told() {
        let error = not_launched(launcher::Error::LOCAL_MEMORY, "reference", "a GPU").unwrap().to_string();
        for part in
            ["reference", "a GPU", "CUDA cannot launch", "local memory", "launcher opencl", "kernel auto"]
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

//! The families of kernels, one file each, and the choice among them: what `auto` takes is in [`fastest`] and [`undemanding`], and
//! in `kernels/tuning.toml`. It never takes `elimination`, which is faster than `tiled` in large windows of real video, but up to ten
//! times as slow in noise. The methods of the papers are in [`papers`].

mod elimination;
mod group_shape;
mod hierarchical;
mod papers;
mod pyramid;
mod sub_sample;
mod three_step;
mod tiled;

use super::kernel_family::{BuildContext, KernelFamily};
use crate::estimator::{Algorithm, Parameters, SetupError, SubSample, Window};
use crate::tuning::Kernel;
use motion_gpu::device::{DeviceKind, OpenClDevice};

/// Bytes of an order key.
const KEY: usize = size_of::<u64>();

/// The fastest kernel of `algorithm` for the kind of `device`: `benches/RESULTS.md` has the figures. Without local
/// memory of its own, a device is like a CPU: what a kernel copies there is copied within one memory.
pub(super) fn fastest(parameters: &Parameters, device: &OpenClDevice) -> Kernel {
    let is_gpu = device.kind == DeviceKind::Gpu && device.has_local_memory;
    match parameters.algorithm {
        Algorithm::Full if is_gpu => Kernel::Tiled,
        Algorithm::ThreeStep if is_gpu => Kernel::ThreeStep,
        // The others lose what they gain by instructions for many samples of eight bits.
        Algorithm::Full if device.kind == DeviceKind::Cpu && parameters.bit_depth > 8 => Kernel::Tiled,
        _ => undemanding(parameters),
    }
}

/// A kernel for CPUs, and for devices that cannot have the groups or the local memory of the others.
pub(super) fn undemanding(parameters: &Parameters) -> Kernel {
    match parameters.algorithm {
        Algorithm::Full => Kernel::CollaborativeUnaligned,
        Algorithm::ThreeStep => Kernel::ThreeStepUnaligned,
        Algorithm::Hierarchical => Kernel::Hierarchical,
    }
}

/// The displacements for which the margins of the frames must have samples.
pub(super) fn readable_window(parameters: &Parameters) -> Window {
    match parameters.algorithm {
        Algorithm::Full => {
            let grid = parameters.grid();
            parameters.winning_window_of(0..=grid.columns - 1, 0..=grid.rows - 1)
        }
        // `place` in steps.cl reads candidates at most a block outside the frame.
        Algorithm::ThreeStep => {
            let side = parameters.block_size as i32;
            parameters.window.clipped(-side..=side, -side..=side)
        }
        Algorithm::Hierarchical => pyramid::margins(),
    }
}

/// Builds the family of the kernel that `build` names, and its refinement if there is one.
///
/// # Errors
/// [`SetupError::KernelUnsupported`] if a limit of the device does not allow it, [`SetupError::Memory`] if
/// the device has too little memory for the buffers of the kernel.
pub(super) fn build(build: &BuildContext<'_>) -> Result<Box<dyn KernelFamily>, SetupError> {
    let search = build_search(build)?;
    Ok(match build.parameters.sub_sample {
        SubSample::None => search,
        _ => Box::new(sub_sample::RefinedFamily::new(build, search)?),
    })
}

/// Builds the family that searches whole samples.
fn build_search(build: &BuildContext<'_>) -> Result<Box<dyn KernelFamily>, SetupError> {
    Ok(match build.kernel {
        Kernel::Auto | Kernel::Tiled => Box::new(tiled::TiledFamily::new(build)?),
        Kernel::ThreeStep => Box::new(three_step::ThreeStepGroups::new(build)?),
        Kernel::ThreeStepUnaligned => Box::new(three_step::ThreeStepItems::new(build)?),
        Kernel::Hierarchical => Box::new(hierarchical::HierarchicalFamily::new(build)?),
        Kernel::Exhaustive => {
            let advice = "choose kernel auto, or device native";
            return Err(build.unsupported("it is a kernel of the CPU without OpenCL".into(), advice));
        }
        Kernel::ReferenceNaive => Box::new(papers::ReferenceNaive::new(build)?),
        Kernel::Reference | Kernel::ReferenceSamples | Kernel::ReferenceInts => {
            Box::new(papers::ReferenceStaged::new(build)?)
        }
        Kernel::CollaborativeNaive
        | Kernel::Collaborative
        | Kernel::CollaborativeSamples
        | Kernel::CollaborativeUnaligned => Box::new(papers::CollaborativeFamily::new(build)?),
        Kernel::Elimination => Box::new(elimination::EliminationFamily::new(build)?),
        Kernel::TwoPass => Box::new(papers::TwoPassFamily::new(build)?),
        Kernel::ThreeStepNaive => Box::new(papers::ThreeStepSamples::new(build)?),
    })
}

/// The size of equal parts of `all`, each of at most `most`.
fn equal_part(all: usize, most: usize) -> usize {
    all.div_ceil(all.div_ceil(most))
}

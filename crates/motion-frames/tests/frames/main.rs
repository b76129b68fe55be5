//! Frames from fields: predicted, made and denoised frames are those of their definitions.

mod backend;
mod compensation;
mod denoising;
#[cfg(feature = "opencl")]
mod denoising_devices;
mod denoising_scenes;
mod denoising_streams;
mod interpolated_streams;
mod interpolation;
mod misuse;
#[cfg(feature = "opencl")]
mod misuse_devices;
mod misuse_values;
mod scene_cuts;
#[cfg(feature = "opencl")]
mod small_frames;
mod small_objects;

/// Every OpenCL device that is wanted, with what is compiled for it kept.
#[cfg(feature = "opencl")]
fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    use motion_search::opencl::{OpenCl, devices};
    use motion_search::tuning::{Kernel, Tuning};
    test_support::kept_devices(
        devices(),
        |device| &device.name,
        |device, smallest| OpenCl::new(device, Kernel::Reference, &Tuning::default(), smallest),
    )
}

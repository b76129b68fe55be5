//! Frames from fields: predicted, made and denoised frames are those of their definitions.

mod compensation;
mod denoising;
mod denoising_scenes;
mod interpolated_streams;
mod interpolation;

/// Every OpenCL device that is wanted.
#[cfg(feature = "opencl")]
fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    test_support::wanted_devices(motion_search::opencl::devices(), |device| &device.name)
}

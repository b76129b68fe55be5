//! Frames from fields: predicted, made and denoised frames are those of their definitions.

mod compensation;
mod denoising;
mod denoising_scenes;
mod interpolated_streams;
mod interpolation;

/// Every OpenCL device that is wanted. What is compiled for one is kept to the end of the process, for all cases of a test:
/// even with its cache, PoCL preprocesses every program again, which takes it a tenth of a second.
#[cfg(feature = "opencl")]
fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    use motion_search::estimator::{Parameters, Window};
    use motion_search::opencl::OpenCl;
    use motion_search::tuning::{Kernel, Tuning};
    static KEPT: std::sync::Once = std::sync::Once::new();
    let devices = test_support::wanted_devices(motion_search::opencl::devices(), |device| &device.name);
    KEPT.call_once(|| {
        let p = Parameters::new(16, 16, 16, Window::symmetric(1, 1).expect("a window"));
        // What was built is dropped with the last search that is open on the device.
        for device in &devices {
            std::mem::forget(OpenCl::new(device, Kernel::Reference, &Tuning::default(), &p));
        }
    });
    devices
}

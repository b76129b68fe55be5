//! Searches: every instruction set, kernel, device and split finds the vectors of the oracle, and what chooses between
//! them chooses as it says.

mod backend;
mod costs;
mod group;
mod in_flight;
mod misuse;
#[cfg(feature = "opencl")]
mod misuse_devices;
mod misuse_values;
mod native;
#[cfg(feature = "opencl")]
mod opencl;
#[cfg(feature = "opencl")]
mod portability;
mod prediction;
mod references;
#[cfg(feature = "opencl")]
mod small_frames;
#[cfg(feature = "opencl")]
mod tables;
#[cfg(feature = "opencl")]
mod tuning;

/// Every OpenCL device that is wanted. What is compiled for one is kept to the end of the process, for all cases of a test:
/// even with its cache, PoCL takes a tenth of a second for each program.
#[cfg(feature = "opencl")]
fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    use motion_search::estimator::{Parameters, Window};
    use motion_search::opencl::OpenCl;
    use motion_search::tuning::{Kernel, Tuning};
    static KEPT: std::sync::Once = std::sync::Once::new();
    let devices = test_support::wanted_devices(motion_search::opencl::devices(), |device| &device.name);
    KEPT.call_once(|| {
        let p = Parameters::new(16, 16, 16, Window::symmetric(1, 1).expect("a window"));
        for device in &devices {
            // What was built is dropped with the last search that is open on the device. CUDA, where the environment names it,
            // does not launch this kernel: then nothing is kept.
            std::mem::forget(OpenCl::new(device, Kernel::Reference, &Tuning::default(), &p));
        }
    });
    devices
}

//! Searches: every instruction set, kernel, device and split finds the vectors of the oracle, and what chooses between
//! them chooses as it says.

mod backend;
mod conversions;
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
mod paced;
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
mod types;

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

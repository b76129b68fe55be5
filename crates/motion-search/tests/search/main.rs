//! Searches: every instruction set, kernel, device and split finds the vectors of the oracle, and what chooses between
//! them chooses as it says.

mod backend;
mod costs;
mod group;
mod in_flight;
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

/// Every OpenCL device that is wanted.
#[cfg(feature = "opencl")]
fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    test_support::wanted_devices(motion_search::opencl::devices(), |device| &device.name)
}

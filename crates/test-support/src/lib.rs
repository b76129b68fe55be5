//! What the tests of this workspace share: hostile cases with a runner that compares every implementation with the
//! oracle, processes for tests that need one of their own, and with the feature `gstreamer` elements, pipelines and clips.

use std::sync::Once;

use motion_search::estimator::{Parameters, Window};

mod cases;
#[cfg(feature = "frames")]
mod cuts;
mod extent;
mod frames;
#[cfg(feature = "gstreamer")]
pub mod gstreamer;
pub mod misuse;
mod process;
mod quality;
mod runner;
mod scene;

pub use cases::{
    CONTENTS, Case, Content, cases, deep, deep_case, frames, hierarchical_cases, sub_sample_cases,
    three_step_cases,
};
#[cfg(feature = "frames")]
pub use cuts::CutSearch;
pub use extent::{Extent, some_of};
pub use frames::{Noise, deepened, eight_bits, in_memory_of, padded, reconstruct, stream, with_stride};
pub use misuse::{fails, panics};
pub use process::{in_own_process, program, test_name, with_environment, with_tuning_file};
pub use quality::ssim;
pub use runner::{Cut, check, check_each, check_in_flight, check_parts, check_session, check_stream};
pub use scene::Scene;

/// `devices`, of which there has to be one.
///
/// With `OPENCL_TEST_DEVICE` set those whose `name` holds its text, upper and lower case alike: on a machine with a GPU
/// beside a CPU device, one of them takes most of the time.
///
/// # Panics
/// If there is none.
pub fn wanted_devices<D>(mut devices: Vec<D>, name: impl Fn(&D) -> &str) -> Vec<D> {
    assert!(!devices.is_empty(), "no OpenCL device: install one, for instance the package pocl-opencl-icd");
    if let Ok(wanted) = std::env::var("OPENCL_TEST_DEVICE") {
        devices.retain(|device| name(device).to_lowercase().contains(&wanted.to_lowercase()));
        assert!(!devices.is_empty(), "no OpenCL device is called {wanted}");
    }
    devices
}

/// As [`wanted_devices`]. The smallest search, which `open` opens on each, is kept to the end of the process, and with it all that is
/// compiled for the device: even with its cache, PoCL takes a tenth of a second for each program. Where it cannot be opened, as
/// where the environment names CUDA, which does not launch all kernels, nothing is kept.
///
/// # Panics
/// As [`wanted_devices`].
pub fn kept_devices<D, O>(
    devices: Vec<D>,
    name: impl Fn(&D) -> &str,
    open: impl Fn(&D, &Parameters) -> O,
) -> Vec<D> {
    static KEPT: Once = Once::new();
    let devices = wanted_devices(devices, name);
    KEPT.call_once(|| {
        let smallest = Parameters::new(16, 16, 16, Window::symmetric(1, 1).expect("a window"));
        devices.iter().for_each(|device| std::mem::forget(open(device, &smallest)));
    });
    devices
}

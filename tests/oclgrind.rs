//! Small cases for every kernel and device: quick by themselves, and small enough for
//! `scripts/check-oclgrind`, which runs them on oclgrind's device to find races and bad addresses.
#![cfg(feature = "opencl")]
#![allow(missing_docs)]

mod common;

use common::{Case, Content, check, pictures};
use gstmotionestimate::estimator::{Border, Kernel, Metric, Parameters, Tuning, Window};
use gstmotionestimate::opencl::{OpenCl, devices};

#[test]
fn small_pictures_are_exact() {
    let devices = devices();
    assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
    // Lopsided windows, an odd number of candidates, one aligned and one misaligned block size,
    // a grid that fills no group.
    let sizes = [(16, 37, 18, Metric::Sad, Border::Extend), (12, 26, 13, Metric::Ssd, Border::Restrict)];
    for device in devices {
        for kernel in Kernel::OPENCL {
            for (block_size, width, height, metric, border) in sizes {
                let window = Window::new(-3, 1, -1, 1).unwrap();
                let parameters =
                    Parameters { metric, border, ..Parameters::new(width, height, block_size, window) };
                let (reference, current) = pictures(Content::Noise, width, height);
                // Batches of four jobs.
                let cost_bytes = Some(16 * parameters.grid().blocks() as u64);
                let tuning = Tuning { cost_bytes, ..Tuning::default() };
                let mut estimator = OpenCl::new(&device, kernel, &tuning, &parameters).unwrap();
                let name = format!("{kernel} {parameters:?}");
                check(&Case { name, parameters, reference, current }, &mut estimator);
            }
        }
    }
}

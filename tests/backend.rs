//! Which device and kernel a name opens, and what is said where it opens none.
#![allow(missing_docs)]

use gstmotionestimate::backend::{DeviceSelector, Opened, devices, open};
use gstmotionestimate::estimator::{Algorithm, Kernel, Parameters, SetupError, Tuning, Window};

fn parameters() -> Parameters {
    let window = Window::symmetric(4, 4).unwrap();
    Parameters::new(48, 32, 16, window)
}

fn opened(device: &str, kernel: Kernel) -> Result<Opened, SetupError> {
    open(&device.parse().unwrap(), kernel, &Tuning::default(), &parameters())
}

#[test]
fn native_is_listed_first_and_opens() {
    let devices = devices();
    assert_eq!((devices[0].selector.clone(), devices[0].kind), (DeviceSelector::Native, "native"));
    for kernel in Kernel::NATIVE {
        for device in ["native", "auto"] {
            let opened = opened(device, kernel).unwrap();
            assert_eq!((opened.estimator.kernel(), opened.fallback.is_none()), (kernel, true));
            // What a GPU has as well, `auto` takes there.
            let gpu = devices.iter().any(|device| device.kind == "gpu") && Kernel::OPENCL.contains(&kernel);
            assert_eq!(opened.estimator.device() == "native", device == "native" || !gpu, "{opened:?}");
        }
    }
    let opened = opened("native", Kernel::Auto).unwrap();
    assert!(Kernel::NATIVE.contains(&opened.estimator.kernel()) && opened.fallback.is_none());
}

#[test]
fn auto_opens_a_gpu_or_the_cpu() {
    let opened = opened("auto", Kernel::Auto).unwrap();
    assert!(opened.fallback.is_none(), "{opened:?}");
    let gpu = devices().iter().any(|device| device.kind == "gpu");
    assert_eq!(opened.estimator.device() != "native", gpu, "{opened:?}");
}

#[test]
fn native_refuses_opencl_kernels_with_advice() {
    for kernel in Kernel::OPENCL.into_iter().filter(|kernel| !Kernel::NATIVE.contains(kernel)) {
        let error = opened("native", kernel).unwrap_err();
        assert!(matches!(&error, SetupError::KernelUnsupported { kernel: k, .. } if *k == kernel), "{error}");
        assert!(error.to_string().contains("choose kernel auto"), "{error}");
    }
}

#[test]
fn a_kernel_of_the_other_algorithm_is_refused_by_every_device() {
    let algorithms = [Algorithm::Full, Algorithm::ThreeStep];
    for (algorithm, other) in [(algorithms[0], algorithms[1]), (algorithms[1], algorithms[0])] {
        let p = Parameters { algorithm, ..parameters() };
        for device in devices().into_iter().map(|device| device.selector).chain([DeviceSelector::Auto]) {
            open(&device, Kernel::Auto, &Tuning::default(), &p).unwrap();
            for kernel in Kernel::of(other) {
                let error = open(&device, *kernel, &Tuning::default(), &p).unwrap_err();
                assert!(matches!(error, SetupError::KernelUnsupported { .. }), "{error}");
                for right in Kernel::of(algorithm) {
                    assert!(error.to_string().contains(right.name()), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_device_that_is_missing_is_an_error_that_lists_those_there() {
    // An index that was listed once and is gone opens like one that never was.
    for wanted in ["no such device", "99:0", "0:99", "18446744073709551615:0"] {
        let error = opened(wanted, Kernel::Auto).unwrap_err();
        assert!(matches!(&error, SetupError::NoSuchDevice { wanted: w, .. } if w == wanted), "{error}");
        for device in devices() {
            assert!(error.to_string().contains(&device.selector.to_string()), "{error}");
        }
        let without = error.to_string().contains("this build is without OpenCL");
        assert_eq!(without, cfg!(not(feature = "opencl")), "{error}");
    }
}

#[test]
fn several_devices_that_are_not_there_are_errors() {
    let error = opened("native,nowhere", Kernel::Auto).unwrap_err();
    assert!(matches!(&error, SetupError::NoSuchDevice { wanted, .. } if wanted == "nowhere"), "{error}");
    for wanted in ["native,native", "native,auto", ","] {
        let error = opened(wanted, Kernel::Auto).unwrap_err();
        assert!(matches!(&error, SetupError::DeviceUnsupported { wanted: w, .. } if w == wanted), "{error}");
    }
    assert!(opened("all", Kernel::Auto).is_ok());
}

#[test]
fn wrong_parameters_are_errors_for_every_device() {
    for device in ["auto", "native", "gpu", "nowhere"] {
        for (block_size, width) in [(0, 48), (18, 48), (68, 48), (16, 0), (16, 40_000)] {
            let p = Parameters { block_size, width, ..parameters() };
            let error = open(&device.parse().unwrap(), Kernel::Auto, &Tuning::default(), &p).unwrap_err();
            let expected = match block_size {
                16 => matches!(error, SetupError::FrameSize { .. }),
                _ => matches!(error, SetupError::BlockSize(b) if b == block_size),
            };
            assert!(expected, "{device}: {error}");
        }
    }
}

#[test]
#[cfg(not(feature = "opencl"))]
fn without_opencl_a_kernel_asked_for_falls_back_and_says_so() {
    let opened = opened("auto", Kernel::Reference).unwrap();
    assert!(Kernel::NATIVE.contains(&opened.estimator.kernel()));
    let fallback = opened.fallback.unwrap().to_string();
    assert!(fallback.contains("this build is without OpenCL"), "{fallback}");
}

#[cfg(feature = "opencl")]
mod with_opencl {
    use super::*;

    #[test]
    fn every_listed_device_opens_by_index_and_name() {
        let listed = devices();
        assert!(listed.len() > 1, "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in &listed[1..] {
            let by_index = open(&device.selector, Kernel::Auto, &Tuning::default(), &parameters()).unwrap();
            assert_eq!(by_index.estimator.device(), device.name);
            assert_ne!(by_index.estimator.kernel(), Kernel::Auto);
            let native = Kernel::Exhaustive;
            let error = open(&device.selector, native, &Tuning::default(), &parameters()).unwrap_err();
            assert!(error.to_string().contains("choose kernel auto, or device native"), "{error}");
            let by_name = opened(&device.name.to_uppercase(), Kernel::Reference).unwrap();
            assert_eq!(by_name.estimator.kernel(), Kernel::Reference);
            let by_kind = opened(device.kind, Kernel::Auto).unwrap();
            assert!(listed.iter().any(|d| d.kind == device.kind && d.name == by_kind.estimator.device()));
        }
        for kind in ["gpu", "cpu", "accelerator"] {
            let there = listed.iter().any(|device| device.kind == kind);
            assert_eq!(opened(kind, Kernel::Auto).is_ok(), there, "{kind}");
        }
    }

    #[test]
    fn auto_takes_any_opencl_device_for_a_kernel_asked_for() {
        for kernel in Kernel::OPENCL {
            let opened = opened("auto", kernel).unwrap();
            assert_eq!(opened.estimator.kernel(), kernel);
            assert!(opened.fallback.is_none(), "{opened:?}");
        }
    }

    #[test]
    fn auto_does_not_hide_the_limit_of_reference_naive() {
        let window = Window::symmetric(400, 400).unwrap();
        let p = Parameters { width: 1000, height: 1000, window, ..parameters() };
        let error = open(&DeviceSelector::Auto, Kernel::ReferenceNaive, &Tuning::default(), &p).unwrap_err();
        assert!(matches!(error, SetupError::KernelUnsupported { .. }), "{error}");
    }

    #[test]
    fn without_a_driver_auto_is_native_and_says_so_where_it_matters() {
        if std::env::var_os("NO_DRIVER_EXPECTED").is_some() {
            let plain = opened("auto", Kernel::Auto).unwrap();
            assert_eq!((plain.estimator.device(), plain.fallback.is_none()), ("native", true));
            let asked = opened("auto", Kernel::Collaborative).unwrap();
            assert_eq!(asked.estimator.device(), "native");
            assert!(matches!(asked.fallback, Some(SetupError::KernelUnsupported { .. })), "{asked:?}");
            let error = opened("gpu", Kernel::Auto).unwrap_err().to_string();
            assert!(error.contains("there is no OpenCL device"), "{error}");
            return;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "with_opencl::without_a_driver_auto_is_native_and_says_so_where_it_matters"])
            .env("OCL_ICD_VENDORS", "/nonexistent/")
            .env("OPENCL_VENDOR_PATH", "/nonexistent/")
            .env("NO_DRIVER_EXPECTED", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && text.contains("1 passed"), "{text}");
    }
}

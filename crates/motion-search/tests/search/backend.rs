//! Which device and kernel a name opens, and what is said where it opens none.

use motion_search::backend::{DeviceSelector, Grouping, Opened, devices, open, open_device};
use motion_search::estimator::{Algorithm, Parameters, SetupError, Window};
use motion_search::tuning::{Kernel, Tuning};

fn parameters() -> Parameters {
    let window = Window::symmetric(4, 4).unwrap();
    Parameters::new(48, 32, 16, window)
}

fn opened(device: &str, kernel: Kernel) -> Result<Opened, SetupError> {
    open_device(&device.parse()?, kernel, &Tuning::default(), &parameters())
}

fn list(devices: &str) -> Result<(), SetupError> {
    let (kernel, tuning) = (Kernel::Auto, Tuning::default());
    open::<()>(&devices.parse()?, kernel, &tuning, Grouping::default(), &parameters()).map(drop)
}

#[test]
fn native_is_listed_first_and_opens() {
    let devices = devices();
    assert_eq!((devices[0].selector.clone(), devices[0].kind), (DeviceSelector::Native, "native"));
    for kernel in Kernel::NATIVE {
        for device in ["native", "auto"] {
            let (opened, choice) = opened(device, kernel).unwrap();
            assert_eq!((opened.info().kernel, choice.fallback.is_none()), (kernel.name(), true));
            // What a GPU has as well, `auto` takes there.
            let gpu = devices.iter().any(|device| device.kind == "gpu") && Kernel::OPENCL.contains(&kernel);
            assert_eq!(opened.info().name.as_ref() == "native", device == "native" || !gpu, "{choice:?}");
        }
    }
    let (opened, choice) = opened("native", Kernel::Auto).unwrap();
    assert!(
        Kernel::NATIVE.iter().any(|kernel| kernel.name() == opened.info().kernel)
            && choice.fallback.is_none()
    );
}

#[test]
fn auto_opens_a_gpu_or_the_cpu() {
    let (opened, choice) = opened("auto", Kernel::Auto).unwrap();
    assert!(choice.fallback.is_none(), "{choice:?}");
    let gpu = devices().iter().any(|device| device.kind == "gpu");
    assert_eq!(opened.info().name.as_ref() != "native", gpu, "{choice:?}");
}

#[test]
fn native_refuses_opencl_kernels_with_advice() {
    for kernel in Kernel::OPENCL.into_iter().filter(|kernel| !Kernel::NATIVE.contains(kernel)) {
        let error = opened("native", kernel).err().unwrap();
        assert!(
            matches!(&error, SetupError::KernelUnsupported { kernel: k, .. } if *k == kernel.name()),
            "{error}"
        );
        assert!(error.to_string().contains("choose kernel auto"), "{error}");
    }
}

#[test]
fn a_kernel_of_the_other_algorithm_is_refused_by_every_device() {
    let [full, three_step, hierarchical] = [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical];
    for (algorithm, other) in [(full, three_step), (three_step, hierarchical), (hierarchical, full)] {
        let p = Parameters { algorithm, ..parameters() };
        for device in devices().into_iter().map(|device| device.selector).chain([DeviceSelector::Auto]) {
            open_device(&device, Kernel::Auto, &Tuning::default(), &p).unwrap();
            for kernel in Kernel::of(other) {
                let error = open_device(&device, *kernel, &Tuning::default(), &p).err().unwrap();
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
        let error = opened(wanted, Kernel::Auto).err().unwrap();
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
    let error = list("native,nowhere").unwrap_err();
    assert!(matches!(&error, SetupError::NoSuchDevice { wanted, .. } if wanted == "nowhere"), "{error}");
    for wanted in ["native,native", "native,auto", ","] {
        let error = list(wanted).unwrap_err();
        assert!(matches!(&error, SetupError::DeviceUnsupported { wanted: w, .. } if w == wanted), "{error}");
    }
    assert!(list("all").is_ok());
}

#[test]
fn wrong_parameters_are_errors_for_every_device() {
    let nowhere = DeviceSelector::Name("nowhere".into());
    for device in [DeviceSelector::Auto, DeviceSelector::Native, DeviceSelector::Gpu, nowhere] {
        for (block_size, width) in [(0, 48), (18, 48), (68, 48), (16, 0), (16, 40_000)] {
            let p = Parameters { block_size, width, ..parameters() };
            let error = open_device(&device, Kernel::Auto, &Tuning::default(), &p).err().unwrap();
            let expected = match block_size {
                16 => matches!(error, SetupError::FrameSize { .. }),
                _ => matches!(error, SetupError::BlockSize { size, .. } if size == block_size),
            };
            assert!(expected, "{device}: {error}");
        }
    }
}

#[test]
#[cfg(not(feature = "opencl"))]
fn without_opencl_a_kernel_asked_for_falls_back_and_says_so() {
    let (opened, choice) = opened("auto", Kernel::Reference).unwrap();
    assert!(Kernel::NATIVE.iter().any(|kernel| kernel.name() == opened.info().kernel));
    let fallback = choice.fallback.unwrap().to_string();
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
            let (by_index, _) =
                open_device(&device.selector, Kernel::Auto, &Tuning::default(), &parameters()).unwrap();
            assert_eq!(*by_index.info().name, *device.name);
            assert_ne!(by_index.info().kernel, Kernel::Auto.name());
            let native = Kernel::Exhaustive;
            let error =
                open_device(&device.selector, native, &Tuning::default(), &parameters()).err().unwrap();
            assert!(error.to_string().contains("choose kernel auto, or device native"), "{error}");
            let (by_name, _) = opened(&device.name.to_uppercase(), Kernel::Reference).unwrap();
            assert_eq!(by_name.info().kernel, Kernel::Reference.name());
            let (by_kind, _) = opened(device.kind, Kernel::Auto).unwrap();
            assert!(listed.iter().any(|d| d.kind == device.kind && *d.name == *by_kind.info().name));
        }
        for kind in ["gpu", "cpu", "accelerator"] {
            let there = listed.iter().any(|device| device.kind == kind);
            assert_eq!(opened(kind, Kernel::Auto).is_ok(), there, "{kind}");
        }
    }

    #[test]
    fn auto_takes_any_opencl_device_for_a_kernel_asked_for() {
        for kernel in Kernel::OPENCL {
            let (opened, choice) = opened("auto", kernel).unwrap();
            assert_eq!(opened.info().kernel, kernel.name());
            assert!(choice.fallback.is_none(), "{choice:?}");
        }
    }

    #[test]
    fn auto_does_not_hide_the_limit_of_reference_naive() {
        let window = Window::symmetric(400, 400).unwrap();
        let p = Parameters { width: 1000, height: 1000, window, ..parameters() };
        let error =
            open_device(&DeviceSelector::Auto, Kernel::ReferenceNaive, &Tuning::default(), &p).err().unwrap();
        assert!(matches!(error, SetupError::KernelUnsupported { .. }), "{error}");
    }

    #[test]
    fn without_a_driver_auto_is_native_and_says_so_where_it_matters() {
        let nowhere = [("OCL_ICD_VENDORS", "/nonexistent/"), ("OPENCL_VENDOR_PATH", "/nonexistent/")];
        test_support::with_environment(nowhere, || {
            let (plain, choice) = opened("auto", Kernel::Auto).unwrap();
            assert_eq!((plain.info().name.as_ref(), choice.fallback.is_none()), ("native", true));
            let (asked, choice) = opened("auto", Kernel::Collaborative).unwrap();
            assert_eq!(asked.info().name.as_ref(), "native");
            assert!(matches!(choice.fallback, Some(SetupError::KernelUnsupported { .. })), "{choice:?}");
            let error = opened("gpu", Kernel::Auto).err().unwrap().to_string();
            assert!(error.contains("there is no OpenCL device"), "{error}");
        });
    }
}

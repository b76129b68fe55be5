//! Misuse of OpenCL devices, and of what chooses their kernels. See `misuse`.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use motion_search::backend::{self, DeviceSelector, Entry, Table, TuningWarning};
use motion_search::compilation;
use motion_search::estimator::{Algorithm, Device as _, EstimateError, SetupError, Slot};
use motion_search::opencl::{OpenCl, try_build};
use motion_search::tuning::{Kernel, Launch, Tuning};

use test_support::misuse::{frame, parameters};
use test_support::{fails, in_own_process, panics};

use crate::all_devices;
use crate::misuse::wrong_parameters;

#[test]
fn searches_on_devices() {
    let auto = Tuning::default();
    for device in all_devices() {
        for parameters in wrong_parameters() {
            assert!(OpenCl::new(&device, Kernel::Auto, &auto, &parameters).is_err(), "{parameters:?}");
        }
        for kernel in [Kernel::Exhaustive, Kernel::ThreeStep, Kernel::Hierarchical] {
            fails(kernel.name(), OpenCl::new(&device, kernel, &auto, &parameters()), |error| {
                matches!(error, SetupError::KernelUnsupported { .. })
            });
        }
        for tuning in [
            Tuning { group_size: Some(0), ..auto },
            Tuning { group_size: Some(usize::MAX), ..auto },
            Tuning { launch: Some(Launch::Queues(usize::MAX)), ..auto },
            Tuning { depth: Some(usize::MAX), ..auto },
        ] {
            let opened = OpenCl::new(&device, Kernel::Reference, &tuning, &parameters());
            fails(&format!("{tuning:?}"), opened, |error| {
                matches!(
                    error,
                    SetupError::Tuning { .. }
                        | SetupError::Count { .. }
                        | SetupError::KernelUnsupported { .. }
                )
            });
        }
        let mut no_memory = device.clone();
        no_memory.largest_buffer = 0;
        fails("no memory", OpenCl::new(&no_memory, Kernel::Reference, &auto, &parameters()), |error| {
            matches!(error, SetupError::Memory { .. })
        });

        let mut opened = OpenCl::new(&device, Kernel::Reference, &auto, &parameters()).unwrap();
        let far = Slot::new(usize::MAX);
        fails("load", opened.load_frame(far, &frame()), |e| matches!(e, EstimateError::NoSuchSlot(..)));
        assert!(matches!(opened.unload_frame(far), Ok(None)));
        fails("time", opened.time_searches(far, Slot::A, 1), |e| matches!(e, EstimateError::EmptySlot(_)));
        fails("time", opened.time_searches(Slot::A, Slot::B, 1), |e| {
            matches!(e, EstimateError::EmptySlot(0))
        });
        // No searches count as one.
        opened.load_frame(Slot::A, &frame()).unwrap();
        assert!(!opened.time_searches(Slot::A, Slot::A, 0).unwrap().is_zero());
        let memory = opened.info().memory.clone().unwrap();
        assert!(memory.allocate(usize::MAX).is_err());
        for source in ["no kernel", "__kernel void whole(void) {"] {
            fails(source, try_build(&device, source), |e| matches!(e, SetupError::KernelBuild { .. }));
        }
        panics("try_build", || try_build(&device, " \n"));
    }
}

#[test]
fn what_chooses_devices_and_kernels() {
    for name in ["missing", "9:9", "native", "all", "cpu,cpu"] {
        let found = name.parse().and_then(|device: DeviceSelector| backend::find_opencl(&device));
        fails(name, found, |error| matches!(error, SetupError::NoSuchDevice { .. }));
    }
    // The choice is between a GPU and the CPU only for a kernel that both have.
    for kernel in [Kernel::Exhaustive, Kernel::Tiled, Kernel::ThreeStepNaive] {
        assert!(!backend::prefers_opencl(kernel), "{kernel}");
    }

    for text in ["\u{0}", "entry = 1", "[[entry]]\n", "[[entry]]\nkernel = \"auto\"", "[[entry]\n"] {
        fails(text, Table::read(text), |error| error.line > 0 && !error.reason.is_empty());
    }
    // A table can express each number.
    let endless = Tuning { cost_bytes: Some(u64::MAX), run: Some(usize::MAX), ..Tuning::default() };
    let endless = [Entry { tuning: endless, kernel: Kernel::Tiled, ..Entry::default() }];
    assert!(Table::read(&Table::write(&endless)).unwrap().entries().eq(&endless));
    // An entry that no table may have is refused when it is read.
    let device = all_devices().swap_remove(0);
    let entry = Entry::of(&device, Kernel::Auto, Tuning::default());
    assert!(entry.is_for_device_of(&entry) && !entry.is_for_device_of(&Entry::default()));
    assert!(Table::read(&Table::write(&[entry])).is_err());
    let is_file = |error: &TuningWarning| matches!(error, TuningWarning::File { .. });
    fails("a folder", backend::read_file(&std::env::temp_dir()), is_file);
    fails("no name", backend::read_file(Path::new("\u{0}")), is_file);
    assert_eq!(backend::read_file(Path::new("")).unwrap().entries().count(), 0);
    assert!(Kernel::Tiled.check_algorithm(Algorithm::Hierarchical, "").is_err());
}

/// A process has one observer, and keeps what it has compiled.
#[test]
fn a_second_observer_of_compilations_changes_nothing() {
    in_own_process(|| {
        static TOLD: AtomicUsize = AtomicUsize::new(0);
        compilation::observe(|_| _ = TOLD.fetch_add(1, Ordering::Relaxed));
        compilation::observe(|compilation| panic!("the second observer was told of {compilation:?}"));
        for device in all_devices() {
            OpenCl::new(&device, Kernel::TwoPass, &Tuning::default(), &parameters()).unwrap();
        }
        assert!(TOLD.load(Ordering::Relaxed) > 0);
    });
}

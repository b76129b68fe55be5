//! Several searches in flight give the very vectors of one at a time, on every device.

use std::sync::Arc;
use std::thread;

use motion_search::backend::{self, AvailableDevice, DeviceSelector, Grouping};
use motion_search::estimator::{
    Algorithm, Device, EstimateError, Frame, Output, Parameters, Part, Prediction, Quality, Request,
    SampleFormat, SetupError, Slot, Window,
};
use motion_search::tuning::{Kernel, Tuning};
use test_support::{check_in_flight, check_stream, some_of, stream, wanted_devices};

/// The CPU, and the OpenCL devices that are wanted.
fn devices() -> Vec<AvailableDevice> {
    let mut devices = backend::devices();
    let opencl = devices.split_off(1);
    if !opencl.is_empty() {
        devices.extend(wanted_devices(opencl, |device| &device.name));
    }
    devices
}

fn parameters() -> Parameters {
    let window = Window::symmetric(5, 4).unwrap();
    Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) }
}

fn of(kernel: Kernel) -> Parameters {
    let is_full = kernel.check_algorithm(Algorithm::Full, "").is_ok();
    let algorithm = if is_full { Algorithm::Full } else { Algorithm::ThreeStep };
    Parameters { algorithm, ..parameters() }
}

fn open(device: &DeviceSelector, kernel: Kernel, tuning: &Tuning) -> Box<dyn Device> {
    backend::open_device(device, kernel, tuning, &of(kernel)).unwrap().0
}

#[test]
fn every_device_and_depth() {
    let frames = stream(61, 47, 12);
    for device in devices() {
        for depth in [1, 2, 4, 16] {
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let mut opened = open(&device.selector, Kernel::Auto, &tuning);
            assert_eq!(opened.info().depth, depth);
            check_in_flight(opened.as_mut(), &frames);
            // What was cancelled before does not show.
            check_in_flight(opened.as_mut(), &frames[3..]);
            let session = |grouping| {
                backend::open(&device.selector, Kernel::Auto, &tuning, grouping, &parameters()).unwrap().0
            };
            for on_failure in [backend::OnDeviceFailure::Native, backend::OnDeviceFailure::Error] {
                let mut session = session(Grouping { on_failure, ..Grouping::default() });
                check_stream(&mut session, &frames);
                check_stream(&mut session, &frames[3..]);
            }
        }
    }
}

/// Devices may search several pairs of frames together. With `high` both directions are searched.
#[test]
fn hierarchical_search() {
    let window = Window::symmetric(1, 1).unwrap();
    for device in devices() {
        let cases = [((75, 51), 9, 8, Quality::Fast), ((133, 71), 4, 4, Quality::High)];
        for ((width, height), depth, block_size, quality) in some_of(2, cases) {
            let frames = stream(width, height, 24);
            let parameters = Parameters {
                algorithm: Algorithm::Hierarchical,
                quality,
                ..Parameters::new(width, height, block_size, window)
            };
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let opened = backend::open_device(&device.selector, Kernel::Auto, &tuning, &parameters);
            let mut opened = opened.unwrap().0;
            check_in_flight(opened.as_mut(), &frames);
            // What was cancelled before does not show.
            check_in_flight(opened.as_mut(), &frames[3..]);
        }
    }
}

/// Deep samples in memory of the device, which takes the eight bits that are searched from them itself, and in other memory.
#[test]
fn hierarchical_search_of_deep_samples() {
    let (width, height) = (75, 51);
    let eight_bits = stream(width, height, 12);
    let parameters = Parameters {
        algorithm: Algorithm::Hierarchical,
        ..Parameters::new(width, height, 8, Window::symmetric(1, 1).unwrap())
    };
    for device in devices() {
        let tuning = Tuning { depth: Some(3), ..Tuning::default() };
        let mut opened =
            backend::open_device(&device.selector, Kernel::Auto, &tuning, &parameters).unwrap().0;
        for (depth, shift, [black, white]) in
            [(10, 6, [64, 940]), (12, 0, [0, 4095]), (16, 0, [7500, 40_000]), (9, 3, [511, 0])]
        {
            let format = SampleFormat::new(depth, shift).unwrap().with_levels(black, white);
            let deep = |frame: &Frame| {
                let view = frame.view();
                // Bits beside the sample do not count.
                let word = |sample: u8| (u16::from(sample) << (depth - 8) << shift) ^ 0x1357;
                let row = |y| view.row(y).iter().flat_map(|&sample| word(sample).to_le_bytes());
                let bytes: Vec<_> = (0..height).flat_map(row).collect();
                Frame::with_format(Arc::new(bytes), (width, height), 2 * width, format).unwrap()
            };
            check_in_flight(opened.as_mut(), &eight_bits.iter().map(deep).collect::<Vec<_>>());
        }
    }
}

#[test]
fn threads_of_its_own() {
    let frames = stream(61, 47, 5);
    for threads in [0, 1, 3] {
        let tuning = Tuning { depth: Some(2), threads: Some(threads), ..Tuning::default() };
        check_in_flight(open(&DeviceSelector::Native, Kernel::Auto, &tuning).as_mut(), &frames);
    }
}

#[cfg(feature = "opencl")]
#[test]
fn every_opencl_kernel_and_launch() {
    let frames = stream(61, 47, 8);
    let several = Tuning { depth: Some(3), ..Tuning::default() };
    for kernel in Kernel::OPENCL {
        check_in_flight(open(&DeviceSelector::Index(0, 0), kernel, &several).as_mut(), &frames);
    }
    let launch = Some(motion_search::tuning::Launch::Queues(3));
    let tuning = Tuning { launch, launches: Some(7), cost_bytes: Some(10_000), ..several };
    check_in_flight(open(&DeviceSelector::Index(0, 0), Kernel::Collaborative, &tuning).as_mut(), &frames);
}

/// Commands that run when a device is dropped, here or on another thread, write to no memory that is freed.
#[test]
fn a_device_may_be_dropped_with_searches_in_flight() {
    let frames = stream(61, 47, 5);
    for device in devices() {
        for round in 0..20 {
            let tuning = Tuning { depth: Some(4), ..Tuning::default() };
            let mut opened = open(&device.selector, Kernel::Auto, &tuning);
            for (index, frame) in frames.iter().enumerate() {
                opened.load_frame(Slot::new(index), frame).unwrap();
                if index > 0 {
                    let (current, reference) = (Slot::new(index), Slot::new(index - 1));
                    let part = Part::whole(&opened.info().parameters);
                    opened.start_search(Request { current, reference, part, offset: -1 }).unwrap();
                }
            }
            let memory = opened.info().memory.clone();
            if round % 2 == 0 {
                thread::spawn(move || drop(opened)).join().unwrap();
            } else {
                drop(opened);
            }
            // Memory of the device outlives it.
            if let Some(memory) = memory {
                let mut block = memory.allocate(100).unwrap();
                drop(memory);
                (*block).as_mut().fill(9);
                assert_eq!((*block).as_ref(), [9; 100]);
            }
        }
    }
}

#[test]
fn wrong_use_is_an_error_and_stops_nothing() {
    let frames = stream(61, 47, 3);
    for device in devices() {
        let tuning = Tuning { depth: Some(2), ..Tuning::default() };
        let mut opened = open(&device.selector, Kernel::Auto, &tuning);
        let part = Part::whole(&opened.info().parameters);
        let request = |current, reference| Request { current, reference, part, offset: -1 };
        let [a, b, c] = [0, 1, 2].map(Slot::new);
        assert!(matches!(opened.load_frame(Slot::new(3), &frames[0]), Err(EstimateError::NoSuchSlot(_))));
        assert!(matches!(opened.unload_frame(Slot::new(3)), Ok(None)));
        assert!(matches!(opened.start_search(request(a, b)), Err(EstimateError::EmptySlot(0))));
        for (slot, frame) in [a, b, c].into_iter().zip(&frames) {
            opened.load_frame(slot, frame).unwrap();
        }
        assert!(matches!(opened.start_search(request(a, Slot::new(9))), Err(EstimateError::EmptySlot(_))));
        let ticket = opened.start_search(request(b, a)).unwrap();
        let blocks = opened.info().parameters.grid().blocks();
        let short = opened.finish_search(ticket, &mut Output::new(blocks - 1));
        assert!(matches!(short, Err(EstimateError::FieldSize(..))));
        opened.finish_search(ticket, &mut Output::new(blocks)).unwrap();
        let again = opened.finish_search(ticket, &mut Output::new(blocks));
        assert!(matches!(again, Err(EstimateError::NothingInFlight)));
        assert_eq!(opened.unload_frame(b).unwrap().as_ref(), Some(&frames[1]));
    }
    for depth in [0, 17] {
        let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
        let refused = backend::open_device(&DeviceSelector::Native, Kernel::Auto, &tuning, &parameters());
        assert!(matches!(refused.err(), Some(SetupError::Count { .. })));
    }
}

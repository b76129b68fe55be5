//! Several searches in flight give the very vectors of one at a time, on every device.
#![allow(missing_docs)]

mod common;

use std::thread;

use common::{check_in_flight, stream};
use gstmotionestimate::backend::{self, DeviceSelector};
use gstmotionestimate::estimator::{
    Algorithm, EstimateError, Estimator, Kernel, MotionVector, Parameters, Prediction, SetupError, Slot,
    Tuning, Window,
};
#[cfg(feature = "opencl")]
use gstmotionestimate::estimator::{Frame, FrameView, HostBlock};

fn parameters() -> Parameters {
    let window = Window::symmetric(5, 4).unwrap();
    Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) }
}

fn open(device: &DeviceSelector, kernel: Kernel, tuning: &Tuning) -> Box<dyn Estimator> {
    let algorithm = if kernel.check_algorithm(Algorithm::Full, "").is_ok() {
        Algorithm::Full
    } else {
        Algorithm::ThreeStep
    };
    let parameters = Parameters { algorithm, ..parameters() };
    backend::open(device, kernel, tuning, &parameters).unwrap().estimator
}

#[test]
fn every_device_and_depth() {
    let frames = stream(61, 47, 12);
    for device in backend::devices() {
        for depth in [1, 2, 4, 16] {
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let mut estimator = open(&device.selector, Kernel::Auto, &tuning);
            assert_eq!(estimator.depth(), depth);
            check_in_flight(estimator.as_mut(), &frames);
            // What was given up before does not show.
            check_in_flight(estimator.as_mut(), &frames[3..]);
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
    let launch = Some(gstmotionestimate::estimator::Launch::Queues(3));
    let tuning = Tuning { launch, launches: Some(7), cost_bytes: Some(10_000), ..several };
    check_in_flight(open(&DeviceSelector::Index(0, 0), Kernel::Collaborative, &tuning).as_mut(), &frames);
}

/// What runs when an estimator goes, or moves, writes to no memory that has gone with it.
#[test]
fn an_estimator_may_go_with_searches_in_flight() {
    let frames = stream(61, 47, 5);
    for device in backend::devices() {
        for round in 0..20 {
            let tuning = Tuning { depth: Some(4), ..Tuning::default() };
            let mut estimator = open(&device.selector, Kernel::Auto, &tuning);
            for (index, frame) in frames.iter().enumerate() {
                estimator.load(Slot::new(index), &frame.view()).unwrap();
                if index > 0 {
                    estimator.begin(Slot::new(index), Slot::new(index - 1)).unwrap();
                }
            }
            let memory = estimator.host_memory();
            if round % 2 == 0 {
                thread::spawn(move || drop(estimator)).join().unwrap();
            } else {
                drop(estimator);
            }
            // Memory of its device outlives it.
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
    for device in backend::devices() {
        let tuning = Tuning { depth: Some(2), ..Tuning::default() };
        let mut estimator = open(&device.selector, Kernel::Auto, &tuning);
        let [a, b, c] = [0, 1, 2].map(Slot::new);
        let view = frames[0].view();
        assert!(matches!(estimator.load(Slot::new(3), &view), Err(EstimateError::NoSuchSlot(_))));
        assert!(matches!(estimator.unload(Slot::new(3)), Ok(None)));
        assert!(matches!(estimator.begin(a, b), Err(EstimateError::EmptySlot(s)) if s == a));
        for (slot, frame) in [a, b, c].into_iter().zip(&frames) {
            estimator.load(slot, &frame.view()).unwrap();
        }
        assert!(matches!(estimator.begin(a, Slot::new(9)), Err(EstimateError::EmptySlot(_))));
        estimator.begin(b, a).unwrap();
        let mut vectors = vec![MotionVector::default(); estimator.parameters().grid().blocks()];
        assert!(matches!(estimator.finish(&mut vectors[1..]), Err(EstimateError::FieldSize(..))));
        assert_eq!(estimator.in_flight(), 1);
        estimator.finish(&mut vectors).unwrap();
        assert_eq!(estimator.unload(b).unwrap().as_ref(), Some(&frames[1]));
    }
    for depth in [0, 17] {
        let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
        let refused = backend::open(&DeviceSelector::Native, Kernel::Auto, &tuning, &parameters());
        assert!(matches!(refused, Err(SetupError::Tuning { .. })));
    }
}

/// What takes the place of a device that fails gets its frames from the host's memory.
#[cfg(feature = "opencl")]
#[test]
fn frames_are_salvaged_from_the_hosts_memory() {
    let frames = stream(61, 47, 3);
    let zero = DeviceSelector::Index(0, 0);
    for stride in [61, 80] {
        let mut estimator = open(&zero, Kernel::Auto, &Tuning::default());
        let mut block = estimator.host_memory().expect("OpenCL has it").allocate(7 + stride * 47).unwrap();
        let write = |block: &mut dyn HostBlock, frame: &Frame| {
            let rows = block.as_mut()[7..].chunks_mut(stride);
            rows.zip(0..47).for_each(|(row, y)| row[..61].copy_from_slice(frame.view().row(y)));
        };
        assert!(estimator.salvage(Slot::A).is_none() && !estimator.needs_samples(Slot::A));
        // Nothing is kept before it is asked for.
        estimator.load(Slot::A, &frames[1].view()).unwrap();
        assert!(estimator.salvage(Slot::A).is_none());
        assert!(estimator.keep_frames());
        let mut vectors = vec![MotionVector::default(); parameters().grid().blocks()];
        for copies in [false, true] {
            estimator.load(Slot::A, &frames[1].view()).unwrap();
            write(block.as_mut(), &frames[2]);
            let shared = FrameView::new(&(*block).as_ref()[7..], 61, 47, stride).unwrap();
            estimator.load_shared(Slot::B, &shared).unwrap();
            estimator.begin(Slot::B, Slot::A).unwrap();
            assert_eq!(estimator.salvage(Slot::A).as_ref(), Some(&frames[1]));
            assert_eq!(estimator.salvage(Slot::B).as_ref(), Some(&frames[2]));
            estimator.finish(&mut vectors).unwrap();
            assert!(estimator.needs_samples(Slot::B) && !estimator.needs_samples(Slot::A));
            if copies {
                estimator.copy_samples(Slot::B);
                estimator.copy_samples(Slot::A);
                assert!(!estimator.needs_samples(Slot::B));
                (*block).as_mut().fill(9);
            }
            assert_eq!(estimator.salvage(Slot::A).as_ref(), Some(&frames[1]));
            assert_eq!(estimator.salvage(Slot::B).as_ref(), Some(&frames[2]));
        }
        // Whoever gives up searches promises nothing for the samples.
        let shared = FrameView::new(&(*block).as_ref()[7..], 61, 47, stride).unwrap();
        estimator.load_shared(Slot::A, &shared).unwrap();
        estimator.cancel();
        assert!(estimator.salvage(Slot::A).is_none());
        assert_eq!(estimator.salvage(Slot::B).as_ref(), Some(&frames[2]));
        // Nor is a part of a frame one.
        estimator.load_rows(Slot::B, &frames[0].view(), 8..24).unwrap();
        assert!(estimator.salvage(Slot::B).is_none());
    }
}

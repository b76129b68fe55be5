//! Sessions that search each frame in several others: fields, uploads, and failures.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use motion_search::estimator::{
    Algorithm, Device, DeviceInfo, EstimateError, Frame, MotionVector, Notice, Output, Parameters,
    Prediction, References, Request, SetupError, Slot, Ticket, Window, oracle,
};
use motion_search::native::Native;
use motion_search::session::{Balance, FrameSlot, Options, Session, Split, WeightedDevice};
use test_support::{some_of, stream};

const BOTH: References = References { backward: 3, forward: 2 };

fn parameters(references: References) -> Parameters {
    let window = Window::symmetric(5, 4).unwrap();
    Parameters { prediction: Prediction::Median, references, ..Parameters::new(61, 47, 8, window) }
}

/// Frames, and the fields that the oracle has found for them, by current and reference frame: the sessions of a test find
/// the same ones.
struct Stream {
    frames: Vec<Frame>,
    fields: HashMap<(usize, usize), Vec<MotionVector>>,
}

impl Stream {
    fn new(count: usize) -> Self {
        Self { frames: stream(61, 47, count), fields: HashMap::new() }
    }

    /// Searches each frame in its references that are among them, in the order of the element, and checks every field.
    fn check(&mut self, session: &mut Session<(usize, usize)>, name: &str) {
        let Self { frames, fields } = self;
        let parameters = session.parameters().clone();
        let References { backward, forward } = parameters.references;
        let most_begun = backward + forward;
        let mut found = 0;
        let mut finish = |session: &mut Session<(usize, usize)>| {
            let ((current, reference), output) = session.finish_search().expect(name);
            let expected = fields.entry((current, reference)).or_insert_with(|| {
                oracle::search(&parameters, &frames[current].view(), &frames[reference].view()).vectors
            });
            assert_eq!(output.vectors[..], expected[..], "{current} in {reference}, {name}");
            found += 1;
        };
        let mut slots: Vec<FrameSlot> = Vec::new();
        for (newest, frame) in frames.iter().enumerate() {
            while session.in_flight() + most_begun > session.depth() {
                finish(session);
            }
            slots.push(session.add_frame(frame.clone()).expect(name));
            for distance in 1..=backward.min(newest) {
                let reference = newest - distance;
                session.start_search(slots[newest], slots[reference], (newest, reference)).expect(name);
            }
            for distance in 1..=forward.min(newest) {
                let current = newest - distance;
                session.start_search(slots[current], slots[newest], (current, newest)).expect(name);
            }
            if let Some(oldest) = newest.checked_sub(parameters.references.reach()) {
                session.release_frame(slots[oldest]);
            }
        }
        while session.in_flight() > 0 {
            finish(session);
        }
        let of_distance = |distance: usize| frames.len() - distance;
        let expected = (1..=backward).chain(1..=forward).map(of_distance).sum::<usize>();
        assert_eq!(found, expected, "{name}");
    }
}

/// A native device that counts the frames that it loads, and may fail.
struct CountingDevice {
    info: DeviceInfo,
    native: Native,
    loads: Arc<AtomicUsize>,
    /// Searches until it fails for good.
    left: usize,
}

impl CountingDevice {
    fn new(parameters: &Parameters, depth: usize, can_fail: bool, left: usize) -> (Self, Arc<AtomicUsize>) {
        let native = Native::new(parameters.clone()).unwrap().with_depth(depth).unwrap();
        let info = DeviceInfo { can_fail, ..native.info().clone() };
        let loads = Arc::new(AtomicUsize::new(0));
        (Self { info, native, loads: loads.clone(), left }, loads)
    }
}

impl Device for CountingDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.native.load_frame(slot, frame)
    }

    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        self.native.unload_frame(slot)
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        self.native.start_search(request)
    }

    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        self.native.finish_search(ticket, output)?;
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| EstimateError::Device { device: "counting".into(), message: "injected".into() })?;
        Ok(())
    }

    fn cancel(&mut self) {
        self.native.cancel();
    }
}

#[test]
fn a_device_loads_each_frame_once() {
    for algorithm in some_of(2, [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical]) {
        let mut stream = Stream::new(12);
        for references in [References::default(), References { backward: 4, forward: 4 }, BOTH] {
            let parameters = Parameters { algorithm, ..parameters(references) };
            // A device that may fail has its thread.
            for (depth, can_fail) in some_of(3, [(1, false), (4, false), (1, true), (4, true)]) {
                let (device, loads) = CountingDevice::new(&parameters, depth, can_fail, usize::MAX);
                let device: Box<dyn Device> = Box::new(device);
                let mut session =
                    Session::new(&parameters, depth, vec![device.into()], Options::default()).unwrap();
                let name = format!("{references:?} {algorithm:?} depth {depth}");
                stream.check(&mut session, &name);
                assert_eq!(loads.load(Ordering::Relaxed), stream.frames.len(), "{name}");
            }
        }
    }
}

#[test]
fn devices_with_fixed_shares_load_each_frame_once() {
    let mut stream = Stream::new(12);
    for references in [References { backward: 0, forward: 3 }, BOTH] {
        let parameters = parameters(references);
        for depth in [1, 3] {
            let (devices, loads): (Vec<_>, Vec<_>) = [1.0, 2.0]
                .map(|weight| {
                    let (device, loads) = CountingDevice::new(&parameters, depth, false, usize::MAX);
                    (WeightedDevice { device: Box::new(device), weight }, loads)
                })
                .into_iter()
                .unzip();
            let options = Options { balance: Balance::Static, ..Options::default() };
            let mut session = Session::new(&parameters, depth, devices, options).unwrap();
            stream.check(&mut session, &format!("{references:?} depth {depth}"));
            for loads in loads {
                assert_eq!(
                    loads.load(Ordering::Relaxed),
                    stream.frames.len(),
                    "{references:?} depth {depth}"
                );
            }
        }
    }
}

#[test]
fn every_split_finds_the_same_fields() {
    let mut stream = Stream::new(10);
    for references in [References { backward: 0, forward: 3 }, BOTH] {
        let parameters = parameters(references);
        for split in [Split::Rows, Split::Candidates, Split::Frames] {
            for depth in [1, 3] {
                let device = |_| {
                    let (device, _) = CountingDevice::new(&parameters, depth, true, usize::MAX);
                    WeightedDevice::from(Box::new(device) as Box<dyn Device>)
                };
                let options = Options { split, ..Options::default() };
                let devices = (0..3).map(device).collect();
                let mut session = Session::new(&parameters, depth, devices, options).unwrap();
                stream.check(&mut session, &format!("{references:?} {split:?} depth {depth}"));
            }
        }
    }
}

#[test]
fn no_field_is_lost_when_a_device_fails() {
    let mut stream = Stream::new(10);
    for references in [References { backward: 0, forward: 3 }, BOTH] {
        let parameters = parameters(references);
        for depth in [1, 3] {
            for left in some_of(5, 0..12) {
                for is_alone in [false, true] {
                    let (device, _) = CountingDevice::new(&parameters, depth, true, left);
                    let native = || Native::new(parameters.clone())?.with_depth(depth);
                    let boxed = |native: Native| Box::new(native) as Box<dyn Device>;
                    let mut devices = vec![WeightedDevice::from(Box::new(device) as Box<dyn Device>)];
                    // With other shares the device might get nothing to do, and not fail.
                    let mut options = Options { balance: Balance::Static, ..Options::default() };
                    if is_alone {
                        let parameters = parameters.clone();
                        options.fallback = Some(Box::new(move || {
                            let native = Native::new(parameters.clone())?.with_depth(depth)?;
                            Ok(Box::new(native))
                        }));
                    } else {
                        devices.push(boxed(native().unwrap()).into());
                    }
                    let mut session = Session::new(&parameters, depth, devices, options).unwrap();
                    let name = format!("{references:?} depth {depth} after {left}, alone: {is_alone}");
                    stream.check(&mut session, &name);
                    let notices = session.take_notices();
                    let failures = notices.iter().filter(|notice| matches!(notice, Notice::Failure(_)));
                    assert_eq!(failures.count(), 1, "{name}");
                }
            }
        }
    }
}

#[test]
fn references_that_cannot_be_are_refused() {
    for (backward, forward) in [(0, 0), (5, 0), (1, 5)] {
        let error = Native::new(parameters(References { backward, forward })).expect_err("an error");
        assert!(matches!(error, SetupError::References { .. }), "{error}");
        assert!(error.to_string().contains("at most 4 each way"), "{error}");
    }
}

/// The devices' histories are those of an offset: fields of streams with cuts and little motion stay right.
#[cfg(feature = "opencl")]
#[test]
fn elimination_on_every_device_finds_the_same_fields() {
    use motion_search::backend::{self, DeviceSelector};
    use motion_search::tuning::{Kernel, Tuning};
    let mut stream = Stream::new(10);
    let parameters = parameters(BOTH);
    for device in [DeviceSelector::Native, DeviceSelector::Index(0, 0)] {
        for depth in [1, 3] {
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let opened =
                backend::open(&device, Kernel::Elimination, &tuning, Default::default(), &parameters);
            stream.check(&mut opened.unwrap().0, &format!("{device} depth {depth}"));
        }
    }
}

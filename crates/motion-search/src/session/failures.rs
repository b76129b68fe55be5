//! Sessions whose devices fail at every point of a frame's way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::estimator::prediction::median_predictors;
use crate::estimator::{Prediction, Request, Slot, Ticket, Window, oracle};
use crate::native::Native;

/// Where a device fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Load,
    Begin,
    Finish,
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Error,
    Panic,
    Hang,
    /// It answers after it was evicted.
    Late,
}

/// A native device that passes a point `left` times and then fails there for good.
struct Faulty {
    info: DeviceInfo,
    native: Native,
    point: Point,
    fault: Fault,
    left: usize,
    /// Set once a late device may answer.
    is_over: Arc<AtomicBool>,
}

const PATIENCE: Duration = Duration::from_millis(300);
const NEVER: usize = usize::MAX;

impl Faulty {
    fn pass(&mut self, point: Point) -> Result<(), EstimateError> {
        if point != self.point {
            return Ok(());
        }
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Ok(());
        }
        match self.fault {
            Fault::Error => {
                Err(EstimateError::Device { device: "faulty".into(), message: "injected".into() })
            }
            Fault::Panic => std::panic::resume_unwind(Box::new("injected")),
            Fault::Late => {
                while !self.is_over.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            }
            Fault::Hang => loop {
                thread::park();
            },
        }
    }
}

impl Device for Faulty {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.pass(Point::Load)?;
        self.native.load_frame(slot, frame)
    }

    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        self.native.unload_frame(slot)
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        self.pass(Point::Begin)?;
        self.native.start_search(request)
    }

    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        let passed = self.pass(Point::Finish);
        self.native.finish_search(ticket, output)?;
        if passed.is_err() {
            output.vectors.fill(MotionVector::default());
        }
        passed
    }

    fn cancel(&mut self) {
        self.native.cancel();
    }
}

fn parameters() -> Parameters {
    let window = Window::symmetric(5, 4).unwrap();
    Parameters { prediction: Prediction::Median, ..Parameters::new(61, 67, 8, window) }
}

fn native(depth: usize) -> Box<dyn Device> {
    Box::new(Native::new(parameters()).unwrap().with_depth(depth).unwrap())
}

fn faulty(point: Point, fault: Fault, left: usize, depth: usize) -> Box<dyn Device> {
    faulty_until(Arc::default(), point, fault, left, depth)
}

fn faulty_until(
    is_over: Arc<AtomicBool>,
    point: Point,
    fault: Fault,
    left: usize,
    depth: usize,
) -> Box<dyn Device> {
    let native = Native::new(parameters()).unwrap().with_depth(depth).unwrap();
    let name = "faulty".into();
    let info = DeviceInfo { name, can_fail: true, can_hang: true, ..native.info().clone() };
    Box::new(Faulty { info, native, point, fault, left, is_over })
}

fn fallback(depth: usize) -> Option<Fallback> {
    Some(Box::new(move || Ok(native(depth))))
}

fn frame(time: usize) -> Frame {
    Frame::from_fn(61, 67, |x, y| (((x + time) * 37) ^ ((y + 2 * time) * 101)) as u8)
}

/// A session whose payloads are the numbers of the frames.
fn session(
    devices: Vec<Box<dyn Device>>,
    depth: usize,
    split: Split,
    fallback: Option<Fallback>,
) -> Session<usize> {
    let options =
        Options { split, patience: PATIENCE, fallback, balance: Balance::Static, ..Options::default() };
    let devices = devices.into_iter().map(WeightedDevice::from).collect();
    Session::new(&parameters(), depth, devices, options).unwrap()
}

/// Finishes a search and compares it with the oracle, with its predictors.
fn finish_and_check(session: &mut Session<usize>, case: &str) -> usize {
    let (time, output) = session.finish_search().unwrap_or_else(|error| panic!("{case}: {error}"));
    let (current, reference) = (frame(time), frame(time - 1));
    let expected = oracle::search(&parameters(), &current.view(), &reference.view());
    assert_eq!(output.vectors[..], expected.vectors, "frame {time} of {case}");
    let predictors = median_predictors(expected.grid, &expected.vectors);
    assert_eq!(output.predictors.as_deref(), Some(&predictors[..]), "frame {time} of {case}");
    time
}

/// Runs `count` frames through `session`, with as many searches in flight as possible.
fn check(session: &mut Session<usize>, count: usize, case: &str) {
    let mut finished = 0;
    let mut reference = None;
    for time in 0..count {
        let current = session.add_frame(frame(time)).unwrap_or_else(|error| panic!("{case}: {error}"));
        if let Some(reference) = reference {
            session.start_search(current, reference, time).unwrap_or_else(|error| panic!("{case}: {error}"));
        }
        reference = Some(current);
        if session.in_flight() == session.depth() {
            finished += 1;
            assert_eq!(finish_and_check(session, case), finished);
        }
    }
    while session.in_flight() > 0 {
        finished += 1;
        assert_eq!(finish_and_check(session, case), finished);
    }
    assert_eq!(finished, count - 1);
}

fn failures<T>(session: &mut Session<T>) -> Vec<String> {
    let failure = |notice| match notice {
        Notice::Failure(text) => Some(text),
        Notice::Balance(_) | Notice::Split(_) => None,
    };
    session.take_notices().into_iter().filter_map(failure).collect()
}

#[test]
fn no_frame_is_lost_wherever_a_device_fails() {
    // In parallel, because most of it is waiting.
    thread::scope(|scope| {
        for point in [Point::Load, Point::Begin, Point::Finish] {
            for fault in [Fault::Error, Fault::Panic, Fault::Hang, Fault::Late] {
                scope.spawn(move || nothing_is_lost_if_one_of_two_fails(point, fault));
            }
        }
    });
}

fn nothing_is_lost_if_one_of_two_fails(point: Point, fault: Fault) {
    for (split, depth, after) in
        [(Split::Rows, 1, 0), (Split::Rows, 3, 2), (Split::Candidates, 2, 3), (Split::Frames, 4, 1)]
    {
        let case = format!("{point:?} {fault:?} {split:?} depth {depth} after {after}");
        let is_over: Arc<AtomicBool> = Arc::default();
        let devices = vec![faulty_until(is_over.clone(), point, fault, after, depth), native(depth)];
        let mut session = session(devices, depth, split, None);
        check(&mut session, 9, &case);
        // The answer of an evicted device changes nothing.
        is_over.store(true, Ordering::Relaxed);
        check(&mut session, 5, &case);
        let failures = failures(&mut session);
        assert_eq!(failures.len(), 1, "{case}: {failures:?}");
        let reason = match fault {
            Fault::Error => "faulty: injected",
            Fault::Panic => "panicked: injected",
            // Longer than its patience if its jobs took long on a loaded machine.
            Fault::Hang | Fault::Late => "no answer for ",
        };
        assert!(failures[0].contains(reason) && failures[0].contains("continuing on native"), "{failures:?}");
        assert_eq!(session.device(), "native");
        let shares = session.shares();
        assert!(shares[0].is_out && !shares[1].is_out);
    }
}

#[test]
fn the_devices_that_are_left_do_everything() {
    let devices = vec![
        faulty(Point::Finish, Fault::Error, 1, 2),
        faulty(Point::Begin, Fault::Panic, 3, 2),
        native(2),
        faulty(Point::Load, Fault::Hang, 3, 2),
    ];
    let mut session = session(devices, 2, Split::Rows, None);
    check(&mut session, 12, "three of four");
    assert_eq!(failures(&mut session).len(), 3);
}

#[test]
fn the_fallback_replaces_the_last_device() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    for devices in 1..3 {
        MADE.store(0, Ordering::Relaxed);
        let fallback: Fallback = Box::new(|| {
            MADE.fetch_add(1, Ordering::Relaxed);
            Ok(native(2))
        });
        let devices = (0..devices).map(|_| faulty(Point::Finish, Fault::Hang, 2, 2)).collect();
        let mut session = session(devices, 2, Split::Rows, Some(fallback));
        check(&mut session, 9, "the last");
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
        assert!(failures(&mut session).last().unwrap().contains("continuing on native"));
        assert_eq!(session.device(), "native");
    }
}

#[test]
fn no_frame_is_lost_if_the_only_device_fails() {
    for depth in [1, 2, 4] {
        for point in [Point::Load, Point::Begin, Point::Finish] {
            for fault in [Fault::Error, Fault::Panic] {
                for left in 0..8 {
                    let case = format!("{point:?} {fault:?} after {left} at depth {depth}");
                    let devices = vec![faulty(point, fault, left, depth)];
                    let mut session = session(devices, depth, Split::Rows, fallback(depth));
                    check(&mut session, 9, &case);
                    assert_eq!(session.device(), "native", "{case}");
                    let failures = failures(&mut session);
                    assert_eq!(failures.len(), 1, "{case}: {failures:?}");
                    assert!(failures[0].contains("injected"), "{failures:?}");
                    assert!(!session.keeps_frames(), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_device_that_is_well_stays() {
    for depth in [1, 4] {
        let devices = vec![faulty(Point::Load, Fault::Error, NEVER, depth)];
        let mut session = session(devices, depth, Split::Rows, fallback(depth));
        check(&mut session, 9, "well");
        assert_eq!(session.take_notices(), []);
        assert_eq!(session.device(), "faulty");
        assert!(session.keeps_frames());
    }
}

/// Frames that the session does not need go at once, and those that it keeps when they are released.
#[test]
fn frames_are_kept_only_if_a_device_may_fail() {
    for (devices, fallback, depth, kept) in [
        (vec![native(1)], fallback(1), 1, 0),
        (vec![native(3)], fallback(3), 3, 0),
        (vec![faulty(Point::Load, Fault::Error, NEVER, 1)], None, 1, 0),
        (vec![faulty(Point::Load, Fault::Error, NEVER, 1)], fallback(1), 1, 2),
        (vec![native(1), native(1)], None, 1, 2),
    ] {
        let mut session = session(devices, depth, Split::Rows, fallback);
        check(&mut session, 9, "frames are kept");
        let held = session.slots.iter().filter(|slot| slot.frame.is_some()).count();
        assert_eq!(held, kept);
        session.release_frame(FrameSlot(0));
        assert!(session.slots[0].frame.is_none());
        session.release_frames();
        assert!(session.slots.iter().all(|slot| slot.frame.is_none()));
        check(&mut session, 4, "after frames were released");
    }
}

#[test]
fn the_reference_frame_moves_to_another_session() {
    for devices in
        [vec![native(1)], vec![faulty(Point::Load, Fault::Error, NEVER, 1)], vec![native(1), native(1)]]
    {
        let mut one = session(devices, 1, Split::Rows, None);
        let slot = one.add_frame(frame(3)).unwrap();
        assert!(matches!(one.unload_frame(FrameSlot(1)), Ok(None)));
        let moved = one.unload_frame(slot).unwrap().unwrap();
        assert_eq!(moved, frame(3));
        let mut other = session(vec![native(1)], 1, Split::Rows, None);
        let (reference, current) = (other.add_frame(moved).unwrap(), other.add_frame(frame(4)).unwrap());
        other.start_search(current, reference, 4).unwrap();
        finish_and_check(&mut other, "another session");
    }
}

#[test]
fn the_last_failure_is_an_error_without_a_fallback() {
    let broken = || -> Fallback {
        Box::new(|| Err(SetupError::Device { device: "native".into(), message: "no room".into() }))
    };
    for (has_fallback, text) in [(false, "injected"), (true, "no room")] {
        for depth in [1, 2] {
            let devices = vec![faulty(Point::Finish, Fault::Error, 0, depth)];
            let mut session = session(devices, depth, Split::Rows, has_fallback.then(broken));
            let slots = [0, 1].map(|time| session.add_frame(frame(time)).unwrap());
            session.start_search(slots[1], slots[0], 1).unwrap();
            let error = session.finish_search().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
            assert_eq!(session.in_flight(), 0);
            assert!(session.start_search(slots[1], slots[0], 1).is_err());
        }
    }
}

#[test]
fn a_session_goes_on_after_cancelling_though_a_device_hangs() {
    let devices = vec![faulty(Point::Finish, Fault::Hang, 0, 2), native(2)];
    let mut session = session(devices, 2, Split::Rows, None);
    let slots = [0, 1].map(|time| session.add_frame(frame(time)).unwrap());
    session.start_search(slots[1], slots[0], 1).unwrap();
    session.cancel();
    assert_eq!(session.in_flight(), 0);
    check(&mut session, 5, "after it was cancelled");
}

/// The reference need not be the frame before: it stays on the device while other frames are searched in it.
#[test]
fn a_reference_is_searched_again_and_again() {
    for depth in [1, 2] {
        // Each frame is loaded once: the device fails at one load more.
        let devices = vec![faulty(Point::Load, Fault::Error, 8, depth)];
        let mut session = session(devices, depth, Split::Rows, None);
        session.load_frame(FrameSlot(0), frame(0)).unwrap();
        for time in 1..8 {
            session.load_frame(FrameSlot(1), frame(time)).unwrap();
            session.start_search(FrameSlot(1), FrameSlot(0), time).unwrap();
            let (_, output) = session.finish_search().unwrap();
            let expected = oracle::search(session.parameters(), &frame(time).view(), &frame(0).view());
            assert_eq!(output.vectors[..], expected.vectors);
        }
    }
    let mut session = session(vec![native(1)], 1, Split::Rows, None);
    session.load_frame(FrameSlot(0), frame(0)).unwrap();
    for time in 1..4 {
        session.load_frame(FrameSlot(1), frame(time)).unwrap();
        session.start_search(FrameSlot(1), FrameSlot(0), time).unwrap();
        session.finish_search().unwrap();
    }
}

#[test]
fn wrong_use_is_an_error_and_no_failure() {
    for devices in [vec![native(2)], vec![faulty(Point::Load, Fault::Error, NEVER, 2)]] {
        let mut session = session(devices, 2, Split::Rows, None);
        let [a, b, c] = [0, 1, 2].map(FrameSlot);
        assert!(matches!(session.load_frame(FrameSlot(3), frame(0)), Err(EstimateError::NoSuchSlot(_))));
        let small = Frame::from_fn(60, 67, |_, _| 0);
        assert!(matches!(session.load_frame(a, small), Err(EstimateError::FrameSize(60, 67, 61, 67))));
        assert!(matches!(session.start_search(a, b, 0), Err(EstimateError::EmptySlot(s)) if s == a.0));
        for (time, slot) in [a, b, c].into_iter().enumerate() {
            session.load_frame(slot, frame(time)).unwrap();
        }
        session.start_search(b, a, 1).unwrap();
        session.start_search(c, b, 2).unwrap();
        assert!(matches!(session.start_search(c, b, 3), Err(EstimateError::InFlight(2))));
        assert!(matches!(session.load_frame(a, frame(9)), Err(EstimateError::SlotInUse(_))));
        assert!(matches!(session.add_frame(frame(9)), Err(EstimateError::InFlight(2))));
        assert_eq!(
            [finish_and_check(&mut session, "wrong use"), finish_and_check(&mut session, "wrong use")],
            [1, 2]
        );
        assert!(matches!(session.finish_search(), Err(EstimateError::NothingInFlight)));
        assert_eq!(failures(&mut session), Vec::<String>::new());
    }
}

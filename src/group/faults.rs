//! Groups whose devices fail at every point of a frame's way.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::estimator::prediction::median_predictors;
use crate::estimator::{FrameBuf, FrameView, Predictor, Slot, Window, oracle};
use crate::native::Native;

/// Where a device fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Load,
    Begin,
    Finish,
    Unload,
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Error,
    Panic,
    Hang,
    /// It answers after all, long after it was given up.
    Late,
}

/// A native estimator that fails at a point of the frame of this number, counted at that point.
struct Faulty {
    native: Native,
    point: Point,
    fault: Fault,
    left: AtomicUsize,
    /// What it was given, where it keeps that.
    kept: Option<HashMap<Slot, FrameBuf>>,
}

const PATIENCE: Duration = Duration::from_millis(300);

impl Faulty {
    fn pass(&self, point: Point) -> Result<(), EstimateError> {
        if point != self.point || self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            return Ok(());
        }
        match self.fault {
            Fault::Error => {
                Err(EstimateError::Device { device: "faulty".into(), message: "injected".into() })
            }
            Fault::Panic => std::panic::resume_unwind(Box::new("injected")),
            Fault::Late => {
                // Its first search may take six times as long as those after it.
                thread::sleep(7 * PATIENCE);
                Ok(())
            }
            Fault::Hang => loop {
                thread::park();
            },
        }
    }
}

impl Estimator for Faulty {
    fn parameters(&self) -> &Parameters {
        self.native.parameters()
    }

    fn device(&self) -> &str {
        "faulty"
    }

    fn kernel(&self) -> Kernel {
        self.native.kernel()
    }

    fn depth(&self) -> usize {
        self.native.depth()
    }

    fn in_flight(&self) -> usize {
        self.native.in_flight()
    }

    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        if let Some(kept) = &mut self.kept {
            kept.remove(&slot);
        }
        self.pass(Point::Load)?;
        self.native.load(slot, frame)?;
        if let (Some(kept), Some(frame)) = (&mut self.kept, self.native.unload(slot)?) {
            kept.insert(slot, frame);
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        self.pass(Point::Unload)?;
        self.native.unload(slot)
    }

    fn keep_frames(&mut self) -> bool {
        self.kept.is_some()
    }

    fn salvage(&mut self, slot: Slot) -> Option<FrameBuf> {
        self.kept.as_ref()?.get(&slot).cloned()
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        self.pass(Point::Begin)?;
        self.native.begin_part(current, reference, part)
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        self.pass(Point::Finish)?;
        self.native.finish(vectors)
    }

    fn cancel(&mut self) {
        self.native.cancel();
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        self.native.predict(predictors)
    }

    fn stage_times(&self) -> StageTimes {
        self.native.stage_times()
    }
}

fn parameters(prediction: Prediction) -> Parameters {
    Parameters { prediction, ..Parameters::new(61, 67, 8, Window::symmetric(5, 4).unwrap()) }
}

fn native(depth: usize) -> Native {
    Native::new(parameters(Prediction::None)).unwrap().with_depth(depth).unwrap()
}

fn faulty(point: Point, fault: Fault, after: usize, depth: usize) -> Device {
    let estimator = Faulty { native: native(depth), point, fault, left: AtomicUsize::new(after), kept: None };
    Device { estimator: Box::new(estimator), weight: 1.0 }
}

/// The same with one in flight, where it keeps what it is given.
fn faulty_that_keeps(point: Point, fault: Fault, after: usize) -> Device {
    let (native, left) = (native(1), AtomicUsize::new(after));
    let estimator = Faulty { native, point, fault, left, kept: Some(HashMap::new()) };
    Device { estimator: Box::new(estimator), weight: 1.0 }
}

fn frame(time: usize) -> FrameBuf {
    FrameBuf::from_fn(61, 67, |x, y| (((x + time) * 37) ^ ((y + 2 * time) * 101)) as u8)
}

fn group(devices: Vec<Device>, depth: usize, split: Split, fallback: Option<Fallback>) -> Group {
    let options = Options { split, patience: PATIENCE, fallback, balance: Balance::Static };
    Group::new(&parameters(Prediction::Median), depth, devices, options).unwrap()
}

/// Runs `count` frames through `group` with as many in flight as may be: each field is the oracle's,
/// and so are its predictors.
fn check(group: &mut Group, count: usize, who: &str) {
    let parameters = group.parameters().clone();
    let (depth, grid) = (group.depth(), parameters.grid());
    let mut vectors = vec![MotionVector::default(); grid.blocks()];
    let mut predictors = vec![Predictor::default(); grid.blocks()];
    let slot = |time: usize| Slot::new(time % (depth + 1));
    let mut finish = |group: &mut Group, time: usize| {
        group.finish(&mut vectors).unwrap_or_else(|error| panic!("{who}: {error}"));
        group.predict(&mut predictors).unwrap();
        let expected = oracle::search(&parameters, &frame(time).view(), &frame(time - 1).view());
        assert_eq!(vectors, expected.vectors, "frame {time} of {who}");
        assert_eq!(predictors, median_predictors(grid, &expected.vectors), "frame {time} of {who}");
    };
    let mut next = 1;
    for time in 0..count {
        group.load(slot(time), &frame(time).view()).unwrap();
        if time > 0 {
            group.begin(slot(time), slot(time - 1)).unwrap_or_else(|error| panic!("{who}: {error}"));
        }
        if group.in_flight() == depth {
            finish(group, next);
            next += 1;
        }
    }
    while group.in_flight() > 0 {
        finish(group, next);
        next += 1;
    }
    assert_eq!(next, count);
}

fn failures(group: &mut Group) -> Vec<String> {
    let failure = |notice| match notice {
        Notice::Failure(text) => Some(text),
        Notice::Balance(_) => None,
    };
    group.take_notices().into_iter().filter_map(failure).collect()
}

#[test]
fn no_frame_is_lost_wherever_a_device_fails() {
    // At once, as most of it is waiting.
    thread::scope(|scope| {
        for point in [Point::Load, Point::Begin, Point::Finish] {
            for fault in [Fault::Error, Fault::Panic, Fault::Hang, Fault::Late] {
                scope.spawn(move || nothing_is_lost_where_a_device_fails(point, fault));
            }
        }
    });
}

fn nothing_is_lost_where_a_device_fails(point: Point, fault: Fault) {
    for (split, depth, after) in [
        (Split::Rows, 1, 0),
        (Split::Rows, 3, 2),
        (Split::Candidates, 2, 3),
        (Split::Frames, 1, 1),
        (Split::Frames, 4, 1),
    ] {
        let who = format!("{point:?} {fault:?} {split:?} depth {depth} after {after}");
        let well = Device { estimator: Box::new(native(depth)), weight: 1.0 };
        let mut group = group(vec![faulty(point, fault, after, depth), well], depth, split, None);
        check(&mut group, 9, &who);
        let told = failures(&mut group);
        assert_eq!(told.len(), 1, "{who}: {told:?}");
        let reason = match fault {
            Fault::Error => "faulty: injected",
            Fault::Panic => "panicked: injected",
            // Longer than its patience where its frames took long on a machine with other work.
            Fault::Hang | Fault::Late => "no answer for ",
        };
        assert!(told[0].contains(reason) && told[0].contains("native goes on"), "{told:?}");
        assert_eq!(group.device(), "native");
        let mut shares = Vec::new();
        group.shares(&mut shares);
        assert!(shares[0].is_out && !shares[1].is_out);
    }
}

#[test]
fn who_is_left_does_everything() {
    let devices = vec![
        faulty(Point::Finish, Fault::Error, 1, 2),
        faulty(Point::Begin, Fault::Panic, 3, 2),
        Device { estimator: Box::new(native(2)), weight: 0.1 },
        faulty(Point::Load, Fault::Hang, 3, 2),
    ];
    let mut group = group(devices, 2, Split::Rows, None);
    check(&mut group, 12, "three of four");
    assert_eq!(failures(&mut group).len(), 3);
}

#[test]
fn another_takes_the_place_of_the_last() {
    for devices in 1..3 {
        let made = Arc::new(AtomicUsize::new(0));
        let count = made.clone();
        let fallback: Fallback = Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(native(2)))
        });
        let devices = (0..devices).map(|_| faulty(Point::Finish, Fault::Hang, 2, 2)).collect();
        let mut group = group(devices, 2, Split::Rows, Some(fallback));
        check(&mut group, 9, "the last");
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert!(failures(&mut group).last().unwrap().contains("native goes on"));
        assert_eq!(group.device(), "native");
    }
}

#[test]
fn no_frame_is_lost_where_a_device_that_is_asked_directly_fails() {
    for point in [Point::Load, Point::Begin, Point::Finish, Point::Unload] {
        for fault in [Fault::Error, Fault::Panic] {
            for after in 0..4 {
                let who = format!("{point:?} {fault:?} after {after}");
                let fallback: Fallback = Box::new(|| Ok(Box::new(native(1))));
                let devices = vec![faulty_that_keeps(point, fault, after)];
                let mut group = group(devices, 1, Split::Rows, Some(fallback));
                // The first two frames go by its thread.
                check(&mut group, 4, &who);
                // As where others help again.
                group.ask_by_threads().unwrap_or_else(|error| panic!("{who}: {error}"));
                check(&mut group, 4, &who);
                // Two frames are unloaded there.
                if point == Point::Unload && after > 1 {
                    continue;
                }
                let told = failures(&mut group);
                assert_eq!(told.len(), 1, "{who}: {told:?}");
                assert!(told[0].contains("injected") && told[0].contains("native goes on"), "{told:?}");
                assert_eq!(group.device(), "native");
            }
        }
    }
}

#[test]
fn who_may_fail_has_its_thread_where_several_are_in_flight() {
    const NEVER: usize = usize::MAX / 2;
    let mut several = group(vec![faulty(Point::Load, Fault::Error, NEVER, 2)], 2, Split::Rows, None);
    check(&mut several, 5, "several");
    assert!(several.straight.is_none());
    let mut one = group(vec![faulty_that_keeps(Point::Load, Fault::Error, NEVER)], 1, Split::Rows, None);
    check(&mut one, 5, "one");
    assert!(one.straight.is_some());
}

#[test]
fn the_last_failure_is_an_error_where_nothing_takes_its_place() {
    let broken: Fallback =
        Box::new(|| Err(SetupError::Device { device: "native".into(), message: "no room".into() }));
    for (fallback, text) in [(None, "injected"), (Some(broken), "no room")] {
        let mut group = group(vec![faulty(Point::Finish, Fault::Error, 0, 2)], 2, Split::Rows, fallback);
        for time in 0..2 {
            group.load(Slot::new(time), &frame(time).view()).unwrap();
        }
        group.begin(Slot::B, Slot::A).unwrap();
        let mut vectors = vec![MotionVector::default(); group.parameters().grid().blocks()];
        let error = group.finish(&mut vectors).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(group.in_flight(), 0);
        assert!(matches!(group.predict(&mut []), Err(EstimateError::NoField)));
        assert!(group.begin(Slot::B, Slot::A).is_err());
    }
}

#[test]
fn a_group_goes_though_a_device_hangs() {
    let devices = vec![
        faulty(Point::Finish, Fault::Hang, 0, 2),
        Device { estimator: Box::new(native(2)), weight: 1.0 },
    ];
    let mut group = group(devices, 2, Split::Rows, None);
    for time in 0..2 {
        group.load(Slot::new(time), &frame(time).view()).unwrap();
    }
    group.begin(Slot::B, Slot::A).unwrap();
    group.cancel();
    assert_eq!(group.in_flight(), 0);
    check(&mut group, 5, "after it was given up");
}

/// What takes longer than the patience is waited for where it is known to take long.
#[test]
fn who_is_slow_is_not_taken_for_lost() {
    struct Slow(Native);

    impl Estimator for Slow {
        fn parameters(&self) -> &Parameters {
            self.0.parameters()
        }

        fn device(&self) -> &str {
            "slow"
        }

        fn kernel(&self) -> Kernel {
            self.0.kernel()
        }

        fn depth(&self) -> usize {
            self.0.depth()
        }

        fn in_flight(&self) -> usize {
            self.0.in_flight()
        }

        fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
            self.0.load(slot, frame)
        }

        fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
            self.0.unload(slot)
        }

        fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
            self.0.begin_part(current, reference, part)
        }

        fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
            self.0.finish(vectors)?;
            // Longer each time; but for what is known of it, too long in the end.
            thread::sleep(Duration::from_millis(10));
            thread::sleep(SLOWNESS.load(Ordering::Relaxed) as u32 * Duration::from_millis(50));
            SLOWNESS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn cancel(&mut self) {
            self.0.cancel();
        }

        fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
            self.0.predict(predictors)
        }

        fn stage_times(&self) -> StageTimes {
            self.0.stage_times()
        }
    }

    static SLOWNESS: AtomicUsize = AtomicUsize::new(0);
    // Far less than what a search comes to take, and more than the first.
    let options = Options { patience: PATIENCE, ..Options::default() };
    let device = Device { estimator: Box::new(Slow(native(1))), weight: 1.0 };
    let mut group = Group::new(&parameters(Prediction::Median), 1, vec![device], options).unwrap();
    check(&mut group, 9, "slow");
    assert_eq!(failures(&mut group), Vec::<String>::new());
}

#[test]
fn the_first_search_may_take_long_where_there_is_much_to_do() {
    let window = Window::symmetric(64, 64).unwrap();
    let parameters = Parameters::new(256, 256, 16, window);
    let native = Native::new(parameters.clone()).unwrap();
    let (reports, _) = channel();
    let member = Member::start(0, 0, Box::new(native), reports).unwrap();
    // 256 · 256 · 129 · 129 absolute differences at 0.1 G a second.
    let differences = (256 * 256 * 129 * 129) as f64;
    assert_eq!(member.allowed(PATIENCE, differences).as_millis(), 10905);
}

//! Devices that fail at every point of a frame's way.

use std::collections::HashMap;

use super::*;
use crate::estimator::prediction::median_predictors;
use crate::estimator::{Prediction, SetupError, Window, oracle};
use crate::native::Native;

/// Where a device fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Load,
    Begin,
    Finish,
    Unload,
}

/// A native estimator that fails at a point, for good, when it was passed so many times. It keeps what
/// it was given, and reads every other frame where it lies.
struct Faulty {
    native: Native,
    point: Point,
    left: usize,
    kept: HashMap<Slot, FrameBuf>,
    lent: Vec<Slot>,
}

impl Faulty {
    fn pass(&mut self, point: Point) -> Result<(), EstimateError> {
        if point == self.point {
            match self.left.checked_sub(1) {
                Some(left) => self.left = left,
                None => return Err(failure("injected")),
            }
        }
        Ok(())
    }
}

fn failure(message: &str) -> EstimateError {
    EstimateError::Device { device: "faulty".into(), message: message.into() }
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
        self.kept.remove(&slot);
        self.lent.retain(|&lent| lent != slot);
        self.pass(Point::Load)?;
        let samples = (0..frame.height()).flat_map(|y| frame.row(y)).copied().collect();
        let kept = FrameBuf::new(samples, frame.width(), frame.height());
        self.kept.insert(slot, kept.unwrap());
        self.native.load(slot, frame)
    }

    fn load_shared(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load(slot, frame)?;
        if slot.index().is_multiple_of(2) {
            self.lent.push(slot);
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        self.pass(Point::Unload)?;
        self.native.unload(slot)
    }

    fn keep_frames(&mut self) -> bool {
        true
    }

    fn needs_samples(&self, slot: Slot) -> bool {
        self.lent.contains(&slot)
    }

    fn salvage(&mut self, slot: Slot) -> Option<FrameBuf> {
        self.kept.get(&slot).cloned()
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        self.pass(Point::Begin)?;
        self.native.begin_part(current, reference, part)
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        let passed = self.pass(Point::Finish);
        self.native.finish(vectors)?;
        if passed.is_err() {
            vectors.fill(MotionVector::default());
        }
        passed
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

fn parameters() -> Parameters {
    let prediction = Prediction::Median;
    Parameters { prediction, ..Parameters::new(61, 47, 8, Window::symmetric(5, 4).unwrap()) }
}

fn native(depth: usize) -> Native {
    Native::new(parameters()).unwrap().with_depth(depth).unwrap()
}

fn faulty(point: Point, left: usize, depth: usize) -> Box<Faulty> {
    Box::new(Faulty { native: native(depth), point, left, kept: HashMap::new(), lent: Vec::new() })
}

fn standby(point: Point, left: usize, depth: usize) -> Box<dyn Estimator> {
    Standby::behind(faulty(point, left, depth), Box::new(move || Ok(Box::new(native(depth)))))
}

fn frame(time: usize) -> FrameBuf {
    FrameBuf::from_fn(61, 47, |x, y| (((x + time) * 37) ^ ((y + 2 * time) * 101)) as u8)
}

/// Runs `count` frames through `estimator` with as many in flight as may be: each field is the
/// oracle's, and so are its predictors.
fn check(estimator: &mut dyn Estimator, count: usize, who: &str) {
    let parameters = estimator.parameters().clone();
    let (depth, grid) = (estimator.depth(), parameters.grid());
    let mut vectors = vec![MotionVector::default(); grid.blocks()];
    let mut predictors = vec![Predictor::default(); grid.blocks()];
    let slot = |time: usize| Slot::new(time % (depth + 1));
    let mut finish = |estimator: &mut dyn Estimator, time: usize| {
        estimator.finish(&mut vectors).unwrap_or_else(|error| panic!("{who}: {error}"));
        estimator.predict(&mut predictors).unwrap();
        let expected = oracle::search(&parameters, &frame(time).view(), &frame(time - 1).view());
        assert_eq!(vectors, expected.vectors, "frame {time} of {who}");
        assert_eq!(predictors, median_predictors(grid, &expected.vectors), "frame {time} of {who}");
    };
    let mut next = 1;
    for time in 0..count {
        estimator.load_shared(slot(time), &frame(time).view()).unwrap_or_else(|e| panic!("{who}: {e}"));
        if time > 0 {
            estimator.begin(slot(time), slot(time - 1)).unwrap_or_else(|error| panic!("{who}: {error}"));
        }
        if estimator.in_flight() == depth {
            finish(estimator, next);
            next += 1;
        }
    }
    while estimator.in_flight() > 0 {
        finish(estimator, next);
        next += 1;
    }
    assert_eq!(next, count);
}

#[test]
fn no_frame_is_lost_wherever_the_device_fails() {
    for depth in [1, 2, 4] {
        for point in [Point::Load, Point::Begin, Point::Finish] {
            for left in 0..8 {
                let who = format!("{point:?} after {left} at depth {depth}");
                let mut standby = standby(point, left, depth);
                check(standby.as_mut(), 9, &who);
                assert_eq!(standby.device(), "native", "{who}");
                let told = standby.take_notices();
                let text = "faulty failed: injected. native goes on".to_string();
                assert_eq!(told, [Notice::Failure(text)], "{who}");
                assert!(!standby.needs_samples(Slot::A));
            }
        }
    }
}

#[test]
fn nothing_is_told_of_a_device_that_is_well() {
    let mut standby = standby(Point::Load, 100, 4);
    check(standby.as_mut(), 9, "well");
    assert_eq!(standby.take_notices(), []);
    assert_eq!(standby.device(), "faulty");
    assert!(standby.needs_samples(Slot::new(4)) && !standby.needs_samples(Slot::new(3)));
}

#[test]
fn the_reference_moves_though_the_device_fails() {
    let mut standby = standby(Point::Unload, 0, 1);
    standby.load_shared(Slot::A, &frame(3).view()).unwrap();
    assert_eq!(standby.unload(Slot::A).unwrap(), Some(frame(3)));
    assert_eq!(standby.device(), "native");
}

/// Their memory may hold something else by now.
#[test]
fn frames_that_were_needed_no_longer_are_not_salvaged() {
    let mut standby = standby(Point::Begin, 0, 2);
    for time in 0..3 {
        standby.load_shared(Slot::new(time), &frame(time).view()).unwrap();
    }
    // Slot 0 was lent, slot 1 kept, slot 2 is the newest.
    standby.begin(Slot::new(2), Slot::new(1)).unwrap();
    assert!(matches!(standby.begin(Slot::new(1), Slot::new(0)), Err(EstimateError::EmptySlot(Slot::A))));
}

#[test]
fn wrong_use_is_no_failure_and_gives_nothing_up() {
    let mut standby = standby(Point::Finish, 100, 1);
    for time in 0..2 {
        standby.load(Slot::new(time), &frame(time).view()).unwrap();
    }
    standby.begin(Slot::B, Slot::A).unwrap();
    assert!(matches!(standby.begin(Slot::B, Slot::A), Err(EstimateError::InFlight(1))));
    assert!(matches!(standby.finish(&mut []), Err(EstimateError::FieldSize(..))));
    let mut vectors = vec![MotionVector::default(); parameters().grid().blocks()];
    standby.finish(&mut vectors).unwrap();
    assert!(matches!(standby.finish(&mut vectors), Err(EstimateError::NothingInFlight)));
    assert_eq!(standby.device(), "faulty");
}

#[test]
fn a_failure_is_an_error_where_nothing_takes_over() {
    let broken: Fallback =
        Box::new(|| Err(SetupError::Device { device: "native".into(), message: "no room".into() }));
    let mut standby = Standby::behind(faulty(Point::Finish, 0, 1), broken);
    for time in 0..2 {
        standby.load(Slot::new(time), &frame(time).view()).unwrap();
    }
    standby.begin(Slot::B, Slot::A).unwrap();
    let mut vectors = vec![MotionVector::default(); parameters().grid().blocks()];
    let error = standby.finish(&mut vectors).unwrap_err().to_string();
    assert!(error.contains("injected") && error.contains("no room"), "{error}");
    standby.cancel();
    assert_eq!(standby.in_flight(), 0);
}

#[test]
fn the_cpu_has_nothing_behind_it() {
    let estimator = Standby::behind(Box::new(native(1)), Box::new(|| unreachable!("it does not fail")));
    assert!(!estimator.needs_samples(Slot::A));
    assert_eq!(estimator.device(), "native");
}

//! Which frame is searched for which: the current one and the one before it.

use super::pool::{Pool, Pooled};
use crate::estimator::{
    EstimateError, Estimator, FrameView, MotionVector, Notice, Prediction, Predictor, Slot,
};

/// Finds the motion from each frame to the one before, uploading each once.
///
/// Frames are submitted, and what is found in them is finished in the same order: at once, or when
/// as many searches as the estimator allows are in flight.
pub struct Tracker {
    estimator: Box<dyn Estimator>,
    /// Where the next frame goes.
    next: usize,
    /// Where the frame before is, if it is to be searched.
    reference: Option<Slot>,
    vectors: Pool<MotionVector>,
    /// Where vectors are predicted.
    predictors: Option<Pool<Predictor>>,
}

/// What is found in a frame: one record a block, `rows × columns`, row-major.
pub struct Found {
    pub vectors: Pooled<MotionVector>,
    /// Where the parameters ask for prediction.
    pub predictors: Option<Pooled<Predictor>>,
    /// Which of several devices found each row of blocks; empty where one found all, or where that
    /// cannot be said by rows.
    pub row_devices: Vec<u8>,
    /// Whether the frame's memory must not be written to before the next is finished, the reference
    /// of which it is.
    pub needs_samples: bool,
}

impl Tracker {
    /// A tracker that has seen no frame.
    pub fn new(estimator: Box<dyn Estimator>) -> Self {
        let blocks = estimator.parameters().grid().blocks();
        let is_predicting = estimator.parameters().prediction != Prediction::None;
        let predictors = is_predicting.then(|| Pool::new(blocks));
        Self { estimator, next: 0, reference: None, vectors: Pool::new(blocks), predictors }
    }

    /// What does the work.
    pub fn estimator(&self) -> &dyn Estimator {
        self.estimator.as_ref()
    }

    /// What the estimator has to tell.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.estimator.take_notices()
    }

    /// Forgets the reference: the next frame will have no vectors.
    pub fn forget(&mut self) {
        self.reference = None;
    }

    /// Gives up all searches in flight, and forgets the reference. Nothing reads the frames'
    /// memory any more when it returns.
    pub fn cancel(&mut self) {
        self.forget();
        self.estimator.cancel();
    }

    /// Takes `frame` as current frame; it is the next reference. Returns whether a search for it
    /// has begun: not where there is no reference. Then its memory must not be written to before
    /// it is finished; else it is free.
    ///
    /// # Errors
    /// What the estimator reports, [`EstimateError::InFlight`] where as many searches as it allows
    /// are in flight. There is no reference after an error, and what is in flight still is.
    pub fn submit(&mut self, frame: &FrameView<'_>) -> Result<bool, EstimateError> {
        let reference = self.reference.take();
        let in_flight = self.estimator.in_flight();
        if in_flight == self.estimator.depth() {
            return Err(EstimateError::InFlight(in_flight));
        }
        let current = Slot::new(self.next);
        match reference {
            Some(reference) => {
                self.estimator.load_shared(current, frame)?;
                self.estimator.begin(current, reference)?;
            }
            None => self.estimator.load(current, frame)?,
        }
        self.reference = Some(current);
        self.next = (self.next + 1) % (self.estimator.depth() + 1);
        Ok(reference.is_some())
    }

    /// What is found in the frame that was submitted first of those in flight. Its memory is free
    /// then, but where [`Found::needs_samples`] says otherwise, which it does only if it `may_need` it.
    ///
    /// # Errors
    /// What the estimator reports. All searches are given up after an error, and there is no
    /// reference.
    pub fn finish(&mut self, may_need: bool) -> Result<Found, EstimateError> {
        let found = self.finish_oldest(may_need);
        if found.is_err() {
            self.cancel();
        }
        found
    }

    /// Lets the memory of all frames that are not in flight be written to.
    pub fn copy_samples(&mut self) {
        let (slots, in_flight) = (self.estimator.depth() + 1, self.estimator.in_flight());
        for age in in_flight + 1..=slots {
            self.estimator.copy_samples(self.slot_of_age(age));
        }
    }

    /// The slot of the frame that was loaded last (1), before it (2), and so on.
    fn slot_of_age(&self, age: usize) -> Slot {
        let slots = self.estimator.depth() + 1;
        Slot::new((self.next + slots - age) % slots)
    }

    fn finish_oldest(&mut self, may_need: bool) -> Result<Found, EstimateError> {
        let current = self.slot_of_age(self.estimator.in_flight());
        let mut vectors = self.vectors.take();
        self.estimator.finish(&mut vectors)?;
        let mut predictors = self.predictors.as_ref().map(Pool::take);
        if let Some(predictors) = &mut predictors {
            self.estimator.predict(predictors)?;
        }
        let mut row_devices = Vec::new();
        self.estimator.row_devices(&mut row_devices);
        if !may_need {
            self.estimator.copy_samples(current);
        }
        let needs_samples = self.estimator.needs_samples(current);
        Ok(Found { vectors, predictors, row_devices, needs_samples })
    }

    /// The same frames, searched by `estimator` from now on: the reference moves to it. What is
    /// in flight is given up.
    ///
    /// # Errors
    /// What either estimator reports, and [`EstimateError::FrameSize`] where `estimator` is
    /// for frames of another size.
    pub fn with_estimator(mut self, estimator: Box<dyn Estimator>) -> Result<Self, EstimateError> {
        let mut tracker = Self::new(estimator);
        if let Some(reference) = self.reference
            && let Some(reference) = self.estimator.unload(reference)?
        {
            tracker.submit(&reference.view())?;
        }
        Ok(tracker)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::estimator::prediction::median_predictors;
    use crate::estimator::{FrameBuf, Kernel, Parameters, Part, StageTimes, Window, oracle};
    use crate::native::Native;

    fn parameters(block_size: usize, range: i32) -> Parameters {
        let window = Window::symmetric(range, range).unwrap();
        Parameters::new(37, 21, block_size, window)
    }

    fn frame(time: usize) -> FrameBuf {
        FrameBuf::from_fn(37, 21, |x, y| (((x + time) * 37) ^ ((y + 2 * time) * 101)) as u8)
    }

    fn native(depth: usize) -> Box<dyn Estimator> {
        Box::new(Native::new(parameters(8, 5)).unwrap().with_depth(depth).unwrap())
    }

    fn check_found(tracker: &Tracker, found: &Found, current: usize, reference: usize) {
        let (current, reference) = (frame(current), frame(reference));
        let expected =
            oracle::full_search(tracker.estimator().parameters(), &current.view(), &reference.view());
        assert_eq!(found.vectors[..], expected.vectors[..]);
        let predicted = median_predictors(expected.grid, &expected.vectors);
        let is_predicting = tracker.estimator().parameters().prediction == Prediction::Median;
        assert_eq!(found.predictors.as_deref(), is_predicting.then_some(&predicted[..]));
    }

    fn check(tracker: &mut Tracker, current: usize, reference: usize) {
        assert!(tracker.submit(&frame(current).view()).unwrap(), "there is a reference");
        let found = tracker.finish(true).unwrap();
        check_found(tracker, &found, current, reference);
    }

    #[test]
    fn every_frame_is_compared_with_the_one_before() {
        let mut tracker = Tracker::new(native(1));
        assert!(!tracker.submit(&frame(0).view()).unwrap());
        check(&mut tracker, 1, 0);
        check(&mut tracker, 3, 1);
        tracker.forget();
        assert!(!tracker.submit(&frame(4).view()).unwrap());
        check(&mut tracker, 5, 4);
    }

    #[test]
    fn several_in_flight_come_back_in_order() {
        for depth in [1, 2, 4, 16] {
            let mut tracker = Tracker::new(native(depth));
            tracker.submit(&frame(0).view()).unwrap();
            let mut finished = 0;
            for time in 1..40 {
                assert!(tracker.submit(&frame(time).view()).unwrap());
                if time - finished == depth {
                    finished += 1;
                    let found = tracker.finish(true).unwrap();
                    check_found(&tracker, &found, finished, finished - 1);
                }
            }
            while finished < 39 {
                finished += 1;
                let found = tracker.finish(true).unwrap();
                check_found(&tracker, &found, finished, finished - 1);
            }
            assert!(matches!(tracker.finish(true), Err(EstimateError::NothingInFlight)));
        }
    }

    #[test]
    fn one_too_many_is_an_error_and_what_is_given_up_leaves_nothing() {
        let mut tracker = Tracker::new(native(2));
        for time in 0..3 {
            tracker.submit(&frame(time).view()).unwrap();
        }
        assert!(matches!(tracker.submit(&frame(3).view()), Err(EstimateError::InFlight(2))));
        let found = tracker.finish(true).unwrap();
        check_found(&tracker, &found, 1, 0);
        assert!(!tracker.submit(&frame(4).view()).unwrap(), "no reference after an error");
        tracker.cancel();
        assert_eq!(tracker.estimator().in_flight(), 0);
        assert!(!tracker.submit(&frame(5).view()).unwrap());
        check(&mut tracker, 6, 5);
    }

    #[test]
    fn reference_moves_to_another_estimator() {
        let native = |block_size, range| Box::new(Native::new(parameters(block_size, range)).unwrap());
        let tracker = Tracker::new(native(8, 5));
        let mut tracker = tracker.with_estimator(native(16, 3)).unwrap();
        assert!(!tracker.submit(&frame(0).view()).unwrap());
        let mut tracker = tracker.with_estimator(native(4, 7)).unwrap();
        check(&mut tracker, 1, 0);
        let mut tracker = tracker.with_estimator(native(8, 5)).unwrap();
        check(&mut tracker, 2, 1);
        check(&mut tracker, 0, 2);
    }

    #[test]
    fn vectors_are_predicted_where_the_parameters_say_so() {
        let native = |prediction| {
            Box::new(Native::new(Parameters { prediction, ..parameters(8, 5) }).unwrap())
                as Box<dyn Estimator>
        };
        let mut tracker = Tracker::new(native(Prediction::Median));
        assert!(!tracker.submit(&frame(0).view()).unwrap());
        check(&mut tracker, 1, 0);
        check(&mut tracker, 2, 1);
        let mut tracker = tracker.with_estimator(native(Prediction::None)).unwrap();
        check(&mut tracker, 3, 2);
    }

    #[test]
    fn nothing_stale_is_left_after_an_error() {
        let mut tracker = Tracker::new(native(1));
        tracker.submit(&frame(0).view()).unwrap();
        let small = FrameBuf::from_fn(36, 21, |_, _| 0);
        assert!(matches!(tracker.submit(&small.view()), Err(EstimateError::FrameSize(36, 21, 37, 21))));
        assert!(!tracker.submit(&frame(1).view()).unwrap());
    }

    /// An estimator whose searches fail when they are begun or finished, in the order of `fails`.
    struct Failing {
        native: Box<dyn Estimator>,
        fails: Vec<(bool, bool)>,
        cancelled: Arc<std::sync::atomic::AtomicUsize>,
    }

    fn failure() -> EstimateError {
        EstimateError::Device { device: "failing".into(), message: "as it should".into() }
    }

    impl Estimator for Failing {
        fn parameters(&self) -> &Parameters {
            self.native.parameters()
        }

        fn device(&self) -> &str {
            "failing"
        }

        fn kernel(&self) -> Kernel {
            Kernel::Auto
        }

        fn depth(&self) -> usize {
            self.native.depth()
        }

        fn in_flight(&self) -> usize {
            self.native.in_flight()
        }

        fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
            self.native.load(slot, frame)
        }

        fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
            self.native.unload(slot)
        }

        fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
            let fails = self.fails.first().is_some_and(|(begin, _)| *begin);
            if fails { Err(failure()) } else { self.native.begin_part(current, reference, part) }
        }

        fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
            self.native.finish(vectors)?;
            let fails = !self.fails.is_empty() && self.fails.remove(0).1;
            if fails { Err(failure()) } else { Ok(()) }
        }

        fn cancel(&mut self) {
            self.cancelled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.native.cancel();
        }

        fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
            self.native.predict(predictors)
        }

        fn stage_times(&self) -> StageTimes {
            StageTimes::default()
        }
    }

    #[test]
    fn an_error_in_flight_gives_up_the_searches_behind_it() {
        for (fails, at_begin) in [((true, false), true), ((false, true), false)] {
            let cancelled = Arc::default();
            let failing = Failing {
                native: native(3),
                fails: vec![(false, false), fails],
                cancelled: Arc::clone(&cancelled),
            };
            let mut tracker = Tracker::new(Box::new(failing));
            for time in 0..3 {
                tracker.submit(&frame(time).view()).unwrap();
            }
            let found = tracker.finish(true).unwrap();
            check_found(&tracker, &found, 1, 0);
            let begun = tracker.submit(&frame(3).view());
            if at_begin {
                assert!(matches!(begun, Err(EstimateError::Device { .. })));
                assert_eq!(tracker.estimator().in_flight(), 1);
                let found = tracker.finish(true).unwrap();
                check_found(&tracker, &found, 2, 1);
            } else {
                assert!(begun.unwrap());
                assert!(tracker.finish(true).is_err());
                assert_eq!(tracker.estimator().in_flight(), 0);
                assert_eq!(cancelled.load(std::sync::atomic::Ordering::Relaxed), 1);
            }
            assert!(!tracker.submit(&frame(7).view()).unwrap(), "no reference after an error");
            check(&mut tracker, 8, 7);
        }
    }
}

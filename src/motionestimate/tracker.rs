//! Which picture is searched for which: the current one and the one before it.

use super::pool::{Pool, Pooled};
use crate::estimator::{EstimateError, Estimator, MotionVector, Picture, Prediction, Predictor, Slot};

/// Finds the motion from each picture to the one before, uploading each once.
pub struct Tracker {
    estimator: Box<dyn Estimator>,
    /// Where the next picture goes. The reference, if there is one, is in the other slot.
    next: Slot,
    has_reference: bool,
    vectors: Pool<MotionVector>,
    /// Where vectors are predicted.
    predictors: Option<Pool<Predictor>>,
}

/// What is found in a picture: one record a block, `rows × columns`, row-major.
pub struct Found {
    pub vectors: Pooled<MotionVector>,
    /// Where the parameters ask for prediction.
    pub predictors: Option<Pooled<Predictor>>,
}

impl Tracker {
    /// A tracker that has seen no picture.
    pub fn new(estimator: Box<dyn Estimator>) -> Self {
        let blocks = estimator.parameters().grid().blocks();
        let is_predicting = estimator.parameters().prediction != Prediction::None;
        let predictors = is_predicting.then(|| Pool::new(blocks));
        Self { estimator, next: Slot::A, has_reference: false, vectors: Pool::new(blocks), predictors }
    }

    /// What does the work.
    pub fn estimator(&self) -> &dyn Estimator {
        self.estimator.as_ref()
    }

    /// Forgets the reference: the next picture will have no vectors.
    pub fn forget(&mut self) {
        self.has_reference = false;
    }

    /// Takes `picture` as current picture and gives what is found in it; `None` where there is no
    /// reference. `picture` is the next reference.
    ///
    /// # Errors
    /// What the estimator reports. There is no reference after an error.
    pub fn track(&mut self, picture: &Picture<'_>) -> Result<Option<Found>, EstimateError> {
        let had_reference = std::mem::replace(&mut self.has_reference, false);
        let current = self.next;
        self.estimator.load(current, picture)?;
        let found = if had_reference { Some(self.search(current)?) } else { None };
        self.has_reference = true;
        self.next = current.other();
        Ok(found)
    }

    fn search(&mut self, current: Slot) -> Result<Found, EstimateError> {
        let mut vectors = self.vectors.take();
        self.estimator.search(current, &mut vectors)?;
        let mut predictors = self.predictors.as_ref().map(Pool::take);
        if let Some(predictors) = &mut predictors {
            self.estimator.predict(predictors)?;
        }
        Ok(Found { vectors, predictors })
    }

    /// The same pictures, searched by `estimator` from now on: the reference moves to it.
    ///
    /// # Errors
    /// What either estimator reports, and [`EstimateError::PictureSize`] where `estimator` is
    /// for pictures of another size.
    pub fn with_estimator(mut self, estimator: Box<dyn Estimator>) -> Result<Self, EstimateError> {
        let mut tracker = Self::new(estimator);
        if self.has_reference
            && let Some(reference) = self.estimator.unload(self.next.other())?
        {
            tracker.estimator.load(tracker.next, &reference.view())?;
            tracker.next = tracker.next.other();
            tracker.has_reference = true;
        }
        Ok(tracker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::prediction::median_predictors;
    use crate::estimator::{Parameters, PictureBuf, Window, oracle};
    use crate::native::Native;

    fn parameters(block_size: usize, range: i32) -> Parameters {
        let window = Window::symmetric(range, range).unwrap();
        Parameters::new(37, 21, block_size, window)
    }

    fn picture(time: usize) -> PictureBuf {
        PictureBuf::from_fn(37, 21, |x, y| (((x + time) * 37) ^ ((y + 2 * time) * 101)) as u8)
    }

    fn check(tracker: &mut Tracker, current: usize, reference: usize) {
        let (current, reference) = (picture(current), picture(reference));
        let expected =
            oracle::full_search(tracker.estimator().parameters(), &current.view(), &reference.view());
        let found = tracker.track(&current.view()).unwrap().expect("there is a reference");
        assert_eq!(found.vectors[..], expected.vectors[..]);
        let predicted = median_predictors(expected.grid, &expected.vectors);
        let is_predicting = tracker.estimator().parameters().prediction == Prediction::Median;
        assert_eq!(found.predictors.as_deref(), is_predicting.then_some(&predicted[..]));
    }

    #[test]
    fn every_picture_is_compared_with_the_one_before() {
        let mut tracker = Tracker::new(Box::new(Native::new(parameters(8, 5)).unwrap()));
        assert!(tracker.track(&picture(0).view()).unwrap().is_none());
        check(&mut tracker, 1, 0);
        check(&mut tracker, 3, 1);
        tracker.forget();
        assert!(tracker.track(&picture(4).view()).unwrap().is_none());
        check(&mut tracker, 5, 4);
    }

    #[test]
    fn reference_moves_to_another_estimator() {
        let native = |block_size, range| Box::new(Native::new(parameters(block_size, range)).unwrap());
        let tracker = Tracker::new(native(8, 5));
        let mut tracker = tracker.with_estimator(native(16, 3)).unwrap();
        assert!(tracker.track(&picture(0).view()).unwrap().is_none());
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
        assert!(tracker.track(&picture(0).view()).unwrap().is_none());
        check(&mut tracker, 1, 0);
        check(&mut tracker, 2, 1);
        let mut tracker = tracker.with_estimator(native(Prediction::None)).unwrap();
        check(&mut tracker, 3, 2);
    }

    #[test]
    fn nothing_stale_is_left_after_an_error() {
        let mut tracker = Tracker::new(Box::new(Native::new(parameters(8, 5)).unwrap()));
        tracker.track(&picture(0).view()).unwrap();
        let small = PictureBuf::from_fn(36, 21, |_, _| 0);
        assert!(matches!(tracker.track(&small.view()), Err(EstimateError::PictureSize(36, 21, 37, 21))));
        assert!(tracker.track(&picture(1).view()).unwrap().is_none());
    }
}

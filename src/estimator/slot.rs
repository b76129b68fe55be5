use std::collections::VecDeque;
use std::fmt;

use super::{EstimateError, Part};

/// One of the places in which an estimator keeps a frame.
///
/// An estimator has one more of them than searches that may be in flight:
/// [`Estimator::depth`](super::Estimator::depth) + 1, numbered from 0. Who searches one frame
/// after the other needs two, [`Self::A`] and [`Self::B`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(usize);

impl Slot {
    /// The first place.
    pub const A: Self = Self(0);

    /// The second place.
    pub const B: Self = Self(1);

    /// The place of this number, counted from 0.
    pub fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its number, counted from 0.
    pub fn index(self) -> usize {
        self.0
    }

    /// Of the first two places the other one; the first for every place after them.
    pub fn other(self) -> Self {
        if self == Self::A { Self::B } else { Self::A }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u8::try_from(self.0) {
            Ok(index @ 0..26) => write!(f, "{}", char::from(b'A' + index)),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// A search in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) current: Slot,
    pub(crate) reference: Slot,
    pub(crate) part: Part,
}

/// Which slots hold a frame, and which searches are in flight: what every backend has to know,
/// and the errors of those who use it wrongly.
#[derive(Debug)]
pub(crate) struct Flights {
    loaded: Vec<bool>,
    /// Oldest first. It never grows past the depth.
    searches: VecDeque<InFlight>,
}

impl Flights {
    /// For `depth` searches in flight, at least 1.
    pub(crate) fn new(depth: usize) -> Self {
        Self { loaded: vec![false; depth + 1], searches: VecDeque::with_capacity(depth) }
    }

    /// The most searches in flight.
    pub(crate) fn depth(&self) -> usize {
        self.loaded.len() - 1
    }

    /// How many are.
    pub(crate) fn len(&self) -> usize {
        self.searches.len()
    }

    /// Whether there is a frame in `slot`.
    pub(crate) fn is_loaded(&self, slot: Slot) -> bool {
        self.loaded.get(slot.0) == Some(&true)
    }

    /// Empties `slot`, so that a frame can be loaded into it.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], and [`EstimateError::SlotInUse`] where a search in flight
    /// needs the frame that is there.
    pub(crate) fn empty(&mut self, slot: Slot) -> Result<(), EstimateError> {
        if self.searches.iter().any(|search| slot == search.current || slot == search.reference) {
            return Err(EstimateError::SlotInUse(slot));
        }
        *self.loaded.get_mut(slot.0).ok_or(EstimateError::NoSuchSlot(slot))? = false;
        Ok(())
    }

    /// Notes that `slot`, which [`Self::empty`] has let pass, holds a frame.
    pub(crate) fn fill(&mut self, slot: Slot) {
        self.loaded[slot.0] = true;
    }

    /// Whether a search of `current` in `reference` can begin.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`] and [`EstimateError::InFlight`].
    pub(crate) fn check_begin(&self, current: Slot, reference: Slot) -> Result<(), EstimateError> {
        if let Some(&empty) = [current, reference].iter().find(|&&slot| !self.is_loaded(slot)) {
            return Err(EstimateError::EmptySlot(empty));
        }
        if self.len() == self.depth() { Err(EstimateError::InFlight(self.len())) } else { Ok(()) }
    }

    /// Notes that a search has begun that [`Self::check_begin`] has let pass.
    pub(crate) fn begin(&mut self, current: Slot, reference: Slot, part: Part) {
        self.searches.push_back(InFlight { current, reference, part });
    }

    /// The oldest search.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`].
    pub(crate) fn oldest(&self) -> Result<InFlight, EstimateError> {
        self.searches.front().copied().ok_or(EstimateError::NothingInFlight)
    }

    /// Notes that the oldest search is in flight no longer.
    pub(crate) fn finish(&mut self) {
        self.searches.pop_front();
    }

    /// Gives up all searches.
    pub(crate) fn clear(&mut self) {
        self.searches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Parameters, Window};

    #[test]
    fn slots_have_letters_and_the_first_two_change_roles() {
        assert_eq!(format!("{:?} {:?} {:?}", Slot::A, Slot::new(16), Slot::new(99)), "A Q 99");
        assert_eq!((Slot::A.other(), Slot::B.other(), Slot::new(5).other()), (Slot::B, Slot::A, Slot::A));
    }

    #[test]
    fn wrong_use_is_told() {
        let mut flights = Flights::new(2);
        let part = Part::whole(&Parameters::new(9, 9, 4, Window::symmetric(1, 1).unwrap()));
        let [a, b, c] = [0, 1, 2].map(Slot::new);
        assert!(matches!(flights.empty(Slot::new(3)), Err(EstimateError::NoSuchSlot(_))));
        for slot in [a, b, c] {
            flights.empty(slot).unwrap();
            assert!(matches!(flights.check_begin(slot, a), Err(EstimateError::EmptySlot(s)) if s == slot));
            flights.fill(slot);
        }
        for (current, reference) in [(b, a), (c, b)] {
            flights.check_begin(current, reference).unwrap();
            flights.begin(current, reference, part);
        }
        assert!(matches!(flights.check_begin(a, c), Err(EstimateError::InFlight(2))));
        assert!(matches!(flights.empty(a), Err(EstimateError::SlotInUse(_))));
        assert!(
            matches!(flights.oldest(), Ok(InFlight { current, reference, .. }) if (current, reference) == (b, a))
        );
        flights.finish();
        flights.empty(a).unwrap();
        assert!(matches!(flights.empty(b), Err(EstimateError::SlotInUse(_))));
        flights.clear();
        assert!(matches!(flights.oldest(), Err(EstimateError::NothingInFlight)));
    }
}

use std::collections::VecDeque;

use super::EstimateError;

/// The slots that hold a frame, and the searches in flight with data `T` each, of a device or of a session.
///
/// Both have types of their own for slots and searches; here they are numbers. It reports the errors of callers that use
/// them in the wrong order.
#[derive(Debug)]
pub(crate) struct Flights<T> {
    loaded: Vec<bool>,
    depth: usize,
    next: u64,
    /// Oldest first, at most `depth`.
    searches: VecDeque<Flight<T>>,
}

/// A search in flight.
#[derive(Debug)]
pub(crate) struct Flight<T> {
    pub(crate) number: u64,
    /// Those of the current frame and of the reference frame.
    pub(crate) slots: [usize; 2],
    pub(crate) data: T,
}

impl<T> Flights<T> {
    /// No frame in any of `slots` slots, and no search in flight of at most `depth`.
    pub(crate) fn new(slots: usize, depth: usize) -> Self {
        Self { loaded: vec![false; slots], depth, next: 0, searches: VecDeque::with_capacity(depth) }
    }

    /// The number of searches in flight.
    pub(crate) fn len(&self) -> usize {
        self.searches.len()
    }

    /// Whether `slot` holds a frame.
    pub(crate) fn is_loaded(&self, slot: usize) -> bool {
        self.loaded.get(slot) == Some(&true)
    }

    /// Whether a search in flight needs the frame in `slot`.
    pub(crate) fn is_searched(&self, slot: usize) -> bool {
        self.searches.iter().any(|search| search.slots.contains(&slot))
    }

    /// Empties `slot`, so that a frame can be loaded into it.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], and [`EstimateError::SlotInUse`] if a search in flight needs the
    /// frame in it.
    pub(crate) fn empty(&mut self, slot: usize) -> Result<(), EstimateError> {
        if self.is_searched(slot) {
            return Err(EstimateError::SlotInUse(slot));
        }
        *self.loaded.get_mut(slot).ok_or(EstimateError::NoSuchSlot(slot))? = false;
        Ok(())
    }

    /// Notes that `slot`, which was emptied before, holds a frame.
    pub(crate) fn fill(&mut self, slot: usize) {
        self.loaded[slot] = true;
    }

    /// Whether a search of the frames in `slots` can start.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`] and [`EstimateError::InFlight`].
    pub(crate) fn check(&self, slots: [usize; 2]) -> Result<(), EstimateError> {
        if let Some(&empty) = slots.iter().find(|&&slot| !self.is_loaded(slot)) {
            return Err(EstimateError::EmptySlot(empty));
        }
        if self.len() == self.depth { Err(EstimateError::InFlight(self.len())) } else { Ok(()) }
    }

    /// Notes that a search has started, which [`Self::check`] allowed. Returns its number.
    pub(crate) fn push(&mut self, slots: [usize; 2], data: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.searches.push_back(Flight { number, slots, data });
        number
    }

    /// The searches in flight, oldest first.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flight<T>> {
        self.searches.iter_mut()
    }

    /// The oldest search, which must have this number.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`] if there is none, or if it has another number.
    pub(crate) fn oldest(&self, number: u64) -> Result<&Flight<T>, EstimateError> {
        self.searches.front().filter(|s| s.number == number).ok_or(EstimateError::NothingInFlight)
    }

    /// Ends the oldest search.
    pub(crate) fn pop_oldest(&mut self) -> Option<Flight<T>> {
        self.searches.pop_front()
    }

    /// The search with this number, if it is in flight.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Flight<T>> {
        self.searches.iter_mut().find(|search| search.number == number)
    }

    /// Ends the search that started last.
    pub(crate) fn pop_newest(&mut self) -> Option<Flight<T>> {
        self.searches.pop_back()
    }

    /// Ends all searches.
    pub(crate) fn clear(&mut self) {
        self.searches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_use_is_reported() {
        let mut flights = Flights::new(3, 2);
        let [a, b, c] = [0, 1, 2];
        assert!(matches!(flights.empty(3), Err(EstimateError::NoSuchSlot(3))));
        for slot in [a, b, c] {
            flights.empty(slot).unwrap();
            assert!(matches!(flights.check([slot, a]), Err(EstimateError::EmptySlot(s)) if s == slot));
            flights.fill(slot);
        }
        let numbers = [[b, a], [c, b]].map(|slots| {
            flights.check(slots).unwrap();
            flights.push(slots, ())
        });
        assert!(matches!(flights.check([a, c]), Err(EstimateError::InFlight(2))));
        assert!(matches!(flights.empty(a), Err(EstimateError::SlotInUse(_))));
        assert!(matches!(flights.oldest(numbers[1]), Err(EstimateError::NothingInFlight)));
        assert_eq!(flights.oldest(numbers[0]).unwrap().slots, [b, a]);
        flights.pop_oldest();
        flights.empty(a).unwrap();
        assert!(matches!(flights.empty(b), Err(EstimateError::SlotInUse(_))));
        flights.clear();
        assert!(matches!(flights.oldest(numbers[1]), Err(EstimateError::NothingInFlight)));
    }
}

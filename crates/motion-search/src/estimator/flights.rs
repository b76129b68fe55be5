use std::collections::VecDeque;

use super::{EstimateError, Request, Slot, Ticket};

/// The slots that hold a frame, and the searches in flight with data `T` each.
///
/// It reports the errors of callers that use slots and searches in the wrong order.
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
    pub(crate) ticket: Ticket,
    pub(crate) request: Request,
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
    pub(crate) fn is_loaded(&self, slot: Slot) -> bool {
        self.loaded.get(slot.index()) == Some(&true)
    }

    /// Whether a search in flight needs the frame in `slot`.
    pub(crate) fn is_searched(&self, slot: Slot) -> bool {
        self.searches.iter().any(|search| [search.request.current, search.request.reference].contains(&slot))
    }

    /// Empties `slot`, so that a frame can be loaded into it.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], and [`EstimateError::SlotInUse`] if a search in flight needs the
    /// frame in it.
    pub(crate) fn empty(&mut self, slot: Slot) -> Result<(), EstimateError> {
        if self.is_searched(slot) {
            return Err(EstimateError::SlotInUse(slot));
        }
        *self.loaded.get_mut(slot.index()).ok_or(EstimateError::NoSuchSlot(slot))? = false;
        Ok(())
    }

    /// Notes that `slot`, which was emptied before, holds a frame.
    pub(crate) fn fill(&mut self, slot: Slot) {
        self.loaded[slot.index()] = true;
    }

    /// Whether a search of `request` can begin.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`] and [`EstimateError::InFlight`].
    pub(crate) fn check(&self, request: &Request) -> Result<(), EstimateError> {
        if let Some(&empty) = [request.current, request.reference].iter().find(|&&slot| !self.is_loaded(slot))
        {
            return Err(EstimateError::EmptySlot(empty));
        }
        if self.len() == self.depth { Err(EstimateError::InFlight(self.len())) } else { Ok(()) }
    }

    /// Notes that a search has begun, which [`Self::check`] allowed.
    pub(crate) fn push(&mut self, request: Request, data: T) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.searches.push_back(Flight { ticket, request, data });
        ticket
    }

    /// The searches in flight, oldest first.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flight<T>> {
        self.searches.iter_mut()
    }

    /// The oldest search, which must be that of `ticket`.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`] if there is none, or if it has another ticket.
    pub(crate) fn oldest(&self, ticket: Ticket) -> Result<&Flight<T>, EstimateError> {
        self.searches.front().filter(|s| s.ticket == ticket).ok_or(EstimateError::NothingInFlight)
    }

    /// Ends the oldest search.
    pub(crate) fn pop_oldest(&mut self) -> Option<Flight<T>> {
        self.searches.pop_front()
    }

    /// The search of `ticket`, if it is in flight.
    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Flight<T>> {
        self.searches.iter_mut().find(|search| search.ticket == ticket)
    }

    /// Ends the search that began last.
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
    use crate::estimator::{Parameters, Part, Window};

    #[test]
    fn wrong_use_is_reported() {
        let mut flights = Flights::new(3, 2);
        let part = Part::whole(&Parameters::new(9, 9, 4, Window::symmetric(1, 1).unwrap()));
        let [a, b, c] = [0, 1, 2].map(Slot::new);
        let request = |current, reference| Request { current, reference, part, offset: -1 };
        assert!(matches!(flights.empty(Slot::new(3)), Err(EstimateError::NoSuchSlot(_))));
        for slot in [a, b, c] {
            flights.empty(slot).unwrap();
            let checked = flights.check(&request(slot, a));
            assert!(matches!(checked, Err(EstimateError::EmptySlot(s)) if s == slot));
            flights.fill(slot);
        }
        let tickets = [(b, a), (c, b)].map(|(current, reference)| {
            flights.check(&request(current, reference)).unwrap();
            flights.push(request(current, reference), ())
        });
        assert!(matches!(flights.check(&request(a, c)), Err(EstimateError::InFlight(2))));
        assert!(matches!(flights.empty(a), Err(EstimateError::SlotInUse(_))));
        assert!(matches!(flights.oldest(tickets[1]), Err(EstimateError::NothingInFlight)));
        assert_eq!(flights.oldest(tickets[0]).unwrap().request, request(b, a));
        flights.pop_oldest();
        flights.empty(a).unwrap();
        assert!(matches!(flights.empty(b), Err(EstimateError::SlotInUse(_))));
        flights.clear();
        assert!(matches!(flights.oldest(tickets[1]), Err(EstimateError::NothingInFlight)));
    }
}

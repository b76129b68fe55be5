//! A search without frames of a stream, so that the first one of a stream takes no longer than the others.

use std::sync::Arc;
use std::time::Instant;

use super::handles::SearchTicket;
use super::{Session, SharedSearch};
use crate::estimator::{EstimateError, Frame, Part, SampleFormat, SetupError};
use motion_base::memory;

impl<T: Default> Session<T> {
    /// Has each device that may fail search one blank frame in another, whatever share it gets later: some drivers compile
    /// kernels at their first launch. A device that fails is evicted, as in any search. To be called before the first frame
    /// is added.
    ///
    /// # Errors
    /// [`SetupError::Device`] if no device is left.
    pub fn rehearse(&mut self) -> Result<(), SetupError> {
        let may_fail = |&member: &usize| self.members[member].info().can_fail;
        let members: Vec<usize> = (0..self.members.len()).filter(may_fail).collect();
        if members.is_empty() {
            return Ok(());
        }
        let blank = self.blank_frame()?;
        let rehearsed = self.search_blank_frames(members, blank);
        self.release_frames();
        rehearsed.map_err(|error| match error {
            EstimateError::Device { device, message } => SetupError::Device { device, message },
            other => SetupError::Device { device: self.name.clone(), message: other.to_string() },
        })
    }

    fn search_blank_frames(&mut self, members: Vec<usize>, blank: Frame) -> Result<(), EstimateError> {
        let slots = [self.add_frame(blank.clone())?.0, self.add_frame(blank)?.0];
        let whole = Part::whole(&self.parameters);
        for member in members {
            if self.members[member].is_out() {
                continue;
            }
            let [current, reference] = slots.map(|slot| self.slots[slot].clone());
            let search = SharedSearch {
                payload: T::default(),
                current,
                reference,
                shares: Vec::new(),
                started: Instant::now(),
                is_as_planned: false,
            };
            let ticket = SearchTicket(self.flights.push(slots, search));
            let searched = self.hand_out(ticket, vec![(member, whole)]).and_then(|()| self.collect());
            self.flights.pop_oldest();
            searched?;
        }
        Ok(())
    }

    fn blank_frame(&self) -> Result<Frame, SetupError> {
        let (width, height) = (self.parameters.width, self.parameters.height);
        let format = SampleFormat::new(self.parameters.bit_depth, 0)
            .unwrap_or_else(|_| unreachable!("the parameters are valid"));
        let stride = width * format.bytes();
        let samples = memory::values("a blank frame", stride * height)?;
        Ok(Frame::with_format(Arc::new(samples), (width, height), stride, format)
            .unwrap_or_else(|error| unreachable!("a frame without padding: {error}")))
    }
}

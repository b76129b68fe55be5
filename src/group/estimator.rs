//! What a group is to those who use it: an estimator.

use std::time::Instant;

use super::Group;
use super::search::Search;
use crate::estimator::{
    DeviceShare, EstimateError, Estimator, FrameBuf, FrameView, Grid, Kernel, MotionVector, Notice,
    Parameters, Part, Prediction, Predictor, Slot, StageTimes,
};
use crate::native::median_predictors;

impl Estimator for Group {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        &self.name
    }

    fn kernel(&self) -> Kernel {
        self.kernel
    }

    fn depth(&self) -> usize {
        self.flights.depth()
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        frame.check_size(&self.parameters)?;
        let start = Instant::now();
        match self.load_directly(slot, frame) {
            Some(loaded) => loaded?,
            None => {
                if let Some(before) = self.slots[slot.index()].take() {
                    self.frame_pool.put_back(before);
                }
                let wanted = self.rows_to_be();
                self.slots[slot.index()] = Some(self.frame_pool.fill(frame, &wanted));
                self.copying[slot.index()] = start.elapsed();
            }
        }
        self.flights.fill(slot);
        if self.flights.len() == 0 {
            self.times.upload = start.elapsed();
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        if self.straight.is_some() {
            match self.directly(|estimator| estimator.unload(slot)) {
                Ok(frame) => return Ok(frame),
                Err(error) => self.take_over(error)?,
            }
        }
        let shared = self.slots.get(slot.index()).and_then(Option::as_ref);
        Ok(shared.filter(|_| self.flights.is_loaded(slot)).and_then(|shared| shared.frame()))
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        let whole = Part::whole(&self.parameters);
        if part != whole {
            return Err(EstimateError::NoSuchPart(part));
        }
        self.flights.check_begin(current, reference)?;
        self.listen()?;
        self.next_search += 1;
        let mut parts = self.plan(whole);
        let (start, was_direct) = (Instant::now(), self.straight.is_some());
        match self.lone(&parts) {
            Some(member) if !was_direct => {
                self.ask_directly(member)?;
                if self.straight.is_none() {
                    parts = self.plan(whole);
                }
            }
            None => self.ask_by_threads()?,
            Some(_) => (),
        }
        if self.straight.is_some() != was_direct {
            self.moving = start.elapsed();
        }
        if self.straight.is_some() {
            if let Some(begun) = self.begin_directly(current, reference, whole) {
                begun?;
                self.flights.begin(current, reference, whole);
                return Ok(());
            }
            // It has failed meanwhile.
            parts = self.plan(whole);
        }
        let shared = |slot: Slot| self.slots[slot.index()].clone().ok_or(EstimateError::EmptySlot(slot));
        let frames = (shared(current)?, shared(reference)?);
        let copying = self.copying[current.index()];
        let slots = [current, reference];
        let moving = std::mem::take(&mut self.moving);
        self.searches.push_back(Search::new(self.next_search, slots, Some(frames), copying, moving));
        let handed_out = self.hand_out(self.searches.len() - 1, parts);
        if handed_out.is_err() {
            self.searches.pop_back();
        }
        handed_out?;
        self.flights.begin(current, reference, whole);
        Ok(())
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        self.flights.oldest()?;
        self.parameters.grid().check(vectors)?;
        let collected = match self.is_direct() {
            true => self.finish_directly(0, vectors).or_else(|error| {
                self.take_over(error)?;
                self.collect(0)
            }),
            false => self.collect(0),
        };
        self.flights.finish();
        let search = self.searches.pop_front();
        let is_predicting = self.parameters.prediction != Prediction::None;
        let kept = self.last_field.take();
        collected?;
        let Some(mut search) = search else { return Err(EstimateError::NothingInFlight) };
        self.learn(&search);
        self.merge(&mut search, vectors);
        self.times = search.stages;
        if is_predicting {
            let mut kept = kept.unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(vectors);
            self.last_field = Some(kept);
        }
        Ok(())
    }

    fn cancel(&mut self) {
        self.flights.clear();
        self.last_field = None;
        self.searches.clear();
        if let Some(straight) = &mut self.straight {
            straight.estimator.cancel();
        }
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        if self.parameters.prediction == Prediction::None {
            return Err(EstimateError::NotPredicting);
        }
        let start = Instant::now();
        let field = self.last_field.as_ref().ok_or(EstimateError::NoField)?;
        let grid: Grid = self.parameters.grid();
        median_predictors(grid, field, predictors)?;
        self.times.prediction = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }

    fn shares(&self, shares: &mut Vec<DeviceShare>) {
        shares.clear();
        let differences = self.differences();
        shares.extend(self.members.iter().map(|member| member.share(differences)));
    }

    fn row_devices(&self, rows: &mut Vec<u8>) {
        rows.clear();
        rows.extend_from_slice(&self.row_devices);
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

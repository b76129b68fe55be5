//! A device by itself that may fail: another takes over what it had to do.
//!
//! Nothing is copied for it as long as the device is well: what it was given lies in the host's
//! memory still, from which the frames are salvaged when it fails.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::estimator::{
    DeviceShare, EstimateError, Estimator, FrameBuf, FrameView, HostMemory, Kernel, MotionVector, Notice,
    Parameters, Part, Predictor, Slot, StageTimes,
};
use crate::group::Fallback;

/// An estimator, and what takes its place when it fails.
pub(super) struct Standby {
    inner: Box<dyn Estimator>,
    /// Gone once it was needed.
    fallback: Option<Fallback>,
    /// Oldest first: current frame, reference, and what is searched.
    searches: VecDeque<(Slot, Slot, Part)>,
    /// The slot that was loaded last.
    newest: Option<Slot>,
    notices: Vec<Notice>,
}

impl Standby {
    /// `inner` with `fallback` behind it; `inner` alone where it has nothing to salvage, as it is
    /// nothing that fails.
    pub(super) fn behind(mut inner: Box<dyn Estimator>, fallback: Fallback) -> Box<dyn Estimator> {
        if !inner.keep_frames() {
            return inner;
        }
        let (fallback, searches) = (Some(fallback), VecDeque::with_capacity(inner.depth()));
        Box::new(Self { inner, fallback, searches, newest: None, notices: Vec::new() })
    }

    /// Goes on without the device, which has told `error`: frames, but that in `lost`, and searches
    /// in flight move to what takes its place.
    ///
    /// # Errors
    /// `error` where it is no failure of the device, or nothing takes its place.
    fn take_over(&mut self, error: EstimateError, lost: Option<Slot>) -> Result<(), EstimateError> {
        let EstimateError::Device { device, message } = error else { return Err(error) };
        let Some(mut fallback) = self.fallback.take() else {
            return Err(EstimateError::Device { device, message });
        };
        let mut other = fallback().map_err(|error| EstimateError::Device {
            device: device.clone(),
            message: format!("{message}; and nothing takes its place: {error}"),
        })?;
        for slot in (0..=self.inner.depth()).map(Slot::new).filter(|&slot| Some(slot) != lost) {
            // The samples of others may have been written to meanwhile.
            let is_sound = self.is_wanted(slot) || !self.inner.needs_samples(slot);
            if let Some(frame) = is_sound.then(|| self.inner.salvage(slot)).flatten() {
                other.load(slot, &frame.view())?;
            }
        }
        for &(current, reference, part) in &self.searches {
            other.begin_part(current, reference, part)?;
        }
        let text = format!("{device} failed: {message}. {} goes on", other.device());
        self.notices.extend(self.inner.take_notices());
        self.notices.push(Notice::Failure(text));
        self.inner = other;
        Ok(())
    }

    /// Whether the frame in `slot` is searched, or may be the next reference.
    fn is_wanted(&self, slot: Slot) -> bool {
        self.newest == Some(slot) || self.searches.iter().any(|&(c, r, _)| c == slot || r == slot)
    }

    /// Loads by `load`, which is called again where the device has failed.
    fn load_by(
        &mut self,
        slot: Slot,
        mut load: impl FnMut(&mut dyn Estimator) -> Result<(), EstimateError>,
    ) -> Result<(), EstimateError> {
        if let Err(error) = load(self.inner.as_mut()) {
            self.take_over(error, Some(slot))?;
            load(self.inner.as_mut())?;
        }
        self.newest = Some(slot);
        Ok(())
    }
}

impl Estimator for Standby {
    fn parameters(&self) -> &Parameters {
        self.inner.parameters()
    }

    fn device(&self) -> &str {
        self.inner.device()
    }

    fn kernel(&self) -> Kernel {
        self.inner.kernel()
    }

    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load_by(slot, |inner| inner.load(slot, frame))
    }

    fn load_shared(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load_by(slot, |inner| inner.load_shared(slot, frame))
    }

    fn load_rows(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
    ) -> Result<(), EstimateError> {
        self.load_by(slot, |inner| inner.load_rows(slot, frame, rows.clone()))
    }

    fn host_memory(&self) -> Option<Arc<dyn HostMemory>> {
        self.inner.host_memory()
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        self.inner.unload(slot).or_else(|error| {
            self.take_over(error, None)?;
            self.inner.unload(slot)
        })
    }

    fn needs_samples(&self, slot: Slot) -> bool {
        self.fallback.is_some() && self.inner.needs_samples(slot)
    }

    fn copy_samples(&mut self, slot: Slot) {
        self.inner.copy_samples(slot);
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        // Known before it begins, so that its frames move too.
        self.searches.push_back((current, reference, part));
        let begun = self.inner.begin_part(current, reference, part);
        let begun = begun.or_else(|error| self.take_over(error, None));
        if begun.is_err() {
            self.searches.pop_back();
        }
        begun
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        let finished = self.inner.finish(vectors).or_else(|error| {
            self.take_over(error, None)?;
            self.inner.finish(vectors)
        });
        // After another error than the device's the search is as it was.
        if matches!(finished, Ok(()) | Err(EstimateError::Device { .. })) {
            self.searches.pop_front();
        }
        finished
    }

    fn cancel(&mut self) {
        self.inner.cancel();
        self.searches.clear();
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        self.inner.predict(predictors)
    }

    fn stage_times(&self) -> StageTimes {
        self.inner.stage_times()
    }

    fn shares(&self, shares: &mut Vec<DeviceShare>) {
        self.inner.shares(shares);
    }

    fn row_devices(&self, rows: &mut Vec<u8>) {
        self.inner.row_devices(rows);
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.inner.take_notices());
        notices
    }
}

#[cfg(test)]
mod tests;

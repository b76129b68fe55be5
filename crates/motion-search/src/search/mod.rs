//! The front door: a search that takes frames and returns fields.

mod builder;
#[cfg(test)]
mod tests;

pub use builder::MotionSearchBuilder;

use crate::backend::Choice;
use crate::estimator::{EstimateError, Frame, MotionField, Notice, Parameters};
use crate::session::{FrameSlot, Session};

/// A motion search in frames of one size, on one device or on several.
///
/// [`Self::search`] takes two frames, [`Self::search_next`] the frames of a stream one by one, [`Self::fields`] the frames of
/// an iterator. All three find the same vectors.
///
/// After an error the next search works as if it were the first.
pub struct MotionSearch {
    session: Session,
    choice: Choice,
    /// Where the session has the newest frame of the sequence.
    previous: Option<FrameSlot>,
}

impl MotionSearch {
    /// The settings of a search in frames of `width × height` samples, to be changed and built. Each side has 1 to 32768
    /// samples, [`Parameters::MAX_FRAME_SIDE`](crate::estimator::Parameters::MAX_FRAME_SIDE).
    pub fn builder(width: usize, height: usize) -> MotionSearchBuilder {
        MotionSearchBuilder::new(width, height)
    }

    fn with(session: Session, choice: Choice) -> Self {
        Self { session, choice, previous: None }
    }

    /// Finds for each block of `current` where it is in `reference`.
    ///
    /// `current` is then the frame in which [`Self::search_next`] searches.
    ///
    /// # Errors
    /// [`EstimateError::FrameSize`] and [`EstimateError::BitDepth`] for frames that are not as the builder was told;
    /// [`EstimateError::Device`] if the last device has failed.
    pub fn search(&mut self, current: &Frame, reference: &Frame) -> Result<MotionField, EstimateError> {
        self.restart();
        self.start(reference)?;
        self.start(current)?;
        self.finish()
    }

    /// Finds for each block of `frame` where it is in the frame of the previous call; `None` for the first frame of a
    /// sequence. Each frame is loaded once.
    ///
    /// # Errors
    /// As [`Self::search`]. `frame` does not count then: the next frame is the first of a sequence.
    pub fn search_next(&mut self, frame: &Frame) -> Result<Option<MotionField>, EstimateError> {
        if self.start(frame)? { self.finish().map(Some) } else { Ok(None) }
    }

    /// Starts a new sequence: the next frame of [`Self::search_next`] is not searched in the one before it.
    pub fn restart(&mut self) {
        if self.session.in_flight() > 0 {
            self.session.cancel();
        }
        self.session.release_frames();
        self.previous = None;
    }

    /// Searches each of `frames` in the frame before it: one field for each frame but the first.
    ///
    /// Several searches are in flight at one time if [`MotionSearchBuilder::in_flight`] says so. The first error ends the
    /// iteration.
    ///
    /// # Errors
    /// The items are errors as those of [`Self::search`].
    pub fn fields<I: IntoIterator<Item = Frame>>(
        &mut self,
        frames: I,
    ) -> impl Iterator<Item = Result<MotionField, EstimateError>> {
        self.restart();
        Fields { search: self, frames: frames.into_iter(), is_over: false }
    }

    /// What is searched for.
    pub fn parameters(&self) -> &Parameters {
        self.session.parameters()
    }

    /// The names of the devices that search.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// How device and kernel were chosen, and what could not be opened as it was wanted.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What has happened to the devices since the previous call, for instance that one has failed and another does its work.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// Loads `frame` and starts to search it in the one before it, if there is one.
    fn start(&mut self, frame: &Frame) -> Result<bool, EstimateError> {
        let started = self.try_start(frame);
        if started.is_err() {
            self.restart();
        }
        started
    }

    fn try_start(&mut self, frame: &Frame) -> Result<bool, EstimateError> {
        let current = self.session.add_frame(frame.clone())?;
        let reference = self.previous.replace(current);
        reference.map_or(Ok(()), |reference| self.session.start_search(current, reference, ()))?;
        Ok(reference.is_some())
    }

    /// The field of the search that was started first.
    fn finish(&mut self) -> Result<MotionField, EstimateError> {
        match self.session.finish_search() {
            Ok(((), output)) => Ok(MotionField::of(self.session.parameters(), output.vectors.to_vec())),
            Err(error) => {
                self.restart();
                Err(error)
            }
        }
    }
}

/// What [`MotionSearch::fields`] returns.
struct Fields<'a, I> {
    search: &'a mut MotionSearch,
    frames: I,
    is_over: bool,
}

impl<I: Iterator<Item = Frame>> Iterator for Fields<'_, I> {
    type Item = Result<MotionField, EstimateError>;

    fn next(&mut self) -> Option<Self::Item> {
        let search = &mut *self.search;
        while !self.is_over && search.session.in_flight() < search.session.depth() {
            match self.frames.next().map(|frame| search.start(&frame)) {
                Some(Ok(_)) => (),
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                None => self.is_over = true,
            }
        }
        if search.session.in_flight() == 0 {
            return None;
        }
        let field = search.finish();
        self.is_over |= field.is_err();
        Some(field)
    }
}

impl<I> Drop for Fields<'_, I> {
    /// The searches of this iterator end with it.
    fn drop(&mut self) {
        self.search.restart();
    }
}

//! The front door: a search that takes frames and returns fields.

mod builder;
#[cfg(test)]
mod tests;

pub use builder::MotionSearchBuilder;

use std::collections::VecDeque;
use std::fmt;

use crate::backend::Choice;
use crate::estimator::{EstimateError, Frame, MotionField, Notice, Parameters, References};
use crate::session::{FrameSlot, Session};

/// A motion search in frames of one size, on one device or on several.
///
/// [`Self::search`] takes two frames, [`Self::search_next`] the frames of a stream one by one, [`Self::fields`] the frames of
/// an iterator. All three find the same vectors.
///
/// After an error the next search works as if it were the first.
pub struct MotionSearch {
    session: Session<StreamPlace>,
    choice: Choice,
    /// Where the session has the newest frames of the sequence, oldest first: those that the next one is searched together
    /// with.
    sequence: VecDeque<FrameSlot>,
    /// The number of the next frame of the sequence.
    next: usize,
}

/// What a field belongs to.
#[derive(Clone, Copy, Default)]
struct StreamPlace {
    /// The number of the current frame in the sequence.
    frame: usize,
    /// Frames from it to the reference frame.
    offset: i64,
}

impl fmt::Debug for MotionSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, next, .. } = self;
        f.debug_struct("MotionSearch")
            .field("device", &session.device())
            .field("parameters", session.parameters())
            .field("frames", next)
            .finish_non_exhaustive()
    }
}

impl MotionSearch {
    /// The settings of a search in frames of `width × height` samples, to be changed and built. Each side has 1 to 32768
    /// samples, [`Parameters::MAX_FRAME_SIDE`](crate::estimator::Parameters::MAX_FRAME_SIDE).
    pub fn builder(width: usize, height: usize) -> MotionSearchBuilder {
        MotionSearchBuilder::new(width, height)
    }

    fn with(session: Session<StreamPlace>, choice: Choice) -> Self {
        Self { session, choice, sequence: VecDeque::new(), next: 0 }
    }

    /// Finds for each block of `current` where it is in `reference`, as if that were the frame before. Other
    /// [references](MotionSearchBuilder::references) are those of streams.
    ///
    /// The two are then the first frames of a sequence, which [`Self::search_next`] continues.
    ///
    /// # Errors
    /// [`EstimateError::FrameSize`] and [`EstimateError::BitDepth`] for frames that are not as the builder was told;
    /// [`EstimateError::Device`] if the last device has failed.
    pub fn search(&mut self, current: &Frame, reference: &Frame) -> Result<MotionField, EstimateError> {
        self.restart();
        self.start(reference, References { backward: 0, forward: 0 })?;
        self.start(current, References { backward: 1, forward: 0 })?;
        self.finish().map(|(_, field)| field)
    }

    /// Takes the next frame of a sequence, which is loaded once, and returns the fields between it and the frames before it:
    /// by default one, where each block of `frame` is in the frame of the previous call, and none for the first frame.
    ///
    /// With other [references](MotionSearchBuilder::references) there are first the fields of `frame` in earlier frames, the
    /// nearest first, then those of earlier frames, the nearest first, in `frame`. [`MotionField::offset`] tells them apart.
    ///
    /// # Errors
    /// As [`Self::search`]. `frame` does not count then: the next frame is the first of a sequence.
    pub fn search_next(&mut self, frame: &Frame) -> Result<Vec<MotionField>, EstimateError> {
        self.start(frame, self.references())?;
        (0..self.session.in_flight()).map(|_| self.finish().map(|(_, field)| field)).collect()
    }

    /// Starts a new sequence: the next frame of [`Self::search_next`] is not searched in the one before it.
    pub fn restart(&mut self) {
        if self.session.in_flight() > 0 {
            self.session.cancel();
        }
        self.session.release_frames();
        self.sequence.clear();
        self.next = 0;
    }

    /// Searches `frames` as [`Self::search_next`] does, each with those before it. With each field comes the number of its
    /// frame, counted from 0: by default there is one for each frame but the first.
    ///
    /// Several searches are in flight at one time if [`MotionSearchBuilder::in_flight`] says so. The first error ends the
    /// iteration.
    ///
    /// # Errors
    /// The items are errors as those of [`Self::search`].
    pub fn fields<I: IntoIterator<Item = Frame>>(
        &mut self,
        frames: I,
    ) -> impl Iterator<Item = Result<(usize, MotionField), EstimateError>> {
        self.restart();
        Fields { search: self, frames: frames.into_iter(), is_over: false }
    }

    /// Starts the searches between `frame`, the next of a sequence, and those before it, and waits for none:
    /// [`Self::finish_first`] does. It is what [`Self::fields`] does, for frames that do not come from an iterator.
    ///
    /// # Errors
    /// As [`Self::search_next`]; [`EstimateError::InFlight`] unless [`Self::has_room`].
    pub fn start_next(&mut self, frame: &Frame) -> Result<(), EstimateError> {
        self.start(frame, self.references())
    }

    /// Whether the searches of another frame may be started beside those in flight.
    pub fn has_room(&self) -> bool {
        self.session.in_flight() + self.references().count() <= self.session.depth()
    }

    /// Waits for the search that was started first, and returns its field with the number of its frame in the sequence. `None` if
    /// no search is in flight.
    ///
    /// # Errors
    /// As [`Self::search_next`].
    pub fn finish_first(&mut self) -> Option<Result<(usize, MotionField), EstimateError>> {
        (self.session.in_flight() > 0).then(|| self.finish())
    }

    /// What is searched for.
    pub fn parameters(&self) -> &Parameters {
        self.session.parameters()
    }

    fn references(&self) -> References {
        self.parameters().references
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

    /// Loads `frame` and starts the searches between it and those before it that `references` ask for.
    fn start(&mut self, frame: &Frame, references: References) -> Result<(), EstimateError> {
        let started = self.try_start(frame, references);
        if started.is_err() {
            self.restart();
        }
        started
    }

    fn try_start(&mut self, frame: &Frame, references: References) -> Result<(), EstimateError> {
        let Self { session, sequence, next, .. } = self;
        let slot = session.add_frame(frame.clone())?;
        for (distance, &earlier) in (1..).zip(sequence.iter().rev().take(references.backward)) {
            session.start_search(slot, earlier, StreamPlace { frame: *next, offset: -distance })?;
        }
        for (distance, &earlier) in (1..).zip(sequence.iter().rev().take(references.forward)) {
            let place = StreamPlace { frame: *next - distance, offset: distance as i64 };
            session.start_search(earlier, slot, place)?;
        }
        sequence.push_back(slot);
        *next += 1;
        if sequence.len() > session.parameters().references.reach()
            && let Some(oldest) = sequence.pop_front()
        {
            session.release_frame(oldest);
        }
        Ok(())
    }

    /// The field of the search that was started first, and the number of its frame.
    fn finish(&mut self) -> Result<(usize, MotionField), EstimateError> {
        match self.session.finish_search() {
            Ok((StreamPlace { frame, offset }, output)) => {
                Ok((frame, MotionField::of(self.session.parameters(), offset, &output)))
            }
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
    type Item = Result<(usize, MotionField), EstimateError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over && self.search.has_room() {
            match self.frames.next().map(|frame| self.search.start_next(&frame)) {
                Some(Ok(())) => (),
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                None => self.is_over = true,
            }
        }
        let field = self.search.finish_first()?;
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

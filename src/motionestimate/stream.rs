//! The pictures of a stream from one caps to the next, and the buffers that wait for their vectors.

use std::collections::VecDeque;

use super::luma::{LumaError, luma};
use super::settings::Settings;
use super::statistics::Statistics;
use super::tracker::{Found, Tracker};
use crate::estimator::{EstimateError, Estimator};
use crate::meta::{self, FieldDescription, MetaError};

/// Why a buffer gets no vectors that should.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The buffer cannot be mapped as a frame.
    #[error("{0}")]
    Frame(#[from] glib::BoolError),
    /// Its luma plane cannot be read.
    #[error(transparent)]
    Luma(#[from] LumaError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
    /// What was found cannot be attached.
    #[error(transparent)]
    Attach(#[from] MetaError),
}

/// A buffer whose search is in flight.
struct Waiting {
    buffer: gst::Buffer,
    reference_pts: Option<gst::ClockTime>,
}

/// What holds from one caps to the next.
pub struct Stream {
    info: gst_video::VideoInfo,
    /// The settings by which `tracker` was made.
    settings: Settings,
    tracker: Tracker,
    /// Timestamp of the reference picture.
    reference_pts: Option<gst::ClockTime>,
    /// One a search in flight, oldest first.
    waiting: VecDeque<Waiting>,
}

impl Stream {
    pub fn new(info: gst_video::VideoInfo, settings: Settings, estimator: Box<dyn Estimator>) -> Self {
        let waiting = VecDeque::with_capacity(estimator.depth());
        Self { info, settings, tracker: Tracker::new(estimator), reference_pts: None, waiting }
    }

    pub fn info(&self) -> &gst_video::VideoInfo {
        &self.info
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn estimator(&self) -> &dyn Estimator {
        self.tracker.estimator()
    }

    /// How many buffers wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Goes on with `estimator`, made by `settings`: the reference moves to it. No buffer may wait.
    ///
    /// # Errors
    /// What either estimator reports.
    pub fn with_estimator(
        self,
        settings: Settings,
        estimator: Box<dyn Estimator>,
    ) -> Result<Self, EstimateError> {
        let waiting = VecDeque::with_capacity(estimator.depth());
        let tracker = self.tracker.with_estimator(estimator)?;
        Ok(Self { settings, tracker, waiting, ..self })
    }

    /// Makes the next picture the first of a sequence.
    pub fn forget(&mut self) {
        self.tracker.forget();
    }

    /// Drops the buffers that wait, and forgets the reference.
    pub fn discard(&mut self) {
        self.tracker.cancel();
        self.waiting.clear();
    }

    /// Takes `buffer`: it waits while its search is in flight, or is given back where there is no
    /// reference to search.
    ///
    /// # Errors
    /// [`StreamError`]. The buffer is dropped and there is no reference then; those that wait do
    /// so still.
    pub fn submit(
        &mut self,
        mut buffer: gst::Buffer,
        statistics: &mut Statistics,
    ) -> Result<Option<gst::Buffer>, StreamError> {
        let begun = self.begin(&buffer);
        if begun.is_err() {
            self.tracker.forget();
        }
        let begun = begun?;
        let reference_pts = std::mem::replace(&mut self.reference_pts, buffer.pts());
        if begun {
            self.waiting.push_back(Waiting { buffer, reference_pts });
            return Ok(None);
        }
        statistics.add(self.tracker.estimator(), None);
        meta::remove(buffer.make_mut());
        Ok(Some(buffer))
    }

    fn begin(&mut self, buffer: &gst::BufferRef) -> Result<bool, StreamError> {
        let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &self.info)?;
        Ok(self.tracker.submit(&luma(&frame)?)?)
    }

    /// The buffer that has waited longest, with its vectors; `None` where none waits.
    ///
    /// # Errors
    /// [`StreamError`]. No buffer waits any more and there is no reference then.
    pub fn finish(&mut self, statistics: &mut Statistics) -> Result<Option<gst::Buffer>, StreamError> {
        let Some(Waiting { mut buffer, reference_pts }) = self.waiting.pop_front() else { return Ok(None) };
        let attached = self.tracker.finish().map_err(StreamError::from).and_then(|found| {
            statistics.add(self.tracker.estimator(), Some(&found.vectors));
            self.attach(buffer.make_mut(), found, reference_pts)
        });
        if attached.is_err() {
            self.discard();
        }
        attached.map(|()| Some(buffer))
    }

    fn attach(
        &self,
        buffer: &mut gst::BufferRef,
        found: Found,
        reference_pts: Option<gst::ClockTime>,
    ) -> Result<(), StreamError> {
        meta::remove(buffer);
        let parameters = self.estimator().parameters();
        let grid = parameters.grid();
        let description = FieldDescription {
            width: parameters.width as u32,
            height: parameters.height as u32,
            block_width: parameters.block_size as u32,
            block_height: parameters.block_size as u32,
            columns: grid.columns as u32,
            rows: grid.rows as u32,
            reference_offset: -1,
            reference_pts,
            metric: parameters.metric,
        };
        let vectors = glib::Bytes::from_owned(found.vectors);
        let predictors = found.predictors.map(glib::Bytes::from_owned);
        Ok(meta::attach_predicted(buffer, &description, vectors, predictors)?)
    }
}

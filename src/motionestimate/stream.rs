//! The frames of a stream from one caps to the next, and the buffers that wait for their vectors.

use std::collections::VecDeque;

use gst::prelude::*;

use super::MotionEstimateOnDeviceFailure;
use super::memory::Allocator;
use super::settings::Settings;
use super::statistics::Statistics;
use super::tracker::{Found, Tracker};
use crate::estimator::{EstimateError, Estimator, Notice};
use crate::meta::{self, Extras, FieldDescription, MetaError, RowDevices};
use crate::video::frame::{PlaneError, luma};

/// Why a buffer gets no vectors that should.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The buffer cannot be mapped as a frame.
    #[error("{0}")]
    Frame(#[from] glib::BoolError),
    /// Its luma plane cannot be read.
    #[error("it has {0}")]
    Luma(#[from] PlaneError),
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
    /// Timestamp of the reference frame.
    reference_pts: Option<gst::ClockTime>,
    /// One a search in flight, oldest first.
    waiting: VecDeque<Waiting>,
    /// Whose memory is uploaded without a copy, where there is such.
    allocator: Option<Allocator>,
    /// The pool of the last buffer, and how many of its buffers may wait.
    pool: Option<(glib::WeakRef<gst::BufferPool>, usize)>,
    /// How many buffers downstream asks of a pool for itself.
    needed_downstream: usize,
    /// The buffer that left last, where its samples are needed though it is downstream: should the
    /// device fail, another finds the frame before in it.
    reference: Option<gst::Buffer>,
}

impl Stream {
    pub fn new(info: gst_video::VideoInfo, settings: Settings, estimator: Box<dyn Estimator>) -> Self {
        let waiting = VecDeque::with_capacity(estimator.depth());
        let allocator = estimator.host_memory().map(Allocator::new);
        let tracker = Tracker::new(estimator);
        let (pool, reference, reference_pts, needed_downstream) = (None, None, None, 0);
        Self {
            info,
            settings,
            tracker,
            reference_pts,
            waiting,
            allocator,
            pool,
            needed_downstream,
            reference,
        }
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

    /// What the estimator has to tell.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.tracker.take_notices()
    }

    /// How many buffers wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many may wait, once all that is ready has left.
    pub fn may_wait(&self) -> usize {
        let most = self.pool.as_ref().map_or(usize::MAX, |(_, most)| *most);
        most.min(self.estimator().depth() - 1)
    }

    /// Whether the buffer that left last may be held too: not where its pool has too few.
    fn may_hold(&self) -> bool {
        self.pool.as_ref().is_none_or(|(_, most)| *most >= self.estimator().depth())
    }

    /// Holds no buffer that does not wait, as upstream wants them back.
    pub fn let_go(&mut self) {
        if self.reference.take().is_some() {
            self.tracker.copy_samples();
        }
    }

    /// Adds to downstream's answer to an ALLOCATION query what this element needs: memory that is
    /// uploaded without a copy, and a buffer more for each that waits, or is held for the device's
    /// failure. Returns whether there is anything of it.
    ///
    /// A pool or an allocator of downstream's that is no plain system memory stays: it knows why.
    pub fn propose_allocation(&mut self, query: &mut gst::query::Allocation) -> bool {
        let pools: Vec<_> = query.allocation_pools().collect();
        self.needed_downstream = pools.first().map_or(0, |&(_, _, least, _)| least as usize);
        self.pool = None;
        let is_plain = pools.first().is_none_or(|(pool, ..)| pool.as_ref().is_none_or(is_plain_pool));
        let first = query.allocation_params().next();
        let is_system = |allocator: &gst::Allocator| gst::Allocator::find(None).as_ref() == Some(allocator);
        let is_free = first.as_ref().is_none_or(|(allocator, _)| allocator.as_ref().is_none_or(is_system));
        let allocator = self.allocator.as_ref().filter(|_| is_plain && is_free);
        match (allocator, first) {
            (Some(_), Some((_, params))) => query.set_nth_allocation_param(0, allocator, params),
            (Some(_), None) => query.add_allocation_param(allocator, gst::AllocationParams::default()),
            (None, _) => (),
        }
        let is_kept = self.settings.on_device_failure == MotionEstimateOnDeviceFailure::Native;
        let held = self.estimator().depth() as u32 - 1 + u32::from(allocator.is_some() && is_kept);
        for (index, (pool, size, least, most)) in pools.iter().enumerate() {
            let least = (least + held).min(if *most == 0 { u32::MAX } else { *most });
            query.set_nth_allocation_pool(index as u32, pool.as_ref(), *size, least, *most);
        }
        let is_asked = allocator.is_some() || held > 0;
        if pools.is_empty() && is_asked {
            // Upstream makes a pool of its own, of the memory above: without this line it might
            // allocate every buffer.
            query.add_allocation_pool(None::<&gst::BufferPool>, self.info.size() as u32, held, 0);
        }
        is_asked
    }

    /// Notes how many buffers of the pool of `buffer` may wait. Where its number is limited, one
    /// must be left for upstream to write to, and as many as downstream needs, one at least: else
    /// all would wait for the one that does not come.
    fn note_pool(&mut self, buffer: &gst::BufferRef) {
        // SAFETY: the pool of a buffer in use is alive.
        let pool: Option<gst::BufferPool> =
            unsafe { glib::translate::from_glib_none((*buffer.as_ptr()).pool) };
        let Some(pool) = pool else { return self.pool = None };
        if self.pool.as_ref().is_some_and(|(known, _)| known.upgrade().as_ref() == Some(&pool)) {
            return;
        }
        let most = pool.config().params().map_or(0, |(_, _, _, most)| most as usize);
        let needed = 1 + self.needed_downstream.max(1);
        let may_wait = if most == 0 { usize::MAX } else { most.saturating_sub(needed) };
        self.pool = Some((pool.downgrade(), may_wait));
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
        let allocator = estimator.host_memory().map(Allocator::new);
        let tracker = self.tracker.with_estimator(estimator)?;
        Ok(Self { settings, tracker, waiting, allocator, pool: None, reference: None, ..self })
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.tracker.forget();
        if self.waiting.is_empty() {
            self.reference = None;
        }
    }

    /// Drops the buffers that wait, and forgets the reference.
    pub fn discard(&mut self) {
        self.tracker.cancel();
        self.waiting.clear();
        self.reference = None;
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
            self.forget();
        }
        let begun = begun?;
        let reference_pts = std::mem::replace(&mut self.reference_pts, buffer.pts());
        if begun {
            self.note_pool(&buffer);
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
        let may_hold = self.may_hold();
        let attached = self.tracker.finish(may_hold).map_err(StreamError::from).and_then(|found| {
            statistics.add(self.tracker.estimator(), Some(&found.vectors));
            let is_needed = found.needs_samples;
            self.attach(buffer.make_mut(), found, reference_pts).map(|()| is_needed)
        });
        match attached {
            Ok(is_needed) => {
                self.reference = is_needed.then(|| buffer.clone());
                Ok(Some(buffer))
            }
            Err(error) => {
                self.discard();
                Err(error)
            }
        }
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
        let extras = Extras { predictors, devices: self.row_devices(found.row_devices) };
        Ok(meta::attach(buffer, &description, vectors, extras)?)
    }

    /// Who found each row of blocks, by the numbers in `rows`; `None` where there are none.
    fn row_devices(&self, rows: Vec<u8>) -> Option<RowDevices> {
        /// More devices a byte does not tell apart.
        const MOST: usize = 256;
        if rows.is_empty() {
            return None;
        }
        let mut shares = Vec::new();
        self.estimator().shares(&mut shares);
        let names: Vec<_> = shares.into_iter().map(|share| share.device).collect();
        (names.len() <= MOST).then(|| RowDevices::new(names, glib::Bytes::from_owned(rows)).ok())?
    }
}

/// Whether buffers of `pool` may as well be of another memory.
fn is_plain_pool(pool: &gst::BufferPool) -> bool {
    let is_plain = ["GstBufferPool", "GstVideoBufferPool"].contains(&pool.type_().name());
    is_plain && pool.config().allocator().is_none_or(|(allocator, _)| allocator.is_none())
}

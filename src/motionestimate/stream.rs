//! The frames of a stream from one caps to the next, and the buffers that wait for their vectors.

use gst::prelude::*;

use super::memory::{Allocator, handle_of};
use super::settings::Settings;
use super::statistics::Statistics;
use crate::estimator::{EstimateError, Notice, Output, Slot};
use crate::meta::{self, Extras, FieldDescription, MetaError, RowDevices};
use crate::session::Session;
use crate::video::frame::{PlaneError, luma};

/// Why a buffer does not get its vectors.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The luma plane of the buffer cannot be read.
    #[error("it has {0}")]
    Luma(#[from] PlaneError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
    /// The vectors cannot be attached.
    #[error(transparent)]
    Attach(#[from] MetaError),
}

/// A buffer whose search is in flight.
pub struct Waiting {
    buffer: gst::Buffer,
    reference_pts: Option<gst::ClockTime>,
}

/// What holds from one caps to the next.
pub struct Stream {
    info: gst_video::VideoInfo,
    /// The settings with which `session` was opened.
    settings: Settings,
    session: Session<Waiting>,
    /// The slot of the previous frame, if the next one is to be searched in it, and its timestamp.
    reference: Option<(Slot, Option<gst::ClockTime>)>,
    /// Gives out memory from which the device loads frames without a copy, if it has such memory.
    allocator: Option<Allocator>,
    /// The pool of the last buffer, and how many of its buffers may wait.
    pool: Option<(glib::WeakRef<gst::BufferPool>, usize)>,
    /// The number of buffers that downstream needs of a pool for itself.
    needed_downstream: usize,
}

impl Stream {
    pub fn new(info: gst_video::VideoInfo, settings: Settings, session: Session<Waiting>) -> Self {
        Self {
            info,
            settings,
            allocator: session.host_memory().map(Allocator::new),
            session,
            reference: None,
            pool: None,
            needed_downstream: 0,
        }
    }

    pub fn info(&self) -> &gst_video::VideoInfo {
        &self.info
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn session(&self) -> &Session<Waiting> {
        &self.session
    }

    /// What has happened in the session since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// The number of buffers that wait.
    pub fn waiting(&self) -> usize {
        self.session.in_flight()
    }

    /// The number of buffers that may wait after one that is ready has left.
    pub fn may_wait(&self) -> usize {
        let most = self.pool.as_ref().map_or(usize::MAX, |(_, most)| *most);
        most.min(self.session.depth() - 1)
    }

    /// Holds no buffer any more that does not wait, because upstream needs it back.
    pub fn release_buffers(&mut self) {
        self.session.own_frames();
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
        let held = self.session.depth() as u32 - 1 + u32::from(self.session.keeps_frames());
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

    /// Continues with `session`, opened with `settings`: the reference frame moves to it, unless the devices of this
    /// session only had its upper eight bits and the other one needs them all. No buffer may wait.
    ///
    /// # Errors
    /// What either session reports.
    pub fn with_session(
        mut self,
        settings: Settings,
        mut session: Session<Waiting>,
    ) -> Result<Self, EstimateError> {
        let mut reference = None;
        if let Some((slot, pts)) = self.reference
            && let Some(frame) = self.session.unload(slot)?
            && frame.view().check(session.parameters()).is_ok()
        {
            reference = Some((session.add(frame)?, pts));
        }
        Ok(Self { reference, ..Self::new(self.info, settings, session) })
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.reference = None;
        self.session.release_frames();
    }

    /// Drops the buffers that wait, and forgets the reference.
    pub fn discard(&mut self) {
        self.session.cancel();
        self.forget();
    }

    /// Takes `buffer`: it waits while its search is in flight, or is returned if there is no reference.
    ///
    /// # Errors
    /// [`StreamError`]. The buffer is dropped and there is no reference then; the buffers before it still
    /// wait.
    pub fn submit(
        &mut self,
        mut buffer: gst::Buffer,
        statistics: &mut Statistics,
    ) -> Result<Option<gst::Buffer>, StreamError> {
        self.note_pool(&buffer);
        let reference = self.reference.take();
        let block = (buffer.n_memory() == 1).then(|| handle_of(buffer.peek_memory(0))).flatten();
        let current = self.session.add(luma(&buffer, &self.info, block)?)?;
        let pts = buffer.pts();
        let returned = match reference {
            Some((slot, reference_pts)) => {
                self.session.begin(current, slot, Waiting { buffer, reference_pts })?;
                self.session.release(slot);
                None
            }
            None => {
                statistics.add_frame();
                if meta::is_attached(&buffer) {
                    meta::remove(buffer.make_mut());
                }
                Some(buffer)
            }
        };
        self.reference = Some((current, pts));
        Ok(returned)
    }

    /// The buffer that has waited longest, with its vectors; `None` if none waits.
    ///
    /// # Errors
    /// [`StreamError`]. No buffer waits any more and there is no reference then.
    pub fn finish(&mut self, statistics: &mut Statistics) -> Result<Option<gst::Buffer>, StreamError> {
        if self.waiting() == 0 {
            return Ok(None);
        }
        let finished = self.session.finish().map_err(StreamError::from);
        let attached = finished.and_then(|(Waiting { mut buffer, reference_pts }, output)| {
            statistics.add(&self.session, &output);
            self.attach(buffer.make_mut(), output, reference_pts).map(|()| buffer)
        });
        if attached.is_err() {
            self.discard();
        } else if self.pool.as_ref().is_some_and(|(_, most)| *most < self.session.depth()) {
            // Its pool has too few buffers for one more that is held.
            self.release_buffers();
        }
        attached.map(Some)
    }

    fn attach(
        &self,
        buffer: &mut gst::BufferRef,
        output: Output,
        reference_pts: Option<gst::ClockTime>,
    ) -> Result<(), StreamError> {
        meta::remove(buffer);
        let parameters = self.session.parameters();
        let grid = parameters.grid();
        let description = FieldDescription {
            width: parameters.width as u32,
            height: parameters.height as u32,
            block_width: parameters.block_size as u32,
            block_height: parameters.block_size as u32,
            columns: grid.columns as u32,
            rows: grid.rows as u32,
            scale: parameters.algorithm.scale() as u32,
            reference_offset: -1,
            reference_pts,
            metric: parameters.metric_of_costs(),
            bit_depth: parameters.bit_depth,
        };
        let vectors = glib::Bytes::from_owned(output.vectors);
        let predictors = output.predictors.map(glib::Bytes::from_owned);
        let extras = Extras { predictors, devices: self.row_devices(output.row_devices) };
        Ok(meta::attach(buffer, &description, vectors, extras)?)
    }

    /// Who found each row of blocks, by the numbers in `rows`; `None` where there are none.
    fn row_devices(&self, rows: Vec<u8>) -> Option<RowDevices> {
        /// More devices a byte does not tell apart.
        const MOST: usize = 256;
        if rows.is_empty() {
            return None;
        }
        let names: Vec<_> = self.session.shares().into_iter().map(|share| share.device).collect();
        (names.len() <= MOST).then(|| RowDevices::new(names, glib::Bytes::from_owned(rows)).ok())?
    }
}

/// Whether buffers of `pool` may as well be of another memory.
fn is_plain_pool(pool: &gst::BufferPool) -> bool {
    let is_plain = ["GstBufferPool", "GstVideoBufferPool"].contains(&pool.type_().name());
    is_plain && pool.config().allocator().is_none_or(|(allocator, _)| allocator.is_none())
}

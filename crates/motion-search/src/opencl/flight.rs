//! Searches in flight: their queues, and the way of their vectors to the host.
//!
//! ```text
//! Request ─▶ SearchPlan ─▶ FamilyRequest, to the KernelFamily ──────────────────────────┐
//!            BegunSearch: it is in flight                                              │
//! vectors ◀─ FieldRoom: its memory on the host ◀─ QueuedSearch: it is on the device ◀──┘
//! ```

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frame::{FrameSlots, Geometry};
use super::kernel_family::{FamilyRequest, KernelFamily, SearchBuffers};
use crate::estimator::{DeviceInfo, MotionVector, Request, SetupError, Slot, StageTimes};
use motion_base::pace::{self, PATIENCE, Pace};
use motion_gpu::context::Context;
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Buffer, Event, Queue, QueueKind};
use motion_gpu::watch::Watch;

/// Command queues. Each runs its commands in order, beside those of the others.
pub(super) struct Queues {
    /// Slots are divided among them.
    uploads: Vec<Arc<Queue>>,
    /// Used in turn.
    searches: Vec<Arc<Queue>>,
    pub(super) download: Arc<Queue>,
}

impl Queues {
    /// One queue for all if one search is in flight at a time; else a queue each for uploads, searches and
    /// downloads, and several for searches that are independent: one search then fills the units that another one leaves
    /// idle.
    ///
    /// Commands that record their times take the driver longer: those of several searches in flight do not.
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        depth: usize,
        are_independent: bool,
    ) -> Result<Self, SetupError> {
        let queue = || -> Result<Arc<Queue>, SetupError> {
            let kind = if depth == 1 { QueueKind::Timed } else { QueueKind::Ordered };
            context.queue(kind).map(Arc::new).map_err(|error| device.refused(error))
        };
        let search = queue()?;
        if depth == 1 {
            return Ok(Self {
                uploads: vec![search.clone()],
                download: search.clone(),
                searches: vec![search],
            });
        }
        let count = if are_independent { context.search_queues().min(depth) } else { 1 };
        let others = (1..count).map(|_| queue());
        let searches = iter::once(Ok(search)).chain(others).collect::<Result<_, SetupError>>()?;
        let uploads = (0..context.upload_queues()).map(|_| queue()).collect::<Result<_, SetupError>>()?;
        Ok(Self { uploads, searches, download: queue()? })
    }

    /// The queue on which frames are loaded into `slot`.
    pub(super) fn upload(&self, slot: Slot) -> &Arc<Queue> {
        &self.uploads[slot.index() % self.uploads.len()]
    }

    /// The queue of search number `turn`.
    pub(super) fn search(&self, turn: usize) -> &Arc<Queue> {
        &self.searches[self.search_number(turn)]
    }

    /// The number of that queue among those of searches.
    pub(super) fn search_number(&self, turn: usize) -> usize {
        turn % self.searches.len()
    }

    /// Waits, `limit` long, until no command runs any more. Returns the first error of a search.
    pub(super) fn wait_for_all(&self, watch: &Watch, limit: Duration) -> launcher::Result<()> {
        // Errors of uploads and downloads are reported where their events are waited for.
        for upload in &self.uploads {
            let _ = watch.wait_for_queue(upload, limit);
        }
        let searched = self.searches.iter().map(|queue| watch.wait_for_queue(queue, limit));
        let searched = searched.fold(Ok(()), launcher::Result::and);
        let _ = watch.wait_for_queue(&self.download, limit);
        searched.and_then(|()| watch.check())
    }
}

/// A search on the device.
struct QueuedSearch {
    /// Done when both frames are on the device and the search is the next one on its queue.
    started: Event,
    found: Event,
    /// Done when the vectors are on the host.
    read: Event,
}

/// Where the vectors of one search are: on the device, and where they arrive on the host.
struct FieldRoom {
    device: Buffer,
    host: PinnedBlock,
    /// The search whose vectors they are.
    queued: Option<QueuedSearch>,
}

/// What to search.
#[derive(Clone)]
pub(super) struct SearchPlan {
    pub(super) request: Request,
    /// The number of blocks that are searched.
    pub(super) blocks: usize,
    /// The number of blocks at the start whose vectors are not wanted.
    pub(super) skipped: usize,
    /// How much of a whole search that is, 0 to 1.
    pub(super) share: f64,
    /// See [`SearchBuffers::history`].
    pub(super) history: usize,
    pub(super) geometry: Geometry,
    /// See [`FamilyRequest::displacements`].
    pub(super) displacements: Range<usize>,
}

/// A search in flight.
pub(super) struct BegunSearch {
    pub(super) plan: SearchPlan,
    room: usize,
    begun: Instant,
}

/// Starts searches and collects their vectors.
pub(super) struct Searches {
    /// One for each search in flight, used in turn.
    rooms: Vec<FieldRoom>,
    /// The number of searches begun so far.
    begun: usize,
    /// When the previous search was done, by the device's clock.
    searched: Option<u64>,
    /// When its vectors were on the host.
    arrived: Option<Instant>,
    watch: Arc<Watch>,
    pace: Pace,
    /// The absolute differences of a whole search.
    differences: f64,
    /// How long a search may take at least before the device counts as lost.
    pub(super) patience: Duration,
    pub(super) family: Box<dyn KernelFamily>,
    pub(super) queues: Queues,
}

impl Searches {
    /// Room for the searches in flight that `info` announces.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        family: Box<dyn KernelFamily>,
        queues: Queues,
        info: &DeviceInfo,
    ) -> Result<Self, SetupError> {
        let bytes = size_of::<MotionVector>() * info.parameters.grid().blocks();
        let room = |_| {
            Ok(FieldRoom {
                device: device.buffer(context, "the vectors", bytes)?,
                host: PinnedBlock::new(context, device, queues.search(0), bytes)?,
                queued: None,
            })
        };
        Ok(Self {
            rooms: (0..info.depth).map(room).collect::<Result<_, SetupError>>()?,
            begun: 0,
            searched: None,
            arrived: None,
            watch: context.watch().clone(),
            pace: Pace::default(),
            differences: pace::differences(&info.parameters),
            patience: PATIENCE,
            family,
            queues,
        })
    }

    /// Starts a search: queues it and the download of its vectors. After an error, some of it may be running.
    pub(super) fn start_search(
        &mut self,
        plan: SearchPlan,
        slots: &FrameSlots,
    ) -> launcher::Result<BegunSearch> {
        self.watch.check()?;
        let Self { rooms, begun: turn, family, queues, .. } = self;
        let (room, begun) = (*turn % rooms.len(), Instant::now());
        let FieldRoom { device, host, queued } = &mut rooms[room];
        *queued = None;
        let (queue, queue_number) = (&**queues.search(*turn), queues.search_number(*turn));
        let frame = |slot| slots.get(slot).ok_or(launcher::Error::NO_FRAME);
        let SearchPlan { request, history, geometry, displacements, .. } = &plan;
        let displacements = displacements.clone();
        let [current, reference] = [frame(request.current)?, frame(request.reference)?];
        let started = queue.barrier(&[current.1, reference.1])?;
        let buffers =
            SearchBuffers { current: current.0, reference: reference.0, vectors: device, history: *history };
        family.queue_search(&FamilyRequest { queue, queue_number, buffers, geometry, displacements })?;
        let found = queue.marker()?;
        queue.flush()?;
        let bytes = (size_of::<MotionVector>() * plan.blocks).min(host.bytes());
        // SAFETY: the host's block has at least `bytes`. It lives as long as the device, which waits for its queues, and it
        // is not read before the event is done.
        let read = unsafe { queues.download.begin_read(device, host.target(), bytes, &found)? };
        queues.download.flush()?;
        *queued = Some(QueuedSearch { started, found, read });
        *turn = turn.wrapping_add(1);
        Ok(BegunSearch { plan, room, begun })
    }

    /// How long the oldest search may take from now on.
    pub(super) fn allowed(&self) -> Duration {
        self.pace.allowed(self.patience, self.differences)
    }

    /// Waits for `search`, the oldest one, as long as it may take, and copies its vectors, as many as
    /// `vectors` holds. Returns how long the stages took.
    pub(super) fn finish_search(
        &mut self,
        search: &BegunSearch,
        vectors: &mut [MotionVector],
        slots: &FrameSlots,
    ) -> launcher::Result<StageTimes> {
        let Some(queued) = self.rooms[search.room].queued.take() else {
            return Err(launcher::Error::NO_FRAME);
        };
        let (allowed, waiting) = (self.allowed(), Instant::now());
        self.watch.wait(&queued.read, allowed)?;
        [&queued.started, &queued.found].into_iter().try_for_each(Event::check)?;
        let arrived = Instant::now();
        self.copy_vectors(search, vectors);
        let times = self.times(search, &queued, slots, arrived);
        // Other work may have had the device, or the host may have waited late: the longer time counts.
        self.pace.count(search.plan.share, (arrived - waiting).max(times.search));
        Ok(times)
    }

    /// Copies the vectors of `search`, whose download is done.
    fn copy_vectors(&self, search: &BegunSearch, vectors: &mut [MotionVector]) {
        // SAFETY: the download is done, and the device writes here again only for a later search.
        let bytes = unsafe { self.rooms[search.room].host.as_slice() };
        let vectors = bytemuck::cast_slice_mut(vectors);
        vectors.copy_from_slice(&bytes[search.plan.skipped * size_of::<MotionVector>()..][..vectors.len()]);
    }

    /// How long the stages of `search` took, whose vectors were on the host at `arrived` and have been copied.
    fn times(
        &mut self,
        search: &BegunSearch,
        QueuedSearch { started, found, read }: &QueuedSearch,
        slots: &FrameSlots,
        arrived: Instant,
    ) -> StageTimes {
        let Request { current, reference, .. } = search.plan.request;
        let found = found.ended();
        let previous = std::mem::replace(&mut self.searched, found);
        let ready = [current, reference].into_iter().filter_map(|slot| slots.get(slot)?.1.ended()).max();
        // Some drivers note when a barrier was next in its queue, not when it was passed.
        let start = started.ended().max(ready).max(previous);
        // Without the device's clock, everything counts as search since it was begun and the search before was over.
        let previous_arrived = self.arrived.replace(arrived);
        let begun = previous_arrived.map_or(search.begun, |previous| previous.max(search.begun));
        StageTimes {
            search: launcher::between(start, found)
                .unwrap_or_else(|| arrived.saturating_duration_since(begun)),
            download: launcher::between(read.started(), read.ended()).unwrap_or_default() + arrived.elapsed(),
            ..StageTimes::default()
        }
    }

    /// Searches the current frame in the reference frame, the two `frames`, `count` times, at least 1, without waiting in
    /// between. Returns the time of one search.
    pub(super) fn time_searches(
        &mut self,
        [current, reference]: [&Buffer; 2],
        geometry: &Geometry,
        count: u32,
    ) -> launcher::Result<Duration> {
        self.queues.wait_for_all(&self.watch, Duration::MAX)?;
        let start = Instant::now();
        for turn in 0..count.max(1) as usize {
            let vectors = &self.rooms[turn % self.rooms.len()].device;
            self.family.queue_search(&FamilyRequest {
                queue: self.queues.search(turn),
                queue_number: self.queues.search_number(turn),
                buffers: SearchBuffers { current, reference, vectors, history: 0 },
                geometry,
                displacements: 0..geometry.candidates(),
            })?;
        }
        self.queues.wait_for_all(&self.watch, Duration::MAX)?;
        Ok(start.elapsed() / count.max(1))
    }

    /// Forgets all searches. None may be running.
    pub(super) fn clear(&mut self) {
        (self.searched, self.arrived) = (None, None);
    }
}

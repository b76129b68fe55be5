//! Searches in flight: their queues, and the way of their vectors to the host.

use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cl::{self, Buffer, Event, Queue};
use super::context::Context;
use super::device::OpenClDevice;
use super::frame::Geometry;
use super::host::PinnedBlock;
use super::kernel_family::{KernelFamily, LaunchRequest, SEARCH_QUEUES};
use super::watch::Watch;
use crate::estimator::{DeviceInfo, MotionVector, SetupError, StageTimes};
use crate::pace::{self, PATIENCE, Pace};

/// Command queues. Each runs its commands in order, beside those of the others.
pub(super) struct Queues {
    pub(super) upload: Arc<Queue>,
    /// Used in turn.
    searches: Vec<Arc<Queue>>,
    pub(super) download: Arc<Queue>,
}

impl Queues {
    /// One queue for all if one search is in flight at a time; else a queue each for uploads, searches and
    /// downloads, and two for searches that are independent: the first work-groups of one search then fill
    /// the units that the last ones of the search before leave idle.
    ///
    /// Commands that record their times take the driver longer: those of several searches in flight do not.
    pub(super) fn new(
        context: &Context,
        device: &OpenClDevice,
        depth: usize,
        are_independent: bool,
    ) -> Result<Self, SetupError> {
        let queue = || {
            let device_queue = match depth == 1 {
                true => context.timed_queue(device.raw()),
                false => context.queue(device.raw()),
            };
            device_queue.map(Arc::new).map_err(|error| device.refused(error))
        };
        let search = queue()?;
        if depth == 1 {
            return Ok(Self { upload: search.clone(), download: search.clone(), searches: vec![search] });
        }
        let count = if are_independent { SEARCH_QUEUES } else { 1 };
        let others = (1..count).map(|_| queue());
        let searches = iter::once(Ok(search)).chain(others).collect::<Result<_, SetupError>>()?;
        Ok(Self { upload: queue()?, searches, download: queue()? })
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
    pub(super) fn finish(&self, watch: &Watch, limit: Duration) -> cl::Result<()> {
        // Errors of uploads and downloads are reported where their events are waited for.
        let _ = watch.finish(&self.upload, limit);
        let searched = self.searches.iter().map(|queue| watch.finish(queue, limit));
        let searched = searched.fold(Ok(()), cl::Result::and);
        let _ = watch.finish(&self.download, limit);
        searched.and_then(|()| watch.check())
    }
}

/// Where the vectors of one search are: on the device, and where they arrive on the host.
struct FieldRoom {
    device: Buffer,
    host: PinnedBlock,
}

/// A search in flight: its room, and how far it is.
pub(super) struct QueuedSearch {
    room: usize,
    /// How much of a whole search it is, 0 to 1.
    share: f64,
    skipped: usize,
    begun: Instant,
    /// Done when both frames are on the device and the search is the next one on its queue.
    started: Event,
    found: Event,
    /// Done when the vectors are on the host.
    read: Event,
}

/// Begins searches and collects their vectors.
pub(super) struct Searches {
    /// One for each search in flight, used in turn.
    rooms: Vec<FieldRoom>,
    /// The number of searches begun so far.
    begun: usize,
    /// When the previous search was done, by the device's clock.
    searched: Option<u64>,
    /// When its vectors were on the host.
    copied: Option<Instant>,
    watch: Arc<Watch>,
    pace: Pace,
    /// The absolute differences of a whole search.
    differences: f64,
    /// How long a search may take at least before the device counts as lost.
    pub(super) patience: Duration,
}

impl Searches {
    /// Room for the searches in flight that `info` announces. `queue` maps memory on the host.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        queue: &Arc<Queue>,
        info: &DeviceInfo,
    ) -> Result<Self, SetupError> {
        let bytes = size_of::<MotionVector>() * info.parameters.grid().blocks();
        let room = |_| {
            Ok(FieldRoom {
                device: device.buffer(context, "the vectors", bytes)?,
                host: PinnedBlock::new(context, device, queue, bytes)?,
            })
        };
        Ok(Self {
            rooms: (0..info.depth).map(room).collect::<Result<_, SetupError>>()?,
            begun: 0,
            searched: None,
            copied: None,
            watch: context.watch().clone(),
            pace: Pace::default(),
            differences: pace::differences(&info.parameters),
            patience: PATIENCE,
        })
    }

    /// Queues a search and the download of its vectors, one flush each. After an error, some of it may be
    /// running.
    pub(super) fn begin(
        &mut self,
        queues: &Queues,
        family: &mut dyn KernelFamily,
        pair: FramePair<'_>,
    ) -> cl::Result<QueuedSearch> {
        self.watch.check()?;
        let room_index = self.begun % self.rooms.len();
        let room = &mut self.rooms[room_index];
        let begun = Instant::now();
        let FramePair { current, reference, blocks, skipped, share, geometry } = pair;
        let queue = &**queues.search(self.begun);
        let started = queue.barrier([current.1, reference.1])?;
        family.queue(&LaunchRequest {
            queue,
            queue_number: queues.search_number(self.begun),
            current: current.0,
            reference: reference.0,
            vectors: &room.device,
            geometry,
        })?;
        let found = queue.marker()?;
        queue.flush()?;
        let bytes = (size_of::<MotionVector>() * blocks).min(room.host.bytes());
        // SAFETY: the host's block has at least `bytes`. It lives as long as the device, which waits for its
        // queues, and it is not read before the event is done.
        let read = unsafe { queues.download.begin_read(&room.device, room.host.target(), bytes, &found)? };
        queues.download.flush()?;
        self.begun = self.begun.wrapping_add(1);
        Ok(QueuedSearch { room: room_index, share, skipped, begun, started, found, read })
    }

    /// How long the oldest search may take from now on.
    pub(super) fn allowed(&self) -> Duration {
        self.pace.allowed(self.patience, self.differences)
    }

    /// Waits for `flight`, the oldest search, as long as it may take, and copies its vectors, as many as
    /// `vectors` holds. Both frames were on the device at `ready`, by the device's clock.
    ///
    /// Returns how long the stages took.
    pub(super) fn finish(
        &mut self,
        flight: QueuedSearch,
        vectors: &mut [MotionVector],
        ready: impl FnOnce() -> Option<u64>,
    ) -> cl::Result<StageTimes> {
        let (allowed, waiting) = (self.allowed(), Instant::now());
        self.watch.wait(&flight.read, allowed)?;
        let copied = Instant::now();
        let previous_copied = self.copied.replace(copied);
        // SAFETY: the download is done, and the device writes here again only for a later search.
        let bytes = unsafe { self.rooms[flight.room].host.as_slice() };
        let vectors = bytemuck::cast_slice_mut(vectors);
        vectors.copy_from_slice(&bytes[flight.skipped * size_of::<MotionVector>()..][..vectors.len()]);
        let found = flight.found.ended();
        let previous = std::mem::replace(&mut self.searched, found);
        // Some drivers note when a barrier was next in its queue, not when it was passed.
        let start = flight.started.ended().max(ready()).max(previous);
        // Without the device's clock, everything counts as search since it was begun and the search before was over.
        let begun = previous_copied.map_or(flight.begun, |previous| previous.max(flight.begun));
        let times = StageTimes {
            search: cl::between(start, found).unwrap_or_else(|| copied.saturating_duration_since(begun)),
            download: cl::between(flight.read.started(), flight.read.ended()).unwrap_or_default()
                + copied.elapsed(),
            ..StageTimes::default()
        };
        // Other work may have had the device, or the host may have waited late: the longer time counts.
        self.pace.count(flight.share, (copied - waiting).max(times.search));
        Ok(times)
    }

    /// The vectors on the device of the search that is begun `turn` searches after the next one.
    pub(super) fn vectors(&self, turn: usize) -> &Buffer {
        &self.rooms[(self.begun + turn) % self.rooms.len()].device
    }

    /// Forgets the previous search. No search may be running.
    pub(super) fn clear(&mut self) {
        (self.searched, self.copied) = (None, None);
    }
}

/// Two frames on the device, each with the event that tells when it is there, and what to search.
pub(super) struct FramePair<'a> {
    pub(super) current: (&'a Buffer, &'a Event),
    pub(super) reference: (&'a Buffer, &'a Event),
    /// The number of blocks that are searched.
    pub(super) blocks: usize,
    /// The number of blocks at the start whose vectors are not wanted.
    pub(super) skipped: usize,
    /// How much of a whole search that is, 0 to 1.
    pub(super) share: f64,
    pub(super) geometry: &'a Geometry,
}

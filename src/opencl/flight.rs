//! Searches in flight: where the vectors of each are on the device, and where they arrive on the
//! host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cl::{self, Buffer, Event, Queue};
use super::context::Context;
use super::device::Device;
use super::frame::{Geometry, buffer};
use super::host::Block;
use super::kernel_family::{KernelFamily, LaunchRequest};
use super::prediction::Prediction;
use super::watch::Watch;
use crate::estimator::pace::{self, PATIENCE, Pace};
use crate::estimator::{MotionVector, Parameters, Predictor, SetupError, StageTimes};

/// Queues, each in order: what is on one goes on beside what is on the others.
pub(super) struct Queues {
    pub(super) upload: Arc<Queue>,
    /// Taken in turn.
    searches: Vec<Arc<Queue>>,
    pub(super) download: Arc<Queue>,
}

impl Queues {
    /// One queue for each of upload, search and download; where one search at a time leaves nothing to
    /// go on beside another, one in all. Where searches need not wait for each other, two for them:
    /// the first work-groups of one then fill the units that the last of another leave idle.
    pub(super) fn new(
        context: &Context,
        device: &Device,
        depth: usize,
        are_independent: bool,
    ) -> Result<Self, SetupError> {
        let queue = || context.timed_queue(device.raw()).map(Arc::new).map_err(|error| device.refused(error));
        let search = queue()?;
        if depth == 1 {
            return Ok(Self { upload: search.clone(), download: search.clone(), searches: vec![search] });
        }
        let searches = if are_independent { vec![search, queue()?] } else { vec![search] };
        Ok(Self { upload: queue()?, searches, download: queue()? })
    }

    /// The queue of search number `turn`.
    pub(super) fn search(&self, turn: usize) -> &Arc<Queue> {
        &self.searches[turn % self.searches.len()]
    }

    /// Waits, `limit` long, until nothing runs any more, be it for an error: the first of those of
    /// searches.
    pub(super) fn finish(&self, watch: &Watch, limit: Duration) -> cl::Result<()> {
        // Which error it was, whoever waits for an event is told.
        let _ = watch.finish(&self.upload, limit);
        let searched = self.searches.iter().map(|queue| watch.finish(queue, limit));
        let searched = searched.fold(Ok(()), cl::Result::and);
        let _ = watch.finish(&self.download, limit);
        searched.and_then(|()| watch.check())
    }
}

/// Records of one kind, one a block: on the device, and where they arrive on the host.
struct Records {
    device: Buffer,
    host: Block,
}

impl Records {
    /// Begins to bring the first `bytes` of them, all or fewer, to the host, once `after` is done.
    fn begin_read(&mut self, queue: &Queue, bytes: usize, after: &Event) -> cl::Result<Event> {
        let bytes = bytes.min(self.host.bytes());
        // SAFETY: there are at least as many bytes, as long as the estimator lives, which waits for its
        // queues; they are not read before the event is done, as `Flight::events` keeps it.
        unsafe { queue.begin_read(&self.device, self.host.target(), bytes, after) }
    }
}

/// What tells how far a search is.
struct Events {
    is_whole: bool,
    /// How much of a search it is.
    share: f64,
    skipped: usize,
    begun: Instant,
    /// Both frames are there, and nothing before it is on its queue.
    started: Event,
    found: Event,
    predicted: Option<Event>,
    /// Vectors and predictors are on the host.
    read: Event,
}

/// Room for a search, and the search in it.
struct Flight {
    vectors: Records,
    predictors: Option<Records>,
    /// `None` where none has begun.
    events: Option<Events>,
}

/// Room for searches in flight and for the field found last, used in turn.
pub(super) struct Ring {
    flights: Vec<Flight>,
    /// The room for the next search.
    next: usize,
    /// The room of the oldest search in flight.
    oldest: usize,
    /// The room of the field found last.
    last: Option<usize>,
    /// How many searches were begun.
    begun: usize,
    /// When the search before was done, by the device's clock.
    searched: Option<u64>,
    watch: Arc<Watch>,
    pace: Pace,
    /// The absolute differences of a whole search.
    differences: f64,
    /// How long a search may take at least.
    pub(super) patience: Duration,
}

impl Ring {
    pub(super) fn new(
        context: &Arc<Context>,
        device: &Device,
        queue: &Arc<Queue>,
        parameters: &Parameters,
        depth: usize,
        is_predicting: bool,
    ) -> Result<Self, SetupError> {
        let blocks = parameters.grid().blocks();
        let records = |what, bytes| {
            let (on_device, host) =
                (buffer(context, device, what, bytes)?, Block::new(context, device, queue, bytes)?);
            Ok::<_, SetupError>(Records { device: on_device, host })
        };
        let flight = |_| {
            let predictors = || records("the predictors", size_of::<Predictor>() * blocks);
            Ok(Flight {
                vectors: records("the vectors", size_of::<MotionVector>() * blocks)?,
                predictors: if is_predicting { Some(predictors()?) } else { None },
                events: None,
            })
        };
        let flights = (0..=depth).map(flight).collect::<Result<_, SetupError>>()?;
        Ok(Self {
            flights,
            next: 0,
            oldest: 0,
            last: None,
            begun: 0,
            searched: None,
            watch: context.watch().clone(),
            pace: Pace::default(),
            differences: pace::differences(parameters),
            patience: PATIENCE,
        })
    }

    /// Queues a search, its prediction and the way back of what is found: one flush each. After an
    /// error some of it may be running.
    pub(super) fn begin(
        &mut self,
        queues: &Queues,
        search: &mut dyn KernelFamily,
        prediction: Option<&mut Prediction>,
        frames: FramePair<'_>,
    ) -> cl::Result<()> {
        self.watch.check()?;
        let Flight { vectors, predictors, events } = &mut self.flights[self.next];
        let begun = Instant::now();
        let FramePair { current, reference, blocks, skipped, share, is_whole, geometry } = frames;
        let queue = &**queues.search(self.begun);
        let started = queue.barrier([current.1, reference.1])?;
        search.queue(&LaunchRequest {
            queue,
            current: current.0,
            reference: reference.0,
            vectors: &vectors.device,
            geometry,
        })?;
        let found = queue.marker()?;
        let mut predicted = None;
        let predictors = predictors.as_mut().filter(|_| is_whole);
        if let (Some(prediction), Some(predictors)) = (prediction, &predictors) {
            prediction.queue(queue, &vectors.device, &predictors.device)?;
            predicted = Some(queue.marker()?);
        }
        queue.flush()?;
        let mut read = vectors.begin_read(&queues.download, size_of::<MotionVector>() * blocks, &found)?;
        if let (Some(predictors), Some(predicted)) = (predictors, &predicted) {
            read = predictors.begin_read(&queues.download, size_of::<Predictor>() * blocks, predicted)?;
        }
        queues.download.flush()?;
        *events = Some(Events { is_whole, share, skipped, begun, started, found, predicted, read });
        self.next = (self.next + 1) % self.flights.len();
        self.begun = self.begun.wrapping_add(1);
        Ok(())
    }

    /// How long the oldest search may take from now on.
    pub(super) fn allowed(&self) -> Duration {
        self.pace.allowed(self.patience, self.differences)
    }

    /// Waits for the oldest search in flight, which there must be, as long as it may take, and copies its
    /// vectors, as many as there are. Its frames were there at `ready`, by the device's clock. Returns
    /// how long its stages took, and how long it kept the device's units from the next search where the
    /// device tells.
    pub(super) fn finish(
        &mut self,
        vectors: &mut [MotionVector],
        ready: impl FnOnce() -> Option<u64>,
    ) -> cl::Result<(StageTimes, Option<Duration>)> {
        let (allowed, waiting) = (self.allowed(), Instant::now());
        self.last = None;
        let index = self.oldest;
        self.oldest = (index + 1) % self.flights.len();
        let oldest = &mut self.flights[index];
        let Some(events) = oldest.events.take() else { return Ok(Default::default()) };
        self.watch.wait(&events.read, allowed)?;
        let copied = Instant::now();
        // SAFETY: what the device has written is read, and it writes no more.
        let bytes = unsafe { oldest.vectors.host.as_slice() };
        let vectors = bytemuck::cast_slice_mut(vectors);
        vectors.copy_from_slice(&bytes[events.skipped * size_of::<MotionVector>()..][..vectors.len()]);
        self.last = events.is_whole.then_some(index);
        let before = std::mem::replace(&mut self.searched, events.found.ended());
        // Of a barrier some drivers note when it was next in its queue, not when it was passed.
        let start = events.started.ended().max(ready()).max(before);
        let occupied = between(start, events.last().ended());
        let times = events.times(copied, start);
        // Others may have had the device; the host may have done something else.
        self.pace.count(events.share, (copied - waiting).max(times.search + times.prediction));
        Ok((times, occupied))
    }

    /// The predictors of the field found last, where there is one.
    pub(super) fn predictors(&self) -> Option<&[Predictor]> {
        let found = self.flights[self.last?].predictors.as_ref()?;
        // SAFETY: they were read with the vectors, and nothing writes there before this room is
        // used again, which is after another search is finished.
        Some(bytemuck::cast_slice(unsafe { found.host.as_slice() }))
    }

    /// Where search number `turn` from the next on puts its vectors.
    pub(super) fn room(&self, turn: usize) -> &Buffer {
        &self.flights[(self.next + turn) % self.flights.len()].vectors.device
    }

    /// Forgets all searches and the field found last. None may be running.
    pub(super) fn clear(&mut self) {
        for flight in &mut self.flights {
            flight.events = None;
        }
        (self.next, self.oldest, self.last, self.searched) = (0, 0, None, None);
    }
}

/// Two frames on the device, each with the event that tells when it is there.
pub(super) struct FramePair<'a> {
    pub(super) current: (&'a Buffer, &'a Event),
    pub(super) reference: (&'a Buffer, &'a Event),
    /// What is searched of them.
    pub(super) blocks: usize,
    /// How many of these blocks nobody asked for, from the first on.
    pub(super) skipped: usize,
    /// How much that is of a whole search, 0 to 1.
    pub(super) share: f64,
    /// Whether that is all there is: only a whole field is predicted.
    pub(super) is_whole: bool,
    pub(super) geometry: &'a Geometry,
}

/// The time between two of the device's clock.
pub(super) fn between(from: Option<u64>, to: Option<u64>) -> Option<Duration> {
    Some(Duration::from_nanos(to?.saturating_sub(from?)))
}

impl Events {
    /// What is computed last.
    fn last(&self) -> &Event {
        self.predicted.as_ref().unwrap_or(&self.found)
    }

    /// The times by the device's clock; where it does not tell, all between beginning and `copied`
    /// is search. Until `start` it waited for its frames, or the search before took the time.
    fn times(&self, copied: Instant, start: Option<u64>) -> StageTimes {
        let search = between(start, self.found.ended());
        let predicted = self.predicted.as_ref();
        StageTimes {
            upload: Duration::ZERO,
            search: search.unwrap_or_else(|| copied - self.begun),
            download: between(self.read.started(), self.read.ended()).unwrap_or_default() + copied.elapsed(),
            prediction: predicted.and_then(|p| between(self.found.ended(), p.ended())).unwrap_or_default(),
        }
    }
}

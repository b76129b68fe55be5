//! A session: a stream of frames searched on one device or on several.
//!
//! A [`Session`] owns the slots, the frames, the searches in flight and the devices. It divides each search
//! over its devices as [`Split`] says, balances their shares, merges what they find by the order of
//! candidates, so that the field is that of one device, bit for bit, and then runs the
//! [stages](crate::stages). Uta (chapter 7) spreads the search over every compute device; Zhang
//! (section IV) finds how much each should get.
//!
//! A device's thread starts with its first job and lives as long as the session. Uta joins a thread for each
//! device and frame; in his example of 256x192 that took 7 of 14 ms (8.5.2). A device that works alone is called
//! directly, without its thread, unless it may fail and several searches are in flight: its thread then uploads
//! frames and waits for results while the caller copies the next frame.
//!
//! From the start of a search to its vectors:
//!
//! ```text
//! caller            Session                        Member, Worker: one a device       Device
//!
//! add_frame ──────▶ NumberedFrame, in a FrameSlot
//!
//! start_search ───▶ SharedSearch, by SearchTicket
//!                   ├─ Share: part, device         the way is a Route
//!                   │    └───── DeviceJob ───────▶ rows that the device lacks ──────▶ load_frame: Slot
//!                   │                              BegunJob ────────────────────────▶ start_search: Ticket
//!                   │                                 └─────────────────────────────▶ finish_search: Output
//!                   │    ┌───── JobResult ◀─────────────────────────────────────────────┘
//!                   ├─ Share: its result           (a thread sends it in a Report)
//!                   └─ further Shares, of other devices
//! finish_search ◀── Output: the parts merged, then completed by the stages
//! ```
//!
//! A device that fails, panics or does not answer in time is evicted, and the other devices do its parts
//! again, or [`Options::fallback`] does. The session keeps the frames that this needs.

mod balance;
mod block_cache;
mod channel;
mod dispatch;
#[cfg(test)]
mod failures;
mod handles;
mod member;
mod options;
mod rehearsal;
mod results;
mod share;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::estimator::{
    Device, DeviceInfo, DeviceShare, EstimateError, Flight, Flights, Frame, HostMemory, Launching,
    MotionVector, Notice, Output, Parameters, Part, RecordPool, SetupError, WindowParts,
};
use crate::stages::{SearchedFrames, Stage, stages};
pub use balance::Balance;
use balance::{Balancer, Measured};
use block_cache::BlockCache;
use dispatch::{Route, names};
pub use handles::FrameSlot;
use handles::SearchTicket;
use member::{Member, Report};
use motion_base::pace;
use motion_base::threads;
pub use options::{Fallback, Options, Split};
pub use share::divide;
use worker::{JobResult, NumberedFrame};

/// Unused blocks of host memory that are kept for its user. Few suffice, as pools keep their buffers.
const MOST_FREE: usize = 4;

/// How long a session that is dropped waits for its devices.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// A device for a session.
pub struct WeightedDevice {
    /// The device, made for the parameters of the session.
    pub device: Box<dyn Device>,
    /// How much of the work it gets, relative to the others.
    pub weight: f64,
}

impl fmt::Debug for WeightedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, weight } = self;
        write!(f, "{}@{weight}", device.info().name)
    }
}

impl From<Box<dyn Device>> for WeightedDevice {
    /// With weight 1.
    fn from(device: Box<dyn Device>) -> Self {
        Self { device, weight: 1.0 }
    }
}

/// A part of a search, and the member that does it.
struct Share {
    member: usize,
    part: Part,
    result: Option<JobResult>,
}

/// A search in flight.
struct SharedSearch<T> {
    payload: T,
    current: NumberedFrame,
    reference: NumberedFrame,
    shares: Vec<Share>,
    started: Instant,
    /// Whether every device did what it was given.
    is_as_planned: bool,
}

/// A stream of frames, searched on one device or on several.
///
/// A caller adds each frame, starts searches with a `payload` each, and finishes them in the same order.
pub struct Session<T = ()> {
    parameters: Parameters,
    name: String,
    split: Split,
    balancer: Balancer,
    patience: Duration,
    fallback: Option<Fallback>,
    members: Vec<Member>,
    /// Whether shares and the devices of rows are reported.
    is_list: bool,
    depth: usize,
    reports: Receiver<Report>,
    reporter: Sender<Report>,
    flights: Flights<SharedSearch<T>>,
    slots: Vec<NumberedFrame>,
    loaded: u64,
    /// Memory of the session's one GPU, else of its one OpenCL device. Frames in other memory are copied to it, so
    /// that the device loads them without another copy and their buffers are free.
    memory: Option<BlockCache>,
    copies: RecordPool<u8>,
    /// Of whole fields, and of parts: a smaller array would have to grow for a whole field.
    vectors: RecordPool<MotionVector>,
    part_vectors: RecordPool<MotionVector>,
    /// Runs the stages.
    stage_threads: Option<Arc<rayon::ThreadPool>>,
    stages: Vec<Box<dyn Stage>>,
    notices: Vec<Notice>,
}

impl<T> fmt::Debug for Session<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, parameters, depth, .. } = self;
        f.debug_struct("Session")
            .field("device", name)
            .field("parameters", parameters)
            .field("depth", depth)
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

impl<T> Drop for Session<T> {
    /// Afterwards the devices hold nothing any more, except a device that hangs.
    fn drop(&mut self) {
        let evicted: Vec<bool> = self.members.iter_mut().map(Member::evict).collect();
        let until = Instant::now() + LAST_PATIENCE;
        for (member, _) in self.members.iter().zip(evicted).filter(|(_, was_in)| *was_in) {
            member.wait_for_end(until.saturating_duration_since(Instant::now()));
        }
    }
}

impl<T> Session<T> {
    /// A session on `devices`, at least one, for `depth` frames in flight, each with the searches that
    /// [`Parameters::references`] asks for.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] for no device, or one made for another search; [`SetupError::Device`] if the
    /// threads of the stages do not start.
    pub fn new(
        parameters: &Parameters,
        depth: usize,
        devices: Vec<WeightedDevice>,
        options: Options,
    ) -> Result<Self, SetupError> {
        let refused = |reason: &str| SetupError::DeviceUnsupported {
            wanted: devices.iter().map(|d| &*d.device.info().name).collect::<Vec<_>>().join(","),
            reason: reason.into(),
        };
        if devices.is_empty() {
            return Err(refused("a session needs a device"));
        }
        if devices.iter().any(|d| d.device.info().parameters != *parameters) {
            return Err(refused("the devices of a session must be made for the same search"));
        }
        let split = match options.split {
            _ if !parameters.algorithm.divides_rows() => Split::Frames,
            Split::Candidates if !parameters.divides_displacements() => Split::Rows,
            split => split,
        };
        let is_window_divided = split == Split::Candidates && devices.len() > 1;
        let whole = devices.iter().map(|device| device.device.info());
        let whole = whole.filter(|info| info.window_parts == WindowParts::Whole);
        let notice = |info: &DeviceInfo| {
            Notice::Split(format!(
                "dividing the candidates gains nothing on {}: its kernel {} is no faster with a part of the search \
                 window; choose kernel auto, or divide rows",
                info.name, info.kernel
            ))
        };
        let notices = whole.filter(|_| is_window_divided).map(notice).collect();
        let stages = stages(parameters)?;
        let stage_threads =
            if stages.is_empty() { None } else { Some(threads::pool(options.stage_threads)?) };
        let weights: Vec<f64> = devices.iter().map(|device| device.weight).collect();
        let is_list = options.is_list || devices.len() > 1;
        let (references, depth) = (parameters.references, depth.max(1));
        let (depth, slots) = (references.searches(depth), references.slots(depth));
        let (reporter, reports) = channel();
        let member =
            |(index, device): (usize, WeightedDevice)| Member::new(index, device.device, reporter.clone());
        let members: Vec<Member> = devices.into_iter().enumerate().map(member).collect();
        // All devices read the memory of one of them: of a GPU if there is one.
        let with_memory = members.iter().map(Member::info).filter(|info| info.memory.is_some());
        let memory = with_memory.min_by_key(|info| !info.can_hang).and_then(|info| info.memory.clone());
        // The frames in the slots, and one that a device still reads.
        let memory = memory.map(|memory| BlockCache::new(memory, slots + 1));
        Ok(Self {
            name: names(&members),
            parameters: parameters.clone(),
            split,
            balancer: Balancer::new(options.balance, &weights),
            patience: options.patience,
            fallback: options.fallback,
            members,
            is_list,
            depth,
            reports,
            reporter,
            flights: Flights::new(slots, depth),
            slots: (0..slots).map(FrameSlot).map(NumberedFrame::none).collect(),
            loaded: 0,
            memory,
            copies: RecordPool::default(),
            vectors: RecordPool::default(),
            part_vectors: RecordPool::default(),
            stage_threads,
            stages,
            notices,
        })
    }

    /// What the session searches for.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The names of its devices.
    pub fn device(&self) -> &str {
        &self.name
    }

    /// The name of the kernel of its first device.
    pub fn kernel(&self) -> &'static str {
        self.first_info().map_or("none", |info| info.kernel)
    }

    /// What launches the kernels of its first device, if that is one of OpenCL.
    pub fn launching(&self) -> Option<&Launching> {
        self.first_info()?.launching.as_ref()
    }

    /// What its first device is, of those that have not failed.
    fn first_info(&self) -> Option<&DeviceInfo> {
        self.members.iter().find(|member| !member.is_out()).map(Member::info)
    }

    /// The most searches in flight, at least 1: those of the frames in flight.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The number of searches in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Memory from which the session's one device loads frames without a copy, if there is such. A few unused blocks are
    /// kept for the next allocation of their size.
    pub fn host_memory(&self) -> Option<Arc<dyn HostMemory>> {
        let [member] = &self.members[..] else { return None };
        let memory = member.info().memory.clone()?;
        Some(Arc::new(BlockCache::new(memory, MOST_FREE)))
    }

    /// Whether the session keeps a frame until no later search needs it: another device may need it, or a stage.
    pub fn keeps_frames(&self) -> bool {
        if self.stages.iter().any(|stage| stage.reads_frames()) {
            return true;
        }
        let only = self.only_active().map(|only| self.members[only].info());
        only.is_none_or(|only| only.can_fail && self.fallback.is_some())
    }

    /// What each device does; nothing in a session of one device, unless [`Options::is_list`].
    pub fn shares(&self) -> Vec<DeviceShare> {
        let differences = pace::differences(&self.parameters);
        let members = if self.is_list { &self.members[..] } else { &[] };
        members.iter().map(|member| member.share(differences)).collect()
    }

    /// What has happened since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Loads `frame` into `slot`, in the place of the frame there.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], [`EstimateError::SlotInUse`], [`EstimateError::FrameSize`];
    /// [`EstimateError::Device`] if no device is left.
    pub fn load_frame(&mut self, slot: FrameSlot, frame: Frame) -> Result<(), EstimateError> {
        self.flights.empty(slot.0)?;
        frame.check(&self.parameters)?;
        self.loaded += 1;
        let start = Instant::now();
        let copy = self.memory.as_ref().filter(|_| frame.block().is_none()).and_then(|m| m.copy(&frame));
        let (is_own, copy_time) = (copy.is_some(), start.elapsed());
        let frame = Some(copy.unwrap_or(frame));
        let mut loaded = NumberedFrame { number: self.loaded, slot, frame, is_own, copy_time };
        // A device that is alone and called directly takes the frame now, so that its buffer is free.
        if let Some(member) = self.only_active().filter(|&member| self.route(member, true) == Route::Call) {
            match self.call(member, |member, done| member.call(|worker| worker.load_frame(&loaded, done))) {
                Ok(()) if !self.keeps_frames() => loaded.frame = None,
                Ok(()) => (),
                Err(error) => self.take_failure(member, error)?,
            }
        }
        self.slots[slot.0] = loaded;
        self.flights.fill(slot.0);
        Ok(())
    }

    /// Loads `frame` into the slot that was loaded longest ago and that no search in flight needs.
    ///
    /// # Errors
    /// As [`Self::load_frame`], and [`EstimateError::InFlight`] if every slot is needed.
    pub fn add_frame(&mut self, frame: Frame) -> Result<FrameSlot, EstimateError> {
        let free = (0..self.slots.len()).filter(|&index| !self.flights.is_searched(index));
        let oldest = free.min_by_key(|&index| self.slots[index].number).map(FrameSlot);
        let slot = oldest.ok_or(EstimateError::InFlight(self.in_flight()))?;
        self.load_frame(slot, frame).map(|()| slot)
    }

    /// Releases the frame in `slot` as soon as no search in flight needs it: no later search will.
    pub fn release_frame(&mut self, slot: FrameSlot) {
        if let Some(slot) = self.slots.get_mut(slot.0) {
            // The searches in flight have clones.
            slot.frame = None;
        }
    }

    /// Releases the frames that the session keeps and no search in flight needs. Their slots are empty then.
    pub fn release_frames(&mut self) {
        for index in 0..self.slots.len() {
            if self.flights.empty(index).is_ok() {
                self.slots[index].frame = None;
            }
        }
    }

    /// The frame in `slot`; `None` if the slot is empty.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if the only device that has the frame fails.
    pub fn unload_frame(&mut self, slot: FrameSlot) -> Result<Option<Frame>, EstimateError> {
        if !self.flights.is_loaded(slot.0) {
            return Ok(None);
        }
        let loaded = self.slots[slot.0].clone();
        match (loaded.frame.as_ref(), self.only_active()) {
            (None, Some(member)) => self.members[member].call(|worker| worker.unload_frame(&loaded)),
            (frame, _) => Ok(frame.cloned()),
        }
    }

    /// Replaces the frames that the session keeps by copies of its own, except the `newest` ones: those of buffers that
    /// wait.
    pub fn own_frames(&mut self, newest: usize) {
        let last_owned = self.loaded.saturating_sub(newest as u64);
        let (memory, copies) = (&self.memory, &self.copies);
        let mut copied: Vec<NumberedFrame> = Vec::new();
        let mut own = |kept: &mut NumberedFrame| {
            let Some(frame) = kept.frame.as_ref().filter(|_| !kept.is_own && kept.number <= last_owned)
            else {
                return;
            };
            if let Some(copy) = copied.iter().find(|copy| copy.number == kept.number) {
                return kept.clone_from(copy);
            }
            let copy = memory.as_ref().and_then(|memory| memory.copy(frame));
            kept.frame = Some(copy.unwrap_or_else(|| heap_copy(frame, copies)));
            kept.is_own = true;
            copied.push(kept.clone());
        };
        self.slots.iter_mut().for_each(&mut own);
        for search in self.flights.iter_mut() {
            own(&mut search.data.current);
            own(&mut search.data.reference);
        }
    }

    /// Starts to search the frame in `current` in the frame in `reference`. [`Self::finish_search`] returns
    /// `payload` with the result.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`], [`EstimateError::InFlight`] if [`Self::depth`] searches are in
    /// flight; [`EstimateError::Device`] if no device is left. Nothing has started after an error.
    pub fn start_search(
        &mut self,
        current: FrameSlot,
        reference: FrameSlot,
        payload: T,
    ) -> Result<(), EstimateError> {
        let slots = [current.0, reference.0];
        self.flights.check(slots)?;
        self.listen()?;
        let parts = self.plan(Part::whole(&self.parameters));
        let [current, reference] = slots.map(|slot| self.slots[slot].clone());
        let search = SharedSearch {
            payload,
            current,
            reference,
            shares: Vec::new(),
            started: Instant::now(),
            is_as_planned: true,
        };
        let ticket = SearchTicket(self.flights.push(slots, search));
        let given = self.hand_out(ticket, parts);
        if given.is_err() {
            self.flights.pop_newest();
        }
        given
    }

    /// Waits for the oldest search in flight, and returns its payload and what was found.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`]; [`EstimateError::Device`] if no device is left: the search is over
    /// then, those that began later are not.
    pub fn finish_search(&mut self) -> Result<(T, Output), EstimateError> {
        let collected = self.collect();
        let Some(Flight { slots, data: search, .. }) = self.flights.pop_oldest() else {
            return Err(EstimateError::NothingInFlight);
        };
        collected?;
        self.learn(&search);
        if self.needs_no_frame_of(&search) {
            slots.iter().for_each(|&slot| self.slots[slot].frame = None);
        }
        let mut output = self.merge(search.shares);
        output.times.upload += search.current.copy_time;
        self.run_stages(&search.current, &search.reference, &mut output)?;
        Ok((search.payload, output))
    }

    /// Whether neither frame of `search`, which is done, needs to be kept: the only device has all rows of both. It may not
    /// have them if another device did a part and failed.
    fn needs_no_frame_of(&self, search: &SharedSearch<T>) -> bool {
        let (only, whole) = (self.only_active(), Part::whole(&self.parameters));
        let has_both = |share: &Share| only == Some(share.member) && share.part == whole;
        !self.keeps_frames() && search.shares.iter().all(has_both)
    }

    /// Has the stages complete `output`, what was found between the two frames.
    fn run_stages(
        &mut self,
        current: &NumberedFrame,
        reference: &NumberedFrame,
        output: &mut Output,
    ) -> Result<(), EstimateError> {
        let Some(threads) = &self.stage_threads else { return Ok(()) };
        let start = Instant::now();
        let offset = current.offset_to(reference);
        let frames = current.frame.as_ref().zip(reference.frame.as_ref());
        let frames = frames.map(|(current, reference)| SearchedFrames {
            current: current.view(),
            reference: reference.view(),
            offset,
        });
        let stages = &mut self.stages;
        threads.install(|| stages.iter_mut().try_for_each(|stage| stage.apply(frames, output)))?;
        output.times.prediction = start.elapsed();
        Ok(())
    }

    /// Cancels all searches in flight. Frames stay in their slots.
    pub fn cancel(&mut self) {
        self.flights.clear();
        self.members.iter_mut().for_each(Member::cancel);
    }
}

/// A copy of `frame` in an array of `pool`.
fn heap_copy(frame: &Frame, pool: &RecordPool<u8>) -> Frame {
    let view = frame.view();
    let mut samples = pool.take(view.row_bytes() * view.height());
    view.copy_to(&mut samples);
    Frame::with_format(Arc::new(samples), view.size(), view.row_bytes(), view.format())
        .unwrap_or_else(|_| unreachable!("there are the bytes of every row"))
}

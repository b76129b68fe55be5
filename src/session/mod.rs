//! A session: a stream of frames searched on one device or on several.
//!
//! A [`Session`] owns the slots, the frames, the searches in flight and the devices. It divides each search
//! over its devices as [`Split`] says, balances their shares, merges what they find by the order of
//! candidates, so that the field is that of one device, bit for bit, and then runs the
//! [stages](crate::stages). Uta (chapter 7) spreads the search over every compute device; Zhang
//! (section IV) finds how much each should get.
//!
//! A device's thread starts with its first job and lives as long as the session: Uta lost 7 ms a frame to
//! starting threads (8.5.2). A device that works alone is called directly, without its thread, unless it may
//! fail and several searches are in flight: its thread then uploads frames and waits for results while the
//! caller copies the next frame.
//!
//! A device that fails, panics or does not answer in time is evicted, and the other devices do its parts
//! again, or [`Options::fallback`] does. The session keeps the frames that this needs.

mod balance;
mod block_cache;
mod channel;
#[cfg(test)]
mod failures;
mod member;
mod options;
mod share;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, Device, DeviceShare, EstimateError, Flights, Frame, HostMemory, MotionVector, Notice, Output,
    Parameters, Part, RecordPool, Request, SetupError, Slot, Ticket,
};
use crate::pace;
use crate::stages::{Stage, stages};
pub use balance::{Balance, Balancer, Measured};
pub use block_cache::BlockCache;
use channel::receive;
use member::{Member, Report};
pub use options::{Fallback, Options, Split};
pub use share::divide;
use share::{by_displacements, by_rows};
use worker::{DeviceJob, JobResult, NumberedFrame};

/// How long a session that is dropped waits for its devices.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// A device for a session.
pub struct WeightedDevice {
    /// The device, made for the parameters of the session.
    pub device: Box<dyn Device>,
    /// How much of the work it gets, relative to the others.
    pub weight: f64,
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
    /// When it began.
    begun: Instant,
    /// Whether every device did what it was given.
    is_as_planned: bool,
}

/// A stream of frames, searched on one device or on several.
///
/// A caller loads each frame into a [`Slot`], begins searches with a `payload` each, and finishes them in the
/// same order.
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
    memory: Option<Arc<BlockCache>>,
    copies: RecordPool<u8>,
    vectors: RecordPool<MotionVector>,
    stages: Vec<Box<dyn Stage>>,
    notices: Vec<Notice>,
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
    /// A session on `devices`, at least one, for `depth` searches in flight.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] for no device, or one made for another search.
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
        let weights: Vec<f64> = devices.iter().map(|device| device.weight).collect();
        let (is_list, depth) = (options.is_list || devices.len() > 1, depth.max(1));
        let (reporter, reports) = channel();
        let member =
            |(index, device): (usize, WeightedDevice)| Member::new(index, device.device, reporter.clone());
        let members: Vec<Member> = devices.into_iter().enumerate().map(member).collect();
        // All devices read the memory of one of them: of a GPU if there is one.
        let with_memory = members.iter().map(Member::info).filter(|info| info.memory.is_some());
        let memory = with_memory.min_by_key(|info| !info.can_hang).and_then(|info| info.memory.clone());
        // The frames in the slots, and one that a device still reads.
        let memory = memory.map(|memory| BlockCache::new(memory, depth + 2));
        Ok(Self {
            name: names(&members),
            parameters: parameters.clone(),
            split: match (options.split, parameters.algorithm) {
                // An algorithm that goes from one displacement to the next cannot divide them.
                (Split::Candidates, algorithm) if algorithm != Algorithm::Full => Split::Rows,
                (split, _) => split,
            },
            balancer: Balancer::new(options.balance, &weights),
            patience: options.patience,
            fallback: options.fallback,
            members,
            is_list,
            depth,
            reports,
            reporter,
            flights: Flights::new(depth + 1, depth),
            slots: vec![NumberedFrame::default(); depth + 1],
            loaded: 0,
            memory,
            copies: RecordPool::default(),
            vectors: RecordPool::default(),
            stages: stages(parameters),
            notices: Vec::new(),
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
        let member = self.members.iter().find(|member| !member.is_out());
        member.map_or("none", |member| member.info().kernel)
    }

    /// The most searches in flight, at least 1. There is one slot more.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The number of searches in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Memory from which the session's one device loads frames without a copy, if there is such.
    pub fn host_memory(&self) -> Option<Arc<dyn HostMemory>> {
        match &self.members[..] {
            [member] => member.info().memory.clone(),
            _ => None,
        }
    }

    /// Whether the session keeps a frame until it is no longer a reference: another device may need it.
    pub fn keeps_frames(&self) -> bool {
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

    /// Loads `frame` into `slot`.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], [`EstimateError::SlotInUse`], [`EstimateError::FrameSize`];
    /// [`EstimateError::Device`] if no device is left.
    pub fn load(&mut self, slot: Slot, frame: Frame) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        frame.view().check_size(&self.parameters)?;
        self.loaded += 1;
        let start = Instant::now();
        let copy = self.memory.as_ref().filter(|_| frame.block().is_none()).and_then(|m| m.copy(&frame));
        let (is_own, copy_time) = (copy.is_some(), start.elapsed());
        let frame = Some(copy.unwrap_or(frame));
        let mut loaded = NumberedFrame { number: self.loaded, slot: slot.index(), frame, is_own, copy_time };
        // A device that is alone and called directly takes the frame now, so that its buffer is free.
        if let Some(member) = self.only_active().filter(|&member| self.may_call(member)) {
            match self.call(member, |member, done| member.call(|worker| worker.load(&loaded, done))) {
                Ok(()) if !self.keeps_frames() => loaded.frame = None,
                Ok(()) => (),
                Err(error) => self.take_failure(member, error)?,
            }
        }
        self.slots[slot.index()] = loaded;
        self.flights.fill(slot);
        Ok(())
    }

    /// Loads `frame` into the slot that was loaded longest ago and that no search in flight needs.
    ///
    /// # Errors
    /// As [`Self::load`], and [`EstimateError::InFlight`] if every slot is needed.
    pub fn add(&mut self, frame: Frame) -> Result<Slot, EstimateError> {
        let free = (0..self.slots.len()).filter(|&index| !self.flights.is_searched(Slot::new(index)));
        let oldest = free.min_by_key(|&index| self.slots[index].number).map(Slot::new);
        let slot = oldest.ok_or(EstimateError::InFlight(self.in_flight()))?;
        self.load(slot, frame).map(|()| slot)
    }

    /// Releases the frame in `slot` as soon as no search in flight needs it: no later search will.
    pub fn release(&mut self, slot: Slot) {
        if let Some(slot) = self.slots.get_mut(slot.index()) {
            // The searches in flight have clones.
            slot.frame = None;
        }
    }

    /// Releases the frames that the session keeps and no search in flight needs. Their slots are empty then.
    pub fn release_frames(&mut self) {
        for index in 0..self.slots.len() {
            if self.flights.empty(Slot::new(index)).is_ok() {
                self.slots[index].frame = None;
            }
        }
    }

    /// The frame in `slot`; `None` if the slot is empty.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if the only device that has the frame fails.
    pub fn unload(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        if !self.flights.is_loaded(slot) {
            return Ok(None);
        }
        let loaded = self.slots[slot.index()].clone();
        match (loaded.frame.as_ref(), self.only_active()) {
            (None, Some(member)) => self.members[member].call(|worker| worker.unload(&loaded)),
            (frame, _) => Ok(frame.cloned()),
        }
    }

    /// Replaces the frames that the session keeps by copies of its own, except those of buffers that wait: the
    /// current frames of searches in flight.
    pub fn own_frames(&mut self) {
        let waiting: Vec<u64> = self.flights.iter_mut().map(|search| search.data.current.number).collect();
        let (memory, copies) = (&self.memory, &self.copies);
        let mut copied: Vec<NumberedFrame> = Vec::new();
        let mut own = |kept: &mut NumberedFrame| {
            let Some(frame) = kept.frame.as_ref().filter(|_| !kept.is_own && !waiting.contains(&kept.number))
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
        self.flights.iter_mut().for_each(|search| own(&mut search.data.reference));
    }

    /// Begins to search the frame in `current` in the frame in `reference`. [`Self::finish`] returns
    /// `payload` with the result.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`], [`EstimateError::InFlight`] if [`Self::depth`] searches are in
    /// flight; [`EstimateError::Device`] if no device is left. Nothing has begun after an error.
    pub fn begin(&mut self, current: Slot, reference: Slot, payload: T) -> Result<(), EstimateError> {
        let part = Part::whole(&self.parameters);
        let request = Request { current, reference, part };
        self.flights.check(&request)?;
        self.listen()?;
        let parts = self.plan(part);
        let search = SharedSearch {
            payload,
            current: self.slots[current.index()].clone(),
            reference: self.slots[reference.index()].clone(),
            shares: Vec::new(),
            begun: Instant::now(),
            is_as_planned: true,
        };
        let ticket = self.flights.begin(request, search);
        let given = self.hand_out(ticket, parts);
        if given.is_err() {
            self.flights.take_back();
        }
        given
    }

    /// Waits for the oldest search in flight, and returns its payload and what was found.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`]; [`EstimateError::Device`] if no device is left: the search is over
    /// then, those that began later are not.
    pub fn finish(&mut self) -> Result<(T, Output), EstimateError> {
        let collected = self.collect();
        let Some(flight) = self.flights.finish() else { return Err(EstimateError::NothingInFlight) };
        let Request { current, reference, .. } = flight.request;
        let search = flight.data;
        collected?;
        self.learn(&search);
        let mut output = self.merge(search.shares);
        output.times.upload += search.current.copy_time;
        if !self.keeps_frames() {
            // The device has both.
            [current, reference].iter().for_each(|slot| self.slots[slot.index()].frame = None);
        }
        let start = Instant::now();
        for stage in &mut self.stages {
            stage.apply(&mut output)?;
        }
        if !self.stages.is_empty() {
            output.times.prediction = start.elapsed();
        }
        Ok((search.payload, output))
    }

    /// Cancels all searches in flight. Frames stay in their slots.
    pub fn cancel(&mut self) {
        self.flights.clear();
        self.members.iter_mut().for_each(Member::cancel);
    }

    /// The members that are not evicted.
    fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|&index| !self.members[index].is_out())
    }

    /// The only member that is not evicted, if there is only one.
    fn only_active(&self) -> Option<usize> {
        let mut active = self.active();
        active.next().filter(|_| active.next().is_none())
    }

    /// Whether a member that works alone may be called directly: its thread has nothing to do.
    ///
    /// With several searches in flight, a device that may fail has its thread, which uploads frames and waits
    /// for results while the caller copies the next frame.
    fn may_call(&self, member: usize) -> bool {
        let member = &self.members[member];
        (self.depth == 1 || !member.info().can_fail) && !member.is_threaded()
    }

    /// Has `member` do `work` by a direct call, and notes the jobs that it finishes meanwhile.
    fn call(
        &mut self,
        member: usize,
        work: impl FnOnce(&mut Member, &mut dyn FnMut(JobResult)) -> Result<(), EstimateError>,
    ) -> Result<(), EstimateError> {
        let mut results = Vec::new();
        let worked = work(&mut self.members[member], &mut |result| results.push(result));
        results.into_iter().for_each(|result| self.note(member, result));
        worked
    }

    /// The parts of a search, each with the member that is to do it.
    fn plan(&mut self, whole: Part) -> Vec<(usize, Part)> {
        if let Some(only) = self.only_active() {
            return vec![(only, whole)];
        }
        match self.split {
            Split::Auto | Split::Rows => by_rows(whole, &self.balancer.plan(whole.rows().len())),
            Split::Candidates => by_displacements(whole, &self.balancer.plan(self.parameters.window.rows())),
            Split::Frames => {
                let waiting: Vec<usize> = self.members.iter().map(Member::unfinished).collect();
                vec![(self.balancer.next_frame(&waiting), whole)]
            }
        }
    }

    /// Gives `parts` of the search of `ticket` to members.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if no device is left.
    fn hand_out(&mut self, ticket: Ticket, parts: Vec<(usize, Part)>) -> Result<(), EstimateError> {
        let is_alone = parts.len() == 1 && (self.split != Split::Frames || self.depth == 1);
        let is_alone = is_alone || self.only_active().is_some();
        for (member, part) in parts {
            let Some(search) = self.flights.get_mut(ticket) else { return Ok(()) };
            let search = &mut search.data;
            search.shares.push(Share { member, part, result: None });
            let job = DeviceJob {
                search: ticket,
                part,
                current: search.current.clone(),
                reference: search.reference.clone(),
                output: Output::from_pool(&self.vectors, part.grid(&self.parameters).blocks()),
            };
            if is_alone && self.may_call(member) {
                if let Err(error) = self.call(member, |member, done| member.begin(job, done)) {
                    self.take_failure(member, error)?;
                }
            } else if !self.members[member].send(job) {
                // The thread may have reported why it ended.
                self.listen()?;
                self.evict(member, "it takes no work any more")?;
            }
        }
        Ok(())
    }

    /// Evicts `member` if `error` is a failure of its device.
    ///
    /// # Errors
    /// `error` if it is another one, and those of [`Self::evict`].
    fn take_failure(&mut self, member: usize, error: EstimateError) -> Result<(), EstimateError> {
        match error {
            EstimateError::Device { message, .. } => self.evict(member, &message),
            error => Err(error),
        }
    }

    /// Evicts `member`; other devices do its work again.
    ///
    /// # Errors
    /// [`EstimateError::Device`] if no device is left and there is no fallback.
    fn evict(&mut self, member: usize, reason: &str) -> Result<(), EstimateError> {
        if self.members[member].evict() {
            self.balancer.remove(member);
            let device = self.members[member].info().name.to_string();
            if self.active().next().is_none() {
                self.fall_back().map_err(|why| EstimateError::Device {
                    device: device.clone(),
                    message: format!("{reason}{why}"),
                })?;
            }
            self.name = names(&self.members);
            let text = format!("{device} failed ({reason}); continuing on {}", self.name);
            self.notices.push(Notice::Failure(text));
        } else if self.active().next().is_none() {
            let (device, message) = (self.members[member].info().name.to_string(), "it failed before".into());
            return Err(EstimateError::Device { device, message });
        }
        let mut lost = Vec::new();
        for search in self.flights.iter_mut() {
            let is_lost = |share: &mut Share| share.member == member && share.result.is_none();
            let shares: Vec<Share> = search.data.shares.extract_if(.., is_lost).collect();
            search.data.is_as_planned &= shares.is_empty();
            lost.extend(shares.into_iter().map(|share| (search.ticket, share.part)));
        }
        for (ticket, part) in lost {
            let rows = divide(part.rows().len(), &self.balancer.weights());
            self.hand_out(ticket, by_rows(part, &rows))?;
        }
        Ok(())
    }

    /// Adds the fallback device.
    ///
    /// # Errors
    /// What to add to the reason of the failure: nothing if there is no fallback.
    fn fall_back(&mut self) -> Result<(), String> {
        let Some(fallback) = &mut self.fallback else { return Err(String::new()) };
        let device = fallback().map_err(|error| format!("; the fallback failed too: {error}"))?;
        self.members.push(Member::new(self.members.len(), device, self.reporter.clone()));
        self.balancer.add(1.0);
        Ok(())
    }

    /// Waits until all parts of the oldest search are done.
    fn collect(&mut self) -> Result<(), EstimateError> {
        loop {
            let Some(search) = self.flights.iter_mut().next() else {
                return Err(EstimateError::NothingInFlight);
            };
            let open = search.data.shares.iter().filter(|share| share.result.is_none());
            let open: Vec<usize> = open.map(|share| share.member).collect();
            let Some(&first) = open.first() else { return Ok(()) };
            if let Some(&member) = open.iter().find(|&&member| !self.members[member].is_threaded()) {
                match self.members[member].call(|worker| worker.finish()) {
                    Ok(result) => self.note(member, result),
                    Err(error) => self.take_failure(member, error)?,
                }
                continue;
            }
            // A device does its jobs in order, so its time runs from when it began its oldest one.
            let deadline = |&member: &usize| {
                let can_hang = self.members[member].info().can_hang;
                can_hang.then(|| (self.members[member].busy_since() + self.allowed(member), member))
            };
            let deadline = open.iter().filter_map(deadline).min();
            let left = deadline.map(|(end, _)| end.saturating_duration_since(Instant::now()));
            match receive(&self.reports, left) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => {
                    let (_, member) = deadline.unwrap_or((Instant::now(), first));
                    let reason = format!("no answer for {:?}", self.allowed(member));
                    self.evict(member, &reason)?;
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("the session has a sender itself"),
            }
        }
    }

    /// How long `member` may take for a job.
    fn allowed(&self, member: usize) -> Duration {
        self.members[member].allowed(self.patience, pace::differences(&self.parameters))
    }

    /// Takes the reports that have arrived.
    fn listen(&mut self) -> Result<(), EstimateError> {
        while let Ok(report) = self.reports.try_recv() {
            self.take(report)?;
        }
        Ok(())
    }

    /// Takes a report. Those of evicted devices are dropped: others do their work.
    fn take(&mut self, Report { member, outcome }: Report) -> Result<(), EstimateError> {
        match outcome {
            _ if self.members[member].is_out() => Ok(()),
            Ok(result) => {
                self.note(member, result);
                Ok(())
            }
            Err(error) => self.evict(member, &error.to_string()),
        }
    }

    /// Notes that `member` has done a job. The result of a cancelled search is dropped.
    fn note(&mut self, member: usize, result: JobResult) {
        self.members[member].done();
        let share = self.flights.get_mut(result.search).and_then(|search| {
            search.data.shares.iter_mut().find(|s| s.member == member && s.part == result.part)
        });
        if let Some(share) = share {
            share.result = Some(result);
        }
    }

    /// Tells the balancer how long each device took.
    fn learn(&mut self, search: &SharedSearch<T>) {
        if self.only_active().is_some() {
            return;
        }
        let results = search.shares.iter().filter_map(|share| Some((share, share.result.as_ref()?)));
        let units = |part: Part| match self.split {
            Split::Candidates => part.displacements().count(),
            _ => part.rows().len(),
        };
        let measured: Vec<Measured> = results
            .clone()
            .map(|(share, result)| Measured {
                device: share.member,
                units: units(share.part),
                seconds: result.device_time.as_secs_f64(),
            })
            .collect();
        if self.split == Split::Frames {
            for Measured { device, units, seconds } in measured {
                self.balancer.observe_frame(device, units, seconds, self.depth == 1);
            }
        } else if search.is_as_planned {
            let seconds = match self.depth {
                1 => results
                    .clone()
                    .map(|(_, result)| (result.at - search.begun).as_secs_f64())
                    .reduce(f64::max),
                // With several searches in flight, no device waits for the others.
                _ => measured.iter().map(|m| m.seconds).reduce(f64::max),
            };
            let rebalanced = results.map(|(_, result)| result.rebalance_time).max().unwrap_or_default();
            self.balancer.observe(&measured, seconds.unwrap_or_default(), rebalanced.as_secs_f64());
        }
        for (device, is_active) in self.balancer.take_notes() {
            let what =
                if is_active { "gets work again" } else { "gets no work: the frame is faster without it" };
            self.notices.push(Notice::Balance(format!("{} {what}", self.members[device].info().name)));
        }
    }

    /// Merges the parts of a search. All of them are done.
    fn merge(&mut self, shares: Vec<Share>) -> Output {
        let (whole, grid) = (Part::whole(&self.parameters), self.parameters.grid());
        let all = whole.displacements();
        let is_by_rows = shares.iter().all(|share| share.part.displacements() == all);
        let mut row_devices = vec![0; if is_by_rows && self.is_list { grid.rows } else { 0 }];
        self.members.iter_mut().for_each(Member::reset_share);
        let mut times = crate::estimator::StageTimes::default();
        let mut merged = None;
        for Share { member, part, result } in shares {
            let Some(JobResult { output, busy, .. }) = result else { continue };
            let rows = part.rows();
            let displacements = part.displacements().count() as f64 / self.parameters.window.rows() as f64;
            self.members[member].count_share(rows.len() as f64 / grid.rows as f64 * displacements, busy);
            if !row_devices.is_empty() {
                row_devices[rows.clone()].fill(u8::try_from(member).unwrap_or(u8::MAX));
            }
            times = output.times.max(times);
            if part == whole {
                merged = Some(output);
                continue;
            }
            let merged = merged.get_or_insert_with(|| {
                let mut merged = Output::from_pool(&self.vectors, grid.blocks());
                if !is_by_rows {
                    merged.vectors.fill(MotionVector { cost: u32::MAX, ..MotionVector::default() });
                }
                merged
            });
            let band = &mut merged.vectors[rows.start * grid.columns..rows.end * grid.columns];
            if is_by_rows {
                band.copy_from_slice(&output.vectors);
            } else {
                band.iter_mut().zip(&*output.vectors).for_each(|(best, &other)| *best = best.better(other));
            }
        }
        let merged = merged.unwrap_or_else(|| Output::from_pool(&self.vectors, grid.blocks()));
        Output { times, row_devices, ..merged }
    }
}

/// The names of the members that are not evicted.
fn names(members: &[Member]) -> String {
    let names = members.iter().filter(|member| !member.is_out()).map(|member| &*member.info().name);
    names.collect::<Vec<_>>().join(" + ")
}

/// A copy of `frame` in an array of `pool`.
fn heap_copy(frame: &Frame, pool: &RecordPool<u8>) -> Frame {
    let view = frame.view();
    let mut samples = pool.take(view.width() * view.height());
    view.copy_to(&mut samples);
    Frame::new(Arc::new(samples), view.width(), view.height(), view.width())
        .unwrap_or_else(|_| unreachable!("there is one byte a sample"))
}

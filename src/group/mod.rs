//! Several devices as one: an estimator made of estimators.
//!
//! Uta's chapter 7 spreads the search over every compute device, Zhang's section IV finds how much
//! each should get. A group divides each search as [`Split`] says, has every device find its part,
//! and puts the parts together by the order of candidates, so that the field is that of one device,
//! bit for bit, however it was divided.
//!
//! Each device has a thread that lives as long as the group does. Work goes to it, and vectors come
//! back, through channels that take no lock; no thread is started for a frame, for which Uta lost
//! 7 ms (8.5.2). A device that fails, panics or says nothing for [`Options::patience`] is put out of the
//! group, and its part is done again by the others.
//!
//! For that a frame is copied once, each row to where its device reads it. A device that works
//! alone is asked directly instead, without copy and without thread, so that a group is not slower than
//! its best member; one that may fail only with one search in flight, as with several its thread has the
//! next frame uploaded while it works.

mod balance;
mod estimator;
#[cfg(test)]
mod faults;
mod member;
mod options;
mod search;
mod share;
mod shared_frame;
mod straight;
mod worker;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, EstimateError, Estimator, Flights, Kernel, MotionVector, Notice, Parameters, Part, Prediction,
    SetupError, StageTimes, pace,
};
pub use balance::{Balance, Balancer, Measured};
use member::Member;
pub use options::{Fallback, Options, Split};
use search::{Search, Share, better};
pub use share::divide;
use share::{by_displacements, by_rows};
use shared_frame::{FramePool, SharedFrame};
use straight::Straight;
use worker::{Found, Job, Report};

/// How long a group that goes waits for its devices.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// A device of a group to be.
pub struct Device {
    /// Does its part of the work. It must be for the parameters of the group without prediction.
    pub estimator: Box<dyn Estimator>,
    /// How much of the work it gets, compared with the others.
    pub weight: f64,
}

/// An estimator made of estimators.
pub struct Group {
    parameters: Parameters,
    name: String,
    kernel: Kernel,
    split: Split,
    balancer: Balancer,
    patience: Duration,
    fallback: Option<Fallback>,
    members: Vec<Member>,
    reports: Receiver<Report>,
    reporter: Sender<Report>,
    flights: Flights,
    frame_pool: FramePool,
    /// One a slot; none while one device is asked directly.
    slots: Vec<Option<Arc<SharedFrame>>>,
    /// How long it took to copy the frame in each slot.
    copying: Vec<Duration>,
    straight: Option<Straight>,
    /// How long it took to change from threads to asking directly, or back, before the next search.
    moving: Duration,
    searches: VecDeque<Search>,
    next_search: u64,
    /// Rooms for vectors that are in no use.
    rooms: Vec<Vec<MotionVector>>,
    /// The field found last, kept where it is to be predicted.
    last_field: Option<Vec<MotionVector>>,
    notices: Vec<Notice>,
    /// Of the field found last, which member each row of blocks came from; empty where that cannot
    /// be said.
    row_devices: Vec<u8>,
    times: StageTimes,
}

impl Drop for Group {
    /// What the devices hold is free afterwards, unless one hangs.
    fn drop(&mut self) {
        let well: Vec<&mut Member> = self.members.iter_mut().filter(|member| !member.is_out()).collect();
        let well: Vec<&Member> = well
            .into_iter()
            .map(|member| {
                member.put_out();
                &*member
            })
            .collect();
        let until = Instant::now() + LAST_PATIENCE;
        well.iter().for_each(|member| member.wait_for_end(until.saturating_duration_since(Instant::now())));
    }
}

impl Group {
    /// A group of `devices`, at least one, with room for `depth` searches in flight.
    ///
    /// # Errors
    /// [`SetupError::DeviceUnsupported`] for no device, or one made for something else;
    /// [`SetupError::Device`] where a thread does not start.
    pub fn new(
        parameters: &Parameters,
        depth: usize,
        devices: Vec<Device>,
        options: Options,
    ) -> Result<Self, SetupError> {
        let refused = |reason: &str| SetupError::DeviceUnsupported {
            wanted: devices.iter().map(|d| d.estimator.device()).collect::<Vec<_>>().join(","),
            reason: reason.into(),
        };
        let Some(first) = devices.first() else { return Err(refused("a group needs a device")) };
        let divided = Parameters { prediction: Prediction::None, ..parameters.clone() };
        if devices.iter().any(|device| *device.estimator.parameters() != divided) {
            return Err(refused("the devices of a group must be made for the same search"));
        }
        let kernel = first.estimator.kernel();
        let name = devices.iter().map(|d| d.estimator.device()).collect::<Vec<_>>().join(" + ");
        let memories = devices.iter().map(|device| device.estimator.host_memory()).collect();
        let frame_pool = FramePool::new(parameters, memories);
        let weights: Vec<f64> = devices.iter().map(|device| device.weight).collect();
        let balancer = Balancer::new(options.balance, &weights);
        let (reporter, reports) = channel();
        let depth = depth.max(1);
        let member = |(index, device): (usize, Device)| {
            Member::start(index, frame_pool.place_of(index), device.estimator, reporter.clone())
        };
        let members = devices.into_iter().enumerate().map(member).collect::<Result<_, _>>()?;
        Ok(Self {
            parameters: parameters.clone(),
            name,
            kernel,
            split: options.split,
            balancer,
            patience: options.patience,
            fallback: options.fallback,
            members,
            reports,
            reporter,
            flights: Flights::new(depth),
            frame_pool,
            slots: vec![None; depth + 1],
            copying: vec![Duration::ZERO; depth + 1],
            straight: None,
            moving: Duration::ZERO,
            searches: VecDeque::with_capacity(depth),
            next_search: 0,
            rooms: Vec::new(),
            last_field: None,
            notices: Vec::new(),
            row_devices: Vec::new(),
            times: StageTimes::default(),
        })
    }

    /// The parts of a search, each with the member that does it: those that are well, by weight.
    fn plan(&mut self, whole: Part) -> Vec<(usize, Part)> {
        match self.split() {
            Split::Auto | Split::Rows => by_rows(whole, &self.balancer.plan(whole.rows().len())),
            Split::Candidates => by_displacements(whole, &self.balancer.plan(self.parameters.window.rows())),
            Split::Frames => {
                let waiting: Vec<usize> = self.members.iter().map(Member::waiting).collect();
                vec![(self.balancer.fastest_for_frame(&waiting), whole)]
            }
        }
    }

    /// The rows of samples that each member will need, as far as that can be said before.
    fn rows_to_be(&self) -> Vec<(usize, Range<usize>)> {
        if !self.frame_pool.are_divided() || !matches!(self.split(), Split::Auto | Split::Rows) {
            return Vec::new();
        }
        let whole = Part::whole(&self.parameters);
        let bands = by_rows(whole, &divide(whole.rows().len(), &self.balancer.weights()));
        let rows = |(member, part): (usize, Part)| (member, worker::rows_of(part, &self.parameters));
        bands.into_iter().map(rows).collect()
    }

    /// How this search is divided.
    fn split(&self) -> Split {
        match self.split {
            Split::Candidates if self.parameters.algorithm != Algorithm::Full => Split::Rows,
            split => split,
        }
    }

    /// Has `parts` of the search at `index` of those in flight done.
    ///
    /// # Errors
    /// [`EstimateError::Device`] where nobody is left to do it.
    fn hand_out(&mut self, index: usize, parts: Vec<(usize, Part)>) -> Result<(), EstimateError> {
        for (member, part) in parts {
            let search = &mut self.searches[index];
            // Without its frames nobody can do it again.
            let Some((current, reference)) = search.frames.clone() else { continue };
            search.shares.push(Share::new(member, part));
            let job = Job {
                search: search.number,
                part,
                current,
                reference,
                vectors: self.rooms.pop().unwrap_or_default(),
            };
            if !self.members[member].send(job) {
                // It may have said why.
                self.listen()?;
                self.put_out(member, "it takes no work any more")?;
            }
        }
        Ok(())
    }

    /// Puts `member` out of the group; the others do its work again.
    ///
    /// # Errors
    /// [`EstimateError::Device`] where there are no others, and nothing takes their place.
    fn put_out(&mut self, member: usize, reason: &str) -> Result<(), EstimateError> {
        let device = self.members[member].name().to_string();
        if !self.members[member].put_out() {
            let is_over = self.members.iter().all(Member::is_out);
            let message = "it failed before".into();
            return if is_over { Err(EstimateError::Device { device, message }) } else { Ok(()) };
        }
        self.balancer.remove(member);
        if self.members.iter().all(Member::is_out) {
            let lost = |message: String| EstimateError::Device { device: device.clone(), message };
            let Some(fallback) = &mut self.fallback else { return Err(lost(reason.into())) };
            let index = self.members.len();
            let place = self.frame_pool.place_of(index);
            let started = fallback()
                .and_then(|estimator| Member::start(index, place, estimator, self.reporter.clone()))
                .map_err(|error| lost(format!("{reason}; and nothing takes its place: {error}")))?;
            let text = format!("{device} failed: {reason}. {} goes on", started.name());
            self.notices.push(Notice::Failure(text));
            self.name = started.name().to_string();
            self.members.push(started);
            self.balancer.add(1.0);
        } else {
            let others = self.members.iter().filter(|member| !member.is_out()).map(|member| &**member.name());
            let others = others.collect::<Vec<_>>().join(" + ");
            self.notices.push(Notice::Failure(format!("{device} failed: {reason}. {others} goes on")));
            self.name = others;
        }
        for index in 0..self.searches.len() {
            let lost = |share: &mut Share| share.member == member && share.vectors.is_none();
            let lost: Vec<Share> = self.searches[index].shares.extract_if(.., lost).collect();
            self.searches[index].is_as_planned &= lost.is_empty();
            for share in lost {
                let rows = divide(share.part.rows().len(), &self.balancer.weights());
                self.hand_out(index, by_rows(share.part, &rows))?;
            }
        }
        Ok(())
    }

    /// Waits until all of the search at `index` of those in flight is done.
    fn collect(&mut self, index: usize) -> Result<(), EstimateError> {
        loop {
            let Some(search) = self.searches.get(index) else { return Err(EstimateError::NothingInFlight) };
            if search.shares.is_empty() {
                let (device, message) = (self.name.clone(), "its frames went with the device".into());
                return Err(EstimateError::Device { device, message });
            }
            let waited_for = search.shares.iter().filter(|share| share.vectors.is_none());
            // Jobs are done in order, so the time runs for the one that each member works on.
            let end = |share: &Share| {
                let member = share.member;
                (self.members[member].busy_since() + self.allowed(member), member)
            };
            let Some((end, member)) = waited_for.map(end).min() else { return Ok(()) };
            let left = end.saturating_duration_since(Instant::now());
            match worker::next(&self.reports, Some(left)) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => self.put_out_as_silent(member)?,
                // This group has a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Err(EstimateError::NothingInFlight),
            }
        }
    }

    /// How long `member` may be silent.
    fn allowed(&self, member: usize) -> Duration {
        self.members[member].allowed(self.patience, self.differences())
    }

    /// Puts `member` out for having said nothing as long as it may.
    fn put_out_as_silent(&mut self, member: usize) -> Result<(), EstimateError> {
        self.put_out(member, &format!("no answer for {:?}", self.allowed(member)))
    }

    /// The absolute differences of a search, as if each were computed.
    fn differences(&self) -> f64 {
        pace::differences(&self.parameters)
    }

    /// Takes what devices have said so far.
    fn listen(&mut self) -> Result<(), EstimateError> {
        while let Ok(report) = self.reports.try_recv() {
            self.take(report)?;
        }
        Ok(())
    }

    /// Takes what a device says.
    fn take(&mut self, report: Report) -> Result<(), EstimateError> {
        let Report { member, outcome } = report;
        // What it had to do is done by others.
        if self.members[member].is_out() {
            return Ok(());
        }
        let found = match outcome {
            Ok(found) => found,
            Err(error) => return self.put_out(member, &error.to_string()),
        };
        self.members[member].done();
        let Found { search, part, vectors, busy, occupied, moving, stages } = found;
        let search = self.searches.iter_mut().find(|s| s.number == search);
        let share = search.and_then(|search| {
            let StageTimes { upload, search: searched, download, .. } = &mut search.stages;
            *upload = stages.upload.max(*upload);
            *searched = stages.search.max(*searched);
            *download = stages.download.max(*download);
            search.moving = moving.max(search.moving);
            search.shares.iter_mut().find(|share| share.member == member && share.part == part)
        });
        match share {
            Some(share) => *share = Share { vectors: Some(vectors), busy, occupied, ..*share },
            // Given up meanwhile.
            None => self.rooms.push(vectors),
        }
        Ok(())
    }

    /// Tells the balancer how long each took.
    fn learn(&mut self, search: &Search) {
        let by_displacements = self.split() == Split::Candidates;
        let measured = search.shares.iter().map(|share| {
            let rows = share.part.displacements();
            let units = if by_displacements {
                (rows.end() - rows.start() + 1) as usize
            } else {
                share.part.rows().len()
            };
            Measured { device: share.member, units, seconds: share.occupied.as_secs_f64() }
        });
        let measured: Vec<Measured> = measured.collect();
        if self.split == Split::Frames {
            measured.iter().for_each(|m| self.balancer.observe_rate(m.device, m.units, m.seconds));
        } else if search.is_as_planned {
            let slowest =
                |time: fn(&Share) -> Duration| search.shares.iter().map(time).max().unwrap_or_default();
            let frame = match self.flights.depth() {
                1 => search.copying + slowest(|share| share.busy),
                // With several the next frame is copied while devices work, and none waits for the others.
                _ => search.copying.max(slowest(|share| share.occupied)),
            };
            self.balancer.observe(&measured, frame.as_secs_f64(), search.moving.as_secs_f64());
        }
        for (device, is_active) in self.balancer.take_notes() {
            self.notices.push(Notice::Balance(format!(
                "{} {}",
                self.members[device].name(),
                if is_active { "helps again" } else { "is left idle: the others are faster without it" }
            )));
        }
    }

    /// Puts the parts of a search together.
    fn merge(&mut self, search: &mut Search, vectors: &mut [MotionVector]) {
        let Parameters { ref window, .. } = self.parameters;
        let columns = self.parameters.grid().columns;
        let all = window.y0()..=window.y1();
        if search.shares.iter().any(|share| share.part.displacements() != all) {
            vectors.fill(MotionVector { cost: u32::MAX, ..MotionVector::default() });
        }
        let by_rows = search.shares.iter().all(|share| share.part.displacements() == all);
        self.row_devices.clear();
        self.row_devices.resize(if by_rows { self.parameters.grid().rows } else { 0 }, 0);
        self.members.iter_mut().for_each(Member::forget_share);
        for Share { part, vectors: found, member, busy, .. } in search.shares.drain(..) {
            let rows = part.rows();
            let displacements = part.displacements().count() as f64 / window.rows() as f64;
            let share = rows.len() as f64 / self.parameters.grid().rows as f64 * displacements;
            self.members[member].count_share(share, busy);
            if by_rows {
                self.row_devices[rows.clone()].fill(u8::try_from(member).unwrap_or(u8::MAX));
            }
            // Who was asked directly has written them where they belong.
            let Some(found) = found else { continue };
            let band = &mut vectors[rows.start * columns..rows.end * columns];
            if part.displacements() == all {
                band.copy_from_slice(&found);
            } else {
                band.iter_mut().zip(&found).for_each(|(best, &other)| *best = better(*best, other));
            }
            self.rooms.push(found);
        }
    }
}

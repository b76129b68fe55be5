//! Several devices as one: an estimator made of estimators.
//!
//! Uta's chapter 7 spreads the search over every compute device, Zhang's section IV finds how much
//! each should get. A group divides each search as [`Split`] says, has every device find its part,
//! and puts the parts together by the order of candidates, so that the field is that of one device,
//! bit for bit, however it was divided.
//!
//! Each device has a thread that lives as long as the group does. Work goes to it, and vectors come
//! back, through channels that take no lock; no thread is started for a picture, for which Uta lost
//! 7 ms (8.5.2). A device that fails, panics or says nothing for [`Options::patience`] is put out of the
//! group, and its part is done again by the others.

mod balance;
#[cfg(test)]
mod faults;
mod fit;
mod frame;
mod member;
mod share;
mod worker;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, DeviceShare, EstimateError, Estimator, Flights, Grid, Kernel, MotionVector, Notice, OrderKey,
    Parameters, Part, Picture, PictureBuf, Prediction, Predictor, SetupError, Slot, StageTimes,
    UNITS_PER_SAMPLE,
};
use crate::native::median_predictors;
pub use balance::{Balance, Balancer, Measured};
use frame::{Frame, Frames};
use member::Member;
pub use share::divide;
use worker::{Found, Job, Report};

/// How the work is divided among the devices of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// By rows.
    #[default]
    Auto,
    /// A device gets a band of block rows, and of the pictures the rows that it needs.
    Rows,
    /// A device gets a share of the displacements, for the whole picture (Uta 7.1). Of an algorithm
    /// that goes from one displacement to the next, rows.
    Candidates,
    /// A device gets whole pictures (Zhang IV). Several devices are busy only where so many
    /// searches are in flight.
    Pictures,
}

/// How a group works.
pub struct Options {
    /// How the work is divided.
    pub split: Split,
    /// How much each device gets.
    pub balance: Balance,
    /// How long a device may take for a job before it counts as lost.
    pub patience: Duration,
    /// Makes what takes the place of the last device that failed; without it the failure is an error.
    pub fallback: Option<Fallback>,
}

/// Makes an estimator for the same parameters and depth as the others.
pub type Fallback = Box<dyn FnMut() -> Result<Box<dyn Estimator>, SetupError> + Send>;

impl Options {
    /// [`Self::patience`] where nothing is chosen: longer than any search should take, and a compiler
    /// that is started by the first.
    pub const PATIENCE: Duration = Duration::from_secs(10);
}

impl Default for Options {
    fn default() -> Self {
        Self {
            split: Split::default(),
            balance: Balance::default(),
            patience: Self::PATIENCE,
            fallback: None,
        }
    }
}

/// A device of a group to be.
pub struct Device {
    /// Does its part of the work. It must be for the parameters of the group without prediction.
    pub estimator: Box<dyn Estimator>,
    /// How much of the work it gets, compared with the others.
    pub weight: f64,
}

/// A part of a search and who does it.
struct Share {
    member: usize,
    part: Part,
    /// Once it is done.
    vectors: Option<Vec<MotionVector>>,
    busy: Duration,
}

/// A search in flight.
struct Search {
    number: u64,
    current: Arc<Frame>,
    reference: Arc<Frame>,
    shares: Vec<Share>,
    /// The longest of each stage so far.
    stages: StageTimes,
    /// Whether everyone did what it was given: nobody failed.
    is_as_planned: bool,
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
    frames: Frames,
    /// One a slot.
    slots: Vec<Option<Arc<Frame>>>,
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
        let memory = devices.iter().find_map(|device| device.estimator.host_memory());
        let weights: Vec<f64> = devices.iter().map(|device| device.weight).collect();
        let balancer = Balancer::new(options.balance, &weights);
        let (reporter, reports) = channel();
        let depth = depth.max(1);
        let member =
            |(index, device): (usize, Device)| Member::start(index, device.estimator, reporter.clone());
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
            frames: Frames::new(parameters, memory),
            slots: vec![None; depth + 1],
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
            Split::Pictures => {
                let weights = self.balancer.weights();
                // Who will be done first: the work that waits, one picture more, at its rate.
                let wait = |index: &usize| (self.members[*index].waiting() + 1) as f64 / weights[*index];
                let usable = (0..weights.len()).filter(|&index| weights[index] > 0.0);
                let next = usable.min_by(|a, b| wait(a).total_cmp(&wait(b)));
                next.map(|index| (index, whole)).into_iter().collect()
            }
        }
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
            search.shares.push(Share { member, part, vectors: None, busy: Duration::ZERO });
            let job = Job {
                search: search.number,
                part,
                current: search.current.clone(),
                reference: search.reference.clone(),
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
            let started = fallback()
                .and_then(|estimator| Member::start(index, estimator, self.reporter.clone()))
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

    /// Waits until all of the oldest search is done.
    fn collect(&mut self) -> Result<(), EstimateError> {
        loop {
            let Some(oldest) = self.searches.front() else { return Err(EstimateError::NothingInFlight) };
            let waited_for = oldest.shares.iter().filter(|share| share.vectors.is_none());
            // Jobs are done in order, so the time runs for the one that each member works on.
            let since = |share: &Share| (self.members[share.member].busy_since(), share.member);
            let Some((since, member)) = waited_for.map(since).min() else { return Ok(()) };
            let left = self.patience.saturating_sub(since.elapsed());
            match self.reports.recv_timeout(left) {
                Ok(report) => self.take(report)?,
                Err(RecvTimeoutError::Timeout) => {
                    self.put_out(member, &format!("no answer for {:?}", self.patience))?;
                }
                // This group has a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Err(EstimateError::NothingInFlight),
            }
        }
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
        let Found { search, part, vectors, busy, stages } = found;
        let search = self.searches.iter_mut().find(|s| s.number == search);
        let share = search.and_then(|search| {
            let StageTimes { upload, search: searched, download, .. } = &mut search.stages;
            *upload = stages.upload.max(*upload);
            *searched = stages.search.max(*searched);
            *download = stages.download.max(*download);
            search.shares.iter_mut().find(|share| share.member == member && share.part == part)
        });
        match share {
            Some(share) => (share.vectors, share.busy) = (Some(vectors), busy),
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
            Measured { device: share.member, units, seconds: share.busy.as_secs_f64() }
        });
        let measured: Vec<Measured> = measured.collect();
        if self.split == Split::Pictures {
            measured.iter().for_each(|m| self.balancer.observe_rate(m.device, m.units, m.seconds));
        } else if search.is_as_planned {
            self.balancer.observe(&measured);
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
        for Share { part, vectors: found, member, busy } in search.shares.drain(..) {
            let Some(found) = found else { continue };
            let rows = part.rows();
            let displacements = part.displacements().count() as f64 / window.rows() as f64;
            let share = rows.len() as f64 / self.parameters.grid().rows as f64 * displacements;
            self.members[member].count_share(share, busy);
            if by_rows {
                self.row_devices[rows.clone()].fill(u8::try_from(member).unwrap_or(u8::MAX));
            }
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

/// The better of two candidates of a block.
fn better(one: MotionVector, other: MotionVector) -> MotionVector {
    let key = |vector: MotionVector| {
        let samples = |component: i16| i32::from(component) / UNITS_PER_SAMPLE;
        OrderKey::new(vector.cost, samples(vector.x), samples(vector.y))
    };
    match (one.cost, other.cost) {
        // Neither is a candidate by its cost.
        (_, u32::MAX) => one,
        (u32::MAX, _) => other,
        _ => {
            if key(other) < key(one) {
                other
            } else {
                one
            }
        }
    }
}

/// A band of rows for each that gets any.
fn by_rows(part: Part, rows: &[usize]) -> Vec<(usize, Part)> {
    let mut next = part.rows().start;
    let bands = rows.iter().copied().enumerate().filter(|&(_, rows)| rows > 0);
    bands
        .map(|(member, rows)| {
            let band = part.with_rows(next..next + rows);
            next += rows;
            (member, band)
        })
        .collect()
}

/// Rows of the window for each that gets any.
fn by_displacements(part: Part, rows: &[usize]) -> Vec<(usize, Part)> {
    let mut next = *part.displacements().start();
    let bands = rows.iter().copied().enumerate().filter(|&(_, rows)| rows > 0);
    bands
        .map(|(member, rows)| {
            let band = part.with_displacements(next..=next + rows as i32 - 1);
            next += rows as i32;
            (member, band)
        })
        .collect()
}

impl Estimator for Group {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        &self.name
    }

    fn kernel(&self) -> Kernel {
        self.kernel
    }

    fn depth(&self) -> usize {
        self.flights.depth()
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        picture.check_size(&self.parameters)?;
        let start = Instant::now();
        if let Some(before) = self.slots[slot.index()].take() {
            self.frames.put_back(before);
        }
        self.slots[slot.index()] = Some(self.frames.fill(picture));
        self.flights.fill(slot);
        if self.flights.len() == 0 {
            self.times.upload = start.elapsed();
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        let frame = self.slots.get(slot.index()).and_then(Option::as_ref);
        Ok(frame.filter(|_| self.flights.is_loaded(slot)).and_then(|frame| frame.picture()))
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        let whole = Part::whole(&self.parameters);
        if part != whole {
            return Err(EstimateError::NoSuchPart(part));
        }
        self.flights.check_begin(current, reference)?;
        self.listen()?;
        let frame = |slot: Slot| self.slots[slot.index()].clone().ok_or(EstimateError::EmptySlot(slot));
        let (current_frame, reference_frame) = (frame(current)?, frame(reference)?);
        self.next_search += 1;
        self.searches.push_back(Search {
            number: self.next_search,
            current: current_frame,
            reference: reference_frame,
            shares: Vec::new(),
            stages: StageTimes::default(),
            is_as_planned: true,
        });
        let parts = self.plan(whole);
        let handed_out = self.hand_out(self.searches.len() - 1, parts);
        if handed_out.is_err() {
            self.searches.pop_back();
        }
        handed_out?;
        self.flights.begin(current, reference, whole);
        Ok(())
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        self.flights.oldest()?;
        self.parameters.grid().check(vectors)?;
        let collected = self.collect();
        self.flights.finish();
        let search = self.searches.pop_front();
        let is_predicting = self.parameters.prediction != Prediction::None;
        let kept = self.last_field.take();
        collected?;
        let Some(mut search) = search else { return Err(EstimateError::NothingInFlight) };
        self.learn(&search);
        self.merge(&mut search, vectors);
        self.times = search.stages;
        if is_predicting {
            let mut kept = kept.unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(vectors);
            self.last_field = Some(kept);
        }
        Ok(())
    }

    fn cancel(&mut self) {
        self.flights.clear();
        self.last_field = None;
        self.searches.clear();
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        if self.parameters.prediction == Prediction::None {
            return Err(EstimateError::NotPredicting);
        }
        let start = Instant::now();
        let field = self.last_field.as_ref().ok_or(EstimateError::NoField)?;
        let grid: Grid = self.parameters.grid();
        median_predictors(grid, field, predictors)?;
        self.times.prediction = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }

    fn shares(&self, shares: &mut Vec<DeviceShare>) {
        shares.clear();
        let Parameters { width, height, .. } = self.parameters;
        let differences = (width * height) as f64 * self.parameters.candidates() as f64;
        shares.extend(self.members.iter().map(|member| member.share(differences)));
    }

    fn row_devices(&self, rows: &mut Vec<u8>) {
        rows.clear();
        rows.extend_from_slice(&self.row_devices);
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

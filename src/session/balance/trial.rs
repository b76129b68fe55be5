//! Whether a device pays is tried: a few frames with it, or without it, beside those as usual.

use std::collections::VecDeque;

use super::pace::{Pace, slowest};
use super::{Balancer, Measured, Stages, WORTH};

/// Frames of a trial.
const TRIAL: usize = 3;

/// Frames that a trial is compared with. They come before the first.
const RECENT: usize = 7;

/// Frames more before the first trial, and after the load has changed. After each trial in vain there are
/// twice as many before the next, up to [`RAREST_TRIAL`], and so many more as make it cost at most
/// [`COST`] of the time.
const FIRST_TRIAL: usize = 6;
const AFTER_LOAD: usize = 8;
const RAREST_TRIAL: usize = 768;
const COST: f64 = 0.005;

/// A trial goes on where a device could do so many times the units that it was offered, or, so many times,
/// where by what is known then the frame would be faster with it.
const MORE: usize = 2;
const AGAIN: usize = 3;

/// So many frames one after the other that take so much more or less time than those in the middle of the
/// recent ones are a change of load. The trial that follows comes soon whatever it costs, but so many
/// frames after the one before.
const LOAD: f64 = 1.2;
const UNUSUAL: usize = 3;
const APART: usize = 24;

/// Frames with one device more or less than usual.
#[derive(Debug)]
struct Trial {
    device: usize,
    /// Frames that are planned still.
    to_plan: usize,
    frames: Vec<Stages>,
    /// What they took besides, once, for rows to be moved.
    moving: f64,
    /// The most units that the device was offered, and of how many.
    offered: usize,
    units: usize,
    /// How often it has gone on.
    rounds: usize,
    /// What was known before, which holds again if everything stays as it was.
    paces: Vec<Pace>,
}

/// When who is tried.
#[derive(Debug)]
pub(super) struct Trials {
    /// Times of the last frames by the active devices.
    recent: VecDeque<Stages>,
    /// How many of the last of them were unlike those before.
    unusual: usize,
    trial: Option<Trial>,
    /// Frames until the next trial, and from that to the one after it.
    until: usize,
    between: usize,
    /// Frames since the last.
    since: usize,
    /// Who is tried next.
    turn: usize,
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            recent: VecDeque::with_capacity(RECENT),
            unusual: 0,
            trial: None,
            until: FIRST_TRIAL,
            between: FIRST_TRIAL,
            since: APART,
            turn: 0,
        }
    }
}

impl Trials {
    /// Whether one is going on.
    pub(super) fn is_on(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether `device` is tried.
    pub(super) fn is_tried(&self, device: usize) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.device == device)
    }

    /// Forgets how long frames took: other devices do them.
    fn begin_again(&mut self) {
        self.recent.clear();
        (self.until, self.between) = (FIRST_TRIAL, FIRST_TRIAL);
    }

    /// Whether a trial is due with the next frame.
    fn is_due(&self) -> bool {
        !self.is_on() && self.recent.len() == RECENT && self.until <= 1
    }

    /// Counts a frame that is planned.
    fn count(&mut self) {
        self.since += 1;
        if !self.is_on() && self.recent.len() == RECENT {
            self.until = if self.until <= 1 { self.between } else { self.until - 1 };
        }
    }

    /// The usual time of a frame.
    fn usual(&mut self) -> Option<f64> {
        seconds(self.recent.make_contiguous())
    }

    /// Notes the times of a frame as usual.
    fn note(&mut self, frame: Stages) {
        if self.recent.len() == RECENT {
            let seconds = frame.slowest();
            let mut known = [0.0; RECENT];
            known.iter_mut().zip(&self.recent).for_each(|(known, recent)| *known = recent.slowest());
            known.sort_by(f64::total_cmp);
            // These two are of before until the change is noted.
            let (low, high) = (known[UNUSUAL - 1], known[RECENT - UNUSUAL]);
            let is_usual = (low / LOAD..=high * LOAD).contains(&seconds);
            self.unusual = if is_usual { 0 } else { self.unusual + 1 };
            if self.unusual == UNUSUAL {
                let soon = AFTER_LOAD.max(APART.saturating_sub(self.since));
                (self.until, self.between) = (self.until.min(soon), FIRST_TRIAL);
            }
            self.recent.pop_front();
        }
        self.recent.push_back(frame);
    }

    /// Has the next trial come later, the more so the longer frames took with the last, compared with
    /// usual, and rows were moved, as many usual frames' time.
    fn was_in_vain(&mut self, longer: f64, moving: f64) {
        self.between = (2 * self.between).min(RAREST_TRIAL);
        // They are moved back as well.
        let lost = TRIAL as f64 * (longer - 1.0).max(0.0) + 2.0 * moving;
        (self.until, self.since) = (self.between.max((lost / COST) as usize), 0);
    }
}

impl Balancer {
    pub(super) fn set_active(&mut self, device: usize, is_active: bool) {
        self.devices[device].is_active = is_active;
        self.notes.push((device, is_active));
        self.trials.begin_again();
    }

    /// Compares frames with one device more or less with those as usual.
    pub(super) fn judge(&mut self, measured: &[Measured], frame: Stages, moving: f64) {
        let took_part = |index: usize| measured.iter().any(|m| m.device == index);
        let differs = |index: &usize| took_part(*index) != self.devices[*index].is_active;
        let mut others =
            (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone).filter(differs);
        match (others.next(), others.next(), &mut self.trials.trial) {
            // As usual.
            (None, _, _) => self.trials.note(frame),
            (Some(device), None, Some(trial)) if trial.device == device => {
                trial.frames.push(frame);
                trial.moving += moving;
                if trial.frames.len() == TRIAL {
                    self.end_trial();
                }
            }
            // Planned before something changed.
            _ => (),
        }
    }

    /// Who is tried with the next frame, in turn: who is idle, then, where there are several, who is
    /// not, the one that does least first.
    pub(super) fn next_tried(&self) -> Option<usize> {
        if let Some(trial) = &self.trials.trial {
            return (trial.to_plan > 0).then_some(trial.device);
        }
        let well = (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone);
        let (mut tried, mut active): (Vec<usize>, Vec<usize>) =
            well.partition(|&index| !self.devices[index].is_active);
        if active.len() > 1 {
            active.sort_by_key(|&index| self.last.get(index));
            tried.extend(active);
        }
        let next = tried.get(self.trials.turn % tried.len().max(1));
        next.copied().filter(|_| self.trials.is_due())
    }

    /// The same, for a frame that is planned now: a trial begins where one is due.
    pub(super) fn plan_trial(&mut self) -> Option<usize> {
        let device = self.next_tried();
        self.trials.count();
        let device = device?;
        if !self.trials.is_on() {
            self.trials.turn += 1;
            let paces = self.devices.iter().map(|state| state.pace).collect();
            let frames = Vec::with_capacity(TRIAL);
            let (to_plan, moving, offered, units, rounds) = (TRIAL, 0.0, 0, 0, 0);
            let trial = Trial { device, to_plan, frames, moving, offered, units, rounds, paces };
            self.trials.trial = Some(trial);
            // What it took when it was left idle may have had a cause that is gone.
            if !self.devices[device].is_active {
                self.devices[device].pace.begin_again();
            }
        }
        if let Some(trial) = &mut self.trials.trial {
            trial.to_plan -= 1;
        }
        Some(device)
    }

    /// Notes how much who is tried is given.
    pub(super) fn note_offered(&mut self, tried: Option<usize>, shares: &[usize]) {
        if let Some((trial, device)) = self.trials.trial.as_mut().zip(tried) {
            (trial.offered, trial.units) = (trial.offered.max(shares[device]), shares.iter().sum());
        }
    }

    fn end_trial(&mut self) {
        let Some(mut trial) = self.trials.trial.take() else { return };
        let (Some(usual), Some(tried)) = (self.trials.usual(), seconds(&trial.frames)) else { return };
        let was_active = self.devices[trial.device].is_active;
        let is_worth_it = if was_active { usual < WORTH * tried } else { tried < WORTH * usual };
        if is_worth_it != was_active {
            self.set_active(trial.device, is_worth_it);
            return;
        }
        // Little, given for what was known before, says little: what a frame costs whatever its share,
        // and whole units. Much may have been given for what little seemed to say. It goes on with what the
        // device could do of a frame by what it did.
        if !was_active {
            let shares = self.steady(trial.units, Some(trial.device)).0;
            let promised = slowest(&self.paces(Some(trial.device)), &shares);
            let could = shares[trial.device];
            if could >= MORE * trial.offered.max(1) || promised < WORTH * usual && trial.rounds < AGAIN {
                (trial.to_plan, trial.offered, trial.rounds) = (TRIAL, could, trial.rounds + 1);
                trial.frames.clear();
                self.trials.trial = Some(trial);
                return;
            }
        }
        for (index, (state, pace)) in self.devices.iter_mut().zip(trial.paces).enumerate() {
            // Of who was tried in vain, what was seen is all there is.
            if was_active || index != trial.device {
                state.pace = pace;
            }
        }
        self.trials.was_in_vain(tried / usual, trial.moving / usual);
    }
}

/// How long a frame takes where one like `frames` follows the other: as long as its slowest stage, of
/// which the mean counts, without the longest quarter.
fn seconds(frames: &[Stages]) -> Option<f64> {
    let kept = frames.len() - frames.len().div_ceil(4);
    let of_stage = |stage: usize| {
        let mut times: Vec<f64> = frames.iter().map(|frame| frame.of(stage)).collect();
        times.sort_by(f64::total_cmp);
        times[..kept].iter().sum::<f64>() / kept as f64
    };
    let stages = frames.iter().map(Stages::count).max().filter(|_| kept > 0)?;
    (0..stages).map(of_stage).max_by(f64::total_cmp)
}

//! Who should get how much of the next frame, from how long each took for those before.
//!
//! Nothing here knows of devices or clocks: units of work (rows of blocks, say) and seconds come in,
//! units go out.

mod curves;
mod fit;
mod pace;
#[cfg(test)]
mod tests;
mod trial;

use super::share::divide;
use curves::Fitting;
use pace::{Pace, slowest, together};
use trial::Trials;

/// How shares are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Balance {
    /// Each device's rate, and what a frame costs it whatever its share, are measured with every
    /// frame, and shares follow; who does not help is left idle.
    #[default]
    Adaptive,
    /// Curves are fitted to the times of the first frames and solved for equal times (Zhang IV-C);
    /// the shares stay as they are then. Who does not help by its curve gets nothing, nor do all but
    /// the best where it alone, measured once, is faster.
    Fit,
    /// By the weights of the devices, which hold even where one device alone would be faster.
    Static,
}

/// What a device did for a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Which device.
    pub device: usize,
    /// How much it did, more than nothing.
    pub units: usize,
    /// How long it was kept from the next frame by that, in seconds.
    pub seconds: f64,
}

/// How long a frame took in each of the stages that go on beside those of other frames, in seconds: one
/// where only one frame is in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages(pub Vec<f64>);

impl Stages {
    fn count(&self) -> usize {
        self.0.len()
    }

    /// What it took in this stage: nothing where it has none of that number.
    fn of(&self, stage: usize) -> f64 {
        self.0.get(stage).copied().unwrap_or(0.0)
    }

    fn slowest(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

/// Shares stay as they are while a frame takes at most this much longer with them than it could, as rows
/// that move from one device to another are sent to both; but not when that has cost as much as moving them
/// does, in frames.
const WORTH_MOVING: f64 = 1.03;
const MOVING: f64 = 1.0;

/// Who helps must make the frame this much faster, so that nobody comes and goes by noise.
const WORTH: f64 = 0.97;

/// What is known of a device.
#[derive(Clone, Debug)]
struct State {
    weight: f64,
    pace: Pace,
    is_active: bool,
    is_gone: bool,
}

/// Finds shares.
#[derive(Debug)]
pub struct Balancer {
    method: Balance,
    devices: Vec<State>,
    /// How many units each got last.
    last: Vec<usize>,
    /// How many frames' time it has cost that shares stayed as they are.
    regret: f64,
    trials: Trials,
    fitting: Fitting,
    notes: Vec<(usize, bool)>,
}

impl Balancer {
    /// For devices of these weights.
    pub fn new(method: Balance, weights: &[f64]) -> Self {
        let mut balancer = Self {
            method,
            devices: Vec::new(),
            last: Vec::new(),
            regret: 0.0,
            trials: Trials::default(),
            fitting: Fitting::default(),
            notes: Vec::new(),
        };
        weights.iter().for_each(|&weight| balancer.add(weight));
        balancer
    }

    /// One device more.
    pub fn add(&mut self, weight: f64) {
        self.devices.push(State { weight, pace: Pace::default(), is_active: true, is_gone: false });
        self.start_again();
    }

    /// `device` gets nothing any more.
    pub fn remove(&mut self, device: usize) {
        if let Some(state) = self.devices.get_mut(device) {
            state.is_gone = true;
        }
        // Who was not worth it beside others may be all that is left.
        self.devices.iter_mut().for_each(|state| state.is_active = true);
        self.start_again();
    }

    fn start_again(&mut self) {
        self.trials = Trials::default();
        self.fitting = Fitting::default();
    }

    /// Units a second of `device` as measured last, those among them that a frame costs whatever its
    /// share; 0 before.
    pub fn rate(&self, device: usize) -> f64 {
        self.devices.get(device).and_then(|state| state.pace.rate).unwrap_or(0.0)
    }

    /// How much each should get compared with the others, 0 for who is gone, whoever is tried.
    pub fn weights(&self) -> Vec<f64> {
        let known: Vec<f64> = self.devices.iter().filter_map(|state| state.pace.rate).collect();
        // Of whom nothing is known, the others' mean.
        let usual = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
        let weight = |(index, state): (usize, &State)| match self.method {
            _ if state.is_gone => 0.0,
            Balance::Static => state.weight,
            Balance::Fit => self.fitting.shares().map_or(1.0, |shares| shares[index] as f64),
            Balance::Adaptive => state.pace.rate.unwrap_or(usual * state.weight),
        };
        self.devices.iter().enumerate().map(weight).collect()
    }

    /// Who came to be left idle, `false`, or to help again, `true`, since this was asked last.
    pub fn take_notes(&mut self) -> Vec<(usize, bool)> {
        std::mem::take(&mut self.notes)
    }

    /// How many of `units` each gets of the next frame.
    pub fn plan(&mut self, units: usize) -> Vec<usize> {
        match self.method {
            Balance::Static => return divide(units, &self.weights()),
            Balance::Fit => return self.plan_fit(units),
            Balance::Adaptive => (),
        }
        let tried = self.plan_trial();
        let (mut shares, loss) = self.steady(units, tried);
        self.regret = if shares == self.last { self.regret + loss } else { 0.0 };
        // Less than a unit cannot be measured: who is tried gets one.
        if let Some(tried) = tried.filter(|&tried| !self.devices[tried].is_active && shares[tried] == 0)
            && let Some(most) = (0..shares.len()).max_by_key(|&index| shares[index])
            && shares[most] > 1
        {
            (shares[most], shares[tried]) = (shares[most] - 1, 1);
        }
        self.note_offered(tried, &shares);
        for (index, &share) in shares.iter().enumerate() {
            let state = &self.devices[index];
            if state.is_active && !state.is_gone && tried != Some(index) && share == 0 {
                self.set_active(index, false);
            }
        }
        self.last.clone_from(&shares);
        shares
    }

    /// Rates and fixed units of those who do the next frame, where `tried` is tried; none of the others.
    fn paces(&self, tried: Option<usize>) -> Vec<(f64, f64)> {
        let pace = |(index, weight): (usize, f64)| {
            let state = &self.devices[index];
            if state.is_active != (tried == Some(index)) { (weight, state.pace.fixed) } else { (0.0, 0.0) }
        };
        self.weights().into_iter().enumerate().map(pace).collect()
    }

    /// How many of `units` each gets, where `tried` is tried: as many as last where that is nearly as
    /// good as all finishing together. And how much of a frame's time is lost by that.
    fn steady(&self, units: usize, tried: Option<usize>) -> (Vec<usize>, f64) {
        let paces = self.paces(tried);
        let shares = divide(units, &together(&paces, units));
        let seconds = |shares: &[usize]| slowest(&paces, shares);
        let are_same = self.last.len() == shares.len()
            && self.last.iter().sum::<usize>() == units
            && self.last.iter().zip(&shares).all(|(last, now)| (*last > 0) == (*now > 0));
        let loss = seconds(&self.last) / seconds(&shares).max(f64::MIN_POSITIVE) - 1.0;
        if are_same && loss <= WORTH_MOVING - 1.0 && self.regret + loss <= MOVING {
            (self.last.clone(), loss.max(0.0))
        } else {
            (shares, 0.0)
        }
    }

    /// How many of `units` each can expect to get of the next frame.
    pub fn expected(&self, units: usize) -> Vec<usize> {
        match self.method {
            Balance::Static => divide(units, &self.weights()),
            Balance::Fit => self.expected_fit(units),
            Balance::Adaptive => self.steady(units, self.next_tried()).0,
        }
    }

    /// Whether `device` works without the others for now, be it `on_trial`.
    pub fn is_alone(&self, device: usize, on_trial: bool) -> bool {
        let is_idle = |index: usize| match self.method {
            Balance::Static => false,
            Balance::Fit => self.fitting.is_idle(index),
            Balance::Adaptive => self.devices[index].is_active == self.trials.is_tried(index),
        };
        let is_out = |index: usize| index == device || self.devices[index].is_gone || is_idle(index);
        (on_trial || !self.trials.is_on()) && (0..self.devices.len()).all(is_out)
    }

    /// Takes what every device did for one frame, which took so long in its stages and would again, and
    /// so many seconds besides, once, for `moving` its rows to where they had not been expected.
    pub fn observe(&mut self, measured: &[Measured], frame: Stages, moving: f64) {
        for &Measured { device, units, seconds } in measured {
            self.observe_rate(device, units, seconds);
        }
        match self.method {
            Balance::Static => (),
            Balance::Fit => self.fit(measured, frame.slowest()),
            Balance::Adaptive => self.judge(measured, frame, moving),
        }
    }

    /// Takes what one device did, by itself.
    pub fn observe_rate(&mut self, device: usize, units: usize, seconds: f64) {
        if let Some(state) = self.devices.get_mut(device) {
            state.pace.observe(units, seconds);
        }
    }
}

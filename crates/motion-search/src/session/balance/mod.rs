//! How much of the next frame each device gets, from the times of earlier frames.
//!
//! Pure arithmetic without devices and clocks: units of work (rows of blocks, for example) and seconds
//! come in, units go out.

mod curve;
mod fit;
mod model;
mod probe;
#[cfg(test)]
mod tests;

use super::share::divide;
use curve::{TimeCurve, equal_shares, slowest};
use fit::{Fitting, FrameRound};
use model::CostModel;
use probe::ProbeSchedule;

/// How shares are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Balance {
    /// The rate and the fixed cost of each device are measured with every frame, and all devices finish
    /// together. A device gets nothing if the frame is not at least 3 % faster with it.
    #[default]
    Adaptive,
    /// Curves are fitted to the times of the first frames and solved for equal times (Zhang IV-C); the
    /// shares stay as they are then. Devices that do not help by their curves get nothing; the fastest
    /// device gets everything if it is faster alone. Whole frames are divided in rounds of
    /// [`ROUND`](Self::ROUND).
    Fit,
    /// By the weights of the devices, even if one device alone would be faster.
    Static,
}

impl Balance {
    /// Frames that [`Self::Fit`] divides at a time if the devices get whole frames: shares are multiples of a
    /// twelfth.
    pub const ROUND: usize = 12;
}

/// What a device did for a frame, or for a round of whole frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Index of the device.
    pub device: usize,
    /// Units of work, at least one.
    pub units: usize,
    /// Seconds during which this work kept the device from the next frame.
    pub seconds: f64,
}

/// A device gets work if the frame takes less than this part of its time without the device.
const HELPS: f64 = 0.97;

/// Shares stay as they are while a frame takes at most this many times as long as with the best shares:
/// rows that move to another device are uploaded again.
const STAY: f64 = 1.02;

#[derive(Debug)]
struct DeviceState {
    /// 0 for a device that is removed.
    weight: f64,
    /// It gets no work because it does not help.
    is_idle: bool,
}

/// Divides frames among devices, which are numbered from 0 in the order in which they are added.
#[derive(Debug)]
pub struct Balancer {
    method: Balance,
    devices: Vec<DeviceState>,
    /// One of each device: its times beside the others in use, or when it was in use last.
    models: Vec<CostModel>,
    /// The shares planned last, empty before.
    last: Vec<usize>,
    probes: ProbeSchedule,
    fitting: Fitting,
    round: FrameRound,
    notes: Vec<(usize, bool)>,
}

impl Balancer {
    /// A balancer of devices with these relative weights; a device of weight 0 gets no work.
    pub fn new(method: Balance, weights: &[f64]) -> Self {
        let (devices, models, last, notes) = Default::default();
        let (probes, fitting, round) = Default::default();
        let mut balancer = Self { method, devices, models, last, probes, fitting, round, notes };
        weights.iter().for_each(|&weight| balancer.add(weight));
        balancer
    }

    /// Adds a device with this relative weight.
    pub fn add(&mut self, weight: f64) {
        self.devices.push(DeviceState { weight, is_idle: false });
        self.models.push(CostModel::default());
        self.start_again();
    }

    /// Gives `device` no more work, and all others work again.
    pub fn remove(&mut self, device: usize) {
        self.devices[device].weight = 0.0;
        self.devices.iter_mut().for_each(|state| state.is_idle = false);
        self.start_again();
    }

    fn start_again(&mut self) {
        self.last.clear();
        (self.probes, self.fitting, self.round) = Default::default();
    }

    /// The devices that are not removed.
    fn present(&self) -> Vec<usize> {
        (0..self.devices.len()).filter(|&device| self.devices[device].weight > 0.0).collect()
    }

    /// The relative speeds of the devices: their rates in units per second once all are measured, else
    /// their weights; 0 for those that are removed.
    pub fn weights(&self) -> Vec<f64> {
        self.speeds(&self.models)
    }

    fn speeds(&self, models: &[CostModel]) -> Vec<f64> {
        let are_measured = self.present().iter().all(|&device| models[device].rate > 0.0);
        let by_rate = are_measured && self.method != Balance::Static;
        let speed = |(state, model): (&DeviceState, &CostModel)| match state.weight > 0.0 {
            true if by_rate => model.rate,
            true => state.weight,
            false => 0.0,
        };
        self.devices.iter().zip(models).map(speed).collect()
    }

    /// Takes the devices that became idle (`false`) or are used again (`true`) since the last call.
    pub fn take_notes(&mut self) -> Vec<(usize, bool)> {
        std::mem::take(&mut self.notes)
    }

    fn set_idle(&mut self, device: usize, is_idle: bool) {
        self.devices[device].is_idle = is_idle;
        self.notes.push((device, !is_idle));
        self.probes.restart();
    }

    /// Divides the `units` of the next frame: those of each device.
    pub fn plan(&mut self, units: usize) -> Vec<usize> {
        self.last = match self.method {
            Balance::Static => divide(units, &self.weights()),
            Balance::Fit => self.plan_fit(units),
            Balance::Adaptive => self.plan_adaptive(units),
        };
        self.last.clone()
    }

    fn plan_adaptive(&mut self, units: usize) -> Vec<usize> {
        let probed = self.next_probe();
        let curves = self.curves(probed);
        let mut shares = self.steady_shares(units, &curves);
        for device in 0..shares.len() {
            let most = (0..shares.len()).max_by_key(|&index| shares[index]).unwrap_or(device);
            if shares[device] > 0 || curves[device].is_none() {
                continue;
            }
            if probed != Some(device) && !self.models[device].is_new() {
                self.set_idle(device, true);
            } else if shares[most] > 1 {
                // It is measured with at least one unit.
                (shares[most], shares[device]) = (shares[most] - 1, 1);
            }
        }
        shares
    }

    /// The curves of the devices in use; with `probed`, of those of the probe.
    fn curves(&self, probed: Option<usize>) -> Vec<Option<TimeCurve>> {
        let models = probed.and(self.probes.models()).unwrap_or(&self.models);
        let curve = |(device, rate): (usize, f64)| {
            let is_used = self.devices[device].is_idle == (probed == Some(device));
            (rate > 0.0 && is_used).then(|| TimeCurve::line(rate, models[device].fixed))
        };
        self.speeds(models).into_iter().enumerate().map(curve).collect()
    }

    /// The shares planned last if they are nearly as good, else those with which all finish together.
    fn steady_shares(&mut self, units: usize, curves: &[Option<TimeCurve>]) -> Vec<usize> {
        let shares = equal_shares(curves, units);
        let are_same_devices = self.last.len() == shares.len()
            && self.last.iter().sum::<usize>() == units
            && self.last.iter().zip(&shares).all(|(last, now)| (*last > 0) == (*now > 0));
        match are_same_devices && slowest(curves, &self.last) <= STAY * slowest(curves, &shares) {
            true => self.last.clone(),
            false => shares,
        }
    }

    /// The device of the next whole frame, where `waiting[device]` frames wait at each: the one that finishes it
    /// first, or by the shares of [`Balance::Fit`].
    ///
    /// A device without measurements gets a frame first. Slow devices are probed rarely.
    pub fn next_frame(&mut self, waiting: &[usize]) -> usize {
        if self.method == Balance::Fit {
            return self.next_frame_fit();
        }
        let (speeds, present) = (self.weights(), self.present());
        let is_free = |&device: &usize| self.method != Balance::Static && waiting[device] == 0;
        let mut free: Vec<usize> = present.iter().copied().filter(is_free).collect();
        if let Some(&new) = free.iter().find(|&&device| self.models[device].is_new()) {
            return new;
        }
        let seconds = |device: usize| (waiting[device] + 1) as f64 / speeds[device];
        let best = present.into_iter().min_by(|&a, &b| seconds(a).total_cmp(&seconds(b))).unwrap_or(0);
        free.retain(|&device| device != best);
        self.next_frame_probe(best, &free).unwrap_or(best)
    }

    /// Takes what each device did for a frame, which took `frame_seconds` (its slowest stage, if stages
    /// overlap with those of other frames) and, once, `rebalance_seconds` because shares have moved.
    pub fn observe(&mut self, measured: &[Measured], frame_seconds: f64, rebalance_seconds: f64) {
        match self.method {
            Balance::Static => (),
            Balance::Fit => self.observe_fit(measured, frame_seconds),
            Balance::Adaptive => self.observe_probe(measured, frame_seconds, rebalance_seconds),
        }
    }

    /// Takes a whole frame of these units, which one device did in `seconds`. `is_alone` if no other device
    /// did a frame meanwhile, as only one frame is in flight.
    pub fn observe_frame(&mut self, device: usize, units: usize, seconds: f64, is_alone: bool) {
        self.models[device].observe(units, seconds);
        if self.method == Balance::Fit {
            self.observe_frame_fit(device, seconds, is_alone);
        }
    }
}

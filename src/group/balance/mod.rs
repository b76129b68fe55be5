//! Who should get how much of the next picture, from how long each took for those before.
//!
//! Nothing here knows of devices or clocks: units of work (rows of blocks, say) and seconds come in,
//! units go out.

#[cfg(test)]
mod tests;
mod trial;

use super::fit::{Curve, equal_times};
use super::share::divide;
use trial::Trials;

/// How shares are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Balance {
    /// Each device's rate is measured with every picture, and shares follow it; who does not help is
    /// left idle.
    #[default]
    Adaptive,
    /// Curves are fitted to the times of the first pictures and solved for equal times (Zhang IV-C);
    /// the shares stay as they are then.
    Fit,
    /// By the weights of the devices.
    Static,
}

/// What a device did for a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Which device.
    pub device: usize,
    /// How much it did, more than nothing.
    pub units: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// How much of a new measurement goes into a rate, once there are several.
const GAIN: f64 = 0.3;

/// Shares stay as they are while a picture takes at most this much longer with them than it could: rows
/// that move from one device to another are sent to both.
const WORTH_MOVING: f64 = 1.02;

/// What is known of a device.
#[derive(Clone, Debug)]
struct State {
    weight: f64,
    /// Units a second at the share that it has; `None` before it did anything.
    rate: Option<f64>,
    /// How often that was measured.
    measured: u32,
    is_active: bool,
    is_gone: bool,
    /// Units and seconds of the pictures that curves are fitted to.
    samples: Vec<(f64, f64)>,
}

/// Finds shares.
#[derive(Debug)]
pub struct Balancer {
    method: Balance,
    devices: Vec<State>,
    planned: usize,
    /// How many units each got last.
    last: Vec<usize>,
    trials: Trials,
    /// The shares that curves gave, as weights.
    fitted: Option<Vec<f64>>,
    notes: Vec<(usize, bool)>,
}

impl Balancer {
    /// For devices of these weights.
    pub fn new(method: Balance, weights: &[f64]) -> Self {
        let mut balancer = Self {
            method,
            devices: Vec::new(),
            planned: 0,
            last: Vec::new(),
            trials: Trials::default(),
            fitted: None,
            notes: Vec::new(),
        };
        weights.iter().for_each(|&weight| balancer.add(weight));
        balancer
    }

    /// One device more.
    pub fn add(&mut self, weight: f64) {
        let state =
            State { weight, rate: None, measured: 0, is_active: true, is_gone: false, samples: Vec::new() };
        self.devices.push(state);
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
        self.fitted = None;
    }

    /// Units a second of `device` as measured last, 0 before.
    pub fn rate(&self, device: usize) -> f64 {
        self.devices.get(device).and_then(|state| state.rate).unwrap_or(0.0)
    }

    /// How much each should get compared with the others, 0 for who is gone, whoever is tried.
    pub fn weights(&self) -> Vec<f64> {
        let known: Vec<f64> = self.devices.iter().filter_map(|state| state.rate).collect();
        // Of whom nothing is known, the others' mean.
        let usual = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
        let weight = |(index, state): (usize, &State)| match self.method {
            _ if state.is_gone => 0.0,
            Balance::Static => state.weight,
            Balance::Fit => self.fitted.as_ref().map_or(1.0, |fitted| fitted[index]),
            Balance::Adaptive => state.rate.unwrap_or(usual * state.weight),
        };
        self.devices.iter().enumerate().map(weight).collect()
    }

    /// Who came to be left idle, `false`, or to help again, `true`, since this was asked last.
    pub fn take_notes(&mut self) -> Vec<(usize, bool)> {
        std::mem::take(&mut self.notes)
    }

    /// How many of `units` each gets of the next picture.
    pub fn plan(&mut self, units: usize) -> Vec<usize> {
        let picture = self.planned;
        self.planned += 1;
        let weights = self.weights();
        match self.method {
            Balance::Static => return divide(units, &weights),
            Balance::Fit => {
                let weights = match self.fitted {
                    Some(_) => weights,
                    None => self.calibration(picture),
                };
                return divide(units, &weights);
            }
            Balance::Adaptive => (),
        }
        let tried = self.plan_trial();
        let helps = |index: usize| self.devices[index].is_active != (tried == Some(index));
        let masked: Vec<f64> =
            weights.iter().enumerate().map(|(i, &weight)| if helps(i) { weight } else { 0.0 }).collect();
        let mut shares = self.steady(units, &masked);
        // Less than a unit cannot be measured: who is tried gets one.
        if let Some(tried) = tried.filter(|&tried| helps(tried) && shares[tried] == 0)
            && let Some(most) = (0..shares.len()).max_by_key(|&index| shares[index])
            && shares[most] > 1
        {
            (shares[most], shares[tried]) = (shares[most] - 1, 1);
        }
        for index in 0..shares.len() {
            if self.devices[index].is_active && masked[index] > 0.0 && shares[index] == 0 {
                self.set_active(index, false);
            }
        }
        self.last.clone_from(&shares);
        shares
    }

    /// How many of `units` each gets by these weights: as many as last where that is nearly as good.
    fn steady(&self, units: usize, weights: &[f64]) -> Vec<usize> {
        let shares = divide(units, weights);
        let seconds = |shares: &[usize]| {
            let of_one =
                |(&units, &weight): (&usize, &f64)| if units == 0 { 0.0 } else { units as f64 / weight };
            shares.iter().zip(weights).map(of_one).fold(0.0, f64::max)
        };
        let are_same = self.last.len() == shares.len()
            && self.last.iter().sum::<usize>() == units
            && self.last.iter().zip(&shares).all(|(last, now)| (*last > 0) == (*now > 0));
        if are_same && seconds(&self.last) <= WORTH_MOVING * seconds(&shares) {
            self.last.clone()
        } else {
            shares
        }
    }

    /// How many of `units` each can expect to get of the next picture.
    pub fn expected(&self, units: usize) -> Vec<usize> {
        let mut weights = self.weights();
        if self.method == Balance::Adaptive {
            let tried = self.next_tried();
            for (index, weight) in weights.iter_mut().enumerate() {
                if self.devices[index].is_active == (tried == Some(index)) {
                    *weight = 0.0;
                }
            }
        }
        self.steady(units, &weights)
    }

    /// Whether `device` works without the others for now.
    pub fn is_alone(&self, device: usize) -> bool {
        let works = |(index, state): (usize, &State)| {
            let is_idle = self.method == Balance::Adaptive && !state.is_active;
            index == device || state.is_gone || is_idle
        };
        !self.trials.is_on() && self.devices.iter().enumerate().all(works)
    }

    /// Weights by which every device gets little, its part, and much in turn.
    fn calibration(&self, picture: usize) -> Vec<f64> {
        let well: Vec<usize> =
            (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone).collect();
        let chosen = well.get(picture / 3 % well.len().max(1));
        let weight = |index: usize| match chosen {
            _ if self.devices[index].is_gone => 0.0,
            Some(&chosen) if chosen == index => [0.25, 1.0, 4.0][picture % 3],
            _ => 1.0,
        };
        (0..self.devices.len()).map(weight).collect()
    }

    /// Takes what every device did for one picture, beside the seconds that it took before any of them
    /// could begin.
    pub fn observe(&mut self, measured: &[Measured], before: f64) {
        let seconds = before + measured.iter().map(|m| m.seconds).fold(0.0, f64::max);
        for &Measured { device, units, seconds } in measured {
            self.observe_rate(device, units, seconds);
        }
        match self.method {
            Balance::Static => (),
            Balance::Fit => self.fit(measured),
            Balance::Adaptive => self.judge(measured, seconds),
        }
    }

    /// Takes what one device did, by itself.
    pub fn observe_rate(&mut self, device: usize, units: usize, seconds: f64) {
        let Some(state) = self.devices.get_mut(device) else { return };
        let rate = units as f64 / seconds.max(1e-9);
        let before = state.rate.unwrap_or(rate);
        state.measured = state.measured.saturating_add(1);
        // What is made ready with the first picture is none of the rate, and of the next each counts
        // as much as those before.
        let gain = match state.measured {
            0..=2 => 1.0,
            several => GAIN.max(1.0 / f64::from(several - 1)),
        };
        state.rate = Some(before + gain * (rate - before));
    }

    /// Fits curves once there is enough to fit them to: each device's least time at each share.
    fn fit(&mut self, measured: &[Measured]) {
        if self.fitted.is_some() {
            return;
        }
        let units: usize = measured.iter().map(|m| m.units).sum();
        for &Measured { device, units, seconds } in measured {
            let samples = &mut self.devices[device].samples;
            match samples.iter_mut().find(|(known, _)| *known == units as f64) {
                Some((_, least)) => *least = least.min(seconds),
                None => samples.push((units as f64, seconds)),
            }
        }
        let well = self.devices.iter().filter(|state| !state.is_gone).count();
        // Twice, as the first picture is slower than those after it.
        if self.planned < 6 * well + 1 {
            return;
        }
        let curve = |state: &State| match state.is_gone {
            true => None,
            false => Curve::through(&state.samples),
        };
        let curves: Vec<Option<Curve>> = self.devices.iter().map(curve).collect();
        self.fitted = Some(equal_times(&curves, units as f64));
    }
}

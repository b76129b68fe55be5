//! Who should get how much of the next picture, from how long each took for those before.
//!
//! Nothing here knows of devices or clocks: units of work (rows of blocks, say) and seconds come in,
//! units go out.

use std::collections::VecDeque;

use super::fit::{Curve, equal_times};
use super::share::divide;

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

/// How much of a new measurement goes into a rate.
const GAIN: f64 = 0.3;

/// Pictures of a trial.
const TRIAL: usize = 3;

/// Pictures before the first trial. After each in vain there are twice as many before the next, up to
/// [`RAREST_TRIAL`], and so many more as make it cost at most [`COST`] of the time.
const FIRST_TRIAL: usize = 24;
const RAREST_TRIAL: usize = 768;
const COST: f64 = 0.005;

/// Pictures that a trial is compared with.
const RECENT: usize = 7;

/// Who helps must make the picture this much faster, so that nobody comes and goes by noise.
const WORTH: f64 = 0.97;

/// So many pictures one after the other whose time differs by more than this are a change of load.
const LOAD: f64 = 1.3;
const UNUSUAL: usize = 3;

/// What is known of a device.
#[derive(Clone, Debug)]
struct State {
    weight: f64,
    /// Units a second at the share that it has; `None` before it did anything.
    rate: Option<f64>,
    is_active: bool,
    is_gone: bool,
    /// Units and seconds of the pictures that curves are fitted to.
    samples: Vec<(f64, f64)>,
}

/// Pictures with one device more or less than usual, to see whether it pays.
#[derive(Debug)]
struct Trial {
    device: usize,
    /// Pictures that are planned still.
    to_plan: usize,
    seconds: Vec<f64>,
    /// The rates before, which hold again if everything stays as it was.
    rates: Vec<Option<f64>>,
}

/// Finds shares.
#[derive(Debug)]
pub struct Balancer {
    method: Balance,
    devices: Vec<State>,
    planned: usize,
    /// Times of the last pictures by the active devices.
    recent: VecDeque<f64>,
    /// How many of the last of them were unlike those before.
    unusual: usize,
    trial: Option<Trial>,
    /// Pictures until the next trial, and from that to the one after it.
    until_trial: usize,
    between_trials: usize,
    /// Who is tried next.
    turn: usize,
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
            recent: VecDeque::with_capacity(RECENT),
            unusual: 0,
            trial: None,
            until_trial: FIRST_TRIAL,
            between_trials: FIRST_TRIAL,
            turn: 0,
            fitted: None,
            notes: Vec::new(),
        };
        weights.iter().for_each(|&weight| balancer.add(weight));
        balancer
    }

    /// One device more.
    pub fn add(&mut self, weight: f64) {
        let state = State { weight, rate: None, is_active: true, is_gone: false, samples: Vec::new() };
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
        self.trial = None;
        self.recent.clear();
        self.fitted = None;
        (self.until_trial, self.between_trials) = (FIRST_TRIAL, FIRST_TRIAL);
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
        self.start_trial();
        let tried = self.trial.as_mut().filter(|trial| trial.to_plan > 0).map(|trial| {
            trial.to_plan -= 1;
            trial.device
        });
        let helps = |index: usize| self.devices[index].is_active != (tried == Some(index));
        let masked: Vec<f64> =
            weights.iter().enumerate().map(|(i, &weight)| if helps(i) { weight } else { 0.0 }).collect();
        let mut shares = divide(units, &masked);
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
        shares
    }

    /// How many of `units` each can expect to get of the next picture, unless one is tried.
    pub fn expected(&self, units: usize) -> Vec<usize> {
        let mut weights = self.weights();
        for (weight, state) in weights.iter_mut().zip(&self.devices) {
            if self.method == Balance::Adaptive && !state.is_active {
                *weight = 0.0;
            }
        }
        divide(units, &weights)
    }

    /// Whether `device` works without the others for now.
    pub fn is_alone(&self, device: usize) -> bool {
        let works = |(index, state): (usize, &State)| {
            let is_idle = self.method == Balance::Adaptive && !state.is_active;
            index == device || state.is_gone || is_idle
        };
        self.trial.is_none() && self.devices.iter().enumerate().all(works)
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

    fn set_active(&mut self, device: usize, is_active: bool) {
        self.devices[device].is_active = is_active;
        self.notes.push((device, is_active));
        self.recent.clear();
        (self.until_trial, self.between_trials) = (FIRST_TRIAL, FIRST_TRIAL);
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
        state.rate = Some(before + GAIN * (rate - before));
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

    /// Compares pictures with one device more or less with those as usual.
    fn judge(&mut self, measured: &[Measured], seconds: f64) {
        let took_part = |index: usize| measured.iter().any(|m| m.device == index);
        let differs = |index: &usize| took_part(*index) != self.devices[*index].is_active;
        let mut others =
            (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone).filter(differs);
        match (others.next(), others.next(), &mut self.trial) {
            // As usual.
            (None, _, _) => {
                if let Some(usual) = median(self.recent.make_contiguous())
                    && self.recent.len() == RECENT
                    && !(usual / LOAD..usual * LOAD).contains(&seconds)
                {
                    self.unusual += 1;
                    if self.unusual == UNUSUAL {
                        (self.until_trial, self.between_trials) =
                            (self.until_trial.min(FIRST_TRIAL), FIRST_TRIAL);
                    }
                } else {
                    self.unusual = 0;
                }
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back(seconds);
            }
            (Some(device), None, Some(trial)) if trial.device == device => {
                trial.seconds.push(seconds);
                if trial.seconds.len() == TRIAL {
                    self.end_trial();
                }
            }
            // Planned before something changed.
            _ => (),
        }
    }

    fn start_trial(&mut self) {
        let well: Vec<usize> =
            (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone).collect();
        if self.trial.is_some() || well.len() < 2 || self.recent.len() < RECENT {
            return;
        }
        self.until_trial = self.until_trial.saturating_sub(1);
        if self.until_trial > 0 {
            return;
        }
        self.until_trial = self.between_trials;
        // In turn: who is idle, then, where there are several, who is not: the one that does least first.
        let (mut tried, mut active): (Vec<usize>, Vec<usize>) =
            well.into_iter().partition(|&index| !self.devices[index].is_active);
        if active.len() > 1 {
            active.sort_by(|&a, &b| self.rate(a).total_cmp(&self.rate(b)));
            tried.extend(active);
        }
        let Some(&device) = tried.get(self.turn % tried.len().max(1)) else { return };
        self.turn += 1;
        let rates = self.devices.iter().map(|state| state.rate).collect();
        self.trial = Some(Trial { device, to_plan: TRIAL, seconds: Vec::with_capacity(TRIAL), rates });
    }

    fn end_trial(&mut self) {
        let Some(mut trial) = self.trial.take() else { return };
        let (Some(usual), Some(tried)) = (median(self.recent.make_contiguous()), median(&mut trial.seconds))
        else {
            return;
        };
        let was_active = self.devices[trial.device].is_active;
        let is_worth_it = if was_active { usual < WORTH * tried } else { tried < WORTH * usual };
        if is_worth_it != was_active {
            self.set_active(trial.device, is_worth_it);
            return;
        }
        for (index, (state, rate)) in self.devices.iter_mut().zip(trial.rates).enumerate() {
            // Of who was tried in vain, what was seen is all there is.
            if was_active || index != trial.device {
                state.rate = rate;
            }
        }
        self.between_trials = (2 * self.between_trials).min(RAREST_TRIAL);
        let lost = TRIAL as f64 * (tried / usual - 1.0).max(0.0);
        self.until_trial = self.between_trials.max((lost / COST) as usize);
    }
}

/// The one in the middle.
fn median(values: &mut [f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds that each device takes for so many units of a picture beside the others.
    type Model<'a> = &'a dyn Fn(usize, usize, &[usize]) -> f64;

    /// Noise of a few percent, the same everywhere.
    struct Noise(u32);

    impl Noise {
        fn factor(&mut self, percent: f64) -> f64 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            1.0 + percent / 100.0 * (f64::from(self.0 >> 8) / f64::from(1 << 23) - 1.0)
        }
    }

    /// The pictures' times, and the shares.
    fn run(
        balancer: &mut Balancer,
        pictures: usize,
        units: usize,
        noise: f64,
        model: Model<'_>,
    ) -> Vec<(f64, Vec<usize>)> {
        let mut random = Noise(7);
        let picture = |_| {
            let shares = balancer.plan(units);
            assert_eq!(shares.iter().sum::<usize>(), units);
            let measure = |(device, &units): (usize, &usize)| Measured {
                device,
                units,
                seconds: model(device, units, &shares) * random.factor(noise),
            };
            let measured: Vec<_> =
                shares.iter().enumerate().filter(|(_, units)| **units > 0).map(measure).collect();
            balancer.observe(&measured, 0.0);
            (measured.iter().map(|m| m.seconds).fold(0.0, f64::max), shares)
        };
        (0..pictures).map(picture).collect()
    }

    fn mean(pictures: &[(f64, Vec<usize>)]) -> f64 {
        pictures.iter().map(|(seconds, _)| seconds).sum::<f64>() / pictures.len() as f64
    }

    /// Milliseconds: what each call costs, and a unit.
    fn linear(devices: &'static [(f64, f64)]) -> impl Fn(usize, usize, &[usize]) -> f64 {
        move |device, units, _| (devices[device].0 + units as f64 * devices[device].1) * 1e-3
    }

    #[test]
    fn shares_settle_within_20_pictures() {
        for (devices, noise) in [
            (&[(0.0, 0.1), (0.0, 0.1)][..], 0.0),
            (&[(0.0, 0.1), (0.0, 0.7)], 5.0),
            (&[(1.0, 0.05), (0.2, 0.3)], 5.0),
            (&[(0.5, 0.2), (0.1, 0.3), (2.0, 0.1), (0.1, 1.0)], 5.0),
        ] {
            // 256 rows at once: the time at which all finish together.
            let rates: f64 = devices.iter().map(|d| 1.0 / d.1).sum();
            let fixed: f64 = devices.iter().map(|d| d.0 / d.1).sum();
            let ideal = (256.0 + fixed) / rates * 1e-3;
            let model = linear(devices);
            let mut balancer = Balancer::new(Balance::Adaptive, &vec![1.0; devices.len()]);
            run(&mut balancer, 20, 256, noise, &model);
            let settled = run(&mut balancer, 4, 256, noise, &model);
            let time = mean(&settled);
            assert!(time < 1.08 * ideal, "{devices:?}: {time} s where {ideal} s are possible");
        }
    }

    #[test]
    fn a_load_is_followed_within_20_pictures_and_back() {
        let quiet = linear(&[(0.1, 0.1), (0.1, 0.1)]);
        let loaded = linear(&[(0.1, 0.1), (0.1, 0.4)]);
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        run(&mut balancer, 100, 128, 3.0, &quiet);
        let during = run(&mut balancer, 24, 128, 3.0, &loaded);
        let (_, shares) = &during[20];
        assert!((99..107).contains(&shares[0]), "{shares:?}");
        let after = run(&mut balancer, 60, 128, 3.0, &quiet);
        let near_half = |(_, shares): &&(f64, Vec<usize>)| (60..=68).contains(&shares[0]);
        assert!(after[20..].iter().filter(near_half).count() >= 34, "{after:?}");
    }

    /// Two devices that share the cores: together they are slower than the better one alone.
    #[test]
    fn who_does_not_help_is_left_idle_and_costs_next_to_nothing() {
        let contended = |device: usize, units: usize, shares: &[usize]| {
            let alone = shares.iter().filter(|&&units| units > 0).count() == 1;
            let unit = [0.1, 0.3][device] * if alone { 1.0 } else { 1.9 };
            units as f64 * unit * 1e-3
        };
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        run(&mut balancer, 80, 68, 3.0, &contended);
        assert_eq!(balancer.take_notes().last(), Some(&(1, false)));
        let later = mean(&run(&mut balancer, 2000, 68, 3.0, &contended));
        assert!(later < 1.03 * 6.8e-3, "{later}");
        assert!(balancer.take_notes().is_empty(), "it stays idle");
        // The load that made it so is gone.
        let apart = linear(&[(0.0, 0.1), (0.0, 0.3)]);
        run(&mut balancer, 2000, 68, 3.0, &apart);
        assert_eq!(balancer.take_notes(), [(1, true)]);
    }

    #[test]
    fn who_is_too_slow_for_a_row_gets_none() {
        let model = linear(&[(0.0, 0.01), (0.0, 5.0)]);
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        run(&mut balancer, 60, 68, 3.0, &model);
        let later = run(&mut balancer, 4000, 68, 3.0, &model);
        assert!(later.iter().filter(|(_, shares)| shares[1] > 0).count() < 40);
    }

    #[test]
    fn a_device_that_goes_leaves_its_work_to_the_others() {
        let model = linear(&[(0.0, 0.1), (0.0, 0.3), (0.0, 0.2)]);
        for method in [Balance::Adaptive, Balance::Fit, Balance::Static] {
            let mut balancer = Balancer::new(method, &[1.0, 1.0, 1.0]);
            run(&mut balancer, 50, 60, 0.0, &model);
            balancer.remove(0);
            let after = run(&mut balancer, 50, 60, 0.0, &model);
            assert!(after.iter().all(|(_, shares)| shares[0] == 0 && shares[1] + shares[2] == 60));
            balancer.remove(1);
            assert_eq!(balancer.plan(60), [0, 0, 60]);
            balancer.add(1.0);
            assert_eq!(balancer.plan(60)[..2], [0, 0]);
        }
    }

    #[test]
    fn weights_hold_where_they_are_static() {
        let mut balancer = Balancer::new(Balance::Static, &[0.9, 0.1]);
        let pictures = run(&mut balancer, 50, 100, 5.0, &linear(&[(0.0, 1.0), (0.0, 0.1)]));
        assert!(pictures.iter().all(|(_, shares)| shares == &[90, 10]));
    }

    #[test]
    fn fitted_curves_finish_together() {
        let model = |device: usize, units: usize, _: &[usize]| {
            let x = units as f64;
            [0.3 + 0.05 * x + 0.0004 * x * x, 0.1 + 0.2 * x, 1.0 + 0.1 * x][device] * 1e-3
        };
        let mut balancer = Balancer::new(Balance::Fit, &[1.0, 1.0, 1.0]);
        run(&mut balancer, 20, 200, 0.0, &model);
        let shares = balancer.plan(200);
        let times: Vec<f64> = (0..3).map(|device| model(device, shares[device], &shares)).collect();
        let (least, most) =
            (times.iter().copied().fold(1.0, f64::min), times.iter().copied().fold(0.0, f64::max));
        assert!(most < 1.04 * least, "{shares:?} {times:?}");
        assert_eq!(shares, balancer.plan(200));
    }
}

//! Zhang's balance: curves of the times of the first frames, and whether what they promise holds.

use super::fit::{Curve, equal_times};
use super::{Balancer, Measured, WORTH, divide};

/// Frames by which the division that curves give is compared with the best device alone, each.
const CHECK: usize = 3;

/// What the curves gave.
#[derive(Clone, Debug)]
struct Division {
    shares: Vec<usize>,
    /// Who is best alone.
    best: usize,
    /// Frames planned to compare both.
    planned: usize,
    /// What they took, divided and by the best alone.
    divided: Vec<f64>,
    alone: Vec<f64>,
    is_settled: bool,
}

impl Division {
    /// All to the best one.
    fn lone(&self) -> Vec<usize> {
        let units = self.shares.iter().sum();
        (0..self.shares.len()).map(|index| if index == self.best { units } else { 0 }).collect()
    }

    /// The next frame's shares.
    fn next(&self) -> Vec<usize> {
        let is_alone = !self.is_settled && (CHECK..2 * CHECK).contains(&self.planned);
        if is_alone { self.lone() } else { self.shares.clone() }
    }
}

/// How far shares are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Fitting {
    planned: usize,
    /// Of each device, units and seconds of the frames that curves are fitted to.
    samples: Vec<Vec<(f64, f64)>>,
    division: Option<Division>,
}

impl Fitting {
    /// What each gets, once it is known.
    pub(super) fn shares(&self) -> Option<&[usize]> {
        self.division.as_ref().map(|division| &*division.shares)
    }

    /// Whether `device` gets nothing any more.
    pub(super) fn is_idle(&self, device: usize) -> bool {
        self.division.as_ref().is_some_and(|division| division.is_settled && division.shares[device] == 0)
    }
}

impl Balancer {
    pub(super) fn plan_fit(&mut self, units: usize) -> Vec<usize> {
        let shares = self.expected_fit(units);
        match &mut self.fitting.division {
            Some(division) => division.planned += 1,
            None => self.fitting.planned += 1,
        }
        shares
    }

    pub(super) fn expected_fit(&self, units: usize) -> Vec<usize> {
        match &self.fitting.division {
            Some(division) if division.shares.iter().sum::<usize>() == units => division.next(),
            Some(division) => divide(units, &division.shares.iter().map(|&s| s as f64).collect::<Vec<_>>()),
            None => divide(units, &self.calibration(self.fitting.planned)),
        }
    }

    /// Weights by which every device gets little, its part, and much in turn.
    fn calibration(&self, frame: usize) -> Vec<f64> {
        let well: Vec<usize> =
            (0..self.devices.len()).filter(|&index| !self.devices[index].is_gone).collect();
        let chosen = well.get(frame / 3 % well.len().max(1));
        let weight = |index: usize| match chosen {
            _ if self.devices[index].is_gone => 0.0,
            Some(&chosen) if chosen == index => [0.25, 1.0, 4.0][frame % 3],
            _ => 1.0,
        };
        (0..self.devices.len()).map(weight).collect()
    }

    /// Fits curves once there is enough to fit them to: each device's least time at each share. Then
    /// compares what they give with the best device alone.
    pub(super) fn fit(&mut self, measured: &[Measured], seconds: f64) {
        if self.fitting.division.is_some() {
            return self.check(measured, seconds);
        }
        let units: usize = measured.iter().map(|m| m.units).sum();
        let samples = &mut self.fitting.samples;
        samples.resize(self.devices.len(), Vec::new());
        for &Measured { device, units, seconds } in measured {
            match samples[device].iter_mut().find(|(known, _)| *known == units as f64) {
                Some((_, least)) => *least = least.min(seconds),
                None => samples[device].push((units as f64, seconds)),
            }
        }
        let well = self.devices.iter().filter(|state| !state.is_gone).count();
        // Twice, as the first frame is slower than those after it.
        if self.fitting.planned > 6 * well {
            self.divide_by_curves(units);
        }
    }

    fn divide_by_curves(&mut self, units: usize) {
        let states = self.devices.iter().zip(&self.fitting.samples);
        let mut curves: Vec<Option<Curve>> =
            states.map(|(state, samples)| Curve::through(samples).filter(|_| !state.is_gone)).collect();
        let alone = |index: usize| curves[index].map_or(f64::MAX, |curve| curve.seconds(units as f64));
        let best = (0..curves.len()).min_by(|&a, &b| alone(a).total_cmp(&alone(b))).unwrap_or(0);
        let divided = |curves: &[Option<Curve>]| {
            let shares = divide(units, &equal_times(curves, units as f64));
            let busy = shares.iter().zip(curves).filter(|(units, _)| **units > 0);
            let seconds = |(&units, curve): (&usize, &Option<Curve>)| {
                curve.map_or(f64::MAX, |curve| curve.seconds(units as f64))
            };
            let seconds = busy.map(seconds).fold(0.0, f64::max);
            (shares, seconds)
        };
        let (mut shares, mut seconds) = divided(&curves);
        // Who does least is first left out.
        let mut order: Vec<usize> = (0..curves.len()).filter(|&index| index != best).collect();
        order.sort_by_key(|&index| shares[index]);
        for index in order {
            let left_out = curves[index].take();
            let without = divided(&curves);
            if seconds < WORTH * without.1 {
                curves[index] = left_out;
            } else {
                (shares, seconds) = without;
            }
        }
        let is_settled = shares.iter().filter(|&&units| units > 0).count() < 2;
        let (divided, alone) = (Vec::with_capacity(CHECK), Vec::with_capacity(CHECK));
        self.fitting.division = Some(Division { shares, best, planned: 0, divided, alone, is_settled });
        if is_settled {
            self.note_idle();
        }
    }

    fn check(&mut self, measured: &[Measured], seconds: f64) {
        let Some(division) = self.fitting.division.as_mut().filter(|division| !division.is_settled) else {
            return;
        };
        let mut shares = vec![0; division.shares.len()];
        measured.iter().for_each(|m| shares[m.device] = m.units);
        // Others are from before the curves were fitted.
        if shares == division.shares {
            division.divided.push(seconds);
        } else if shares == division.lone() {
            division.alone.push(seconds);
        }
        if division.divided.len() < CHECK || division.alone.len() < CHECK {
            return;
        }
        let least = |seconds: &[f64]| seconds.iter().copied().fold(f64::MAX, f64::min);
        division.is_settled = true;
        if least(&division.divided) > WORTH * least(&division.alone) {
            division.shares = division.lone();
        }
        self.note_idle();
    }

    /// Notes who gets nothing.
    fn note_idle(&mut self) {
        let is_idle = |index: &usize| !self.devices[*index].is_gone && self.fitting.is_idle(*index);
        let idle: Vec<usize> = (0..self.devices.len()).filter(is_idle).collect();
        self.notes.extend(idle.into_iter().map(|index| (index, false)));
    }
}

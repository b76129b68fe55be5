//! Zhang's balance (IV-C): curves through the times of the first frames, solved for equal times, then
//! compared with the best device alone.
//!
//! The units of work are rows or displacements of each frame, or, as in the paper, whole frames: those of
//! rounds of [`Balance::ROUND`], each of which is observed like one frame that is divided.

use super::curve::{TimeCurve, equal_shares, slowest};
use super::{Balance, Balancer, DeviceState, HELPS, Measured, divide};

/// Frames measured of each of the two divisions that are compared.
const CHECK: usize = 3;

/// The weights of a device in turn: enough for a curve of second degree.
const SHARES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// How far the shares are found.
#[derive(Debug)]
pub(super) enum Fitting {
    /// Each device's least seconds for each share.
    Sampling { planned: usize, samples: Vec<Vec<(f64, f64)>> },
    /// The shares by the curves and all to the best device, with the seconds of the frames with either.
    Comparing { planned: usize, shares: [Vec<usize>; 2], seconds: [Vec<f64>; 2] },
    /// The final shares.
    Settled(Vec<usize>),
}

impl Default for Fitting {
    fn default() -> Self {
        Self::Sampling { planned: 0, samples: Vec::new() }
    }
}

/// Whole frames that are divided together.
#[derive(Debug, Default)]
pub(super) struct FrameRound {
    /// The frames of each device in the round that is planned, and those of them that are not handed out.
    shares: Vec<usize>,
    left: Vec<usize>,
    /// What the devices did for the round that is observed.
    measured: Vec<Measured>,
}

impl Balancer {
    /// The device of the next whole frame. The frames of a device are spread over the round.
    pub(super) fn next_frame_fit(&mut self) -> usize {
        if self.round.left.iter().all(|&left| left == 0) {
            self.round.shares = self.plan_fit(Balance::ROUND);
            self.round.left = self.round.shares.clone();
        }
        let FrameRound { shares, left, .. } = &mut self.round;
        let part_left = |&device: &usize| left[device] as f64 / shares[device].max(1) as f64;
        let device = (0..left.len()).max_by(|a, b| part_left(a).total_cmp(&part_left(b))).unwrap_or(0);
        left[device] = left[device].saturating_sub(1);
        device
    }

    /// Takes a whole frame that one device did. Frames that were cancelled shift the rounds that are observed
    /// against those that are planned, which changes nothing where neighbouring rounds have the same shares.
    pub(super) fn observe_frame_fit(&mut self, device: usize, seconds: f64, is_alone: bool) {
        let measured = &mut self.round.measured;
        match measured.iter_mut().find(|m| m.device == device) {
            Some(m) => (m.units, m.seconds) = (m.units + 1, m.seconds + seconds),
            None => measured.push(Measured { device, units: 1, seconds }),
        }
        if measured.iter().map(|m| m.units).sum::<usize>() < Balance::ROUND {
            return;
        }
        let measured = std::mem::take(measured);
        let seconds = measured.iter().map(|m| m.seconds);
        let round = if is_alone { seconds.sum() } else { seconds.fold(0.0, f64::max) };
        self.observe_fit(&measured, round);
    }

    pub(super) fn plan_fit(&mut self, units: usize) -> Vec<usize> {
        let shares = match &mut self.fitting {
            Fitting::Sampling { planned, .. } => {
                *planned += 1;
                return divide(units, &calibration(&self.devices, *planned - 1));
            }
            Fitting::Comparing { planned, shares, .. } => {
                *planned += 1;
                &shares[(*planned - 1) / CHECK % 2]
            }
            Fitting::Settled(shares) => shares,
        };
        divide(units, &shares.iter().map(|&share| share as f64).collect::<Vec<_>>())
    }

    /// Takes the measurements of a frame.
    pub(super) fn observe_fit(&mut self, measured: &[Measured], frame_seconds: f64) {
        let present = self.present().len();
        match &mut self.fitting {
            Fitting::Sampling { planned, samples } => {
                samples.resize(self.devices.len(), Vec::new());
                for &Measured { device, units, seconds } in measured {
                    match samples[device].iter_mut().find(|(known, _)| *known == units as f64) {
                        Some((_, least)) => *least = least.min(seconds),
                        None => samples[device].push((units as f64, seconds)),
                    }
                }
                // Each share twice, as the first frame is slower than the others.
                if *planned > 2 * SHARES.len() * present {
                    let shares = by_curves(samples, measured.iter().map(|m| m.units).sum());
                    self.fitting = Fitting::Comparing { planned: 0, shares, seconds: Default::default() };
                }
            }
            Fitting::Comparing { shares, seconds, .. } => {
                let mut done = vec![0; shares[0].len()];
                measured.iter().for_each(|m| done[m.device] = m.units);
                // Frames planned before the curves were known have other shares.
                if let Some(which) = shares.iter().position(|shares| *shares == done) {
                    seconds[which].push(frame_seconds);
                }
                let is_one = shares[0] == shares[1];
                if is_one || seconds.iter().all(|seconds| seconds.len() >= CHECK) {
                    let [divided, alone] =
                        [0, 1].map(|which| seconds[which].iter().copied().fold(f64::MAX, f64::min));
                    let shares = std::mem::take(&mut shares[usize::from(divided > HELPS * alone)]);
                    (0..shares.len())
                        .filter(|&index| shares[index] == 0)
                        .for_each(|index| self.set_idle(index, true));
                    self.fitting = Fitting::Settled(shares);
                }
            }
            Fitting::Settled(_) => (),
        }
    }
}

/// Weights that give each device little, its part, and much in turn, beside the others' 1.
fn calibration(devices: &[DeviceState], frame: usize) -> Vec<f64> {
    let present: Vec<usize> = (0..devices.len()).filter(|&index| devices[index].weight > 0.0).collect();
    let mut weights: Vec<f64> = devices.iter().map(|state| f64::from(u8::from(state.weight > 0.0))).collect();
    if let Some(&chosen) = present.get(frame / SHARES.len() % present.len().max(1)) {
        weights[chosen] = SHARES[frame % SHARES.len()];
    }
    weights
}

/// The shares by the curves through `samples`, without the devices that do not gain enough, and all
/// units to the device that is fastest alone.
fn by_curves(samples: &[Vec<(f64, f64)>], units: usize) -> [Vec<usize>; 2] {
    let mut curves: Vec<_> = samples.iter().map(|samples| TimeCurve::through(samples)).collect();
    let seconds = |index: usize| curves[index].map_or(f64::MAX, |curve| curve.seconds(units as f64));
    let best = (0..curves.len()).min_by(|&a, &b| seconds(a).total_cmp(&seconds(b))).unwrap_or(0);
    let divided = |curves: &[Option<TimeCurve>]| {
        let shares = equal_shares(curves, units);
        let seconds = slowest(curves, &shares);
        (shares, seconds)
    };
    let mut found = divided(&curves);
    // The device with the least share is left out first.
    let mut order: Vec<usize> = (0..curves.len()).filter(|&index| index != best).collect();
    order.sort_by_key(|&index| found.0[index]);
    for index in order {
        let curve = curves[index].take();
        let without = divided(&curves);
        if found.1 < HELPS * without.1 { curves[index] = curve } else { found = without }
    }
    let mut alone = vec![0; curves.len()];
    alone[best] = units;
    [found.0, alone]
}

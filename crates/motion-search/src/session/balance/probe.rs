//! Probes: a few frames with one device more or less, which show whether the device shortens a frame.

use super::curve::{equal_shares, slowest};
use super::model::CostModel;
use super::{Balancer, HELPS, Measured};

/// Frames of a probe; the first one is the last if an idle device does not help by it.
const PROBE: usize = 3;

/// Frames from one probe to the next: at first and after a change of load, and at most. A probe that
/// changes nothing doubles them.
const SOON: usize = 12;
const RAREST: usize = 768;

/// A probe without a result after this many frames is given up: its frames were cancelled.
const LOST: usize = 64;

/// Probes take at most this part of the time, and [`SAVED`] frames' time after a long while without.
const COST: f64 = 0.005;
const SAVED: f64 = 8.0;

#[derive(Debug)]
struct Probe {
    device: usize,
    planned: usize,
    measured: usize,
    /// The models of the devices in use, with or without this one.
    models: Vec<CostModel>,
}

/// When which device is probed.
#[derive(Debug)]
pub(super) struct ProbeSchedule {
    probe: Option<Probe>,
    /// Frames planned since the last probe, and from one probe to the next.
    since: usize,
    interval: usize,
    /// Frames' time that probes may take.
    credit: f64,
    /// Devices are probed in turn.
    turn: usize,
}

impl Default for ProbeSchedule {
    fn default() -> Self {
        Self { probe: None, since: 0, interval: SOON, credit: SAVED, turn: 0 }
    }
}

impl ProbeSchedule {
    pub(super) fn models(&self) -> Option<&[CostModel]> {
        self.probe.as_ref().map(|probe| &probe.models[..])
    }

    /// Probes soon, but not before the models know of a new load or new devices in use.
    pub(super) fn hurry(&mut self) {
        (self.since, self.interval) = (self.since.min(SOON / 2), SOON);
    }

    /// Ends a probe of other devices than those in use now. The change may be a mistake: a probe is due.
    pub(super) fn restart(&mut self) {
        (self.probe, self.credit) = (None, self.credit.max(1.0));
        self.hurry();
    }

    /// Counts a frame that is planned. Returns whether a probe is due.
    fn count_frame(&mut self) -> bool {
        self.since += 1;
        self.credit = (self.credit + COST).min(SAVED);
        self.probe.take_if(|_| self.since > LOST);
        self.probe.is_none() && self.since >= self.interval && self.credit > 0.0
    }

    fn count_probe(&mut self) {
        self.turn += 1;
        (self.since, self.interval) = (0, (2 * self.interval).min(RAREST));
    }
}

impl Balancer {
    /// The device that the next frame uses although it is idle, or does not use although it is not.
    pub(super) fn next_probe(&mut self) -> Option<usize> {
        if self.probes.count_frame() {
            self.begin_probe();
        }
        let probe = self.probes.probe.as_mut()?;
        let size = if self.devices[probe.device].is_idle && probe.measured == 0 { 1 } else { PROBE };
        (probe.planned < size).then(|| {
            probe.planned += 1;
            probe.device
        })
    }

    fn begin_probe(&mut self) {
        // In turn: the idle devices, then, if there are several, those in use, the least share first.
        let mut order = self.present();
        order.sort_by_key(|&device| (!self.devices[device].is_idle, self.last.get(device)));
        if order.iter().filter(|&&device| !self.devices[device].is_idle).count() < 2 {
            order.pop();
        }
        let Some(&device) = order.get(self.probes.turn % order.len().max(1)) else { return };
        let mut models = self.models.clone();
        models.iter_mut().for_each(CostModel::restart);
        self.probes.probe = Some(Probe { device, planned: 0, measured: 0, models });
        self.probes.since = 0;
    }

    /// Takes a frame by the devices in use, or one of the probe.
    pub(super) fn observe_probe(&mut self, measured: &[Measured], frame_seconds: f64, rebalance: f64) {
        // What a frame takes besides the slowest device is part of the fixed cost of all.
        let besides = (frame_seconds - measured.iter().map(|m| m.seconds).fold(0.0, f64::max)).max(0.0);
        let works = |device| measured.iter().any(|m| m.device == device);
        let mut unusual = self.present();
        unusual.retain(|&device| self.devices[device].is_idle == works(device));
        match (&unusual[..], &mut self.probes.probe) {
            ([], _) => {
                for m in measured {
                    if self.models[m.device].observe(m.units, m.seconds + besides) {
                        self.probes.hurry();
                    }
                }
            }
            ([device], Some(probe)) if probe.device == *device => {
                for m in measured {
                    probe.models[m.device].observe(m.units, m.seconds + besides);
                }
                probe.measured += 1;
                // Shares that were moved are moved back.
                self.judge(*device, frame_seconds + 2.0 * rebalance);
            }
            // Planned before the devices in use changed.
            _ => (),
        }
    }

    /// Seconds of a frame by the devices in use; with `probed`, by those of the probe.
    fn seconds(&self, probed: Option<usize>) -> f64 {
        let curves = self.curves(probed);
        slowest(&curves, &equal_shares(&curves, self.last.iter().sum()))
    }

    /// Ends the probe of `device`, the last frame of which took this long, if that shows enough.
    fn judge(&mut self, device: usize, frame_seconds: f64) {
        let (usual, seconds) = (self.seconds(None), self.seconds(Some(device)));
        let was_idle = self.devices[device].is_idle;
        self.probes.credit -= (frame_seconds / usual - 1.0).max(0.0);
        let (with, without) = if was_idle { (seconds, usual) } else { (usual, seconds) };
        let helps = with < HELPS * without;
        let Some(probe) = self.probes.probe.take_if(|p| p.measured >= PROBE || was_idle && !helps) else {
            return;
        };
        self.probes.count_probe();
        if helps == was_idle {
            self.models = probe.models;
            self.set_idle(device, !was_idle);
        } else if was_idle {
            self.models[device] = probe.models[device];
        }
    }

    /// The device of `others` that gets the next whole frame although `best` is faster.
    pub(super) fn next_frame_probe(&mut self, best: usize, others: &[usize]) -> Option<usize> {
        self.probes.count_frame();
        let ProbeSchedule { since, interval, turn, .. } = self.probes;
        let device = *others.get(turn % others.len().max(1))?;
        let cost = self.models[best].rate / self.models[device].rate;
        let is_due = since >= interval.max((cost / COST) as usize);
        is_due.then(|| {
            self.probes.count_probe();
            self.models[device].restart();
            device
        })
    }
}

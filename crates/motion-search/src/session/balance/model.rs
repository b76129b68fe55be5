//! What a frame costs on one device: a fixed time, and a time for each unit.

/// Weight of the earlier measurements relative to those of one frame later.
const DECAY: f64 = 0.9;

/// A line is drawn only if the standard deviation of the units is at least this part of their mean.
const SPREAD: f64 = 0.2;

/// Upper bound of the fixed cost, in multiples of the mean share.
const MAX_FIXED: f64 = 4.0;

/// The load of a device has changed if [`LOAD_FRAMES`] measurements in a row differ by more than this
/// factor from the model, for shares that differ by less than `SAME_UNITS`. A single one is noise and is
/// not counted.
const LOAD: f64 = 1.3;
const LOAD_FRAMES: u32 = 2;
const SAME_UNITS: f64 = 1.1;

/// Time of a frame as a function of its units, as a running least-squares line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CostModel {
    /// Units per second, fixed units included; 0 before the first measurement.
    pub(super) rate: f64,
    /// The fixed cost of a frame, as the number of units that take as long.
    pub(super) fixed: f64,
    measured: u32,
    last_units: f64,
    /// Measurements in a row that differ from the model.
    unlike: u32,
    /// Decaying sums over the measurements.
    weight: f64,
    units: f64,
    seconds: f64,
    squares: f64,
    products: f64,
}

impl CostModel {
    /// Whether the device is not measured yet: its first frame includes what it sets up, and is only a
    /// first estimate.
    pub(super) fn is_new(&self) -> bool {
        self.measured < 2
    }

    /// Takes the seconds of one frame with this many units. Returns whether the load has changed.
    pub(super) fn observe(&mut self, units: usize, seconds: f64) -> bool {
        let (units, seconds) = (units as f64, seconds.max(1e-9));
        let differs = |one: f64, other: f64, factor: f64| one > factor * other || other > factor * one;
        let expected = (units + self.fixed) / self.rate;
        let is_unlike = self.weight > 0.0
            && differs(seconds, expected, LOAD)
            && !differs(units, self.last_units, SAME_UNITS);
        self.unlike = if is_unlike { self.unlike + 1 } else { 0 };
        self.last_units = units;
        self.measured = self.measured.saturating_add(1);
        let is_new_load = self.unlike == LOAD_FRAMES;
        if is_new_load {
            self.restart();
        }
        if self.measured == 1 {
            self.rate = units / seconds;
        } else if is_new_load || !is_unlike {
            self.add(units, seconds);
        }
        is_new_load
    }

    /// Forgets the measurements, but not the ratio of fixed cost and cost of a unit: the next measurement
    /// gives both.
    pub(super) fn restart(&mut self) {
        let Self { rate, fixed, measured, last_units, .. } = *self;
        *self = Self { rate, fixed, measured, last_units, ..Self::default() };
    }

    fn add(&mut self, units: f64, seconds: f64) {
        self.weight = DECAY * self.weight + 1.0;
        self.units = DECAY * self.units + units;
        self.seconds = DECAY * self.seconds + seconds;
        self.squares = DECAY * self.squares + units * units;
        self.products = DECAY * self.products + units * seconds;
        let (mean, mean_seconds) = (self.units / self.weight, self.seconds / self.weight);
        let variance = self.squares / self.weight - mean * mean;
        let slope = (self.products / self.weight - mean * mean_seconds) / variance;
        if variance > (SPREAD * mean).powi(2) && slope > 0.0 {
            self.fixed = (mean_seconds / slope - mean).clamp(0.0, MAX_FIXED * mean);
        }
        self.rate = (mean + self.fixed) / mean_seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_cost_is_found() {
        let mut model = CostModel::default();
        model.observe(50, 9.0);
        for units in [50, 20, 30, 20] {
            model.observe(units, 0.1 * (12.0 + units as f64));
        }
        assert!((model.fixed - 12.0).abs() < 1e-6, "{model:?}");
        // A load that makes each frame four times as long changes the rate only.
        for factor in [4.0, 4.0, 1.0, 1.0] {
            (0..10).for_each(|_| _ = model.observe(20, factor * 3.2));
            let rate = model.rate * factor;
            assert!((model.fixed - 12.0).abs() < 1e-6 && (rate / 10.0 - 1.0).abs() < 0.1, "{model:?}");
        }
    }

    #[test]
    fn a_load_takes_two_frames() {
        let mut model = CostModel::default();
        (0..10).for_each(|_| assert!(!model.observe(10, 1.0)));
        assert_eq!(
            [4.0, 1.0, 1.0, 4.0, 4.0, 4.0].map(|seconds| model.observe(10, seconds)),
            [false, false, false, false, true, false]
        );
        assert!((model.rate - 2.5).abs() < 1e-6, "{model:?}");
    }
}

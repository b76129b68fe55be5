//! How fast a device is: so much for a frame, whatever its share, and so much for each unit of it.

/// How much of a new measurement goes into a rate, once there are several: little, as shares that move
/// by noise cost uploads.
const GAIN: f64 = 0.1;

/// How much of what was measured counts still with the next measurement, where a line is drawn.
const KEPT: f64 = 0.9;

/// A line is drawn through times whose units deviate from their mean by at least this part of it.
const SPREAD: f64 = 0.2;

/// What a frame costs takes at most as long as so many times the usual units.
const MOST_FIXED: f64 = 4.0;

/// So many times one after the other that differ by more than this from what was expected, for about as
/// many units as before, are another load; fewer are chance, and count as no further off.
const LOAD: f64 = 1.3;
const SAME_UNITS: f64 = 1.1;
const ODD: u32 = 2;

/// Sums over what was measured, later ones weighing more.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    units: f64,
    seconds: f64,
    squares: f64,
    products: f64,
}

impl Sums {
    fn add(&mut self, units: f64, seconds: f64) {
        let Self { weight, units: u, seconds: s, squares, products } = self;
        *weight = KEPT * *weight + 1.0;
        *u = KEPT * *u + units;
        *s = KEPT * *s + seconds;
        *squares = KEPT * *squares + units * units;
        *products = KEPT * *products + units * seconds;
    }

    /// How many units take as long as a frame with none of them, by the line of least squares. `None`
    /// where units hardly differ, or their times do not grow with them.
    fn fixed(&self) -> Option<f64> {
        let (units, seconds) = (self.units / self.weight, self.seconds / self.weight);
        let variance = self.squares / self.weight - units * units;
        let slope = (self.products / self.weight - units * seconds) / variance;
        let tells = variance > (SPREAD * units) * (SPREAD * units) && slope > 0.0;
        tells.then(|| (seconds / slope - units).clamp(0.0, MOST_FIXED * units))
    }
}

/// How fast a device is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Units a second, `fixed` among them; `None` before it did anything.
    pub(super) rate: Option<f64>,
    /// As how many units more a frame takes, whatever the share.
    pub(super) fixed: f64,
    /// How often it was measured.
    measured: u32,
    /// How many times one after the other were not as expected.
    odd: u32,
    /// The units measured last.
    last: f64,
    sums: Sums,
}

impl Pace {
    /// Takes how long it took for so many units.
    pub(super) fn observe(&mut self, units: usize, seconds: f64) {
        let (units, seconds) = (units as f64, seconds.max(1e-9));
        let expected = self.rate.map_or(seconds, |rate| (units + self.fixed) / rate);
        let differs = |one: f64, other: f64, most: f64| one > most * other || other > most * one;
        let is_odd = differs(seconds, expected, LOAD) && !differs(units, self.last, SAME_UNITS);
        self.odd = if is_odd { self.odd + 1 } else { 0 };
        self.last = units;
        if self.odd >= ODD {
            self.begin_again();
        }
        self.measured = self.measured.saturating_add(1);
        // What is made ready with the first frame is none of the rate; of the next each counts as much
        // as those before.
        let gain = match self.measured {
            0..=2 => 1.0,
            several => GAIN.max(1.0 / f64::from(several - 1)),
        };
        let seconds = match self.odd {
            0 => seconds,
            _ => seconds.clamp(expected / LOAD, expected * LOAD),
        };
        if self.measured > 1 && self.odd == 0 {
            self.draw(units, seconds);
        }
        let rate = (units + self.fixed) / seconds;
        let before = self.rate.unwrap_or(rate);
        self.rate = Some(before + gain * (rate - before));
    }

    /// Takes the next measurements as the first ones: it is under another load, or has done nothing for a
    /// while.
    pub(super) fn begin_again(&mut self) {
        (self.measured, self.odd, self.sums) = (self.measured.min(1), 0, Sums::default());
    }

    /// Draws the line anew.
    fn draw(&mut self, units: f64, seconds: f64) {
        self.sums.add(units, seconds);
        if let Some(fixed) = self.sums.fixed() {
            // For as many units it is as fast as before.
            let scale = (units + fixed) / (units + self.fixed);
            self.rate = self.rate.map(|rate| rate * scale);
            self.fixed = fixed;
        }
    }
}

/// How long those of such rates and fixed units take for `shares`, in seconds: the slowest of them.
pub(super) fn slowest(paces: &[(f64, f64)], shares: &[usize]) -> f64 {
    let of_one = |(&units, &(rate, fixed)): (&usize, &(f64, f64))| match units {
        0 => 0.0,
        units => (units as f64 + fixed) / rate,
    };
    shares.iter().zip(paces).map(of_one).fold(0.0, f64::max)
}

/// How much of `units` each does where all finish at one time, by rate and fixed units: nothing where
/// the others are done before its frame has begun.
pub(super) fn together(paces: &[(f64, f64)], units: usize) -> Vec<f64> {
    let mut helps: Vec<bool> = paces.iter().map(|&(rate, _)| rate > 0.0).collect();
    loop {
        let those = paces.iter().zip(&helps).filter(|(_, helps)| **helps);
        let (rates, fixed) = those.fold((0.0, 0.0), |sum, (pace, _)| (sum.0 + pace.0, sum.1 + pace.1));
        let seconds = if rates > 0.0 { (units as f64 + fixed) / rates } else { 0.0 };
        let done = |(&(rate, fixed), helps): (&(f64, f64), &bool)| match helps {
            true => rate * seconds - fixed,
            false => 0.0,
        };
        let amounts: Vec<f64> = paces.iter().zip(&helps).map(done).collect();
        if amounts.iter().all(|&amount| amount >= 0.0) {
            return amounts;
        }
        helps.iter_mut().zip(&amounts).for_each(|(helps, &amount)| *helps &= amount > 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_frame_costs_is_found() {
        let mut pace = Pace::default();
        pace.observe(50, 9.0);
        for units in [50, 20, 30, 20] {
            pace.observe(units, 0.1 * (12.0 + units as f64));
        }
        assert!((pace.fixed - 12.0).abs() < 1e-6, "{pace:?}");
        // A load four times as long, and back, does not take it for the cost of a frame.
        for factor in [4.0, 4.0, 1.0, 1.0] {
            (0..10).for_each(|_| pace.observe(20, factor * 3.2));
            let rate = pace.rate.unwrap_or(0.0) * factor;
            assert!((pace.fixed - 12.0).abs() < 1e-6 && (rate / 10.0 - 1.0).abs() < 0.1, "{pace:?}");
        }
    }

    #[test]
    fn all_finish_at_one_time() {
        assert_eq!(together(&[(2.0, 0.0), (1.0, 0.0)], 30), [20.0, 10.0]);
        assert_eq!(together(&[(2.0, 4.0), (1.0, 2.0)], 30), [20.0, 10.0]);
        // The second would not have begun after ten seconds.
        assert_eq!(together(&[(1.0, 0.0), (1.0, 20.0), (0.0, 0.0)], 10), [10.0, 0.0, 0.0]);
        assert_eq!(together(&[(0.0, 3.0)], 10), [0.0]);
    }
}

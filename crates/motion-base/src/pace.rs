//! The average speed of a device, and how long it may take before it counts as lost.

use std::time::Duration;

use crate::Parameters;

/// How long every device may take: longer than any search.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A search may take this many times the average time: its time depends on the frames and on other users of the
/// device.
const LONGEST: f64 = 50.0;

/// The first search may take this many times as long as later ones: some drivers compile a kernel for the size of its
/// groups at the first launch, one kernel at a time.
const FIRST: u32 = 6;

/// Absolute differences a second that every device computes; used before its own rate is known.
const LEAST_RATE: f64 = 0.1e9;

/// The number of searches that a device has done, and how long they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    searches: f64,
    busy: Duration,
}

impl Pace {
    /// Counts a part of a search, 0 to 1, and the time that it took.
    pub fn count(&mut self, share: f64, busy: Duration) {
        self.searches += share;
        self.busy += busy;
    }

    /// Whether nothing has been counted yet.
    fn is_new(&self) -> bool {
        self.searches == 0.0
    }

    /// The time of all searches.
    pub fn busy(&self) -> Duration {
        self.busy
    }

    /// Absolute differences a second, for searches of this number of `differences`; 0 before the first search.
    pub fn rate(&self, differences: f64) -> f64 {
        let seconds = self.busy.as_secs_f64();
        if seconds > 0.0 { self.searches * differences / seconds } else { 0.0 }
    }

    /// How long any part of a search of this number of absolute `differences` may take: `patience`, or a multiple of
    /// the expected time if that is longer.
    pub fn allowed(&self, patience: Duration, differences: f64) -> Duration {
        let (patience, seconds) = match self.is_new() {
            true => (FIRST * patience, differences / LEAST_RATE),
            false => (patience, LONGEST * self.busy.as_secs_f64() / self.searches),
        };
        patience.max(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

/// The number of absolute differences of a search, as if each were computed.
pub fn differences(parameters: &Parameters) -> f64 {
    (parameters.width * parameters.height) as f64 * parameters.candidates() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;

    #[test]
    fn a_device_may_take_fifty_times_as_long_as_on_average() {
        let parameters = Parameters::new(256, 256, 16, Window::symmetric(64, 64).unwrap());
        let differences = differences(&parameters);
        assert_eq!(differences, (256 * 256 * 129 * 129) as f64);
        let mut pace = Pace::default();
        // At 0.1 G absolute differences a second; six times as long as those after it.
        assert_eq!(pace.allowed(Duration::from_secs(1), differences).as_millis(), 10905);
        assert_eq!(pace.allowed(Duration::from_secs(2), differences).as_secs(), 12);
        assert_eq!(pace.rate(differences), 0.0);
        pace.count(1.0, Duration::from_millis(30));
        pace.count(0.5, Duration::from_millis(30));
        assert_eq!(pace.allowed(Duration::from_secs(1), differences), Duration::from_secs(2));
        assert_eq!(pace.allowed(Duration::from_secs(3), differences), Duration::from_secs(3));
        assert_eq!((pace.busy(), pace.rate(1.0)), (Duration::from_millis(60), 25.0));
        assert_eq!(Pace::default().allowed(PATIENCE, f64::INFINITY), Duration::MAX);
    }
}

//! How fast a device is, and from when on one that gives no answer counts as lost.

use std::time::Duration;

use super::Parameters;

/// How long every device may take: longer than any search should.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How many times as long as a search takes on average one may take: what it takes depends on the
/// frames, and others may come to use the device.
const LONGEST: f64 = 50.0;

/// How many times as long as others the first search may take: some drivers compile for the size of its
/// groups only then, one kernel at a time for all of a machine that is busy enough.
const FIRST: u32 = 6;

/// Absolute differences a second that every device does, before its own rate is known.
const LEAST_RATE: f64 = 0.1e9;

/// What a device has done so far, in searches, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    searches: f64,
    busy: Duration,
}

impl Pace {
    /// Notes that it has done so much of a search, 0 to 1.
    pub(crate) fn count(&mut self, share: f64, busy: Duration) {
        self.searches += share;
        self.busy += busy;
    }

    /// Whether it has done nothing yet.
    fn is_new(&self) -> bool {
        self.searches == 0.0
    }

    /// How long it was busy in all.
    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }

    /// Absolute differences a second, where a search is so many; 0 before the first.
    pub(crate) fn rate(&self, differences: f64) -> f64 {
        let seconds = self.busy.as_secs_f64();
        if seconds > 0.0 { self.searches * differences / seconds } else { 0.0 }
    }

    /// How long it may take for any part of a search of so many absolute differences: as long as every
    /// device may, or where that is longer, as it should if it is well.
    pub(crate) fn allowed(&self, patience: Duration, differences: f64) -> Duration {
        let (patience, seconds) = match self.is_new() {
            true => (FIRST * patience, differences / LEAST_RATE),
            false => (patience, LONGEST * self.busy.as_secs_f64() / self.searches),
        };
        patience.max(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

/// The absolute differences of a search, as if each were computed.
pub(crate) fn differences(parameters: &Parameters) -> f64 {
    (parameters.width * parameters.height) as f64 * parameters.candidates() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;

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

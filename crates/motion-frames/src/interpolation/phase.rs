//! The time of a made frame.

/// When a frame is between two others: `numerator / denominator` of the time from the previous to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    numerator: u32,
    denominator: u32,
}

impl Phase {
    /// Half of the time.
    pub const MIDDLE: Self = Self { numerator: 1, denominator: 2 };

    /// The largest denominator. It holds every ratio of the frame rates of film and television: 24000/1001 to 60 has 1001.
    pub const FINEST: u32 = 1024;

    /// The phase `numerator / denominator`; `None` unless it is above 0 and below 1, with a denominator of at most
    /// [`Self::FINEST`].
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        let is_between = 0 < numerator && numerator < denominator && denominator <= Self::FINEST;
        is_between.then_some(Self { numerator, denominator })
    }

    /// The numerator.
    pub fn numerator(self) -> u32 {
        self.numerator
    }

    /// The denominator.
    pub fn denominator(self) -> u32 {
        self.denominator
    }

    /// Whether the previous frame is nearer. Half way the next one is.
    pub fn is_nearer_previous(self) -> bool {
        2 * self.numerator < self.denominator
    }

    /// The weight of the previous frame where both are shown, in 64ths.
    pub fn previous_weight(self) -> u32 {
        let Self { numerator, denominator } = self;
        (64 * (denominator - numerator) + denominator / 2) / denominator
    }

    /// Where a vector of `half_samples` from the previous to the next frame starts, relative to the place that it is for:
    /// quarter samples in the previous frame. It ends `2 * half_samples` further on, in the next frame.
    #[inline]
    pub(crate) fn start(self, half_samples: i16) -> i16 {
        let (n, d) = (i64::from(self.numerator), i64::from(self.denominator));
        -(4 * i64::from(half_samples) * n + d).div_euclid(2 * d) as i16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_between_two_frames_are_phases() {
        for (numerator, denominator) in [(0, 1), (1, 1), (2, 1), (0, 0), (1, 1025)] {
            assert_eq!(Phase::new(numerator, denominator), None);
        }
        let phase = |n, d| Phase::new(n, d).unwrap();
        assert!(phase(2, 5).is_nearer_previous());
        assert!(!phase(1, 2).is_nearer_previous());
        assert_eq!([phase(1, 2), phase(1, 4), phase(4, 5)].map(Phase::previous_weight), [32, 48, 13]);
    }

    #[test]
    fn a_vector_is_divided_at_the_phase() {
        let half = Phase::new(1, 2).unwrap();
        // Half a sample: half of it, a quarter sample, before and as much after.
        assert_eq!([-2, -1, 0, 1, 2].map(|vector| half.start(vector)), [2, 1, 0, -1, -2]);
        let fifth = Phase::new(1, 5).unwrap();
        assert_eq!([-5, -2, -1, 1, 2, 5].map(|vector| fifth.start(vector)), [2, 1, 0, 0, -1, -2]);
    }
}

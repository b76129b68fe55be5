//! Ratios of integers, times at another speed, and places between two frames.

use motion_frames::interpolation::Phase;

/// Nanoseconds a second.
pub const SECOND: u64 = 1_000_000_000;

/// A positive ratio of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub numerator: u32,
    pub denominator: u32,
}

impl Ratio {
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The ratio; `None` if it is not positive.
    pub fn new(numerator: i32, denominator: i32) -> Option<Self> {
        let positive = |value| u32::try_from(value).ok().filter(|&value| value > 0);
        Some(Self { numerator: positive(numerator)?, denominator: positive(denominator)? })
    }

    /// `value` times the ratio, rounded down.
    pub fn of(self, value: u64) -> u64 {
        scaled(value, self.numerator.into(), self.denominator)
    }

    /// `value` divided by the ratio, rounded down.
    pub fn divide(self, value: u64) -> u64 {
        scaled(value, self.denominator.into(), self.numerator)
    }

    /// The time of `count` frames of this rate in nanoseconds, rounded down.
    pub fn frames(self, count: u64) -> u64 {
        scaled(count, u64::from(self.denominator) * SECOND, self.numerator)
    }
}

/// `value · numerator / denominator`, rounded down.
fn scaled(value: u64, numerator: u64, denominator: u32) -> u64 {
    let scaled = u128::from(value) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Maps times of the input to times of the output, which run `speed` times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retiming {
    speed: Ratio,
    /// These two times are the same moment.
    input: u64,
    output: u64,
}

impl Retiming {
    /// Time 0 is time 0.
    pub fn new(speed: Ratio) -> Self {
        Self { speed, input: 0, output: 0 }
    }

    pub fn speed(&self) -> Ratio {
        self.speed
    }

    /// Whether times stay as they are.
    pub fn is_identity(&self) -> bool {
        self.speed == Ratio::ONE && self.input == self.output
    }

    /// The same up to the input's time `at`, with `speed` from there on.
    pub fn changed(&self, speed: Ratio, at: u64) -> Self {
        Self { speed, input: at, output: self.output(at) }
    }

    /// The time of the output, in nanoseconds, rounded down; 0 for times before the output begins.
    pub fn output(&self, input: u64) -> u64 {
        if input >= self.input {
            self.output.saturating_add(self.speed.divide(input - self.input))
        } else {
            self.output.saturating_sub(self.speed.divide(self.input - input))
        }
    }
}

/// The greatest common divisor.
pub fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How far a time is from the previous input frame, in parts of the interval to the next one: `numerator / denominator`,
/// which lies between 0 and 1. What has a larger denominator than [`Phase::FINEST`] when it is reduced is rounded to a
/// multiple of 1 / [`Phase::FINEST`], but neither to 0 nor to 1.
pub fn phase(numerator: u128, denominator: u128) -> Option<Phase> {
    let reduced = |numerator: u128, denominator: u128| {
        let divisor = gcd(numerator, denominator);
        (numerator / divisor, denominator / divisor)
    };
    let (mut numerator, mut denominator) = reduced(numerator, denominator);
    let most = u128::from(Phase::FINEST);
    if denominator > most {
        // Their product with 1024 must not overflow.
        let excess = 12_u32.saturating_sub(denominator.leading_zeros());
        let (part, whole) = (numerator >> excess, denominator >> excess);
        let rounded = ((part * most + whole / 2) / whole).clamp(1, most - 1);
        (numerator, denominator) = reduced(rounded, most);
    }
    Phase::new(numerator as u32, denominator as u32)
}

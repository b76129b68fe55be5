//! Ranges of timestamps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const NANOSECONDS: u128 = 1_000_000_000;

/// The frames whose timestamps are at least the start and less than the end, both in nanoseconds; `None` is the
/// beginning or the end of the video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first timestamp.
    pub start: Option<u64>,
    /// The first timestamp that is no longer part of it.
    pub end: Option<u64>,
}

impl Range {
    /// Whether these are all frames, so that they need no timestamps.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a frame with this timestamp is one of them.
    pub fn contains(&self, time: u64) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time < end)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':').filter(|(_, end)| !end.contains(':'));
        let (start, end) = parts.ok_or_else(|| {
            format!(
                "\"{text}\" is no range: write A:B, A:, :B or :, in seconds, such as 10:20.5 or 1001/30:40"
            )
        })?;
        let side = |text: &str| if text.is_empty() { Ok(None) } else { time(text).map(Some) };
        let range = Self { start: side(start)?, end: side(end)? };
        match (range.start, range.end) {
            (Some(start), Some(end)) if start >= end => {
                Err(format!("the range {text} is empty: its end must be later than its start"))
            }
            (_, Some(0)) => Err(format!("the range {text} is empty: its end must be later than 0")),
            _ => Ok(range),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(start) = self.start {
            write!(f, "{}", Seconds(start))?;
        }
        f.write_str(":")?;
        match self.end {
            Some(end) => write!(f, "{}", Seconds(end)),
            None => Ok(()),
        }
    }
}

/// Nanoseconds, shown exactly as seconds.
pub struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (u128::from(self.0) / NANOSECONDS, u128::from(self.0) % NANOSECONDS);
        match rest {
            0 => write!(f, "{seconds}"),
            _ => write!(f, "{seconds}.{}", format!("{rest:09}").trim_end_matches('0')),
        }
    }
}

/// Nanoseconds of `12`, `12.5` or `25/2` seconds, rounded down, as demultiplexers compute timestamps.
pub fn time(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is no time: write seconds as 12, 12.5 or 25/2");
    let number = |digits: &str| -> Option<u128> {
        // At most 18 digits, so that no product below overflows.
        let is_number = (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    };
    let nanoseconds = if let Some((numerator, denominator)) = text.split_once('/') {
        let denominator = number(denominator).filter(|&denominator| denominator > 0);
        number(numerator).zip(denominator).map(|(n, d)| n * NANOSECONDS / d)
    } else if let Some((whole, fraction)) = text.split_once('.') {
        let unit = 10_u128.pow(fraction.len().min(18) as u32);
        let whole = if whole.is_empty() { Some(0) } else { number(whole) };
        whole
            .zip(number(fraction))
            .map(|(whole, fraction)| whole * NANOSECONDS + fraction * NANOSECONDS / unit)
    } else {
        number(text).map(|whole| whole * NANOSECONDS)
    };
    nanoseconds.and_then(|nanoseconds| u64::try_from(nanoseconds).ok()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_rounded_down() {
        for (text, expected) in [
            ("0", 0),
            ("12", 12_000_000_000),
            ("12.5", 12_500_000_000),
            (".25", 250_000_000),
            ("25/2", 12_500_000_000),
            ("1001/30", 33_366_666_666),
            ("33.3666666669", 33_366_666_666),
            ("0.000000001", 1),
        ] {
            assert_eq!(time(text), Ok(expected), "{text}");
        }
        for text in
            ["", "-1", "1e3", "1/0", "1/", "/2", "1.", "1:2", "99999999999999999999", "18446744074", "x"]
        {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_read_as_they_are_shown() {
        for text in [":", "1:2", ":0.000000001", "33.366666666:", "0.5:100"] {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), text);
        }
        assert_eq!("1001/30:40".parse::<Range>().unwrap().to_string(), "33.366666666:40");
        for text in ["", "1", "1:1", "2:1", "1:2:3", ":0", "a:b"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
        let range: Range = "1:2".parse().unwrap();
        let [first, last] = [1_000_000_000, 1_999_999_999];
        assert!(range.contains(first) && range.contains(last));
        assert!(!range.contains(first - 1) && !range.contains(last + 1));
    }
}

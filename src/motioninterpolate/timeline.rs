//! Which output frames lie between two input frames, and where: exact arithmetic, without types of GStreamer.
//!
//! Output frame k of a sequence is at `first + k · d/n`, where `first` is the time of the sequence's first input frame
//! and `n/d` the output frame rate. Times are whole nanoseconds for everybody else, so a time is rounded down when it
//! leaves; nothing is summed up, so nothing drifts.
//!
//! Where an output frame lies between its two input frames is exact as well. The timestamps of the input are rounded
//! too, to nanoseconds by most elements and to milliseconds by some containers. If the input has a constant frame rate
//! and a timestamp is the time of frame i of that rate, give or take [`TOLERANCE`], its time is i frames exactly.
//! From 24 to 60 frames a second the phases therefore are 0, 2/5, 4/5, 1/5, 3/5. Between frames of which one has
//! another timestamp, nanoseconds count; an output frame less than one nanosecond beside an input frame is that input
//! frame.

use motion_search::interpolation::Phase;

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// A timestamp this far from the time of its frame number, in nanoseconds, is a rounded one: Matroska and FLV round to
/// milliseconds. At high frame rates it is a quarter of a frame.
const TOLERANCE: u64 = SECOND / 1000;

/// Two input frames further apart than this, in nanoseconds, and than four frames of the input's rate, belong to two
/// sequences.
const LONGEST: u64 = SECOND;

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

/// The greatest common divisor.
fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
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

/// How far a time is from the previous input frame, in parts of the interval to the next one: `numerator / denominator`,
/// which lies between 0 and 1. What has a larger denominator than [`Phase::FINEST`] when it is reduced is rounded to a
/// multiple of 1 / [`Phase::FINEST`], but neither to 0 nor to 1.
fn phase(numerator: u128, denominator: u128) -> Option<Phase> {
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

/// What an output frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePlace {
    /// The previous input frame.
    Previous,
    /// A moment between the two input frames.
    Between(Phase),
    /// The next input frame.
    Next,
}

/// An output frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFrame {
    /// In nanoseconds of the output.
    pub time: u64,
    pub duration: u64,
    pub place: FramePlace,
}

/// The time of an input frame since the first of its sequence.
#[derive(Clone, Copy, Debug)]
struct Moment {
    nanoseconds: u64,
    /// The number of the frame, if it is at the time of one.
    number: Option<u64>,
}

/// A step from one output frame to the next, in units of the input: a ratio, not reduced to 32 bits.
#[derive(Clone, Copy, Debug)]
struct Step {
    numerator: u128,
    denominator: u128,
}

impl Step {
    fn new(numerator: u128, denominator: u128) -> Self {
        let divisor = gcd(numerator, denominator);
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }
}

/// The output frames of a sequence, between each pair of its input frames.
///
/// Numbers of frames are far below 2^34, and ratios have parts below 2^31: no product here has more than 127 bits.
#[derive(Debug)]
pub struct Timeline {
    input: Option<Ratio>,
    output: Ratio,
    /// Input frames from one output frame to the next, if the input has a frame rate.
    frames: Option<Step>,
    /// Nanoseconds of the input from one output frame to the next.
    nanoseconds: Step,
    /// The time of the first frame of the sequence: in the input, and in the output.
    first: (u64, u64),
    previous: Moment,
    next: Moment,
    /// The number of the next output frame.
    number: u64,
}

impl Timeline {
    /// A sequence that begins with an input frame at `first`, in nanoseconds. `input` is its frame rate, if that is
    /// constant.
    pub fn new(input: Option<Ratio>, output: Ratio, retiming: &Retiming, first: u64) -> Self {
        let speed = retiming.speed();
        let seconds = [u128::from(output.denominator), speed.numerator.into()];
        let outputs = u128::from(output.numerator) * u128::from(speed.denominator);
        let step = |numerator: u32, denominator: u32| {
            Step::new(seconds[0] * seconds[1] * u128::from(numerator), outputs * u128::from(denominator))
        };
        let moment = Moment { nanoseconds: 0, number: input.map(|_| 0) };
        Self {
            input,
            output,
            frames: input.map(|input| step(input.numerator, input.denominator)),
            nanoseconds: step(SECOND as u32, 1),
            first: (first, retiming.output(first)),
            previous: moment,
            next: moment,
            number: 0,
        }
    }

    /// The time of the next input frame, in nanoseconds.
    pub fn newest(&self) -> u64 {
        self.first.0 + self.next.nanoseconds
    }

    /// Whether a frame of an input of this frame rate that is `interval` nanoseconds after the one before begins another
    /// sequence because of that.
    pub fn is_too_far(input: Option<Ratio>, interval: u64) -> bool {
        interval > LONGEST.max(input.map_or(0, |input| input.frames(4)))
    }

    /// Goes on to the next input frame, at `time` in nanoseconds, which is later than [`Self::newest`].
    pub fn advance(&mut self, time: u64) {
        self.previous = self.next;
        self.next = self.moment(time);
    }

    /// The next output frame that is not later than the next input frame.
    pub fn pop(&mut self) -> Option<OutputFrame> {
        let place = self.place()?;
        let [time, end] =
            [0, 1].map(|more| self.first.1.saturating_add(self.output.frames(self.number + more)));
        self.number += 1;
        Some(OutputFrame { time, duration: end - time, place })
    }

    /// The phase of the output frame that [`Self::pop`] returns next, if that is between the two input frames.
    pub fn upcoming(&self) -> Option<Phase> {
        match self.place()? {
            FramePlace::Between(phase) => Some(phase),
            _ => None,
        }
    }

    /// The next output frame that is before `end`, in nanoseconds of the input, where the last input frame ends. It
    /// shows that frame.
    pub fn pop_before(&mut self, end: u64) -> Option<OutputFrame> {
        let (previous, next) = (self.previous, self.next);
        (self.previous, self.next) = (next, self.moment(end.max(self.newest())));
        let frame = match self.place() {
            None | Some(FramePlace::Next) => None,
            Some(_) => self.pop(),
        };
        (self.previous, self.next) = (previous, next);
        frame.map(|frame| OutputFrame { place: FramePlace::Next, ..frame })
    }

    fn moment(&self, time: u64) -> Moment {
        let nanoseconds = time - self.first.0;
        let number = self.input.and_then(|input| {
            let nearest = scaled(
                nanoseconds.saturating_add(input.frames(1) / 2),
                input.numerator.into(),
                input.denominator,
            ) / SECOND;
            let is_rounded =
                nanoseconds.abs_diff(input.frames(nearest)) <= TOLERANCE.min(input.frames(1) / 4);
            is_rounded.then_some(nearest)
        });
        Moment { nanoseconds, number }
    }

    /// Where the next output frame is between the two input frames; `None` if it is later.
    fn place(&self) -> Option<FramePlace> {
        // Nanoseconds are whole ones only in the input.
        let (step, from, to, slack) = match (self.frames, self.previous.number, self.next.number) {
            (Some(frames), Some(from), Some(to)) => (frames, from, to, 0),
            _ => {
                let step = self.nanoseconds;
                (step, self.previous.nanoseconds, self.next.nanoseconds, step.denominator - 1)
            }
        };
        let at = u128::from(self.number) * step.numerator;
        let [from, to] = [from, to].map(|time| u128::from(time) * step.denominator);
        if at > to + slack {
            None
        } else if at + slack >= to {
            Some(FramePlace::Next)
        } else if at <= from + slack {
            Some(FramePlace::Previous)
        } else {
            Some(phase(at - from, to - from).map_or(FramePlace::Previous, FramePlace::Between))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: i32, denominator: i32) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    fn made(numerator: u32, denominator: u32) -> FramePlace {
        FramePlace::Between(Phase::new(numerator, denominator).unwrap())
    }

    /// How an element upstream rounds the time of frame `number`.
    fn timestamps(input: Ratio, unit: u64, is_nearest: bool) -> impl Fn(u64) -> u64 {
        move |number| {
            let (n, d) = (u128::from(input.numerator), u128::from(input.denominator));
            let exact = u128::from(number) * d * u128::from(SECOND);
            let unit = u128::from(unit);
            let half = if is_nearest { n * unit / 2 } else { 0 };
            ((exact + half) / (n * unit) * unit) as u64
        }
    }

    /// All output frames of input frames at `times`, of which the last ends at `end`; each with the number of the input
    /// frame that was the newest.
    fn all(timeline: &mut Timeline, times: &[u64], end: u64) -> Vec<(usize, OutputFrame)> {
        let mut found = Vec::new();
        for (index, &time) in times.iter().enumerate() {
            if index > 0 {
                timeline.advance(time);
            }
            found.extend(std::iter::from_fn(|| timeline.pop()).map(|frame| (index, frame)));
        }
        let last = times.len() - 1;
        found.extend(std::iter::from_fn(|| timeline.pop_before(end)).map(|frame| (last, frame)));
        found
    }

    const RATES: [(i32, i32); 14] = [
        (24000, 1001),
        (24, 1),
        (25, 1),
        (30000, 1001),
        (30, 1),
        (48, 1),
        (50, 1),
        (60000, 1001),
        (60, 1),
        (120, 1),
        (15, 2),
        (1, 1),
        (15, 1),
        (144, 1),
    ];

    const SPEEDS: [(i32, i32); 6] = [(1, 1), (1, 2), (1, 3), (3, 10), (2, 1), (7, 5)];

    #[test]
    fn every_ratio_of_rates_gives_the_exact_times_and_phases_of_the_definition() {
        const FRAMES: u64 = 70;
        // 123456789 ns: a first time that no frame rate knows.
        for first in [123_456_789, 1 << 60] {
            for (input, output) in RATES.iter().flat_map(|&i| RATES.iter().map(move |&o| (i, o))) {
                for speed in SPEEDS {
                    for (unit, is_nearest) in [(1, false), (SECOND / 1000, true), (11_111, false)] {
                        let (input, output) = (ratio(input.0, input.1), ratio(output.0, output.1));
                        let speed = ratio(speed.0, speed.1);
                        let stamp = timestamps(input, unit, is_nearest);
                        let times: Vec<_> = (0..FRAMES).map(|number| first + stamp(number)).collect();
                        let retiming = Retiming::new(speed);
                        let mut timeline = Timeline::new(Some(input), output, &retiming, first);
                        let found = all(&mut timeline, &times, first + stamp(FRAMES));
                        check(&found, FRAMES, (input, output, speed), retiming.output(first));
                    }
                }
            }
        }
    }

    /// Compares all output frames of `frames` input frames with the definition.
    fn check(
        found: &[(usize, OutputFrame)],
        frames: u64,
        (input, output, speed): (Ratio, Ratio, Ratio),
        first: u64,
    ) {
        let wide = |ratio: Ratio| (u128::from(ratio.numerator), u128::from(ratio.denominator));
        let (i, o, s) = (wide(input), wide(output), wide(speed));
        // Input frames from one output frame to the next.
        let (a, b) = (o.1 * s.0 * i.0, o.0 * s.1 * i.1);
        let count = (u128::from(frames) * b).div_ceil(a) as usize;
        assert_eq!(found.len(), count, "{input:?} {output:?} {speed:?}");
        for (k, (newest, frame)) in found.iter().enumerate() {
            let k = k as u128;
            let time = |k: u128| first + (k * o.1 * u128::from(SECOND) / o.0) as u64;
            assert_eq!((frame.time, frame.time + frame.duration), (time(k), time(k + 1)));
            let (whole, rest) = (k * a / b, k * a % b);
            let at = || format!("{input:?} {output:?} {speed:?} {k}: {frame:?}");
            if rest == 0 || whole + 1 == u128::from(frames) {
                assert_eq!((*newest as u128, frame.place), (whole, FramePlace::Next), "{}", at());
                continue;
            }
            assert_eq!(*newest as u128, whole + 1, "{}", at());
            let FramePlace::Between(phase) = frame.place else { panic!("{}", at()) };
            let (n, d) = (u128::from(phase.numerator()), u128::from(phase.denominator()));
            assert!(0 < n && n < d && d <= 1024 && gcd(n, d) == 1, "{}", at());
            if b / gcd(rest, b) <= 1024 {
                assert_eq!(n * b, rest * d, "{}", at());
            } else {
                assert!((n * b).abs_diff(rest * d) * 1024 <= b * d, "{}", at());
            }
        }
    }

    fn places(input: Option<Ratio>, output: Ratio, times: &[u64]) -> Vec<FramePlace> {
        let mut timeline = Timeline::new(input, output, &Retiming::new(Ratio::ONE), times[0]);
        all(&mut timeline, times, 0).into_iter().map(|(_, frame)| frame.place).collect()
    }

    #[test]
    fn twenty_four_to_sixty() {
        let stamp = timestamps(ratio(24, 1), 1, false);
        let times: Vec<_> = (0..5).map(stamp).collect();
        let expected = [
            FramePlace::Next,
            made(2, 5),
            made(4, 5),
            made(1, 5),
            made(3, 5),
            FramePlace::Next,
            made(2, 5),
            made(4, 5),
            made(1, 5),
            made(3, 5),
            FramePlace::Next,
        ];
        assert_eq!(places(Some(ratio(24, 1)), ratio(60, 1), &times), expected);
        // Without a frame rate nanoseconds count: what is rounded is rounded, but input frames still pass.
        let variable = places(None, ratio(60, 1), &times);
        for (found, exact) in variable.iter().zip(expected) {
            match (found, exact) {
                (FramePlace::Between(found), FramePlace::Between(exact)) => {
                    let error = f64::from(found.numerator()) / f64::from(found.denominator())
                        - f64::from(exact.numerator()) / f64::from(exact.denominator());
                    assert!(error.abs() <= 1.0 / 2048.0 + 1e-6);
                }
                (found, exact) => assert_eq!(*found, exact),
            }
        }
        assert_eq!(variable.len(), expected.len());
    }

    #[test]
    fn a_frame_that_is_missing_makes_a_longer_interval() {
        // Frames 0, 1, 3 of 25 a second, to 50.
        let found = places(Some(ratio(25, 1)), ratio(50, 1), &[0, 40_000_000, 120_000_000]);
        let between = [made(1, 4), made(1, 2), made(3, 4)];
        let start = [FramePlace::Next, made(1, 2), FramePlace::Next];
        assert_eq!(found, [&start[..], &between[..], &[FramePlace::Next]].concat());
    }

    #[test]
    fn frames_beside_their_rate_count_by_their_times() {
        // The second frame is 10 ms late.
        let times = [0, 50_000_000, 80_000_000];
        let found = places(Some(ratio(25, 1)), ratio(50, 1), &times);
        assert_eq!(found, [FramePlace::Next, made(2, 5), made(4, 5), made(1, 3), FramePlace::Next]);
    }

    #[test]
    fn less_than_a_nanosecond_beside_an_input_frame_is_that_frame() {
        let thirds = [333_333_333, 333_333_334, 333_333_332, 333_333_335];
        let found = thirds.map(|time| places(None, ratio(3, 1), &[0, time]));
        assert_eq!(found[0], [FramePlace::Next; 2]);
        assert_eq!(found[1], [FramePlace::Next; 2]);
        assert_eq!(found[2], [FramePlace::Next]);
        assert_eq!(found[3], [FramePlace::Next, made(1023, 1024)]);
    }

    #[test]
    fn the_last_frame_is_shown_until_it_ends() {
        let shown = |end| {
            let mut timeline = Timeline::new(None, ratio(50, 1), &Retiming::new(Ratio::ONE), 7);
            all(&mut timeline, &[7], end).iter().map(|(_, frame)| frame.time).collect::<Vec<_>>()
        };
        assert_eq!(shown(7), [7]);
        assert_eq!(shown(20_000_007), [7]);
        assert_eq!(shown(20_000_009), [7, 20_000_007]);
        assert_eq!(shown(60_000_007), [7, 20_000_007, 40_000_007]);
        // An end that is not behind the frame shows it once all the same.
        assert_eq!((shown(8), shown(3)), (vec![7], vec![7]));
    }

    #[test]
    fn far_frames_belong_to_another_sequence() {
        for (input, longest) in
            [(None, SECOND), (Some(ratio(24, 1)), SECOND), (Some(ratio(1, 3)), 12 * SECOND)]
        {
            assert!(!Timeline::is_too_far(input, longest));
            assert!(Timeline::is_too_far(input, 1 + longest));
        }
    }

    #[test]
    fn a_change_of_speed_is_continuous() {
        let slow = Retiming::new(ratio(1, 2));
        assert_eq!((slow.output(0), slow.output(100)), (0, 200));
        let fast = slow.changed(ratio(4, 1), 100);
        assert_eq!((fast.output(100), fast.output(140), fast.output(60)), (200, 210, 190));
        assert_eq!(fast.output(u64::MAX), 200 + (u64::MAX - 100) / 4);
        assert!(Retiming::new(Ratio::ONE).is_identity() && !slow.is_identity());
        assert!(!fast.changed(Ratio::ONE, 140).is_identity());
    }

    #[test]
    fn hostile_rates_and_times_do_not_overflow() {
        const MOST: i32 = i32::MAX;
        let rates = [(1, MOST), (MOST, 1), (MOST, MOST - 1), (24000, 1001), (999_999_937, 999_999_929)];
        for (input, output) in rates.iter().flat_map(|&i| rates.iter().map(move |&o| (i, o))) {
            for speed in [(1, 100), (100, 1), (1 << 24, MOST), (MOST, 1 << 25)] {
                for first in [0, u64::MAX / 2] {
                    let [input, output, speed] = [input, output, speed].map(|(n, d)| ratio(n, d));
                    let retiming = Retiming::new(speed);
                    for input in [None, Some(input)] {
                        let mut timeline = Timeline::new(input, output, &retiming, first);
                        assert_eq!(timeline.pop().unwrap().place, FramePlace::Next);
                        for time in [1, 2, SECOND, 1 << 34, 1 << 50, 1 << 62] {
                            timeline.advance(first + time);
                            // At such rates an interval may have billions of them.
                            let found: Vec<_> = std::iter::from_fn(|| timeline.pop()).take(20).collect();
                            assert!(found.windows(2).all(|pair| pair[0].time <= pair[1].time));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn phases_with_large_denominators_are_rounded_but_stay_between() {
        let new = |n, d| phase(n, d).unwrap();
        let exact = |n, d| Phase::new(n, d).unwrap();
        assert_eq!(new(400, 1001), exact(400, 1001));
        assert_eq!(new(512, 1024), exact(1, 2));
        assert_eq!(new(1, 1025), exact(1, 1024));
        assert_eq!(new(1, u128::MAX >> 1), exact(1, 1024));
        assert_eq!(new((u128::MAX >> 1) - 1, u128::MAX >> 1), exact(1023, 1024));
        assert_eq!(new(u128::MAX >> 2, u128::MAX >> 1), exact(1, 2));
    }
}
